"""The rooms in order: what a program (the command line, a test, an editor) calls. Nothing here prints or writes."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torchless.analysis import Analyst
from torchless.errors import UsageError
from torchless.facts.cache import Cache
from torchless.facts.flags import HeadersError
from torchless.facts.stubs import stub_dirs
from torchless.fusing import fuses, with_fused
from torchless.mend import mend, selected_lints, selects_others, with_mended
from torchless.model import Edit, Finding, Unit
from torchless.options import MigrateOptions, Progress
from torchless.plan.decide import Draft, Reader
from torchless.plan.optional import further_units, nothing_seen
from torchless.plan.outcome import placed, unit_of
from torchless.plan.printing import in_script, in_scripts, printed_for
from torchless.plan.remarks import remarks
from torchless.plan.rounds import Grouped, chosen_groups, drafts_of, grouped, left_in_foreign, left_includes, proved
from torchless.project.discover import ProjectError, load, locate
from torchless.project.model import Project
from torchless.project.target import read_target
from torchless.remembered import change_of, edit_of, encode, finding_of, is_watched, recall, result_key
from torchless.remembered import unit_of as unit_from
from torchless.rules.load import load_rules, rules_dir
from torchless.rules.model import RuleError, Ruleset
from torchless.selection import Selection, SelectionError, select
from torchless.sharing import shares, with_shared
from torchless.splitting import splits, with_split
from torchless.text.writer import FileChange
from torchless.units.build import Grouping
from torchless.units.build import why_joined as chain_of_reasons
from torchless.verify.answer import Verified
from torchless.workers import parse

__all__ = [
    "FileChange",
    "MigrateOptions",
    "MigrateResult",
    "Prepared",
    "Progress",
    "UsageError",
    "migrate",
    "prepare",
    "settle",
    "why_joined",
]


@dataclass(frozen=True)
class MigrateResult:
    """What migrate() found and would change.

    ``findings`` are those that belong to no unit. ``changes`` and ``edits`` hold what is to be written, by
    root-relative path. ``mergeable`` is false when the checkout lacks the target's headers, so that the edits do not
    compile there. ``files_failed`` could not be analysed at all. ``verified``: what the rungs of the ladder said of the
    modules with the changes made, where they were asked (see backing_out.py).
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
    verified: tuple[Verified, ...] = ()


_NOTHING = MigrateResult("", (), (), {}, (), "", 0.0)


def migrate(options: MigrateOptions, start: Path, progress: Progress, *, recalled: bool = True) -> MigrateResult:
    """Analyse and plan a migration from folder ``start``; writes nothing. Raises UsageError.

    An earlier result over the very same files is given again, without its ``grouping``; not when ``recalled`` is False
    or ``options.cache`` is.
    """
    began = time.monotonic()
    cache, key = _memory(options, start) if options.cache else (None, None)
    if cache is not None and key is not None and recalled:
        known: MigrateResult | None = recall(cache, key, _decode)
        if known is not None:
            return replace(known, seconds=time.monotonic() - began)
    try:
        linted, others = selected_lints(options), selects_others(options)
    except RuleError as error:
        raise UsageError(str(error)) from None
    result, opened = _NOTHING, frozenset[str]()
    if others:
        prepared = prepare(options, start, progress)
        result, opened = settle(prepared, progress, began=began), prepared.opened
    if linted:
        mended = mend(options, linted, start, progress, result.changes)
        result = replace(with_mended(result, mended), seconds=time.monotonic() - began)
    if splits(options):
        result = replace(with_split(result, options, start, progress), seconds=time.monotonic() - began)
    if fuses(options):
        result = replace(with_fused(result, options, start, progress), seconds=time.monotonic() - began)
    if shares(options):
        result = replace(with_shared(result, options, start, progress), seconds=time.monotonic() - began)
    # what a compiler says is not remembered: another one may say something else
    compiled = splits(options) or fuses(options) or shares(options)
    watched = not compiled and all(is_watched(path, options.headers) for path in opened)
    if cache is not None and key is not None and watched and not result.files_failed:
        cache.store_findings(key, encode(replace(result, grouping=None)))
    return result


def _memory(options: MigrateOptions, start: Path) -> tuple[Cache | None, str | None]:
    """The cache and the key of this run; (None, None) where the paths do not tell a project."""
    try:
        root = locate(start, options.paths)
        rule_files = [*sorted(rules_dir().glob("*.toml")), *(start / p for p in options.rule_files)]
        return Cache(root, headers=options.headers), result_key(options, start, root, rule_files)
    except (OSError, ProjectError, RuleError, HeadersError):
        return None, None


def _decode(row: list[Any]) -> MigrateResult:
    root, units, findings, changes, edits, found, seconds, failed, mergeable, notes, *_ = row
    return MigrateResult(
        root,
        tuple(unit_from(u) for u in units),
        tuple(finding_of(f) for f in findings),
        {path: change_of(change) for path, change in changes.items()},
        tuple(edit_of(e) for e in edits),
        found,
        seconds,
        tuple(failed),
        mergeable,
        tuple(notes),
    )


@dataclass(frozen=True)
class Prepared:
    """A migration of which everything is known but what becomes of its units: settle() tells, as often as one likes."""

    project: Project
    selection: Selection
    ruleset: Ruleset
    options: MigrateOptions
    mergeable: bool
    seen: Grouped
    drafts: tuple[Draft, ...]
    remarks: tuple[Finding, ...]

    @property
    def opened(self) -> frozenset[str]:
        """Every file that was opened on the way."""
        return frozenset(path for tu in self.seen.analysis.tus for path in tu.opened)


def prepare(options: MigrateOptions, start: Path, progress: Progress) -> Prepared:
    """Read, parse and group what ``options`` select; lints are left out. Raises UsageError."""
    try:
        project = load(start, options.paths)
        selection = select(project, start, options.paths, options.modules, options.exclude, options.force_exclude)
        ruleset = load_rules(options.rule_files)
        options = replace(options, opt_in=frozenset(rule.code for rule in ruleset.rules if rule.opt_in))
        mergeable = not options.takes_torch_out or _require_target(project, options)
        if not mergeable:
            project = _with_bundled_target(project)
        project, printed = printed_for(project, selection) if options.takes_torch_out else (project, {})
        analyst = Analyst(
            project,
            selection,
            lambda specs: parse(specs, project, options, progress),
            arch=options.arch,
            defines=options.defines,
            include_dirs=options.include_dirs,
            printed=printed,
        )
        seen = grouped(analyst, ruleset, options) if options.takes_torch_out else nothing_seen(analyst)
    except (ProjectError, SelectionError, RuleError, HeadersError) as error:
        raise UsageError(str(error)) from None
    drafts = drafts_of(chosen_groups(seen.grouping, selection), seen, options)
    further = further_units(analyst, seen, ruleset, options)
    return Prepared(
        project, selection, ruleset, options, mergeable, further.seen, (*drafts, *further.drafts), further.remarks
    )


def settle(prepared: Prepared, progress: Progress, held: Collection[str] = (), began: float = 0.0) -> MigrateResult:
    """What becomes of the units, with those named in ``held`` left as they are.

    ``began``: the time.monotonic() from which the seconds of the result count; by default they count from here.
    """
    began = began or time.monotonic()
    project, selection, ruleset, seen = prepared.project, prepared.selection, prepared.ruleset, prepared.seen
    analysis = seen.analysis
    options = replace(prepared.options, held=tuple(sorted({*prepared.options.held, *held})))
    drafts, assembled, proof = proved(prepared.drafts, seen, options, progress)
    read = Reader(analysis)
    looked_at = {e.path for d in drafts for e in d.group.entities} | selection.sources & analysis.views.keys()
    told = remarks(seen, drafts, options.dropped)
    linted = {rule.code for rule in ruleset.rules if rule.lint or rule.opt_in}
    everything = not (options.select or options.ignore)
    stale = seen.suppressor.stale(looked_at, lambda p: everything and not any(code.startswith(p) for code in linted))
    left = [*left_in_foreign(seen), *left_includes(seen, drafts, assembled.texts.keys()), *told]
    left = left if options.takes_torch_out else []
    findings = (*analysis.findings, *left, *prepared.remarks, *stale)
    changes = {path: FileChange(read(path).data, text) for path, text in sorted(assembled.texts.items())}
    return MigrateResult(
        root=project.root,
        units=in_scripts((unit_of(d, assembled, proof, analysis, options) for d in drafts), analysis),
        findings=tuple(in_script(placed(f, read), analysis.printed, read) for f in findings),
        changes={path: c for path, c in changes.items() if c.old != c.new and path not in analysis.printed},
        edits=tuple(
            e for path in sorted(assembled.edits) if path not in analysis.printed for e in assembled.edits[path]
        ),
        found=_found(drafts),
        seconds=time.monotonic() - began,
        files_failed=tuple(sorted({f.path for f in analysis.findings if f.code in ("TL003", "TL006")})),
        mergeable=prepared.mergeable,
        notes=(*selection.notes, *_concerning(project, drafts)),
        grouping=seen.grouping,
    )


def why_joined(result: MigrateResult, a: str, b: str) -> str:
    """Why entry points (or modules) ``a`` and ``b`` must move together, one step a line. Raises UsageError."""
    steps = chain_of_reasons(result.grouping, a, b) if result.grouping else []
    if not steps:
        raise UsageError(f"{a} and {b} are not in one unit")
    return "\n".join(steps)


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


def _with_bundled_target(project: Project) -> Project:
    """The project as if it had the target's headers: those among the stubs, and what they declare."""
    folder = stub_dirs()[-1]
    headers, names = read_target(folder, sorted(p.name for p in folder.glob("aiter_*.h")))
    return replace(project, target_headers=project.target_headers | headers, target_names=project.target_names | names)


def _concerning(project: Project, drafts: Sequence[Draft]) -> list[str]:
    """The problems of the checkout that could matter here: those of other modules are left out."""
    mine = {name for d in drafts for name in d.group.modules}
    others = {m.name for m in project.modules} - mine
    return [f"{path}: {text}" for path, text in project.problems if text.partition(":")[0] not in others]


def _found(drafts: Sequence[Draft]) -> str:
    """What was found, in words: "12 units in 3 modules"."""
    modules = {name for d in drafts for name in d.group.modules}
    units = f"{len(drafts)} unit{'' if len(drafts) == 1 else 's'}"
    return f"{units} in {len(modules)} module{'' if len(modules) == 1 else 's'}"
