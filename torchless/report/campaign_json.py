"""A plan and a report for programs: JSON objects described by campaign.schema.json beside this file, and CSV."""

from __future__ import annotations

import csv
import json
from importlib.resources import files
from io import StringIO
from typing import Any

from torchless import __version__
from torchless.campaign.model import Batch, Plan
from torchless.campaign.state import Campaign
from torchless.report.campaign import state_of

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """The JSON schema of what plan_json() gives."""
    text = files("torchless.report").joinpath("campaign.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def plan_json(plan: Plan, campaign: Campaign | None) -> str:
    """The whole plan as one JSON object with a final newline."""
    return json.dumps(plan_data(plan, campaign), indent=1) + "\n"


def plan_data(plan: Plan, campaign: Campaign | None) -> dict[str, Any]:
    """The whole plan as JSON data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": plan.root,
        "base": campaign.base if campaign is not None else "",
        "batches": [_batch(batch, campaign) for batch in plan.batches],
        "merged": [row.name for row in campaign.batches if row.state.value == "merged"] if campaign else [],
        "files_failed": list(plan.files_failed),
        "notes": list(plan.notes),
        "seconds": round(plan.seconds, 3),
    }


def _batch(batch: Batch, campaign: Campaign | None) -> dict[str, Any]:
    row = campaign.row(batch.name) if campaign is not None else None
    return {
        "number": batch.number,
        "name": batch.name,
        "state": state_of(batch, campaign).value,
        "units": list(batch.unit_names),
        "modules": list(batch.modules),
        "files": list(batch.files),
        "lines": batch.lines,
        "gain": {
            "lines_before": batch.gain.before,
            "lines_after": batch.gain.after,
            "seconds": batch.gain.seconds,
        },
        "tier": batch.tier.value,
        "independent": not batch.needs and not batch.blockers,
        "needs": list(batch.needs),
        "owners": list(batch.owners),
        "over": list(batch.over),
        "blockers": [
            {"code": b.code, "message": b.message, "help": b.help, "places": b.places} for b in batch.blockers
        ],
        "place": row.place if row is not None else "",
        "commit": row.tip if row is not None else "",
        "conflicts": list(row.conflicts) if row is not None else [],
        "note": row.note if row is not None else "",
    }


COLUMNS = (
    "number", "batch", "state", "units", "files", "lines", "lines_before", "lines_after", "seconds", "tier", "needs",
    "blockers",
)  # fmt: skip


def plan_csv(plan: Plan, campaign: Campaign | None) -> str:
    """A row for each batch, by COLUMNS."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for batch in plan.batches:
        gain = batch.gain
        values = (
            batch.number,
            batch.name,
            state_of(batch, campaign).value,
            len(batch.units),
            len(batch.files),
            batch.lines,
            gain.before,
            gain.after,
            "" if gain.seconds is None else gain.seconds,
            batch.tier.value,
            " ".join(batch.needs),
            " ".join(f"{b.code}x{b.places}" for b in batch.blockers),
        )
        writer.writerow(values)
    return out.getvalue()
