"""The same thing under two names: types in kernels, dtypes in messages, and what checks put around their words.

Everything that is taken for the same stands in this file.
"""

from __future__ import annotations

import re

from torchless.verify.trace.model import Record

_LAUNCHER = re.compile(r"(\w)\((?:[^(){}]|\([^(){}]*\))*\)(?: const)?(::\{lambda)")

# Element types: torch's, HIP's and the compiler's names for the same bits. Longest first where one starts another.
_TYPES = {
    "fp16": ("c10::Half", "at::Half", "torch::Half", "__half", "_Float16", "half_float::half", "half"),
    "bf16": ("c10::BFloat16", "at::BFloat16", "__hip_bfloat16", "hip_bfloat16", "__bf16", "std::bfloat16_t"),
    "fp8": (
        "c10::Float8_e4m3fnuz",
        "c10::Float8_e4m3fn",
        "__hip_fp8_e4m3_fnuz",
        "__hip_fp8_e4m3",
        "hip_fp8_e4m3_fnuz",
    ),
    "bf8": ("c10::Float8_e5m2fnuz", "c10::Float8_e5m2", "__hip_fp8_e5m2_fnuz", "__hip_fp8_e5m2"),
    "fp8_e8m0": ("c10::Float8_e8m0fnu",),
    "fp4x2": ("c10::Float4_e2m1fn_x2",),
}
_TYPE_OF = {name: short for short, names in _TYPES.items() for name in names}
_TYPE = re.compile(r"(?<![\w:])(?:" + "|".join(sorted(map(re.escape, _TYPE_OF), key=len, reverse=True)) + r")(?![\w:])")

# Dtypes in messages: torch's ScalarType and TypeMeta, Python's and the target's words.
_DTYPES = {
    "fp64": ("Double", "float64", "double"),
    "fp32": ("Float", "float32", "float"),
    "fp16": ("Half", "float16", "half"),
    "bf16": ("BFloat16", "bfloat16"),
    "i64": ("Long", "int64", "long int"),
    "i32": ("Int", "int32", "int"),
    "i16": ("Short", "int16", "short int"),
    "i8": ("Char", "int8", "signed char"),
    "u8": ("Byte", "uint8", "unsigned char"),
    "u16": ("UInt16", "uint16", "short unsigned int"),
    "u32": ("UInt32", "uint32", "unsigned int"),
    "u64": ("UInt64", "uint64", "long unsigned int"),
    "fp8": ("Float8_e4m3fnuz", "Float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3fn"),
    "fp8_e8m0": ("Float8_e8m0fnu", "float8_e8m0fnu"),
    "fp4x2": ("Float4_e2m1fn_x2", "float4_e2m1fn_x2"),
}
_DTYPE_OF = {name: short for short, names in _DTYPES.items() for name in names}
_DTYPE = re.compile(
    r"(?:(?:torch|at|c10)(?:::|\.)(?:ScalarType::)?(?:k(?=[A-Z]))?)?\b("
    + "|".join(sorted(map(re.escape, _DTYPE_OF), key=len, reverse=True))
    + r")\b"
)

_SHORT = re.compile(r"\b(?:" + "|".join(sorted(_DTYPES, key=len, reverse=True)) + r"|Bool|bool|Float8_\w+)\b")

# A check in front of its message: "[AITER] csrc/kernels/x.cu:12 " (the target's), "csrc/kernels/x.cu:12: ".
_PLACE = re.compile(r"^(?:\[[A-Za-z]+\] )?(\S+?\.(?:cu|cuh|cpp|h|hpp|hip|cc|inc)):(\d+):?[ \t]*", re.M)
# A check without a message of its own, as torch and as the target put it.
_NO_MESSAGE = re.compile(
    r"Expected .* to be true, but got false\. .*|check failed|\[F\d+ [\d:.]+ \S+\] Check failed: .*", re.S
)

# What torch itself says, in a macro that stands in the launcher's file or in its own.
_FRAMEWORK = re.compile(
    r"expected scalar type .* but found"
    r"|\"[^\"]*\" not implemented for '"
    r"|Dimension (?:out of range|specified as)"
    r"|^HIP error: "
    r"|fail to call \w+"
    r"|Unsupported dtype: |supports at most 8 dims"
    r"|INTERNAL ASSERT"
)


def kernel_name(demangled: str) -> str:
    """A kernel's name with one name for each element type: ``void f<__half>(int)`` is ``void f<fp16>(int)``.

    A lambda of a launcher is named by the launcher, and the state of a generator is what it holds (without_hosts()).
    """
    return _TYPE.sub(lambda m: _TYPE_OF[m[0]], without_hosts(demangled))


def without_hosts(demangled: str) -> str:
    """A kernel's name without what only its launcher's parameters put there.

    ``k<run(int)::{lambda(int)#1}>`` says ``run(...)``, and the state of a generator of torch's is a seed and an offset.
    """
    return _LAUNCHER.sub(r"\1(...)\2", demangled).replace("at::PhiloxCudaState", "unsigned long, unsigned long")


def short_kernel(demangled: str) -> str:
    """The name without result and parameters: ``f<fp16>``."""
    name = kernel_name(demangled)
    depth = 0
    end = len(name)
    for i, c in enumerate(name):
        if c == "<":
            depth += 1
        elif c == ">" and name[i - 1 : i] != "-":
            depth -= 1
        elif c == "(" and depth == 0 and not name.startswith("(anonymous namespace)", i):
            end = i
            break
    head = name[:end]
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        depth += (head[i] == ">") - (head[i] == "<")
        if head[i] == " " and depth == 0 and not head.startswith("(anonymous namespace)", i - 10):
            return head[i + 1 :]
    return head


def leaf(text: str) -> str:
    """One value of an argument: numbers of 16 bits by their bits, whatever type holds them."""
    kind, _, value = text.partition(":")
    if kind == "i16":
        return f"16:{int(value) & 0xFFFF:#06x}"
    if kind in ("half", "bfloat"):
        return f"16:{int(value, 16):#06x}"
    return text


def message_of(record: Record) -> str:
    """What a refused call said, without the place and the prefix of the check, and with dtypes under one name."""
    text = record.message
    places = list(_PLACE.finditer(text))
    if places:
        text = text[places[-1].end() :]
    if _NO_MESSAGE.fullmatch(text.strip()):
        return ""
    return _DTYPE.sub(lambda m: _DTYPE_OF[m[1]], " ".join(text.split()))


def without_details(message: str) -> str:
    """A message from message_of() with every dtype as T and every number as 0: what kind of message it is."""
    return re.sub(r"-?\d+", "0", _SHORT.sub("T", message))


def place_of(record: Record) -> str:
    """Where a refused call says that it was refused, as ``path:line``; "" when it does not say."""
    places = list(_PLACE.finditer(record.message))
    return record.where or (f"{places[-1][1]}:{places[-1][2]}" if places else "")


def authored(record: Record) -> bool:
    """Whether the words of a refusal are the launcher's own, rather than those of torch or of the runtime."""
    if record.outcome == "refused" or _FRAMEWORK.search(record.message):
        return False
    place = place_of(record)
    return bool(place) and not place.startswith("/")
