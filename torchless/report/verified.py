"""What was verified, for people, programs and pull requests. Nothing that did not run is shown as done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchless import __version__
from torchless.report.color import Paint
from torchless.verify.answer import Answer, Verdict

if TYPE_CHECKING:  # a migration reports answers too, and needs nothing of what makes them
    from torchless.verification import VerifyResult

SCHEMA_VERSION = 1
_MARKS = {Verdict.PASS: "pass", Verdict.FAIL: "FAIL", Verdict.NOT_RUN: "not run"}
_STYLES = {Verdict.PASS: "new", Verdict.FAIL: "code", Verdict.NOT_RUN: "chain"}


def text(result: VerifyResult, paint: Paint) -> str:
    """One line for each rung of each module; below it what it found, and what it did not see."""
    out = [f"compared with {result.compared_with}: {len(result.changed)} files differ\n"]
    for module in result.modules:
        out.append(paint(module.module, "bold") + "\n")
        for answer in module.answers:
            mark = paint(f"{_MARKS[answer.verdict]:<8}", _STYLES[answer.verdict])
            out.append(f"  {answer.name:<8} {mark} {answer.detail} ({answer.seconds:.1f} s)\n")
            out += [f"           {line}\n" for line in answer.evidence]
            out += [f"           not seen: {line}\n" for line in answer.unseen]
    out += [f"note: {note}\n" for note in result.notes]
    return "".join(out)


def to_json(result: VerifyResult) -> str:
    """The whole result as one JSON object with a final newline."""
    return json.dumps(report_of(result), indent=1) + "\n"


def report_of(result: VerifyResult) -> dict[str, Any]:
    """The whole result as JSON data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": result.root,
        "compared_with": result.compared_with,
        "changed": list(result.changed),
        "failed": result.failed,
        "modules": [{"module": m.module, "rungs": [rung_of(a) for a in m.answers]} for m in result.modules],
        "notes": list(result.notes),
        "seconds": round(result.seconds, 3),
    }


def rung_of(answer: Answer) -> dict[str, Any]:
    """What one rung said as JSON data."""
    return {
        "rung": answer.name,
        "verdict": answer.verdict.value,
        "detail": answer.detail,
        "evidence": list(answer.evidence),
        "unseen": list(answer.unseen),
        "seconds": round(answer.seconds, 3),
        "figures": {name: [round(value, 3) for value in values] for name, values in answer.figures},
    }


def markdown(result: VerifyResult) -> str:
    """A table for a pull request: modules down, rungs across, and what stands behind each cell."""
    return markdown_of(report_of(result))


def markdown_of(report: Mapping[str, Any]) -> str:
    """The same from JSON data as report_of() gives it."""
    modules = report["modules"]
    rungs = list(dict.fromkeys(rung["rung"] for module in modules for rung in module["rungs"]))
    rows = [f"| module | {' | '.join(rungs)} |", f"|---|{'---|' * len(rungs)}"]
    rows += [_row(module, rungs) for module in modules]
    told = [
        f"- **{module['module']}, {rung['rung']}**: {rung['verdict']}: {_escaped(rung['detail'])}"
        + "".join(
            f"\n  - {_escaped(line)}" for line in (*rung["evidence"], *(f"not seen: {u}" for u in rung["unseen"]))
        )
        for module in modules
        for rung in module["rungs"]
    ]
    head = f"Compared with {_escaped(report['compared_with'])}; {len(report['changed'])} files differ."
    return "\n".join([head, "", *rows, "", *told]) + "\n"


def _row(module: Mapping[str, Any], rungs: list[str]) -> str:
    verdicts = {rung["rung"]: rung["verdict"] for rung in module["rungs"]}
    return f"| {_escaped(module['module'])} | {' | '.join(verdicts.get(rung, '') for rung in rungs)} |"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*")
