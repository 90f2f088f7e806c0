"""TL114: torch's element types, which a header brings to units that are free of torch and do not say no."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchless.closure.model import Closure, Edge
from torchless.facts.typing import FileView
from torchless.lints.context import Context
from torchless.model import Edit, Finding, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, View, facts_of
from torchless.reliance.guarded import guards_of, uses_types
from torchless.reliance.lines import base, line_finding, way_to_heavy
from torchless.reliance.mending import include_rows
from torchless.rewrites.include_lines import file_start
from torchless.rewrites.opus_guard import OptOutGuard
from torchless.text.lexer import code_tokens, lex

CODE = "TL114"


def findings(context: Context) -> Iterator[Finding]:
    """One finding for each source that reaches torch only through a header with an opt-out, and uses nothing of it."""
    facts = facts_of(context)
    guards = guards_of(facts)
    sources = set(context.project.sources)
    for source in sorted(sources.intersection(context.files)) if guards else ():
        views = [view for view in facts.views_of.get(source, ()) if view.source == source]
        for guard in guards:
            reached = any(_reaches_torch(facts, view) for view in views)
            if reached and all(_is_free_but_for(facts, view, guard) for view in views):
                yield _finding(facts, source, views, guard)


def _reaches_torch(facts: Facts, view: View) -> bool:
    return families.TORCH in facts.heavy(view).values()


def _is_free_but_for(facts: Facts, view: View, guard: OptOutGuard) -> bool:
    """Whether nothing but the header of ``guard`` brings torch to the unit, and nothing but it names torch."""
    torch = [header for header, category in facts.heavy(view).items() if category == families.TORCH]
    if any(includer != guard.path for header in torch for includer in view.included_by[header]):
        return False
    files = (path for path in facts.files(view) if path != guard.path)
    return not any(facts.seen(view, path, later=False, whole=path == view.source).torch for path in files)


def _finding(facts: Facts, source: str, views: Sequence[View], guard: OptOutGuard) -> Finding:
    view = next(view for view in views if _reaches_torch(facts, view))
    edge = _leading(view, source, guard)
    way = way_to_heavy(facts, edge)
    closures = facts.context.closures_of(source)
    message = f"{base(guard.path)} brings {way[-1].spelled} although nothing of torch is used{_passes(facts, closures)}"
    edits: tuple[Edit, ...] = ()
    users = sorted({p for v in views for p in facts.files(v) if p != guard.path and uses_types(facts, p, guard)})
    if users:
        advice = f"{base(users[0])} may use torch's types with {min(guard.templates)}: find out, and use HIP's"
    elif guard.macro in facts.mentions(source).names:
        advice = f"the source names {guard.macro}: define it before the first include, in every pass"
    else:
        edits = _define(facts, source, guard)
        advice = f"or let those who want torch ask for it: torchless migrate --select TL107 {guard.path}"
    return line_finding(facts, CODE, way, message, Tier.SAFE if edits else Tier.DISPLAY, edits, advice)


def _leading(view: View, source: str, guard: OptOutGuard) -> Edge:
    """The first directive of ``source`` that leads to the header of ``guard``."""
    reaching = view.reaching([guard.path])
    return next(e for e in view.leaving[source] if e.target == guard.path or e.target in reaching)


def _passes(facts: Facts, closures: Sequence[Closure]) -> str:
    """In which passes torch is reached, where that is not all of them."""
    found = {
        closure.spec.device
        for closure in closures
        if any(facts.category(header) == families.TORCH for header in closure.outside)
    }
    if found == {closure.spec.device for closure in closures}:
        return ""
    return f" (in the {'device' if True in found else 'host'} pass)"


def _define(facts: Facts, source: str, guard: OptOutGuard) -> tuple[Edit, ...]:
    """``#define`` of the opt-out in front of the first include, or of all code where that stands below an #if."""
    text = facts.context.source(source)
    rows = include_rows(facts.context, source)
    if not rows:
        return ()
    place = rows[0].start
    if not rows[0].movable:
        place = file_start(FileView(text, code_tokens(lex(text.data, 0, rows[0].end)), {}))
    new = f"#define {guard.macro}".encode() + text.eol_at(place)
    return (Edit(source, place, place, new, CODE),)
