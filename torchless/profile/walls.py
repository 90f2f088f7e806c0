"""The wall of a build: its units ranked, and what keeps it from being shorter with so many jobs at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchless.profile.model import COMPILE, BuildProfile, PassProfile, Placed, Profile, UnitProfile

_NEARLY = 0.05  # of the wall: a lower bound this near to it is what the wall hangs on


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a unit comes to run: its index, the worker, when it starts and ends, in seconds."""

    index: int
    slot: int
    started: float
    ended: float


@dataclass(frozen=True)
class Schedule:
    """A build with ``jobs`` at a time. critical: the units one after another on the worker that is ready last.

    longest: the seconds of the longest unit; share: all seconds over the jobs. Neither can be beaten by any order.
    """

    jobs: int
    slots: tuple[Slot, ...]
    wall: float
    longest: float
    share: float
    critical: tuple[int, ...]

    @property
    def bound_by(self) -> str:
        """What the wall hangs on: ``longest``, ``total``, or ``order`` when another order would be shorter."""
        least = max(self.longest, self.share)
        if self.wall > least * (1 + _NEARLY):
            return "order"
        return "longest" if self.longest >= self.share else "total"


def schedule(seconds: Sequence[float], jobs: int, largest_first: bool = False) -> Schedule:
    """How ``jobs`` workers get through units of ``seconds`` each, when whoever is free takes the next one.

    In the order given, as ninja does with one level of units; or the largest first. Linking is not in it.
    """
    jobs = max(1, jobs)
    order = sorted(range(len(seconds)), key=lambda n: (-seconds[n], n)) if largest_first else list(range(len(seconds)))
    free = [0.0] * jobs
    taken: list[list[int]] = [[] for _ in range(jobs)]
    slots = []
    for index in order:
        slot = min(range(jobs), key=lambda n: (free[n], n))
        slots.append(Slot(index, slot, free[slot], free[slot] + seconds[index]))
        free[slot] += seconds[index]
        taken[slot].append(index)
    last = max(range(jobs), key=lambda n: (free[n], -n))
    return Schedule(jobs, tuple(slots), free[last], max(seconds, default=0.0), sum(seconds) / jobs, tuple(taken[last]))


def seconds_of(profiled: PassProfile) -> float:
    """What a pass takes: the median CPU seconds of its runs.

    A compiler's pass runs in one thread: on an idle machine these are its wall seconds, and on a busy one the wall
    seconds are those of the other work, too.
    """
    return median([run.cpu for run in profiled.runs])


def unit_seconds(unit: UnitProfile) -> float:
    """What all passes of a unit take, one after another."""
    return sum(map(seconds_of, unit.passes))


def placed(profile: Profile, module: str) -> tuple[list[Placed], str]:
    """(the units of a module in the order of its build, where their seconds are from).

    From ninja's log of a real build where there was one; else reckoned from the units' own seconds.
    """
    built = next((b for b in profile.builds if b.module == module and b.units), None)
    if built is not None:
        return list(built.units), "ninja's log of the last build"
    units = [u for u in profile.units if u.module == module]
    found = schedule([unit_seconds(u) for u in units], profile.build_jobs)
    rows = [Placed(units[s.index].source, s.started, s.ended - s.started) for s in found.slots]
    what = "compilations one by one" if profile.kind == COMPILE else "front ends alone, not a build"
    return rows, f"reckoned from {what}"


def median(values: Sequence[float]) -> float:
    """The middle of ``values``, 0 for none."""
    if not values:
        return 0.0
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def build_seconds(build: BuildProfile) -> float:
    """The median of a module's trials."""
    return median(build.trials)
