"""Imports migrated op modules of a checkout without building anything, and sees what they hand to C++.

``compile_ops`` is a stand-in that asks torch's own ``infer_schema`` about every stub, as the target's does, and records
each call. Modules of the package that a test does not need are made up on the way.
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_FACTORIES = ("empty", "zeros", "ones", "full")
# What infer_schema has no word for, in stubs of modes that never reach it. Source: the target's torch_guard.py.
_PLAIN = (torch.Tensor, int, float, bool, str)
# Source: the target's utility/dtypes.py; some are younger than the torch at hand may be.
_DTYPES = {
    "fp8": torch.float8_e4m3fn, "fp4x2": torch.uint8, "i4x2": torch.uint8, "fp8_e8m0": torch.uint8,
    "fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "u8": torch.uint8, "i8": torch.int8,
    "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u32": torch.uint32, "u64": torch.uint64,
}  # fmt: skip
_NOT_NEEDED = frozenset({"triton", "pandas", "flydsl", "csrc"})  # what op modules import and wrappers do without


@dataclass
class FakeJit:
    """The stubs that were decorated and the calls that reached them."""

    stubs: dict[str, Callable[..., Any]] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    schemas: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    by_hand: frozenset[str] = frozenset()  # stubs of which nobody asks torch for a schema
    answers: dict[str, Callable[..., Any]] = field(default_factory=dict)  # what is called for some stubs

    def compile_ops(self, module: str, fc_name: str | None = None, **options: Any) -> Callable[..., Any]:
        """The decorator. Raises ValueError where infer_schema would refuse the stub."""

        def decorate(stub: Callable[..., Any]) -> Callable[..., Any]:
            name = fc_name or stub.__name__
            made = stub.__name__ in self.by_hand
            self.schemas[name] = "made by hand" if made else torch.library.infer_schema(stub, mutates_args="unknown")
            self.stubs[name], self.options[name] = stub, {"module": module, **options}
            signature = inspect.signature(stub)

            def call(*args: Any, **kwargs: Any) -> Any:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                if name in self.answers:
                    return self.answers[name](*bound.args)
                self.calls.append((name, dict(bound.arguments)))
                return _neutral(signature.return_annotation)

            call.__name__, call.__doc__, call.__signature__ = stub.__name__, stub.__doc__, signature  # type: ignore[attr-defined]
            return call

        return decorate


def torch_compile_guard(
    mutates_args: Sequence[str] | str = "unknown", gen_fake: Callable[..., Any] | None = None, **_: Any
) -> Callable[..., Any]:
    """The target's guard: the schema is inferred, the function stays, and remembers what fakes it as ``fake``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        torch.library.infer_schema(function, mutates_args=mutates_args)
        function.fake = gen_fake  # type: ignore[attr-defined]
        return function

    return decorate


def _neutral(annotation: Any) -> Any:
    annotation = {"int": int, "float": float, "bool": bool, "str": str}.get(annotation, annotation)
    return annotation() if annotation in (int, float, bool, str) else None


class _MadeUp(ModuleType):
    """A module that has whatever is asked of it: enumerators with a number, decorators that leave functions alone."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "dtypes":  # of the package, however it is spelled
            return SimpleNamespace(**_DTYPES)
        known = {"value": 0, "Enum": int}  # what the package calls an Enum is a number
        return known[name] if name in known else _MadeUp(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else self

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the op modules from the checkout; everything else of the package is made up."""

    def __init__(self, package: str, root: Path, jit: FakeJit, real: Sequence[str]) -> None:
        self.package, self.root, self.jit, self.real = package, root, jit, tuple(real)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in _NOT_NEEDED:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if name != self.package and not name.startswith(f"{self.package}."):
            return None
        inner = name.removeprefix(self.package).lstrip(".")
        return importlib.machinery.ModuleSpec(name, self, is_package=inner not in self.real)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        inner = spec.name.removeprefix(self.package).lstrip(".")
        if inner == spec.name:
            return _MadeUp(spec.name)
        if inner == "jit.core":
            made = ModuleType(spec.name)
            made.compile_ops = self.jit.compile_ops  # type: ignore[attr-defined]
        elif inner == "jit.utils.torch_guard":
            made = ModuleType(spec.name)
            made.torch_compile_guard = torch_compile_guard  # type: ignore[attr-defined]
        elif inner == "utility.dtypes":
            made = ModuleType(spec.name)
            made.__dict__.update(_DTYPES)
        else:
            made = ModuleType(spec.name) if inner in self.real else _MadeUp(spec.name)
        return made

    def exec_module(self, module: ModuleType) -> None:
        inner = module.__name__.removeprefix(self.package).lstrip(".")
        if inner in self.real:
            place = self.root / f"{inner.replace('.', '/')}.py"
            code = compile(place.read_text("utf-8"), str(place), "exec", dont_inherit=True)
            exec(code, module.__dict__)


def _by_hand(guard: Path) -> frozenset[str]:
    """The names that the package's guard, where it has one, does not register, or makes the schema of itself."""
    tree = ast.parse(guard.read_text("utf-8")) if guard.is_file() else ast.Module([], [])
    lists = ("MANUAL_SCHEMA_OPS", "NONE_WRAPPED_OP")
    found = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) in lists]
    return frozenset(name for names in found for name in ast.literal_eval(names))


@contextmanager
def imported(root: Path, *modules: str, package: str = "aiter") -> Iterator[tuple[FakeJit, list[ModuleType]]]:
    """The op modules (``ops.scale``) of the package below ``root``, imported over a fake JIT."""
    jit = FakeJit(by_hand=_by_hand(root / package / "jit" / "utils" / "torch_guard.py"))
    finder = _Finder(package, root / package, jit, modules)
    before = {n: m for n, m in sys.modules.items() if n == package or n.startswith(f"{package}.")}
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield jit, [importlib.import_module(f"{package}.{name}") for name in modules]
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            del sys.modules[name]
        sys.modules.update(before)


@dataclass(frozen=True, order=True)
class Made:
    """A tensor that somebody allocates, as both sides tell of it; ``fill``: with what, "" for nothing."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str
    fill: str


def fill_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """What a function of torch, called ``name`` with these arguments, fills its result with; None: it is no factory."""
    kind = name.removeprefix("new_").removesuffix("_like").removesuffix("_strided")
    if kind not in _FACTORIES:
        return None
    value = kwargs.get("fill_value", args[-1] if args else None)
    return {"empty": "", "zeros": "0", "ones": "1"}.get(kind, f"{value}")


class _Watch(TorchFunctionMode):
    """Remembers which tensors come out of a factory, and what it fills them with."""

    def __init__(self) -> None:
        self.fills: dict[int, str] = {}
        self.kept: list[Any] = []  # so that no id is used twice

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        fill = fill_of(getattr(func, "__name__", ""), args, kwargs or {})
        if fill is not None and isinstance(out, torch.Tensor):
            self.fills[id(out)] = fill
            self.kept.append(out)
        return out


def called(jit: FakeJit, function: Callable[..., Any], *args: Any) -> tuple[Any, list[Made]]:
    """Call a wrapper: what it returns, and the tensors that it allocated and handed to C++."""
    del jit.calls[:]
    watch = _Watch()
    with watch:
        result = function(*args)
    handed: dict[int, torch.Tensor] = {}
    for _, arguments in jit.calls:
        handed.update({id(v): v for v in arguments.values() if isinstance(v, torch.Tensor)})
    made = [told(v, watch.fills[i]) for i, v in handed.items() if i in watch.fills]
    return result, sorted(made)


def told(tensor: torch.Tensor, fill: str = "") -> Made:
    """A tensor as it is compared. Strides that lead to no other element are nobody's."""
    sizes = tensor.shape if tensor.numel() else (0,) * tensor.dim()
    strides = tuple(stride if size > 1 else 0 for size, stride in zip(sizes, tensor.stride(), strict=True))
    return Made(tuple(tensor.shape), strides, str(tensor.dtype), str(tensor.device), fill)
