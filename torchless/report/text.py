"""The report for people: what was found, what became of each unit and why, a summary, what to do next.

Lines that name a place start with path:line:column, so that editors and terminals can open it. Long lists are cut,
saying how many lines were left out, unless ``verbose``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torchless.model import Finding, LedgerEntry, Tier, Unit, UnitStatus
from torchless.report.outcome import Outcome, code_counts, every_finding, next_steps, unit_counts
from torchless.report.wording import place, plural
from torchless.verify.answer import Verdict, Verified

_STYLE = {
    UnitStatus.MIGRATED: "bold green",
    UnitStatus.BLOCKED: "bold yellow",
    UnitStatus.BACKED_OUT: "bold red",
    UnitStatus.UNCHECKED: "bold magenta",
    UnitStatus.CLEAN: "dim",
}
LEAK = "TL009"
_WIDTH = max(len(status.value) for status in UnitStatus) + 2
_SAME_CODE = 3  # findings of one code that are listed per unit before the rest is only counted


def print_report(console: Console, outcome: Outcome, names: Mapping[str, str], verbose: bool) -> None:
    """Print the report on ``console``. ``names`` maps codes to the names of their rules."""
    result = outcome.result
    _line(console, result.found, "bold")
    for unit in result.units:
        if verbose or unit.status is not UnitStatus.CLEAN:
            _print_unit(console, unit, set(result.edits), verbose)
    if result.findings:
        _line(console, "outside units", "bold")
        _print_findings(console, result.findings, verbose)
    if result.verified:
        _print_verified(console, result.verified)
    for note in result.notes:
        _line(console, f"note: {note}")
    _print_summary(console, outcome, names)
    for index, step in enumerate(next_steps(outcome)):
        _line(console, f"{'Next:' if index == 0 else '     '} {step}", "bold" if index == 0 else "")


def _print_unit(console: Console, unit: Unit, applied: set[object], verbose: bool) -> None:
    status = Text(f"{unit.status.value:<{_WIDTH}}", _STYLE[unit.status])
    modules = ", ".join(unit.modules)
    beside = f"  ({modules})" if modules and modules != unit.name else ""
    console.print(status + Text(unit.name) + Text(beside, "dim"), soft_wrap=True)
    if unit.entry_points and unit.entry_points != (unit.name,):
        _line(console, f"  {_listed(unit.entry_points, 8, verbose)}", "dim")
    if unit.edits and applied.issuperset(unit.edits):
        files = len({edit.path for edit in unit.edits})
        _line(console, f"  {plural(len(unit.edits), 'edit')} in {plural(files, 'file')}", "dim")
    shown = [f for f in unit.findings if verbose or _needs_reading(f, unit.status, applied)]
    _print_findings(console, shown, verbose)
    waiting = len(unit.findings) - len(shown)
    if waiting and unit.status in (UnitStatus.BLOCKED, UnitStatus.BACKED_OUT):
        _line(console, f"  {plural(waiting, 'more finding')} would be mended with it (-v lists them)", "dim")
    for leak in unit.leaks if verbose else unit.leaks[:_SAME_CODE]:
        _line(console, f"  not yet torch-free: leaks via {leak}", "yellow")
    if not verbose and len(unit.leaks) > _SAME_CODE:
        _line(console, f"  {plural(len(unit.leaks) - _SAME_CODE, 'more leak')} (-v lists them)", "dim")
    if verbose or unit.status in (UnitStatus.MIGRATED, UnitStatus.UNCHECKED):
        _print_ledger(console, unit.ledger, verbose)
    if verbose:
        for a, b, why in unit.joined_by:
            _line(console, f"  {a} moves with {b}: {why}", "dim")


def _needs_reading(finding: Finding, status: UnitStatus, applied: set[object]) -> bool:
    """Whether a finding is news to a reader of the diff.

    That are blockers and what torchless says of its own work; and, in a unit that goes ahead, what is only shown, and
    fixes that are held back. In a unit that stays everything else waits for the blockers.
    """
    if finding.code == LEAK:
        return False  # said by the unit's leaks
    if finding.blocks or finding.code.startswith("TL0"):
        return True
    if status in (UnitStatus.BLOCKED, UnitStatus.BACKED_OUT):
        return False
    return finding.tier is Tier.DISPLAY or not applied.issuperset(finding.edits)


def _print_findings(console: Console, findings: Iterable[Finding], verbose: bool) -> None:
    by_code: dict[tuple[bool, str], list[Finding]] = {}
    for finding in findings:
        by_code.setdefault((not finding.blocks, finding.code), []).append(finding)
    for _, group in sorted(by_code.items(), key=lambda item: item[0]):
        cut = len(group) if verbose or len(group) <= _SAME_CODE + 1 else _SAME_CODE
        for finding in group[:cut]:
            console.print(_finding_line(finding), soft_wrap=True)
        if cut < len(group):
            _line(console, f"  {group[0].code}: {len(group) - cut} more places (-v lists them)", "dim")
        for text in dict.fromkeys(" ".join(f.help.split()) for f in group if f.help):
            _line(console, f"    help: {text}", "cyan")


def _finding_line(finding: Finding) -> Text:
    mark = "[!] " if finding.tier is Tier.UNSAFE and finding.edits else ""
    line = Text("  ")
    line.append(place(finding.path, finding.line, finding.column))
    line.append(f" {finding.code} ", "bold red" if finding.blocks else "bold")
    line.append(mark + " ".join(finding.message.split()))
    return line


def _print_ledger(console: Console, ledger: Sequence[LedgerEntry], verbose: bool) -> None:
    if not ledger:
        return
    _line(console, "  for the caller:")
    if verbose:
        for entry in ledger:
            where = f" ({place(entry.path, entry.line)})" if entry.path else ""
            _line(console, f"    {entry.kind}: {entry.message}{where}")
        return
    counts = Counter((entry.kind, entry.message) for entry in ledger)
    for (kind, message), count in counts.items():
        _line(console, f"    {kind}: {message}" + (f" ({count} places)" if count > 1 else ""))


def _print_verified(console: Console, verified: Sequence[Verified]) -> None:
    """What each rung said of the modules, with the changes made."""
    _line(console, "verified, with the changes made", "bold")
    for module in verified:
        _line(console, f"  {module.module}")
        for answer in module.answers:
            style = "green" if answer.verdict is Verdict.PASS else "yellow"
            _line(console, f"    {answer.name:<8} {answer.verdict.value:<8} {answer.detail}", style)
            for text in answer.unseen:
                _line(console, f"             not seen: {text}", "dim")


def _print_summary(console: Console, outcome: Outcome, names: Mapping[str, str]) -> None:
    result = outcome.result
    units = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    units.add_column("units")
    units.add_column("", justify="right")
    for status, count in unit_counts(result).items():
        units.add_row(Text(status.value, _STYLE[status] if count else "dim"), str(count))
    codes = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    codes.add_column("findings")
    codes.add_column("", no_wrap=True)
    codes.add_column("", justify="right")
    for code, count in code_counts(result).items():
        codes.add_row(code, names.get(code, ""), str(count))
    console.print()
    console.print(units)
    if codes.row_count:
        console.print()
        console.print(codes)
    console.print()
    _line(console, ", ".join(_totals(outcome)))


def _totals(outcome: Outcome) -> Iterator[str]:
    result = outcome.result
    yield plural(sum(1 for _ in every_finding(result)), "finding")
    yield f"{plural(len(result.edits), 'edit')} in {plural(len(result.changes), 'file')}"
    if result.files_failed:
        yield f"{plural(len(result.files_failed), 'file')} failed"
    yield f"{result.seconds:.1f} s"


def _listed(names: Sequence[str], limit: int, verbose: bool) -> str:
    if verbose or len(names) <= limit + 1:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"


def _line(console: Console, text: str, style: str = "") -> None:
    console.print(Text(text, style), soft_wrap=True)


_DIFF_STYLE = ((b"+++", b"1"), (b"---", b"1"), (b"diff ", b"1"), (b"@@", b"36"), (b"+", b"32"), (b"-", b"31"))


def colored_diff(diff: bytes) -> bytes:
    """The diff with ANSI colours; every byte of it stays, line ends included."""
    out = []
    for line in re.findall(rb"[^\n]*\n|[^\n]+", diff):
        body = line.rstrip(b"\r\n")
        style = next((s for prefix, s in _DIFF_STYLE if body.startswith(prefix)), b"")
        out.append(b"\x1b[" + style + b"m" + body + b"\x1b[0m" + line[len(body) :] if style else line)
    return b"".join(out)
