"""What a declared type makes of the value that it is given."""

from __future__ import annotations

import re

from torchless.hoisting import arithmetic
from torchless.hoisting.factories import as_array
from torchless.hoisting.number_types import number_type
from torchless.hoisting.terms import (
    TRUE,
    Array,
    Device,
    DType,
    Group,
    MemoryFormat,
    Null,
    Opaque,
    Optional,
    Options,
    Refused,
    Scalar,
    Tensor,
    Term,
)

_TENSORS = frozenset({"Tensor", "TensorBase"})
_STRINGS = frozenset({"string", "string_view"})
_ARRAYS = re.compile(
    r"(?:c10::|at::|torch::)?(?:Sym)?IntArrayRef"
    r"|(?:std::vector|c10::SmallVector|at::DimVector|c10::ArrayRef|at::ArrayRef|std::array|std::initializer_list)"
    r"<(?:std::)?(?:int64_t|long|long long|int|size_t|uint32_t|int32_t|c10::SymInt)(?:,[0-9]+)?>|at::DimVector"
)
_OPTIONAL = re.compile(r"(?:std::|c10::|torch::|at::)?optional<(.*)>")
# Integer types of the libraries that launchers lean on.
# Sources: ck/utility/data_type.hpp, ck_tile/core/numeric/integer.hpp
_LIBRARY_TYPES = {
    "ck::index_t": "int32_t",
    "ck::long_index_t": "int64_t",
    "ck_tile::index_t": "int32_t",
    "ck_tile::long_index_t": "int64_t",
    "hipStream_t": "",
}


def strip(spelled: str) -> str:
    """A spelled type without const, &, * stays; no leading ::."""
    text = re.sub(r"\b(?:const|volatile|constexpr|static|inline|typename|register)\b", " ", spelled)
    text = text.replace("&", " ")
    text = re.sub(r"\s*(::|<|>|,|\*)\s*", r"\1", text)
    return " ".join(text.split()).removeprefix("::")


def kind_of(spelled: str) -> str:
    """A word for a type without specifiers: number, tensor, optional, string, array, dtype, options ..., ""."""
    last = spelled.rpartition("::")[2]
    root = spelled.partition("::")[0] if "::" in spelled else ""
    if number_type(_LIBRARY_TYPES.get(spelled, spelled)) is not None:
        return "number"
    if spelled in ("auto", "decltype(auto)"):
        return "auto"
    if spelled.endswith("*"):
        return "string" if spelled == "char*" else ""
    if _OPTIONAL.fullmatch(spelled):
        return "optional"
    if _ARRAYS.fullmatch(spelled):
        return "array"
    if root in ("", "at", "torch", "c10", "caffe2"):
        if last in _TENSORS:
            return "tensor"
        if last in ("ScalarType", "TypeMeta", "Dtype"):
            return "dtype"
        if last == "TensorOptions":
            return "options"
        if last in ("Device", "DeviceType"):
            return "device"
        if last == "MemoryFormat":
            return "memory format"
    if root in ("", "std", "c10") and last in _STRINGS:
        return "string"
    return ""


def number_of(spelled: str) -> str:
    """The plain spelling of an integer type of a library that launchers lean on; other types as they are."""
    return _LIBRARY_TYPES.get(spelled, spelled)


def optional_of(spelled: str) -> str:
    """What an optional type holds: ``std::optional<int>`` -> ``int``; "" for other types."""
    m = _OPTIONAL.fullmatch(spelled)
    return m[1] if m else ""


def default(spelled: str, offset: int) -> Term:
    """The value of a variable of that type that nobody gave one. Raises Refused when it has none."""
    kind = kind_of(spelled)
    if kind in ("tensor", "optional"):
        return Null()
    if kind == "string":
        return arithmetic.string_literal("")
    if kind == "array":
        return Array(())
    if kind == "options":
        return Options()
    if not kind:
        raise Refused(f"the type {spelled} is not known here", offset)
    raise Refused("a variable that may have no value yet", offset)


def coerce(term: Term, spelled: str, offset: int) -> Term:
    """``term`` as the value of a variable whose type is ``spelled`` (stripped). Raises Refused."""
    kind = kind_of(spelled)
    if isinstance(term, Opaque):
        return term
    if kind == "auto":
        return term
    if kind == "number":
        target = number_type(number_of(spelled))
        assert target is not None
        if isinstance(term, Scalar):
            return arithmetic.convert(term, target, offset)
        if isinstance(term, Optional) and target.kind == "bool":
            return term.present
    if kind == "optional":
        if isinstance(term, (Null, Optional)):
            return term
        return Optional(coerce(term, strip(optional_of(spelled)), offset), TRUE)
    if kind == "tensor" and isinstance(term, (Tensor, Null)):
        return term
    if kind == "string" and isinstance(term, Scalar) and term.type.kind == "string":
        return term
    if kind == "array" and isinstance(term, (Array, Group)):
        return as_array(term, offset)
    if kind == "dtype" and isinstance(term, DType):
        return term
    if kind == "device" and isinstance(term, Device):
        return term
    if kind == "memory format" and isinstance(term, MemoryFormat):
        return term
    if kind == "options":
        if isinstance(term, Options):
            return term
        if isinstance(term, DType):
            return Options(dtype=term)
        if isinstance(term, Device):
            return Options(device=term)
    if kind == "":
        raise Refused(f"the type {spelled} is not known here", offset)
    raise Refused(f"a value of the type {spelled} was expected", offset)
