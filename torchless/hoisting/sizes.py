"""Lists of sizes: elements, lengths, products, parts, and how Python writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torchless.hoisting import arithmetic
from torchless.hoisting.arithmetic import constant
from torchless.hoisting.number_types import LONG, ULONG
from torchless.hoisting.python import Level, Text, binary, call, subscript, tuple_of
from torchless.hoisting.terms import Array, Refused, Rest, Scalar, Term, Uses

MATH = Uses(imports=frozenset({"math"}))


def size_value(text: Text, uses: Uses) -> Scalar:
    """A size, a stride, a count of elements: never negative."""
    return Scalar(text, LONG, 0, LONG.high, uses)


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
                return size_value(subscript(part.text, str(at)), part.uses)
            if place == (known if known >= 0 else -known - 1):
                return part
        raise Refused("there is no such dimension", offset)
    if len(parts) == 1 and isinstance(parts[0], Rest):
        return size_value(subscript(parts[0].text, index.text.text), parts[0].uses | index.uses)
    raise Refused("the dimension that is meant is not known", offset)


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
            value = arithmetic.convert(part, LONG, offset)
        out = arithmetic.operate("*", out, value, offset)
    return out if len(scalars) != 1 or len(array.parts) != 1 else arithmetic.convert(scalars[0], LONG, offset)


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


def array_member(array: Array, name: str, arguments: Sequence[Term], offset: int) -> Term:
    """``array.name(arguments)`` of an IntArrayRef or a vector. Raises Refused."""
    if not arguments:
        if name == "size":
            return replace(length(array), type=ULONG)
        if name in ("vec", "copy"):
            return array
        if name in ("front", "back"):
            return element(array, constant(0 if name == "front" else -1), offset, wraps=True)
        if name == "empty":
            return arithmetic.operate("==", length(array), constant(0), offset)
    if name == "at" and len(arguments) == 1:
        return element(array, as_index(arguments[0], offset), offset, wraps=False)
    if name == "slice" and len(arguments) == 2:
        start, count = (as_index(a, offset).constant for a in arguments)
        all_but_last = as_index(arguments[1], offset).text.text == f"{length(array).text.text} - 1"
        if start == 0 and count is None and all_but_last:
            return Array(with_element(array, -1, constant(0), offset).parts[:-1])
        if start is not None and count is not None and start >= 0 and count >= 0:
            return head(tail(array, start, offset) if start else array, count, offset)
    raise Refused(f"`{name}` of sizes is not known here", offset)


def as_index(term: Term, offset: int) -> Scalar:
    """``term`` where a dimension or an index is wanted."""
    if isinstance(term, Scalar) and term.type.kind in ("int", "bool"):
        return term
    raise Refused("a number was expected here", offset)


def shape_text(array: Array) -> Text:
    """A shape as Python writes it: ``(a, b)``, ``x.shape``, ``(*x.shape[:-1], n)``."""
    if len(array.parts) == 1 and isinstance(array.parts[0], Rest):
        return array.parts[0].text
    items = tuple(f"*{p.text.at(Level.BIT_OR)}" if isinstance(p, Rest) else p.text.text for p in array.parts)
    return tuple_of(items)
