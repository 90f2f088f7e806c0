"""Members of tensors, sizes, options, optionals, dtypes and devices, said in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchless.hoisting import numbers
from torchless.hoisting.numbers import INT8, LONG, ULONG, constant
from torchless.hoisting.python import Text, attribute, binary, call, conditional, subscript
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
    Uses,
    both,
    truth,
)
from torchless.hoisting.torch_names import ITEM_SIZE

TORCH = Uses(imports=frozenset({"torch"}))
MATH = Uses(imports=frozenset({"math"}))


def size_value(text: Text, uses: Uses) -> Scalar:
    """A size, a stride, a count of elements: never negative."""
    return Scalar(text, LONG, 0, LONG.high, uses)


def parameter_tensor(name: str, uses: Uses) -> Tensor:
    """A tensor that Python has under ``name``."""
    text = Text(name)
    return Tensor(
        text,
        Array((Rest(attribute(text, "shape"), uses),)),
        DType(attribute(text, "dtype"), uses),
        Device(attribute(text, "device"), uses),
        uses,
        truth(binary("is not", text, Text("None")), uses),
    )


def member(term: Term, name: str, arguments: Sequence[Term], offset: int) -> Term:
    """What ``term.name(arguments)`` stands for. Raises Refused."""
    if isinstance(term, Optional):
        return _optional(term, name, arguments, offset)
    if isinstance(term, Null):
        if name in ("has_value", "defined"):
            return FALSE
        if name == "value_or" and len(arguments) == 1:
            return arguments[0]
        raise Refused(f"`{name}` of something that is not there", offset)
    if isinstance(term, Tensor):
        return _tensor(term, name, arguments, offset)
    if isinstance(term, Array):
        return _array(term, name, arguments, offset)
    if isinstance(term, DType):
        return _dtype(term, name, arguments, offset)
    if isinstance(term, Device):
        return _device(term, name, offset)
    if isinstance(term, Opaque):
        raise Refused(term.reason, term.offset)
    raise Refused(f"the member `{name}` is not known here", offset)


def _optional(term: Optional, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name == "has_value" and not arguments:
        return term.present
    if name == "value" and not arguments:
        return term.held
    if name == "value_or" and len(arguments) == 1:
        return select(term.present, term.held, arguments[0], offset)
    if name == "defined" and not arguments:
        return term.present
    raise Refused(f"`{name}` of an optional is not known here", offset)


# Members that hand on memory or values: nothing that Python could say before the call.
_CONTENTS = frozenset(
    {"item", "data_ptr", "mutable_data_ptr", "const_data_ptr", "data", "accessor", "packed_accessor32"}
)
# Views that have the same name and arguments in Python. Source: torch.Tensor's documentation.
_VIEWS = {"t": 0, "transpose": 2, "unsqueeze": 1, "select": 2, "narrow": 3}


def _tensor(tensor: Tensor, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name in ("size", "stride") and len(arguments) == 1:
        index = _integer(arguments[0], offset)
        if name == "size":
            return element(_sizes(tensor, offset), index, offset, wraps=True)
        text = _text(tensor, "strides", offset)
        return size_value(call(f"{text.text}.stride", index.text.text), tensor.uses | index.uses)
    if arguments:
        return _view(tensor, name, arguments, offset)
    if name == "sizes" or name == "sym_sizes":
        return _sizes(tensor, offset)
    if name == "strides":
        text = _text(tensor, "strides", offset)
        return Array((Rest(call(f"{text.text}.stride"), tensor.uses),))
    if name in ("dim", "ndimension"):
        return length(_sizes(tensor, offset))
    if name == "numel":
        if tensor.text is not None:
            return size_value(call(f"{tensor.text.text}.numel"), tensor.uses)
        return product(_sizes(tensor, offset), offset)
    if name in ("element_size", "itemsize"):
        found = item_size(_dtype_of(tensor, offset))
        return replace(found, type=LONG) if name == "element_size" else found
    if name == "nbytes":
        count = _tensor(tensor, "numel", (), offset)
        size = item_size(_dtype_of(tensor, offset))
        assert isinstance(count, Scalar)
        return numbers.operate("*", count, size, offset)
    if name in ("dtype", "scalar_type"):
        return _dtype_of(tensor, offset)
    if name == "device":
        return _device_of(tensor, offset)
    if name == "options":
        return Options(_dtype_of(tensor, offset), _device_of(tensor, offset))
    if name == "defined":
        return tensor.defined or TRUE
    if name == "get_device":
        text = _text(tensor, "device", offset)
        return Scalar(call(f"{text.text}.get_device"), INT8, -1, INT8.high, tensor.uses)
    if name == "is_cuda":
        return truth(attribute(_text(tensor, "device", offset), "is_cuda"), tensor.uses)
    if name == "is_contiguous":
        if tensor.contiguous:
            return TRUE
        return truth(call(f"{_text(tensor, 'strides', offset).text}.is_contiguous"), tensor.uses)
    return _view(tensor, name, arguments, offset)


def _view(tensor: Tensor, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name in _CONTENTS:
        raise Refused(f"`{name}` needs the tensor's contents", offset)
    if name == "contiguous" and not arguments:
        text = tensor.text if tensor.contiguous else None
        return replace(tensor, text=text, contiguous=True)
    if name in ("clone", "detach", "alias") and not arguments:
        return tensor if name != "clone" else replace(tensor, text=None)
    if name in ("view", "reshape", "expand", "permute", "flatten", "squeeze", "repeat", "slice", "view_as", "index"):
        # dtype and device stay; sizes only where Python says them
        return replace(tensor, text=None, sizes=None, contiguous=False)
    if _VIEWS.get(name) == len(arguments) and tensor.text is not None:
        indexes = [_integer(a, offset) for a in arguments]
        uses = tensor.uses
        for index in indexes:
            uses |= index.uses
        text = call(f"{tensor.text.text}.{name}", *(i.text.text for i in indexes))
        return replace(parameter_tensor(text.text, uses), dtype=tensor.dtype, device=tensor.device, defined=None)
    if _VIEWS.get(name) == len(arguments):
        return replace(tensor, text=None, sizes=None, contiguous=False)
    raise Refused(f"`{name}` of a tensor is not known here", offset)


def _integer(term: Term, offset: int) -> Scalar:
    if isinstance(term, Scalar) and term.type.kind in ("int", "bool"):
        return term
    raise Refused("a number was expected here", offset)


def _text(tensor: Tensor, what: str, offset: int) -> Text:
    if tensor.text is None:
        raise Refused(f"the {what} of a tensor that Python does not have", offset)
    return tensor.text


def _sizes(tensor: Tensor, offset: int) -> Array:
    if tensor.sizes is None:
        raise Refused("the sizes of this tensor are not known", offset)
    return tensor.sizes


def _dtype_of(tensor: Tensor, offset: int) -> DType:
    if tensor.dtype is None:
        raise Refused("the dtype of this tensor is torch's default", offset)
    return tensor.dtype


def _device_of(tensor: Tensor, offset: int) -> Device:
    if tensor.device is None:
        raise Refused("the device of this tensor is torch's default", offset)
    return tensor.device


def item_size(dtype: DType) -> Scalar:
    """Bytes of one element."""
    if dtype.constant in ITEM_SIZE:
        return constant(ITEM_SIZE[dtype.constant], ULONG)
    return Scalar(attribute(dtype.text, "itemsize"), ULONG, 1, 16, dtype.uses)


def element(array: Array, index: Scalar, offset: int, *, wraps: bool) -> Scalar:
    """The element at ``index``; ``wraps``: a negative index counts from the end, as size() has it."""
    if index.low < 0 and not wraps:
        raise Refused("a negative index reads something else in C++", offset)
    parts, known = array.parts, index.constant
    if known is not None:
        run = parts if known >= 0 else tuple(reversed(parts))
        for place, part in enumerate(run):
            if isinstance(part, Rest):
                at = known - place if known >= 0 else known + place
                return size_value(_picked(part, at), part.uses)
            if place == (known if known >= 0 else -known - 1):
                return part
        raise Refused("there is no such dimension", offset)
    if len(parts) == 1 and isinstance(parts[0], Rest):
        return size_value(subscript(parts[0].text, index.text.text), parts[0].uses | index.uses)
    raise Refused("the dimension that is meant is not known", offset)


def _picked(part: Rest, index: int) -> Text:
    return subscript(part.text, str(index))


def length(array: Array) -> Scalar:
    """How many elements there are."""
    fixed = sum(isinstance(p, Scalar) for p in array.parts)
    rests = [p for p in array.parts if isinstance(p, Rest)]
    if not rests:
        return constant(fixed, LONG)
    text, uses = Text(str(fixed)), Uses(builtins=frozenset({"len"}))
    for i, rest in enumerate(rests):
        uses |= rest.uses
        owner = rest.text.text.removesuffix(".shape")
        one = call(f"{owner}.dim") if owner != rest.text.text else call("len", rest.text.text)
        text = one if not fixed and not i else binary("+", text, one)
    return Scalar(text, LONG, fixed, 64, uses)


def product(array: Array, offset: int) -> Scalar:
    """The product of all elements."""
    scalars = [p for p in array.parts if isinstance(p, Scalar)]
    out = constant(1, LONG)
    for part in array.parts:
        if isinstance(part, Rest):
            value = size_value(call("math.prod", part.text.text), part.uses | MATH)
        else:
            value = numbers.convert(part, LONG, offset)
        out = numbers.operate("*", out, value, offset)
    return out if len(scalars) != 1 or len(array.parts) != 1 else numbers.convert(scalars[0], LONG, offset)


def head(array: Array, count: int, offset: int) -> Array:
    """The first ``count`` elements."""
    parts: list[Scalar | Rest] = []
    for part in array.parts:
        left = count - len(parts)
        if left <= 0:
            break
        if isinstance(part, Rest):
            if _is_slice(part):
                raise Refused("a slice of a slice of sizes is not understood", offset)
            parts.append(Rest(subscript(part.text, f":{left}"), part.uses))
            return Array(tuple(parts))
        parts.append(part)
    return Array(tuple(parts))


def tail(array: Array, count: int, offset: int) -> Array:
    """All but the first ``count`` elements."""
    parts = list(array.parts)
    while count and parts:
        first = parts[0]
        if isinstance(first, Rest):
            if _is_slice(first):
                raise Refused("a slice of a slice of sizes is not understood", offset)
            parts[0] = Rest(subscript(first.text, f"{count}:"), first.uses)
            break
        parts.pop(0)
        count -= 1
    return Array(tuple(parts))


def _is_slice(part: Rest) -> bool:
    return part.text.text.endswith("]") and ":" in part.text.text


def with_element(array: Array, index: int, value: Scalar, offset: int) -> Array:
    """``array`` with another element at ``index``; -1 is the last one, other negative ones are not taken."""
    parts = list(array.parts)
    if index == -1:
        last = parts.pop() if parts else None
        if last is None:
            raise Refused("there is no such dimension", offset)
        if isinstance(last, Rest):
            if _is_slice(last):
                raise Refused("a slice of a slice of sizes is not understood", offset)
            parts.append(Rest(subscript(last.text, ":-1"), last.uses))
        return Array((*parts, value))
    before, after = head(array, index, offset), tail(array, index + 1, offset)
    return Array((*(before.parts if index else ()), value, *after.parts))


def _array(array: Array, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if not arguments:
        if name == "size":
            return replace(length(array), type=ULONG)
        if name in ("vec", "copy"):
            return array
        if name in ("front", "back"):
            return element(array, constant(0 if name == "front" else -1), offset, wraps=True)
        if name == "empty":
            return numbers.operate("==", length(array), constant(0), offset)
    if name == "at" and len(arguments) == 1:
        return element(array, _integer(arguments[0], offset), offset, wraps=False)
    if name == "slice" and len(arguments) == 2:
        start, count = (_integer(a, offset).constant for a in arguments)
        if start is not None and count is not None and start >= 0 and count >= 0:
            return head(tail(array, start, offset) if start else array, count, offset)
    raise Refused(f"`{name}` of sizes is not known here", offset)


def _dtype(dtype: DType, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name == "toScalarType" and not arguments:
        return dtype
    if name == "itemsize" and not arguments:
        return item_size(dtype)
    raise Refused(f"`{name}` of a dtype is not known here", offset)


def _device(device: Device, name: str, offset: int) -> Term:
    if name == "index" and not device.text.text.startswith('"'):
        uses = device.uses
        return Scalar(attribute(device.text, "index"), INT8, -1, INT8.high, uses)
    if name in ("value", "has_value"):  # at::device_of gives an optional
        return device if name == "value" else TRUE
    raise Refused(f"`{name}` of a device is not known here", offset)


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
        return numbers.select(condition, then, other, offset)
    if isinstance(then, Null) or isinstance(other, Null):
        return _maybe(condition, then, other, offset)
    if isinstance(then, Optional) and isinstance(other, Optional):
        present = numbers.select(condition, then.present, other.present, offset)
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


def _maybe(condition: Scalar, then: Term, other: Term, offset: int) -> Term:
    """A choice between something and nothing."""
    if isinstance(other, Null):
        held, present = then, condition
    else:
        held, present = other, numbers.unary("!", condition, offset)
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
    defined = numbers.select(condition, then.defined or TRUE, other.defined or TRUE, offset)
    return Tensor(text, sizes, dtype, device, uses, defined, then.contiguous and other.contiguous)


def _array_choice(condition: Scalar, then: Array, other: Array, offset: int) -> Array:
    if len(then.parts) == len(other.parts):
        parts: list[Scalar | Rest] = []
        for a, b in zip(then.parts, other.parts, strict=True):
            if isinstance(a, Scalar) and isinstance(b, Scalar):
                parts.append(numbers.select(condition, a, b, offset))
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
        return numbers.unary("!", left.present, offset)
    if isinstance(left, Null) and isinstance(right, Optional):
        return numbers.unary("!", right.present, offset)
    return None


def shape_text(array: Array) -> Text:
    """A shape as Python writes it: ``(a, b)``, ``x.shape``, ``(*x.shape[:-1], n)``."""
    if len(array.parts) == 1 and isinstance(array.parts[0], Rest):
        return array.parts[0].text
    items = tuple(f"*{p.text.at(p.text.level.BIT_OR)}" if isinstance(p, Rest) else p.text.text for p in array.parts)
    return Text(f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})")
