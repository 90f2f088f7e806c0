"""What files and include directives cost a translation unit, in preprocessed lines.

*Exclusive* is what a file contributes itself (``Closure.lines``); the exclusive lines of all files add up to the unit.
*Inclusive* is that together with all that it includes. What *removing a directive saves* is less than what its target
is worth inclusively whenever another directive reaches the same files. All three take the directives as they are: that
a file without an include may take other arms of its conditions is not considered.

Lines of a file of the checkout are its active ones as they stand there. `-E` prints fewer of them, because it leaves
out long comments and macro definitions; that is some thousand lines of a unit with a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from torchless.closure.model import Closure, Edge
from torchless.closure.weights import Weights


@dataclass(frozen=True, slots=True)
class Saving:
    """What a unit no longer reads: the files, in the order in which it meets them, and their lines."""

    files: tuple[str, ...]
    lines: int


def total(closure: Closure) -> int:
    """The preprocessed lines of the unit, as far as the weights of outside headers are known."""
    return sum(closure.lines.values())


def unweighed(closure: Closure) -> list[str]:
    """The headers outside of the checkout whose weight is not known, sorted: `total` counts nothing for them."""
    return sorted(header for header in closure.outside if header not in closure.lines)


def inclusive(closure: Closure, weights: Weights) -> dict[str, int]:
    """File -> the lines that it and what it includes bring, each file once. For an outside header: its whole weight.

    That of the source is the unit's `total`.
    """
    leaving = _leaving(closure.edges)
    return {path: _lines(closure, weights, _reached(path, leaving)) for path in closure.via}


def saved_by_removing(closure: Closure, edges: Iterable[Edge], weights: Weights) -> Saving:
    """What the unit would not read without the directives ``edges``, which must be of the closure."""
    gone = set(edges)
    leaving = _leaving(edge for edge in closure.edges if edge not in gone)
    kept = _reached(closure.spec.source, leaving)
    files = tuple(path for path in closure.via if path not in kept)
    return Saving(files, _lines(closure, weights, closure.via) - _lines(closure, weights, kept) if files else 0)


def _leaving(edges: Iterable[Edge]) -> dict[str, list[str]]:
    leaving: dict[str, list[str]] = {}
    for edge in edges:
        leaving.setdefault(edge.includer, []).append(edge.target)
    return leaving


def _reached(start: str, leaving: Mapping[str, Iterable[str]]) -> dict[str, None]:
    reached = {start: None}
    pending = [start]
    while pending:
        for target in leaving.get(pending.pop(), ()):
            if target not in reached:
                reached[target] = None
                pending.append(target)
    return reached


def _lines(closure: Closure, weights: Weights, files: Collection[str]) -> int:
    """The lines of ``files``, those that outside headers share counted once."""
    own = sum(closure.lines.get(path, 0) for path in files if path not in closure.outside)
    return own + weights.of(path for path in files if path in closure.outside)
