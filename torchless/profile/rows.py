"""One row for each pass of each unit, with one version or two beside each other: what every printer shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torchless.profile.compare import Change, compare
from torchless.profile.model import TORCH, Lines, PassProfile, Profile, Seconds


@dataclass(frozen=True)
class Row:
    """A pass before and after; one of them None where only the other was measured. With one version it is ``after``."""

    module: str
    source: str
    name: str
    before: PassProfile | None
    after: PassProfile | None

    @property
    def seconds(self) -> Change:
        """CPU seconds of the runs."""
        return compare(*(tuple(run.cpu for run in p.runs) if p else () for p in (self.before, self.after)))

    def part(self, which: str) -> Change:
        """Seconds out of the traces: ``front_end``, ``optimizer`` or ``code_generation``."""
        return compare(*(_parts(p.runs, which) if p else () for p in (self.before, self.after)))

    @property
    def lines(self) -> tuple[int | None, int | None]:
        """Preprocessed lines before and after."""
        before, after = (p.lines.total if p and p.lines else None for p in (self.before, self.after))
        return before, after

    @property
    def own_lines(self) -> tuple[int | None, int | None]:
        """The same without what the compiler reads in front of every unit: what is in the source's hands."""
        before, after = (p.lines.total - p.lines.in_front if p and p.lines else None for p in (self.before, self.after))
        return before, after

    @property
    def fewer_lines(self) -> float | None:
        """The share of the lines that are gone; negative when there are more."""
        return _fewer(*self.lines)

    @property
    def fewer_own_lines(self) -> float | None:
        """The same of own_lines."""
        return _fewer(*self.own_lines)

    @property
    def torch(self) -> tuple[float | None, float | None]:
        """The shares of the lines that are read below headers of torch."""
        before, after = (through(p.lines, TORCH) if p else None for p in (self.before, self.after))
        return before, after


def _fewer(before: int | None, after: int | None) -> float | None:
    return 1 - after / before if before and after is not None else None


def _parts(runs: Sequence[Seconds], which: str) -> tuple[float, ...]:
    values: list[float | None] = [getattr(run, which) for run in runs]
    return tuple(value for value in values if value is not None)


def through(lines: Lines | None, kind: str) -> float | None:
    """The share of a pass's lines that is read below headers of ``kind``."""
    return lines.through.get(kind, 0) / lines.total if lines is not None and lines.total else None


def rows(profiles: Sequence[Profile]) -> list[Row]:
    """The rows of one profile or two, in the order of the newer one's units; what only the older has comes last."""
    old = _passes(profiles[0]) if len(profiles) > 1 else {}
    new = _passes(profiles[-1])
    keys = [*new, *(key for key in old if key not in new)]
    return [Row(*key, old.get(key), new.get(key)) for key in keys]


def _passes(profile: Profile) -> Mapping[tuple[str, str, str], PassProfile]:
    return {(unit.module, unit.source, each.name): each for unit in profile.units for each in unit.passes}


def builds(profiles: Sequence[Profile]) -> list[tuple[str, Change, tuple[str, ...]]]:
    """(module, its end-to-end seconds before and after, what went wrong) of each module that was built."""
    old = {b.module: b for b in profiles[0].builds} if len(profiles) > 1 else {}
    new = {b.module: b for b in profiles[-1].builds}
    out = []
    for module in dict.fromkeys((*new, *old)):
        both = (old.get(module), new.get(module))
        change = compare(*(build.trials if build else () for build in both))
        out.append((module, change, tuple(build.problem for build in both if build and build.problem)))
    return out
