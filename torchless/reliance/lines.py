"""The include lines that lead to heavy headers, for lints to talk about."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torchless.closure.chains import chain
from torchless.closure.model import Edge
from torchless.model import Edit, Finding, Related, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, View
from torchless.reliance.mending import line_of

_TOGETHER = "std-function"  # light each by itself: whether one of the two is used is not the question


def heavy_lines(facts: Facts, path: str) -> list[tuple[Edge, bool]]:
    """The include directives of ``path`` that lead to heavy headers, and whether they name a header outside.

    One directive may name different headers in different units; it is there once for each.
    """
    found: dict[tuple[int, str], tuple[Edge, bool]] = {}
    for view in facts.views_of.get(path, ()):
        heavy = facts.heavy(view)
        reach = facts.reach(view)
        for edge in view.leaving.get(path, ()):
            key = (edge.offset, edge.target)
            if key in found:
                continue
            outside = edge.target in view.closure.outside
            leads = heavy.get(edge.target, "") if outside else any(edge.target in files for files in reach.values())
            if leads and leads != _TOGETHER:
                found[key] = (edge, outside)
    return [found[key] for key in sorted(found)]


def leads_to(facts: Facts, edge: Edge, category: str) -> bool:
    """Whether some unit reaches a header of ``category`` through ``edge``."""
    for view in facts.views_of.get(edge.includer, ()):
        if edge.target in facts.reach(view).get(category, ()) or facts.heavy(view).get(edge.target) == category:
            return True
    return False


def takers(facts: Facts, edge: Edge) -> list[View]:
    """The views that take the directive ``edge`` to the same header."""
    return [
        view
        for view in facts.views_of.get(edge.includer, ())
        if any(e.offset == edge.offset and e.target == edge.target for e in view.leaving.get(edge.includer, ()))
    ]


def way_to_heavy(facts: Facts, edge: Edge, spared: Collection[str] = ()) -> tuple[Edge, ...]:
    """The directives from ``edge`` on to the first heavy header behind it, ``edge`` included.

    A header of torch goes first, then one of the categories in ``spared``, then any.
    """
    found: list[tuple[int, View, str]] = []
    for view in takers(facts, edge):
        below = view.below(edge.target)
        for header, category in facts.heavy(view).items():
            if header in below:
                rank = 0 if category == families.TORCH else 1 if category in spared else 2
                found.append((rank, view, header))
    _, view, header = min(found, key=lambda row: row[0])
    return _way(view, edge, header)


def _way(view: View, edge: Edge, header: str) -> tuple[Edge, ...]:
    pending: list[tuple[Edge, ...]] = [(edge,)]
    seen = {edge.target}
    for way in pending:
        if way[-1].target == header:
            return way
        for following in view.leaving.get(way[-1].target, ()):
            if following.target not in seen:
                seen.add(following.target)
                pending.append((*way, following))
    return (edge,)


def line_finding(
    facts: Facts,
    code: str,
    way: Sequence[Edge],
    message: str,
    tier: Tier,
    edits: Sequence[Edit] = (),
    help_text: str = "",
) -> Finding:
    """A finding on the header's name in the line of ``way[0]``.

    What explains it is the shortest way from a unit to that line, where it stands in a header, and the rest of ``way``.
    """
    edge = way[0]
    row = line_of(facts.context, edge).row
    start, end = (row.header_start, row.header_end) if row is not None else (edge.offset, edge.offset + 1)
    steps = (*_way_from_unit(facts, edge), *way[1:])
    related = tuple(Related(step.includer, step.line, f"includes {step.spelled}") for step in steps)
    return Finding(code, message, edge.includer, start, end, tier, tuple(edits), help=help_text, related=related)


def _way_from_unit(facts: Facts, edge: Edge) -> Sequence[Edge]:
    """The directives from a unit that takes ``edge`` to the file that it stands in, on the shortest way."""
    ways = [(view.source, chain(view.closure, edge.includer)) for view in takers(facts, edge)]
    return min(ways, key=lambda row: (len(row[1]), row[0]))[1] if ways else ()


def shown(edge: Edge) -> str:
    """The header of ``edge`` for a message: "x.h", "<torch/all.h>"."""
    if edge.angled:
        return f"<{edge.spelled}>"
    return edge.spelled if edge.spelled == edge.target else base(edge.spelled)


def base(path: str) -> str:
    """The file name of a path; a header in <> as it is."""
    return path if path.startswith("<") else path.rpartition("/")[2]


def listed(texts: Sequence[str], limit: int = 3) -> str:
    """The first few of ``texts``, and how many more there are."""
    few = "; ".join(texts[:limit])
    return few if len(texts) <= limit else f"{few}; and {len(texts) - limit} more"
