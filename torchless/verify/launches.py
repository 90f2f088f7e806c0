"""Rung 4 for a module: its bound functions are found, and handed to the launch trace with both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from torchless.facts.model import TuFacts, TuSpec
from torchless.project.model import BindingRow, Module, Project
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.callers import Callers, built_for_python, one_each, python_digest
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
from torchless.verify.trace.library import CORE
from torchless.verify.tree import Tree

ParseMany = Callable[[Sequence[TuSpec]], Sequence[TuFacts]]


def trace(
    project: Project,
    module: Module,
    versions: Versions,
    parse: ParseMany,
    specs_of: Callable[[str], Sequence[TuSpec]],
    torch: str,
    jobs: int,
) -> Answer:
    """Call every entry point that the module binds, from C++ and from Python, in both versions, and compare.

    ``torch`` is as for TraceOptions; ``parse`` gives the facts of units as they are now, ``specs_of`` the ways in which
    a source is built.
    """
    unread: list[str] = []

    def read(specs: Sequence[TuSpec]) -> Sequence[TuFacts]:
        found = parse(specs)
        unread.extend(f"{facts.spec.source}: {facts.failure}" for facts in found if facts.failure)
        return found

    points = entry_points(project, module, versions, read)
    if not points:
        why = "no source that changed defines a bound function"
        return Answer("trace", Verdict.NOT_RUN, f"not parsed: {unread[0]}" if unread else why, unseen=few(unread))
    bindings = {tu.path for tu in project.binding_tus} - {point.source for point in points}
    specs = [spec for spec in one_each(versions.specs, module) if spec.source not in bindings]
    options = TraceOptions(torch=torch, jobs=jobs)
    building: list[Future[Callers]] = []

    def built() -> None:
        """Build for Python while the functions are called from C++."""
        if torch == "stand-in":
            return
        whole = one_each([spec for source in module.sources for spec in specs_of(source)], module)
        core = next((m for m in project.modules if m.name == CORE), None)
        core_specs = one_each([s for source in core.sources for s in specs_of(source)], core) if core else ()
        trees, rows = (versions.before, versions.after), bound_rows(project, module)
        building.append(pool.submit(built_for_python, project, module, trees, whole, core_specs, points, rows, options))

    with ThreadPoolExecutor(max_workers=1) as pool:
        traced = trace_unit(_text(versions.before), _text(versions.after), specs, points, options, built)
        if not building:  # nothing could be built for C++: what can for Python says why not
            built()
    called = building[0].result().call(traced.entries, options) if building else ()
    return judge(traced, called)


def identity(project: Project, module: Module, versions: Versions, torch: str) -> str:
    """Everything that a trace of ``module`` depends on beside the files of its sources, in one text."""
    try:
        chain = toolchain.find_toolchain()
        outside = [toolchain.identity(chain, flavour) for flavour in ("real", "stand-in")]
    except TraceError as error:
        outside = [str(error)]
    rows = sorted({(row.target, row.name) for row in bound_rows(project, module)})
    return repr((torch, outside, rows, python_digest(project, (versions.before, versions.after))))


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


def judge(result: TraceResult, called: Sequence[EntryResult] = ()) -> Answer:
    """What a trace says of a module, in one line, with a reproducer for each difference.

    ``called`` is what calls from Python did.
    """
    everything = (*result.entries, *called)
    failed = [entry for entry in everything if entry.status == "fail"]
    passed = [entry for entry in everything if entry.status == "pass"]
    unseen = tuple(f"{entry.entry}: {entry.why}" for entry in everything if entry.status == "not run")
    told = _counted(result.entries, "functions")
    told += f" (before on {result.torch})" if result.torch else ""
    allowed = sum(count for entry in passed for _, count in entry.allowed)
    told += f", {allowed} calls differ only by a convention of the target" if allowed else ""
    told += f"; from Python {_counted(called, 'ops')}" if called else ""
    if failed:
        return Answer("trace", Verdict.FAIL, told, few([t for e in failed for t in _findings(e)]), few(unseen))
    if not passed:
        return Answer("trace", Verdict.NOT_RUN, "no function could be called", unseen=few(unseen))
    return Answer("trace", Verdict.PASS, told, unseen=few(unseen))


def _counted(entries: Sequence[EntryResult], what: str) -> str:
    ran = [entry for entry in entries if entry.status != "not run"]
    alike = sum(entry.status == "pass" for entry in ran)
    calls, launched = sum(entry.calls for entry in ran), sum(entry.launched for entry in ran)
    return f"{alike} of {len(entries)} {what} alike in {calls} calls, {launched} of which launch"


def _findings(entry: EntryResult) -> list[str]:
    return [f"{entry.entry}: {f.difference.text} | {f.reproducer}" for f in entry.findings if not f.difference.accepted]
