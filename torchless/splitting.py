"""Host code out of the device pass: `torchless migrate --select TL62`, on the texts that the rest of a migration gives.

Each source is a unit. A real compiler says which kernels and variables the device pass emits, before and after; a
source of which that is not known, or not the same, is left alone and a remark says why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from torchless.closure.build import Closures
from torchless.compiled import Bench, Draft, Room, is_wanted, with_units
from torchless.facts.model import TuSpec
from torchless.lints.host_only import VARIABLES, device_code
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.options import MigrateOptions, Progress
from torchless.project.bindings import MODULE_MACRO
from torchless.rewrites.passes.guard import guard_edits, instantiations, names_in
from torchless.rewrites.passes.need import Reach, Split, host_names, kernel_names, reach_of, split_of
from torchless.selection import asked_by_name
from torchless.text.edits import apply
from torchless.text.source import SourceFile
from torchless.verify.emitted import Emitted, accepted

if TYPE_CHECKING:
    from torchless.api import MigrateResult

SPLIT, REFUSED, SMALL = "TL620", "TL621", "TL622"
SMALL_LINES = 5_000
"""Preprocessed lines: where the device pass would lose fewer, nothing is offered."""
_PASSES = (b"__HIP_DEVICE_COMPILE__", b"__HIPCC_RTC__")
_LAUNCHING = frozenset({b"hipcub", b"rocprim", b"thrust", b"cub", b"make_kernel", b"launch_kernel", b"MakeInvoker"})
"""Libraries, and functions of CK, that start kernels of their own, which the stand-ins for them do not show."""


@dataclass(frozen=True)
class _Answer:
    """What becomes of one source: the finding, and its new text where it gets one."""

    path: str
    finding: Finding
    text: bytes | None = None


def splits(options: MigrateOptions) -> bool:
    """Whether the user asks for this by a code or a family of its own."""
    return asked_by_name(SPLIT, options.select, options.ignore)


def with_split(result: MigrateResult, options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """``result`` and what splitting the sources that ``options`` names adds to it.

    Where there is no compiler for HIP, a note says that nothing was done. Raises UsageError.
    """
    return with_units(result, options, start, progress, SPLIT, "source{} to split", _find)


def _find(room: Room) -> Iterator[Draft | Finding]:
    context = room.context
    for answer in _answers(room):
        if answer.text is None:
            yield answer.finding
            continue
        modules = tuple(m.name for m in context.project.modules if answer.path in m.sources)
        finding = replace(answer.finding, edits=())
        yield Draft(f"{SPLIT} {answer.path}", modules, finding, {answer.path: answer.finding.edits})


@dataclass(frozen=True)
class _Bench(Bench):
    """What every source is looked at with. ``reading`` is held while what several threads share is looked at."""

    closures_with: Callable[[Mapping[str, bytes]], Closures]
    closures: Closures
    reading: Lock


def _answers(room: Room) -> list[_Answer]:
    context, options, project = room.context, room.options, room.context.project

    def closures(texts: Mapping[str, bytes]) -> Closures:
        flags = options.arch, options.defines, options.include_dirs
        return Closures(project, context.index, context.heavy, *flags, overlay=texts)

    overlay = dict(room.overlay)
    bench = _Bench(context, options, room.compiler, overlay, closures, closures(overlay), Lock())
    sources = sorted(path for path in context.files.intersection(project.sources) if path.endswith((".cu", ".hip")))
    done = 0
    out: list[_Answer] = []
    with ThreadPoolExecutor(max_workers=options.jobs or os.cpu_count() or 1) as pool:
        for answer in pool.map(lambda path: _answer(bench, path), sources):
            done += 1
            room.progress("splitting", done, len(sources))
            if answer is not None and is_wanted(answer.finding, bench.read(answer.path)):
                out.append(answer)
    return out


def _answer(bench: _Bench, path: str) -> _Answer | None:
    """What becomes of the source ``path``; None where there is nothing to say."""
    data = bench.read(path)
    if MODULE_MACRO in data or any(word in data for word in _PASSES):
        return None
    source = SourceFile(path, data)
    with bench.reading:
        devices = list(dict.fromkeys(spec for spec in bench.closures.specs(path) if spec.device))
        if not devices:
            return None
        reach = reach_of(bench.graph, bench.read, path, devices[0].include_dirs)
        split = split_of(data, reach)
        if isinstance(split, str):
            return _refused(source, split)
        if split is None:
            return None
        launching = sorted(host_names(split, reach) & _LAUNCHING - _own_names(data, reach))
        if launching:
            return _refused(source, f"it may use {launching[0].decode()}, which starts kernels that are not seen here")
        before = _lines(bench.closures, path)
        text = apply(data, guard_edits(source, split, (), SPLIT))
        after = _lines(bench.closures_with({**bench.overlay, path: text}), path)
    if _is_small(bench, (before, after)):
        return _small(source, split, (before, after))
    return _proved(bench, source, reach, split, devices, (before, after))


def _is_small(bench: _Bench, lines: tuple[int, int]) -> bool:
    return lines[0] - lines[1] < SMALL_LINES and not bench.options.offer_all


def _small(source: SourceFile, split: Split, lines: tuple[int, int]) -> _Answer:
    first = split.hidden[0]
    text = f"not offered, the gain is small: the device pass reads {lines[0]:,} lines, {lines[1]:,} without host code"
    return _Answer(
        source.path, Finding(SMALL, f"{text}; --all offers it", source.path, first.start, first.end, Tier.DISPLAY)
    )


def _own_names(data: bytes, reach: Reach) -> frozenset[bytes]:
    """Names among those that start kernels under which the checkout declares functions of its own."""
    files = {path for found in reach.reached.values() for path in found if reach.inside(path)}
    texts = [data, *(reach.read(path) for path in sorted(files))]
    own = {m[1] for text in texts for m in re.finditer(rb"\b(?:void|auto|int|hipError_t)\s+(\w+)\s*\(", text)}
    foreign = {m[1] for text in texts for m in re.finditer(rb"\b(?:ck_tile|ck)\s*::\s*(\w+)", text)}
    return frozenset(own - foreign)


def _lines(closures: Closures, path: str) -> int:
    """The preprocessed lines of the heaviest device pass of ``path``."""
    return max((sum(c.lines.values()) for c in closures.of(path) if c.spec.device), default=0)


def _proved(
    bench: _Bench,
    source: SourceFile,
    reach: Reach,
    split: Split,
    specs: Sequence[TuSpec],
    lines: tuple[int, int],
) -> _Answer:
    """The split of ``source`` where the compiler finds the same kernels and variables in both versions.

    ``specs`` are its device passes, in each way that a module builds it.
    """
    path = source.path
    old = bench.device(specs)
    if problem := _problem(old):
        printed = re.search(r"'([^']+)' file not found", problem)
        if split.whole and printed is not None and not (reason := _may_start(source, split, reach, bench)):
            return _unseen(source, split, lines, printed[1])
        return _refused(source, f"the device pass is not known: {reason if split.whole and printed else problem}")
    kernels, variables = old[0].kernels, old[0].variables
    if any(one.kernels != kernels for one in old):
        return _refused(source, "modules build it in ways that have different kernels")
    if split.whole and (kernels or variables):
        return _refused(source, f"{min(kernels | variables)} comes of a template or a header that it reads")
    bare = bench.with_texts({path: apply(source.data, guard_edits(source, split, (), SPLIT))}).device(specs)
    if problem := _problem(bare):
        return _refused(source, f"without it the device pass fails: {problem}")
    listed = instantiations(kernels - bare[0].kernels)
    if isinstance(listed, str):
        return _refused(source, listed)
    if listed:
        again = split_of(source.data, reach, names_in(listed))
        split = again if isinstance(again, Split) else split
    edits = guard_edits(source, split, listed, SPLIT)
    text = apply(source.data, edits)
    changed = bench.with_texts({path: text})
    if listed:
        with bench.reading:
            lines = lines[0], _lines(bench.closures_with(changed.overlay), path)
        if _is_small(bench, lines):
            return _small(source, split, lines)
    new = changed.device(specs) if listed else bare
    hosts = [replace(spec, device=False) for spec in specs]
    with changed.tree.vfs() as overlay:
        refused = [accepted(bench.compiler, changed.tree, spec, bench.options.headers, overlay) for spec in hosts]
    if problem := _problem(new) or next(filter(None, refused), ""):
        return _refused(source, f"the new text does not compile: {problem}")
    for before, after in zip(old, new, strict=True):
        if other := (before.kernels | before.variables) ^ (after.kernels | after.variables):
            return _refused(source, f"the device pass would have something else: {min(other)}")
    return _Answer(path, _finding(source, edits, split, lines, len(listed)), text)


def _may_start(source: SourceFile, split: Split, reach: Reach, bench: _Bench) -> str:
    """By names alone: what of the checkout may give the device pass of a source without device code something to emit.

    "" when there is nothing. What a compiler would say is not known.
    """
    names = host_names(split, reach)
    for path in sorted({path for found in reach.reached.values() for path in found if reach.inside(path)}):
        data = bench.read(path)
        if device_code(data) & VARIABLES:
            return f"{path} defines device code that every pass has to see"
        kernels = kernel_names(data)
        if kernels is None or kernels & names:
            return f"it may start a kernel of {path}"
    return ""


def _unseen(source: SourceFile, split: Split, lines: tuple[int, int], header: str) -> _Answer:
    """The guard around a whole source that includes a header which only a build prints."""
    edits = guard_edits(source, split, (), SPLIT)
    finding = _finding(source, edits, split, lines, 0)
    text = f"{finding.message}; {header} is printed by a build and was not looked at"
    return _Answer(
        source.path,
        replace(finding, message=text, tier=Tier.UNSAFE, confidence=Confidence.SYNTACTIC),
        apply(source.data, edits),
    )


def _problem(found: Iterable[Emitted]) -> str:
    return next((one.problem for one in found if one.problem), "")


def _finding(
    source: SourceFile, edits: Iterable[Edit], split: Split, lines: tuple[int, int], instances: int
) -> Finding:
    what = "the whole file" if split.whole else f"{sum(not i.spelled for i in split.hidden)} declarations"
    message = f"only the host pass needs {what}: the device pass reads {lines[0]:,} lines, {lines[1]:,} without"
    if instances:
        message += f"; {instances} kernel{'' if instances == 1 else 's'} instantiated for it"
    first = split.hidden[0]
    tier = Tier.UNSAFE if instances else Tier.SAFE
    return Finding(SPLIT, message, source.path, first.start, first.end, tier, tuple(edits))


def _refused(source: SourceFile, reason: str) -> _Answer:
    text = f"host code stays in the device pass: {reason}"
    return _Answer(source.path, Finding(REFUSED, text, source.path, 0, 0, Tier.DISPLAY))
