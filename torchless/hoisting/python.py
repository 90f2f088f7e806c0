"""Python expressions as text that knows how tightly it binds, spelled the way black leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Level(IntEnum):
    """How tightly the outermost operator of an expression binds; higher binds tighter. Source: the Python grammar."""

    CONDITIONAL = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARE = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12
    ATOM = 13  # names, numbers, calls, attributes, subscripts, anything in brackets


@dataclass(frozen=True, slots=True)
class Text:
    """An expression: its text and the level of its outermost operator.

    ``opposite`` is the same comparison turned round, where there is one that is its exact contrary.
    """

    text: str
    level: Level = Level.ATOM
    opposite: str = field(default="", compare=False)

    def at(self, level: Level) -> str:
        """The text, in parentheses where it binds less tightly than ``level``."""
        return self.text if self.level >= level else f"({self.text})"


_OPERATORS = {
    "or": Level.OR,
    "and": Level.AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "is", "is not"), Level.COMPARE),
    "|": Level.BIT_OR,
    "^": Level.BIT_XOR,
    "&": Level.BIT_AND,
    **dict.fromkeys(("<<", ">>"), Level.SHIFT),
    **dict.fromkeys(("+", "-"), Level.SUM),
    **dict.fromkeys(("*", "/", "//", "%"), Level.PRODUCT),
}
_TIGHTER = {level: Level(level + 1) for level in Level if level < Level.ATOM}


# The contrary of == is != for all values, NaN too; that of < is not >= for NaN.
_OPPOSITES = {"==": "!=", "!=": "==", "is": "is not", "is not": "is"}


def binary(operator: str, left: Text, right: Text) -> Text:
    """``left operator right``. Comparisons are never chained."""
    level = _OPERATORS[operator]
    first = _TIGHTER[level] if level is Level.COMPARE else level
    second = level if operator in ("and", "or") else _TIGHTER[level]
    opposite = _OPPOSITES.get(operator, "")
    return Text(
        f"{left.at(first)} {operator} {right.at(second)}",
        level,
        f"{left.at(first)} {opposite} {right.at(second)}" if opposite else "",
    )


def negative(operand: Text) -> Text:
    """``-operand``."""
    return Text(f"-{operand.at(Level.ATOM)}", Level.UNARY)


def inverted(operand: Text) -> Text:
    """``~operand``."""
    return Text(f"~{operand.at(Level.ATOM)}", Level.UNARY)


def negated(operand: Text) -> Text:
    """``not operand``; a comparison that has an exact contrary is turned round instead."""
    if operand.opposite:
        return Text(operand.opposite, operand.level, operand.text)
    return Text(f"not {operand.at(Level.NOT)}", Level.NOT, operand.at(Level.NOT))


def conditional(condition: Text, then: Text, other: Text) -> Text:
    """``then if condition else other``; the two the same: that one."""
    if then == other:
        return then
    return Text(
        f"{then.at(Level.OR)} if {condition.at(Level.OR)} else {other.at(Level.CONDITIONAL)}", Level.CONDITIONAL
    )


def attribute(operand: Text, name: str) -> Text:
    """``operand.name``."""
    return Text(f"{operand.at(Level.ATOM)}.{name}")


def subscript(operand: Text, index: str) -> Text:
    """``operand[index]``."""
    return Text(f"{operand.at(Level.ATOM)}[{index}]")


def call(function: str, *arguments: str) -> Text:
    """``function(arguments)``."""
    return Text(f"{function}({', '.join(arguments)})")


def integer(value: int) -> Text:
    """A decimal literal."""
    return Text(str(value), Level.UNARY if value < 0 else Level.ATOM)


def string(value: str) -> Text:
    """A string literal in double quotes."""
    inner = repr(value)[1:-1]
    if repr(value)[0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    return Text(f'"{inner}"')


def tuple_of(items: tuple[str, ...]) -> Text:
    """``(a, b)``, ``(a,)``, ``()``."""
    return Text(f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})")
