"""The two loops of a migration: look wider until units are whole, and back out until the rest passes its checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from torchless.analysis import Analysis, Analyst
from torchless.model import Finding, Tier
from torchless.options import MigrateOptions, Progress
from torchless.plan.assemble import Assembled, assemble
from torchless.plan.collect import Collected, collect
from torchless.plan.decide import Draft, Policy, Reader, decide
from torchless.plan.launching import find_launching
from torchless.plan.opus import define_in_units, guarded_headers, invert_at_root
from torchless.plan.prove import Failure, Proof, prove
from torchless.plan.suppression import Suppressor
from torchless.plan.written_back import blocked_by
from torchless.project.target import CORE_HEADERS
from torchless.rewrites.include_lines import include_lines
from torchless.rewrites.includes import INTEROP, is_torch_header
from torchless.rewrites.scopes import scopes_of
from torchless.rules.model import Ruleset
from torchless.selection import Selection, is_header
from torchless.units.build import CodeBase, Group, Grouping, group
from torchless.units.entities import EntityIndex, entities_of
from torchless.units.scope import further_sources, with_siblings
from torchless.workers import check_runner, parse


@dataclass(frozen=True, slots=True)
class Grouped:
    """An analysis that is wide enough for its units to be whole, with the findings and the units."""

    analysis: Analysis
    collected: Collected
    grouping: Grouping
    index: EntityIndex
    suppressor: Suppressor


def grouped(analyst: Analyst, ruleset: Ruleset, options: MigrateOptions) -> Grouped:
    """Look at the selection, and at whatever a change to its shared headers ties to it, until its units are whole."""
    sources = analyst.first_sources()
    while True:
        analysis = analyst.look(sources)
        suppressor = Suppressor(Reader(analysis))
        collected = collect(analysis, ruleset, options.dropped, suppressor.settle)
        index = EntityIndex(e for view in analysis.views.values() for e in entities_of(view))
        code = CodeBase(analysis.project, analysis.views, index, analysis.closures, is_header, is_foreign)
        grouping = group(code, collected.all)
        entities = [
            entity
            for chosen in chosen_groups(grouping, analysis.selection)
            for entity in chosen.entities
            if not is_foreign(entity.path)
        ]
        more = further_sources(entities, sources, analysis.views.keys(), analyst.closures, analyst.read, is_header)
        if not more:
            return Grouped(analysis, collected, grouping, index, suppressor)
        sources = with_siblings(analysis.project, sources | more) & analyst.closures.keys()


def chosen_groups(grouping: Grouping, selection: Selection) -> list[Group]:
    """The groups that the selection means, in name order."""
    return [g for g in grouping.groups if _is_selected(g, selection)]


def is_foreign(path: str) -> bool:
    """Whether migrating files stop including the header at ``path``, or start to, instead of changing it."""
    return PurePosixPath(path).name in CORE_HEADERS


def _is_selected(candidate: Group, selection: Selection) -> bool:
    """A group is meant by its modules and sources; one that lives in headers alone, by the folder it lies in."""
    if selection.modules.intersection(candidate.modules):
        return True
    if any(e.path in selection.sources or e.path in selection.headers for e in candidate.entities):
        return not is_foreign(candidate.entities[0].path)
    in_headers = not candidate.modules and all(is_header(e.path) for e in candidate.entities)
    if any(is_foreign(e.path) for e in candidate.entities):
        return False
    return in_headers and any(selection.covers(e.path) for e in candidate.entities)


def drafts_of(chosen: Sequence[Group], seen: Grouped, options: MigrateOptions) -> list[Draft]:
    """Decide each of the ``chosen`` groups."""
    analysis = seen.analysis
    owner = {entity: g.name for g in chosen for entity in g.entities}
    by_group: dict[str, list[Finding]] = {}
    for finding in seen.collected.all:
        entity = seen.index.at(finding.path, finding.start)
        if entity in owner:
            by_group.setdefault(owner[entity], []).append(finding)
    launching = find_launching(analysis.functions, analysis.views, seen.index)
    policy = Policy(
        options.unsafe,
        options.checks == "throw",
        options.dropped,
        launching,
        seen.suppressor.settle,
        seen.collected.contracts,
    )
    read = Reader(analysis)
    has_modules = bool(analysis.project.modules)
    drafts = [decide(g, [*by_group.get(g.name, []), *_staying(g, has_modules)], analysis, read, policy) for g in chosen]
    for _, guard in guarded_headers(analysis, read):
        if _guard_mended(guard.path, analysis, options) == "define":
            extra = define_in_units(guard, analysis, read, [d for d in drafts if not d.blockers])
            drafts = [_with_findings(d, extra.get(d.name, [])) for d in drafts]
    return drafts


def _guard_mended(path: str, analysis: Analysis, options: MigrateOptions) -> str:
    """Where the c10 leak of the header at ``path`` is mended: "root", "define", or "" for nowhere."""
    if options.dropped("TL107"):
        return ""
    covered = analysis.selection.covers(path)
    if options.opus_guard == "auto":
        return "root" if covered else "define"
    return options.opus_guard if options.opus_guard == "define" or covered else ""


def _staying(candidate: Group, has_modules: bool) -> list[Finding]:
    """A blocker for what lives in headers alone and must not change there: generated code uses it, unseen here."""
    entity = candidate.entities[0]
    if not has_modules or candidate.modules or not all(is_header(e.path) for e in candidate.entities):
        return []
    text = f"no source of a module uses {entity.name or entity.path}: generated code may, and would not follow"
    advice = "migrate it together with the generator whose output uses it, or delete it"
    return [Finding("TL801", text, entity.path, entity.start, entity.end, Tier.DISPLAY, blocks=True, help=advice)]


def left_in_foreign(seen: Grouped) -> list[Finding]:
    """What stays in headers that migrating files stop including: they serve the files that have not migrated."""
    out: list[Finding] = []
    for path, findings in seen.collected.by_path.items():
        if not is_foreign(path) or not seen.analysis.selection.covers(path):
            continue
        name = PurePosixPath(path).name
        code = "TL103" if name == INTEROP else "TL104"
        out += [
            replace(f, code=code, message=f"stays with {name}: {f.message}", tier=Tier.DISPLAY, edits=(), blocks=False)
            for f in findings
            if f.edits or f.blocks
        ]
    return out


def left_includes(seen: Grouped, drafts: Sequence[Draft], changed: Collection[str]) -> list[Finding]:
    """Includes of torch that stay in selected files which are no part of any unit: nothing in them uses torch.

    ``changed`` are the files with edits of any kind.
    """
    analysis = seen.analysis
    modules = {name for d in drafts for name in d.group.modules}
    spoken_for = {e.path for d in drafts for e in d.group.entities}.union(changed)
    spoken_for.update(s for m in analysis.project.modules if m.name in modules for s in m.sources)
    return [
        Finding(
            "TL101",
            f"{line.header} stays: nothing in this file uses it, but a file that includes this one may",
            path,
            line.header_start,
            line.header_end,
            Tier.DISPLAY,
            help="take the line out and build what includes this file",
        )
        for path, view in sorted(analysis.views.items())
        if analysis.selection.covers(path) and path not in spoken_for and not is_foreign(path)
        for line in include_lines(view, scopes_of(view))
        if is_torch_header(line.header)
    ]


def _with_findings(draft: Draft, findings: Sequence[Finding]) -> Draft:
    edits = (*draft.edits, *(e for f in findings for e in f.edits))
    return replace(draft, findings=(*draft.findings, *findings), edits=edits)


def proved(
    drafts: Sequence[Draft], seen: Grouped, options: MigrateOptions, progress: Progress
) -> tuple[list[Draft], Assembled, Proof]:
    """Assemble what nothing blocks, check it, and take out what fails or cannot be seen, until the rest passes.

    A header whose includes of torch a file outside of all units turns out to live on keeps them. The drafts that come
    back include those of headers that bring torch to everybody. The proof holds the failures of every round, and what
    the last one saw of the units that stay.
    """
    analysis = seen.analysis
    read = Reader(analysis)
    ahead = [d for d in drafts if not d.blockers and d.edits and d.name not in options.held]
    failed: dict[str, tuple[Failure, ...]] = {}
    blind: dict[str, tuple[str, ...]] = {}
    held = set(options.held)
    lenders: dict[str, str] = {}

    def settle(found: Sequence[Finding]) -> list[Finding]:
        return [_lent(f, lenders) for f in seen.suppressor.unsuppressed(found)]

    while True:
        opened = _opened_guards(ahead, analysis, read, options, held)
        everything = [*ahead, *(d for d in opened if not d.blockers)]
        assembled = assemble(everything, analysis, read, options.dropped, settle)
        if assembled.stuck:
            drafts = [blocked_by(d, assembled.stuck[d.name]) if d.name in assembled.stuck else d for d in drafts]
            ahead = [d for d in ahead if d.name not in assembled.stuck]
            continue
        everything = [d for d in everything if d.name not in {c.group for c in assembled.conflicts}]
        proof = prove(
            everything,
            assembled,
            analysis,
            seen.index,
            lambda specs: parse(specs, analysis.project, options, progress),
            check_runner(analysis, options, progress),
        )
        more = _lenders(proof, assembled, analysis, lenders)
        if more:
            lenders.update(more)
            continue
        failed.update(proof.failed)
        blind.update(proof.blind)
        # what no check sees is not safe: it goes ahead on request only
        back = {*proof.failed, *(() if options.unsafe else proof.blind)}
        if not back:
            return [*drafts, *opened], assembled, replace(proof, failed=failed, blind=blind)
        held |= back
        ahead = [d for d in ahead if d.name not in back]


def _lenders(proof: Proof, assembled: Assembled, analysis: Analysis, known: Collection[str]) -> dict[str, str]:
    """Headers about to lose include lines that a file which fails its check, and that no unit edits, may live on.

    For each such file the first header that it reaches, of those that are not ``known`` yet; header -> file.
    """
    losing = {
        path
        for path, found in assembled.includes.items()
        if is_header(path) and path not in known and any(e.end > e.start for f in found for e in f.edits)
    }
    out: dict[str, str] = {}
    places = {f.diagnostic.path for fs in proof.failed.values() for f in fs}
    for failing in sorted((places - assembled.texts.keys()) | (places & losing & assembled.beside.keys())):
        sources = (source for source, files in sorted(analysis.closures.items()) if failing in files)
        headers = (path for source in sources for path in analysis.graph.closure_of(source) if path in losing)
        header = failing if failing in losing else next(headers, None)
        if header is not None:
            out.setdefault(header, failing)
    return out


def _lent(finding: Finding, lenders: Mapping[str, str]) -> Finding:
    """``finding`` about an include line; without its edits where the line goes and its file is one of ``lenders``."""
    if finding.path not in lenders or not any(e.end > e.start for e in finding.edits):
        return finding
    user = "the header itself" if lenders[finding.path] == finding.path else lenders[finding.path]
    text = f"{finding.message} (not yet: {user} lives on it)"
    advice = "migrate that file too, or let it include what it needs"
    return replace(finding, message=text, tier=Tier.DISPLAY, edits=(), help=advice)


def _opened_guards(
    ahead: Sequence[Draft],
    analysis: Analysis,
    read: Reader,
    options: MigrateOptions,
    held: Collection[str],
) -> list[Draft]:
    """Units for headers that bring torch to whoever does not opt out, where the selection covers them."""
    return [
        invert_at_root(header, guard, analysis, read, ahead)
        for header, guard in guarded_headers(analysis, read)
        if _guard_mended(guard.path, analysis, options) == "root" and guard.path not in held
    ]
