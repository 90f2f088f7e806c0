"""The rooms in order: what a program (the command line, a test, an editor) calls. Nothing here prints or writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from torchless.analysis import Analysis, Analyst
from torchless.facts.cache import Cache, default_folder
from torchless.facts.flags import STUB_PREFIX, HeadersError
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.pool import parse_many, prepare_pch
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.plan.assemble import Assembled, assemble, with_unit
from torchless.plan.collect import Collected, collect
from torchless.plan.decide import Draft, Policy, Reader, decide
from torchless.plan.launching import find_launching
from torchless.plan.ledger import ledger
from torchless.plan.prove import Proof, RunChecks, prove
from torchless.project.discover import ProjectError, load
from torchless.project.model import Project
from torchless.project.target import CORE_HEADERS
from torchless.rules.load import load_rules
from torchless.rules.model import RuleError, Ruleset
from torchless.selection import Selection, SelectionError, codes_match, is_header, select
from torchless.text.writer import FileChange
from torchless.units.build import CodeBase, Group, Grouping, group
from torchless.units.build import why_joined as chain_of_reasons
from torchless.units.entities import EntityIndex, entities_of
from torchless.units.scope import further_sources, with_siblings
from torchless.verify.remembered import remembering
from torchless.verify.types import CheckJob, CheckResult, check_tus

__all__ = ["FileChange", "MigrateOptions", "MigrateResult", "Progress", "UsageError", "migrate", "why_joined"]

# progress(stage, done, total): called as work proceeds; total is 0 while it is not known.
Progress = Callable[[str, int, int], None]


class UsageError(Exception):
    """The request cannot be carried out as asked; the message is one line for the person who asked."""


@dataclass(frozen=True)
class MigrateOptions:
    """What to migrate and how.

    ``paths`` are files or folders, absolute or relative to the start folder. ``select`` and ``ignore`` are codes or
    prefixes of codes. ``jobs`` 0 means one worker per core. ``opus_guard``: mend the c10 leak at its "root", or by a
    "define" in each translation unit.
    """

    paths: tuple[str, ...]
    modules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    jobs: int = 0
    cache: bool = True
    headers: str = "stubs"
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    arch: str = "gfx942"
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    checks: str = "aiter"
    assume_target: bool = False
    rule_files: tuple[str, ...] = ()
    opus_guard: str = "root"


@dataclass(frozen=True)
class MigrateResult:
    """What migrate() found and would change.

    ``findings`` are those that belong to no unit. ``changes`` and ``edits`` hold what is to be written, by
    root-relative path. ``mergeable`` is false when the checkout lacks the target's headers, so that the edits do not
    compile there. ``files_failed`` could not be analysed at all.
    """

    root: str
    units: tuple[Unit, ...]
    findings: tuple[Finding, ...]
    changes: Mapping[str, FileChange]
    edits: tuple[Edit, ...]
    found: str
    seconds: float
    files_failed: tuple[str, ...] = ()
    mergeable: bool = True
    notes: tuple[str, ...] = ()
    grouping: Grouping | None = field(default=None, repr=False, compare=False)


def migrate(options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """Analyse and plan a migration from folder ``start``; writes nothing. Raises UsageError."""
    began = time.monotonic()
    try:
        project = load(start, options.paths)
        selection = select(project, start, options.paths, options.modules, options.exclude, options.force_exclude)
        ruleset = load_rules(options.rule_files)
        mergeable = _require_target(project, options)
        analyst = Analyst(
            project,
            selection,
            lambda specs: _parse(specs, project, options, progress),
            arch=options.arch,
            defines=options.defines,
            include_dirs=options.include_dirs,
        )
        analysis, collected, grouping = _grouped(analyst, ruleset, options)
    except (ProjectError, SelectionError, RuleError, HeadersError) as error:
        raise UsageError(str(error)) from None
    index = EntityIndex(e for view in analysis.views.values() for e in entities_of(view))
    chosen = _chosen(grouping, selection)
    drafts = _drafts(chosen, collected.all, analysis, index, options)
    assembled, proof = _proved(drafts, analysis, index, options, progress)
    units = tuple(_unit(d, assembled, proof, analysis, options) for d in drafts)
    read = Reader(analysis)
    changes = {path: FileChange(read(path).data, text) for path, text in sorted(assembled.texts.items())}
    return MigrateResult(
        root=project.root,
        units=units,
        findings=tuple(_placed(f, read) for f in analysis.findings),
        changes={path: change for path, change in changes.items() if change.old != change.new},
        edits=tuple(e for path in sorted(assembled.edits) for e in assembled.edits[path]),
        found=_found(drafts),
        seconds=time.monotonic() - began,
        files_failed=tuple(sorted({f.path for f in analysis.findings if f.code in ("TL003", "TL006")})),
        mergeable=mergeable,
        notes=(*selection.notes, *(f"{path}: {text}" for path, text in project.problems)),
        grouping=grouping,
    )


def _grouped(analyst: Analyst, ruleset: Ruleset, options: MigrateOptions) -> tuple[Analysis, Collected, Grouping]:
    """Look at the selection, and at whatever a change to its shared headers ties to it, until its units are whole."""
    sources = analyst.first_sources()
    while True:
        analysis = analyst.look(sources)
        collected = collect(analysis, ruleset, lambda code: _dropped(code, options))
        index = EntityIndex(e for view in analysis.views.values() for e in entities_of(view))
        code = CodeBase(analysis.project, analysis.views, index, analysis.closures, is_header)
        grouping = group(code, collected.all)
        entities = [
            entity
            for chosen in _chosen(grouping, analysis.selection)
            for entity in chosen.entities
            if PurePosixPath(entity.path).name not in CORE_HEADERS
        ]
        more = further_sources(entities, sources, analysis.views.keys(), analyst.closures, analyst.read, is_header)
        if not more:
            return analysis, collected, grouping
        sources = with_siblings(analysis.project, sources | more) & analyst.closures.keys()


def why_joined(result: MigrateResult, a: str, b: str) -> str:
    """Why entry points (or modules) ``a`` and ``b`` must move together, one step a line. Raises UsageError."""
    steps = chain_of_reasons(result.grouping, a, b) if result.grouping else []
    if not steps:
        raise UsageError(f"{a} and {b} are not in one unit")
    return "\n".join(steps)


def _dropped(code: str, options: MigrateOptions) -> bool:
    return codes_match(code, options.ignore) or (bool(options.select) and not codes_match(code, options.select))


def _require_target(project: Project, options: MigrateOptions) -> bool:
    """Whether the result can be merged in this checkout. Raises UsageError when it lacks the target."""
    missing = []
    if "aiter_tensor.h" not in project.target_headers:
        missing.append("the header aiter_tensor.h")
    if project.ops and "develop" not in project.op_parameters:
        missing.append("compile_ops(develop=...)")
    if missing and not options.assume_target:
        raise UsageError(
            f"{project.root} lacks {' and '.join(missing)}: nothing to migrate to"
            " (--assume-target shows what a migration would look like)"
        )
    return not missing


def _parse(specs: Sequence[TuSpec], project: Project, options: MigrateOptions, progress: Progress) -> list[TuFacts]:
    """Facts of every unit: from the cache where it knows them, else parsed in worker processes and remembered."""
    root = Path(project.root)
    cache = Cache(root, headers=options.headers) if options.cache else None
    known: dict[int, TuFacts] = {}
    if cache is not None:
        for i, spec in enumerate(specs):
            hit = cache.facts(spec)
            if hit is not None:
                known[i] = hit[1]
    missing = [i for i in range(len(specs)) if i not in known]
    if missing:
        pch = prepare_pch(options.arch, default_folder(), jobs=options.jobs)
        parsed = parse_many(
            [specs[i] for i in missing],
            root,
            headers=options.headers,
            pch=pch,
            jobs=options.jobs,
            progress=lambda done, total: progress("parsing", done, total),
        )
        for i, facts in zip(missing, parsed, strict=True):
            known[i] = facts
            if cache is not None:
                cache.store_facts(facts)
    return [known[i] for i in range(len(specs))]


def _chosen(grouping: Grouping, selection: Selection) -> list[Group]:
    """The groups that the selection means, and those they depend on, in name order."""
    by_name = {g.name: g for g in grouping.groups}
    queue = [g.name for g in grouping.groups if _is_selected(g, selection)]
    chosen: set[str] = set()
    while queue:
        name = queue.pop()
        if name not in chosen:
            chosen.add(name)
            queue.extend(by_name[name].depends)
    return [by_name[name] for name in sorted(chosen)]


def _is_selected(candidate: Group, selection: Selection) -> bool:
    if selection.modules.intersection(candidate.modules):
        return True
    return any(e.path in selection.sources or e.path in selection.headers for e in candidate.entities)


def _drafts(
    chosen: Sequence[Group],
    findings: Sequence[Finding],
    analysis: Analysis,
    index: EntityIndex,
    options: MigrateOptions,
) -> list[Draft]:
    owner = {entity: g.name for g in chosen for entity in g.entities}
    by_group: dict[str, list[Finding]] = {}
    for finding in findings:
        entity = index.at(finding.path, finding.start)
        if entity in owner:
            by_group.setdefault(owner[entity], []).append(finding)
    launching = find_launching(analysis.functions, analysis.views, index)
    policy = Policy(options.unsafe, options.checks == "throw", lambda code: _dropped(code, options), launching)
    read = Reader(analysis)
    return [decide(g, by_group.get(g.name, []), analysis, read, policy) for g in chosen]


def _proved(
    drafts: Sequence[Draft], analysis: Analysis, index: EntityIndex, options: MigrateOptions, progress: Progress
) -> tuple[Assembled, Proof]:
    """Assemble what nothing blocks, check it, and back out what fails, until the rest passes.

    The proof holds the failures of every round, and what the last one saw of the units that stay.
    """
    read = Reader(analysis)
    ahead = [d for d in drafts if not d.blockers and d.edits]
    failed: dict[str, tuple[Diagnostic, ...]] = {}
    while True:
        assembled = assemble(ahead, analysis, read, lambda code: _dropped(code, options))
        ahead = [d for d in ahead if d.name not in {c.group for c in assembled.conflicts}]
        proof = prove(
            ahead,
            assembled,
            analysis,
            index,
            lambda specs: _parse(specs, analysis.project, options, progress),
            _checks(analysis, options, progress),
            options.arch,
        )
        failed.update(proof.failed)
        if not proof.failed:
            return assembled, replace(proof, failed=failed)
        ahead = [d for d in ahead if d.name not in proof.failed]


def _checks(analysis: Analysis, options: MigrateOptions, progress: Progress) -> RunChecks:
    """How checks are run: in worker processes, and only those whose results are not remembered."""

    def run(jobs: Sequence[CheckJob]) -> Sequence[CheckResult]:
        return check_tus(
            jobs,
            analysis.root,
            headers=options.headers,
            pch=prepare_pch(options.arch, default_folder(), jobs=options.jobs),
            workers=options.jobs,
            progress=lambda done, total: progress("checking", done, total),
        )

    if not options.cache:
        return run
    return remembering(run, Cache(analysis.root, headers=options.headers), analysis.graph)


def _unit(draft: Draft, assembled: Assembled, proof: Proof, analysis: Analysis, options: MigrateOptions) -> Unit:
    read = Reader(analysis)
    files = sorted({e.path for e in draft.edits})
    includes = [f for path in files for f in with_unit(assembled.includes.get(path, ()), draft.name)]
    conflicts = [c for c in assembled.conflicts if c.group == draft.name]
    findings = [*draft.findings, *includes]
    status = UnitStatus.MIGRATED if draft.edits else UnitStatus.CLEAN
    if draft.blockers:
        status, findings = UnitStatus.BLOCKED, [f for f in draft.findings if f not in draft.blockers]
        findings += draft.blockers
    findings += [
        Finding("TL005", str(c), c.edit.path, c.edit.start, c.edit.end, blocks=True, unit=draft.name) for c in conflicts
    ]
    if conflicts:
        status = UnitStatus.BLOCKED
    if draft.name in proof.failed:
        status = UnitStatus.BACKED_OUT
        findings += [_check_failed(d, draft.name) for d in proof.failed[draft.name]]
    elif status is UnitStatus.MIGRATED and draft.name in proof.blind:
        status = UnitStatus.UNCHECKED
        findings += [_unchecked(draft, text) for text in proof.blind[draft.name]]
    return Unit(
        draft.name,
        draft.group.modules,
        draft.group.entry_points,
        files=tuple(files),
        status=status,
        findings=tuple(sorted((_placed(f, read) for f in findings), key=lambda f: (f.path, f.start, f.end, f.code))),
        edits=draft.edits if status in (UnitStatus.MIGRATED, UnitStatus.UNCHECKED) else (),
        ledger=ledger(
            draft.findings,
            analysis.views,
            [(f.path, f.body_start, f.body_end) for f in draft.functions],
            checks_throw=options.checks == "throw",
            flips_ops=draft.flips_ops,
        ),
        leaks=_leaks(draft, proof),
    )


def _check_failed(diagnostic: Diagnostic, unit: str) -> Finding:
    return Finding(
        "TL008",
        f"after the edits: {diagnostic.message} ({diagnostic.path}:{diagnostic.line} of the new text)",
        diagnostic.path,
        0,
        0,
        Tier.DISPLAY,
        blocks=True,
        help="the unit was left as it was; please report what should have been written instead",
        unit=unit,
    )


def _unchecked(draft: Draft, what: str) -> Finding:
    path = next((e.path for e in draft.group.entities), "")
    return Finding("TL007", f"no check sees {what}", path, 0, 0, Tier.DISPLAY, unit=draft.name)


def _leaks(draft: Draft, proof: Proof) -> tuple[str, ...]:
    """The chains by which the unit's sources still reach torch, one for each file that opens it."""
    chains: dict[str, tuple[str, ...]] = {}
    for chain in proof.leaks.get(draft.name, ()):
        last = next(p for p in reversed(chain) if not p.startswith(STUB_PREFIX))
        chains.setdefault(last, chain)
    return tuple(" -> ".join(chain) for _, chain in sorted(chains.items()))


def _placed(finding: Finding, read: Reader) -> Finding:
    """The finding with its line and column."""
    try:
        source = read(finding.path)
    except OSError:
        return finding
    return replace(finding, line=source.line_of(finding.start), column=source.column_of(finding.start))


def _found(drafts: Sequence[Draft]) -> str:
    """What was found, in words: "12 units in 3 modules"."""
    modules = {name for d in drafts for name in d.group.modules}
    units = f"{len(drafts)} unit{'' if len(drafts) == 1 else 's'}"
    return f"{units} in {len(modules)} module{'' if len(modules) == 1 else 's'}"
