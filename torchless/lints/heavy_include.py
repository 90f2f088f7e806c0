"""TL112: heavy headers that are named outright and used; what a ratchet counts."""

from __future__ import annotations

from collections.abc import Iterator

from torchless.closure.model import Edge
from torchless.closure.weights import load_weights
from torchless.lints.context import Context
from torchless.model import Finding, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, facts_of
from torchless.reliance.lines import base, heavy_lines, line_finding, listed, shown, takers
from torchless.reliance.vestige import judge

CODE = "TL112"
_OTHERS = frozenset({"ck", "pybind11", "std-function"})  # who uses these has no lighter choice


def findings(context: Context) -> Iterator[Finding]:
    """One finding for each include line that names a header of torch, or of a category of the user's, and is used."""
    facts = facts_of(context)
    for path in sorted(context.files):
        for edge, outside in heavy_lines(facts, path):
            if outside and facts.category(edge.target) not in _OTHERS:
                uses = _uses(facts, edge)
                if uses:
                    yield _finding(facts, edge, uses)


def _uses(facts: Facts, edge: Edge) -> list[str]:
    """Two names of the header that the file mentions, or that another file does which has them from here."""
    verdict = judge(facts, edge, outside=True)
    if verdict.own:
        return [use.replace("using namespace ", "") for use in verdict.own[:2]]
    return [f"{name} in {base(user)}" for user, name in sorted(verdict.relied.items())[:2]]


def _finding(facts: Facts, edge: Edge, uses: list[str]) -> Finding:
    units = sorted({view.source for view in takers(facts, edge)})
    many = f"{len(units)} translation unit{'' if len(units) == 1 else 's'}"
    weight = load_weights().of([edge.target])
    cost = f", {weight:,} preprocessed lines each with all that it includes" if weight else ""
    message = f"{shown(edge)} is used ({', '.join(uses)}): {many}{cost}"
    if facts.category(edge.target) == families.TORCH:
        advice = "a migration takes it out: torchless migrate"
    else:
        advice = "include it where it cannot be done without, and nowhere else"
    return line_finding(facts, CODE, (edge,), message, Tier.DISPLAY, (), f"{advice}; read by {listed(units)}")
