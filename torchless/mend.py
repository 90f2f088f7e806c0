"""Edits of a check as units of a migration: `torchless migrate --select TL111` makes what `torchless check` offers.

A code that a lint looks for is left alone unless it is selected. Then its findings with edits become units, one for
each code and file (in the JIT configuration, one for each module); they are merged, proved and written like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchless.check import check, context_of
from torchless.facts.cache import Cache, default_folder
from torchless.facts.includes import graph_of
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.pch import PchSet
from torchless.facts.pool import parse_many, prepare_pch
from torchless.lints.context import Context
from torchless.model import CheckResult as Checked
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.options import CheckOptions, MigrateOptions, Progress
from torchless.project.model import Module
from torchless.rules.catalogue import entries
from torchless.selection import codes_match
from torchless.text.edits import GroupConflict, apply, merge_groups
from torchless.text.writer import FileChange
from torchless.verify.mended import Change, Checkout, ParseAll, Proof, prove
from torchless.verify.remembered import RunChecks, remembering
from torchless.verify.types import CheckJob, CheckResult, check_tus

if TYPE_CHECKING:
    from torchless.api import MigrateResult

_WITHOUT_CK = "TL115"


@dataclass(frozen=True)
class Mended:
    """What a check's edits amount to: units, findings of no unit, the new bytes and the edits of files, remarks."""

    root: str
    units: tuple[Unit, ...]
    findings: tuple[Finding, ...]
    texts: Mapping[str, tuple[bytes, bytes]]
    edits: tuple[Edit, ...]
    notes: tuple[str, ...]
    files_failed: tuple[str, ...]


def selected_lints(options: MigrateOptions) -> frozenset[str]:
    """The codes among the selected ones that a lint looks for; none where nothing is selected. Raises RuleError."""
    if not options.select:
        return frozenset()
    rules = entries(options.rule_files, stored=options.cache)
    return frozenset(r.code for r in rules if r.lint and _is_selected(r.code, options))


def selects_others(options: MigrateOptions) -> bool:
    """Whether a rule that no lint looks for is selected, or everything. Raises RuleError."""
    rules = entries(options.rule_files, stored=options.cache)
    return not options.select or any(not r.lint and _is_selected(r.code, options) for r in rules)


def _is_selected(code: str, options: MigrateOptions) -> bool:
    return codes_match(code, options.select) and not codes_match(code, options.ignore)


def mend(
    options: MigrateOptions, codes: Iterable[str], start: Path, progress: Progress, taken: Iterable[str] = ()
) -> Mended:
    """The units that findings of ``codes`` make, proved. Files in ``taken`` are left as they are. Raises UsageError."""
    asked = check_options(options, codes)
    checked = check(asked, start, progress)
    context = context_of(asked, start)
    drafts = _drafts(checked, context, options)
    left = set(taken)
    notes = []
    for name in [name for name, draft in drafts.items() if any(e.path in left for e in draft.edits)]:
        paths = sorted({edit.path for edit in drafts.pop(name).edits} & left)
        notes.append(f"{', '.join(paths)}: a migration edits it; run again for {name.partition(' ')[0]}")
    merged = merge_groups({name: d.edits for name, d in drafts.items() if d.edits and name not in options.held})
    ahead = [drafts[name] for name in merged.applied]
    proof = _prove(ahead, context, options, progress)
    units = tuple(_unit(draft, merged.conflicts, proof, options) for _, draft in sorted(drafts.items()))
    edits = sorted({edit for unit in units for edit in unit.edits})
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    return Mended(
        root=checked.root,
        units=units,
        findings=tuple(f for f in checked.findings if not f.edits),
        texts={path: (old := context.index.read(path), apply(old, here)) for path, here in sorted(by_path.items())},
        edits=tuple(edits),
        notes=(*checked.notes, *notes),
        files_failed=checked.files_failed,
    )


def with_mended(result: MigrateResult, mended: Mended) -> MigrateResult:
    """``result`` of a migration together with what a check's edits amount to."""
    changes = {path: FileChange(old, new) for path, (old, new) in mended.texts.items() if old != new}
    found = f"{len(mended.units)} place{'' if len(mended.units) == 1 else 's'} to mend"
    return replace(
        result,
        root=mended.root,
        units=(*result.units, *mended.units),
        findings=tuple(dict.fromkeys((*result.findings, *mended.findings))),
        changes={**result.changes, **changes},
        edits=(*result.edits, *mended.edits),
        found=f"{result.found}; {found}" if result.found else found,
        files_failed=tuple(sorted({*result.files_failed, *mended.files_failed})),
        notes=tuple(dict.fromkeys((*result.notes, *mended.notes))),
    )


@dataclass(frozen=True)
class _Draft:
    """A unit to be: its findings, and the edits of those that the user wants made."""

    name: str
    path: str
    module: Module | None
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]


def check_options(options: MigrateOptions, codes: Iterable[str]) -> CheckOptions:
    """A check of the files that a migration is asked for, for ``codes``."""
    return CheckOptions(
        paths=options.paths,
        modules=options.modules,
        select=tuple(sorted(codes)),
        cache=options.cache,
        include_dirs=options.include_dirs,
        defines=options.defines,
        arch=options.arch,
        exclude=options.exclude,
        force_exclude=options.force_exclude,
        rule_files=options.rule_files,
    )


def _drafts(checked: Checked, context: Context, options: MigrateOptions) -> dict[str, _Draft]:
    """The units that the findings with edits make, by name."""
    groups: dict[str, list[Finding]] = {}
    for finding in checked.findings:
        if finding.edits:
            module = _module_at(context, finding)
            name = f"{finding.code} {finding.path}" + (f" {module.name}" if module is not None else "")
            groups.setdefault(name, []).append(finding)
    out = {}
    for name, findings in sorted(groups.items()):
        wanted = [f for f in findings if f.tier is Tier.SAFE or (f.tier is Tier.UNSAFE and options.unsafe)]
        edits = tuple(sorted({edit for finding in wanted for edit in finding.edits}))
        out[name] = _Draft(name, findings[0].path, _module_at(context, findings[0]), tuple(findings), edits)
    return out


def _module_at(context: Context, finding: Finding) -> Module | None:
    """The module whose entry in the JIT configuration holds the finding, None for a finding anywhere else."""
    if finding.path != context.project.config_path:
        return None
    modules = context.project.modules
    return next((m for m in modules if m.entry_start <= finding.start < m.entry_end), None)


def _prove(drafts: Sequence[_Draft], context: Context, options: MigrateOptions, progress: Progress) -> Proof:
    """Prove the edits of ``drafts`` in worker processes."""
    if not drafts:
        return Proof()
    project = context.project
    pch = prepare_pch(options.arch, default_folder(), jobs=options.jobs)

    def users(path: str) -> frozenset[str]:
        return context.users(path) | ({path} if path in project.sources else frozenset())

    changes = []
    for draft in drafts:
        is_without_ck = draft.module is not None and any(e.code == _WITHOUT_CK for e in draft.edits)
        sources = draft.module.sources if draft.module is not None and is_without_ck else ()
        changes.append(Change(draft.name, draft.edits, sources))
    checkout = Checkout(context.root, context.index.read, users, context.closures_of, project.further_names)
    return prove(changes, checkout, _runner(context, options, pch, progress), _parser(context, options, progress))


def _runner(context: Context, options: MigrateOptions, pch: PchSet, progress: Progress) -> RunChecks:
    """How checks are run; those over the stub headers are remembered."""

    def run(jobs: Sequence[CheckJob]) -> Sequence[CheckResult]:
        return check_tus(
            jobs,
            context.root,
            headers=options.headers,
            pch=pch,
            workers=options.jobs,
            progress=lambda done, total: progress("checking", done, total),
        )

    if not options.cache or options.headers != "stubs":
        return run
    return remembering(run, Cache(context.root, headers=options.headers), graph_of(context.project))


def _parser(context: Context, options: MigrateOptions, progress: Progress) -> ParseAll:
    """How units are parsed with the texts of some files replaced, without a precompiled header."""

    def parse(specs: Sequence[TuSpec], texts: Mapping[str, bytes]) -> Sequence[TuFacts]:
        return parse_many(
            specs,
            context.root,
            headers=options.headers,
            overlays=texts,
            want_facts=False,
            jobs=options.jobs,
            progress=lambda done, total: progress("checking", done, total),
        )

    return parse


def _unit(draft: _Draft, conflicts: Sequence[GroupConflict], proof: Proof, options: MigrateOptions) -> Unit:
    """The unit that ``draft`` became."""
    status = UnitStatus.MIGRATED if draft.edits else UnitStatus.CLEAN
    told: list[Finding] = []
    if clashing := [c for c in conflicts if c.group == draft.name]:
        status = UnitStatus.BLOCKED
        told = [Finding("TL005", str(c), c.edit.path, c.edit.start, c.edit.end, blocks=True) for c in clashing]
    elif draft.name in options.held and draft.edits:
        status = UnitStatus.BACKED_OUT
    elif draft.name in proof.failed:
        status = UnitStatus.BACKED_OUT
        told = [_check_failed(diagnostic) for diagnostic in proof.failed[draft.name]]
    elif draft.name in proof.blind:
        status = UnitStatus.UNCHECKED
        told = [_unchecked(draft, what) for what in proof.blind[draft.name]]
    goes_ahead = status is UnitStatus.MIGRATED or (status is UnitStatus.UNCHECKED and options.unsafe)
    findings = [replace(finding, unit=draft.name) for finding in (*draft.findings, *told)]
    return Unit(
        draft.name,
        modules=(draft.module.name,) if draft.module is not None else (),
        entry_points=(),
        files=tuple(sorted({edit.path for edit in draft.edits})),
        status=status,
        findings=tuple(findings),
        edits=draft.edits if goes_ahead else (),
    )


def _check_failed(diagnostic: Diagnostic) -> Finding:
    place = f"{diagnostic.path}:{diagnostic.line} of the new text"
    return Finding(
        "TL008",
        f"after the edits: {diagnostic.message} ({place})",
        diagnostic.path,
        0,
        0,
        Tier.DISPLAY,
        blocks=True,
        help="the file was left as it was; please report what should have been written instead",
    )


def _unchecked(draft: _Draft, what: str) -> Finding:
    advice = "look at the edits yourself, then run again with --unsafe"
    return Finding("TL007", f"no check sees {what}", draft.path, 0, 0, Tier.UNSAFE, help=advice)
