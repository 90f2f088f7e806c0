"""What is known about functions that change: what they give back, what they get, what Python does instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from torchless.hoisting.allocation import Source
from torchless.model import Edit
from torchless.rewrites.returns.asking import Query
from torchless.rewrites.returns.falling_back import Fallback, Site
from torchless.rewrites.returns.lifted import Added, Fill, Lifted
from torchless.rewrites.returns.philox import Philox
from torchless.rewrites.returns.reading import Giver, Key, Reading, Shape


@dataclass(frozen=True, slots=True)
class Own:
    """The caller's own argument at ``position`` comes back."""

    position: int


@dataclass(frozen=True, slots=True)
class New:
    """What Python makes for the added parameter ``name`` comes back."""

    name: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What the function ``key`` gives back once it returns nothing: ``gives``, part by part of its result.

    ``added``: the parameters that it gets, ``fills``: the optional ones that Python fills in. ``at`` is the position
    before which scratch goes; outputs go in front of all. ``twin``: a function with just these parameters is there.
    ``fallback``: what Python does when the function answers that it did nothing. ``queries``: what Python asks C++ for.
    ``addresses``: the positions of lists of tensors of which Python passes the addresses. ``philox``: the generator
    that becomes a seed and an offset. ``numbers``: the positions of dtypes of which Python passes the numbers, and
    whether they are optional. ``undefined``: the positions of tensors that become optional.
    """

    key: Key
    shape: Shape
    gives: tuple[Own | New, ...]
    added: tuple[Added, ...] = ()
    fills: tuple[Fill, ...] = ()
    at: int = 0
    twin: bool = False
    fallback: Fallback | None = None
    queries: tuple[Query, ...] = ()
    addresses: tuple[int, ...] = ()
    philox: Philox | None = None
    numbers: tuple[tuple[int, bool], ...] = ()
    undefined: tuple[int, ...] = ()

    @property
    def outputs(self) -> tuple[Added, ...]:
        """The added parameters that go in front."""
        return tuple(a for a in self.added if a.output)

    @property
    def scratch(self) -> tuple[Added, ...]:
        """The added parameters that go before position ``at``."""
        return tuple(a for a in self.added if not a.output)


@dataclass(frozen=True)
class Contracts:
    """``by_key``: the functions that change. ``refused``: why others that ought to cannot, for people.

    ``edits``: what changes in the body of a definition, by its file and the offset where it starts. ``gone``: places
    of definitions that only said what torch does where a kernel does nothing.
    """

    by_key: Mapping[Key, Contract] = field(default_factory=dict)
    refused: Mapping[Key, str] = field(default_factory=dict)
    edits: Mapping[tuple[str, int], tuple[Edit, ...]] = field(default_factory=dict)
    gone: frozenset[tuple[str, int]] = frozenset()

    def of(self, name: str, arguments: int) -> Contract | None:
        """The one contract of the functions that a call of ``name`` (unqualified) with so many arguments may mean."""
        found = {
            (c.gives, c.added, c.fills, c.fallback): c for k, c in self.by_key.items() if may_be(k, name, arguments)
        }
        if len(found) != 1 or any(may_be(k, name, arguments) for k in self.refused):
            return None
        return next(iter(found.values()))


def may_be(key: Key, name: str, arguments: int) -> bool:
    """Whether a call of ``name`` (unqualified) with so many arguments may mean the function ``key``."""
    return key[0].rsplit("::", 1)[-1] == name and key[1] >= arguments


Answer = tuple[Own | New, ...]


@dataclass(frozen=True)
class Surroundings:
    """``source``: a file as the translation of expressions wants it; ``bound``: names of functions that Python calls.

    ``placeholders``: the byte ranges of a file's tensors without elements, which need no allocation.
    """

    source: Callable[[Reading], Source]
    bound: Collection[str]
    placeholders: Callable[[Reading], Collection[tuple[int, int]]]


@dataclass
class State:
    """What is settled so far, and what it is settled from."""

    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]]
    lifted: Mapping[tuple[str, int], Lifted]
    sites: Mapping[tuple[str, int], Sequence[Site]]
    around: Surroundings
    adding: Collection[str]  # unqualified names of functions that may get parameters
    concerned: set[Key] = field(default_factory=set)  # the others are settled: there is nothing to decide
    known: dict[Key, Contract] = field(default_factory=dict)
    refused: dict[Key, str] = field(default_factory=dict)
    edits: dict[tuple[str, int], tuple[Edit, ...]] = field(default_factory=dict)
    gone: set[tuple[str, int]] = field(default_factory=set)
    first_defaults: Mapping[Key, int] = field(default_factory=dict)  # where parameters with defaults start
    philox: Mapping[tuple[str, int], tuple[Philox, tuple[Edit, ...]]] = field(default_factory=dict)

    @property
    def contracts(self) -> Contracts:
        """What is settled so far."""
        return Contracts(self.known, self.refused, self.edits, frozenset(self.gone))


def last_name(key: Key) -> str:
    """The unqualified name of a function."""
    return key[0].rsplit("::", 1)[-1]


def means_itself(giver: Giver, name: str, arguments: int) -> bool:
    """Whether a call inside ``giver`` means another overload of its name."""
    return may_be(giver.key, name, arguments) and arguments != giver.key[1]
