"""torch's own functions and constants: dtypes, devices, options, factories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from torchless.hoisting import arithmetic, coercion, factories
from torchless.hoisting.members import TORCH, item_size
from torchless.hoisting.names import Names
from torchless.hoisting.number_types import number_type
from torchless.hoisting.python import Text, attribute, call, string
from torchless.hoisting.sizes import head, product, tail
from torchless.hoisting.terms import (
    Array,
    Device,
    DType,
    Group,
    MemoryFormat,
    Null,
    Optional,
    Options,
    Refused,
    Scalar,
    Tensor,
    Term,
    Uses,
    truth,
)
from torchless.hoisting.torch_names import device_of, dtype_of, memory_format_of

# Dtypes that depend on the machine, and what the Python side calls them. Source: aiter's py_itfs_common.h, dtypes.py.
_PROJECT_DTYPES = {
    "torch_fp8": "dtypes.fp8",
    "torch_fp4x2": "dtypes.fp4x2",
    "get_torch_fp8": "dtypes.fp8",
}
_PROJECT = Uses(imports=frozenset({"dtypes"}))
# Functions of torch's that launchers call by their bare names: their arguments say whose they are.
FOUND_BY_ARGUMENT = frozenset({"device_of", "size_to_dim_", "size_from_dim_", "typeMetaToScalarType"})


def project_dtype(name: str) -> DType | None:
    """The dtype that a name of the project's own stands for (``torch_fp8``), None for other names."""
    found = _PROJECT_DTYPES.get(name.rpartition("::")[2])
    return DType(Text(found), _PROJECT) if found else None


def torch_dtype(name: str) -> DType:
    """``float32`` -> torch.float32."""
    return DType(Text(f"torch.{name}"), TORCH, name)


def constant_of(canonical: str) -> Term | None:
    """The dtype, device or memory format that a canonical name (``at::kFloat``) stands for; None for other names."""
    if dtype_of(canonical):
        return torch_dtype(dtype_of(canonical))
    if device_of(canonical):
        return Device(string(device_of(canonical)))
    if memory_format_of(canonical):
        return MemoryFormat(memory_format_of(canonical))
    return Null() if canonical == "at::nullopt" else None


_TRAIT = re.compile(r"(?:c10|at|torch)::CppTypeToScalarType<(.*)>::value")


def trait(name: str, names: Names, offset: int) -> DType | None:
    """``c10::CppTypeToScalarType<float>::value``; None for other names."""
    m = _TRAIT.fullmatch(name)
    return dtype_of_type(m[1], names, offset) if m else None


def dtype_of_type(spelled: str, names: Names, offset: int) -> DType:
    """The dtype of a C++ number type. Raises Refused for other types."""
    kind = number_type(coercion.number_of(names.type(spelled)))
    if kind is None:
        raise Refused(f"the dtype of {spelled} is not known", offset)
    if kind.kind == "float":
        return torch_dtype("float32" if kind.bits == 32 else "float64")
    if kind.kind == "bool":
        return torch_dtype("bool")
    return torch_dtype(f"{'' if kind.signed else 'u'}int{kind.bits}")


KNOWN = (
    frozenset(
        {"device_of", "dtype", "device", "typeMetaToScalarType", "scalarTypeToTypeMeta", "elementSize", "promote_types",
         "promoteTypes", "isFloatingType", "isComplexType", "size_to_dim_", "size_from_dim_", "TensorOptions",
         "IntArrayRef", "Tensor", "Device", "ceil_div", "round_up"}
    )
    | factories.LIKE
    | factories.FRESH
)  # fmt: skip
"""Functions and classes that framework_call knows, without their namespace."""


def framework_call(
    name: str, template: tuple[str, ...], arguments: Sequence[Term], names: Names, offset: int
) -> Term | None:
    """What ``at::name<template>(arguments)`` gives, ``name`` out of KNOWN; None for arguments that are not understood.

    Raises Refused.
    """
    first = arguments[0] if arguments else None
    if name in factories.LIKE or name in factories.FRESH:
        return factories.as_tensor(factories.made_by(name, arguments, names, offset), offset)
    if name == "device":
        return Options(device=device_from(arguments, offset))
    if name == "Device":
        return device_from(arguments, offset)
    if name == "dtype" and template:
        return Options(dtype=dtype_of_type(template[0], names, offset))
    if name == "TensorOptions":
        return Options() if first is None else coercion.coerce(first, "at::TensorOptions", offset)
    if name == "Tensor":
        return Null() if first is None else coercion.coerce(first, "at::Tensor", offset)
    if name == "IntArrayRef":
        return factories.as_array(first if first and len(arguments) == 1 else Group(tuple(arguments)), offset)
    if name == "device_of":
        held = first.held if isinstance(first, Optional) else first
        return held.device if isinstance(held, Tensor) else None
    if name in ("size_to_dim_", "size_from_dim_") and len(arguments) == 2:
        return _size_product(name, arguments, offset)
    if name in ("ceil_div", "round_up") and len(arguments) == 2:
        return _rounded_up(name, arguments, offset)
    if isinstance(first, DType):
        return _of_dtype(name, first, arguments, offset)
    return None


def _of_dtype(name: str, dtype: DType, arguments: Sequence[Term], offset: int) -> Term | None:
    """Functions of a dtype."""
    if name == "dtype":
        return Options(dtype=dtype)
    if name in ("typeMetaToScalarType", "scalarTypeToTypeMeta"):
        return dtype
    if name == "elementSize":
        return item_size(dtype)
    if name in ("promote_types", "promoteTypes") and len(arguments) == 2:
        other = arguments[1]
        if isinstance(other, DType):
            text = call("torch.promote_types", dtype.text.text, other.text.text)
            return DType(text, dtype.uses | other.uses | TORCH)
    if name == "isFloatingType":
        return truth(attribute(dtype.text, "is_floating_point"), dtype.uses)
    if name == "isComplexType":
        return truth(attribute(dtype.text, "is_complex"), dtype.uses)
    return None


def _size_product(name: str, arguments: Sequence[Term], offset: int) -> Scalar:
    """The product of the sizes before, or from, a dimension. Source: c10/core/WrapDimMinimal.h's neighbours."""
    count, array = arguments
    if isinstance(count, Scalar) and count.constant is not None and count.low >= 0 and isinstance(array, Array):
        part = head if name == "size_to_dim_" else tail
        return product(part(array, count.low, offset), offset)
    raise Refused("the dimension that is meant is not known", offset)


def _rounded_up(name: str, arguments: Sequence[Term], offset: int) -> Scalar | None:
    """``at::ceil_div(a, b)`` and ``at::round_up(a, b)`` of one type. Source: ATen/ceil_div.h."""
    a, b = arguments
    if not isinstance(a, Scalar) or not isinstance(b, Scalar) or a.type != b.type or a.type.kind != "int":
        return None
    total = arithmetic.operate("-", arithmetic.operate("+", a, b, offset), arithmetic.constant(1), offset)
    count = arithmetic.convert(arithmetic.operate("/", total, b, offset), a.type, offset)
    return count if name == "ceil_div" else arithmetic.operate("*", count, b, offset)


def device_from(arguments: Sequence[Term], offset: int) -> Device:
    """A device out of the arguments of ``.device(...)`` or of at::Device. Raises Refused."""
    first = arguments[0] if arguments else None
    if isinstance(first, Optional):
        first = first.held
    if isinstance(first, Scalar) and first.type.kind == "string":
        first = Device(first.text, first.uses)
    if not isinstance(first, Device) or len(arguments) > 2:
        raise Refused("the device is not understood", offset)
    if len(arguments) == 2:
        index = arguments[1]
        if not isinstance(index, Scalar) or index.type.kind != "int":
            raise Refused("the device is not understood", offset)
        if index.low < 0:  # -1 is the current device in C++, and an error in Python
            raise Refused(f"the device index `{index.text.text}` may be negative", offset)
        return Device(call("torch.device", first.text.text, index.text.text), first.uses | index.uses | TORCH)
    return first


def options_member(
    options: Options, name: str, template: tuple[str, ...], arguments: Sequence[Term], names: Names, offset: int
) -> Term:
    """What ``options.name<template>(arguments)`` gives. Raises Refused."""
    first = arguments[0] if arguments else None
    if name == "dtype" and template:
        return replace(options, dtype=dtype_of_type(template[0], names, offset))
    if name in ("dtype", "device") and first is None:
        said = options.dtype if name == "dtype" else options.device
        if said is None:
            raise Refused(f"the options say no {name}", offset)
        return said
    if name == "dtype" and isinstance(first, DType):
        return replace(options, dtype=first)
    if name == "device":
        return replace(options, device=device_from(arguments, offset))
    if name == "pinned_memory" and isinstance(first, Scalar):
        return replace(options, pinned=first)
    if name == "requires_grad" and isinstance(first, Scalar) and first.constant == 0:
        return options
    if name == "memory_format" and isinstance(first, MemoryFormat):
        return replace(options, memory_format=first.name)
    raise Refused(f"`{name}` of these options is not understood", offset)
