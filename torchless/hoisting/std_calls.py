"""Functions and classes of the C++ standard library, and of libraries that launchers lean on."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from torchless.hoisting import arithmetic, coercion
from torchless.hoisting.arithmetic import constant
from torchless.hoisting.names import Names
from torchless.hoisting.number_types import LONG, number_type
from torchless.hoisting.python import Level, Text, call
from torchless.hoisting.sizes import MATH, array_member
from torchless.hoisting.terms import (
    DOUBLE,
    TRUE,
    Array,
    Assumption,
    Group,
    Optional,
    Refused,
    Scalar,
    Term,
    Uses,
    assume,
)

_LIMITS = re.compile(r"std::numeric_limits<(.*)>::(\w+)")
_SAME = frozenset({"move", "forward", "cref", "as_const"})


def std_call(name: str, template: tuple[str, ...], arguments: Sequence[Term], names: Names, offset: int) -> Term | None:
    """What ``name<template>(arguments)`` gives, ``name`` in ``std::``; None when it is not known. Raises Refused."""
    limit = _LIMITS.fullmatch(name)
    if limit:
        return _limit(limit[2], limit[1], names, offset)
    last = name.removeprefix("std::")
    first = arguments[0] if arguments else None
    if last in ("max", "min"):
        return extreme(last, template, arguments, names, offset)
    if last in ("make_tuple", "make_pair", "tuple", "pair"):
        return Group(tuple(arguments))
    if last == "clamp" and len(arguments) == 3:
        # v < lo ? lo : hi < v ? hi : v, which for lo <= hi is the same as this
        inner = extreme("max", template, arguments[:2], names, offset)
        return extreme("min", template, (inner, arguments[2]), names, offset)
    if last == "get" and isinstance(first, Group) and template and template[0].isdigit():
        number = int(template[0])
        return first.items[number] if number < len(first.items) else None
    if len(arguments) != 1 or first is None:
        return None
    if last in _SAME:
        return first
    if last == "make_optional":
        return Optional(first, TRUE)
    if last == "size" and isinstance(first, Array):
        return array_member(first, "size", (), offset)
    if isinstance(first, Scalar):
        if last in ("abs", "labs", "llabs"):
            return _absolute(first, offset)
        if last in ("ceil", "floor"):
            return _rounded(last, first, offset)
    return None


def library_call(name: str, arguments: Sequence[Term], offset: int) -> Scalar | None:
    """Composable Kernel's own rounding, where its headers are not at hand. Source: ck_tile/core/numeric/math.hpp."""
    if name not in ("ck_tile::integer_divide_ceil", "ck_tile::integer_least_multiple") or len(arguments) != 2:
        return None
    a, b = arguments
    if not isinstance(a, Scalar) or not isinstance(b, Scalar):
        return None
    total = arithmetic.operate("-", arithmetic.operate("+", a, b, offset), constant(1), offset)
    count = arithmetic.operate("/", total, b, offset)
    return count if name.endswith("ceil") else arithmetic.operate("*", b, count, offset)


def construct(spelled: str, arguments: Sequence[Term], *, braces: bool, offset: int) -> Term:
    """An object of the type ``spelled`` (a list, an optional, a string, a number). Raises Refused."""
    kind = coercion.kind_of(spelled)
    if not arguments:
        return constant(0) if kind == "number" else coercion.default(spelled, offset)
    first = arguments[0]
    if kind == "array" and not braces and isinstance(first, Scalar):
        # (count, value); a copy of iterators is none
        value = arguments[1] if len(arguments) == 2 else constant(0)
        if len(arguments) > 2 or first.constant is None or not 0 <= first.low <= 8 or not isinstance(value, Scalar):
            raise Refused("a list of a length that is computed", offset)
        return Array((arithmetic.convert(value, LONG, offset),) * first.low)
    if kind == "array" and (len(arguments) > 1 or isinstance(first, Scalar)):
        return coercion.coerce(Group(tuple(arguments)), spelled, offset)
    if len(arguments) == 1:
        return coercion.coerce(first, spelled, offset)
    raise Refused(f"a value of the type {spelled} is not understood", offset)


def extreme(name: str, template: tuple[str, ...], arguments: Sequence[Term], names: Names, offset: int) -> Scalar:
    """``std::max`` and ``std::min``: of two values of one type, of a list, with a type said. Raises Refused."""
    if len(arguments) == 1 and isinstance(arguments[0], Group):
        arguments = arguments[0].items
    elif len(arguments) != 2:
        raise Refused(f"{name} with a comparison of its own", offset)
    values = [v for v in arguments if isinstance(v, Scalar)]
    if not values or len(values) < len(arguments):
        raise Refused("a number was expected here", offset)
    if template:
        kind = number_type(coercion.number_of(names.type(template[0])))
        if kind is None:
            raise Refused(f"the type {template[0]} is not known here", offset)
        values = [arithmetic.convert(v, kind, offset) for v in values]
    if any(v.type.name != values[0].type.name for v in values):
        raise Refused(f"{name} of different types", offset)
    return arithmetic.extreme(name, values, offset)


def _limit(name: str, spelled: str, names: Names, offset: int) -> Scalar:
    kind = number_type(coercion.number_of(names.type(spelled)))
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
        text = Text(repr(largest)) if name == "max" else Text(repr(-largest), Level.UNARY)
        return Scalar(text, kind)
    raise Refused(f"std::numeric_limits<{spelled}>::{name} is not translated", offset)


def _absolute(value: Scalar, offset: int) -> Scalar:
    value = arithmetic.promoted(value)
    if value.type.kind not in ("int", "float") or not value.type.signed:
        raise Refused("a signed number was expected here", offset)
    if value.low >= 0 and value.type.kind == "int":
        return value
    uses = value.uses | Uses(builtins=frozenset({"abs"}))
    found = replace(value, text=call("abs", value.text.text), uses=uses)
    if value.type.kind == "float":
        return found
    return assume(replace(found, low=0, high=max(abs(value.low), abs(value.high))), value.type)


def _rounded(name: str, value: Scalar, offset: int) -> Scalar:
    if value.type.kind == "int":
        return arithmetic.convert(value, DOUBLE, offset)
    if value.type.kind != "float":
        raise Refused("a number was expected here", offset)
    known = arithmetic.float_value(value)
    if known is not None and abs(known) < 1 << 52:
        return Scalar(Text(repr(float(math.ceil(known) if name == "ceil" else math.floor(known)))), value.type)
    noted = Uses(assumptions=frozenset({Assumption(value.text.text, "finite")}))
    return Scalar(call(f"math.{name}", value.text.text), value.type, uses=value.uses | MATH | noted)
