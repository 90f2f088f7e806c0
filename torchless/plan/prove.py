"""Proves the units that go ahead: which translation units see an edit, what the check of each says, whose it is."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchless.analysis import Analysis
from torchless.facts.flags import STUB_PREFIX
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.typing import FileView, token_at
from torchless.model import Edit
from torchless.plan.assemble import Assembled
from torchless.plan.decide import Draft, Reader
from torchless.plan.expansions import Expansions, in_full
from torchless.plan.unseen import Suspect, suspects
from torchless.selection import is_cpp
from torchless.text.edits import offset_map
from torchless.text.lexer import match_forward
from torchless.units.entities import Entity, EntityIndex
from torchless.verify.planted import Place
from torchless.verify.types import CheckJob, CheckResult

RunChecks = Callable[[Sequence[CheckJob]], Sequence[CheckResult]]
ParseMany = Callable[[Sequence[TuSpec]], Sequence[TuFacts]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A new error: as the parser put it, in the text after the edits, and where that is in the text on disk.

    ``path`` and ``offset`` are that place; for one outside of the project it is the start of the source. ``seen_by``
    are all units and passes that gave the error, in the order of the checks.
    """

    diagnostic: Diagnostic
    path: str
    offset: int
    seen_by: tuple[TuSpec, ...]


@dataclass(frozen=True)
class Proof:
    """What the checks said, by unit name.

    ``failed``: new errors; ``blind``: edited code that no check saw; ``inactive``: edits in arms of an #if that no pass
    compiles; ``leaks``: project files that still open torch for the unit's own sources, as chains from the source to
    torch's header. ``checked`` counts units and passes.
    """

    failed: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict)
    blind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inactive: Mapping[str, tuple[Suspect, ...]] = field(default_factory=dict)
    leaks: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    checked: int = 0


def prove(
    drafts: Sequence[Draft],
    assembled: Assembled,
    analysis: Analysis,
    index: EntityIndex,
    parse_many: ParseMany,
    run_checks: RunChecks,
) -> Proof:
    """Check every translation unit that sees an edit of ``drafts`` and hand the results to the units they concern."""
    doubtful = suspects(drafts, analysis.views)
    owners = _Owners(drafts, analysis, index)
    jobs = _jobs(drafts, assembled, analysis, index, parse_many, [s.place for s in doubtful], owners)
    results = run_checks(jobs)
    failed: dict[str, dict[Diagnostic, list[TuSpec]]] = {}
    leaks: dict[str, set[tuple[str, ...]]] = {}
    seen: set[Place] = set()
    looked_for: set[Place] = set()
    unparsed: dict[str, list[str]] = {}
    for job, result in zip(jobs, results, strict=True):
        of_source = owners.of_source(job.spec.source)
        for found in result.new_diagnostics:
            diagnostic = in_full(found, job.edits, assembled)
            for name in owners.of_diagnostic(diagnostic, assembled, job.spec.source):
                failed.setdefault(name, {}).setdefault(diagnostic, []).append(job.spec)
        for chain in result.torch_opened:
            for name in of_source:
                leaks.setdefault(name, set()).add(chain)
        if result.failure:
            for name in of_source or owners.all:
                unparsed.setdefault(name, []).append(result.failure)
        else:
            looked_for.update(job.places)
            seen.update(set(job.places) - set(result.blind_places))
    places = _places(drafts, assembled, analysis.views)
    blind: dict[str, set[str]] = {}
    for place, name in places.items():
        if place not in seen and not (place.macro and place not in looked_for):  # nobody expands that macro
            blind.setdefault(name, set()).add(f"{place.name} ({place.path})")
    inactive: dict[str, list[Suspect]] = {}
    for suspect in doubtful:
        if suspect.place in seen:
            continue
        if suspect.place.arm and suspect.place in looked_for:
            inactive.setdefault(suspect.unit, []).append(suspect)
        elif suspect.arm is None or suspect.arm in seen:
            blind.setdefault(suspect.unit, set()).add(f"{suspect.place.path}, {suspect.place.name}")
    for name, failures in unparsed.items():
        blind.setdefault(name, set()).update(failures)
    return Proof(
        {n: tuple(_failure(d, ss, assembled) for d, ss in ds.items()) for n, ds in sorted(failed.items())},
        {n: tuple(sorted(ps)) for n, ps in sorted(blind.items())},
        {n: tuple(found) for n, found in sorted(inactive.items())},
        {n: tuple(sorted(cs)) for n, cs in sorted(leaks.items())},
        len(jobs),
    )


def _failure(diagnostic: Diagnostic, specs: Sequence[TuSpec], assembled: Assembled) -> Failure:
    path = diagnostic.path
    if not path or path.startswith((STUB_PREFIX, "/")):
        return Failure(diagnostic, specs[0].source, 0, tuple(specs))
    return Failure(diagnostic, path, _place_on_disk(diagnostic, assembled), tuple(specs))


def _place_on_disk(diagnostic: Diagnostic, assembled: Assembled) -> int:
    """The offset before the edits; in new text, that of the edit that wrote it."""
    edits = assembled.edits.get(diagnostic.path, ())
    offsets = offset_map(edits)
    old = offsets.old(diagnostic.offset)
    if old is not None:
        return old
    return max((e.start for e in offsets.edits if offsets.new(e.start) <= diagnostic.offset), default=0)


def _jobs(
    drafts: Sequence[Draft],
    assembled: Assembled,
    analysis: Analysis,
    index: EntityIndex,
    parse_many: ParseMany,
    doubtful: Sequence[Place],
    owners: _Owners,
) -> list[CheckJob]:
    edited = {path: edits for path, edits in assembled.edits.items() if is_cpp(path) and edits}
    seeing = _sources_that_see(edited, analysis, index)
    known = analysis.parsed
    by_source: dict[str, list[TuSpec]] = {}
    for spec in known:
        by_source.setdefault(spec.source, []).append(spec)
    specs = [spec for source in seeing for spec in by_source.get(source) or analysis.specs(source)]
    unknown = [spec for spec in specs if spec not in known]
    known.update(zip(unknown, parse_many(unknown), strict=True))
    places = _places(drafts, assembled, analysis.views)
    after = analysis.graph.with_overlay(assembled.texts)
    expansions = Expansions(edited, assembled, index, Reader(analysis), dict(analysis.project.printed))
    standing_in = [({e.path for e in d.edits}, d.stand_ins) for d in drafts if d.stand_ins]
    jobs: list[CheckJob] = []
    for spec in specs:
        facts = known[spec]
        reached = set(after.closure_of(spec.source)) | set(analysis.graph.closure_of(spec.source))
        planted = (*_compiled(places, facts, index), *(p for p in doubtful if p.path in reached))
        # what a build makes of one name may differ from module to module
        created = dict(file for paths, files in standing_in if not reached.isdisjoint(paths) for file in files)
        edits = expansions.seen(facts, reached, created.values())
        if not (edits or planted or created or owners.of_source(spec.source)):
            continue  # what was edited are macros that it does not expand
        printed = tuple((path, code) for path, code in analysis.project.printed if posixpath.normpath(path) in reached)
        jobs.append(CheckJob(spec, edits, facts.diagnostics, planted, tuple(sorted(created.items())), printed))
    return jobs


def _sources_that_see(edited: Mapping[str, Sequence[Edit]], analysis: Analysis, index: EntityIndex) -> list[str]:
    """The sources whose closure holds an edited file.

    Where all edits of a file lie inside macros, only the sources that name one: nobody else compiles the change.
    """
    read = Reader(analysis)
    out: set[str] = set()
    for path, edits in edited.items():
        users = {source for source, files in analysis.closures.items() if path in files}
        macros = {index.at(path, e.start) for e in edits} if path in analysis.views else {None}
        names = {m.name for m in macros if m is not None and m.kind == "macro"}
        if all(m is not None and m.kind == "macro" for m in macros):
            names |= _expanding(names, index.of_file(path), read(path).data)
            word = re.compile(rb"\b(?:" + b"|".join(re.escape(n.encode()) for n in sorted(names)) + rb")\b")
            mentions: dict[str, bool] = {}

            def mentioned(other: str, path: str = path, word: re.Pattern[bytes] = word) -> bool:
                return other != path and word.search(read(other).data) is not None

            for source in users:
                for other in analysis.closures[source]:
                    if other not in mentions:
                        mentions[other] = mentioned(other)
            users = {s for s in users if any(mentions[o] for o in analysis.closures[s])}
        out |= users
    return sorted(out)


def _expanding(names: set[str], entities: Iterable[Entity], data: bytes) -> set[str]:
    """Macros of the file that expand one of ``names``, through one another."""
    found = set(names)
    macros = [e for e in entities if e.kind == "macro"]
    while True:
        more = {
            m.name
            for m in macros
            if m.name not in found
            and any(re.search(rb"\b" + re.escape(n.encode()) + rb"\b", data[m.start : m.end]) for n in found)
        }
        if not more:
            return found
        found |= more


def _places(drafts: Sequence[Draft], assembled: Assembled, views: Mapping[str, FileView]) -> dict[Place, str]:
    """Where an error must be seen, with the unit: every function and macro of the drafts with an edit in its body."""
    out: dict[Place, str] = {}
    for draft in drafts:
        bodies = [(f.path, f.body_start, f.body_end, f.name, False) for f in draft.functions]
        for entity in draft.group.entities:
            if entity.kind == "macro" and entity.path in views:
                start = _replacement_list(views[entity.path], entity)
                bodies.append((entity.path, start, entity.end, entity.name, True))
        for path, start, end, name, is_macro in bodies:
            if any(start <= e.start < end for e in assembled.edits.get(path, ())):
                out[Place(path, start, name, macro=is_macro)] = draft.name
    return out


def _replacement_list(view: FileView, macro: Entity) -> int:
    """The offset at which what ``macro`` expands to begins; its end when it expands to nothing."""
    tokens = view.tokens
    name = token_at(view, macro.start) + 2
    first = name + 1
    if first < len(tokens) and tokens[first].text == b"(" and tokens[first].start == tokens[name].end:
        first = match_forward(tokens, first) + 1
    return tokens[first].start if first < len(tokens) and tokens[first].start < macro.end else macro.end


def _compiled(places: Iterable[Place], facts: TuFacts, index: EntityIndex) -> tuple[Place, ...]:
    """The places that this unit compiles in this pass; a macro is compiled where it is expanded."""
    bodies = {(f.path or file.path, f.body_start) for file in facts.files for f in file.functions}
    names = {file.path: [n.offset for n in file.names] for file in facts.files}

    def expanded(place: Place) -> bool:
        macro = index.at(place.path, place.offset)
        offsets = names.get(place.path, [])
        at = bisect_left(offsets, place.offset)
        return macro is not None and at < len(offsets) and offsets[at] < macro.end

    return tuple(p for p in places if (expanded(p) if p.macro else (p.path, p.offset) in bodies))


class _Owners:
    """Tells whose a source, a place or a diagnostic is."""

    def __init__(self, drafts: Sequence[Draft], analysis: Analysis, index: EntityIndex) -> None:
        self._index = index
        self._entities: dict[Entity, list[str]] = {}
        for draft in drafts:  # an optional unit may lie where another one does
            for entity in draft.group.entities:
                self._entities.setdefault(entity, []).append(draft.name)
        self._sources: dict[str, set[str]] = {}
        modules = {m.name: m.sources for m in analysis.project.modules}
        for draft in drafts:
            own = {s for name in draft.group.modules for s in modules[name]}
            own |= {e.path for e in draft.group.entities if e.path in analysis.closures}
            for source in own:
                self._sources.setdefault(source, set()).add(draft.name)
        self._files: dict[str, set[str]] = {}
        for draft in drafts:
            for edit in draft.edits:
                self._files.setdefault(edit.path, set()).add(draft.name)
        self._closures = analysis.closures
        self.all = sorted(d.name for d in drafts)

    def of_source(self, source: str) -> list[str]:
        """The units whose own source this is."""
        return sorted(self._sources.get(source, ()))

    def of_diagnostic(self, diagnostic: Diagnostic, assembled: Assembled, source: str) -> list[str]:
        """The units to blame: the one that owns the place, else those of the source, else all that it can see."""
        entity = self._index.at(diagnostic.path, _place_on_disk(diagnostic, assembled))
        if entity is not None and entity in self._entities:
            return sorted(self._entities[entity])
        if self._files.get(diagnostic.path):
            return sorted(self._files[diagnostic.path])
        if source in self._sources:
            return self.of_source(source)
        reached = self._closures.get(source, frozenset())
        return sorted({n for path, names in self._files.items() if path in reached for n in names}) or self.all
