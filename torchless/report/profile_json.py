"""What was profiled, for programs: one JSON object, described by profile.schema.json beside this file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from torchless import __version__
from torchless.profile.compare import Change
from torchless.profile.diagnose import diagnose, thresholds
from torchless.profile.model import Profile
from torchless.profile.rows import Row, builds, rows
from torchless.profile.store import SCHEMA_VERSION, to_data


def schema() -> dict[str, Any]:
    """The JSON schema of what to_json() gives."""
    from importlib.resources import files  # here: nobody else pays for it

    text = files("torchless.report").joinpath("profile.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_json(profiles: Sequence[Profile]) -> str:
    """One profile, or two and how they compare, as one JSON object with a final newline, pure ASCII."""
    report = {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "profiles": [to_data(profile) for profile in profiles],
        "comparison": [_row(row) for row in rows(profiles)] if len(profiles) > 1 else [],
        "builds": [
            {"module": module, "seconds": _change(change), "problems": list(problems)}
            for module, change, problems in builds(profiles)
        ]
        if len(profiles) > 1
        else [],
        "diagnosis": [{**asdict(found), "codes": list(found.codes)} for found in diagnose(profiles[-1])],
        "thresholds": list(thresholds()),
    }
    return json.dumps(report, indent=1) + "\n"


def _row(row: Row) -> dict[str, Any]:
    return {
        "module": row.module,
        "source": row.source,
        "pass": row.name,
        "lines": list(row.lines),
        "fewer_lines": _maybe(row.fewer_lines),
        "own_lines": list(row.own_lines),
        "fewer_own_lines": _maybe(row.fewer_own_lines),
        "torch_share": [_maybe(share) for share in row.torch],
        "seconds": _change(row.seconds),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "before": [round(value, 6) for value in change.before],
        "after": [round(value, 6) for value in change.after],
        "ratio": _maybe(change.ratio),
        "outside_the_noise": change.outside,
    }


def _maybe(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
