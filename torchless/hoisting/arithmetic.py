"""C++ arithmetic said in Python: promotions and conversions, truncating division, what wraps and what cannot.

The Python computes the exact value. Where C++ would have cut it off (a narrowing conversion, an overflow of a type that
may be too small) the value is *assumed* to fit, and the assumption is noted, see terms.Assumption. What would wrap
around below zero in ordinary use (a difference of unsigned numbers) is refused instead.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from torchless.hoisting.nodes import Number
from torchless.hoisting.number_types import CHAR, INT, LONG, LONG_LONG, UINT, ULONG, ULONG_LONG
from torchless.hoisting.python import (
    Level,
    Text,
    binary,
    call,
    conditional,
    integer,
    inverted,
    negated,
    negative,
    string,
)
from torchless.hoisting.terms import (
    DOUBLE,
    FALSE,
    FLOAT,
    STRING,
    TRUE,
    Assumption,
    CType,
    Refused,
    Scalar,
    Uses,
    assume,
    both,
    either,
    truth,
)


def constant(value: int, kind: CType = INT) -> Scalar:
    """An integer that is always the same."""
    return Scalar(integer(value), kind, value, value)


def literal(node: Number) -> Scalar:
    """A number as C++ types it. Source: [lex.icon], [lex.fcon]."""
    if isinstance(node.value, float):
        if node.suffix == "l":
            raise Refused("long double is not known to Python", node.offset)
        value = single(node.value) if node.suffix == "f" else node.value
        return Scalar(_float_text(value), FLOAT if node.suffix == "f" else DOUBLE)
    if node.suffix == "char":
        return constant(node.value, CHAR)
    suffix = "".join(sorted(node.suffix.replace("ll", "L")))
    table = {"": (INT, LONG), "u": (UINT, ULONG), "l": (LONG,), "lu": (ULONG,), "L": (LONG_LONG,), "Lu": (ULONG_LONG,)}
    kinds = table.get(suffix)
    if suffix in ("z", "uz"):
        kinds = (LONG,) if suffix == "z" else (ULONG,)
    if kinds is None:
        raise Refused(f"the suffix {node.suffix} is not understood", node.offset)
    if not node.is_decimal and kinds[0].signed:
        kinds = tuple(k for pair in ((INT, UINT), (LONG, ULONG)) for k in pair if k.rank >= kinds[0].rank) or kinds
    for kind in kinds:
        if node.value <= kind.high:
            return constant(node.value, kind)
    raise Refused(f"{node.value} fits no type", node.offset)


def single(value: float) -> float:
    """``value`` in single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def _float_text(value: float) -> Text:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return call("float", f'"{text}"')
    return Text(text, Level.UNARY if text.startswith("-") else Level.ATOM)


def float_value(value: Scalar) -> float | None:
    """The value of a floating literal."""
    try:
        return float(value.text.text) if value.type.kind == "float" else None
    except ValueError:
        return None


def convert(value: Scalar, kind: CType, offset: int) -> Scalar:
    """``value`` as C++ converts it to ``kind``."""
    source = value.type
    if source == kind:
        return value
    if kind.kind == "string" or source.kind == "string":
        raise Refused("text and numbers do not mix", offset)
    if kind.kind == "bool":
        return as_truth(value, offset)
    if kind.kind == "float":
        return _to_float(value, kind, offset)
    if source.kind == "float":
        return _truncated(value, kind, offset)
    if source.kind == "bool" and value.constant is not None:
        return constant(value.low, kind)
    known = value.constant
    if known is not None:
        size = 1 << kind.bits
        known = (known - kind.low) % size + kind.low
        return constant(known, kind) if known != value.low else replace(value, type=kind)
    if value.low < 0 and not kind.signed:
        raise Refused(
            f"`{value.text.text}` may be negative where it becomes {kind.name}, and would wrap around", offset
        )
    return replace(assume(value, kind), type=kind)


def _to_float(value: Scalar, kind: CType, offset: int) -> Scalar:
    if value.type.kind == "float":
        if kind.rank < value.type.rank:
            known = float_value(value)
            if known is not None:
                return Scalar(_float_text(single(known)), kind)
            noted = Assumption(value.text.text, "float")
            return replace(value, type=kind, uses=value.uses | Uses(assumptions=frozenset({noted})))
        return replace(value, type=kind)
    if value.constant is not None and abs(value.low) <= 1 << 24:
        return Scalar(_float_text(float(value.low)), kind)
    uses = value.uses | Uses(builtins=frozenset({"float"}))
    text = call("float", value.text.text)
    if kind is FLOAT and not (value.low >= -(1 << 24) and value.high <= 1 << 24):
        uses |= Uses(assumptions=frozenset({Assumption(text.text, "float")}))
    return Scalar(text, kind, uses=uses)


def _truncated(value: Scalar, kind: CType, offset: int) -> Scalar:
    known = float_value(value)
    if known is not None and abs(known) < 1 << 62:
        return convert(constant(int(known), LONG), kind, offset)
    uses = value.uses | Uses(builtins=frozenset({"int"}))
    text = call("int", value.text.text)
    low, high = -(1 << 64), 1 << 64
    if not kind.signed:
        low = 0  # a negative number has no meaning here in C++
    noted = assume(Scalar(text, LONG, low, high, uses), kind)
    return replace(noted, type=kind)


def as_truth(value: Scalar, offset: int) -> Scalar:
    """``value`` as a truth value."""
    if value.type.kind == "bool":
        return value
    if value.type.kind == "string":
        raise Refused("text is no truth value", offset)
    if value.constant is not None:
        return TRUE if value.constant else FALSE
    if value.type.kind == "int" and value.low >= 0 and value.high <= 1:
        return truth(value.text, value.uses)  # 0 and 1 are as good as False and True
    zero = "0.0" if value.type.kind == "float" else "0"
    return truth(binary("!=", value.text, Text(zero)), value.uses)


def promoted(value: Scalar) -> Scalar:
    """Integral promotion."""
    if value.type.kind == "bool":
        known = value.constant
        return constant(known) if known is not None else replace(value, type=INT)
    if value.type.kind == "int" and value.type.rank < INT.rank:
        return replace(value, type=INT)
    return value


def common_type(left: Scalar, right: Scalar, offset: int) -> CType:
    """What the usual arithmetic conversions make of the two types."""
    if "string" in (left.type.kind, right.type.kind):
        raise Refused("text and numbers do not mix", offset)
    if "float" in (left.type.kind, right.type.kind):
        floats = [v.type for v in (left, right) if v.type.kind == "float"]
        return max(floats, key=lambda t: t.rank)
    a, b = promoted(left).type, promoted(right).type
    if a.signed == b.signed:
        return a if a.rank >= b.rank else b
    signed, unsigned = (a, b) if a.signed else (b, a)
    if unsigned.rank >= signed.rank:
        return unsigned
    if signed.bits > unsigned.bits:
        return signed
    return next(k for k in (UINT, ULONG, ULONG_LONG) if k.rank == signed.rank)


_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def operate(operator: str, left: Scalar, right: Scalar, offset: int) -> Scalar:
    """``left operator right`` of two numbers, truth values or strings."""
    if operator in ("&&", "||"):
        a, b = as_truth(left, offset), as_truth(right, offset)
        return both(a, b) if operator == "&&" else either(a, b)
    if operator in _COMPARISONS:
        return _compare(operator, left, right, offset)
    if operator in ("<<", ">>"):
        return _shift(operator, promoted(left), promoted(right), offset)
    kind = common_type(left, right, offset)
    if kind.kind == "float":
        return _float_operation(operator, left, right, kind, offset)
    if operator == "&":
        masked = _mask(left, right, kind, offset)
        if masked is not None:
            return masked
    a = convert(promoted(left), kind, offset)
    b = convert(promoted(right), kind, offset)
    if operator in ("+", "-", "*"):
        return _sum_or_product(operator, a, b, kind, offset)
    if operator in ("/", "%"):
        return _divide(operator, a, b, kind, offset)
    if operator in ("&", "|", "^"):
        return _bits(operator, a, b, kind)
    raise Refused(f"the operator {operator} is not understood", offset)


def _compare(operator: str, left: Scalar, right: Scalar, offset: int) -> Scalar:
    uses = left.uses | right.uses
    if left.type.kind == right.type.kind == "string":
        if operator not in ("==", "!="):
            raise Refused("the order of texts is not translated", offset)
        same = _same_string(left, right) or truth(binary("==", left.text, right.text), uses)
        return same if operator == "==" else unary("!", same, offset)
    kind = common_type(left, right, offset)
    a, b = convert(promoted(left), kind, offset), convert(promoted(right), kind, offset)
    uses = a.uses | b.uses
    if kind.kind == "int":
        answer = _known_comparison(operator, a, b)
        if answer is not None:
            return TRUE if answer else FALSE
    text = binary(operator, a.text, b.text)
    if kind.kind == "int" and operator in _CONTRARY:
        text = replace(text, opposite=binary(_CONTRARY[operator], a.text, b.text).text)
    return truth(text, uses)


# Of integers: floating numbers may be NaN.
_CONTRARY = {"<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _same_string(left: Scalar, right: Scalar) -> Scalar | None:
    """``left == right`` where one is a literal and the other one of several: the conditions under which it is that."""
    for one, other in ((left, right), (right, left)):
        if len(other.choices) == 1 and one.choices:
            wanted = other.choices[0][1]
            found = TRUE if one.choices[-1][1] == wanted else FALSE
            for condition, value in reversed(one.choices[:-1]):
                assert condition is not None
                found = _truth_choice(condition, TRUE if value == wanted else FALSE, found, condition.uses | found.uses)
            return found
    return None


def string_literal(value: str) -> Scalar:
    """A text that is always the same."""
    return Scalar(string(value), STRING, choices=((None, value),))


def _string_choice(condition: Scalar, then: Scalar, other: Scalar) -> Scalar:
    uses = condition.uses | then.uses | other.uses
    choices: tuple[tuple[Scalar | None, str], ...] = ()
    if then.choices and other.choices:
        first = tuple((condition if c is None else both(condition, c), value) for c, value in then.choices)
        choices = (*first, *other.choices)
    return Scalar(conditional(condition.text, then.text, other.text), STRING, uses=uses, choices=choices)


def _known_comparison(operator: str, a: Scalar, b: Scalar) -> bool | None:
    """The answer where both sides are constants: a range may only be assumed."""
    if a.constant is None or b.constant is None:
        return None
    x, y = a.low, b.low
    return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[operator]


def _settled(text: Text, low: int, high: int, kind: CType, uses: Uses, offset: int) -> Scalar:
    """A result of exact arithmetic as a value of ``kind``."""
    if low == high and not uses.assumptions:
        if kind.low <= low <= kind.high:
            return constant(low, kind)
        if not kind.signed:
            return constant(low % (1 << kind.bits), kind)
        raise Refused(f"{low} overflows {kind.name}", offset)
    if low < 0 and not kind.signed:
        raise Refused(f"`{text.text}` may wrap around below zero: it is {kind.name} in C++", offset)
    return assume(Scalar(text, kind, low, high, uses), kind)


def _sum_or_product(operator: str, a: Scalar, b: Scalar, kind: CType, offset: int) -> Scalar:
    uses = a.uses | b.uses
    if operator == "+":
        low, high = a.low + b.low, a.high + b.high
    elif operator == "-":
        low, high = a.low - b.high, a.high - b.low
    else:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(corners), max(corners)
    neutral = {"+": (0, 0), "-": (None, 0), "*": (1, 1)}[operator]
    if b.constant is not None and b.constant == neutral[1]:
        return replace(a, uses=uses)
    if a.constant is not None and a.constant == neutral[0]:
        return replace(b, uses=uses)
    if operator in ("+", "-") and b.constant is not None and b.constant < 0:
        opposite = "-" if operator == "+" else "+"
        return _settled(binary(opposite, a.text, integer(-b.constant)), low, high, kind, uses, offset)
    return _settled(binary(operator, a.text, b.text), low, high, kind, uses, offset)


def _quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _divide(operator: str, a: Scalar, b: Scalar, kind: CType, offset: int) -> Scalar:
    uses = a.uses | b.uses
    if b.constant == 0:
        raise Refused("it divides by zero", offset)
    if b.low <= 0 <= b.high:
        uses |= Uses(fragile=b.uses.parameters)
    if a.constant is not None and b.constant is not None:
        q = _quotient(a.constant, b.constant)
        return constant(q if operator == "/" else a.constant - q * b.constant, kind)
    if operator == "/" and b.constant == 1:
        return replace(a, uses=uses)
    largest = max(abs(a.low), abs(a.high))
    divisor = max(abs(b.low), abs(b.high))
    if a.low >= 0 and b.low >= 0:
        if operator == "/":
            text, low, high = binary("//", a.text, b.text), a.low // max(b.high, 1), a.high // max(b.low, 1)
        else:
            text, low, high = binary("%", a.text, b.text), 0, min(a.high, max(divisor - 1, 0))
        return Scalar(text, kind, low, high, uses)
    helper = "truncated_quotient" if operator == "/" else "truncated_remainder"
    text = call(f"_{helper}", a.text.text, b.text.text)
    bound = largest if operator == "/" else min(largest, max(divisor - 1, 0))
    low = 0 if operator == "%" and a.low >= 0 else -bound
    uses |= Uses(helpers=frozenset({helper}))
    return assume(Scalar(text, kind, low, bound, uses), kind)


def _shift(operator: str, a: Scalar, b: Scalar, offset: int) -> Scalar:
    if a.type.kind != "int" or b.type.kind != "int":
        raise Refused("only integers can be shifted", offset)
    kind, uses = a.type, a.uses | b.uses
    if b.constant is not None and not 0 <= b.constant < kind.bits:
        raise Refused(f"a shift by {b.constant} has no meaning for {kind.name}", offset)
    least, most = max(b.low, 0), min(b.high, kind.bits - 1)
    if least > most:
        raise Refused(f"a shift by `{b.text.text}` has no meaning for {kind.name}", offset)
    corners = [x << y if operator == "<<" else x >> y for x in (a.low, a.high) for y in (least, most)]
    text = binary(operator, a.text, b.text)
    if not (b.low >= 0 and b.high < kind.bits):
        noted = Assumption(b.text.text, "shift count", 0, kind.bits - 1)
        uses |= Uses(assumptions=frozenset({noted}))
    return _settled(text, min(corners), max(corners), kind, uses, offset)


def _mask(left: Scalar, right: Scalar, kind: CType, offset: int) -> Scalar | None:
    """``n & ~127`` of an unsigned n: the mask stays as short as it was written."""
    for value, mask in ((left, right), (right, left)):
        known = mask.constant
        if known is not None and known < 0 and not kind.signed and value.low >= 0:
            value = convert(promoted(value), kind, offset)
            text = binary("&", value.text, integer(known))
            return Scalar(text, kind, 0, value.high, value.uses)
    return None


def _bits(operator: str, a: Scalar, b: Scalar, kind: CType) -> Scalar:
    uses = a.uses | b.uses
    if a.constant is not None and b.constant is not None:
        x, y = a.constant, b.constant
        return constant({"&": x & y, "|": x | y, "^": x ^ y}[operator], kind)
    low, high = kind.low, kind.high
    if operator == "&" and (a.low >= 0 or b.low >= 0):
        low, high = 0, min(v.high for v in (a, b) if v.low >= 0)
    elif a.low >= 0 and b.low >= 0:
        low, high = 0, (1 << max(a.high, b.high).bit_length()) - 1
    return Scalar(binary(operator, a.text, b.text), kind, low, high, uses)


def _float_operation(operator: str, left: Scalar, right: Scalar, kind: CType, offset: int) -> Scalar:
    if kind is FLOAT:
        raise Refused("it is computed in single precision, which Python does not have", offset)
    if operator not in ("+", "-", "*", "/"):
        raise Refused(f"the operator {operator} is not known for floating numbers", offset)
    a, b = _plain_float(left, offset), _plain_float(right, offset)
    uses = a.uses | b.uses
    if operator == "/" and not float_value(b):
        # C++ goes on with an infinity, Python raises
        uses |= Uses(assumptions=frozenset({Assumption(b.text.text, "nonzero")}))
    return Scalar(binary(operator, a.text, b.text), DOUBLE, uses=uses)


def _plain_float(value: Scalar, offset: int) -> Scalar:
    return convert(value, DOUBLE, offset)


def unary(operator: str, value: Scalar, offset: int) -> Scalar:
    """``-x``, ``+x``, ``~x``, ``!x``."""
    if operator == "!":
        known = as_truth(value, offset)
        if known.constant is not None:
            return FALSE if known.constant else TRUE
        return truth(negated(known.text), known.uses)
    if value.type.kind == "string":
        raise Refused("text and numbers do not mix", offset)
    if value.type.kind == "float":
        if operator == "~":
            raise Refused("the operator ~ is not known for floating numbers", offset)
        return value if operator == "+" else replace(value, text=negative(value.text))
    value = promoted(value)
    kind = value.type
    if operator == "+":
        return value
    known_value = value.constant
    if operator == "-":
        if known_value is not None and kind.signed:
            return constant(-known_value, kind)
        return _settled(negative(value.text), -value.high, -value.low, kind, value.uses, offset)
    if kind.signed:
        low, high = ~value.high, ~value.low
        return (
            constant(low, kind)
            if known_value is not None
            else Scalar(inverted(value.text), kind, low, high, value.uses)
        )
    if known_value is not None:
        return constant(kind.high ^ known_value, kind)
    text = binary("^", value.text, integer(kind.high))
    return Scalar(text, kind, kind.high ^ value.high, kind.high ^ value.low, value.uses)


def select(condition: Scalar, then: Scalar, other: Scalar, offset: int) -> Scalar:
    """``condition ? then : other`` of numbers or strings."""
    if condition.constant is not None:
        return _arm(then, other, offset) if condition.constant else _arm(other, then, offset)
    uses = condition.uses | then.uses | other.uses
    if then.type.kind == other.type.kind == "string":
        return _string_choice(condition, then, other)
    kind = then.type if then.type == other.type else common_type(then, other, offset)
    a, b = convert(then, kind, offset), convert(other, kind, offset)
    uses = condition.uses | a.uses | b.uses
    if a.text == b.text:
        return replace(a, low=min(a.low, b.low), high=max(a.high, b.high), uses=a.uses | b.uses)
    text = conditional(condition.text, a.text, b.text)
    if kind.kind == "bool":
        return _truth_choice(condition, a, b, uses)
    return Scalar(text, kind, min(a.low, b.low), max(a.high, b.high), uses)


def _truth_choice(condition: Scalar, then: Scalar, other: Scalar, uses: Uses) -> Scalar:
    if then.constant is not None:
        return either(condition, other) if then.constant else both(unary("!", condition, 0), other)
    if other.constant is not None:
        return either(unary("!", condition, 0), then) if other.constant else both(condition, then)
    return truth(conditional(condition.text, then.text, other.text), uses)


def _arm(taken: Scalar, other: Scalar, offset: int) -> Scalar:
    if taken.type.kind == other.type.kind == "string":
        return taken
    kind = taken.type if taken.type == other.type else common_type(taken, other, offset)
    return convert(taken, kind, offset)


def extreme(function: str, values: list[Scalar], offset: int) -> Scalar:
    """``std::max`` or ``std::min`` of values of one type, in order."""
    kind = values[0].type
    uses = values[0].uses
    for value in values[1:]:
        uses |= value.uses
    text = call(function, *(v.text.text for v in values))
    uses |= Uses(builtins=frozenset({function}))
    best = max if function == "max" else min
    if kind.kind == "string":
        raise Refused("the order of texts is not translated", offset)
    if all(v.constant is not None for v in values):
        return constant(best(v.low for v in values), kind)
    return Scalar(text, kind, best(v.low for v in values), best(v.high for v in values), uses)
