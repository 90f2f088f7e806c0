"""Why a translation unit reads a header: the ways on which it comes there, and what each step of them costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchless.closure.chains import all_chains, chain, is_certain
from torchless.closure.cost import Saving, inclusive, saved_by_removing, total, unweighed
from torchless.closure.heavy import HeavySet
from torchless.closure.model import Closure, Edge
from torchless.closure.weights import Weights
from torchless.facts.spec import TuSpec


@dataclass(frozen=True, slots=True)
class Step:
    """A directive on the way. saves: what the unit would not read without it. frees: the header is among that."""

    edge: Edge
    saves: Saving
    frees: bool


@dataclass(frozen=True, slots=True)
class Reason:
    """How a unit comes to one header.

    category: that of a heavy header, else "". certain: False when only undecided conditions lead there. exclusive and
    inclusive: preprocessed lines, see `cost`; for a header without a known weight both are 0 and ``weighed`` is False.
    chains: the ways there, a shortest one first. is_all: there are no others.
    """

    header: str
    category: str
    certain: bool
    exclusive: int
    inclusive: int
    weighed: bool
    chains: tuple[tuple[Step, ...], ...]
    is_all: bool


@dataclass(frozen=True, slots=True)
class Why:
    """What one pass over a unit reads, and the reasons for the headers asked about, in the order of meeting them.

    files: how many it reads. lines: their preprocessed lines, without those of ``unweighed``.
    """

    spec: TuSpec
    files: int
    lines: int
    unweighed: tuple[str, ...]
    reasons: tuple[Reason, ...]


def why(closure: Closure, heavy: HeavySet, weights: Weights, header: str = "", limit: int = 1) -> Why:
    """Why the unit of ``closure`` reads ``header`` (see `matching`), or else every heavy header that it reads.

    At most ``limit`` ways are given for each; the first is a shortest one, of certain directives where there is one.
    """
    found = heavy.found(closure)
    wanted = matching(closure, header) if header else list(found)
    whole = inclusive(closure, weights)
    savings: dict[Edge, Saving] = {}
    reasons = []
    for target in wanted:
        ways = _ways(closure, target, limit)
        steps = []
        for way in ways[:limit]:
            for edge in way:
                if edge not in savings:
                    savings[edge] = saved_by_removing(closure, [edge], weights)
            steps.append(tuple(Step(edge, savings[edge], target in savings[edge].files) for edge in way))
        reasons.append(
            Reason(
                header=target,
                category=found.get(target, ""),
                certain=is_certain(closure, target),
                exclusive=closure.lines.get(target, 0),
                inclusive=whole[target],
                weighed=target in closure.lines,
                chains=tuple(steps),
                is_all=len(ways) <= limit,
            )
        )
    return Why(closure.spec, len(closure.via), total(closure), tuple(unweighed(closure)), tuple(reasons))


def matching(closure: Closure, header: str) -> list[str]:
    """The files of a closure that ``header`` names, in the order in which the unit meets them; never the source.

    A name is a whole path, or the end of one from a slash on: ``aiter_hip_common.h``, ``torch/all.h``. A folder with a
    slash at its end (``torch/``) names what is spelled from there on.
    """
    reached = dict.fromkeys(edge.target for edge in closure.edges)
    if header.endswith("/"):
        return [path for path in reached if path.startswith(header)]
    exact = [path for path in reached if path == header]
    return exact or [path for path in reached if path.endswith(f"/{header}")]


def _ways(closure: Closure, target: str, limit: int) -> Sequence[tuple[Edge, ...]]:
    """The ways to ``target``, one more than ``limit`` where there is one."""
    first = tuple(chain(closure, target))
    others = all_chains(closure, target, limit + 1)
    return [first, *(way for way in others if way != first)][: limit + 1]
