"""Headers that include torch for others only: once nobody lives on such a line any more, it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from torchless.analysis import Analysis
from torchless.facts.includes import IncludeGraph
from torchless.model import Edit
from torchless.plan.decide import Draft, Reader
from torchless.project.target import CORE_HEADERS
from torchless.rewrites.includes import is_torch_header, torch_names
from torchless.selection import is_header
from torchless.text.dead import live_tokens
from torchless.text.edits import apply
from torchless.text.lexer import code_tokens, lex
from torchless.units.scope import has_torch_text


def idle_lenders(
    drafts: Sequence[Draft], edits: Mapping[str, Iterable[Edit]], analysis: Analysis, read: Reader
) -> set[str]:
    """The headers that the sources of ``drafts`` reach, that include torch, and that nobody needs for it any more.

    That is so when, the ``edits`` (by path) made, the header uses nothing of torch, and every file of every source that
    reaches it uses none either or includes a header of torch itself. Judged by the text alone: whoever needs the line
    after all fails its check. The target's own headers are left out.
    """
    views = analysis.views
    reached = {path for source in _sources(drafts, analysis) for path in analysis.closures[source]}
    candidates = {
        path
        for path in reached & views.keys()
        if is_header(path) and path not in edits and PurePosixPath(path).name not in CORE_HEADERS
        if _includes_torch(analysis.graph, path) and not torch_names(views[path].tokens)
    }
    needy: dict[str, bool] = {}

    def needs(path: str) -> bool:
        if path not in needy:
            needy[path] = not _includes_torch(analysis.graph, path) and bool(names_left(path))
        return needy[path]

    def names_left(path: str) -> list[str]:
        if path in views and path not in edits:
            return torch_names(views[path].tokens)
        try:
            data = apply(read(path).data, edits.get(path, ()))
        except OSError:
            return [path]  # nobody can tell
        return torch_names(live_tokens(code_tokens(lex(data)))) if has_torch_text(data) else []

    return {
        header
        for header in candidates
        if not any(needs(p) for files in analysis.closures.values() if header in files for p in files)
    }


def owners_of(paths: Iterable[str], drafts: Sequence[Draft], analysis: Analysis) -> dict[str, str]:
    """For each of ``paths`` the first unit, by name, that has a source which reaches it; others are left out."""
    out: dict[str, str] = {}
    for draft in sorted(drafts, key=lambda d: d.name, reverse=True):
        files = {path for source in _sources([draft], analysis) for path in analysis.closures[source]}
        out.update((path, draft.name) for path in paths if path in files)
    return out


def _sources(drafts: Iterable[Draft], analysis: Analysis) -> set[str]:
    """The sources of the modules of ``drafts``, and those that their entities lie in."""
    modules = {name for d in drafts for name in d.group.modules}
    named = {e.path for d in drafts for e in d.group.entities}
    named.update(source for m in analysis.project.modules if m.name in modules for source in m.sources)
    return named & analysis.closures.keys()


def _includes_torch(graph: IncludeGraph, path: str) -> bool:
    """Whether the file names a header of torch in an include of its own."""
    includes = graph.includes(path)
    return any(is_torch_header(f"<{i.spelled}>" if i.angled else f'"{i.spelled}"') for i in includes)
