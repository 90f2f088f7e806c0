"""What a C++ expression stands for, given what its names stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from torchless.hoisting import factories, numbers, types
from torchless.hoisting import members as _members
from torchless.hoisting.expressions import (
    Binary,
    Boolean,
    Braces,
    Call,
    Cast,
    Index,
    Lambda,
    Member,
    Name,
    Node,
    Number,
    SizeOf,
    String,
    Ternary,
    Unary,
)
from torchless.hoisting.members import MATH, TORCH, select
from torchless.hoisting.numbers import LONG, ULONG, constant, number_type
from torchless.hoisting.python import Text, attribute, call, conditional, string
from torchless.hoisting.terms import (
    DOUBLE,
    FALSE,
    STRING,
    TRUE,
    Array,
    Assumption,
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
    Uses,
    assume,
    checked,
)
from torchless.hoisting.torch_names import CPP_SIZES, device_of, dtype_of, memory_format_of


class Names(Protocol):
    """What the names of an expression stand for, at the place where the expression stands."""

    def value(self, node: Name) -> Term:
        """The value of a variable, a parameter or a constant. Raises Refused."""

    def is_local(self, node: Name) -> bool:
        """Is it a variable or a parameter of the function?"""

    def canonical(self, node: Name) -> str:
        """The framework's name for it (``at::kFloat``), or ""."""

    def call(self, node: Name, arguments: Sequence[Term]) -> Term | None:
        """What a function or a macro of the files at hand gives; None when there is none of that name."""

    def type(self, spelled: str) -> str:
        """A type as spelled, aliases of the files at hand resolved."""

    def current_device(self, offset: int) -> Device | None:
        """The device that a device guard has made the current one."""


def evaluate(node: Node, names: Names) -> Term:
    """The term that ``node`` stands for. Raises Refused with the offset of what cannot be said in Python."""
    found = _evaluate(node, names)
    if isinstance(found, (Scalar, DType, Device)):
        checked(found.text, node.offset)
    return found


def scalar(node: Node, names: Names) -> Scalar:
    """``node`` where a number, a truth value or a string is wanted."""
    found = evaluate(node, names)
    if isinstance(found, Scalar):
        return found
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    raise Refused("a number was expected here", node.offset)


def truth(node: Node, names: Names) -> Scalar:
    """``node`` as a condition."""
    found = evaluate(node, names)
    if isinstance(found, Optional):
        return found.present
    if isinstance(found, Scalar):
        return numbers.as_truth(found, node.offset)
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    raise Refused("a condition was expected here", node.offset)


def _evaluate(node: Node, names: Names) -> Term:
    if isinstance(node, Number):
        return numbers.literal(node)
    if isinstance(node, Boolean):
        return TRUE if node.value else FALSE
    if isinstance(node, String):
        return Scalar(string(node.value), STRING)
    if isinstance(node, Name):
        return _name(node, names)
    if isinstance(node, Member):
        return _data_member(node, names)
    if isinstance(node, Call):
        return _call(node, names)
    if isinstance(node, Index):
        return _index(node, names)
    if isinstance(node, Cast):
        return _cast(node, names)
    if isinstance(node, Unary):
        return _unary(node, names)
    if isinstance(node, Binary):
        return _binary(node, names)
    if isinstance(node, Ternary):
        return _ternary(node, names)
    if isinstance(node, Braces):
        return Group(tuple(evaluate(item, names) for item in node.items))
    if isinstance(node, SizeOf):
        return _sizeof(node, names)
    if isinstance(node, Lambda):
        raise Refused("a lambda is not followed", node.offset)
    raise Refused("this expression is not understood", node.offset)


# Dtypes that depend on the machine, and what the Python side calls them. Source: aiter's py_itfs_common.h, dtypes.py.
_PROJECT_DTYPES = {"torch_fp8": "dtypes.fp8", "torch_fp4x2": "dtypes.fp4x2"}
PROJECT = Uses(imports=frozenset({"dtypes"}))


def torch_dtype(name: str) -> DType:
    """``float32`` -> torch.float32."""
    return DType(Text(f"torch.{name}"), TORCH, name)


def _name(node: Name, names: Names) -> Term:
    if names.is_local(node):
        return names.value(node)
    last = node.text.rpartition("::")[2]
    if last in _PROJECT_DTYPES:
        return DType(Text(_PROJECT_DTYPES[last]), PROJECT)
    canonical = names.canonical(node)
    if canonical:
        found = _framework_constant(canonical)
        if found is not None:
            return found
    if node.text in ("std::nullopt", "c10::nullopt", "at::nullopt", "torch::nullopt", "nullptr"):
        return Null()
    special = _trait(node, names)
    if special is not None:
        return special
    return names.value(node)


def _framework_constant(canonical: str) -> Term | None:
    if dtype_of(canonical):
        return torch_dtype(dtype_of(canonical))
    if device_of(canonical):
        return Device(string(device_of(canonical)))
    if memory_format_of(canonical):
        return MemoryFormat(memory_format_of(canonical))
    return Null() if canonical == "at::nullopt" else None


_TRAIT = re.compile(r"(?:c10|at|torch)::CppTypeToScalarType<(.*)>::value")


def _trait(node: Name, names: Names) -> Term | None:
    """``c10::CppTypeToScalarType<float>::value``."""
    m = _TRAIT.fullmatch(node.text)
    if not m:
        return None
    kind = number_type(names.type(m[1]))
    if kind is None:
        raise Refused(f"the dtype of {m[1]} is not known", node.offset)
    if kind.kind == "float":
        return torch_dtype("float32" if kind.bits == 32 else "float64")
    if kind.kind == "bool":
        return torch_dtype("bool")
    return torch_dtype(f"{'' if kind.signed else 'u'}int{kind.bits}")


def _data_member(node: Member, names: Names) -> Term:
    found = evaluate(node.object, names)
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    if isinstance(found, Group) and node.name in ("first", "second") and len(found.items) == 2:
        return found.items[0 if node.name == "first" else 1]
    raise Refused(f"the member `{node.name}` is not known here", node.offset)


def _index(node: Index, names: Names) -> Term:
    found = evaluate(node.object, names)
    index = scalar(node.index, names)
    if isinstance(found, Array):
        return _members.element(found, index, node.offset, wraps=False)
    if isinstance(found, Tensor):
        raise Refused("an element of a tensor needs its contents", node.offset)
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    raise Refused("what is indexed here is not known", node.offset)


def _cast(node: Cast, names: Names) -> Term:
    if node.kind in ("reinterpret_cast", "dynamic_cast"):
        raise Refused(f"a {node.kind} is not followed", node.offset)
    spelled = types.strip(names.type(node.type))
    found = evaluate(node.operand, names)
    if node.kind == "const_cast" or spelled == "void":
        return found
    return types.coerce(found, spelled, node.offset)


def _unary(node: Unary, names: Names) -> Term:
    if node.operator == "&":
        raise Refused("an address is not followed", node.offset)
    if node.operator == "!":
        return numbers.unary("!", truth(node.operand, names), node.offset)
    found = evaluate(node.operand, names)
    if node.operator == "*":
        if isinstance(found, Optional):
            return found.held
        if isinstance(found, (Tensor, Opaque)) and not isinstance(found, Opaque):
            return found
        raise Refused("what a pointer points to is not followed", node.offset)
    if isinstance(found, Scalar):
        return numbers.unary(node.operator, found, node.offset)
    raise Refused("a number was expected here", node.offset)


def _binary(node: Binary, names: Names) -> Term:
    if node.operator in ("&&", "||"):
        return numbers.operate(node.operator, truth(node.left, names), truth(node.right, names), node.offset)
    left, right = evaluate(node.left, names), evaluate(node.right, names)
    if node.operator in ("==", "!="):
        same = _members.equal(left, right, node.offset)
        if same is not None:
            return _unequal(same, node.offset) if node.operator == "!=" else same
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return numbers.operate(node.operator, left, right, node.offset)
    for found in (left, right):
        if isinstance(found, Opaque):
            raise Refused(found.reason, found.offset)
    raise Refused(f"what {node.operator} works on is not known here", node.offset)


def _unequal(same: Scalar, offset: int) -> Scalar:
    """The opposite of a == b, spelled a != b."""
    if same.constant is None and same.text.text.count(" == ") == 1 and same.text.level is same.text.level.COMPARE:
        from dataclasses import replace

        return replace(same, text=Text(same.text.text.replace(" == ", " != "), same.text.level))
    return numbers.unary("!", same, offset)


def _ternary(node: Ternary, names: Names) -> Term:
    condition = truth(node.condition, names)
    if condition.constant is not None:
        # the other arm is not looked at, but it has a say in the type
        taken = node.then if condition.constant else node.other
        other = node.other if condition.constant else node.then
        found = evaluate(taken, names)
        try:
            passed_over = evaluate(other, names)
        except Refused:
            return found
        if isinstance(found, Scalar) and isinstance(passed_over, Scalar):
            return numbers.select(condition, *((found, passed_over) if condition.constant else (passed_over, found)),
                                  node.offset)  # fmt: skip
        return found
    return select(condition, evaluate(node.then, names), evaluate(node.other, names), node.offset)


def _sizeof(node: SizeOf, names: Names) -> Term:
    spelled = types.strip(names.type(node.what))
    kind = number_type(types.number_of(spelled))
    if kind is not None:
        return constant(max(kind.bits // 8, 1), ULONG)
    if spelled.endswith("*"):
        return constant(8, ULONG)
    size = CPP_SIZES.get(re.sub(r"^(?:torch|c10)::", "at::", spelled))
    if size is not None:
        return constant(size, ULONG)
    if node.operand is not None:
        try:
            found = evaluate(node.operand, names)
        except Refused:
            found = None
        if isinstance(found, Scalar) and found.type.kind != "string":
            return constant(max(found.type.bits // 8, 1), ULONG)
        if isinstance(found, DType):
            raise Refused("sizeof of a dtype is the size of the C++ object, not of an element", node.offset)
    raise Refused(f"the size of {spelled} is not known here", node.offset)


def _call(node: Call, names: Names) -> Term:
    if isinstance(node.callee, Member):
        return _member_call(node, node.callee, names)
    if not isinstance(node.callee, Name):
        raise Refused("what is called here is not known", node.offset)
    return _function(node, node.callee, names)


def _arguments(node: Call, names: Names) -> list[Term]:
    return [evaluate(a, names) for a in node.arguments]


def _member_call(node: Call, callee: Member, names: Names) -> Term:
    found = evaluate(callee.object, names)
    offset = callee.offset
    if isinstance(found, Opaque):
        raise Refused(found.reason, found.offset)
    if callee.arrow and isinstance(found, Optional):
        found = found.held
        if callee.name == "defined":  # Python has no undefined tensors: there is one, or None
            held = evaluate(callee.object, names)
            assert isinstance(held, Optional)
            return held.present
    if isinstance(found, Options):
        return _options_member(found, callee.name, node, names)
    arguments = _arguments(node, names)
    if isinstance(found, Tensor) and callee.name in factories.MEMBERS:
        return factories.as_tensor(factories.made_by(callee.name, arguments, offset, found), offset)
    return _members.member(found, callee.name, arguments, offset)


def _options_member(options: Options, name: str, node: Call, names: Names) -> Term:
    from dataclasses import replace

    offset = node.offset
    if name == "dtype" and not node.arguments:
        template = node.callee.template if isinstance(node.callee, Member) else ()
        if template:
            return replace(options, dtype=_dtype_of_type(template[0], names, offset))
        if options.dtype is None:
            raise Refused("the options say no dtype", offset)
        return options.dtype
    if name == "device" and not node.arguments:
        if options.device is None:
            raise Refused("the options say no device", offset)
        return options.device
    arguments = _arguments(node, names)
    if name == "dtype" and len(arguments) == 1:
        if isinstance(arguments[0], DType):
            return replace(options, dtype=arguments[0])
        held = arguments[0]
        if isinstance(held, Optional) and isinstance(held.held, DType):
            raise Refused("a dtype that may be missing", offset)
    if name == "device" and arguments:
        return replace(options, device=_device(arguments, names, offset))
    if name in ("pinned_memory", "requires_grad") and len(arguments) == 1 and isinstance(arguments[0], Scalar):
        if name == "pinned_memory":
            return replace(options, pinned=arguments[0])
        if arguments[0].constant == 0:
            return options
        raise Refused("a tensor that requires a gradient", offset)
    if name == "layout" and isinstance(node.arguments[0], Name) and node.arguments[0].text.endswith("kStrided"):
        return options
    if name == "memory_format" and len(arguments) == 1 and isinstance(arguments[0], MemoryFormat):
        return replace(options, memory_format=arguments[0].name)
    raise Refused(f"`{name}` of options is not known here", offset)


def _device(arguments: Sequence[Term], names: Names, offset: int) -> Device:
    first = arguments[0]
    if isinstance(first, Optional) and isinstance(first.held, Device):
        first = first.held
    if isinstance(first, Scalar) and first.type.kind == "string":
        first = Device(first.text, first.uses)
    if not isinstance(first, Device):
        raise Refused("the device is not understood", offset)
    if len(arguments) == 2:
        index = arguments[1]
        if not isinstance(index, Scalar) or index.type.kind != "int":
            raise Refused("the device is not understood", offset)
        uses = first.uses | index.uses | TORCH
        return Device(call("torch.device", first.text.text, index.text.text), uses)
    if first.text.text == '"cuda"':
        # no index: the current device, which a guard may have set
        return names.current_device(offset) or first
    return first


def _dtype_of_type(spelled: str, names: Names, offset: int) -> DType:
    found = _trait(Name(offset, f"c10::CppTypeToScalarType<{spelled}>::value"), names)
    assert isinstance(found, DType)
    return found


_DEVICE_WORDS = re.compile(
    r"devic|prop|num_cu|warp_size|multi_?processor|arch|gfx|occupancy|hipget|hipOcc|cu_num|sm_count|wavefront", re.I
)


def unknown_call(name: str) -> str:
    """Why the result of a function that nobody knows cannot be said in Python."""
    if _DEVICE_WORDS.search(name):
        return f"it depends on the device (`{name}`)"
    return f"it calls `{name}`, whose body is not at hand or cannot be followed"


def _function(node: Call, callee: Name, names: Names) -> Term:
    name, offset = callee.text, callee.offset
    canonical = names.canonical(callee)
    if not canonical and name in _FOUND_BY_ARGUMENT:
        canonical = f"at::{name}"
    if canonical.startswith("at::"):
        found = _framework_call(canonical.removeprefix("at::"), node, callee, names)
        if found is not None:
            return found
    if names.is_local(callee):
        raise Refused(f"`{name}` is called, a lambda or an object that is not followed", offset)
    root, _, rest = name.rpartition("::")
    if root == "std" or (root.startswith("std::") and rest in ("max", "min", "lowest", "infinity")):
        return _std_call(node, callee, names)
    spelled = types.strip(names.type(name + (f"<{','.join(callee.template)}>" if callee.template else "")))
    kind = types.kind_of(spelled)
    if kind in ("array", "optional", "string", "number"):
        return _construct(spelled, node, names)
    if rest in _SIZES_TO and len(node.arguments) == 2:
        return _size_to(rest, node, names)
    if rest == "get_torch_fp8" and not node.arguments:
        return DType(Text(_PROJECT_DTYPES["torch_fp8"]), PROJECT)
    found = names.call(callee, _arguments(node, names))
    if found is not None:
        return found
    raise Refused(unknown_call(name), offset)


# Functions of torch's that launchers call by their bare names: their arguments say whose they are.
_FOUND_BY_ARGUMENT = frozenset({"device_of", "size_to_dim_", "size_from_dim_", "typeMetaToScalarType"})
_SIZES_TO = {"size_to_dim_": "head", "size_from_dim_": "tail"}


def _size_to(name: str, node: Call, names: Names) -> Term:
    """``size_to_dim_(k, sizes)``: the product of the sizes before dimension k. Source: c10's and ATen's own."""
    count, array = evaluate(node.arguments[0], names), evaluate(node.arguments[1], names)
    if isinstance(count, Scalar) and count.constant is not None and count.low >= 0 and isinstance(array, Array):
        part = _members.head if _SIZES_TO[name] == "head" else _members.tail
        return _members.product(part(array, count.low, node.offset), node.offset)
    raise Refused("the dimension that is meant is not known", node.offset)


def _construct(spelled: str, node: Call, names: Names) -> Term:
    kind = types.kind_of(spelled)
    if kind == "array" and not node.braces and len(node.arguments) == 2:
        return _filled_vector(node, names)
    if not node.arguments:
        return types.default(spelled, node.offset) if kind != "number" else constant(0)
    if len(node.arguments) == 1:
        found = evaluate(node.arguments[0], names)
        if kind == "array" and node.braces and isinstance(found, Scalar):
            found = Group((found,))
        elif kind == "array" and isinstance(found, Scalar):
            raise Refused("a list of a length that is computed", node.offset)
        return types.coerce(found, spelled, node.offset)
    if kind == "array":
        return types.coerce(Group(tuple(_arguments(node, names))), spelled, node.offset)
    raise Refused(f"a value of the type {spelled} is not understood", node.offset)


def _filled_vector(node: Call, names: Names) -> Term:
    """``std::vector<int64_t>(count, value)``; a copy of iterators is not one."""
    count, value = scalar(node.arguments[0], names), scalar(node.arguments[1], names)
    if count.constant is None or not 0 <= count.low <= 8:
        raise Refused("a list of a length that is computed", node.offset)
    return Array((numbers.convert(value, LONG, node.offset),) * count.low)


def _framework_call(name: str, node: Call, callee: Name, names: Names) -> Term | None:
    """A function of torch's own; None when it is none that is known."""
    offset = callee.offset
    if name in factories.FOREIGN:
        raise Refused(f"{name} makes a tensor out of more than a shape", offset)
    if name in factories.LIKE or name in factories.FRESH:
        return factories.as_tensor(factories.made_by(name, _arguments(node, names), offset), offset)
    if name in ("TensorOptions", "IntArrayRef", "ScalarType", "Tensor", "Device"):
        return _framework_object(name, node, names)
    arguments = _arguments(node, names) if name in _FRAMEWORK_FUNCTIONS else []
    if name == "device_of" and len(arguments) == 1:
        held = arguments[0]
        held = held.held if isinstance(held, Optional) else held
        if isinstance(held, Tensor) and held.device is not None:
            return held.device
    if name == "dtype" and callee.template:
        return Options(dtype=_dtype_of_type(callee.template[0], names, offset))
    if name == "dtype" and len(arguments) == 1 and isinstance(arguments[0], DType):
        return Options(dtype=arguments[0])
    if name == "device" and arguments:
        return Options(device=_device(arguments, names, offset))
    if name in ("typeMetaToScalarType", "scalarTypeToTypeMeta") and isinstance(arguments[0], DType):
        return arguments[0]
    if name in ("elementSize", "scalarTypeToSize") and len(arguments) == 1 and isinstance(arguments[0], DType):
        return _members.item_size(arguments[0])
    if name == "promote_types" or name == "promoteTypes":
        a, b = arguments if len(arguments) == 2 else (None, None)
        if isinstance(a, DType) and isinstance(b, DType):
            text = call("torch.promote_types", a.text.text, b.text.text)
            return DType(text, a.uses | b.uses | TORCH)
    if name in ("isFloatingType", "isComplexType") and len(arguments) == 1 and isinstance(arguments[0], DType):
        from torchless.hoisting.terms import truth as unknown

        word = "is_floating_point" if name == "isFloatingType" else "is_complex"
        return unknown(attribute(arguments[0].text, word), arguments[0].uses)
    if name in ("size_to_dim_", "size_from_dim_") and len(node.arguments) == 2:
        return _size_to(name, node, names)
    raise Refused(unknown_call(callee.text), offset)


_FRAMEWORK_FUNCTIONS = frozenset(
    {"device_of", "dtype", "device", "typeMetaToScalarType", "scalarTypeToTypeMeta", "elementSize", "scalarTypeToSize",
     "promote_types", "promoteTypes", "isFloatingType", "isComplexType"}
)  # fmt: skip


def _framework_object(name: str, node: Call, names: Names) -> Term:
    arguments = _arguments(node, names)
    offset = node.offset
    if name == "TensorOptions":
        if not arguments:
            return Options()
        return types.coerce(arguments[0], "at::TensorOptions", offset)
    if name == "IntArrayRef" and len(arguments) == 1:
        return factories.as_array(arguments[0], offset)
    if name == "IntArrayRef":
        return factories.as_array(Group(tuple(arguments)), offset)
    if name == "Tensor":
        return Null() if not arguments else types.coerce(arguments[0], "at::Tensor", offset)
    if name == "Device" and arguments:
        return _device(arguments, names, offset)
    raise Refused(f"{name} is not understood here", offset)


def _std_call(node: Call, callee: Name, names: Names) -> Term:
    root, _, name = callee.text.rpartition("::")
    offset = callee.offset
    limits = re.fullmatch(r"std::numeric_limits<(.*)>", root)
    if limits:
        return _limit(name, limits[1], names, offset)
    if name in ("max", "min"):
        return _extreme(name, node, callee, names)
    arguments = _arguments(node, names)
    if name in ("move", "forward", "cref", "as_const") and len(arguments) == 1:
        return arguments[0]
    if name in ("make_tuple", "make_pair", "tuple", "pair"):
        return Group(tuple(arguments))
    if name == "make_optional" and len(arguments) == 1:
        return Optional(arguments[0], TRUE)
    if name in ("size",) and len(arguments) == 1 and isinstance(arguments[0], Array):
        return _members.member(arguments[0], "size", (), offset)
    if name in ("abs", "labs", "llabs") and len(arguments) == 1 and isinstance(arguments[0], Scalar):
        return _absolute(arguments[0], offset)
    if name in ("ceil", "floor") and len(arguments) == 1 and isinstance(arguments[0], Scalar):
        return _rounded(name, arguments[0], offset)
    if name == "get" and len(arguments) == 1 and isinstance(arguments[0], Group) and callee.template:
        number = callee.template[0]
        if number.isdigit() and int(number) < len(arguments[0].items):
            return arguments[0].items[int(number)]
    if name == "clamp" and len(arguments) == 3 and all(isinstance(a, Scalar) for a in arguments):
        value, low, high = (a for a in arguments if isinstance(a, Scalar))
        # v < lo ? lo : hi < v ? hi : v, for lo <= hi the same as this
        return numbers.extreme("min", [numbers.extreme("max", [value, low], offset), high], offset)
    spelled = types.strip(callee.text + (f"<{','.join(callee.template)}>" if callee.template else ""))
    if types.kind_of(spelled) in ("array", "optional", "string"):
        return _construct(spelled, node, names)
    raise Refused(unknown_call(callee.text), offset)


def _extreme(name: str, node: Call, callee: Name, names: Names) -> Term:
    given = node.arguments
    if len(given) == 1 and isinstance(given[0], Braces):
        given = given[0].items
    elif len(given) != 2:
        raise Refused(f"std::{name} with a comparison of its own", callee.offset)
    values = [scalar(a, names) for a in given]
    if callee.template:
        kind = number_type(types.number_of(types.strip(names.type(callee.template[0]))))
        if kind is None:
            raise Refused(f"the type {callee.template[0]} is not known here", callee.offset)
        values = [numbers.convert(v, kind, callee.offset) for v in values]
    if not values or any(v.type.name != values[0].type.name for v in values):
        raise Refused(f"std::{name} of different types", callee.offset)
    return numbers.extreme(name, values, callee.offset)


def _limit(name: str, spelled: str, names: Names, offset: int) -> Term:
    kind = number_type(types.number_of(types.strip(names.type(spelled))))
    if kind is None or kind.kind == "bool":
        raise Refused(f"the limits of {spelled} are not known", offset)
    if kind.kind == "int":
        known = {"max": kind.high, "min": kind.low, "lowest": kind.low}.get(name)
        if known is not None:
            return constant(known, kind)
    elif name == "infinity":
        return Scalar(call("float", '"inf"'), kind, uses=Uses(builtins=frozenset({"float"})))
    elif name in ("max", "lowest"):
        largest = 3.4028234663852886e38 if kind.bits == 32 else 1.7976931348623157e308
        text = Text(repr(largest)) if name == "max" else Text(repr(-largest), Text("").level.UNARY)
        return Scalar(text, kind)
    raise Refused(f"std::numeric_limits<{spelled}>::{name} is not translated", offset)


def _absolute(value: Scalar, offset: int) -> Scalar:
    from dataclasses import replace

    value = numbers.promoted(value, offset)
    if value.type.kind not in ("int", "float"):
        raise Refused("a number was expected here", offset)
    uses = value.uses | Uses(builtins=frozenset({"abs"}))
    if value.low >= 0 and value.type.kind == "int":
        return value
    text = call("abs", value.text.text)
    largest = max(abs(value.low), abs(value.high))
    found = replace(value, text=text, low=0, high=largest, uses=uses)
    return assume(found, value.type) if value.type.kind == "int" else found


def _rounded(name: str, value: Scalar, offset: int) -> Scalar:
    if value.type.kind == "int":
        return numbers.convert(value, DOUBLE, offset)
    if value.type.kind != "float":
        raise Refused("a number was expected here", offset)
    known = numbers.float_value(value)
    if known is not None and abs(known) < 1 << 52:
        import math

        return Scalar(Text(repr(float(math.ceil(known) if name == "ceil" else math.floor(known)))), value.type)
    noted = Uses(assumptions=frozenset({Assumption(value.text.text, "finite")}))
    return Scalar(call(f"math.{name}", value.text.text), value.type, uses=value.uses | MATH | noted)


__all__ = ["Names", "conditional", "evaluate", "scalar", "truth"]
