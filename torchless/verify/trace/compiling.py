"""Starts compilers for the launch trace, and keeps what does not depend on the checkout.

That is: headers compiled in advance, and the objects of our own. Each is built once on a machine, whoever asks first.
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from torchless.facts.pool import default_jobs
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.model import TraceError, TraceOptions
from torchless.verify.trace.toolchain import RUNTIME, Toolchain

TIMEOUT = 1800.0
"""Seconds of wall time that one compiler may take: it takes some twenty, but shares the machine with others."""


class CompileError(Exception):
    """A compiler or linker said no: (its first error, all that it said)."""

    def __str__(self) -> str:
        return str(self.args[0])


def run_compiler(command: Sequence[str], jobs: int = 0) -> None:
    """Run a compiler, at most ``jobs`` at a time (0: one per core). Raises CompileError."""
    with _slots(jobs or default_jobs()):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            raise CompileError(f"took longer than {TIMEOUT:g} s", "") from None
        except OSError as error:
            raise TraceError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line or "undefined reference" in line]
        raise CompileError(errors[0] if errors else f"exit code {done.returncode}", done.stderr)


def compile_unit(
    chain: Toolchain, flavour: str, arguments: Sequence[str], options: TraceOptions, *, python: bool
) -> None:
    """Compile with the precompiled header, and where that fails without: it is not to blame for what then fails.

    A header that is not found is found no better without. ``python`` asks for the precompiled header that has
    pybind11. Raises CompileError.
    """
    common = [chain.compiler, *toolchain.common_arguments(flavour, options.arch)]
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        repair = Path(scratch) / "repair.h"
        repair.write_bytes(toolchain.repair_text())
        try:
            header = precompiled(chain, flavour, options, python=python)
            front = toolchain.precompiled_arguments(str(header), str(repair))
            run_compiler([*common, *front, *arguments], options.jobs)
        except CompileError as error:
            if " file not found" in str(error):
                raise
            try:
                run_compiler([*common, *arguments], options.jobs)
            except CompileError:  # it may lack only what the precompiled header has: what was said first is the reason
                raise error from None


def precompiled(chain: Toolchain, flavour: str, options: TraceOptions, *, python: bool = False) -> Path:
    """The precompiled header for units of a flavour; built when it is not there. Raises CompileError.

    Without torch there is another one for ``python``, with pybind11. With torch it would take twelve seconds to save
    one or two, and pybind11 in every unit would make every program need Python.
    """
    name = "torch_front.h" if flavour != "free" else "front_python.h" if python else "front.h"
    arguments = toolchain.common_arguments(flavour, options.arch)
    key = store.digest("pch", name, toolchain.identity(chain, flavour), *arguments)
    with once(key):
        kept = store.find("pch", key)
        if kept is not None:
            return kept
        with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
            built = Path(scratch) / "front.pch"
            emit = ["-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", "-c", str(RUNTIME / name)]
            run_compiler([chain.compiler, *arguments, *emit, "-o", str(built)], options.jobs)
            return store.keep("pch", key, built)


def support_object(
    chain: Toolchain, flavour: str, name: str, options: TraceOptions, scratch: Path, more: Sequence[str] = ()
) -> Path:
    """An object of our own: the runtime, or what makes a torch ready for it. ``more`` are further arguments.

    Raises CompileError.
    """
    arguments = [*toolchain.common_arguments(flavour, options.arch), *more]
    key = store.digest("support", name, toolchain.identity(chain, flavour), *arguments)
    with once(key):
        kept = store.find("objects", key)
        if kept is not None:
            return kept
        place = scratch / f"support-{key[:16]}"
        place.mkdir(exist_ok=True)
        built = place / "support.o"
        own = [*more, "-Xclang", f"-cuid={key[:16]}", "-c", str(RUNTIME / name), "-o", str(built)]
        compile_unit(chain, flavour, own, options, python=False)
        return store.keep("objects", key, built)


def once(key: str) -> threading.Lock:
    """The lock to hold while what is kept under ``key`` is built: two threads need not build the same."""
    with _guard:
        return _locks.setdefault(key, threading.Lock())


@cache
def _slots(jobs: int) -> threading.Semaphore:
    return threading.Semaphore(jobs)


_guard = threading.Lock()
_locks: dict[str, threading.Lock] = {}
