"""Choices between two terms, and whether two terms are the same."""

from __future__ import annotations

from dataclasses import replace

from torchless.hoisting import arithmetic
from torchless.hoisting.python import attribute, binary, conditional
from torchless.hoisting.sizes import shape_text
from torchless.hoisting.terms import (
    FALSE,
    TRUE,
    Array,
    Device,
    DType,
    Null,
    Opaque,
    Optional,
    Options,
    Refused,
    Rest,
    Scalar,
    Tensor,
    Term,
    both,
    truth,
)


def select(condition: Scalar, then: Term, other: Term, offset: int) -> Term:
    """``condition ? then : other``, the condition a truth value."""
    if then == other:
        return then
    if condition.constant is not None and not isinstance(then, Scalar):
        return then if condition.constant else other
    for term in (then, other):
        if isinstance(term, Opaque):
            raise Refused(term.reason, term.offset)
    if isinstance(then, Scalar) and isinstance(other, Scalar):
        return arithmetic.select(condition, then, other, offset)
    if isinstance(then, Null) or isinstance(other, Null):
        return _maybe(condition, then, other, offset)
    if isinstance(then, Optional) and isinstance(other, Optional):
        present = arithmetic.select(condition, then.present, other.present, offset)
        return Optional(select(condition, then.held, other.held, offset), present)
    if isinstance(then, Optional):
        return select(condition, then, Optional(other, TRUE), offset)
    if isinstance(other, Optional):
        return select(condition, Optional(then, TRUE), other, offset)
    if isinstance(then, Tensor) and isinstance(other, Tensor):
        return _tensor_choice(condition, then, other, offset)
    if isinstance(then, DType) and isinstance(other, DType):
        return _dtype_choice(condition, then, other)
    if isinstance(then, Device) and isinstance(other, Device):
        return _device_choice(condition, then, other)
    if isinstance(then, Options) and isinstance(other, Options):
        if (then.pinned, then.memory_format) != (other.pinned, other.memory_format):
            raise Refused("the options differ in more than dtype and device", offset)
        if (then.dtype is None) != (other.dtype is None) or (then.device is None) != (other.device is None):
            raise Refused("the options say a dtype or a device in one case only", offset)
        dtype = _dtype_choice(condition, then.dtype, other.dtype) if then.dtype and other.dtype else None
        device = _device_choice(condition, then.device, other.device) if then.device and other.device else None
        return replace(then, dtype=dtype, device=device)
    if isinstance(then, Array) and isinstance(other, Array):
        return _array_choice(condition, then, other, offset)
    raise Refused("the two sides of a choice are not the same kind of thing", offset)


def agreed(then: Term, other: Term) -> Term | None:
    """What is the same whichever of the two it is; None when nothing is."""
    if then == other:
        return then
    if isinstance(then, Tensor) and isinstance(other, Tensor):
        dtype = then.dtype if then.dtype == other.dtype else None
        device = then.device if then.device == other.device else None
        sizes = then.sizes if then.sizes == other.sizes else None
        if dtype or device or sizes:
            return Tensor(None, sizes, dtype, device, then.uses | other.uses)
    return None


def _maybe(condition: Scalar, then: Term, other: Term, offset: int) -> Term:
    """A choice between something and nothing."""
    if isinstance(other, Null):
        held, present = then, condition
    else:
        held, present = other, arithmetic.unary("!", condition, offset)
    if isinstance(held, Tensor):
        return replace(held, defined=both(present, held.defined or TRUE))
    if isinstance(held, Optional):
        return replace(held, present=both(present, held.present))
    return Optional(held, present)


def _dtype_choice(condition: Scalar, then: DType, other: DType) -> DType:
    if then.text == other.text:
        return replace(then, uses=then.uses | other.uses)
    return DType(conditional(condition.text, then.text, other.text), condition.uses | then.uses | other.uses)


def _device_choice(condition: Scalar, then: Device, other: Device) -> Device:
    if then.text == other.text:
        return replace(then, uses=then.uses | other.uses)
    return Device(conditional(condition.text, then.text, other.text), condition.uses | then.uses | other.uses)


def _tensor_choice(condition: Scalar, then: Tensor, other: Tensor, offset: int) -> Tensor:
    uses = condition.uses | then.uses | other.uses
    dtype = _dtype_choice(condition, then.dtype, other.dtype) if then.dtype and other.dtype else None
    device = _device_choice(condition, then.device, other.device) if then.device and other.device else None
    text = conditional(condition.text, then.text, other.text) if then.text and other.text else None
    sizes: Array | None = None
    if then.sizes == other.sizes:
        sizes = then.sizes
    elif text is not None:
        sizes = Array((Rest(attribute(text, "shape"), uses),))
    elif then.sizes is not None and other.sizes is not None:
        try:
            sizes = _array_choice(condition, then.sizes, other.sizes, offset)
        except Refused:
            sizes = None
    defined = arithmetic.select(condition, then.defined or TRUE, other.defined or TRUE, offset)
    return Tensor(text, sizes, dtype, device, uses, defined, then.contiguous and other.contiguous)


def _array_choice(condition: Scalar, then: Array, other: Array, offset: int) -> Array:
    if len(then.parts) == len(other.parts):
        parts: list[Scalar | Rest] = []
        for a, b in zip(then.parts, other.parts, strict=True):
            if isinstance(a, Scalar) and isinstance(b, Scalar):
                parts.append(arithmetic.select(condition, a, b, offset))
            elif isinstance(a, Rest) and isinstance(b, Rest):
                text = conditional(condition.text, a.text, b.text)
                parts.append(Rest(text, condition.uses | a.uses | b.uses))
            else:
                break
        else:
            return Array(tuple(parts))
    raise Refused("the shapes of a choice cannot be told apart", offset)


def equal(left: Term, right: Term, offset: int) -> Scalar | None:
    """``left == right`` of two dtypes, devices or size lists, and of an optional and nothing; None for other things."""
    if isinstance(left, DType) and isinstance(right, DType):
        if left.constant and right.constant:
            return TRUE if left.constant == right.constant else FALSE
        if left.text == right.text:
            return TRUE
        return truth(binary("==", left.text, right.text), left.uses | right.uses)
    if isinstance(left, Device) and isinstance(right, Device):
        if left.text.text.startswith('"') or right.text.text.startswith('"'):
            return None
        return TRUE if left.text == right.text else truth(binary("==", left.text, right.text), left.uses | right.uses)
    if isinstance(left, Array) and isinstance(right, Array):
        a, b = shape_text(left), shape_text(right)
        return truth(binary("==", a, b), left.uses | right.uses)
    if isinstance(left, Optional) and isinstance(right, Null):
        return arithmetic.unary("!", left.present, offset)
    if isinstance(left, Null) and isinstance(right, Optional):
        return arithmetic.unary("!", right.present, offset)
    return None
