"""torch's factory functions: which argument says what. Source: ATen's native_functions.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchless.hoisting import arithmetic
from torchless.hoisting.members import TORCH
from torchless.hoisting.names import Names
from torchless.hoisting.number_types import LONG
from torchless.hoisting.python import Text, string
from torchless.hoisting.sizes import shape_text
from torchless.hoisting.terms import (
    NOTHING,
    Array,
    Device,
    DType,
    Group,
    MemoryFormat,
    Null,
    Options,
    Refused,
    Scalar,
    Tensor,
    Term,
    Uses,
)

LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like"})
FRESH = frozenset({"empty", "zeros", "ones", "full", "empty_strided"})
MEMBERS = frozenset({"new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"})
# Factories that are allocations too, but of a kind that no Python is written for.
FOREIGN = frozenset(
    {"tensor", "from_blob", "rand", "randn", "randint", "arange", "linspace", "eye", "scalar_tensor", "randperm",
     "rand_like", "randn_like"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """What a factory is told. ``kind`` is the Python function; ``like`` the tensor that a _like function is given."""

    kind: str
    shape: Array | None
    strides: Array | None
    fill: Scalar | None
    like: Tensor | None
    options: Options


def made_by(name: str, arguments: Sequence[Term], names: Names, offset: int, owner: Tensor | None = None) -> Made:
    """The factory ``name`` called with ``arguments``; ``owner`` is the tensor whose ``new_`` member it is.

    Raises Refused.
    """
    made = _told(name, arguments, offset, owner)
    device = made.options.device
    if device is None or device.text.text != '"cuda"':
        return made
    # no index: the current device, which a guard may have set
    current = names.current_device(offset) or device
    return replace(made, options=replace(made.options, device=current))


def _told(name: str, arguments: Sequence[Term], offset: int, owner: Tensor | None) -> Made:
    rest = list(arguments)
    if name in LIKE:
        if not rest or not isinstance(rest[0], Tensor):
            raise Refused("the tensor that this one is like is not known", offset)
        like = rest.pop(0)
        assert isinstance(like, Tensor)
        fill = _fill(rest, offset) if name == "full_like" else None
        return Made(name, None, None, fill, like, _options(rest, Options(), offset))
    given = Options()
    if owner is not None:
        given = Options(owner.dtype, owner.device)
        name = name.removeprefix("new_")
    if not rest:
        raise Refused("a factory without a shape", offset)
    shape = as_array(rest.pop(0), offset)
    strides = None
    if name == "empty_strided":
        if not rest:
            raise Refused("empty_strided without strides", offset)
        strides = as_array(rest.pop(0), offset)
    fill = _fill(rest, offset) if name == "full" else None
    return Made(name, shape, strides, fill, None, _options(rest, given, offset))


def _fill(rest: list[Term], offset: int) -> Scalar:
    if not rest or not isinstance(rest[0], Scalar) or rest[0].type.kind == "string":
        raise Refused("the value that it is filled with is not known", offset)
    found = rest.pop(0)
    assert isinstance(found, Scalar)
    return found


def as_array(term: Term, offset: int) -> Array:
    """Sizes given as a list, as another tensor's sizes, or as one number."""
    if isinstance(term, Array):
        return term
    if isinstance(term, Scalar):
        return Array((_size(term, offset),))
    if isinstance(term, Group):
        if len(term.items) == 1 and isinstance(term.items[0], Array):
            return term.items[0]
        return Array(tuple(_size(item, offset) for item in term.items))
    raise Refused("the shape is not understood", offset)


def _size(term: Term, offset: int) -> Scalar:
    if not isinstance(term, Scalar) or term.type.kind not in ("int", "bool"):
        raise Refused("a size that is no integer", offset)
    value = arithmetic.convert(term, LONG, offset)
    if term.type.kind == "bool" and term.constant is None:
        text = Text(f"int({term.text.text})")
        return replace(value, text=text, uses=value.uses | Uses(builtins=frozenset({"int"})))
    return value


def _options(rest: list[Term], given: Options, offset: int) -> Options:
    """What the arguments behind shape and fill say, over what is ``given``."""
    out = given
    for term in rest:
        if isinstance(term, MemoryFormat):
            out = replace(out, memory_format=term.name)
        elif isinstance(term, Options):
            out = Options(
                term.dtype or out.dtype, term.device or out.device, term.pinned, term.memory_format or out.memory_format
            )
        elif isinstance(term, DType):
            out = replace(out, dtype=term)
        elif isinstance(term, Device):
            out = replace(out, device=term)
        elif not isinstance(term, Null):
            raise Refused("an argument of the factory is not understood", offset)
    return out


def as_tensor(made: Made, offset: int) -> Tensor:
    """The tensor that comes out."""
    if made.like is not None:
        like = made.like
        dtype = made.options.dtype or like.dtype
        device = made.options.device or like.device
        return Tensor(None, like.sizes, dtype, device, like.uses, contiguous=like.contiguous)
    assert made.shape is not None
    dtype = made.options.dtype
    device = made.options.device or Device(string("cpu"))
    uses = made.shape.uses | (dtype.uses if dtype else NOTHING) | device.uses
    plain = made.strides is None and not made.options.memory_format
    return Tensor(None, made.shape, dtype, device, uses, contiguous=plain)


def words(made: Made, offset: int) -> tuple[str, list[str], Uses]:
    """The function of Python's torch, the arguments of the call, positional ones first, and what they need."""
    made = _without_contiguous(made)
    options, like, uses = made.options, made.like, TORCH
    out: list[str] = []
    if like is not None:
        if like.text is None:
            raise Refused("the tensor that this one is like is not one that Python has", offset)
        uses |= like.uses
        out.append(like.text.text)
    for array in (made.shape, made.strides):
        if array is not None:
            uses |= array.uses
            out.append(shape_text(array).text)
    if made.fill is not None:
        uses |= made.fill.uses
        out.append(made.fill.text.text)
    dtype, device = options.dtype, options.device
    if dtype is not None and not (like is not None and dtype == like.dtype):
        uses |= dtype.uses
        out.append(f"dtype={dtype.text.text}")
    if device is None and like is None:
        device = Device(string("cpu"))
    if device is not None and not (like is not None and device == like.device):
        uses |= device.uses
        out.append(f"device={device.text.text}")
    if options.pinned is not None and options.pinned.constant != 0:
        uses |= options.pinned.uses
        out.append(f"pin_memory={options.pinned.text.text}")
    if options.memory_format:
        out.append(f"memory_format=torch.{options.memory_format}")
    return made.kind, out, uses


def _without_contiguous(made: Made) -> Made:
    """``empty_like(x.contiguous())`` says no more than the shape, the dtype and the device.

    But for the stride of a dimension of size 1, which nobody steps along.
    """
    like = made.like
    if like is None or like.text is not None or not like.contiguous or like.sizes is None:
        return made
    options = replace(made.options, dtype=made.options.dtype or like.dtype, device=made.options.device or like.device)
    return replace(made, kind=made.kind.removesuffix("_like"), shape=like.sizes, like=None, options=options)
