"""Reads a selection of a checkout into views: project, include closures, compiler facts. The first three rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torchless.facts.includes import IncludeGraph, graph_of, specs_of, torch_headers
from torchless.facts.model import FileFacts, FunctionFact, TuFacts, TuSpec
from torchless.facts.typing import FileView, make_view
from torchless.model import Confidence, Finding, Tier
from torchless.project.model import Project
from torchless.selection import Selection, is_cpp
from torchless.text.source import SourceFile
from torchless.units.scope import analysis_scope, has_torch_text

ParseMany = Callable[[Sequence[TuSpec]], Sequence[TuFacts]]


@dataclass(frozen=True)
class Analysis:
    """What is known about the files that a selection reaches.

    ``views`` holds every project file that could have torch in it; ``closures`` maps every source of the project to the
    project files it reaches, itself included; ``tus`` are the parsed units, in the order of their specs.
    """

    project: Project
    graph: IncludeGraph
    selection: Selection
    closures: Mapping[str, frozenset[str]]
    views: Mapping[str, FileView]
    tus: tuple[TuFacts, ...]
    findings: tuple[Finding, ...]

    @property
    def root(self) -> Path:
        """The project's root folder."""
        return Path(self.project.root)

    @cached_property
    def functions(self) -> Mapping[str, tuple[FunctionFact, ...]]:
        """Every function that any unit saw, by qualified name, in files with and without torch."""
        found: dict[str, set[FunctionFact]] = {}
        for tu in self.tus:
            for file in tu.files:
                for function in file.functions:
                    found.setdefault(function.name, set()).add(function)
        return {name: tuple(sorted(group)) for name, group in found.items()}


def analyse(
    project: Project,
    selection: Selection,
    parse_many: ParseMany,
    *,
    arch: str,
    defines: Sequence[str] = (),
    include_dirs: Sequence[str] = (),
    is_foreign: Callable[[str], bool],
) -> Analysis:
    """Look at everything that the units of ``selection`` can reach.

    ``is_foreign(path)`` says of a header that a migration stops including it instead of editing it. ``defines`` and
    ``include_dirs`` are added to every unit. Files that cannot be read become findings.
    """
    graph = graph_of(project)
    reached = {source: graph.closure_of(source) for source in project.sources}
    known = set(project.sources) | set(project.headers)
    closures = {source: frozenset(known.intersection(via)) for source, via in reached.items()}
    texts = _Texts(Path(project.root))
    chosen = _selected_sources(project, selection, closures)
    scope = analysis_scope(project, chosen, closures, texts.torchy, is_foreign)
    specs: list[TuSpec] = []
    for source in scope.sources:
        if torch_headers(reached[source]) or any(texts.torchy(path) for path in closures[source]):
            for spec in specs_of(project, graph, source, enable_ck=_ck_values(project), arch=arch):
                folders = (*spec.include_dirs, *include_dirs)
                specs.append(replace(spec, include_dirs=folders, defines=(*spec.defines, *defines)))
    tus = tuple(parse_many(specs))
    files = {path for source in scope.sources for path in closures[source] if texts.torchy(path)}
    views = _views(sorted(files | selection.headers), texts, tus)
    findings = [*_parse_findings(tus), *texts.failures]
    return Analysis(project, graph, selection, closures, views, tus, tuple(findings))


def _ck_values(project: Project) -> tuple[bool, ...]:
    return (False, True) if project.ck_dir else (False,)


def _selected_sources(project: Project, selection: Selection, closures: Mapping[str, frozenset[str]]) -> list[str]:
    chosen = set(selection.sources)
    for module in project.modules:
        if module.name in selection.modules:
            chosen.update(s for s in module.sources if s in closures)
    for header in selection.headers:
        chosen.update(source for source, files in closures.items() if header in files)
    return sorted(chosen & closures.keys())


class _Texts:
    """File contents, read once; remembers what could not be read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sources: dict[str, SourceFile] = {}
        self._torchy: dict[str, bool] = {}
        self.failures: list[Finding] = []

    def get(self, path: str) -> SourceFile:
        if path not in self._sources:
            try:
                data = (self._root / path).read_bytes()
            except OSError as error:
                data = b""
                text = f"{path} cannot be read ({error.strerror}); it was left out"
                self.failures.append(Finding("TL006", text, path, 0, 0, Tier.DISPLAY))
            self._sources[path] = SourceFile(path, data)
        return self._sources[path]

    def torchy(self, path: str) -> bool:
        if path not in self._torchy:
            self._torchy[path] = is_cpp(path) and has_torch_text(self.get(path).data)
        return self._torchy[path]


def _views(paths: Iterable[str], texts: _Texts, tus: Sequence[TuFacts]) -> dict[str, FileView]:
    facts: dict[str, list[FileFacts]] = {}
    for tu in tus:
        for file in tu.files:
            facts.setdefault(file.path, []).append(file)
    return {path: make_view(texts.get(path), facts.get(path, ())) for path in paths}


def _parse_findings(tus: Sequence[TuFacts]) -> list[Finding]:
    """TL002 for headers that nobody could find, TL003 for units that did not parse at all; each once."""
    out: dict[tuple[str, str, int], Finding] = {}
    for tu in tus:
        if tu.failure:
            text = f"{tu.spec.source} could not be parsed: {tu.failure}"
            finding = Finding("TL003", text, tu.spec.source, 0, 0, Tier.DISPLAY, confidence=Confidence.SYNTACTIC)
            out[("TL003", tu.spec.source, 0)] = finding
        for include in tu.includes:
            if not include.resolved:
                text = f"{include.spelled} was not found and was taken as empty"
                finding = Finding("TL002", text, include.path, include.offset, include.offset + 1, Tier.DISPLAY)
                out[("TL002", include.path, include.offset)] = finding
    return [out[key] for key in sorted(out)]
