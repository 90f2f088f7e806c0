"""What the rewrites share that a real compiler has to approve: `torchless migrate --select TL62`, TL63, TL64.

They come after all else, and see the texts that the rest of a migration gives. Each finds drafts of units; what becomes
of them, and where their edits lie in the files on disk, is settled here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from torchless import suppress
from torchless.check import context_of
from torchless.facts.includes import IncludeGraph, graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.lints.context import Context
from torchless.mend import check_options
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions, Progress
from torchless.project.model import Module
from torchless.project.modules import entry_spans
from torchless.text.edits import apply, offset_map
from torchless.text.source import SourceFile
from torchless.text.writer import FileChange
from torchless.verify.compilers import Compiler, find_compiler
from torchless.verify.device_code import DeviceCode, compile_as_they_are
from torchless.verify.emitted import Emitted, HostSymbols, emitted, host_symbols
from torchless.verify.tree import Tree

if TYPE_CHECKING:
    from torchless.api import MigrateResult

_T = TypeVar("_T")


@dataclass(frozen=True)
class Draft:
    """A unit before anything is decided about it.

    ``finding`` says what it does, ``edits`` are by path, in the text that the Room shows. ``created`` are new files.
    """

    name: str
    modules: tuple[str, ...]
    finding: Finding
    edits: Mapping[str, Sequence[Edit]]
    created: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """The checkout with what is made so far: ``overlay`` grows while drafts are settled."""

    context: Context
    options: MigrateOptions
    compiler: Compiler
    progress: Progress
    overlay: dict[str, bytes]

    def bench(self) -> Bench:
        """The checkout as it is now."""
        return Bench(self.context, self.options, self.compiler, dict(self.overlay))


@dataclass(frozen=True)
class Bench:
    """One state of a checkout, and a compiler that reads it."""

    context: Context
    options: MigrateOptions
    compiler: Compiler
    overlay: Mapping[str, bytes]

    @cached_property
    def tree(self) -> Tree:
        """The checkout as a compiler sees it."""
        return Tree(self.context.root, self.overlay)

    @cached_property
    def graph(self) -> IncludeGraph:
        """Who includes what."""
        return graph_of(self.context.project).with_overlay(self.overlay)

    def read(self, path: str) -> bytes:
        """The bytes of a file, b"" where there is none."""
        try:
            return self.tree.read(path)
        except OSError:
            return b""

    def with_texts(self, texts: Mapping[str, bytes]) -> Bench:
        """The same checkout with ``texts`` in place of files, or beside them."""
        return Bench(self.context, self.options, self.compiler, {**self.overlay, **texts})

    def specs(self, path: str) -> tuple[TuSpec, TuSpec]:
        """The host and the device pass of a source, as the first module that has it builds it."""
        ways = specs_of(self.context.project, self.graph, path, arch=self.options.arch)
        host, device = (next(spec for spec in ways if spec.device == device) for device in (False, True))
        return self.as_asked(host), self.as_asked(device)

    def described(self, module: Module) -> Module:
        """``module`` with the place of its entry in the configuration as it is now."""
        for name, start, end in entry_spans(self.read(self.context.project.config_path)):
            if name == module.name:
                module = replace(module, entry_start=start, entry_end=end)
        return module

    def as_asked(self, spec: TuSpec) -> TuSpec:
        """``spec`` with the defines and include folders that the user gives."""
        more = self.options
        include_dirs = (*spec.include_dirs, *more.include_dirs)
        return replace(spec, defines=(*spec.defines, *more.defines), include_dirs=include_dirs)

    def inside(self, path: str, include_dirs: Sequence[str]) -> frozenset[str]:
        """The files of the checkout that ``path`` reaches, itself among them."""
        return frozenset(p for p in self.graph.closure(path, include_dirs) if self.graph.is_file(p))

    def device(self, specs: Sequence[TuSpec]) -> list[Emitted]:
        """What the device passes ``specs`` emit."""
        return _side_by_side(self, emitted, specs)

    def device_code(self, specs: Sequence[TuSpec]) -> list[DeviceCode]:
        """The optimised code of the device passes ``specs``."""
        return compile_as_they_are(self.compiler, self.tree, specs, self.options.headers, self.options.jobs or 2)

    def host(self, specs: Sequence[TuSpec]) -> list[HostSymbols]:
        """What the host passes ``specs`` define for other units."""
        return _side_by_side(self, host_symbols, specs)


def _side_by_side(
    bench: Bench, run: Callable[[Compiler, Tree, TuSpec, str, Sequence[str]], _T], specs: Sequence[TuSpec]
) -> list[_T]:
    with bench.tree.vfs() as overlay, ThreadPoolExecutor(max_workers=bench.options.jobs or 2) as pool:
        return list(pool.map(lambda spec: run(bench.compiler, bench.tree, spec, bench.options.headers, overlay), specs))


Find = Callable[[Room], Iterable[Draft | Finding]]
"""Finds the drafts of a rewrite, one after the other, and remarks that belong to no unit."""


def with_units(
    result: MigrateResult,
    options: MigrateOptions,
    start: Path,
    progress: Progress,
    code: str,
    counted: str,
    find: Find,
) -> MigrateResult:
    """``result`` and what ``find`` adds to it. ``counted`` says what a unit is: "module{} to fuse".

    Where there is no compiler for HIP, a note says that ``code`` was left out. Raises UsageError.
    """
    compiler = find_compiler()
    if compiler is None:
        text = f"{code} was left out: it needs a clang that compiles HIP, to tell which kernels a source has"
        return replace(result, notes=(*result.notes, text))
    context = context_of(check_options(options, [code]), start)
    room = Room(context, options, compiler, progress, {path: c.new for path, c in result.changes.items()})
    units, remarks = [], []
    changes, edits = dict(result.changes), list(result.edits)
    for found in find(room):
        if isinstance(found, Finding):
            remarks.append(found if found.path in room.overlay else _with_line(found, room))
            continue
        held = found.name in options.held
        goes = not held and (found.finding.tier is Tier.SAFE or options.unsafe)
        status = UnitStatus.BACKED_OUT if held else UnitStatus.MIGRATED if goes else UnitStatus.CLEAN
        placed = _with_line(_placed(found, edits), room)
        files = tuple(sorted({*found.edits, *found.created}))
        made = placed.edits if goes else ()
        units.append(Unit(found.name, found.modules, (), files, status, (placed,), made))
        if goes:
            changes |= _changes(found, room, changes)
            room.overlay.update({path: changes[path].new for path in files})
            edits += made
    count = sum(unit.status is UnitStatus.MIGRATED for unit in units)
    told = f"{count} {counted.format('' if count == 1 else 's')}"
    return replace(
        result,
        root=str(context.root),
        units=(*result.units, *units),
        findings=tuple(dict.fromkeys((*result.findings, *remarks))),
        changes=dict(sorted(changes.items())),
        edits=tuple(edits),
        found=f"{result.found}; {told}" if result.found else told,
    )


def is_wanted(finding: Finding, data: bytes) -> bool:
    """Whether no comment in ``data``, the text of its file, asks to leave ``finding`` alone."""
    return bool(suppress.apply([finding], {finding.path: suppress.read(SourceFile(finding.path, data))}).kept)


def _changes(draft: Draft, room: Room, known: Mapping[str, FileChange]) -> Iterator[tuple[str, FileChange]]:
    """(path, change) of each file of ``draft``, from what is on disk to what it becomes."""
    for path, edits in draft.edits.items():
        old = known[path] if path in known else FileChange(room.context.source(path).data, b"")
        text = room.overlay.get(path, old.old)
        yield path, replace(old, new=apply(text, edits))
    for path, text in draft.created.items():
        yield path, FileChange(b"", text, created=True)


def _placed(draft: Draft, edits: Sequence[Edit]) -> Finding:
    """The finding of ``draft`` with its edits, all places those of the files on disk before ``edits`` were made."""
    made = [Edit(path, 0, 0, text, draft.finding.code) for path, text in draft.created.items()]
    finding = draft.finding
    for path in draft.edits.keys() | {finding.path}:
        before = [e for e in edits if e.path == path]
        own: Sequence[Edit] = draft.edits.get(path, ())
        if before:
            old = _old_offset(before)
            later = max(e.rank for e in before) + 1
            own = [replace(e, start=old(e.start), end=old(e.end), rank=e.rank + later) for e in own]
            if path == finding.path:
                finding = replace(finding, start=old(finding.start), end=old(finding.end))
        made += own
    return replace(finding, edits=tuple(sorted(made)), unit=draft.name)


def _with_line(finding: Finding, room: Room) -> Finding:
    """``finding`` with the line and column of its place in the file on disk."""
    source = room.context.source(finding.path)
    return replace(finding, line=source.line_of(finding.start), column=source.column_of(finding.start))


def _old_offset(edits: Sequence[Edit]) -> Callable[[int], int]:
    where = offset_map(edits)

    def old(offset: int) -> int:
        while (found := where.old(offset)) is None:
            offset += 1
        return found

    return old
