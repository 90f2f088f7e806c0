"""Sources that include headers and instantiate templates of host functions, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from torchless.rewrites.passes.items import Item, UnreadableError, What, device_macros, items_of

FEWEST = 5
"""With fewer such sources one more to parse for the host is no gain."""


@dataclass(frozen=True)
class Instances:
    """A source that only instantiates: ``first`` is the offset of its first include, ``launchers`` are its
    instantiations as they are spelled, with the semicolon."""

    path: str
    data: bytes
    first: int
    includes: tuple[str, ...]
    launchers: tuple[bytes, ...]


def instances_of(path: str, data: bytes) -> Instances | None:
    """The source at ``path`` as a list of instantiations; None where it holds anything else."""
    try:
        items = items_of(data)
    except UnreadableError:
        return None
    includes = [item for item in items if item.what is What.INCLUDE]
    launchers = [item for item in items if _instantiates(item, data)]
    if not includes or not launchers or len(includes) + len(launchers) < len(items):
        return None
    if includes[-1].end > launchers[0].start:
        return None
    spelled = tuple(data[item.start : item.end] for item in launchers)
    return Instances(path, data, includes[0].start, tuple(item.spelled for item in includes), spelled)


def _instantiates(item: Item, data: bytes) -> bool:
    """Whether an item is ``template R name<args>(params);`` of a host function."""
    words = data[item.start : item.end].split(None, 1)
    return (
        item.what is What.OTHER
        and len(words) == 2
        and words[0] == b"template"
        and not words[1].startswith(b"<")
        and data[item.end - 1 : item.end] == b";"
    )


def clashing(sources: Sequence[Instances], reached: Mapping[str, Collection[str]], read: Callable[[str], bytes]) -> str:
    """The first function that two headers define which no source reads together, in words; "" where there is none.

    ``reached`` maps the path of a source to the files of the checkout that it reads. In one unit for the host both
    would be defined.
    """
    groups = {frozenset(reached[one.path]) for one in sources}
    for one, other in combinations(sorted(groups, key=sorted), 2):
        for a in sorted(one - other):
            for b in sorted(other - one):
                both = _defined(read(a)) & _defined(read(b))
                if both:
                    return f"{a} and {b} both define {min(both).decode('latin-1')}"
    return ""


def _defined(data: bytes) -> frozenset[bytes]:
    try:
        items = items_of(data, device_macros([data]))
    except UnreadableError:
        return frozenset()
    wanted = (What.FUNCTION, What.DEVICE)
    return frozenset(name for item in items if item.what in wanted for name in item.declares)
