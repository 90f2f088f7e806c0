"""Members of tensors, optionals, dtypes and devices, said in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchless.hoisting import arithmetic
from torchless.hoisting.arithmetic import constant
from torchless.hoisting.choices import select
from torchless.hoisting.number_types import INT8, LONG, ULONG
from torchless.hoisting.python import Text, attribute, binary, call
from torchless.hoisting.sizes import array_member, as_index, element, length, product, size_value
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
    truth,
)
from torchless.hoisting.torch_names import ITEM_SIZE

TORCH = Uses(imports=frozenset({"torch"}))


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
        return array_member(term, name, arguments, offset)
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
CONTENTS = frozenset(
    {"item", "data_ptr", "mutable_data_ptr", "const_data_ptr", "data", "accessor", "packed_accessor32"}
)


# Views that have the same name and arguments in Python. Source: torch.Tensor's documentation.
_VIEWS = {"t": 0, "transpose": 2, "unsqueeze": 1, "select": 2, "narrow": 3}


def _tensor(tensor: Tensor, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name in ("size", "stride") and len(arguments) == 1:
        index = as_index(arguments[0], offset)
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
        found = _element_size(tensor, offset)
        return replace(found, type=LONG) if name == "element_size" else found
    if name == "nbytes":
        count = _tensor(tensor, "numel", (), offset)
        size = _element_size(tensor, offset)
        assert isinstance(count, Scalar)
        return arithmetic.operate("*", count, size, offset)
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


def _element_size(tensor: Tensor, offset: int) -> Scalar:
    if tensor.text is not None:
        return Scalar(call(f"{tensor.text.text}.element_size"), ULONG, 1, 16, tensor.uses)
    return item_size(_dtype_of(tensor, offset))


def _view(tensor: Tensor, name: str, arguments: Sequence[Term], offset: int) -> Term:
    if name in CONTENTS:
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
        indexes = [as_index(a, offset) for a in arguments]
        uses = tensor.uses
        for index in indexes:
            uses |= index.uses
        text = call(f"{tensor.text.text}.{name}", *(i.text.text for i in indexes))
        return replace(parameter_tensor(text.text, uses), dtype=tensor.dtype, device=tensor.device, defined=None)
    if _VIEWS.get(name) == len(arguments):
        return replace(tensor, text=None, sizes=None, contiguous=False)
    raise Refused(f"`{name}` of a tensor is not known here", offset)


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
        raise Refused("the dtype of this tensor is not known", offset)
    return tensor.dtype


def _device_of(tensor: Tensor, offset: int) -> Device:
    if tensor.device is None:
        raise Refused("the device of this tensor is not known", offset)
    return tensor.device


def item_size(dtype: DType) -> Scalar:
    """Bytes of one element."""
    if dtype.constant in ITEM_SIZE:
        return constant(ITEM_SIZE[dtype.constant], ULONG)
    return Scalar(attribute(dtype.text, "itemsize"), ULONG, 1, 16, dtype.uses)


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
