"""The header that brings torch's element types to everybody: a unit of its own, or a define per translation unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from torchless.analysis import Analysis
from torchless.facts.includes import torch_headers
from torchless.facts.typing import FileView, make_view
from torchless.model import Finding
from torchless.plan.decide import Draft, Reader
from torchless.project.target import CORE_HEADERS
from torchless.rewrites.opus_guard import (
    OptOutGuard,
    define_per_unit,
    find_guard,
    invert_guard,
    uses_guarded_types,
)
from torchless.selection import is_cpp
from torchless.text.edits import apply
from torchless.text.source import SourceFile
from torchless.units.build import Group
from torchless.units.entities import Entity


def guarded_headers(analysis: Analysis, read: Reader) -> list[tuple[FileView, OptOutGuard]]:
    """The target's headers in the checkout that bring torch unless a macro says no, with their guards."""
    out = []
    for path in sorted(analysis.project.headers):
        if PurePosixPath(path).name not in CORE_HEADERS or not torch_headers(analysis.graph.closure_of(path)):
            continue
        view = _view(path, analysis, read)
        guard = find_guard(view)
        if guard is not None:
            out.append((view, guard))
    return out


def invert_at_root(
    header: FileView, guard: OptOutGuard, analysis: Analysis, read: Reader, ahead: Sequence[Draft]
) -> Draft:
    """The unit that turns ``guard`` round; blocked when a person has to decide.

    Who needs the types is judged by the text as it will be once the units ``ahead`` are written.
    """
    views: list[FileView] = []
    users: set[str] = set()
    for path in _concerned(guard, analysis, read):
        view = _view(path, analysis, read)
        views.append(view)
        mine = [e for d in ahead for e in d.edits if e.path == path]
        after = make_view(SourceFile(path, apply(view.source.data, mine))) if mine else view
        if uses_guarded_types(after, guard):
            users.add(path)
    finding = invert_guard(header, guard, views, sorted(users))
    entity = Entity(guard.path, 0, len(header.source.data), "file", "")
    group = Group(guard.path, (), (), (entity,))
    finding = replace(finding, unit=guard.path)
    blockers = () if finding.edits else (replace(finding, blocks=True),)
    return Draft(group, (finding,), finding.edits, blockers, (), False)


def define_in_units(
    guard: OptOutGuard, analysis: Analysis, read: Reader, ahead: Sequence[Draft]
) -> dict[str, list[Finding]]:
    """The alternative, by unit: a define in each of its own sources that reaches the header and can do without."""
    out: dict[str, list[Finding]] = {}
    for draft in ahead:
        sources = _own_sources(draft, analysis)
        views = [
            _view(path, analysis, read)
            for path in sources
            if guard.path in analysis.closures.get(path, ()) and not _still_uses(path, guard, analysis, read, draft)
        ]
        found = define_per_unit(guard, views)
        if found:
            out[draft.name] = [replace(f, unit=draft.name) for f in found]
    return out


def _still_uses(path: str, guard: OptOutGuard, analysis: Analysis, read: Reader, draft: Draft) -> bool:
    mine = [e for e in draft.edits if e.path == path]
    return uses_guarded_types(make_view(SourceFile(path, apply(read(path).data, mine))), guard)


def _own_sources(draft: Draft, analysis: Analysis) -> list[str]:
    modules: Mapping[str, Sequence[str]] = {m.name: m.sources for m in analysis.project.modules}
    own = {s for name in draft.group.modules for s in modules.get(name, ())}
    own |= {e.path for e in draft.group.entities if e.path in analysis.closures}
    return sorted(own)


def _concerned(guard: OptOutGuard, analysis: Analysis, read: Reader) -> list[str]:
    """Every file that reaches the header or names the macro, sources and headers."""
    reaching: set[str] = set()
    for files in analysis.closures.values():
        if guard.path in files:
            reaching |= files
    word = guard.macro.encode()
    named = (p for p in _cpp_files(analysis) if p not in reaching and word in read(p).data)
    candidates = {*reaching, *named} - {guard.path}
    words = (word, *(t.encode() for t in guard.templates), b"Half", b"BFloat16")
    return sorted(p for p in candidates if any(w in read(p).data for w in words))


def _cpp_files(analysis: Analysis) -> Iterable[str]:
    return (p for p in (*analysis.project.sources, *analysis.project.headers) if is_cpp(p))


def _view(path: str, analysis: Analysis, read: Reader) -> FileView:
    return analysis.views.get(path) or make_view(read(path))
