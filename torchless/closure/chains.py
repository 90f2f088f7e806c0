"""The ways on which a translation unit comes to a header."""

from __future__ import annotations

from torchless.closure.model import Closure, Edge


def chain(closure: Closure, target: str) -> list[Edge]:
    """The directives on a shortest way from the source to ``target``; empty for the source and what is not reached.

    The way is one of certain directives where there is such a one.
    """
    edges: list[Edge] = []
    edge = closure.via.get(target)
    while edge is not None:
        edges.append(edge)
        edge = closure.via[edge.includer]
    return edges[::-1]


def is_certain(closure: Closure, target: str) -> bool:
    """Whether the unit is known to read ``target``; it may be reached on undecided conditions alone."""
    edge = closure.via.get(target)
    return target in closure.via and (edge is None or edge.certain)


def all_chains(closure: Closure, target: str, limit: int) -> list[tuple[Edge, ...]]:
    """Ways from the source to ``target`` that visit no file twice: the shortest ones first, at most ``limit`` of them.

    Among ways of the same length that with the earlier directives comes first. Two directives of one file for the same
    header make two ways.
    """
    incoming: dict[str, list[Edge]] = {}
    for edge in closure.edges:
        incoming.setdefault(edge.target, []).append(edge)
    distance = {target: 0}
    pending = [target]
    for path in pending:
        for edge in incoming.get(path, ()):
            if edge.includer not in distance:
                distance[edge.includer] = distance[path] + 1
                pending.append(edge.includer)
    source = closure.spec.source
    if target == source or source not in distance:
        return []
    leaving: dict[str, list[Edge]] = {}
    for edge in closure.edges:
        if edge.target in distance:  # others do not lead there
            leaving.setdefault(edge.includer, []).append(edge)
    found: list[tuple[Edge, ...]] = []
    longest = distance[source]
    while len(found) < limit and longest < len(distance):
        missed = _extend(source, target, longest, distance, leaving, found, limit)
        if missed is None:
            break
        longest = missed
    return found[:limit]


_MOST_STEPS = 100_000  # a dense graph has more ways than anybody wants to wait for


def _extend(
    source: str,
    target: str,
    length: int,
    distance: dict[str, int],
    leaving: dict[str, list[Edge]],
    found: list[tuple[Edge, ...]],
    limit: int,
) -> int | None:
    """Add the ways of exactly ``length`` directives to ``found``. Gives the next length worth trying, None for none.

    A depth-first search that turns back where the rest is too short for the way that is left.
    """
    beyond: list[int] = []
    way: list[Edge] = []
    visited = {source}
    stack = [iter(leaving.get(source, ()))]
    for _ in range(_MOST_STEPS):
        edge = next(stack[-1], None)
        if edge is None:
            stack.pop()
            if not way:
                return min(beyond, default=None)
            visited.discard(way.pop().target)
            continue
        at = len(way) + 1
        shortest = at + distance[edge.target]
        if edge.target in visited:
            continue
        if shortest > length:
            beyond.append(shortest)
        elif edge.target == target:
            if at == length:
                found.append((*way, edge))
                if len(found) == limit:
                    return None
        elif at < length:
            way.append(edge)
            visited.add(edge.target)
            stack.append(iter(leaving.get(edge.target, ())))
    return None
