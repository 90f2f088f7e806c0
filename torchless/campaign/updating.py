"""What became of the batches of a campaign, told by the tree as it is: merged, blocked, still to be made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from torchless import __version__
from torchless.campaign.emitting import SERIES
from torchless.campaign.model import Batch, Plan, State
from torchless.campaign.repository import Repository
from torchless.campaign.state import Campaign, Row, Step


def numbered(plan: Plan, campaign: Campaign) -> Plan:
    """``plan`` with the numbers that its batches had before; new ones come after all that there ever were.

    So does one that can no longer keep its place in the order: numbers never contradict that.
    """
    taken = {row.name: row.number for row in campaign.batches}
    following = max(taken.values(), default=0)
    reached = 0
    batches = []
    for batch in plan.batches:
        number = taken.get(batch.name, 0)
        if number <= reached and (not batch.blockers or not number):
            number = following = following + 1
        reached = reached if batch.blockers else number
        batches.append(replace(batch, number=number))
    return replace(plan, batches=tuple(batches))


def reconciled(
    plan: Plan, campaign: Campaign, repository: Repository, base: str, kind: str = "", folder: Path = Path()
) -> Campaign:
    """``campaign`` by what ``plan``, made on the commit ``base``, still finds to do. Nothing is made.

    A batch of which nothing is left to do is merged, whoever did it. ``kind`` and ``folder`` say where the batches
    were put; one that is not there any more is planned again.
    """
    found = {batch.name: batch for batch in plan.batches}
    rows: list[Row] = []
    for row in campaign.rows:
        if row.name == SERIES:
            rows.append(row)
        elif row.name in found:
            rows.append(_told(found[row.name], _present(row, repository, base, kind, folder)))
        else:
            rows.append(_merged(row, repository, base))
    old = {row.name for row in campaign.rows}
    rows += [
        _told(batch, Row(batch.name, batch.number, State.PLANNED)) for batch in plan.batches if batch.name not in old
    ]
    rows.sort(key=lambda row: row.number)
    return replace(campaign, base=base, torchless=__version__, rows=tuple(rows))


def stepped(campaign: Campaign, day: str) -> Campaign:
    """``campaign`` with a step in its history where the counts changed; one of the same day is replaced."""
    count = dict.fromkeys(("merged", "open", "blocked"), 0)
    for row in campaign.batches:
        count[row.state.value if row.state in (State.MERGED, State.BLOCKED) else "open"] += 1
    step = Step(day, campaign.base, **count)
    history = campaign.history
    if history and (history[-1].merged, history[-1].open, history[-1].blocked) == tuple(count.values()):
        return campaign
    if history and history[-1].date == day:
        history = history[:-1]
    return replace(campaign, history=(*history, step))


def upcoming(campaign: Campaign, plan: Plan, count: int) -> tuple[str, ...]:
    """The first ``count`` batches, in order, that nobody made yet; what one needs goes before it."""
    waiting = [batch.name for batch in plan.ready if _is_waiting(campaign.row(batch.name))]
    return tuple(waiting[:count])


def _is_waiting(row: Row | None) -> bool:
    return row is None or row.state is State.PLANNED


def _told(batch: Batch, row: Row) -> Row:
    """``row`` with what the plan says of its batch."""
    state, note = row.state, row.note
    if batch.blockers:
        state = State.BLOCKED
        note = "blocked since it was made: what was made is left alone" if row.emitted else ""
    elif row.state in (State.BLOCKED, State.MERGED):
        state, note = (State.STALE if row.emitted else State.PLANNED), ""
    return replace(
        row,
        number=batch.number,
        state=state,
        units=batch.unit_names,
        modules=batch.modules,
        files=len(batch.files),
        lines=batch.lines,
        tier="" if batch.blockers else batch.tier.value,
        lines_before=batch.gain.before,
        lines_after=batch.gain.after,
        seconds=batch.gain.seconds or 0.0,
        needs=batch.needs,
        blockers=tuple(f"{b.code} {b.message} ({b.places})" for b in batch.blockers),
        constructs=batch.constructs,
        note=note,
    )


def _present(row: Row, repository: Repository, base: str, kind: str, folder: Path) -> Row:
    """``row`` without what was made of it where that is gone, or is in the tree by now: the rest is planned anew."""
    if not row.emitted or row.next_tip:
        return row
    if _is_in(repository, row, base):
        return _fresh(row, "merged in part: the rest is planned")
    there = (folder / row.place).is_file() if kind == "patches" else bool(repository.ref(f"refs/heads/{row.place}"))
    return row if there else _fresh(row, f"{row.place} is gone: planned again")


def _fresh(row: Row, note: str) -> Row:
    return Row(row.name, row.number, State.PLANNED, row.units, row.modules, note=note)


def _merged(row: Row, repository: Repository, base: str) -> Row:
    if row.state is State.MERGED:
        return row
    otherwise = "nothing is left to do: it was done, or taken out, in another way"
    note = "as it was made" if _is_in(repository, row, base) else otherwise
    return replace(
        row, state=State.MERGED, note=note, blockers=(), offered="", conflicts=(), next_emitted="", next_tip=""
    )


def _is_in(repository: Repository, row: Row, base: str) -> bool:
    """Whether what was made of a batch, hand edits and all, is in the commit ``base``: it could be taken back there."""
    if not row.emitted or not repository.has(row.emitted) or not repository.has(row.tip):
        return False
    if repository.is_ancestor(row.tip, base):
        return True
    parent = repository.parent_of(row.emitted)
    patch = repository.diff(parent, row.tip) if parent else b""
    return bool(patch) and bool(repository.applied(repository.tree_of(base), patch, reverse=True))


def counts(rows: Iterable[Row]) -> dict[State, int]:
    """How many batches are in each state, zeros included."""
    found = [row.state for row in rows]
    return {state: found.count(state) for state in State}
