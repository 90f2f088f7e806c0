"""TL111: includes that bring heavy headers although nothing of them is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from torchless.closure.model import Edge
from torchless.lints.context import Context
from torchless.model import Edit, Finding, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, facts_of
from torchless.reliance.lines import base, heavy_lines, leads_to, line_finding, listed, shown, way_to_heavy
from torchless.reliance.mending import edits_for
from torchless.reliance.order import Place, reading
from torchless.reliance.vestige import Verdict, judge
from torchless.selection import is_header

CODE = "TL111"


def findings(context: Context) -> Iterator[Finding]:
    """Every include line of the files in question that could go, with the edit where that is sure.

    Edits hold together: a line whose content another one of the edits takes along gets none, or brings more in.
    """
    facts = facts_of(context)
    gone: set[Place] = set()
    later: list[Edge] = []
    for path in sorted(context.files):
        for edge, outside in heavy_lines(facts, path):
            if not outside and not leads_to(facts, edge, families.TORCH):
                later.append(edge)
                continue
            verdict = judge(facts, edge, outside=outside)
            if verdict.own:
                if outside and (cover := _covered_by(facts, edge)):
                    yield _covered(facts, edge, verdict, cover)
            elif verdict.relied:
                if not outside and is_header(path) and families.TORCH in verdict.reaches:
                    yield _passed_on(facts, edge, verdict)
            elif families.TORCH in _avoided(facts, edge, verdict) or (outside and _has_source(facts, verdict)):
                yield from _unused(facts, edge, verdict, gone, outside=outside)
    for edge in later:  # for other categories no line is put in place of one
        verdict = judge(facts, edge, outside=False, gone=gone, sparing=True)
        gains = verdict.is_unused and verdict.spared and _has_source(facts, verdict)
        if gains and not verdict.needed and not verdict.outside:
            yield from _unused(facts, edge, verdict, gone, outside=False)


def _is_read_with(facts: Facts, edge: Edge, gone: Collection[Place]) -> bool:
    """Whether a unit that reads ``edge`` reads one of the lines that are gone."""
    views = facts.views_of.get(edge.includer, ())
    return any(includer in view.reading.entered for view in views for includer, _ in gone)


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
        doubts.append(f"{base(min(lately.relied))} has it from here when the other lines are gone that nobody uses")
    tier = Tier.DISPLAY if doubts else Tier.SAFE
    if tier is Tier.SAFE and outside and not verdict.spared and _is_narrow_alone(facts, edge, gone):
        tier = Tier.UNSAFE
    way = way_to_heavy(facts, edge, verdict.spared)
    what = "nothing that it declares is named here"
    if not outside:
        what = f"nothing that it declares is used, and it brings {way[-1].spelled}"
    message = f"{shown(edge)} is not needed: {what}"
    if doubts:
        yield line_finding(facts, CODE, way, message, tier, (), f"look before you take it out: {listed(doubts)}")
    else:
        gone.add((edge.includer, edge.offset))
        yield line_finding(facts, CODE, way, message, tier, edits, _brought_in(lately))


def _brought_in(verdict: Verdict) -> str:
    """What the edit puts in place of the line, and for whom."""
    wanted = {**verdict.needed, **verdict.outside, **verdict.standard}
    reasons = [f"{base(header)} ({name} in {base(user)})" for header, (user, name) in sorted(wanted.items())]
    return f"what came with it is included instead: {listed(reasons)}" if reasons else ""


def _passed_on(facts: Facts, edge: Edge, verdict: Verdict) -> Finding:
    users = [f"{base(user)} ({name})" for user, name in sorted(verdict.relied.items())]
    way = way_to_heavy(facts, edge)
    message = f"{shown(edge)} is used by others only, and it brings {way[-1].spelled}"
    return line_finding(facts, CODE, way, message, Tier.DISPLAY, (), f"include it where it is used: {listed(users)}")


def _covered(facts: Facts, edge: Edge, verdict: Verdict, cover: str) -> Finding:
    message = f"{shown(edge)} brings nothing that <{cover}> does not"
    advice = f"take it out, or keep it when {verdict.own[0]} is all that is used and the other can go"
    return line_finding(facts, CODE, (edge,), message, Tier.DISPLAY, (), advice)


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


def _has_source(facts: Facts, verdict: Verdict) -> bool:
    """Whether a source reads the file: of what generated ones use in it, only torch's names are worth a word."""
    return not verdict.units.isdisjoint(facts.context.project.sources)


def _unbuilt(facts: Facts, verdict: Verdict) -> list[str]:
    """A doubt where no source reads the file, or the checkout has modules and none of them builds one that does."""
    project = facts.context.project
    sources = verdict.units.intersection(project.sources)
    if not sources:
        return [f"no source of the checkout reads {base(min(verdict.units))}"]
    built = {source for module in project.modules for source in module.sources}
    return [f"no module builds {base(min(sources))}"] if project.modules and built.isdisjoint(sources) else []
