"""How often each code was found: for `--statistics`, as plain text."""

from __future__ import annotations

from torchless.report.checked import Checked, Count, counts
from torchless.report.color import Paint


def statistics(checked: Checked, paint: Paint) -> str:
    """A line for each code, the most frequent first: count, code, mark, name; with a baseline also what it knows."""
    rows = counts(checked.result)
    wide = max((len(f"{row.new:,}") for row in rows), default=0)
    longest = max((len(row.code) for row in rows), default=0)
    lines = []
    for row in rows:
        known = f" ({row.known:,} known)" if checked.baseline else ""
        code = paint(f"{row.code:<{longest}}", "code")
        lines.append(f"{row.new:>{wide},}  {code} {paint(fixable(row), 'mark')} {checked.name(row.code)}{known}")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def fixable(row: Count) -> str:
    """How much of it can be mended: [*] all, [-] some, [!] some with --unsafe, [ ] nothing."""
    if not row.new:
        return "[ ]"
    if row.safe == row.new:
        return "[*]"
    if row.safe:
        return "[-]"
    return "[!]" if row.unsafe else "[ ]"
