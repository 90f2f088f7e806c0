"""Runs tasks in worker processes: a crash, an endless loop or a growing heap costs one task, not the run."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from torchless.facts import clang
from torchless.facts.model import TuFacts, TuSpec
from torchless.facts.pch import PchRequest, PchSet, build, path_of
from torchless.facts.worker import HEADER_BYTES, frame

T = TypeVar("T")
R = TypeVar("R")

TIMEOUT = 120.0
"""Seconds of wall time that one task may take."""
# The child looks for modules where this process does, and not in the folder that it happens to be started in.
_BOOTSTRAP = "import sys; sys.path[:] = sys.argv[1:]; from torchless.facts import worker; worker.main()"
MEMORY_LIMIT = 700 * 2**20
"""A worker that holds more bytes than this after a task is replaced by a fresh one."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """What became of the item at ``index``: a value, or the one-line reason why there is none.

    ``died`` says that the worker was lost (a crash, a timeout), not that the task raised.
    """

    index: int
    value: R | None
    failure: str = ""
    died: bool = False


def default_jobs() -> int:
    """How many workers to run when nobody says: one per core that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return max(1, os.cpu_count() or 1)


def run_all(
    function: Callable[[T], R],
    items: Sequence[T],
    *,
    jobs: int = 0,
    weights: Sequence[int] | None = None,
    timeout: float = TIMEOUT,
    memory_limit: int = MEMORY_LIMIT,
) -> Generator[Outcome[R], None, None]:
    """Call ``function`` on every item in worker processes and yield outcomes as they come, one per item.

    ``function`` must be importable by name (or a partial of such). Items of larger weight start first. Closing the
    iterator, an exception in the consumer and Ctrl-C end all workers at once.
    """
    order = sorted(range(len(items)), key=lambda i: (-(weights[i] if weights else 0), i))
    pending = iter(order)
    workers: list[_Worker] = []
    with selectors.DefaultSelector() as selector:
        try:
            for _ in range(min(jobs if jobs > 0 else default_jobs(), len(items))):
                workers.append(_Worker(selector))
            busy = sum(worker.start(function, items, next(pending, None), timeout) for worker in workers)
            while busy:
                for worker in _ready(selector, workers):
                    if worker.index < 0:  # an idle process that ended
                        worker.replace()
                        continue
                    outcome = worker.collect(timeout)
                    if outcome is None:
                        continue
                    if outcome.died or worker.resident > memory_limit:
                        worker.replace()
                    busy -= 1
                    busy += worker.start(function, items, next(pending, None), timeout)
                    yield outcome
        finally:
            for worker in workers:
                worker.end()


def parse_all(
    specs: Sequence[TuSpec],
    root: Path,
    *,
    headers: str = "stubs",
    overlays: Mapping[str, bytes] | None = None,
    pch: PchSet | None = None,
    torch: bool = True,
    want_facts: bool = True,
    jobs: int = 0,
) -> Generator[tuple[int, TuFacts], None, None]:
    """clang.parse() on every spec in worker processes; yields (index into ``specs``, facts) as they come.

    A unit whose worker dies over a precompiled header is parsed again without; one whose worker dies for good comes
    back with the reason in ``failure``.
    """
    settings: dict[str, Any] = {
        "root": root,
        "headers": headers,
        "overlays": dict(overlays or {}),
        "torch": torch,
        "want_facts": want_facts,
    }
    sizes = [_size(root, spec, settings["overlays"]) for spec in specs]
    again: list[int] = []
    for outcome in run_all(partial(parse_task, settings, pch), specs, jobs=jobs, weights=sizes):
        if outcome.died and pch is not None:
            again.append(outcome.index)
        else:
            yield outcome.index, _facts(specs[outcome.index], outcome)
    again.sort()
    for outcome in run_all(partial(parse_task, settings, None), [specs[i] for i in again], jobs=jobs):
        facts = _facts(specs[again[outcome.index]], outcome)
        note = "parsed without the precompiled header: the parser died over it"
        yield again[outcome.index], replace(facts, notes=(*facts.notes, note))


def parse_many(
    specs: Sequence[TuSpec],
    root: Path,
    *,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,
) -> list[TuFacts]:
    """parse_all() gathered into a list in the order of ``specs``. ``progress`` is told (done, total)."""
    results: dict[int, TuFacts] = {}
    with closing(parse_all(specs, root, **settings)) as parsed:
        for index, facts in parsed:
            results[index] = facts
            if progress is not None:
                progress(len(results), len(specs))
    return [results[i] for i in range(len(specs))]


def parse_task(settings: Mapping[str, Any], pch: PchSet | None, spec: TuSpec) -> TuFacts:
    """What a worker runs for parse_all()."""
    return clang.parse(spec, pch=pch, **settings)


def prepare_pch(
    arch: str, folder: Path, *, jobs: int = 0, torch_free: bool = False, build_missing: bool = True
) -> PchSet:
    """The precompiled headers for ``arch``, built below ``folder`` where they are not there yet.

    Those with torch, for both passes; with ``torch_free`` also those without. What cannot be built is told in notes.
    Without ``build_missing`` only what is there: a header takes longer than the first few units that it would help.
    """
    kinds = [(device, True) for device in (False, True)]
    kinds += [(device, False) for device in (False, True) if torch_free]
    requests = [PchRequest(arch, device, torch, str(folder)) for device, torch in kinds]
    ready = {r: str(p) for r in requests if (p := path_of(r)).exists()}
    missing = [r for r in requests if r not in ready and build_missing]
    notes: list[str] = []
    for outcome in run_all(build, missing, jobs=jobs):
        if outcome.value is not None:
            ready[missing[outcome.index]] = outcome.value
        else:
            notes.append(f"no precompiled header: {outcome.failure}")
    paths = tuple(((r.device, r.torch), ready[r]) for r in requests if r in ready)
    return PchSet(arch, paths, tuple(sorted(notes)))


def _facts(spec: TuSpec, outcome: Outcome[TuFacts]) -> TuFacts:
    if outcome.value is not None:
        return outcome.value
    return TuFacts(spec, failure=f"{spec.source}: {outcome.failure}")


def _size(root: Path, spec: TuSpec, overlays: Mapping[str, bytes]) -> int:
    if spec.source in overlays:
        return len(overlays[spec.source])
    try:
        return (root / spec.source).stat().st_size
    except OSError:
        return 0


def _ready(selector: selectors.BaseSelector, workers: Sequence[_Worker]) -> list[_Worker]:
    """Workers that have something to say, or whose time is up; waits until there is one."""
    while True:
        now = time.monotonic()
        late = [w for w in workers if w.index >= 0 and w.deadline <= now]
        if late:
            return late
        deadlines = [w.deadline for w in workers if w.index >= 0]
        events = selector.select(max(0.0, min(deadlines) - now))
        if events:
            return [key.data for key, _ in events]


@dataclass
class _Worker:
    """A child process, and the item it is working on (``index`` -1 when idle)."""

    selector: selectors.BaseSelector
    index: int = -1
    deadline: float = 0.0
    resident: int = 0
    process: subprocess.Popen[bytes] | None = None
    received: bytearray = field(default_factory=bytearray)

    def start(self, function: Callable[..., Any], items: Sequence[Any], index: int | None, timeout: float) -> bool:
        """Give the worker the item at ``index``; False when there is none. Its process is started when needed."""
        if index is None:
            return False
        self.index = index
        self.received.clear()
        for attempt in (1, 2):
            process = self._running()
            self.deadline = time.monotonic() + timeout
            try:
                assert process.stdin is not None
                process.stdin.write(frame((function, items[index])))
                process.stdin.flush()
            except BrokenPipeError:  # it died while idle: not the item's fault
                self.replace()
                if attempt == 2:
                    raise
            else:
                break
        return True

    def collect(self, timeout: float) -> Outcome[Any] | None:
        """Read what the child has written; the outcome once it is complete, None before that."""
        process = self.process
        assert process is not None and process.stdout is not None
        index = self.index
        if time.monotonic() >= self.deadline:
            self.index = -1
            return Outcome(index, None, f"took longer than {timeout:g} s", died=True)
        chunk = os.read(process.stdout.fileno(), 1 << 20)
        if not chunk:
            self.index = -1
            return Outcome(index, None, _last_words(process.wait()), died=True)
        self.received += chunk
        size = int.from_bytes(self.received[:HEADER_BYTES], "little")
        if len(self.received) < HEADER_BYTES or len(self.received) < HEADER_BYTES + size:
            return None
        worked, value, self.resident = pickle.loads(memoryview(self.received)[HEADER_BYTES:])
        self.index = -1
        return Outcome(index, value) if worked else Outcome(index, None, value)

    def replace(self) -> None:
        """End the process; the next start() makes a new one."""
        self.end()
        self.resident = 0

    def end(self) -> None:
        """Kill the process and wait for it."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None and process.stdout is not None
        self.selector.unregister(process.stdout)
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # a process that has recovered from a crash is not to be trusted with the next unit
                env={**os.environ, "LIBCLANG_DISABLE_CRASH_RECOVERY": "1"},
            )
            assert self.process.stdout is not None
            self.selector.register(self.process.stdout, selectors.EVENT_READ, self)
        return self.process


def _last_words(code: int) -> str:
    """Why a worker ended, from its exit code."""
    if code < 0:
        try:
            return f"the parser crashed ({signal.Signals(-code).name})"
        except ValueError:
            return f"the parser crashed (signal {-code})"
    return f"the parser's process ended (exit code {code})"
