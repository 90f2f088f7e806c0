"""`torchless check`: every lint over the files that were asked for, less what comments suppress."""

from __future__ import annotations

import importlib
import posixpath
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from torchless import suppress
from torchless.closure.build import Closures
from torchless.closure.directives import DIRECTIVES
from torchless.closure.heavy import load_heavy
from torchless.errors import UsageError
from torchless.index import Index, open_index
from torchless.lints.context import Context, Lint
from torchless.lints.recall import recalled, run_key
from torchless.model import CheckResult, Debt, Finding, Tier
from torchless.news import baseline_file, sift
from torchless.options import CheckOptions, Progress
from torchless.project.discover import ProjectError, load, locate
from torchless.project.model import Project
from torchless.rules.catalogue import Entry, entries
from torchless.selection import Selection, SelectionError, codes_match, is_cpp, matcher, select
from torchless.text.source import SourceFile

_MANY = 60  # new files: for fewer, starting a process costs more than it saves


def check(options: CheckOptions, start: Path, progress: Progress) -> CheckResult:
    """Look for what makes translation units heavy, and for what keeps torch in, in the files that ``options`` names.

    Relative paths are relative to ``start``. Nothing is written but the index of the cache. Raises UsageError.
    """
    began = time.monotonic()
    every = entries(options.rule_files, stored=options.cache)
    rules = [rule for rule in every if rule.lint and not options.dropped(rule.code)]
    index, project, selection, python = _asked(options, start)
    context = make_context(project, index, selection, python, options)
    _read_ahead(context)
    found = sorted(set(_found(context, rules, options, progress)), key=_place)
    reported = [f for f in found if f.path in context.files or not is_cpp(f.path)]
    outcome = _unsuppressed(reported, context, every, options)
    failed = sorted(path for path in context.files if not _readable(context, path))
    settled = sorted((*outcome.kept, *outcome.stale, *map(_unreadable, failed)), key=_place)
    file = baseline_file(options, start, context.root)
    news = sift(settled, options, file, context.root, context.source, _looked_at(context, selection, every, options))
    index.save()
    return CheckResult(
        root=project.root,
        findings=news.new,
        suppressed=len(outcome.suppressed),
        files=len(context.files) + len(context.python),
        units=len(set(project.sources).intersection(context.unit_sources())),
        files_failed=tuple(failed),
        notes=selection.left_out,
        seconds=time.monotonic() - began,
        known=news.known,
        gone=news.gone,
        untouched=news.untouched,
        debts=news.debts,
    )


def context_of(options: CheckOptions, start: Path) -> Context:
    """What the lints look at for ``options``, for those who go on with what a check found. Raises UsageError."""
    index, project, selection, python = _asked(options, start)
    return make_context(project, index, selection, python, options)


def make_context(
    project: Project, index: Index, selection: Selection, python: frozenset[str], options: CheckOptions
) -> Context:
    """What the lints look at when ``selection`` and the Python files ``python`` were asked for."""
    covered = (f for f in (*project.sources, *project.headers) if selection.covers(f) and f not in selection.excluded)
    files = selection.named.union(covered)
    named = {m.name for m in project.modules if m.name in selection.modules}
    members = {s for m in project.modules if m.name in named for s in m.sources}
    closures = Closures(project, index, load_heavy(options.heavy), options.arch, options.defines, options.include_dirs)
    return Context(
        project=project,
        files=files | members,
        python=python,
        modules=tuple(m for m in project.modules if m.name in named or files.intersection(m.sources)),
        heavy=closures.heavy,
        index=index,
        users=closures.users_of,
        closures_of=closures.of,
    )


def _asked(options: CheckOptions, start: Path) -> tuple[Index, Project, Selection, frozenset[str]]:
    """The index, the project, the C++ that was asked for, and the Python files. Raises UsageError."""
    others = [path for path in options.paths if (start / path).is_file() and not is_cpp(path)]
    cpp = [path for path in options.paths if path not in others]
    try:
        index = open_index(locate(start, options.paths), options.cache)
        project = load(start, options.paths, index)
        selection = select(project, start, cpp, options.modules, options.exclude, options.force_exclude)
    except (ProjectError, SelectionError) as error:
        raise UsageError(str(error)) from None
    is_excluded = matcher(options.exclude)
    python = set()
    for path in others:
        real = (start / path).resolve()
        if not real.is_relative_to(Path(project.root).resolve()):
            raise UsageError(f"{path}: lies outside of the project {project.root}")
        relative = real.relative_to(Path(project.root).resolve()).as_posix()
        if relative != project.config_path and posixpath.splitext(relative)[1] != ".py":
            raise UsageError(f"{path}: not a C++ file, a Python file, or the JIT configuration")
        if not (options.force_exclude and is_excluded(relative)):
            python.add(relative)
    return index, project, selection, frozenset(python)


def _read_ahead(context: Context) -> None:
    """Read the files that are new in two processes, where there are many."""
    new = [path for path in sorted(context.files) if not context.index.knows(path, *DIRECTIVES)]
    if len(new) >= _MANY:
        ahead = importlib.import_module("torchless.lints.ahead")  # most runs have no use for it
        ahead.read_ahead(context, new)


def _found(context: Context, rules: Sequence[Entry], options: CheckOptions, progress: Progress) -> Iterator[Finding]:
    """What the lints of ``rules`` find; a lint is not even imported when it was asked the same before."""
    wanted = {rule.code for rule in rules}
    names = sorted({rule.lint for rule in rules})
    key = run_key(context, options)
    for done, name in enumerate(names):
        progress("looking", done, len(names))
        for finding in recalled(context, key, name, partial(_asked_lint, context, name)):
            if finding.code in wanted:
                yield finding
    progress("looking", len(names), len(names))


def _asked_lint(context: Context, name: str) -> list[Finding]:
    lint: Lint = importlib.import_module(f"torchless.lints.{name}").findings
    return [_placed(finding, context.source(finding.path)) for finding in lint(context)]


def _placed(finding: Finding, source: SourceFile) -> Finding:
    return replace(finding, line=source.line_of(finding.start), column=source.column_of(finding.start))


def _place(finding: Finding) -> tuple[str, int, str, str]:
    return finding.path, finding.start, finding.code, finding.message


def _unsuppressed(
    found: Sequence[Finding], context: Context, every: Sequence[Entry], options: CheckOptions
) -> suppress.Outcome:
    """``found`` less what comments in the files ask for; stale are comments about codes that only a check looks for."""
    paths = sorted({*context.files, *context.python, *(f.path for f in found)})
    speaking = [path for path in paths if context.remembered(path, "addressed", 1, _is_addressed)]

    def is_ours(prefix: str) -> bool:
        return all(r.lint and not options.dropped(r.code) for r in every if r.code.startswith(prefix))

    outcome = suppress.apply(found, {path: suppress.read(context.source(path)) for path in speaking}, is_ours)
    asked = () if codes_match(suppress.CODE, options.ignore) else context.files | context.python
    return outcome._replace(stale=tuple(f for f in outcome.stale if f.path in asked))


def _is_addressed(data: bytes) -> bool:
    """Whether a file may hold a comment to torchless."""
    return b"torchless:" in data


def _looked_at(
    context: Context, selection: Selection, every: Sequence[Entry], options: CheckOptions
) -> Callable[[Debt], bool]:
    """Whether this run would find what a row of the baseline stands for, were it still there.

    Not so for a file or a rule that nobody asked about. What is found in Python and in the JIT configuration belongs to
    modules: only a run over all sources looks at all of it.
    """
    missed = {rule.code for rule in every if rule.lint and options.dropped(rule.code)}
    if missed or codes_match(suppress.CODE, options.ignore):
        missed.add(suppress.CODE)
    whole = context.files.issuperset(context.project.sources)

    def looked_at(debt: Debt) -> bool:
        if debt.code in missed:
            return False
        if is_cpp(debt.path):
            return debt.path in context.files or (selection.covers(debt.path) and debt.path not in selection.excluded)
        return whole

    return looked_at


def _readable(context: Context, path: str) -> bool:
    try:
        context.index.key(path)
    except OSError:
        return False
    return True


def _unreadable(path: str) -> Finding:
    return Finding("TL006", f"{path} cannot be read; it was left out", path, 0, 0, Tier.DISPLAY, line=1, column=1)
