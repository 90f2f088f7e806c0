"""Runs compilers: with a limit, with the seconds that they took, and so that nothing outlives the caller."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 3600.0
"""Seconds of wall time that one compiler may take: kernels of composable_kernel take many minutes."""

_running: set[int] = set()
_lock = threading.Lock()
_THREADS = re.compile(r"(-parallel-jobs=|--offload-jobs=|-flto-jobs=|-Wl,--thinlto-jobs=)(?:\d+|all|jobserver)\Z")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process left. wall and cpu: seconds, those of its children among the latter. problem: "" for a success."""

    code: int
    wall: float
    cpu: float
    out: bytes
    err: bytes
    problem: str = ""


def run(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
    output: Path | None = None,
    unset: Sequence[str] = (),
) -> Ran:
    """Run ``command`` to its end. ``output`` takes stdout and stderr, which otherwise are kept apart.

    ``env`` goes on top of the own environment, from which ``unset`` are taken out.

    A process that does not end in time is killed together with all that it started.
    """
    with contextlib.ExitStack() as stack:
        if output is None:
            out = stack.enter_context(tempfile.TemporaryFile())
            err = stack.enter_context(tempfile.TemporaryFile())
        else:
            out = err = stack.enter_context(output.open("w+b"))
        began = time.perf_counter()
        try:
            process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env={name: value for name, value in os.environ.items() if name not in unset} | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            return Ran(-1, 0.0, 0.0, b"", b"", f"{command[0]}: {error.strerror}")
        late = threading.Event()
        with _lock:
            _running.add(process.pid)
        timer = threading.Timer(timeout, _end_late, (process.pid, late))
        timer.daemon = True
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
            with _lock:
                _running.discard(process.pid)
        wall = time.perf_counter() - began
        process.returncode = code = os.waitstatus_to_exitcode(status)
        said = []
        for file in (out, err) if out is not err else (out,):
            file.seek(0)
            said.append(file.read())
        stdout, stderr = said[0], said[-1]
    problem = ""
    if late.is_set():
        problem = f"no answer after {timeout:.0f} s"
    elif code:
        problem = first_error(stderr) or f"{Path(command[0]).name} failed with {_shown(code)}"
    return Ran(code, wall, usage.ru_utime + usage.ru_stime, stdout, stderr, problem)


def _shown(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _end_late(pid: int, late: threading.Event) -> None:
    late.set()
    _end(pid)


def _end(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def end_all() -> None:
    """Kill every process that run() is waiting for, with all that these started."""
    with _lock:
        pids = list(_running)
    for pid in pids:
        _end(pid)


def first_error(said: bytes) -> str:
    """The line of an output that tells what went wrong; "" when it said nothing.

    The first one with an error, else the first of all; of a Python traceback the last.
    """
    lines = [line.strip() for line in os.fsdecode(said).splitlines() if line.strip()]
    if lines and lines[0].startswith("Traceback "):
        return lines[-1]
    return next((line for line in lines if "error:" in line), lines[0] if lines else "")


def bounded(command: Sequence[str], threads: int) -> list[str]:
    """``command`` with every limit for the compiler's own threads that it names lowered to ``threads``."""
    out = []
    for argument in command:
        found = _THREADS.match(argument)
        out.append(f"{found.group(1)}{max(1, threads)}" if found else argument)
    return out
