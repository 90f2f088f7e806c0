"""A source of their own for kernels that many sources instantiate alike: `torchless migrate --select TL64 --unsafe`.

A compiler says which kernels the sources of a module have. One that at least five of them have, with the same code, is
compiled once: in a new source. The others declare it as instantiated elsewhere.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torchless.compiled import Bench, Draft, Room, is_wanted, with_units
from torchless.facts.model import TuSpec
from torchless.model import Edit, Finding, Tier
from torchless.options import MigrateOptions, Progress
from torchless.project.model import Module
from torchless.rewrites.passes.guard import instantiations
from torchless.rewrites.passes.need import kernel_names
from torchless.rewrites.shared_kernels.texts import (
    HEADER_SUFFIX,
    SUFFIX,
    declaration_edit,
    header_text,
    kernel_name,
    source_edits,
    unit_text,
)
from torchless.selection import asked_by_name
from torchless.text.edits import apply
from torchless.text.source import SourceFile

if TYPE_CHECKING:
    from torchless.api import MigrateResult

SHARED, REFUSED = "TL640", "TL641"
MOST_IN_PLACE = 3
"""More kernels than that are declared in a header of their own."""
FEWEST = 5
"""In fewer sources a kernel is left alone: one more source to parse would cost what it saves."""


@dataclass(frozen=True)
class _Group:
    """Kernels of one header: their demangled ``names``, how they are instantiated, and the ``sources`` that do."""

    header: str
    names: frozenset[str]
    kernels: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class _Looked:
    """A source of a module: the kernels that its device pass emits, and the files of the checkout that it reads."""

    path: str
    kernels: frozenset[str]
    reached: frozenset[str]


def shares(options: MigrateOptions) -> bool:
    """Whether the user asks for this by a code or a family of its own."""
    return asked_by_name(SHARED, options.select, options.ignore)


def with_shared(result: MigrateResult, options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """``result`` and what sharing the kernels of the modules that ``options`` names adds to it.

    Where there is no compiler for HIP, a note says that nothing was done. Raises UsageError.
    """
    return with_units(result, options, start, progress, SHARED, "group{} of kernels to share", _find)


def _find(room: Room) -> Iterator[Draft | Finding]:
    modules = room.context.modules
    for count, module in enumerate(modules):
        room.progress("sharing", count, len(modules))
        bench = room.bench()
        looked = _looked_at(bench, module)
        groups = _groups(bench, looked)
        taken: set[str] = set()
        for group in groups:
            if isinstance(group, Finding):
                yield group
                continue
            found = _draft(room.bench(), module, group, taken)
            taken |= set(found.created) if isinstance(found, Draft) else set()
            yield _refused(group.sources[0], found) if isinstance(found, str) else found


def _looked_at(bench: Bench, module: Module) -> list[_Looked]:
    """The sources of ``module`` that may share a kernel: at least five read one header that declares a template of one.

    Sources that a compiler does not accept here are left out: they go on having their kernels.
    """
    reached: dict[str, frozenset[str]] = {}
    for path in module.sources:
        finding = Finding(SHARED, "", path, 0, 0)
        if path.endswith((".cu", ".hip")) and is_wanted(finding, bench.read(path)):
            reached[path] = bench.inside(path, bench.specs(path)[1].include_dirs) - {path}
    headers = {header for files in reached.values() for header in files}
    common = {h for h in headers if sum(h in files for files in reached.values()) >= FEWEST}
    declaring = {header for header in common if kernel_names(bench.read(header)) != frozenset()}
    wanted = [path for path, files in reached.items() if files & declaring]
    if len(wanted) < FEWEST:
        return []
    emitted = bench.device([bench.specs(path)[1] for path in wanted])
    return [
        _Looked(path, code.kernels, reached[path])
        for path, code in zip(wanted, emitted, strict=True)
        if not code.problem
    ]


def _groups(bench: Bench, looked: Sequence[_Looked]) -> Iterator[_Group | Finding]:
    """The kernels that at least five of the sources have, by the header that has their template and by sources."""
    having: dict[str, tuple[str, ...]] = {}
    for name in sorted({name for one in looked for name in one.kernels}):
        paths = tuple(one.path for one in looked if name in one.kernels)
        if len(paths) >= FEWEST:
            having[name] = paths
    files = {one.path: one.reached for one in looked}
    groups: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for name, paths in having.items():
        spelled = instantiations([name]) if name.startswith("void ") else f"{name} is no instance of a template"
        if isinstance(spelled, str):
            yield _refused(paths[0], spelled)
            continue
        common = frozenset.intersection(*(files[path] for path in paths))
        headers = [h for h in sorted(common) if kernel_name(spelled[0]).encode() in _declared(bench, h)]
        if len(headers) != 1:
            where = "no header that all of its sources read" if not headers else f"{' and '.join(headers)}"
            yield _refused(paths[0], f"{name} is declared in {where}")
            continue
        groups.setdefault((headers[0], paths), {})[name] = spelled[0]
    for (header, paths), kernels in sorted(groups.items()):
        yield _Group(header, frozenset(kernels), tuple(sorted(kernels.values())), paths)


def _declared(bench: Bench, header: str) -> frozenset[bytes]:
    return kernel_names(bench.read(header)) or frozenset()


def _draft(bench: Bench, module: Module, group: _Group, taken: set[str]) -> Draft | str:
    """The unit that moves the kernels of ``group``, or why they stay."""
    first = group.sources[0]
    others = sorted(m.name for m in bench.context.project.modules if m != module and set(m.sources) & {*group.sources})
    if others:
        return f"{others[0]} is built of some of its sources as well"
    names = {kernel_name(kernel) for kernel in group.kernels}
    stem = names.pop() if len(names) == 1 else Path(group.header).stem
    folder = posixpath.dirname(first)
    new = posixpath.join(folder, stem + SUFFIX)
    in_header = len(group.kernels) > MOST_IN_PLACE and all(posixpath.dirname(p) == folder for p in group.sources)
    header = posixpath.join(folder, stem + HEADER_SUFFIX) if in_header else ""
    for path in filter(None, (new, header)):
        if path in taken or path in bench.overlay or (bench.context.root / path).exists():
            return f"{path} is there already"
    edits: dict[str, list[Edit]] = {}
    for path in group.sources:
        edit = declaration_edit(SourceFile(path, bench.read(path)), group.kernels, SHARED, posixpath.basename(header))
        if edit is None:
            return f"{path} has no place for a declaration behind its includes"
        edits[path] = [edit]
    config = bench.context.project.config_path
    described = source_edits(
        SourceFile(config, bench.read(config)), bench.described(module), first, new, bench.context.root, SHARED
    )
    if isinstance(described, str):
        return described
    if described:
        edits[config] = list(described)
    texts = {path: apply(bench.read(path), made) for path, made in edits.items()}
    problem = ""
    for includes in _includes(bench, group, new):
        like = SourceFile(first, bench.read(first))
        created = {new: unit_text(like, includes, group.kernels)}
        if header:
            created[header] = header_text(like, includes, group.kernels)
            created[new] = unit_text(like, [f'"{posixpath.basename(header)}"'], group.kernels)
        problem = _unlike(bench, group, new, {**texts, **created})
        if not problem:
            message = (
                f"{len(group.sources)} sources of {module.name} compile {_listed(group.names)}: {new} does it for all"
            )
            finding = Finding(SHARED, message, first, edits[first][0].start, edits[first][0].start, Tier.UNSAFE)
            return Draft(f"{SHARED} {new}", (module.name,), finding, edits, created)
    return problem


def _listed(names: frozenset[str]) -> str:
    shown = min(names)
    return shown if len(names) == 1 else f"{shown} and {len(names) - 1} more"


def _includes(bench: Bench, group: _Group, new: str) -> Iterator[tuple[str, ...]]:
    """What the new source may include: the header of the kernels, what all sources include, or what the first does."""
    for folder in (posixpath.dirname(new), *bench.specs(group.sources[0])[1].include_dirs):
        if group.header.startswith(f"{folder}/"):
            yield (f'"{group.header[len(folder) + 1 :]}"',)
            break
    spelled = [
        [f"<{i.spelled}>" if i.angled else f'"{i.spelled}"' for i in bench.graph.includes(path)]
        for path in group.sources
    ]
    common = tuple(text for text in spelled[0] if all(text in other for other in spelled))
    if common:
        yield common
    if common != tuple(spelled[0]):
        yield tuple(spelled[0])


def _unlike(bench: Bench, group: _Group, new: str, texts: Mapping[str, bytes]) -> str:
    """What is not as it should be with ``texts``, "" when every kernel is there as before, the shared ones once."""
    after = bench.with_texts(texts)
    host, device = bench.specs(group.sources[0])
    own = [replace(spec, source=new) for spec in (host, device)]
    hosts, devices = zip(*(bench.specs(path) for path in group.sources), strict=True)
    symbols = after.host([own[0], *hosts])
    problem = next((s.problem for s in symbols if s.problem), "")
    if problem:
        return f"the new texts do not compile: {problem}"
    if symbols[0].kernels != group.names or symbols[0].instances:
        return _other("host", new, symbols[0].kernels | symbols[0].instances, group.names)
    for path, old, made in zip(group.sources, bench.host(hosts), symbols[1:], strict=True):
        if old.problem:
            return f"the host pass of {path} is not known: {old.problem}"
        if made.kernels != old.kernels - group.names or made.instances != old.instances:
            wanted = (old.kernels - group.names) | old.instances
            return _other("host", path, made.kernels | made.instances, wanted)
    (emitted,) = after.device([own[1]])
    if emitted.variables:
        return f"{new} would define {min(emitted.variables)} on the device"
    return _code_unlike(bench, after, group, own[1], devices)


def _code_unlike(bench: Bench, after: Bench, group: _Group, own: TuSpec, specs: Sequence[TuSpec]) -> str:
    """How the code of a kernel differs between the sources, or from before; "" when it does not."""
    unit, *made = after.device_code([own, *specs])
    before = bench.device_code(specs)
    problem = next((code.problem for code in (unit, *made, *before) if code.problem), "")
    if problem:
        return f"the code of its device passes is not known: {problem}"
    shared = {name: f for name, f in unit.functions.items() if f.is_kernel}
    if shared.keys() != group.names:
        return _other("device", own.source, shared.keys(), group.names)
    for old, new in zip(before, made, strict=True):
        kept = {name: f for name, f in old.functions.items() if f.is_kernel and name not in group.names}
        if kept != {name: f for name, f in new.functions.items() if f.is_kernel}:
            return f"{old.spec.source} would have other kernels"
        for name in sorted(group.names):
            if old.functions[name] != shared[name]:
                return f"{name} is not the same in {old.spec.source} and in {own.source}"
    return ""


def _other(which: str, path: str, found: Iterable[str], wanted: frozenset[str]) -> str:
    return f"the {which} pass of {path} would have other symbols: {min(wanted.symmetric_difference(found))}"


def _refused(path: str, reason: str) -> Finding:
    return Finding(REFUSED, f"kernels that many sources compile stay so: {reason}", path, 0, 0, Tier.DISPLAY)
