"""Which files can call one another's functions: what is settled together, and what has nothing to do with each other.

Two modules may well have functions of one name that differ; each is a library of its own. A header joins the modules
that include it where it has to do with functions that change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from torchless.rewrites.returns.model import last_name
from torchless.rewrites.returns.passing_on import calls_of
from torchless.rewrites.returns.reading import TENSOR_LIST, Giver, Reading, Shape
from torchless.units.components import Components


def grouped(
    readings: Sequence[Reading],
    libraries: Iterable[Sequence[str]],
    closures: Mapping[str, Collection[str]],
    changing: Collection[str],
) -> list[list[Reading]]:
    """``readings`` in groups, each in the order in which it was given.

    ``libraries`` are the sources that are linked together, ``closures`` the files that each source reads, ``changing``
    the unqualified names of functions that may change: no reading of another group calls or declares them.
    """
    joining = {r.view.source.path for r in readings if _has_to_do(r, changing)}
    components: Components[str] = Components()
    for reading in readings:
        components.add(reading.view.source.path)
    for sources in libraries:
        for source in sources:
            components.join(sources[0], source, "one library")
            for path in joining.intersection(closures.get(source, ())):
                components.join(source, path, "included")
    for source in sorted(closures.keys() & joining):
        for path in sorted(joining.intersection(closures[source])):
            components.join(source, path, "included")
    out: dict[str, list[Reading]] = {}
    for reading in readings:
        out.setdefault(components.find(reading.view.source.path), []).append(reading)
    return list(out.values())


def names_changing(readings: Sequence[Reading], may_change: Callable[[Reading, Giver], bool]) -> frozenset[str]:
    """The unqualified names of functions that may change, and of all that call these, over any number of steps.

    Those that give tensors back or take lists of them may, and those of which ``may_change`` says so.
    """
    everything = [(r, g) for r in readings for g in r.givers]
    names = {last_name(g.key) for r, g in everything if _changes(g) or may_change(r, g)}
    return with_callers(names, everything)


def with_callers(names: Collection[str], functions: Iterable[tuple[Reading, Giver]]) -> frozenset[str]:
    """``names``, and those of the ``functions`` with a body that call one of them, over any number of steps."""
    defined = [(reading, giver) for reading, giver in functions if giver.body is not None]
    found = frozenset(names)
    while True:
        more = {
            last_name(giver.key)
            for reading, giver in defined
            if last_name(giver.key) not in found and any(True for _ in calls_of(reading, giver, found))
        }
        if not more:
            return found
        found |= more


def _changes(giver: Giver) -> bool:
    return giver.shape is not Shape.NONE or TENSOR_LIST in giver.tensors


def _has_to_do(reading: Reading, changing: Collection[str]) -> bool:
    declares = any(last_name(giver.key) in changing for giver in reading.givers)
    return declares or any(True for _ in calls_of(reading, None, changing))
