"""Where a campaign stands: every module, every construct, what is blocked and why, and which headers still weigh."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from torchless.campaign.model import Batch, Plan, State
from torchless.campaign.state import Campaign, Step
from torchless.closure.build import Closures
from torchless.closure.chains import chain
from torchless.closure.heavy import load_heavy
from torchless.closure.model import Closure
from torchless.closure.weights import load_weights
from torchless.errors import UsageError
from torchless.index import open_index
from torchless.model import Tier
from torchless.options import MigrateOptions
from torchless.project.discover import ProjectError, load
from torchless.project.model import Project

_TORCH = ("torch", "c10")
_HEADERS = 12


class Place(str, Enum):
    """What became of a module, in the order in which modules get through."""

    FREE = "free of torch"
    MERGED = "merged, but reads torch"
    EMITTED = "in a pull request"
    PLANNED = "ready"
    STALE = "stale"
    BLOCKED = "blocked"
    LEFT = "reads torch, nothing to migrate"


@dataclass(frozen=True, slots=True)
class ModuleLine:
    """A module: its place, its batch ("" for none), and in words why it is not through."""

    name: str
    place: Place
    batch: str
    why: str


@dataclass(frozen=True, slots=True)
class ConstructLine:
    """The places of one rule: in batches that are merged, that can go safely, that may shift the meaning, that wait.

    ``why`` says what the waiting ones wait for.
    """

    code: str
    name: str
    done: int
    ready: int
    unsafe: int
    blocked: int
    why: str

    @property
    def total(self) -> int:
        """All places."""
        return self.done + self.ready + self.unsafe + self.blocked


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """A code that blocks: in how many places of which batches, what it says there, and what a person would do."""

    code: str
    name: str
    places: int
    batches: tuple[str, ...]
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A heavy header that is still read, in so many passes with so many lines each; ``way`` is one way there."""

    header: str
    category: str
    passes: int
    modules: int
    lines: int
    way: tuple[str, ...]

    @property
    def total(self) -> int:
        """The lines of all passes."""
        return self.passes * self.lines


@dataclass(frozen=True)
class Standing:
    """Everything that a report tells."""

    root: str
    base: str
    plan: Plan
    campaign: Campaign
    modules: tuple[ModuleLine, ...]
    constructs: tuple[ConstructLine, ...]
    reasons: tuple[ReasonLine, ...]
    headers: tuple[HeaderLine, ...]
    history: tuple[Step, ...]

    @property
    def places(self) -> Mapping[Place, int]:
        """How many modules are in each place, zeros included."""
        found = Counter(line.place for line in self.modules)
        return {place: found[place] for place in Place}

    @property
    def next(self) -> Batch | None:
        """The batch to make next."""
        rows = {row.name: row for row in self.campaign.batches}
        return next((b for b in self.plan.ready if b.name not in rows or rows[b.name].state is State.PLANNED), None)


def standing(
    plan: Plan, campaign: Campaign | None, options: MigrateOptions, start: Path, names: Mapping[str, str]
) -> Standing:
    """Where things stand by ``plan`` and ``campaign``; ``names``: code -> name of its rule. Raises UsageError."""
    campaign = campaign or Campaign()
    closures, project = _closures(options, start)
    read = {m.name: [c for source in m.sources for c in closures.of(source)] for m in project.modules}
    return Standing(
        root=plan.root,
        base=campaign.base,
        plan=plan,
        campaign=campaign,
        modules=tuple(_modules(project, plan, campaign, read, closures)),
        constructs=tuple(_constructs(plan, campaign, names)),
        reasons=tuple(_reasons(plan.blocked, names)),
        headers=tuple(_headers(read, closures)),
        history=campaign.history,
    )


def _closures(options: MigrateOptions, start: Path) -> tuple[Closures, Project]:
    try:
        project = load(start, options.paths)
    except ProjectError as error:
        raise UsageError(str(error)) from None
    index = open_index(Path(project.root), options.cache)
    heavy = load_heavy(())
    return Closures(project, index, heavy, options.arch, options.defines, options.include_dirs), project


_OF_STATE = {
    State.EMITTED: Place.EMITTED,
    State.PLANNED: Place.PLANNED,
    State.STALE: Place.STALE,
    State.BLOCKED: Place.BLOCKED,
}


def _modules(
    project: Project,
    plan: Plan,
    campaign: Campaign,
    read: Mapping[str, Sequence[Closure]],
    closures: Closures,
) -> Iterable[ModuleLine]:
    batch_of = {name: batch for batch in plan.batches for name in batch.modules}
    merged = {name for row in campaign.batches if row.state is State.MERGED for name in row.modules}
    lines = []
    for module in project.modules:
        batch = batch_of.get(module.name)
        way = _way_to_torch(read[module.name], closures)
        if batch is not None:
            row = campaign.row(batch.name)
            state = State.BLOCKED if batch.blockers else row.state if row is not None else State.PLANNED
            place = _OF_STATE.get(state, Place.PLANNED)
            lines.append(ModuleLine(module.name, place, batch.name, _why(batch, campaign)))
        elif not way:
            lines.append(ModuleLine(module.name, Place.FREE, "", ""))
        else:
            place = Place.MERGED if module.name in merged else Place.LEFT
            lines.append(ModuleLine(module.name, place, "", f"through {' -> '.join(way)}"))
    order = list(Place)
    return sorted(lines, key=lambda line: (order.index(line.place), line.name))


def _why(batch: Batch, campaign: Campaign) -> str:
    """Why the batch of a module is not through, in words."""
    if batch.blockers:
        return "; ".join(f"{b.code} {b.message} ({b.places})" for b in batch.blockers[:2])
    row = campaign.row(batch.name)
    if row is not None and row.note:
        return row.note
    if row is not None and row.state is State.EMITTED:
        return row.place
    return f"needs {', '.join(batch.needs)}" if batch.needs else ""


def _way_to_torch(read: Iterable[Closure], closures: Closures) -> tuple[str, ...]:
    """A shortest way from a source to a header of torch, () when no pass reads one."""
    ways = [
        (closure.spec.source, *(edge.target for edge in chain(closure, header)))
        for closure in read
        for header in sorted(closure.outside)
        if closures.heavy.category(header) in _TORCH
    ]
    return min(ways, key=lambda way: (len(way), way), default=())


def _constructs(plan: Plan, campaign: Campaign, names: Mapping[str, str]) -> Iterable[ConstructLine]:
    done: Counter[str] = Counter()
    for row in campaign.batches:
        if row.state is State.MERGED:
            done.update(row.constructs)
    ready: Counter[str] = Counter()
    unsafe: Counter[str] = Counter()
    blocked: Counter[str] = Counter()
    why: dict[str, Counter[str]] = {}
    for batch in plan.batches:
        for unit in batch.units:
            stopped = [f.code for f in unit.findings if f.blocks] or [b.code for b in batch.blockers]
            for finding in unit.findings:
                if batch.blockers and (finding.edits or finding.blocks):
                    blocked[finding.code] += 1
                    reasons = [finding.code] if finding.blocks else stopped
                    why.setdefault(finding.code, Counter()).update(dict.fromkeys(reasons, 1))
                elif finding.edits:
                    (unsafe if finding.tier is Tier.UNSAFE else ready)[finding.code] += 1
    lines = []
    for code in {*done, *ready, *unsafe, *blocked}:
        reasons = [found for found, _ in why.get(code, Counter()).most_common(3)]
        told = "" if not reasons else "blocks" if reasons == [code] else f"waits for {', '.join(reasons)}"
        line = ConstructLine(code, names.get(code, ""), done[code], ready[code], unsafe[code], blocked[code], told)
        lines.append(line)
    return sorted(lines, key=lambda line: (-line.total, line.code))


def _reasons(blocked: Sequence[Batch], names: Mapping[str, str]) -> Iterable[ReasonLine]:
    found: dict[str, list[tuple[Batch, int, str, str]]] = {}
    for batch in blocked:
        for blocker in batch.blockers:
            found.setdefault(blocker.code, []).append((batch, blocker.places, blocker.message, blocker.help))
    lines = [
        ReasonLine(
            code,
            names.get(code, ""),
            sum(places for _, places, _, _ in rows),
            tuple(batch.name for batch, *_ in rows),
            rows[0][2],
            rows[0][3],
        )
        for code, rows in found.items()
    ]
    return sorted(lines, key=lambda line: (-len(line.batches), -line.places, line.code))


def _headers(read: Mapping[str, Sequence[Closure]], closures: Closures) -> Iterable[HeaderLine]:
    """The heaviest headers that modules still read, by the lines of all their passes."""
    weights = load_weights()
    passes: dict[str, list[Closure]] = {}
    modules: dict[str, set[str]] = {}
    for name, found in read.items():
        for closure in found:
            for header in closures.heavy.found(closure):
                if header in closure.outside:
                    passes.setdefault(header, []).append(closure)
                    modules.setdefault(header, set()).add(name)
    lines = []
    for header, found in passes.items():
        edges = chain(found[0], header)
        way = (found[0].spec.source, *(edge.target for edge in edges[:-1]))
        category = closures.heavy.category(header)
        lines.append(HeaderLine(header, category, len(found), len(modules[header]), weights.of([header]), way))
    return sorted(lines, key=lambda line: (-line.total, line.header))[:_HEADERS]
