"""Rung 4 for a module: its bound functions are found, and handed to the launch trace with both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchless.facts.model import TuFacts, TuSpec
from torchless.project.model import BindingRow, Module, Project
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.ladder import Versions
from torchless.verify.trace import (
    EntryPoint,
    EntryResult,
    TraceError,
    TraceOptions,
    TraceResult,
    TreeText,
    toolchain,
    trace_unit,
)
from torchless.verify.tree import Tree

ParseMany = Callable[[Sequence[TuSpec]], Sequence[TuFacts]]


def trace(project: Project, module: Module, versions: Versions, parse: ParseMany, torch: str, jobs: int) -> Answer:
    """Call every entry point that the module binds, in both versions, and compare what is launched.

    ``torch`` is as for TraceOptions; ``parse`` gives the facts of units as they are now.
    """
    entries = entry_points(project, module, versions, parse)
    if not entries:
        return Answer("trace", Verdict.NOT_RUN, "no source that changed defines a bound function")
    specs = [spec for spec in versions.specs if not spec.device]
    options = TraceOptions(torch=torch, jobs=jobs)
    return judge(trace_unit(_text(versions.before), _text(versions.after), specs, entries, options))


def identity(project: Project, module: Module, torch: str) -> str:
    """Everything that a trace of ``module`` depends on beside the files of its sources, in one text."""
    try:
        chain = toolchain.find_toolchain()
        outside = [toolchain.identity(chain, flavour) for flavour in ("real", "stand-in")]
    except TraceError as error:
        outside = [str(error)]
    rows = sorted({(row.target, row.name) for row in bound_rows(project, module)})
    return repr((torch, outside, rows))


def entry_points(project: Project, module: Module, versions: Versions, parse: ParseMany) -> list[EntryPoint]:
    """The functions that the module binds and that a compared source defines, as the new version has them."""
    bound = {row.target.removeprefix("::") for row in bound_rows(project, module) if row.target}
    host = [spec for spec in versions.specs if not spec.device]
    found: dict[EntryPoint, None] = {}
    for facts in parse(host):
        for file in facts.files:
            for function in file.functions if file.path == facts.spec.source else ():
                names = (function.name, function.name.rpartition("::")[2])
                if function.body_start >= 0 and not function.is_template and bound.intersection(names):
                    found[EntryPoint(function.name, file.path)] = None
    return sorted(found, key=lambda entry: (entry.source, entry.name))


def bound_rows(project: Project, module: Module) -> list[BindingRow]:
    """The rows that the binding sources of ``module`` register, spelled out or through macros."""
    macros = {macro.name: macro for macro in project.binding_macros}
    rows: list[BindingRow] = []
    for tu in project.binding_tus:
        if tu.path not in module.sources:
            continue
        rows += tu.rows
        pending, seen = list(tu.macros), set()
        while pending:
            name = pending.pop()
            if name in macros and name not in seen:
                seen.add(name)
                rows += macros[name].rows
                pending += macros[name].expands
    return rows


def _text(tree: Tree) -> TreeText:
    return TreeText(str(tree.root), dict(tree.overlay))


def judge(result: TraceResult) -> Answer:
    """What a trace says of a module, in one line, with a reproducer for each difference."""
    failed = [entry for entry in result.entries if entry.status == "fail"]
    passed = [entry for entry in result.entries if entry.status == "pass"]
    unseen = tuple(f"{entry.entry}: {entry.why}" for entry in result.entries if entry.status == "not run")
    calls = sum(entry.calls for entry in (*failed, *passed))
    launched = sum(entry.launched for entry in (*failed, *passed))
    told = f"{len(passed)} of {len(result.entries)} functions alike in {calls} calls, {launched} of which launch"
    told += f" (before on {result.torch})" if result.torch else ""
    allowed = sum(count for entry in passed for _, count in entry.allowed)
    told += f", {allowed} calls differ only by a convention of the target" if allowed else ""
    if failed:
        return Answer("trace", Verdict.FAIL, told, few([t for e in failed for t in _findings(e)]), few(unseen))
    if not passed:
        return Answer("trace", Verdict.NOT_RUN, "no function could be called", unseen=few(unseen))
    return Answer("trace", Verdict.PASS, told, unseen=few(unseen))


def _findings(entry: EntryResult) -> list[str]:
    return [f"{entry.entry}: {f.difference.text} | {f.reproducer}" for f in entry.findings if not f.difference.accepted]
