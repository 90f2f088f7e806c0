"""A plan as a table, for people and for pull requests: what goes when, what it buys, what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from torchless.campaign.model import Batch, Plan, State
from torchless.campaign.state import Campaign, Row
from torchless.report.wording import one_line, plural, printable

STYLE = {
    State.PLANNED: "bold",
    State.EMITTED: "bold cyan",
    State.MERGED: "bold green",
    State.STALE: "bold magenta",
    State.BLOCKED: "bold yellow",
}
HEADS = ("#", "batch", "state", "units", "files", "lines", "expected gain", "tier", "needs", "blockers")
_NUMERIC = frozenset({"#", "units", "files", "lines"})
_NEEDS = 3


def print_plan(console: Console, plan: Plan, campaign: Campaign | None) -> None:
    """Print the table, and below it what is over a limit, in conflict or worth a note."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in HEADS:
        fold = head not in ("batch", "blockers", "needs")
        table.add_column(head, justify="right" if head in _NUMERIC else "left", no_wrap=fold, overflow="fold")
    for batch in plan.batches:
        state = state_of(batch, campaign)
        cells = [Text(printable(cell)) for cell in row_of(batch, state)]
        cells[2].stylize(STYLE[state])
        table.add_row(*cells)
    console.print(table)
    for line in remarks(plan, campaign):
        console.print(Text(printable(line)), soft_wrap=True)


def row_of(batch: Batch, state: State) -> tuple[str, ...]:
    """The cells of a batch, by HEADS."""
    needs = ", ".join(batch.needs[:_NEEDS]) + (
        f" and {len(batch.needs) - _NEEDS} more" if len(batch.needs) > _NEEDS else ""
    )
    blockers = ", ".join(f"{b.code} x{b.places}" for b in batch.blockers)
    size = ("", "") if batch.blockers else (str(len(batch.files)), f"{batch.lines:,}")
    made = ("", "", "") if batch.blockers else (gain_of(batch), batch.tier.value, needs or "-")
    return (str(batch.number), batch.name, state.value, str(len(batch.units)), *size, *made, blockers)


def gain_of(batch: Batch) -> str:
    """What a batch buys, in words: seconds where a profile is known, and lines."""
    gain = batch.gain
    share = f" ({-gain.lines / gain.before:+.0%})" if gain.before else ""
    lines = f"{-gain.lines:+,} lines{share}"
    return lines if gain.seconds is None else f"{-gain.seconds:+.1f} s, {lines}"


def state_of(batch: Batch, campaign: Campaign | None) -> State:
    """The state of a batch: as the campaign has it, else planned or blocked."""
    row = campaign.row(batch.name) if campaign is not None else None
    if batch.blockers:
        return State.BLOCKED
    return row.state if row is not None and row.state is not State.BLOCKED else State.PLANNED


def remarks(plan: Plan, campaign: Campaign | None) -> Iterator[str]:
    """One line for each thing that the table has no room for."""
    for batch in plan.batches:
        yield from (f"{batch.name}: {text}: one unit cannot be cut" for text in batch.over)
    for row in campaign.batches if campaign is not None else ():
        if row.conflicts:
            yield f"{row.name}: {row.note}: {', '.join(row.conflicts)}"
        elif row.note and row.state is not State.MERGED:
            yield f"{row.name}: {row.note}"
    merged = [row for row in campaign.batches if row.state is State.MERGED] if campaign is not None else []
    if merged:
        yield f"merged: {', '.join(row.name for row in merged)}"
    yield from (f"note: {note}" for note in plan.notes)
    yield summary(plan)


def summary(plan: Plan) -> str:
    """One line: how many batches there are, how much they change, how many are blocked."""
    ready, blocked = plan.ready, plan.blocked
    lines = sum(batch.lines for batch in ready)
    apart = sum(not batch.needs for batch in ready)
    text = f"{plural(len(ready), 'batch', 'batches')} with {plural(lines, 'changed line')}, {apart} of them independent"
    return f"{text}; {len(blocked)} blocked"


def blockers_of(rows: Sequence[Row]) -> Iterator[str]:
    """Every blocker of some rows, one a line."""
    for row in rows:
        yield from (f"{row.name}: {one_line(blocker)}" for blocker in row.blockers)
