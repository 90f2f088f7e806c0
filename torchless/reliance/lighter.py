"""Headers that give the same names as another one, without torch: the include-map of the rule files."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from torchless.closure.model import Edge
from torchless.model import Edit
from torchless.reliance import families
from torchless.reliance.facts import Facts
from torchless.reliance.mending import edits_for, spelling
from torchless.reliance.vestige import judge
from torchless.rewrites.std_headers import is_given
from torchless.rules.catalogue import rules_dir

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Lighter:
    """A lighter header, as to be spelled, and the edits that put it in place; or why there are none, in a phrase."""

    header: str
    edits: tuple[Edit, ...] | str


def include_map(target: str = "aiter") -> dict[str, str]:
    """File name of a header that brings torch -> that of one with the same names which does not."""
    return _stored(rules_dir(target) / "includes.toml")


@lru_cache(maxsize=4)
def _stored(path: Path) -> dict[str, str]:
    document = tomllib.loads(path.read_text("utf-8"))
    return dict(document.get("include_map", {}))


def lighter_header(facts: Facts, edge: Edge, code: str) -> Lighter | None:
    """The lighter header that the include-map knows for the one that ``edge`` names; None where there is none.

    The edits are exact when it declares, or brings, every name of the other one that is used through ``edge``.
    """
    name = include_map().get(edge.target.rpartition("/")[2], "")
    views = facts.views_of.get(edge.includer, ())
    for header in facts.context.project.headers:
        if header.rpartition("/")[2] != name:
            continue
        spelled = spelling(facts, edge.includer, header, views)
        below = _below(facts, header)
        if spelled and below is not None and not any(facts.category(path) == families.TORCH for path in below):
            return Lighter(spelled, _replacement(facts, edge, header, below, code))
    return None


def _below(facts: Facts, header: str) -> frozenset[str] | None:
    """``header`` and what it includes in the unit where that is most; None when no unit reads it."""
    found = [view.below(header) for view in facts.views if header in view.reading.entered]
    return max(found, key=len, default=None)


def _replacement(facts: Facts, edge: Edge, header: str, below: frozenset[str], code: str) -> tuple[Edit, ...] | str:
    """The edits that name ``header`` in place of what ``edge`` names, or why not."""
    verdict = judge(facts, edge, outside=False, anyway=True)
    offered = frozenset().union(*(facts.declared(path).names for path in below))
    users = {edge.includer, *verdict.relied}
    used = frozenset().union(*(facts.mentions(user).names for user in users)) & facts.declared(edge.target).names
    missing = sorted(used - offered)
    if missing:
        return f"it lacks {missing[0]}"
    if verdict.doubts:
        return next(iter(verdict.doubts))
    first = next(iter((*verdict.own, *verdict.relied.values())))
    verdict.needed = {path: why for path, why in verdict.needed.items() if path not in below}
    verdict.needed[header] = (edge.includer, first)
    given = families.standard_in(below)  # no view of the includer shows what the header brings
    verdict.standard = {h: why for h, why in verdict.standard.items() if not is_given(h, given)}
    verdict.outside = {h: why for h, why in verdict.outside.items() if h[1:-1] not in below}
    return edits_for(facts, edge, verdict, code)
