"""TL111: includes that bring heavy headers although nothing of them is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from torchless.closure.model import Edge
from torchless.lints.context import Context
from torchless.model import Edit, Finding, Related, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, View, facts_of
from torchless.reliance.mending import edits_for, line_of
from torchless.reliance.order import Place, reading
from torchless.reliance.vestige import Verdict, judge
from torchless.selection import is_header

CODE = "TL111"
_TOGETHER = "std-function"  # light each by itself: whether one of the two is used is not the question


def findings(context: Context) -> Iterator[Finding]:
    """Every include line of the files in question that could go, with the edit where that is sure.

    Edits hold together: a line whose content another one of the edits takes along gets none, or brings more in.
    """
    facts = facts_of(context)
    gone: set[Place] = set()
    later: list[Edge] = []
    for path in sorted(context.files):
        for edge, outside in heavy_lines(facts, path):
            if not outside and not _leads_to_torch(facts, edge):
                later.append(edge)
                continue
            verdict = judge(facts, edge, outside=outside)
            if verdict.own:
                if outside and (cover := _covered_by(facts, edge)):
                    yield _covered(facts, edge, verdict, cover)
            elif verdict.relied:
                if not outside and is_header(path) and families.TORCH in verdict.reaches:
                    yield _passed_on(facts, edge, verdict)
            elif outside or families.TORCH in _avoided(facts, edge, verdict):
                yield from _unused(facts, edge, verdict, gone, outside=outside)
    for edge in later:  # for other categories no line is put in place of one
        verdict = judge(facts, edge, outside=False, gone=gone, sparing=True)
        if verdict.is_unused and verdict.spared and not verdict.needed and not verdict.outside:
            yield from _unused(facts, edge, verdict, gone, outside=False)


def heavy_lines(facts: Facts, path: str) -> list[tuple[Edge, bool]]:
    """The include directives of ``path`` that lead to heavy headers, and whether they name a header outside."""
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


def _is_read_with(facts: Facts, edge: Edge, gone: Collection[Place]) -> bool:
    """Whether a unit that reads ``edge`` reads one of the lines that are gone."""
    views = facts.views_of.get(edge.includer, ())
    return any(includer in view.reading.entered for view in views for includer, _ in gone)


def _leads_to_torch(facts: Facts, edge: Edge) -> bool:
    views = facts.views_of.get(edge.includer, ())
    return any(edge.target in facts.reach(view).get(families.TORCH, ()) for view in views)


def _avoided(facts: Facts, edge: Edge, verdict: Verdict) -> set[str]:
    """The heavy categories behind ``edge`` that do not come back with what is needed of it."""
    kept = {
        category
        for view in facts.views_of.get(edge.includer, ())
        for category, files in facts.reach(view).items()
        if not files.isdisjoint(verdict.needed)
    }
    return verdict.reaches - kept


def _unused(facts: Facts, edge: Edge, verdict: Verdict, gone: set[Place], *, outside: bool) -> Iterator[Finding]:
    """The finding about a line that nobody uses. Where it has edits, the line is added to ``gone``.

    The lines that are there already are taken out, too.
    """
    doubts = [*verdict.doubts, *_unbuilt(facts, verdict)]
    concerned = not doubts and _is_read_with(facts, edge, gone)
    lately = judge(facts, edge, outside=outside, gone=gone) if concerned else verdict
    edits: tuple[Edit, ...] = ()
    if lately.is_unused:
        made = edits_for(facts, edge, lately, CODE)
        if isinstance(made, str):
            doubts.insert(0, made)
        else:
            edits = made
        doubts += [doubt for doubt in lately.doubts if doubt not in doubts]
    else:
        doubts.append(f"{_base(min(lately.relied))} has it from here when the other lines are gone that nobody uses")
    tier = Tier.DISPLAY if doubts else Tier.SAFE
    if tier is Tier.SAFE and outside and not verdict.spared and _is_narrow_alone(facts, edge, gone):
        tier = Tier.UNSAFE
    what = "nothing that it declares is named here"
    if not outside:
        what = f"nothing that it declares is used, and it brings {_heavy_behind(facts, edge, verdict)[1]}"
    if not doubts:
        gone.add((edge.includer, edge.offset))
    yield _finding(
        facts,
        edge,
        verdict,
        f"{_shown(edge)} is not needed: {what}",
        tier,
        () if doubts else edits,
        f"look before you take it out: {_listed(doubts)}" if doubts else _brought_in(lately),
    )


def _brought_in(verdict: Verdict) -> str:
    """What the edit puts in place of the line, and for whom."""
    wanted = {**verdict.needed, **verdict.outside, **verdict.standard}
    reasons = [f"{_base(header)} ({name} in {_base(user)})" for header, (user, name) in sorted(wanted.items())]
    return f"what came with it is included instead: {_listed(reasons)}" if reasons else ""


def _passed_on(facts: Facts, edge: Edge, verdict: Verdict) -> Finding:
    users = [f"{_base(user)} ({name})" for user, name in sorted(verdict.relied.items())]
    return _finding(
        facts,
        edge,
        verdict,
        f"{_shown(edge)} is used by others only, and it brings {_heavy_behind(facts, edge, verdict)[1]}",
        Tier.DISPLAY,
        (),
        f"include it where it is used: {_listed(users)}",
    )


def _covered(facts: Facts, edge: Edge, verdict: Verdict, cover: str) -> Finding:
    return _finding(
        facts,
        edge,
        verdict,
        f"{_shown(edge)} brings nothing that <{cover}> does not",
        Tier.DISPLAY,
        (),
        f"take it out, or keep it when {verdict.own[0]} is all that is used and the other can go",
    )


def _covered_by(facts: Facts, edge: Edge) -> str:
    """The umbrella header that every unit has read before ``edge``, and that includes the narrow header of it."""
    if edge.target not in facts.headers.narrow:
        return ""
    covers: set[str] = set()
    for view in facts.views_of.get(edge.includer, ()):
        if edge.target not in view.reading.entered:
            continue  # the pass does not take the directive
        at = view.reading.entered[edge.target]
        before = [
            header
            for header in view.closure.outside
            if header not in facts.headers.narrow and view.reading.entered[header] < at
        ]
        cover = facts.headers.is_within(edge.target, sorted(before))
        if not cover:
            return ""
        covers.add(cover)
    return min(covers, default="")


def _is_narrow_alone(facts: Facts, edge: Edge, gone: Collection[Place]) -> bool:
    """Whether a narrow header is in question whose content no other header of the units is known to have."""
    if edge.target not in facts.headers.narrow:
        return False
    for view in facts.views_of.get(edge.includer, ()):
        left = reading(view.source, view.leaving, (*gone, (edge.includer, edge.offset))).entered
        if edge.target not in left and not facts.headers.is_within(edge.target, sorted(left)):
            return True
    return False


def _unbuilt(facts: Facts, verdict: Verdict) -> list[str]:
    """A doubt where the checkout has modules and none of them builds a unit that takes the directive."""
    modules = facts.context.project.modules
    built = {source for module in modules for source in module.sources}
    return [f"no module builds {_base(min(verdict.units))}"] if modules and built.isdisjoint(verdict.units) else []


def _heavy_behind(facts: Facts, edge: Edge, verdict: Verdict) -> tuple[View, str]:
    """A unit, and the first heavy header that it meets behind ``edge``: of torch, else of what would be spared."""
    found: list[tuple[int, View, str]] = []
    for view in facts.views_of.get(edge.includer, ()):
        below = view.below(edge.target)
        for header, category in facts.heavy(view).items():
            if header in below:
                rank = 0 if category == families.TORCH else 1 if category in verdict.spared else 2
                found.append((rank, view, header))
    _, view, header = min(found, key=lambda row: row[0])
    return view, header


def _finding(
    facts: Facts, edge: Edge, verdict: Verdict, message: str, tier: Tier, edits: Sequence[Edit], help_text: str
) -> Finding:
    row = line_of(facts.context, edge).row
    start, end = (row.header_start, row.header_end) if row is not None else (edge.offset, edge.offset + 1)
    return Finding(
        CODE,
        message,
        edge.includer,
        start,
        end,
        tier,
        tuple(edits),
        help=help_text,
        related=_chain(facts, edge, verdict),
    )


def _chain(facts: Facts, edge: Edge, verdict: Verdict) -> tuple[Related, ...]:
    """The directives from the one in question to the heavy header behind it; none where it names that itself."""
    view, header = _heavy_behind(facts, edge, verdict)
    pending: list[tuple[Edge, ...]] = [(edge,)]
    seen = {edge.target}
    for way in pending:
        if way[-1].target == header:
            return tuple(Related(e.includer, e.line, f"includes {e.spelled}") for e in way[1:])
        for following in view.leaving.get(way[-1].target, ()):
            if following.target not in seen:
                seen.add(following.target)
                pending.append((*way, following))
    return ()


def _shown(edge: Edge) -> str:
    return f"<{edge.spelled}>" if edge.angled else edge.spelled if edge.spelled == edge.target else _base(edge.spelled)


def _base(path: str) -> str:
    return path if path.startswith("<") else path.rpartition("/")[2]


def _listed(texts: Sequence[str], limit: int = 3) -> str:
    shown = "; ".join(texts[:limit])
    return shown if len(texts) <= limit else f"{shown}; and {len(texts) - limit} more"
