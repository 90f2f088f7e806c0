"""Headers of the checkout that bring torch unless a macro says no."""

from __future__ import annotations

from typing import Any, cast

from torchless.facts.typing import FileView
from torchless.reliance import families
from torchless.reliance.facts import Facts
from torchless.reliance.mending import include_rows
from torchless.rewrites.opus_guard import OptOutGuard, find_guard, uses_guarded_types
from torchless.text.lexer import code_tokens, lex
from torchless.text.source import SourceFile

_VERSION = 1


def guards_of(facts: Facts) -> list[OptOutGuard]:
    """The opt-out guards around torch includes of headers that the units read, by path; without their places."""
    return facts.context.shared("opt-out guards", lambda: _find(facts))


def uses_types(facts: Facts, path: str, guard: OptOutGuard) -> bool:
    """Whether a file may use what ``guard`` hides: a guarded template with torch's or an unknown type."""
    if guard.templates.isdisjoint(facts.mentions(path).names):
        return False
    return uses_guarded_types(_view(facts.context.source(path)), guard)


def _find(facts: Facts) -> list[OptOutGuard]:
    found = []
    for path in sorted(_including_torch(facts)):
        if not any("ifndef" in condition for row in include_rows(facts.context, path) for condition in row.conditions):
            continue
        row = facts.context.remembered(path, "opt-out guard", _VERSION, _scan)
        if row:
            macro, opt_in, templates = cast("tuple[Any, ...]", row)
            found.append(OptOutGuard(path, macro, opt_in, (), templates))
    return found


def _including_torch(facts: Facts) -> set[str]:
    """The headers that name a header of torch."""
    headers = set(facts.context.project.headers)
    return {
        includer
        for view in facts.views
        for header, category in facts.heavy(view).items()
        if category == families.TORCH
        for includer in view.included_by.get(header, ())
        if includer in headers
    }


def _scan(data: bytes) -> tuple[object, ...]:
    guard = find_guard(_view(SourceFile("", data)))
    return () if guard is None else (guard.macro, guard.opt_in, guard.templates)


def _view(source: SourceFile) -> FileView:
    return FileView(source, code_tokens(lex(source.data)), {})
