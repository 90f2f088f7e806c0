"""Calls Python ops of a checkout on the fake HIP runtime. Run as a script, in a process of its own: it imports nothing
of torchless.

    python call_ops.py JOB.json ANSWER.json

The job: runtime (the library of verify/runtime), libraries (module name -> shared object), root and texts (the
checkout; root-relative path -> file to read instead), package, ops (Python modules to import), kernels (lines for
describe), arch, journal, calls. A call: index, entry, module, function, args, kwargs, device, capture, named (whether
the C++ function gets its arguments by the names that the op gives them); values as in value_of().
The answer: error ("" or one line), files (root-relative: what was imported of the checkout).

The ops are the checkout's own, wrappers and all. What is not: `jit.core`, whose compile_ops would build (the one here
converts and calls as that one does), and packages that are not installed, which become blanks.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from checkout import Checkout, Refused, blank  # type: ignore[import-not-found] # beside this file


def main() -> None:
    """Do what the job says."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    answer: dict[str, Any] = {"error": "", "files": []}
    os.environ.update(GPU_ARCHS=job["arch"], CU_NUM="304", ENABLE_CK="0")
    sys.setdlopenflags(os.RTLD_LAZY)  # what nobody defines matters when it is called
    import torch

    runtime = torch_with_devices(torch, job["runtime"])
    runtime.open_journal(job["journal"])
    runtime.architecture(job["arch"])
    for line in job["kernels"]:
        runtime.describe(line)
    checkout = Checkout(job["root"], job["texts"], job["package"])
    try:
        ops = Ops(torch, runtime, checkout, job["libraries"], job["arch"])
        functions = {name: checkout.load(name) for name in job["ops"]}
        for name in job["libraries"]:
            ops.get_module(name)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {(str(error).splitlines() or ['?'])[0]}"
        functions = {}
    for call in job["calls"] if functions else ():
        in_child(call["index"], functools.partial(make, call, functions, torch, runtime, ops))
    answer["files"] = sorted(checkout.files)
    Path(sys.argv[2]).write_text(json.dumps(answer), "utf-8")
    os._exit(0)  # what torch and blanks do at the end is nobody's message


def torch_with_devices(torch: Any, library: str) -> Any:
    """The operators of the runtime; torch takes its devices for real ones from here on."""
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    runtime = torch.ops.torchless

    class Stream:
        def __init__(self, device: int) -> None:
            self.device_index = device
            self.device = torch.device("cuda", device)
            self.cuda_stream = runtime.stream(device)

        def synchronize(self) -> None:
            runtime.wait()

        def wait_stream(self, other: object) -> None: ...

    def index_of(device: Any = None) -> int:
        if device is None:
            return int(runtime.current_device())
        if isinstance(device, int):
            return device
        index = torch.device(device).index
        return int(runtime.current_device()) if index is None else int(index)

    class Device:
        def __init__(self, device: Any) -> None:
            self.index = index_of(device)

        def __enter__(self) -> None:
            self.before = runtime.current_device()
            runtime.set_device(self.index)

        def __exit__(self, *_: object) -> None:
            runtime.set_device(self.before)

    class Generator:
        """That of a device, as the runtime has it in a process in which nothing was drawn yet."""

        def __init__(self, device: int) -> None:
            self.seed, self.offset = 67280421310721 + device, 0

        def initial_seed(self) -> int:
            return self.seed

        def get_offset(self) -> int:
            return self.offset

        def set_offset(self, offset: int) -> None:
            self.offset = offset

    properties = {"multi_processor_count": 304, "warp_size": 64, "name": "fake", "total_memory": 192 << 30}
    cuda = torch.cuda
    cuda._lazy_init = cuda.init = cuda.synchronize = lambda *_: None
    cuda.synchronize = lambda *_: runtime.wait()
    cuda.is_available = cuda.is_initialized = lambda: True
    cuda.device_count = lambda: 2
    cuda.current_device = lambda: int(runtime.current_device())
    cuda.set_device = lambda device: runtime.set_device(index_of(device))
    cuda.current_stream = cuda.default_stream = lambda device=None: Stream(index_of(device))
    cuda.is_current_stream_capturing = lambda: False
    cuda.get_device_properties = lambda device=None: blank("properties", **properties)
    cuda.get_device_name = lambda device=None: "fake"
    cuda.device = Device
    cuda.default_generators = (Generator(0), Generator(1))
    torch.version.hip = "7.0.0"
    return runtime


class Ops:
    """What stands for jit.core and its kin in the checkout."""

    def __init__(self, torch: Any, runtime: Any, checkout: Checkout, libraries: dict[str, str], arch: str) -> None:
        """Put the stand-ins in place of the checkout's modules."""
        self.torch = torch
        self.runtime = runtime
        self.libraries = libraries
        self.loaded: dict[str, Any] = {}
        self.defined: Any = None
        self.named = False
        package = checkout.package
        self.names = f"{package}.utility.dtypes"
        self.checkout = checkout
        checkout.stand_in(f"{package}.jit.core", compile_ops=self.compile_ops, get_module=self.get_module)
        architecture = dict.fromkeys(("get_gfx", "get_gfx_runtime", "get_gfx_custom_op_core"), lambda *_: arch)
        checkout.stand_in(f"{package}.jit.utils.chip_info", get_cu_num=lambda: 304, **architecture)

    def get_module(self, name: str) -> Any:
        """The module ``name``, loaded once from its shared object."""
        if name not in self.loaded:
            if name not in self.libraries:
                raise NotTracedError(f"{name} was not built for this")
            self.loaded[name] = loaded(name, self.libraries[name])
        return self.loaded[name]

    def compile_ops(
        self,
        _md_name: str,
        fc_name: str | None = None,
        gen_func: Callable[..., Any] | None = None,
        gen_fake: Callable[..., Any] | None = None,
        ffi_type: str = "pybind",
        develop: bool = False,
        **_: object,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The target's decorator, which finds the library there already."""

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            name = fc_name or function.__name__
            names = list(inspect.signature(function).parameters)

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                if ffi_type != "pybind" or gen_func is not None:
                    raise NotTracedError(f"{name} is not a plain pybind op")
                module = self.get_module(_md_name)
                op = getattr(module, name)
                if develop:
                    args = tuple(self.converted(a) for a in args)
                    kwargs = {k: self.converted(v) for k, v in kwargs.items()}
                    module._set_current_hip_stream(self.torch.cuda.current_stream().cuda_stream)
                if self.named:
                    args, kwargs = (), {**dict(zip(names, args, strict=False)), **kwargs}
                return op(*args, **kwargs)

            return self.guarded(function, call, gen_fake)

        return decorate

    def converted(self, value: Any) -> Any:
        """A tensor as the target's; anything else, lists of tensors too, as it is."""
        if not isinstance(value, self.torch.Tensor):
            return value
        convert = tensor_converter(self.checkout, self.names, self.get_module)
        try:
            return convert(value)
        except (AssertionError, KeyError) as error:
            raise Refused(str(error)) from None

    def guarded(self, function: Callable[..., Any], call: Callable[..., Any], fake: Any) -> Callable[..., Any]:
        """``call`` behind torch's dispatcher, which leaves out trailing arguments that are their default."""
        if self.checkout.has(f"{self.checkout.package}.jit.utils.torch_guard"):
            guard = self.checkout.load(f"{self.checkout.package}.jit.utils.torch_guard").torch_compile_guard
            guarded: Callable[..., Any] = guard(device="cuda", gen_fake=fake, calling_func_=function)(call)
            return guarded
        library = self.torch.library
        if self.defined is None:
            self.defined = library.Library("torchless_ops", "FRAGMENT")
        try:
            schema = library.infer_schema(function, mutates_args="unknown")
        except (ValueError, TypeError):
            return call
        first = next(iter(inspect.signature(function).parameters.values()), None)
        if first is None or first.annotation is not self.torch.Tensor or not schema.endswith("()"):
            return call
        name = f"{function.__module__.replace('.', '_')}_{function.__name__}"
        self.defined.define(name + schema)
        for key in ("CUDA", "CPU"):
            self.defined.impl(name, call, key)
        op = getattr(self.torch.ops.torchless_ops, name)
        return functools.wraps(function)(lambda *args, **kwargs: op(*args, **kwargs))


class NotTracedError(Exception):
    """The call leads to something that is not built here."""


def loaded(name: str, path: str) -> Any:
    """A pybind module by its name, or by the one that its build gave it."""
    for known in (name, "extension"):
        loader = importlib.machinery.ExtensionFileLoader(known, path)
        spec = importlib.util.spec_from_loader(known, loader, origin=path)
        assert spec is not None
        try:
            module = importlib.util.module_from_spec(spec)
        except ImportError as error:
            if "export function" not in str(error):
                raise
            continue
        loader.exec_module(module)
        return module
    raise ImportError(f"{path} is no module")


# AiterDtype in its order; what a torch lacks is passed over.
_DTYPES = (
    "float8_e4m3fnuz", "float8_e8m0fnu", "float16", "bfloat16", "float32", "int4", "float4_e2m1fn_x2", "uint32",
    "int32", "int16", "int8", "uint8", "int64", "uint64",
)  # fmt: skip


def tensor_converter(checkout: Checkout, names: str, get_module: Callable[[str], Any]) -> Callable[[Any], Any]:
    """The checkout's own conversion of a tensor, ours where it has none."""
    if checkout.has(names):
        own = getattr(checkout.load(names), "torch_to_aiter_pybind", None)
        if own is not None and inspect.isfunction(own):
            return own

    def convert(tensor: Any) -> Any:
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in _DTYPES:
            raise Refused(f"Unsupported dtype: {tensor.dtype}")
        if tensor.dim() > 8:
            raise Refused(f"aiter_tensor_t supports at most 8 dims, got {tensor.dim()}")
        index = -1 if tensor.device.index is None else tensor.device.index
        made = get_module("module_aiter_core").aiter_tensor_t
        where = (tensor.data_ptr(), tensor.numel(), tensor.dim())
        return made(*where, list(tensor.shape), list(tensor.stride()), _DTYPES.index(dtype), index)

    return convert


def value_of(spec: Any, torch: Any, runtime: Any) -> Any:
    """A value of the job: {"tensor": [name, dtype, device, offset, sizes, strides]}, {"tensors": [...]},
    {"dtype": name}, {"float": number as text}, and the rest as it stands.
    """
    if not isinstance(spec, dict):
        return spec
    [(kind, value)] = spec.items()
    if kind == "tensor":
        return runtime.tensor(*value)
    if kind == "tensors":
        return [runtime.tensor(*one) for one in value]
    if kind == "dtype":
        return getattr(torch, value)
    return float.fromhex(value)


def make(call: dict[str, Any], functions: dict[str, Any], torch: Any, runtime: Any, ops: Ops) -> None:
    """Make one call and write down what came of it."""
    index = call["index"]
    runtime.begin(index, call["entry"], call["device"], call["capture"])
    try:
        args = [value_of(v, torch, runtime) for v in call["args"]]
        kwargs = {k: value_of(v, torch, runtime) for k, v in call["kwargs"].items()}
        ops.named = call["named"]
        with torch.no_grad():
            result = getattr(functions[call["module"]], call["function"])(*args, **kwargs)
        runtime.end(index, "returned", "", "", shown(result, torch, runtime))
    except Refused as error:
        runtime.end(index, "threw", "conversion", str(error), [])
    except NotTracedError as error:
        runtime.end(index, "threw", "missing", str(error), [])
    except Exception as error:
        # where in its own sources torch raised something, and through which frames, is no part of the message
        words = str(error).partition("\nException raised from ")[0].partition("\nInvoked with: ")[0].rstrip()
        kind = "missing" if "Could not run 'aten::" in words else type(error).__name__
        if isinstance(error, (RuntimeError, IndexError)):
            runtime.end(index, "threw", kind, words, [])
        else:
            runtime.end(index, "threw", kind, f"{kind}: {words}", [])


def shown(value: Any, torch: Any, runtime: Any) -> Sequence[str]:
    """A result as words."""
    if value is None:
        return []
    if isinstance(value, torch.Tensor):
        return [runtime.shown(value)]
    if isinstance(value, (tuple, list)):
        return [str(len(value)), *(word for v in value for word in shown(v, torch, runtime))]
    return [repr(value)]


def in_child(index: int, work: Callable[[], None]) -> None:
    """Do ``work`` in a process of its own: a failing check may end it."""
    marker = f"\1call {index}\n".encode()
    os.write(2, marker)
    child = os.fork()
    if child == 0:
        code = 0
        try:
            signal.setitimer(signal.ITIMER_PROF, 20)
            work()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            code = 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        line = json.dumps({"event": "died", "call": index, "signal": number}) + "\n"
        with Path(json.loads(Path(sys.argv[1]).read_text("utf-8"))["journal"]).open("a", encoding="utf-8") as journal:
            journal.write(line)


if __name__ == "__main__":
    main()
