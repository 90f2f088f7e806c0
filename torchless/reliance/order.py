"""In which order a translation unit reads its files, and what becomes of that order without one include directive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from torchless.closure.model import Closure, Edge

Place = tuple[str, int]
"""(includer, offset of the directive's #)"""


@dataclass(frozen=True)
class Reading:
    """When a unit enters and leaves each file that it reads, counted from 0; every file counts once, the first time.

    opened: file -> the directive that opened it; the source is opened by none.
    """

    entered: Mapping[str, int]
    left: Mapping[str, int]
    opened: Mapping[str, Place]

    def has_before(self, path: str, user: str) -> bool:
        """Whether what ``path`` holds is there before ``user`` ends."""
        return path in self.entered and self.entered[path] <= self.left.get(user, -1)

    def through(self, place: Place, target: str) -> tuple[str, ...]:
        """The files that the unit enters first through the directive at ``place``, ``target`` first."""
        if self.opened.get(target) != place:
            return ()
        first, last = self.entered[target], self.left[target]
        return tuple(path for path, at in self.entered.items() if first <= at <= last)


def edges_by_includer(closure: Closure) -> dict[str, list[Edge]]:
    """The edges that leave each file, in the order in which they stand in it."""
    leaving: dict[str, list[Edge]] = {}
    for edge in closure.edges:
        leaving.setdefault(edge.includer, []).append(edge)
    for edges in leaving.values():
        edges.sort(key=lambda e: e.offset)
    return leaving


def reading(source: str, leaving: Mapping[str, list[Edge]], without: Collection[Place] = ()) -> Reading:
    """The reading of the unit of ``source`` over edges_by_includer(), as if the directives ``without`` were gone."""
    entered = {source: 0}
    left: dict[str, int] = {}
    opened: dict[str, Place] = {}
    clock = 0
    stack = [(source, iter(leaving.get(source, ())))]
    while stack:
        path, edges = stack[-1]
        for edge in edges:
            place = (edge.includer, edge.offset)
            if edge.target not in entered and place not in without:
                clock += 1
                entered[edge.target] = clock
                opened[edge.target] = place
                stack.append((edge.target, iter(leaving.get(edge.target, ()))))
                break
        else:
            left[path] = clock
            stack.pop()
    return Reading(entered, left, opened)
