"""One unit for the host where a module has many that only instantiate: `torchless migrate --select TL63 --unsafe`.

Of the sources of a module that do nothing but instantiate launchers, the first gets all launchers, and the others the
kernels that a compiler finds in all of them. Their headers hide launchers from the device units and the bodies of
kernels from the host unit. Nothing is changed for other units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchless import suppress
from torchless.check import context_of
from torchless.facts.includes import IncludeGraph, graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.lints.context import Context
from torchless.mend import check_options
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions, Progress
from torchless.project.model import Module
from torchless.rewrites.host_units.instances import FEWEST, Instances, clashing, instances_of
from torchless.rewrites.host_units.texts import device_text, hidden_kernels, host_text, macro_names
from torchless.rewrites.passes.guard import guard_edits, instantiations, names_in
from torchless.rewrites.passes.need import Split, reach_of, split_of
from torchless.selection import asked_by_name
from torchless.text.edits import apply
from torchless.text.source import SourceFile
from torchless.text.writer import FileChange
from torchless.verify.compilers import Compiler, find_compiler
from torchless.verify.emitted import Emitted, HostSymbols, emitted, host_symbols
from torchless.verify.tree import Tree

if TYPE_CHECKING:
    from torchless.api import MigrateResult

FUSED, REFUSED = "TL630", "TL631"


def fuses(options: MigrateOptions) -> bool:
    """Whether the user asks for this by a code or a family of its own."""
    return asked_by_name(FUSED, options.select, options.ignore)


def with_fused(result: MigrateResult, options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """``result`` and what fusing the host units of the modules that ``options`` names adds to it.

    Where there is no compiler for HIP, a note says that nothing was done. Raises UsageError.
    """
    compiler = find_compiler()
    if compiler is None:
        text = f"{FUSED} was left out: it needs a clang that compiles HIP, to tell which kernels a source has"
        return replace(result, notes=(*result.notes, text))
    context = context_of(check_options(options, [FUSED]), start)
    units, remarks, changes, edits = [], [], dict(result.changes), list(result.edits)
    overlay = {path: change.new for path, change in changes.items()}
    for count, module in enumerate(context.modules):
        progress("fusing", count, len(context.modules))
        bench = _bench(context, options, compiler, overlay)
        found = [instances_of(path, bench.read(path)) for path in module.sources]
        sources = [one for one in found if one is not None and _is_wanted(one)]
        if len(sources) < FEWEST:
            continue
        if any(one.path in changes for one in sources):
            remarks.append(_refused(sources[0], "a migration edits its sources; run again for this"))
            continue
        texts = _fused(bench, module, sources)
        if isinstance(texts, str):
            remarks.append(_refused(sources[0], texts))
            continue
        unit = _unit(bench, module, sources, texts, options)
        units.append(unit)
        if unit.status is UnitStatus.MIGRATED:
            changes |= {path: FileChange(bench.read(path), text) for path, text in texts.items()}
            overlay |= texts
            edits += unit.edits
    told = f"{len(units)} module{'' if len(units) == 1 else 's'} to fuse"
    return replace(
        result,
        root=str(context.root),
        units=(*result.units, *units),
        findings=tuple(dict.fromkeys((*result.findings, *remarks))),
        changes=dict(sorted(changes.items())),
        edits=tuple(edits),
        found=f"{result.found}; {told}" if result.found else told,
    )


def _is_wanted(one: Instances) -> bool:
    """Whether no comment in a source asks to leave it alone."""
    finding = Finding(FUSED, "", one.path, one.first, one.first)
    return bool(suppress.apply([finding], {one.path: suppress.read(SourceFile(one.path, one.data))}).kept)


@dataclass(frozen=True)
class _Bench:
    """What a module is looked at with; ``specs`` gives the (host, device) passes of a source."""

    compiler: Compiler
    tree: Tree
    graph: IncludeGraph
    specs: Callable[[str], tuple[TuSpec, TuSpec]]
    headers: str
    jobs: int

    def read(self, path: str) -> bytes:
        """The bytes of a file, b"" where there is none."""
        try:
            return self.tree.read(path)
        except OSError:
            return b""


def _bench(context: Context, options: MigrateOptions, compiler: Compiler, overlay: Mapping[str, bytes]) -> _Bench:
    graph = graph_of(context.project).with_overlay(overlay)

    def specs(path: str) -> tuple[TuSpec, TuSpec]:
        ways = specs_of(context.project, graph, path, arch=options.arch)
        both = [next(spec for spec in ways if spec.device == device) for device in (False, True)]
        further = [
            replace(s, defines=(*s.defines, *options.defines), include_dirs=(*s.include_dirs, *options.include_dirs))
            for s in both
        ]
        return further[0], further[1]

    return _Bench(compiler, Tree(context.root, dict(overlay)), graph, specs, options.headers, options.jobs or 2)


def _fused(bench: _Bench, module: Module, sources: Sequence[Instances]) -> dict[str, bytes] | str:
    """The new texts of the sources and of the headers that they share, or why they stay as they are."""
    first, others = sources[0], sources[1:]
    reached = {
        one.path: _inside(bench, bench.graph.closure(one.path, bench.specs(one.path)[1].include_dirs))
        for one in sources
    }
    clash = clashing(sources, reached, bench.read)
    if clash:
        return f"{clash}, and one unit for the host would read both"
    old = _device(bench, bench.tree, sources)
    wrong = next((code.problem for code in old if code.problem), "")
    if wrong:
        return f"its device passes are not known: {wrong}"
    if any(code.variables for code in old):
        return "its sources define variables on the device"
    assigned = _assigned(old)
    listed = [instantiations(kernels) for kernels in assigned]
    problem = next((kernels for kernels in listed if isinstance(kernels, str)), "")
    if problem:
        return problem
    host, device = macro_names(module.name)
    texts = _headers(bench, sources, listed, host, device)
    texts[first.path] = host_text(first, sources, host)
    for one, kernels in zip(others, listed[1:], strict=True):
        texts[one.path] = device_text(one, kernels, device)
    problem = _unlike(bench, sources, texts, assigned)
    return problem or texts


def _inside(bench: _Bench, files: Iterable[str]) -> frozenset[str]:
    return frozenset(path for path in files if bench.graph.is_file(path))


def _assigned(old: Sequence[Emitted]) -> list[list[str]]:
    """The kernels of each source: those of the first go to the second, one of several sources to the first of them."""
    seen: set[str] = set()
    out: list[list[str]] = []
    for code in old:
        out.append(sorted(code.kernels - seen))
        seen |= code.kernels
    out[1] = sorted([*out[0], *out[1]])
    out[0] = []
    return out


def _headers(
    bench: _Bench, sources: Sequence[Instances], listed: Sequence[Sequence[str]], host: bytes, device: bytes
) -> dict[str, bytes]:
    """The new texts of the headers: launchers hidden from device units, the bodies of kernels from the host unit."""
    wanted = names_in([kernel for kernels in listed for kernel in kernels])
    include_dirs = bench.specs(sources[0].path)[1].include_dirs
    files = {p for one in sources for p in _inside(bench, bench.graph.closure(one.path, include_dirs))}
    files -= {one.path for one in sources}
    edits = {path: hidden_kernels(SourceFile(path, bench.read(path)), host, FUSED) for path in sorted(files)}
    defining = {path for path, found in edits.items() if found}
    pending = [(one.path, spelled) for one in sources for spelled in one.includes]
    done: set[str] = set()
    while pending:
        includer, spelled = pending.pop(0)
        path = _resolved(bench, includer, spelled, include_dirs)
        if not path or path in done or defining.isdisjoint(bench.graph.closure(path, include_dirs)):
            continue  # other headers are left alone: only those of the launchers are heavy for nothing
        done.add(path)
        source = SourceFile(path, bench.read(path))
        reach = reach_of(bench.graph, bench.read, path, include_dirs)
        split = split_of(source.data, reach, wanted)
        kept = set(reach.reached)
        if isinstance(split, Split) and edits_needed(split):
            edits[path] = edits[path] + guard_edits(source, split, (), FUSED, b"#ifndef " + device)
            kept -= {item.spelled for item in split.hidden if item.spelled}
        pending += [(path, name) for name in sorted(kept)]
    return {path: apply(bench.read(path), found) for path, found in edits.items() if found}


def edits_needed(split: Split) -> bool:
    """Whether a header holds more for the host than declarations."""
    return any(not item.spelled for item in split.hidden)


def _resolved(bench: _Bench, includer: str, spelled: str, include_dirs: Sequence[str]) -> str:
    for include in bench.graph.includes(includer):
        if include.spelled == spelled.strip('<>"'):
            return bench.graph.resolve(includer, include, include_dirs)
    return ""


def _device(bench: _Bench, tree: Tree, sources: Sequence[Instances]) -> list[Emitted]:
    with tree.vfs() as overlay, ThreadPoolExecutor(max_workers=bench.jobs) as pool:
        return list(
            pool.map(
                lambda one: emitted(bench.compiler, tree, bench.specs(one.path)[1], bench.headers, overlay), sources
            )
        )


def _host(bench: _Bench, tree: Tree, sources: Sequence[Instances]) -> list[HostSymbols]:
    with tree.vfs() as overlay, ThreadPoolExecutor(max_workers=bench.jobs) as pool:
        return list(
            pool.map(
                lambda one: host_symbols(bench.compiler, tree, bench.specs(one.path)[0], bench.headers, overlay),
                sources,
            )
        )


def _unlike(
    bench: _Bench, sources: Sequence[Instances], texts: Mapping[str, bytes], assigned: Sequence[Sequence[str]]
) -> str:
    """What is not as it should be in the new texts, "" when every kernel and every launcher is there exactly once."""
    tree = Tree(bench.tree.root, {**bench.tree.overlay, **texts})
    new = _device(bench, tree, sources)
    hosts = _host(bench, tree, sources)
    problem = next((text for text in (*(c.problem for c in new), *(h.problem for h in hosts)) if text), "")
    if problem:
        return f"the new texts do not compile: {problem}"
    for one, code, host, kernels in zip(sources, new, hosts, assigned, strict=True):
        for what, found in (("device", code.kernels), ("host", host.kernels)):
            if found != frozenset(kernels):
                return f"the {what} pass of {one.path} would have other kernels: {min(found ^ frozenset(kernels))}"
    before = _host(bench, bench.tree, sources)
    problem = next((code.problem for code in before if code.problem), "")
    if problem:
        return f"its host passes are not known: {problem}"
    launchers = frozenset(name for code in before for name in code.instances)
    if launchers != hosts[0].instances:
        return f"the unit for the host would have other launchers: {min(launchers ^ hosts[0].instances)}"
    return ""


def _unit(
    bench: _Bench, module: Module, sources: Sequence[Instances], texts: Mapping[str, bytes], options: MigrateOptions
) -> Unit:
    name = f"{FUSED} {module.name}"
    edits = tuple(Edit(path, 0, len(bench.read(path)), text, FUSED) for path, text in sorted(texts.items()))
    first = sources[0]
    message = (
        f"{len(sources)} sources instantiate launchers: {first.path} gets all of them, the other {len(sources) - 1} the"
        " kernels; the launchers' headers are parsed once for the host"
    )
    finding = Finding(FUSED, message, first.path, first.first, first.first, Tier.UNSAFE, edits, unit=name)
    held = name in options.held
    status = UnitStatus.BACKED_OUT if held else UnitStatus.MIGRATED if options.unsafe else UnitStatus.CLEAN
    made = edits if status is UnitStatus.MIGRATED else ()
    return Unit(name, (module.name,), (), tuple(sorted(texts)), status, (finding,), made)


def _refused(first: Instances, reason: str) -> Finding:
    text = f"the sources that instantiate launchers stay apart: {reason}"
    return Finding(REFUSED, text, first.path, first.first, first.first, Tier.DISPLAY)
