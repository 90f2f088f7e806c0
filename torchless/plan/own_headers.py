"""Headers that declare what a source defines and that it does not include yet: it will, once it migrates (TL106)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from torchless.analysis import Analysis
from torchless.facts.includes import IncludeGraph
from torchless.facts.model import FunctionFact
from torchless.model import Finding
from torchless.selection import is_header


def own_headers(source: str, headers: Iterable[str], graph: IncludeGraph) -> dict[str, str]:
    """Of ``headers`` those that ``source`` does not reach and can include, with how to spell each (without quotes)."""
    reached = graph.closure_of(source)
    spelled = {header: _spelling(graph, source, header) for header in sorted(headers) if header not in reached}
    return {header: text for header, text in spelled.items() if text}


def coming_headers(analysis: Analysis, findings: Mapping[str, Iterable[Finding]]) -> dict[str, frozenset[str]]:
    """For each source, the headers that its migration brings in: its own headers and what those include.

    A header is a source's own when it declares a function that the source defines, both are to change (``findings`` by
    path say what is), and one module is made of both. Sources without such a header are left out.
    """
    declared: dict[str, set[str]] = {}
    defined: dict[str, set[str]] = {}
    for path, view in analysis.views.items():
        starts = sorted(f.start for f in findings.get(path, ()))
        for function in view.functions:
            if is_header(path) == (function.body_start < 0) and _any_inside(starts, function):
                (declared if is_header(path) else defined).setdefault(function.name, set()).add(path)
    modules = _modules(analysis)
    wanted: dict[str, set[str]] = {}
    for name in sorted(defined.keys() & declared.keys()):
        for source in defined[name]:
            linked = {h for h in declared[name] if modules.get(source, set()) & modules.get(h, set())}
            wanted.setdefault(source, set()).update(linked)
    out: dict[str, frozenset[str]] = {}
    for source, headers in wanted.items():
        own = own_headers(source, headers, analysis.graph)
        ways = analysis.graph.units.get(source) or [()]
        brought = {path for header in own for way in ways for path in analysis.graph.closure(header, way)}
        if brought:
            out[source] = frozenset(brought)
    return out


def _any_inside(starts: Iterable[int], function: FunctionFact) -> bool:
    return any(function.start <= start < function.end for start in starts)


def _modules(analysis: Analysis) -> dict[str, set[str]]:
    """For each file, the modules that have a source which reaches it."""
    out: dict[str, set[str]] = {}
    for module in analysis.project.modules:
        for source in module.sources:
            for path in analysis.closures.get(source, ()):
                out.setdefault(path, set()).add(module.name)
    return out


def _spelling(graph: IncludeGraph, source: str, header: str) -> str:
    """The shortest way in which every build of ``source`` can include ``header``; "" when there is none."""
    folders = [{posixpath.dirname(source), *way} for way in graph.units.get(source, [])]
    common = set.intersection(*folders) if folders else {posixpath.dirname(source)}
    spellings = [
        header[len(folder) + 1 :] for folder in common if folder and header.startswith(f"{folder.rstrip('/')}/")
    ]
    return min(spellings, key=lambda s: (len(s), s), default="")
