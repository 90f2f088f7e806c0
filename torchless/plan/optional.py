"""Rewrites that are made only when they are selected: they have units of their own, beside those of the torch job.

Such a unit is checked as the others are. It lies in files with or without torch, so what is known about its files is
added to the analysis here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torchless.analysis import Analysis, Analyst
from torchless.facts.model import FunctionFact
from torchless.facts.typing import make_view
from torchless.model import Edit, Finding
from torchless.options import MigrateOptions
from torchless.plan.collect import Collected
from torchless.plan.decide import Draft, Reader
from torchless.plan.rounds import Grouped
from torchless.plan.suppression import Suppressor, left_alone
from torchless.project.model import Project
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.offer import offers
from torchless.rewrites.python_layout import read_style
from torchless.rewrites.workspaces.given import GIVEN, given_findings
from torchless.rewrites.workspaces.offer import findings_of
from torchless.rules.model import Ruleset
from torchless.selection import is_cpp
from torchless.units.build import Group, Grouping
from torchless.units.components import Components
from torchless.units.entities import EntityIndex, entities_of


@dataclass(frozen=True)
class Offered:
    """A unit of an optional rewrite before anything is decided about it.

    ``findings`` hold its edits, or its blockers. ``paths`` are the C++ files it lies in. ``stand_ins`` are files that
    only a build makes, as far as a check needs them: (path, text). Without ``is_unit`` the findings are remarks.
    """

    name: str
    paths: tuple[str, ...]
    findings: tuple[Finding, ...]
    stand_ins: tuple[tuple[str, bytes], ...] = ()
    is_unit: bool = True


@dataclass(frozen=True)
class Further:
    """``seen`` with what is known about the files of the ``drafts``; ``remarks`` belong to no unit."""

    seen: Grouped
    drafts: tuple[Draft, ...] = ()
    remarks: tuple[Finding, ...] = ()


def nothing_seen(analyst: Analyst) -> Grouped:
    """Where a migration starts from that leaves torch alone: no file looked at, no unit."""
    analysis = Analysis(analyst.project, analyst.graph, analyst.selection, analyst.closures, {}, (), (), analyst.specs)
    grouping = Grouping((), Components(), {})
    return Grouped(analysis, Collected({}), grouping, EntityIndex(()), Suppressor(Reader(analysis)))


def further_units(analyst: Analyst, seen: Grouped, ruleset: Ruleset, options: MigrateOptions) -> Further:
    """The units of every optional rewrite of which a code is selected."""
    wanted = {rule.rewrite for rule in ruleset.rules if rule.opt_in and not options.dropped(rule.code)}
    found = [offered for name in sorted(wanted & REWRITES.keys()) for offered in REWRITES[name](analyst, options)]
    if not found:
        return Further(seen)
    units = [offered for offered in found if offered.is_unit]
    edited = {e.path for o in units for f in o.findings for e in f.edits}
    seen = _seen_with(analyst, seen, sorted(p for p in edited if is_cpp(p)))
    drafts = [_draft(offered, seen, options) for offered in units]
    remarks = [f for o in found if not o.is_unit for f in o.findings if not options.dropped(f.code)]
    return Further(seen, tuple(drafts), tuple(seen.suppressor.unsuppressed(remarks)))


def _seen_with(analyst: Analyst, seen: Grouped, paths: Sequence[str]) -> Grouped:
    """``seen`` and what is known about the C++ files ``paths``; sources among them are parsed."""
    analysis = seen.analysis
    known = {tu.spec for tu in analysis.tus}
    tus = [tu for tu in analyst.parsed(p for p in paths if p in analysis.closures) if tu.spec not in known]
    views = dict(analysis.views)
    read = Reader(analysis)
    for path in paths:
        if path not in views:
            views[path] = make_view(read(path), [file for tu in tus for file in tu.files if file.path == path])
    index = EntityIndex(e for view in views.values() for e in entities_of(view))
    return replace(seen, analysis=replace(analysis, views=views, tus=(*analysis.tus, *tus)), index=index)


def _draft(offered: Offered, seen: Grouped, options: MigrateOptions) -> Draft:
    """What becomes of ``offered``: a comment or an option that leaves a part of it alone leaves all of it alone."""
    advice = "select {} as well: half of it is nothing"
    findings = [
        left_alone(f, "--select or --ignore", advice.format(f.code)) if f.edits and options.dropped(f.code) else f
        for f in seen.suppressor.settle(offered.findings)
    ]
    findings = [replace(f, unit=offered.name) for f in findings]
    blockers = tuple(f for f in findings if f.blocks)
    edits = () if blockers else tuple(e for f in findings for e in f.edits)
    places = [(e.path, e.start) for e in edits] or [(f.path, f.start) for f in findings]
    entities = {seen.index.at(path, start) for path, start in places}
    modules = _modules(seen.analysis.project, seen.analysis.closures, offered.paths)
    group = Group(offered.name, tuple(sorted(modules)), (), tuple(sorted(e for e in entities if e is not None)))
    functions = tuple(sorted(_edited_functions(seen.analysis, edits)))
    return Draft(group, tuple(findings), edits, blockers, functions, False, True, offered.stand_ins)


def _modules(project: Project, closures: Mapping[str, frozenset[str]], paths: Iterable[str]) -> set[str]:
    """The modules with a source that is one of ``paths`` or reaches one."""
    wanted = set(paths)
    return {
        module.name
        for module in project.modules
        if any(not wanted.isdisjoint(closures.get(source, frozenset())) for source in module.sources)
    }


def _edited_functions(analysis: Analysis, edits: Sequence[Edit]) -> Iterable[FunctionFact]:
    return {
        function
        for path in {e.path for e in edits} & analysis.views.keys()
        for function in analysis.views[path].functions
        if any(e.path == path and function.body_start <= e.start < function.body_end for e in edits)
    }


def _dispatch_tables(analyst: Analyst, options: MigrateOptions) -> list[Offered]:
    """Maps of functions as sorted tables."""
    root = Path(analyst.project.root)
    selection = analyst.selection

    def read(path: str) -> bytes:
        try:
            return (root / path).read_bytes()
        except OSError:
            return b""

    def scripts(folder: str) -> list[str]:
        return sorted(p.name for p in (root / folder).glob("*.py") if p.is_file())

    def is_meant(paths: Sequence[str]) -> bool:
        if any(selection.covers(path) for path in paths):
            return True
        modules = _modules(analyst.project, analyst.closures, paths) if selection.modules else set()
        return not selection.modules.isdisjoint(modules)

    code = Codebase(analyst.project, analyst.closures, read, scripts)
    found = offers(code, read_style(root), options.offer_all, is_meant)
    return [Offered(o.name, o.paths, o.findings, o.stand_ins, o.is_unit) for o in found]


def _workspaces(analyst: Analyst, options: MigrateOptions) -> list[Offered]:
    """Memory that is allocated in every call, from a cache. It is unsafe: without --unsafe it is only shown."""
    given: dict[str, set[int]] = {}
    if not options.dropped(GIVEN):  # what the caller gives needs no cache
        for path, finding in _given(analyst):
            given.setdefault(path, set()).update({finding.start} if finding.edits else ())
    code = _codebase(analyst)
    found = [(p, f) for p in _allocating(analyst) for f in findings_of(code.file(p), given.get(p, ()))]
    return [_offered(path, f"{path}:workspaces", finding, options) for path, finding in found]


def _given_workspaces(analyst: Analyst, options: MigrateOptions) -> list[Offered]:
    """Memory that is allocated in every call, from the caller. It is unsafe: without --unsafe it is only shown."""
    return [
        _offered(path, f"{path}:{finding.message.split(' ')[0]} workspace", finding, options)
        for path, finding in _given(analyst)
    ]


def _given(analyst: Analyst) -> list[tuple[str, Finding]]:
    code, style = _codebase(analyst), read_style(Path(analyst.project.root))
    return [(path, finding) for path in _allocating(analyst) for finding in given_findings(code, path, style)]


def _allocating(analyst: Analyst) -> Iterator[str]:
    """The sources asked for that allocate device memory."""
    selection = analyst.selection
    for path in analyst.project.sources:
        modules = _modules(analyst.project, analyst.closures, [path])
        is_meant = selection.covers(path) or not selection.modules.isdisjoint(modules)
        if is_meant and b"hipMalloc" in analyst.read(path):
            yield path


def _codebase(analyst: Analyst) -> Codebase:
    def read(path: str) -> bytes:
        try:
            return (Path(analyst.project.root) / path).read_bytes()
        except OSError:
            return b""

    return Codebase(analyst.project, analyst.closures, read, lambda folder: [])


def _offered(path: str, name: str, finding: Finding, options: MigrateOptions) -> Offered:
    if finding.edits and options.unsafe:
        return Offered(name, tuple(sorted({path, *(e.path for e in finding.edits if is_cpp(e.path))})), (finding,))
    text = finding.message + ("; --unsafe makes it" if finding.edits else "")
    return Offered(path, (path,), (replace(finding, message=text, edits=()),), is_unit=False)


REWRITES: dict[str, Callable[[Analyst, MigrateOptions], list[Offered]]] = {
    "dispatch_tables": _dispatch_tables,
    "workspaces": _workspaces,
    "given_workspaces": _given_workspaces,
}
"""The module of torchless/rewrites/ that a rule names -> what finds its units."""
