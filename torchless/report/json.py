"""The report for programs: one JSON object per run, described by migrate.schema.json beside this file.

Text that is not UTF-8 (a replacement or a diff in a Latin-1 file) is given in base64, under a key that says so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from torchless import __version__
from torchless.model import Edit, Finding, LedgerEntry, Unit
from torchless.report.outcome import Outcome, code_counts, next_steps, unit_counts
from torchless.report.verified import rung_of

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """The JSON schema of what to_json() gives."""
    text = files("torchless.report").joinpath("migrate.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_json(outcome: Outcome, diffs: Mapping[str, bytes]) -> str:
    """The whole outcome as one JSON object with a final newline; ``diffs`` holds the diff of each changed file."""
    result = outcome.result
    edits_in = {path: sum(1 for edit in result.edits if edit.path == path) for path in result.changes}
    report = {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": result.root,
        "found": result.found,
        "mergeable": result.mergeable,
        "written": outcome.written,
        "exit_code": outcome.exit_code,
        "units": [_unit(unit) for unit in result.units],
        "findings": [_finding(finding) for finding in result.findings],
        "changes": [
            {"path": path, "edits": edits_in[path], **_bytes("diff", diffs.get(path, b""))}
            for path in sorted(result.changes)
        ],
        "summary": {
            "units": {status.value: count for status, count in unit_counts(result).items()},
            "findings": dict(code_counts(result)),
            "edits": len(result.edits),
            "files_changed": len(result.changes),
            "files_failed": list(result.files_failed),
            "seconds": round(result.seconds, 3),
        },
        "verified": [{"module": m.module, "rungs": [rung_of(a) for a in m.answers]} for m in result.verified],
        "notes": list(result.notes),
        "next": list(next_steps(outcome)),
    }
    return json.dumps(report, indent=1) + "\n"


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "name": unit.name,
        "status": unit.status.value,
        "modules": list(unit.modules),
        "entry_points": list(unit.entry_points),
        "files": list(unit.files),
        "findings": [_finding(finding) for finding in unit.findings],
        "ledger": [_ledger(entry) for entry in unit.ledger],
        "joined_by": [{"a": a, "b": b, "why": why} for a, b, why in unit.joined_by],
        "leaks": list(unit.leaks),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "start": finding.start,
        "end": finding.end,
        "tier": finding.tier.value,
        "confidence": finding.confidence.value,
        "blocks": finding.blocks,
        "help": finding.help,
        "unit": finding.unit,
        "edits": [_edit(edit) for edit in finding.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {"path": edit.path, "start": edit.start, "end": edit.end, **_bytes("new", edit.new)}


def _ledger(entry: LedgerEntry) -> dict[str, Any]:
    return {"kind": entry.kind, "message": entry.message, "path": entry.path, "line": entry.line}


def _bytes(name: str, data: bytes) -> dict[str, str]:
    try:
        return {name: data.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode("ascii")}
