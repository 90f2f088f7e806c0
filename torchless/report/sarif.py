"""A check as SARIF 2.1.0, the exchange format of static analysis tools (OASIS, with errata 01).

All addresses are relative to SRCROOT, so that the report says the same on every machine. Findings that the baseline
knows are there, too: as unchanged and suppressed. GitHub's code scanning takes at most 25,000 results in a run, so that
more go into further runs, each with a category of its own; it shows the 5,000 gravest of a run, and no `suppressions`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from torchless import __version__
from torchless.baseline import fingerprints
from torchless.model import Edit, Finding, Related, Tier
from torchless.report.checked import Checked, is_safe, is_unsafe
from torchless.rules.docs import page
from torchless.rules.model import Rule
from torchless.text.source import BOM, SourceFile

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 25_000
"""Results that GitHub takes in one run."""
SHOWN = 5_000
"""Results of a run that GitHub shows."""
_ROOT = "SRCROOT"
_FINGERPRINT = "torchless/v1"
_FAILED = frozenset({"TL006"})


def sarif(checked: Checked, rules: Mapping[str, Rule], pages: str = "") -> str:
    """The log as JSON with a final newline, pure ASCII. ``rules`` are the rules by code.

    ``pages`` is the address below which the pages of the rules are to be found (it ends with a slash); without one a
    rule has its page as help text only.
    """
    result = checked.result
    known = frozenset(result.known)
    findings = (*result.findings, *result.known)
    names = fingerprints(findings, checked.source)
    parts = [findings[at : at + MOST_RESULTS] for at in range(0, len(findings), MOST_RESULTS)] or [()]
    runs = []
    for number, part in enumerate(parts, 1):
        codes = sorted({finding.code for finding in part})
        runs.append(
            {
                "tool": {
                    "driver": {
                        "name": "torchless",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": [_rule(code, rules.get(code), pages) for code in codes],
                    }
                },
                "automationDetails": {"id": "torchless/" if len(parts) == 1 else f"torchless/part-{number}/"},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the checkout."}}},
                "invocations": [_invocation(checked)],
                "results": [_result(finding, codes, checked, names[finding], known) for finding in part],
            }
        )
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=1) + "\n"


def _invocation(checked: Checked) -> dict[str, Any]:
    notes = [{"level": "note", "message": {"text": note}} for note in checked.result.notes]
    return {
        "executionSuccessful": not checked.result.files_failed,
        "exitCode": checked.exit_code,
        "toolExecutionNotifications": notes,
    }


def _rule(code: str, rule: Rule | None, pages: str) -> dict[str, Any]:
    if rule is None:
        return {"id": code}
    text = page(rule)
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": f"{_sentence(rule.what)} {_sentence(rule.why)}"},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _level(code)},
        "properties": {"tags": ["torchless", rule.tier.value], "problem.severity": "warning"},
        **({"helpUri": f"{pages}{code}.md"} if pages else {}),
    }


def _level(code: str) -> str:
    return "error" if code in _FAILED else "warning"


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _result(
    finding: Finding, codes: Sequence[str], checked: Checked, name: str, known: frozenset[Finding]
) -> dict[str, Any]:
    source = checked.source(finding.path)
    help_text = f" {_sentence(finding.help)[:1].upper()}{_sentence(finding.help)[1:]}." if finding.help else ""
    out: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _level(finding.code),
        "message": _message(f"{_sentence(finding.message)}.{help_text}"),
        "locations": [_location(finding.path, _region(source, finding.start, finding.end))],
        "partialFingerprints": {_FINGERPRINT: name},
        "properties": {
            "tier": finding.tier.value,
            "confidence": finding.confidence.value,
        },
    }
    if finding.related:
        out["relatedLocations"] = [_related(number, step) for number, step in enumerate(finding.related, 1)]
    if finding.edits:
        out["fixes"] = [_fix(finding, checked)]
    if checked.baseline:
        out["baselineState"] = "unchanged" if finding in known else "new"
    if finding in known:
        out["suppressions"] = [{"kind": "external", "status": "accepted", "justification": "known from the baseline"}]
    return out


def _related(number: int, step: Related) -> dict[str, Any]:
    region = {"startLine": step.line} if step.line else None
    return {"id": number, **_location(step.path, region), "message": _message(_sentence(step.message))}


def _message(text: str) -> dict[str, str]:
    """A message object; in its text {0} would be a placeholder (3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _location(path: str, region: Mapping[str, Any] | None) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(path)}
    if region:
        physical["region"] = dict(region)
    return {"physicalLocation": physical}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path.encode("utf-8", "surrogateescape")), "uriBaseId": _ROOT}


def _fix(finding: Finding, checked: Checked) -> dict[str, Any]:
    by_path: dict[str, list[Edit]] = {}
    for edit in sorted(finding.edits):
        by_path.setdefault(edit.path, []).append(edit)
    kind = {Tier.SAFE: "Safe", Tier.UNSAFE: "May shift the meaning", Tier.DISPLAY: "For a person to judge"}
    return {
        "description": {"text": f"{kind[finding.tier]}: {_applied(finding)}"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(path),
                "replacements": [_replacement(edit, checked.source(path)) for edit in by_path[path]],
            }
            for path in sorted(by_path)
        ],
    }


def _applied(finding: Finding) -> str:
    if is_safe(finding) or is_unsafe(finding):
        unsafe = " --unsafe" if is_unsafe(finding) else ""
        return f"torchless migrate --select {finding.code}{unsafe} --write"
    return "nothing applies it"


def _replacement(edit: Edit, source: SourceFile) -> dict[str, Any]:
    out: dict[str, Any] = {"deletedRegion": _region(source, edit.start, edit.end)}
    if edit.new:
        try:
            out["insertedContent"] = {"text": edit.new.decode("utf-8")}
        except UnicodeDecodeError:
            out["insertedContent"] = {"binary": base64.b64encode(edit.new).decode("ascii")}
    return out


def _region(source: SourceFile, start: int, end: int) -> dict[str, int]:
    """Bytes [start, end) as lines and columns and as bytes; the first line alone for a finding about a whole file.

    SARIF's end column is the one after the last character, and a byte order mark is no column of its line.
    """
    if not end or end > len(source.data):
        return {"startLine": 1}
    places = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), _places(source, start, end), strict=True))
    return {**places, "byteOffset": start, "byteLength": end - start}


def _places(source: SourceFile, *offsets: int) -> Iterator[int]:
    for offset in offsets:
        line = source.line_of(offset)
        before = source.data[source.line_start(line) : offset]
        yield line
        yield len(before.removeprefix(BOM if line == 1 else b"").decode("utf-8", "replace")) + 1
