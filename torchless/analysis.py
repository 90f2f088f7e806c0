"""Reads a selection of a checkout into views: project, include closures, compiler facts. The first three rooms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from torchless.facts.includes import IncludeGraph, graph_of, specs_of, torch_headers
from torchless.facts.model import FileFacts, FunctionFact, TuFacts, TuSpec
from torchless.facts.typing import FileView, make_view
from torchless.model import Confidence, Finding, Tier
from torchless.printed.sources import Printed
from torchless.project.model import Project
from torchless.selection import Selection, is_cpp
from torchless.text.lexer import Kind
from torchless.text.source import SourceFile
from torchless.units.scope import has_torch_text, with_siblings

ParseMany = Callable[[Sequence[TuSpec]], Sequence[TuFacts]]


@dataclass(frozen=True)
class Analysis:
    """What is known about the files that a selection reaches.

    ``views`` holds every project file that could have torch in it; ``closures`` maps every source of the project to the
    project files it reaches, itself included; ``tus`` are the parsed units, in the order of their specs. ``specs``
    gives every way to parse a source, parsed or not, with what the user adds to the command line. ``printed`` holds the
    sources that are C++ in the strings of generators.
    """

    project: Project
    graph: IncludeGraph
    selection: Selection
    closures: Mapping[str, frozenset[str]]
    views: Mapping[str, FileView]
    tus: tuple[TuFacts, ...]
    findings: tuple[Finding, ...]
    specs: Callable[[str], Sequence[TuSpec]]
    printed: Mapping[str, Printed] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The project's root folder."""
        return Path(self.project.root)

    @cached_property
    def sources(self) -> dict[str, SourceFile]:
        """The files that were read so far, by path: those of the views, and what readers add."""
        return {path: view.source for path, view in self.views.items()}

    @cached_property
    def parsed(self) -> dict[TuSpec, TuFacts]:
        """The units that were parsed so far, by spec: ``tus``, and what checks add."""
        return {tu.spec: tu for tu in self.tus}

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Hashes of files on disk, by path, as far as somebody asked for them."""
        return {}

    @cached_property
    def functions(self) -> Mapping[str, tuple[FunctionFact, ...]]:
        """Every function that any unit saw, by qualified name, in files with and without torch."""
        found: dict[str, set[FunctionFact]] = {}
        for tu in self.tus:
            for file in tu.files:
                for function in file.functions:
                    found.setdefault(function.name, set()).add(function)
        return {name: tuple(sorted(group)) for name, group in found.items()}


class Analyst:
    """Looks at more and more of a project; what was read and parsed once is kept."""

    def __init__(
        self,
        project: Project,
        selection: Selection,
        parse_many: ParseMany,
        *,
        arch: str,
        defines: Sequence[str] = (),
        include_dirs: Sequence[str] = (),
        printed: Mapping[str, Printed] | None = None,
    ) -> None:
        self.project = project
        self.selection = selection
        self.printed = dict(printed or {})
        self.graph = graph_of(project)
        self._parse_many = parse_many
        self._arch = arch
        self._defines = tuple(defines)
        self._include_dirs = tuple(include_dirs)
        self._texts = _Texts(Path(project.root), dict(project.printed))
        self._tus: dict[TuSpec, TuFacts] = {}
        known = {*project.sources, *project.headers}
        self.closures = {s: frozenset(known.intersection(self.graph.closure_of(s))) for s in project.sources}

    @property
    def root(self) -> Path:
        """The project's root folder."""
        return Path(self.project.root)

    def first_sources(self) -> frozenset[str]:
        """The sources that the selection means, with those of the same modules."""
        chosen = set(self.selection.sources)
        for module in self.project.modules:
            if module.name in self.selection.modules:
                chosen.update(module.sources)
        for header in self.selection.headers:
            chosen.update(source for source, files in self.closures.items() if header in files)
        return frozenset(s for s in with_siblings(self.project, chosen) if s in self.closures)

    def read(self, path: str) -> bytes:
        """The bytes of a project file, b"" when it cannot be read."""
        return self._texts.get(path).data

    def look(self, sources: Iterable[str]) -> Analysis:
        """Parse ``sources`` where they could have torch, and view every such file that they reach."""
        wanted = sorted(sources)
        tus = self.parsed(source for source in wanted if self._could_have_torch(source))
        files = {path for source in wanted for path in self.closures[source] if self._texts.torchy(path)}
        asked = {h for h in self.project.headers if self.selection.covers(h) and self._texts.torchy(h)}
        views = _views(sorted(files | asked), self._texts, tus)
        findings = [*_parse_findings(tus), *self._texts.failures]
        return Analysis(
            self.project,
            self.graph,
            self.selection,
            self.closures,
            views,
            tus,
            tuple(findings),
            self.specs,
            self.printed,
        )

    def parsed(self, sources: Iterable[str]) -> tuple[TuFacts, ...]:
        """The facts of ``sources`` in every pass, in their order, whether or not there is torch in them."""
        specs = [spec for source in sources for spec in self.specs(source)]
        missing = [spec for spec in specs if spec not in self._tus]
        self._tus.update(zip(missing, self._parse_many(missing), strict=True))
        return tuple(self._tus[spec] for spec in specs)

    def _could_have_torch(self, source: str) -> bool:
        closure = self.graph.closure_of(source)
        return bool(torch_headers(closure)) or any(self._texts.torchy(path) for path in self.closures[source])

    def specs(self, source: str) -> list[TuSpec]:
        """Every way to parse ``source``, with what the user adds to the command line."""
        return [
            replace(
                spec,
                include_dirs=(*spec.include_dirs, *self._include_dirs),
                defines=(*spec.defines, *self._defines),
            )
            for spec in specs_of(self.project, self.graph, source, enable_ck=_ck_values(self.project), arch=self._arch)
        ]


def _ck_values(project: Project) -> tuple[bool, ...]:
    return (False, True) if project.ck_dir else (False,)


class _Texts:
    """File contents, read once; remembers what could not be read."""

    def __init__(self, root: Path, printed: Mapping[str, bytes]) -> None:
        self._root = root
        self._sources = {path: SourceFile(path, data) for path, data in printed.items()}
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
    return {path: _with_bare_calls(make_view(texts.get(path), facts.get(path, ()))) for path in paths}


def _with_bare_calls(view: FileView) -> FileView:
    """``view``, in which a framework function that is called by its bare name means the same where no compiler looks.

    ``toString(dtype)`` is found through its argument: the text alone does not say whose it is. Only names that the file
    uses for nothing else are taken.
    """
    found: dict[str, set[str]] = {}
    for i, token in enumerate(view.tokens):
        if token.kind is not Kind.NAME:
            continue
        called = i + 1 < len(view.tokens) and view.tokens[i + 1].text == b"("
        bare = not i or view.tokens[i - 1].text not in (b"::", b".", b"->")
        name, facts = token.text.decode("latin-1"), view.facts.get(token.start, ())
        whose = {f.name if bare and called and f.name == f"at::{name}" else "" for f in facts}
        if whose or not called:
            found.setdefault(name, set()).update(whose or {""})
    functions = {name: next(iter(whose)) for name, whose in found.items() if len(whose) == 1 and "" not in whose}
    return replace(view, foreign_aliases=functions) if functions else view


# Errors after which the parser no longer knows which text belongs to what. Source: clang's own messages.
_UNREADABLE = re.compile(
    r"unterminated (?:conditional directive|/\* comment)|raw string missing terminating|#\w+ without #if"
    r"|expected '}'|extraneous closing brace|version control conflict marker"
)


def _parse_findings(tus: Sequence[TuFacts]) -> list[Finding]:
    """TL002: headers that nobody could find; TL003: units that did not parse; TL004: what nothing closes. Each once."""
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
        for found in tu.diagnostics:
            if _UNREADABLE.match(found.message) and is_cpp(found.path) and not found.path.startswith(("<", "/")):
                text = f"{found.message}: what stands around it may have been read wrongly"
                out[("TL004", found.path, found.offset)] = Finding(
                    "TL004",
                    text,
                    found.path,
                    found.offset,
                    found.offset,
                    Tier.DISPLAY,
                    confidence=Confidence.SYNTACTIC,
                    help="close it, or give the macro that does with -D, and run again",
                )
    return [out[key] for key in sorted(out)]
