"""One unit for the host where a module has many that only instantiate: `torchless migrate --select TL63 --unsafe`.

Of the sources of a module that do nothing but instantiate launchers, the first gets all launchers, and the others the
kernels that a compiler finds in all of them. Their headers hide launchers from the device units and the bodies of
kernels from the host unit. Nothing is changed for other units.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchless.compiled import Bench, Draft, Room, is_wanted, with_units
from torchless.model import Edit, Finding, Tier
from torchless.options import MigrateOptions, Progress
from torchless.project.model import Module
from torchless.reliance.config_flags import with_source_flags
from torchless.rewrites.generators import scripts_of
from torchless.rewrites.host_units.instances import FEWEST, Instances, clashing, instances_of
from torchless.rewrites.host_units.printed import printed_instances
from torchless.rewrites.host_units.texts import device_text, hidden_kernels, host_text, macro_names
from torchless.rewrites.passes.guard import guard_edits, instantiations, names_in
from torchless.rewrites.passes.need import Split, reach_of, split_of
from torchless.selection import asked_by_name
from torchless.text.edits import apply
from torchless.text.source import SourceFile
from torchless.verify.emitted import Emitted, HostSymbols

if TYPE_CHECKING:
    from torchless.api import MigrateResult

FUSED, REFUSED = "TL630", "TL631"
_PER_SOURCE = "flags_extra_hip_per_source"
_CORE = "core.py"  # the JIT, beside its configuration


def fuses(options: MigrateOptions) -> bool:
    """Whether the user asks for this by a code or a family of its own."""
    return asked_by_name(FUSED, options.select, options.ignore)


def with_fused(result: MigrateResult, options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """``result`` and what fusing the host units of the modules that ``options`` names adds to it.

    Where there is no compiler for HIP, a note says that nothing was done. Raises UsageError.
    """
    return with_units(result, options, start, progress, FUSED, "module{} to fuse", _find)


def _find(room: Room) -> Iterator[Draft | Finding]:
    modules = room.context.modules
    touched = frozenset(room.overlay)
    for count, module in enumerate(modules):
        room.progress("fusing", count, len(modules))
        bench = room.bench()
        found = [instances_of(path, bench.read(path)) for path in module.sources]
        sources = [one for one in found if one is not None and is_wanted(_at(one), one.data)]
        if len(sources) < FEWEST:
            yield from _printed(bench, module)
            continue
        if any(one.path in touched for one in sources):
            yield _refused(sources[0], "a migration edits its sources; run again for this")
            continue
        edits = _fused(bench, module, sources)
        yield _refused(sources[0], edits) if isinstance(edits, str) else _draft(module, sources, edits)


def _printed(bench: Bench, module: Module) -> Iterator[Finding]:
    """What is said of the scripts that print sources of ``module`` which instantiate launchers."""
    root = bench.context.root
    for path in scripts_of(root, module) if module.generators else ():
        found = printed_instances(SourceFile(path, bench.read(path)))
        if found is not None:
            text = f"the sources of {module.name} that this prints instantiate launchers and stay apart: {found[1]}"
            yield Finding(REFUSED, text, path, found[0], found[0], Tier.DISPLAY)


def _at(one: Instances) -> Finding:
    return Finding(FUSED, "", one.path, one.first, one.first)


Edits = dict[str, list[Edit]]


def _fused(bench: Bench, module: Module, sources: Sequence[Instances]) -> Edits | str:
    """The edits of the sources and of the headers that they share, or why they stay as they are."""
    first, others = sources[0], sources[1:]
    reached = {one.path: bench.inside(one.path, bench.specs(one.path)[1].include_dirs) for one in sources}
    clash = clashing(sources, reached, bench.read)
    if clash:
        return f"{clash}, and one unit for the host would read both"
    old = _device(bench, sources)
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
    edits = _headers(bench, sources, listed, host, device)
    edits[first.path] = _whole(first, host_text(first, sources, host))
    for one, kernels in zip(others, listed[1:], strict=True):
        edits[one.path] = _whole(one, device_text(one, kernels, device))
    problem = _unlike(bench, sources, {path: apply(bench.read(path), made) for path, made in edits.items()}, assigned)
    return problem or {**edits, **_flags(bench, module, [one.path for one in others])}


def _flags(bench: Bench, module: Module, sources: Sequence[str]) -> Edits:
    """The flag that takes the host half out of HIP's headers, for the units for the device, where the JIT knows such.

    The units define it themselves as well: a build that does not read the configuration gives no flags to sources.
    """
    config = bench.context.project.config_path
    if _PER_SOURCE.encode() not in bench.read(posixpath.join(posixpath.dirname(config), _CORE)):
        return {}
    names = [posixpath.basename(path) for path in sources]
    text = SourceFile(config, bench.read(config))
    found = with_source_flags(text, bench.described(module), _PER_SOURCE, names, "-D__HIPCC_RTC__", FUSED)
    return {config: list(found)} if found else {}


def _whole(one: Instances, text: bytes) -> list[Edit]:
    return [Edit(one.path, 0, len(one.data), text, FUSED)]


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
    bench: Bench, sources: Sequence[Instances], listed: Sequence[Sequence[str]], host: bytes, device: bytes
) -> Edits:
    """The edits of the headers: launchers hidden from device units, the bodies of kernels from the host unit."""
    wanted = names_in([kernel for kernels in listed for kernel in kernels])
    include_dirs = bench.specs(sources[0].path)[1].include_dirs
    files = {p for one in sources for p in bench.inside(one.path, include_dirs)}
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
    return {path: found for path, found in edits.items() if found}


def edits_needed(split: Split) -> bool:
    """Whether a header holds more for the host than declarations."""
    return any(not item.spelled for item in split.hidden)


def _resolved(bench: Bench, includer: str, spelled: str, include_dirs: Sequence[str]) -> str:
    for include in bench.graph.includes(includer):
        if include.spelled == spelled.strip('<>"'):
            return bench.graph.resolve(includer, include, include_dirs)
    return ""


def _device(bench: Bench, sources: Sequence[Instances]) -> list[Emitted]:
    return bench.device([bench.specs(one.path)[1] for one in sources])


def _host(bench: Bench, sources: Sequence[Instances]) -> list[HostSymbols]:
    return bench.host([bench.specs(one.path)[0] for one in sources])


def _unlike(
    bench: Bench, sources: Sequence[Instances], texts: Mapping[str, bytes], assigned: Sequence[Sequence[str]]
) -> str:
    """What is not as it should be in the new texts, "" when every kernel and every launcher is there exactly once."""
    after = bench.with_texts(texts)
    new, hosts = _device(after, sources), _host(after, sources)
    problem = next((text for text in (*(c.problem for c in new), *(h.problem for h in hosts)) if text), "")
    if problem:
        return f"the new texts do not compile: {problem}"
    for one, code, host, kernels in zip(sources, new, hosts, assigned, strict=True):
        for what, found in (("device", code.kernels), ("host", host.kernels)):
            if found != frozenset(kernels):
                return f"the {what} pass of {one.path} would have other kernels: {min(found ^ frozenset(kernels))}"
    before = _host(bench, sources)
    problem = next((code.problem for code in before if code.problem), "")
    if problem:
        return f"its host passes are not known: {problem}"
    launchers = frozenset(name for code in before for name in code.instances)
    if launchers != hosts[0].instances:
        return f"the unit for the host would have other launchers: {min(launchers ^ hosts[0].instances)}"
    return ""


def _draft(module: Module, sources: Sequence[Instances], edits: Mapping[str, Sequence[Edit]]) -> Draft:
    first = sources[0]
    message = (
        f"{len(sources)} sources instantiate launchers: {first.path} gets all of them, the other {len(sources) - 1} the"
        " kernels; the launchers' headers are parsed once for the host"
    )
    finding = Finding(FUSED, message, first.path, first.first, first.first, Tier.UNSAFE)
    return Draft(f"{FUSED} {module.name}", (module.name,), finding, edits)


def _refused(first: Instances, reason: str) -> Finding:
    text = f"the sources that instantiate launchers stay apart: {reason}"
    return Finding(REFUSED, text, first.path, first.first, first.first, Tier.DISPLAY)
