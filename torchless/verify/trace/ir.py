"""What the compiler's own intermediate code says about kernels: their names, and where their arguments lie.

For each kernel the host pass emits a *device stub*, the function that ``<<<...>>>`` calls. It stores each argument in a
variable and hands hipLaunchKernel an array of their addresses, but no sizes. At -O0 and with names kept, the text of
that function (LLVM's assembly) holds all that is missing: the type of each variable, from which follow the offset and
kind of every number and pointer inside it, padding left out, and the parameter's name in the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Leaf = tuple[int, str]
"""Offset in bytes, and LLVM's name of a scalar type (ptr, i32, float ...)."""

MAX_LEAVES = 512
"""Arguments of more values than this are read as plain eight-byte words."""


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A parameter of a kernel: its name in the source ("" when it has none) and the scalars it consists of."""

    name: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel by the mangled name under which it is registered."""

    symbol: str
    params: tuple[KernelParam, ...]


class LayoutError(ValueError):
    """A type in the text that this module does not know; the message quotes it."""


def read_kernels(text: str) -> tuple[Kernel, ...]:
    """The kernels of one unit, from its LLVM assembly, in order of their names. Raises LayoutError."""
    types = _named_types(text)
    found: dict[str, Kernel] = {}
    for stub in _STUB.finditer(text):
        body = stub[0]
        launch = _LAUNCH.search(body)
        if launch is None:
            continue
        variables = dict(_ALLOCA.findall(body)) | _by_value(body[: body.index("\n")])
        slots = dict(_SLOT_INDEX.findall(body))
        order = {int(slots[slot]): value for value, slot in _SLOT_STORE.findall(body) if slot in slots}
        params = []
        for index in sorted(order):
            variable = order[index]
            name = re.sub(r"\.addr\d*$", "", _unquoted(variable))
            leaves = layout(variables[variable], types)
            params.append(KernelParam("" if name.isdigit() else name, leaves))
        symbol = _unquoted(launch[1])
        found[symbol] = Kernel(symbol, tuple(params))
    return tuple(found[symbol] for symbol in sorted(found))


def read_parameter_names(text: str) -> dict[str, tuple[str, ...]]:
    """The names of the parameters of every function that is defined, by mangled name.

    A parameter that travels in two registers counts once; where a result is returned is left out.
    """
    out: dict[str, tuple[str, ...]] = {}
    for symbol, params in _DEFINE.findall(text):
        names: dict[str, None] = {}
        for param in _split(params):
            name = re.search(r'%([-\w.$]+|"[^"]*")$', param.strip())
            if name is None or " sret(" in param:
                continue
            names[re.sub(r"\.coerce\d*$", "", _unquoted(name[1]))] = None
        out[_unquoted(symbol)] = tuple(names)
    return out


def undefined_offload_symbols(text: str) -> tuple[str, ...]:
    """The symbols of the device code that was not built: the program links only when somebody defines them."""
    return tuple(sorted(set(_OFFLOAD.findall(text))))


def layout(spelled: str, types: Mapping[str, str]) -> tuple[Leaf, ...]:
    """The scalars of a type, by offset; eight-byte words when there are too many. ``types`` are named structures."""
    leaves, size, _ = _layout(spelled.strip(), types, 0)
    if len(leaves) > MAX_LEAVES:
        return tuple((offset, "i64") for offset in range(0, size - 7, 8))
    return tuple(leaves)


def _layout(spelled: str, types: Mapping[str, str], depth: int) -> tuple[list[Leaf], int, int]:
    """(scalars, size, alignment) of a type on x86-64."""
    if depth > 40:
        raise LayoutError(spelled)
    if spelled in _SCALARS:
        size = _SCALARS[spelled]
        return [(0, spelled)], size, min(size, 16)
    if spelled.startswith("%"):
        return _layout(types[spelled], types, depth + 1)
    if spelled.startswith("<{"):
        return _structure(_split(spelled[2:-2]), types, depth, packed=True)
    if spelled.startswith("{"):
        return _structure(_split(spelled[1:-1]), types, depth, packed=False)
    repeated = _REPEATED.fullmatch(spelled)
    if repeated is None:
        raise LayoutError(spelled)
    count = int(repeated[2])
    inner, size, align = _layout(repeated[3].strip(), types, depth + 1)
    leaves = [(i * size + offset, kind) for i in range(min(count, MAX_LEAVES + 1)) for offset, kind in inner]
    if repeated[1] == "[":
        return leaves, size * count, align
    whole = 1 << (size * count - 1).bit_length()  # a vector is as large as the next power of two, and aligned so
    return leaves, whole, whole


def _structure(
    members: list[str], types: Mapping[str, str], depth: int, *, packed: bool
) -> tuple[list[Leaf], int, int]:
    leaves: list[Leaf] = []
    end, widest = 0, 1
    for member in members:
        inner, size, align = _layout(member.strip(), types, depth + 1)
        align = 1 if packed else align
        start = -(-end // align) * align
        leaves += [(start + offset, kind) for offset, kind in inner]
        end, widest = start + size, max(widest, align)
    return leaves, -(-end // widest) * widest, widest


def _split(text: str) -> list[str]:
    """The parts between top-level commas."""
    parts: list[str] = []
    depth, start, quoted = 0, 0, False
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif c in "({[<":
            depth += 1
        elif c in ")}]>":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    rest = text[start:]
    return [*parts, rest] if rest.strip() else parts


def _named_types(text: str) -> dict[str, str]:
    return {name: body.strip() for name, body in _TYPE.findall(text)}


def _by_value(head: str) -> dict[str, str]:
    """Structures that are passed in memory: the stub takes the address of the parameter itself."""
    found = {}
    for param in _split(head[head.index("(") + 1 : head.rindex(")")]):
        at = param.find("byval(")
        if at < 0:
            continue
        inner = param[at + len("byval(") :]
        depth = 1
        for i, c in enumerate(inner):
            depth += (c == "(") - (c == ")")
            if depth == 0:
                found[param.rsplit("%", 1)[1].strip()] = inner[:i]
                break
    return found


def _unquoted(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


_NAME = r'(?:[-\w.$]+|"[^"]*")'
_TYPE = re.compile(rf"^(%{_NAME}) = type (.+)$", re.M)
_STUB = re.compile(r"^define [^\n]*__device_stub__[^\n]*\{\n.*?^\}", re.M | re.S)
_LAUNCH = re.compile(rf"call [^\n]*@hipLaunchKernel\w*\(ptr noundef @({_NAME})")
_ALLOCA = re.compile(rf"^  %({_NAME}) = alloca (.+?)(?:, i\d+ \d+)?, align \d+$", re.M)
_SLOT_INDEX = re.compile(r"^  %(\d+) = getelementptr ptr, ptr %kernel_args\d*, i32 (\d+)$", re.M)
_SLOT_STORE = re.compile(rf"^  store ptr %({_NAME}), ptr %(\d+), align 8$", re.M)
_DEFINE = re.compile(rf"^define [^@\n]*@({_NAME})\((.*)\)[^)\n]*\{{$", re.M)
_OFFLOAD = re.compile(r"^@(__hip_(?:fatbin|gpubin_handle)_\w*) = external ", re.M)
_REPEATED = re.compile(r"([\[<])(\d+) x (.+)[\]>]", re.S)
_SCALARS = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16, "half": 2, "bfloat": 2, "float": 4, "double": 8,
    "x86_fp80": 16, "fp128": 16, "ptr": 8,
}  # fmt: skip
