"""Findings one to a line, as compilers print them: what editors, grep and people in a hurry read."""

from __future__ import annotations

from torchless.model import Finding
from torchless.report.checked import Checked, mark
from torchless.report.color import Paint
from torchless.report.wording import one_line, place, printable


def concise(checked: Checked, paint: Paint, known: bool) -> str:
    """``path:line:column: code [*] message`` for every finding, each with a newline; ``known`` lists those, too."""
    new = [heading(finding, paint) for finding in checked.result.findings]
    old = [heading(finding, paint, " (known)") for finding in checked.result.known if known]
    return "".join(f"{line}\n" for line in (*new, *old))


def heading(finding: Finding, paint: Paint, after: str = "") -> str:
    """The line that says it all. The column counts bytes, as a compiler's does."""
    where = paint(printable(place(finding.path, finding.line, finding.column)), "bold")
    fix = f"{paint(mark(finding), 'mark')} " if mark(finding) else ""
    return f"{where}: {paint(finding.code, 'code')} {fix}{one_line(finding.message)}{paint(after, 'dim')}"
