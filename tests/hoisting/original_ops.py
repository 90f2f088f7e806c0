"""The ops of a module as a checkout has them, compiled over torch's own C++ and asked what they allocate.

Nothing runs on a GPU: tensors and launches are those of the runtime of the launch trace, whose two devices torch takes
for real ones. What neither it nor the module defines (libraries, sources that are not in the checkout) does nothing.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from random_calls import Called
from torch.utils._python_dispatch import TorchDispatchMode
from wrapper_harness import Made, fill_of, told

from torchless.facts.includes import graph_of, specs_of
from torchless.project.discover import load
from torchless.verify.callers import one_each
from torchless.verify.trace import toolchain
from torchless.verify.trace.library import build_library, build_runtime
from torchless.verify.trace.model import Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.python_calls import SCRIPT

_SECONDS = 5.0
"""CPU seconds that a call may take."""
NOT_BUILT = "torchless: not built: "
"""What a call says that ends in an instance which was left out, before the name of that."""
_INTEGERS = frozenset({"int", "unsigned int", "long", "unsigned long", "bool"})


def build(root: Path, name: str, side: str = "before", printed: Mapping[str, bytes] | None = None) -> Path:
    """The shared object of the module ``name`` of the checkout ``root``: ``side`` is before or after a migration.

    ``printed``: what its generators print, by paths in the checkout at which it is not; sources among it that do not
    compile over stand-ins for libraries are left out. Raises TraceError with what else does not compile.
    """
    project = load(root)
    module = next(m for m in project.modules if m.name == name)
    graph = graph_of(project)
    specs = one_each([s for source in module.sources for s in specs_of(project, graph, source)], module)
    printed = printed or {}
    folders = tuple(sorted({str(PurePosixPath(path).parent) for path in printed}))
    named = f"TORCH_EXTENSION_NAME={imported_as(name, side)}"
    specs = [replace(s, include_dirs=(*s.include_dirs, *folders), defines=(*s.defines, named)) for s in specs]
    text = TreeText(str(root), dict(printed))
    more = [replace(specs[0], source=path) for path in printed if path.endswith((".cu", ".cpp"))]
    while True:
        try:
            return Path(build_library(Side(side, text, (*specs, *more), ()), _OPTIONS).path)
        except TraceError as error:
            usable = [spec for spec in more if not str(error).startswith(spec.source)]
            if len(usable) == len(more):
                raise
            more = usable


def imported_as(name: str, side: str) -> str:
    """What the shared object of a module calls itself: two versions of it can be in one process."""
    return f"{name}_{side}"


def runtime() -> Any:
    """The runtime of the launch trace, with two devices that torch takes for real ones in this process from here on."""
    sys.path.insert(0, str(SCRIPT.parent))
    from call_ops import torch_with_devices  # type: ignore[import-not-found]

    os.environ["GPU_ARCHS"] = _OPTIONS.arch
    sys.setdlopenflags(os.RTLD_LAZY)
    made = torch_with_devices(torch, build_runtime(_OPTIONS).path)
    made.open_journal(os.devnull)
    made.architecture(_OPTIONS.arch)
    return made


def loaded(name: str, library: Path, scratch: Path) -> Any:
    """The module that calls itself ``name`` as Python has it, from its shared object, after what it lacks."""
    from call_ops import loaded as import_from

    absent = scratch / f"{name}-{library.name}.so"
    source = absent.with_suffix(".cpp")
    source.write_text(_does_nothing(_missing(library)), "utf-8")
    compiler = toolchain.find_toolchain().compiler
    command = [compiler, "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", str(source), "-o", str(absent)]
    subprocess.run(command, check=True, capture_output=True)
    lacking = ctypes.CDLL(str(absent), mode=ctypes.RTLD_GLOBAL)
    module = import_from(name, str(library))
    module.torchless_absent = ctypes.c_int.in_dll(lacking, "torchless_reached")
    return module


def _missing(library: Path) -> list[str]:
    """The symbols that ``library`` needs and nobody has."""
    libraries = Path(torch.__file__).parent / "lib"
    others = [libraries / f"lib{name}.so" for name in ("torch_python", "torch_cpu", "c10")]
    others.append(Path(build_runtime(_OPTIONS).path))
    known = {symbol for path in others for symbol in _symbols(path, "--defined-only")}
    process = ctypes.CDLL(None)
    system = [ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL("libm.so.6"), ctypes.CDLL("libgcc_s.so.1"), process]
    found = [s for s in _symbols(library, "--undefined-only") if s not in known and not s.startswith(("__", "_ITM"))]
    return [symbol for symbol in found if not any(hasattr(one, symbol) for one in system)]


def _symbols(path: Path, which: str) -> list[str]:
    listed = subprocess.run(["nm", "-D", which, "-P", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [row[0].partition("@")[0] for row in rows if row[1] not in "wv"]


def _does_nothing(symbols: Sequence[str]) -> str:
    """Definitions of ``symbols``. A function of integers gives one that depends on all of them, so that a size asked of
    a library is seen; what gives a tensor cannot be made up and throws; all others give 0.
    """
    names = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    lines = ["#include <stdexcept>", 'extern "C" int torchless_reached = 0;']
    for i, (symbol, name) in enumerate(zip(symbols, names.splitlines(), strict=True)):
        taken = [part.strip() for part in name.rpartition("(")[2].rstrip(")").split(",")]
        body = "return 0;"
        if name.startswith("at::Tensor "):
            body = f'throw std::runtime_error("{NOT_BUILT}{re.split("[<(]", name.removeprefix("at::Tensor "))[0]}");'
        elif "IsSupportedArgument(" in name:
            body = "return 1;"
        elif symbol.startswith(("_ZTV", "_ZTI", "_ZTT", "_ZTS")):
            lines.append(f'extern "C" void* absent_{i}[32] __asm__("{symbol}"); void* absent_{i}[32];')
            continue
        elif "(" in name and _INTEGERS.issuperset(taken):
            body = "long all = 31 * a + 7 * b + 3 * c + d; return all % 5 ? all % 4096 : 0;"
        lines.append(f'extern "C" long absent_{i}(int, int, int, int) __asm__("{symbol}");')
        lines.append(f"long absent_{i}(int a, int b, int c, int d) {{ torchless_reached = 1; {body} }}")
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Outcome:
    """What a call gave back, as ``results`` tells of it, and the tensors that it made.

    ``refused``: why there was no result; ``stopped``: no check said so, but what nobody defines had been called.
    """

    results: tuple[int | Made, ...] = ()
    made: tuple[Made, ...] = ()
    refused: str = ""
    stopped: bool = False


class Original:
    """Functions of a module, called in a process that a failing check may end, which is then started anew."""

    def __init__(self, module: Any, gpu: Any) -> None:
        self._module, self._gpu = module, gpu
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._module, self._gpu, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def call(self, name: str, asked: Called) -> Outcome:
        """Call the function ``name``."""
        self._pipe.send((name, asked))
        try:
            outcome: Outcome = self._pipe.recv()
        except EOFError:
            self._process.join()
            outcome = Outcome(refused=f"died of signal {-(self._process.exitcode or 0)}")
            self._start()
        return outcome


def _serve(module: Any, gpu: Any, pipe: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what assert says
    torch.Tensor.__repr__ = object.__repr__  # type: ignore[method-assign,assignment] # messages with arguments in them
    while True:
        try:
            name, asked = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)  # ends the process
        gpu.begin(0, name, asked.device, False)  # takes back the memory of the last call

        def tensor(sizes: Sequence[int], dtype: torch.dtype, device: int) -> torch.Tensor:
            strides = torch.empty(sizes, device="meta").stride()
            made: torch.Tensor = gpu.tensor("", str(dtype).removeprefix("torch."), device, 0, sizes, strides)
            return made

        pipe.send(_call(getattr(module, name), asked.made(tensor), module.torchless_absent))


def _call(function: Any, arguments: Sequence[Any], absent: Any) -> Outcome:
    made: list[tuple[torch.Tensor, str]] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            fill = fill_of(func.overloadpacket.__name__, args, kwargs or {})
            if fill is not None:
                made.append((out, fill))
            return out

    given: tuple[int | Made, ...] = ()
    absent.value, refused, stopped = 0, "", False
    try:
        with Watch():
            given = results(function(*arguments), arguments)
    except Exception as error:
        refused = (str(error).splitlines() or [type(error).__name__])[0]
        a_check = isinstance(error, (RuntimeError, IndexError)) and not refused.startswith(NOT_BUILT)
        stopped = bool(absent.value) and not a_check
    return Outcome(given, tuple(sorted(told(*one) for one in made)), refused, stopped)


def tensors_of(result: Any) -> list[torch.Tensor]:
    """The tensors of a result, which may be one, or have some among its elements."""
    return [one for one in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(one, torch.Tensor)]


def results(result: Any, arguments: Sequence[Any]) -> tuple[int | Made, ...]:
    """The tensors of a result: the number of the argument that each is, or what tensor it is."""
    tensors = tensors_of(result)
    places = [next((i for i, argument in enumerate(arguments) if argument is one), None) for one in tensors]
    return tuple(told(t) if place is None else place for t, place in zip(tensors, places, strict=True))


_OPTIONS = TraceOptions(torch="real")
