"""TL116: host code that costs more preprocessed lines than a source without kernels has reason to."""

from __future__ import annotations

from collections.abc import Iterator

from torchless.closure.cost import total
from torchless.closure.model import Edge
from torchless.closure.weights import Weights, load_weights
from torchless.lints.context import Context
from torchless.model import Finding, Tier
from torchless.reliance.facts import Facts, View, facts_of
from torchless.reliance.lines import line_finding, shown

CODE = "TL116"
MOST_LINES = 150_000
"""A dispatcher that is free of torch stays below; source: the target's own guide to building its modules faster."""


def findings(context: Context) -> Iterator[Finding]:
    """One finding for each source without kernels and bindings whose host pass reads more than MOST_LINES lines."""
    facts = facts_of(context)
    for source in sorted(context.files.intersection(context.project.sources)):
        if not facts.mentions(source).names.isdisjoint(("__global__", "PYBIND11_MODULE")):
            continue
        views = [v for v in facts.views_of.get(source, ()) if v.source == source and not v.closure.spec.device]
        view = max(views, key=lambda v: total(v.closure), default=None)
        if view is not None and total(view.closure) > MOST_LINES:
            yield from _finding(facts, view, load_weights())


def _finding(facts: Facts, view: View, weights: Weights) -> Iterator[Finding]:
    inclusive = {edge: _inclusive(view, edge, weights) for edge in view.leaving.get(view.source, ())}
    heaviest = sorted(inclusive, key=lambda e: (-inclusive[e], e.offset))[:3]
    if not heaviest:
        return
    shares = [_share(view, edge, inclusive[edge], weights) for edge in heaviest]
    message = f"a source without kernels reads {total(view.closure):,} preprocessed lines in the host pass"
    advice = f"its heaviest includes: {'; '.join(shares)}; torchless why {view.source} shows the ways there"
    yield line_finding(facts, CODE, heaviest[:1], message, Tier.DISPLAY, (), advice)


def _share(view: View, edge: Edge, inclusive: int, weights: Weights) -> str:
    """What an include is worth, and the heaviest header outside of the checkout that it leads to."""
    below = view.below(edge.target) & view.closure.outside
    heaviest = max(sorted(below), key=lambda header: weights.of([header]), default="")
    through = f" (through it <{heaviest}>)" if heaviest not in ("", edge.target) else ""
    exclusive = view.closure.lines.get(edge.target, 0)
    return f"{shown(edge)}{through} {inclusive:,} inclusive, {exclusive:,} exclusive"


def _inclusive(view: View, edge: Edge, weights: Weights) -> int:
    """The lines of what ``edge`` names and of all that this includes."""
    outside = view.closure.outside
    below = view.below(edge.target)
    own = sum(view.closure.lines.get(path, 0) for path in below if path not in outside)
    return own + weights.of(path for path in below if path in outside)
