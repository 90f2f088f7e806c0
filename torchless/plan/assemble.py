"""From the units that go ahead to the new text of every file, include lines last: they follow from all the rest."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torchless.analysis import Analysis
from torchless.facts.includes import IncludeGraph, torch_headers
from torchless.model import Edit, Finding
from torchless.plan.alignment import keep_alignment
from torchless.plan.blank_lines import join_blank_lines
from torchless.plan.collect import Dropped, Settle
from torchless.plan.continuations import keep_columns
from torchless.plan.decide import Draft, Reader
from torchless.plan.lent import idle_lenders, owners_of
from torchless.plan.own_headers import own_headers
from torchless.plan.written_back import written_back
from torchless.rewrites.default_arguments import repeated_defaults
from torchless.rewrites.includes import rewrite_includes
from torchless.selection import is_cpp, is_header
from torchless.text.edits import GroupConflict, apply, merge_groups
from torchless.text.source import SourceFile


@dataclass(frozen=True, slots=True)
class Assembled:
    """What the units that go ahead amount to.

    ``texts``: new bytes by path; ``edits``: merged, by path; ``includes``: the findings about include lines, by path;
    ``conflicts``: why a unit had to be left out after all; ``beside``: of files in which include lines are all that
    changes, the unit for whose sake; ``stuck``: units that would have to change printed C++ in a way that the script
    cannot be made to print, and why.
    """

    texts: Mapping[str, bytes]
    edits: Mapping[str, tuple[Edit, ...]]
    includes: Mapping[str, tuple[Finding, ...]]
    conflicts: tuple[GroupConflict, ...]
    beside: Mapping[str, str] = field(default_factory=dict)
    stuck: Mapping[str, Finding] = field(default_factory=dict)


def assemble(drafts: Sequence[Draft], analysis: Analysis, read: Reader, dropped: Dropped, settle: Settle) -> Assembled:
    """Merge the edits of ``drafts`` and work out include lines, headers before the files that include them.

    An include line whose code is ``dropped``, or that ``settle`` takes out because a comment says so, stays as it is.
    """
    merged = merge_groups({d.name: d.edits for d in drafts})
    ahead = [d for d in drafts if d.name in merged.applied]
    by_path: dict[str, list[Edit]] = {}
    for edit in merged.edits:
        by_path.setdefault(edit.path, []).append(edit)
    requires: dict[str, set[str]] = {}
    for draft in ahead:
        for finding in draft.findings:
            requires.setdefault(finding.path, set()).update(finding.requires)
    owns = _own_headers(ahead, analysis)
    includes: dict[str, tuple[Finding, ...]] = {}
    texts: dict[str, bytes] = {}
    graph = analysis.graph
    concerned = [d for d in ahead if not d.optional]
    paths = _include_files(concerned, analysis)
    paths = sorted({*paths, *idle_lenders(concerned, by_path, analysis, read)})
    beside = owners_of([path for path in paths if path not in by_path], concerned, analysis)
    for path in _headers_first(paths, analysis.graph):
        view = analysis.views[path]
        edits = by_path.get(path, [])
        own = _located(owns.get(path, ()), analysis)
        stays = _closure_of_all(graph, [path, *own])
        # what is brought in for the target's names brings standard headers along
        standard = _closure_of_all(graph, [path, *own, *_located(requires.get(path, ()), analysis)])
        found = rewrite_includes(
            view,
            edits,
            provided=lambda header, stays=stays, standard=standard: (  # type: ignore[misc]
                header.strip("<>") in standard if header.startswith("<") else header.strip('"') in stays
            ),
            requires=sorted(requires.get(path, ())),
            own_headers=owns.get(path, ()),
            lost_torch=bool(torch_headers(analysis.graph.closure_of(path))),
        )
        found = settle([f for f in found if not dropped(f.code)])
        includes[path] = tuple(found)
        edits = edits + [e for f in found for e in f.edits]
        edits = _laid_out(view.source, edits, path in analysis.printed)
        if not edits:
            continue
        by_path[path] = edits
        texts[path] = apply(view.source.data, edits)
        graph = graph.with_overlay({path: texts[path]})
    for path, edits in by_path.items():
        if path not in texts:
            by_path[path] = _laid_out(read(path), edits, path in analysis.printed) if is_cpp(path) else edits
            texts[path] = apply(read(path).data, by_path[path])
    beside = {path: name for path, name in beside.items() if path in texts}
    scripts, stuck = written_back(ahead, by_path, beside, analysis)
    for script, made in scripts.items():
        by_path[script] = [*by_path.get(script, ()), *made]
        texts[script] = apply(read(script).data, by_path[script])
    edits_of = {path: tuple(sorted(edits)) for path, edits in by_path.items()}
    return Assembled(texts, edits_of, includes, merged.conflicts, beside, stuck)


def _laid_out(source: SourceFile, edits: list[Edit], printed: bool) -> list[Edit]:
    """``edits``, with what keeps the layout around them: blank lines, lists below their first element, backslashes.

    In what a script prints, names have lengths that nobody knows: only backslashes are looked after there.
    """
    if not printed:
        edits = [*edits, *join_blank_lines(source, edits)]
        edits = keep_alignment(source, edits)
    return [*edits, *keep_columns(source, edits)]


def _include_files(drafts: Sequence[Draft], analysis: Analysis) -> list[str]:
    """Files whose include lines are looked at: what is edited, and what else the migrated modules alone are made of.

    A header that another module reaches too keeps its lines unless it is edited: that module may live on them.
    """
    migrated = {name for d in drafts for name in d.group.modules}
    own: set[str] = set()
    foreign: set[str] = set()
    for module in analysis.project.modules:
        for source in module.sources:
            files = analysis.closures.get(source, frozenset())
            (own if module.name in migrated else foreign).update(files)
    edited = {e.path for d in drafts for e in d.edits}
    return sorted(p for p in {*edited, *(own - foreign)} if is_cpp(p) and p in analysis.views)


def _headers_first(paths: Sequence[str], graph: IncludeGraph) -> list[str]:
    """``paths`` ordered so that a header stands before whatever includes it."""
    wanted = set(paths)
    order: list[str] = []
    seen: set[str] = set()

    def visit(path: str) -> None:
        if path in seen:
            return
        seen.add(path)
        for other in sorted(wanted.intersection(graph.closure_of(path))):
            if is_header(other):
                visit(other)
        order.append(path)

    for path in sorted(paths):
        visit(path)
    return order


def _closure_of_all(graph: IncludeGraph, paths: Sequence[str]) -> frozenset[str]:
    """What including all of ``paths`` brings, the first of them left out: names as spelled, and bare file names."""
    reached = {p for path in paths for p in graph.closure_of(path)} - {paths[0]}
    return frozenset(reached | {posixpath.basename(p) for p in reached})


def _located(names: Iterable[str], analysis: Analysis) -> list[str]:
    """The headers of the checkout with these names."""
    wanted = {posixpath.basename(name) for name in names}
    return [header for header in analysis.project.headers if posixpath.basename(header) in wanted]


def _own_headers(drafts: Sequence[Draft], analysis: Analysis) -> dict[str, list[str]]:
    """For each source, the headers that declare what it defines and that it does not reach yet, as to be spelled.

    One whose default arguments the source would go on repeating stays out: they may stand in one place only.
    """
    out: dict[str, list[str]] = {}
    for draft in drafts:
        declared: dict[str, set[str]] = {}
        for entity in draft.group.entities:
            if entity.kind == "function" and not entity.defines and is_header(entity.path):
                declared.setdefault(entity.name, set()).add(entity.path)
        dropped = [f for f in draft.findings if f.code == "TL207" and f.edits]
        for function in draft.functions:
            if is_header(function.path):
                continue
            for header, spelled in own_headers(function.path, declared.get(function.name, ()), analysis.graph).items():
                repeated = repeated_defaults(analysis.views[function.path], analysis.views[header])
                if not all(any(f.path == function.path and f.start == at for f in dropped) for at in repeated):
                    continue
                if spelled not in out.setdefault(function.path, []):
                    out[function.path].append(spelled)
    return out


def with_unit(findings: Sequence[Finding], unit: str) -> tuple[Finding, ...]:
    """The findings, marked as belonging to ``unit``."""
    return tuple(replace(f, unit=unit) for f in findings)
