"""``#if`` expressions over macros that may be unknown: an expression is true, false or not to be decided.

`expressions.parse` turns the text of a condition into nested tuples (which ``marshal`` can store), `evaluate` gives its
value in a macro state. The value of a macro is its replacement text, or one of the marks below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

UNDEFINED: Final = 0
"""Not a macro."""
MAYBE: Final = 1
"""Whether this is a macro is not known."""
OPAQUE: Final = 2
"""A macro whose replacement is not known, or is nothing that a condition can use."""
FUNCTION: Final = 3
"""A function-like macro."""

Value = str | int
"""A replacement text, or one of the four marks."""
Node = tuple[Any, ...]
"""("number", int, unsigned), ("defined", name), ("name", name), ("has", header, angled), ("unknown",), ("!", node),
("&&", node, node), ("?", node, node, node) and so on."""
Condition = tuple[Node, str]
"""A parsed condition and its text, without comments and in one line."""

UNKNOWN: Final[Node] = ("unknown",)
AS_TEXT: Final[Node] = ("text",)
"""What parse() makes nothing of before macros are replaced; evaluate() replaces them first."""


class ConditionError(ValueError):
    """The text is no condition; the message says why in a few words."""


class _Unsigned(int):
    """An integer that the preprocessor takes for unsigned."""


Look = Callable[[str], Value]
Has = Callable[[str, bool], "bool | None"]


class _NeedsText(Exception):
    """A replacement text has operators of its own, so that the whole condition has to be expanded as text."""


def evaluate(condition: Condition, look: Look, has: Has) -> int | None:
    """The value of a condition, or None when it cannot be decided.

    ``look`` gives the value of a macro, ``has(header, angled)`` whether a header is there (None: not known).
    """
    try:
        return _evaluate(condition[0], look, has)
    except _NeedsText:
        pass
    from torchless.closure.expressions import expand, parse

    try:
        return _evaluate(parse("".join(expand(condition[1], look, frozenset()))), look, has)
    except (ConditionError, _NeedsText):
        return None


def _evaluate(node: Node, look: Look, has: Has) -> int | None:
    kind = node[0]
    if kind == "defined":
        value = look(node[1])
        return None if value == MAYBE else int(value != UNDEFINED)
    if kind == "&&":
        left = _evaluate(node[1], look, has)
        if left == 0:
            return 0
        right = _evaluate(node[2], look, has)
        return 0 if right == 0 else None if left is None or right is None else 1
    if kind == "||":
        left = _evaluate(node[1], look, has)
        if left:
            return 1
        right = _evaluate(node[2], look, has)
        return 1 if right else None if left is None or right is None else 0
    if kind == "!":
        left = _evaluate(node[1], look, has)
        return None if left is None else int(not left)
    if kind == "name":
        return _named(node[1], look, has)
    if kind == "number":
        return _Unsigned(node[1] % (1 << 64)) if node[2] else int(node[1])
    if kind == "has":
        return has(node[1], node[2])
    if kind == "?":
        left = _evaluate(node[1], look, has)
        if left is not None:
            return _evaluate(node[2] if left else node[3], look, has)
        yes, no = _evaluate(node[2], look, has), _evaluate(node[3], look, has)
        return yes if yes == no else None
    if kind in ("unknown", "call"):
        return None
    if kind == "text":
        raise _NeedsText
    left = _evaluate(node[1], look, has)
    if len(node) == 2:
        return None if left is None else _wrapped(-left if kind == "-" else ~left if kind == "~" else left, left, left)
    right = _evaluate(node[2], look, has)
    return None if left is None or right is None else _arithmetic(kind, left, right)


def _named(name: str, look: Look, has: Has) -> int | None:
    """The value of a name where a number is wanted."""
    value = look(name)
    if isinstance(value, str):
        body = _body(value)
        if body is None:
            raise _NeedsText
        return _evaluate(body, lambda inner: OPAQUE if inner == name else look(inner), has)
    if value in (UNDEFINED, FUNCTION):  # the latter without arguments stays a name
        return int(name == "true")
    return None


@lru_cache(maxsize=1 << 12)
def _body(text: str) -> Node | None:
    """A replacement text as a node when it means the same wherever it stands, else None."""
    if text.isascii() and text.isdecimal() and text[0] != "0" and len(text) < 19:
        return ("number", int(text), False)
    if text == "0":
        return ("number", 0, False)
    from torchless.closure.expressions import parse

    try:
        node = parse(text)
    except ConditionError:
        return None
    return node if node[0] in ("number", "name") or (text.startswith("(") and _closes_last(text)) else None


def _closes_last(text: str) -> bool:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return place == len(text) - 1
    return False


def _wrapped(value: int, left: int, right: int) -> int:
    """``value`` in the 64 bits that both operands have."""
    if isinstance(left, _Unsigned) or isinstance(right, _Unsigned):
        return _Unsigned(value % (1 << 64))
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _arithmetic(operator: str, left: int, right: int) -> int | None:
    """The value of an operator with two operands; None where C++ gives it none."""
    a, b = int(left), int(right)
    if isinstance(left, _Unsigned) or isinstance(right, _Unsigned):
        a, b = a % (1 << 64), b % (1 << 64)
    comparisons = {"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}
    if operator in comparisons:
        return int(comparisons[operator])
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            return None
        return _wrapped(int(left) << int(right) if operator == "<<" else int(left) >> int(right), left, left)
    if operator in ("/", "%"):
        if not b:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # C++ rounds towards zero
        return _wrapped(quotient if operator == "/" else a - b * quotient, left, right)
    simple = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}
    return _wrapped(simple[operator], left, right)


def unsettled(condition: Condition, look: Look) -> list[str]:
    """The macros that keep a condition from being decided, sorted."""
    from torchless.closure.expressions import parse

    found: set[str] = set()
    seen: set[str] = set()

    def visit(node: Node) -> None:
        if node[0] in ("defined", "name"):
            value = look(node[1])
            if value in (MAYBE, OPAQUE) and not isinstance(value, str) and not (node[0] == "defined" and value == 2):
                found.add(node[1])
            elif isinstance(value, str) and node[0] == "name" and node[1] not in seen:
                seen.add(node[1])
                try:
                    visit(parse(value))
                except ConditionError:
                    found.add(node[1])
        elif node[0] == "call":
            found.add(node[1])
        elif node[0] == "has":
            found.add("__has_include")
        else:
            for inner in node[1:]:
                if isinstance(inner, tuple):
                    visit(inner)

    visit(condition[0])
    return sorted(found)


def implied(node: Node, holds: bool) -> Iterator[tuple[str, bool]]:
    """(macro, whether it is defined) for every macro of which that follows from ``node`` being true, or false."""
    if node[0] == "defined":
        yield node[1], holds
    elif node[0] == "!":
        yield from implied(node[1], not holds)
    elif (node[0] == "&&" and holds) or (node[0] == "||" and not holds):
        yield from implied(node[1], holds)
        yield from implied(node[2], holds)
