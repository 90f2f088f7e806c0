"""What was verified, for people, programs and pull requests. Nothing that did not run is shown as done."""

from __future__ import annotations

import json
from typing import Any

from torchless import __version__
from torchless.report.color import Paint
from torchless.verification import VerifyResult
from torchless.verify.answer import Answer, Verdict
from torchless.verify.ladder import Verified

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
    report = {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": result.root,
        "compared_with": result.compared_with,
        "changed": list(result.changed),
        "failed": result.failed,
        "modules": [{"module": m.module, "rungs": [_answer(a) for a in m.answers]} for m in result.modules],
        "notes": list(result.notes),
        "seconds": round(result.seconds, 3),
    }
    return json.dumps(report, indent=1) + "\n"


def _answer(answer: Answer) -> dict[str, Any]:
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
    """A table for a pull request: modules down, rungs across, and what stands behind each cell that is no pass."""
    rungs = list(dict.fromkeys(a.name for m in result.modules for a in m.answers))
    rows = [f"| module | {' | '.join(rungs)} |", f"|---|{'---|' * len(rungs)}"]
    rows += [_row(module, rungs) for module in result.modules]
    told = [
        f"- **{module.module}, {answer.name}**: {answer.verdict.value}: {_escaped(answer.detail)}"
        + "".join(f"\n  - {_escaped(line)}" for line in (*answer.evidence, *(f"not seen: {u}" for u in answer.unseen)))
        for module in result.modules
        for answer in module.answers
    ]
    head = f"Compared with {_escaped(result.compared_with)}; {len(result.changed)} files differ."
    return "\n".join([head, "", *rows, "", *told]) + "\n"


def _row(module: Verified, rungs: list[str]) -> str:
    verdicts = {answer.name: answer.verdict.value for answer in module.answers}
    return f"| {_escaped(module.module)} | {' | '.join(verdicts.get(rung, '') for rung in rungs)} |"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*")
