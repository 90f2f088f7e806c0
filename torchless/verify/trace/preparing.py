"""Builds what the launch trace of any module needs, while the rungs before it run."""

from __future__ import annotations

import threading
from contextlib import suppress

from torchless.verify.trace import toolchain
from torchless.verify.trace.compiling import CompileError, precompiled
from torchless.verify.trace.library import build_runtime
from torchless.verify.trace.model import TraceError, TraceOptions
from torchless.verify.trace.units import torch_flavour

_started: set[TraceOptions] = set()


def prepare(options: TraceOptions) -> None:
    """Start to build precompiled headers and the runtime; once in a process.

    Nothing is said of what fails: who needs it asks again, and is told.
    """
    if options in _started:
        return
    _started.add(options)
    for work in (_headers, _library):
        threading.Thread(target=work, args=(options,)).start()


def _headers(options: TraceOptions) -> None:
    with suppress(TraceError, CompileError, OSError):
        chain = toolchain.find_toolchain(options.compiler)
        flavour = torch_flavour(options)
        precompiled(chain, flavour, options)
        if flavour == "real" and toolchain.pybind_include():
            precompiled(chain, "free", options, python=True)


def _library(options: TraceOptions) -> None:
    with suppress(TraceError, CompileError, OSError):
        if torch_flavour(options) == "real":
            build_runtime(options)
