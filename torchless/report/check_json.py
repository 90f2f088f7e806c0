"""The report of a check for programs: one JSON object per run, described by check.schema.json beside this file.

Text that is not UTF-8 (a replacement in a Latin-1 file) is given in base64, under a key that says so.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from torchless import __version__
from torchless.baseline import fingerprints
from torchless.model import Edit, Finding, Related
from torchless.report.checked import Checked, counts, is_safe, is_unsafe

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """The JSON schema of what to_json() gives."""
    from importlib.resources import files  # here: nobody else pays for it

    text = files("torchless.report").joinpath("check.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def to_json(checked: Checked) -> str:
    """The whole result as one JSON object with a final newline, pure ASCII."""
    result = checked.result
    names = fingerprints((*result.findings, *result.known), checked.source)
    report = {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": result.root,
        "exit_code": checked.exit_code,
        "baseline": checked.baseline,
        "findings": [_finding(finding, checked, names) for finding in result.findings],
        "known": [_finding(finding, checked, names) for finding in result.known],
        "statistics": [
            {
                "code": row.code,
                "name": checked.name(row.code),
                "new": row.new,
                "safe": row.safe,
                "unsafe": row.unsafe,
                "known": row.known,
            }
            for row in counts(result)
        ],
        "summary": {
            "findings": len(result.findings),
            "safe": sum(map(is_safe, result.findings)),
            "unsafe": sum(map(is_unsafe, result.findings)),
            "known": len(result.known),
            "gone": result.gone,
            "untouched": result.untouched,
            "suppressed": result.suppressed,
            "files": result.files,
            "units": result.units,
            "files_failed": list(result.files_failed),
            "seconds": round(result.seconds, 3),
        },
        "notes": list(result.notes),
    }
    return json.dumps(report, indent=1) + "\n"


def _finding(finding: Finding, checked: Checked, names: Mapping[Finding, str]) -> dict[str, Any]:
    source = checked.source(finding.path)
    end = min(finding.end, len(source.data))
    return {
        "code": finding.code,
        "name": checked.name(finding.code),
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": max(source.line_of(end), finding.line),
        "end_column": source.column_of(end) if source.line_of(end) >= finding.line else finding.column,
        "start": finding.start,
        "end": finding.end,
        "tier": finding.tier.value,
        "confidence": finding.confidence.value,
        "blocks": finding.blocks,
        "help": finding.help,
        "fingerprint": names[finding],
        "edits": [_edit(edit) for edit in finding.edits],
        "related": [_related(step) for step in finding.related],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    place = {"path": edit.path, "start": edit.start, "end": edit.end}
    try:
        return {**place, "new": edit.new.decode("utf-8")}
    except UnicodeDecodeError:
        return {**place, "new_base64": base64.b64encode(edit.new).decode("ascii")}


def _related(step: Related) -> dict[str, Any]:
    return {"path": step.path, "line": step.line, "message": step.message}
