"""Type-checks edits in memory: every translation unit that sees an edited file is parsed again, edits made.

A unit passes when it has no error that it did not have before, and when the parser is shown to see the edited code
(see planted.py). The check is made without a precompiled header, which would hide that a standard header went with
torch's.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torchless.facts import clang, flags
from torchless.facts.model import Diagnostic, IncludeFact, TuSpec
from torchless.facts.pch import PchSet
from torchless.facts.pool import run_all
from torchless.model import Edit
from torchless.text.edits import OffsetMap, apply, offset_map
from torchless.verify.planted import Place, moved, plant, reported


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One translation unit to check in one pass.

    ``edits`` are all that are to be made, of any files. ``created`` are files that do not exist yet, ``printed`` those
    that are nowhere but in memory. ``baseline`` are the diagnostics before the edits.
    ``places`` are the edited functions and macros that this unit compiles in this
    pass (its own facts tell), in offsets before the edits.
    """

    spec: TuSpec
    edits: tuple[Edit, ...]
    baseline: tuple[Diagnostic, ...] = ()
    places: tuple[Place, ...] = ()
    created: tuple[tuple[str, bytes], ...] = ()
    printed: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What the check of one job found.

    ``new_diagnostics``: errors that were not there before, at their place in the edited text.
    ``torch_opened``: for each directive by which a file of the project opens a header of torch, the chain of files from
    the source to that header. ``blind_places``: edited code in which a planted error went unreported.
    ``failure``: why the unit could not be parsed at all, "" otherwise.
    """

    spec: TuSpec
    new_diagnostics: tuple[Diagnostic, ...] = ()
    torch_opened: tuple[tuple[str, ...], ...] = ()
    blind_places: tuple[Place, ...] = ()
    failure: str = ""
    seconds: float = 0.0

    @property
    def blind(self) -> bool:
        """True when the check says nothing about some of the edited code."""
        return bool(self.failure or self.blind_places)


def check_tus(
    jobs: Sequence[CheckJob],
    root: Path,
    *,
    headers: str = "stubs",
    pch: PchSet | None = None,
    workers: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[CheckResult]:
    """Check every job in worker processes; results in the order of ``jobs``.

    ``pch`` is used for the planted errors only. ``progress`` is told (done, total).
    """
    results: dict[int, CheckResult] = {}
    weights = [len(job.edits) for job in jobs]
    todo = list(range(len(jobs)))
    for use in (pch, None) if pch is not None else (None,):
        task = partial(check_task, root, headers, use)
        again: list[int] = []
        with closing(run_all(task, [jobs[i] for i in todo], jobs=workers, weights=[weights[i] for i in todo])) as found:
            for outcome in found:
                index = todo[outcome.index]
                if outcome.died and use is not None:  # it may be the precompiled header that killed the parser
                    again.append(index)
                    continue
                spec = jobs[index].spec
                failed = CheckResult(spec, failure=f"{spec.source}: {outcome.failure}")
                results[index] = outcome.value if outcome.value is not None else failed
                if progress is not None:
                    progress(len(results), len(jobs))
        todo = sorted(again)
    return [results[i] for i in range(len(jobs))]


def check_task(root: Path, headers: str, pch: PchSet | None, job: CheckJob) -> CheckResult:
    """Check one job in this process; what a worker runs for check_tus()."""
    by_path: dict[str, list[Edit]] = defaultdict(list)
    for edit in job.edits:
        by_path[edit.path].append(edit)
    maps = {path: offset_map(edits) for path, edits in by_path.items()}
    printed = dict(job.printed)
    overlays = {**printed, **dict(job.created)}
    for path, edits in by_path.items():
        overlays[path] = apply(printed[path] if path in printed else (root / path).read_bytes(), edits)
    after = clang.parse(job.spec, root=root, headers=headers, overlays=overlays, want_facts=False)
    if after.failure:
        return CheckResult(job.spec, failure=after.failure, seconds=after.seconds)
    seconds = after.seconds
    new = new_diagnostics(after.diagnostics, job.baseline, maps)
    if new:
        # the baseline may come from a parse with a precompiled header, which hides what the project itself forgot
        before = clang.parse(job.spec, root=root, headers=headers, overlays=printed, want_facts=False)
        seconds += before.seconds
        if not before.failure:
            new = new_diagnostics(after.diagnostics, before.diagnostics, maps)
    blind, planted_seconds = _blind_places(root, headers, pch, job, overlays, maps)
    return CheckResult(
        job.spec,
        new_diagnostics=new,
        torch_opened=torch_chains(job.spec.source, after.includes),
        blind_places=blind,
        seconds=seconds + planted_seconds,
    )


def new_diagnostics(
    after: Iterable[Diagnostic], before: Iterable[Diagnostic], maps: Mapping[str, OffsetMap]
) -> tuple[Diagnostic, ...]:
    """The errors of ``after`` (in edited text) that ``before`` (in the text on disk) does not account for.

    Two are the same error when they have category, place and kind of message in common; the place of the old one is
    mapped through the edits. The kind is the message with the types in it left out, for these change with the edits,
    but with plain names kept. Several of a kind at one place (a macro is one place) count one by one. A name that is
    missing from a namespace which is new there was missing before: then the namespace was (``N::x`` of a header that
    is not there, and an include that opens N).
    """
    known: Counter[tuple[object, ...]] = Counter()
    replaced: Counter[tuple[object, ...]] = Counter()
    names: set[tuple[str, int, str]] = set()  # (file, place in the new text, message) of the old ones
    for diagnostic in before:
        if diagnostic.severity < _ERROR:
            continue
        offsets = maps.get(diagnostic.path)
        place = diagnostic.offset if offsets is None else offsets.new(diagnostic.offset)
        names.add((diagnostic.path, place, diagnostic.message))
        if offsets is not None and offsets.old(place) is None:
            # it stood in text that is replaced: it may be anywhere in the new text, but must be the same word for word
            replaced[diagnostic.path, place, diagnostic.category, diagnostic.message] += 1
        else:
            known[diagnostic.path, place, diagnostic.category, kind_of(diagnostic.message)] += 1
    new: list[Diagnostic] = []
    for diagnostic in after:
        if diagnostic.severity < _ERROR:
            continue
        key = (diagnostic.path, diagnostic.offset, diagnostic.category, kind_of(diagnostic.message))
        if known[key]:
            known[key] -= 1
            continue
        offsets = maps.get(diagnostic.path)
        if offsets is not None and offsets.old(diagnostic.offset) is None:
            start = _start_of_new_text(offsets, diagnostic.offset)
            word_for_word = (diagnostic.path, start, diagnostic.category, diagnostic.message)
            if replaced[word_for_word]:
                replaced[word_for_word] -= 1
                continue
        space = namespace_without(diagnostic.message)
        if space and (diagnostic.path, diagnostic.offset - len(f"{space}::"), undeclared(space)) in names:
            continue
        new.append(diagnostic)
    return tuple(new)


def namespace_without(message: str) -> str:
    """The last name of the namespace in which ``message`` misses something; "" for any other message."""
    found = _NO_MEMBER.match(message)
    return found[1].rpartition("::")[2] if found else ""


def undeclared(name: str) -> str:
    """What clang says of a name that nothing declares."""
    return f"use of undeclared identifier '{name}'"


def kind_of(message: str) -> str:
    """A message without what the edits are meant to change: quoted types, and what an alias stands for."""
    return _QUOTED.sub(lambda m: m[0] if _is_plain(m[1]) else "'...'", _AKA.sub("", message))


def torch_chains(source: str, includes: Iterable[IncludeFact]) -> tuple[tuple[str, ...], ...]:
    """For each directive in a project file that brings in a header of torch: the files from ``source`` to the header.

    A stub header that is not torch's own but includes one that is ends the chain with both.
    """
    by_file: dict[str, list[IncludeFact]] = defaultdict(list)
    for include in includes:
        by_file[include.path].append(include)
    chains: dict[tuple[str, str], tuple[str, ...]] = {}
    pending: deque[tuple[str, ...]] = deque([(source,)])
    seen = {source}
    while pending:
        chain = pending.popleft()
        for include in by_file[chain[-1]]:
            for header in _torch_behind(include.resolved):
                chains.setdefault((chain[-1], include.resolved), (*chain, *header))
            if include.resolved and include.resolved not in seen:
                seen.add(include.resolved)
                pending.append((*chain, include.resolved))
    return tuple(sorted(chains.values()))


def _torch_behind(resolved: str) -> list[tuple[str, ...]]:
    """How torch is reached from an included file at once: by being it, or through the stubs; [] when it is not."""
    if is_torch(resolved):
        return [(resolved,)]
    behind = sorted(path for path in flags.stub_closure(resolved) if is_torch(path))
    return [(resolved, behind[0])] if behind else []


def is_torch(resolved: str) -> bool:
    """True for a header of torch, ATen or c10, ours or an installed one."""
    if resolved.startswith(flags.TORCH_PREFIX):
        return True
    return Path(resolved).is_absolute() and bool(_INSTALLED_TORCH.search(resolved))


def _blind_places(
    root: Path,
    headers: str,
    pch: PchSet | None,
    job: CheckJob,
    overlays: Mapping[str, bytes],
    maps: Mapping[str, OffsetMap],
) -> tuple[tuple[Place, ...], float]:
    """The places in which a planted error is not reported, and the seconds that it took to find out.

    Functions are planted all at once. Macros get a parse of their own: an error in one may break the statement it is
    expanded in, and with it an error planted there.
    """
    seconds = 0.0
    blind: list[Place] = []
    for is_macro in (False, True):
        chosen = {i: p for i, p in enumerate(job.places) if p.macro is is_macro}
        if not chosen:
            continue
        planted = dict(overlays)
        unseen = set(chosen)
        for path in sorted({p.path for p in chosen.values()}):
            here = [(i, moved(p, maps.get(path))) for i, p in chosen.items() if p.path == path]
            data = overlays[path] if path in overlays else (root / path).read_bytes()
            planted[path], _ = plant(data, here)
        facts = clang.parse(job.spec, root=root, headers=headers, overlays=planted, pch=pch, want_facts=False)
        seconds += facts.seconds
        unseen -= reported(facts.diagnostics)
        blind += [chosen[i] for i in sorted(unseen)]
    return tuple(blind), seconds


def _start_of_new_text(offsets: OffsetMap, offset: int) -> int:
    """The offset at which the inserted text that holds ``offset`` (in edited text) begins."""
    starts = [start for start in (offsets.new(edit.start) for edit in offsets.edits) if start <= offset]
    return starts[-1]


def _is_plain(quoted: str) -> bool:
    """True for a name that says what the error is about, false for a type that the edits may change."""
    return _PLAIN.fullmatch(quoted) is not None and quoted not in _CHANGING


_ERROR = 3
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"'([^']*)'")
_AKA = re.compile(r" \(aka '[^']*'\)")
_NO_MEMBER = re.compile(r"no (?:member|type|template) named '\w+' in namespace '([\w:]+)'")
_CHANGING = frozenset({"Tensor", "ScalarType", "aiter_tensor_t", "AiterDtype"})
_INSTALLED_TORCH = re.compile(r"/include/(?:torch|ATen|c10|caffe2)/")
