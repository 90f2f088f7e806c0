"""Many compilations at a time: the largest first, the first failure told at once, results in the order of the input."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from torchless.profile.run import end_all

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Done(Generic[R]):
    """A job that ran: its result, when it started (seconds after the first job), how long it took, on which worker."""

    value: R
    started: float
    seconds: float
    slot: int


def run_jobs(
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    jobs: int,
    weights: Sequence[float] = (),
    failure: Callable[[R], str] = lambda value: "",
    on_failure: Callable[[T, str], None] = lambda item, problem: None,
    keep_going: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Done[R] | None]:
    """``work`` for every item, ``jobs`` of them at a time in threads; None for those that were never started.

    Items of larger weight start first, among equals in the order of the input. ``failure`` says what is wrong with a
    result, "" for nothing. A failure is told to ``on_failure`` at once, from the thread that met it; nothing that is
    queued starts any more after the first one, unless ``keep_going``; what runs already is waited for. ``progress`` is
    told (done, total). An exception in ``work``, and Ctrl-C, end all compilers and are raised here.
    """
    weigh = weights or [0.0] * len(items)
    queue = sorted(range(len(items)), key=lambda n: (-weigh[n], n))
    results: list[Done[R] | None] = [None] * len(items)
    raised: list[BaseException] = []
    lock = threading.Lock()
    stop = threading.Event()
    began = time.perf_counter()
    finished = 0

    def worker(slot: int) -> None:
        nonlocal finished
        while True:
            with lock:
                if stop.is_set() or not queue:
                    return
                number = queue.pop(0)
            started = time.perf_counter()
            try:
                value = work(items[number])
            except BaseException as error:
                with lock:
                    raised.append(error)
                stop.set()
                end_all()
                return
            results[number] = Done(value, started - began, time.perf_counter() - started, slot)
            problem = failure(value)
            with lock:
                finished += 1
                if problem:
                    if not keep_going:
                        stop.set()
                    on_failure(items[number], problem)
                progress(finished, len(items))

    threads = [threading.Thread(target=worker, args=(n,), daemon=True) for n in range(min(max(1, jobs), len(items)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # in slices, so that Ctrl-C is heard
    except BaseException:
        stop.set()
        end_all()
        raise
    if raised:
        raise raised[0]
    return results
