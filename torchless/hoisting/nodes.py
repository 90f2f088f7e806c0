"""C++ expressions as small frozen trees."""

from __future__ import annotations

from dataclasses import dataclass


class NotAnExpression(Exception):
    """The tokens are no expression that is taken here. ``offset`` is the byte where it stops making sense."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Node:
    """Any expression. ``offset`` is the byte offset of its first token, or of a name's last component."""

    offset: int


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number or a character: ``suffix`` in lower case (``ul``, ``f``), ``is_decimal`` as C++ types literals."""

    value: int | float
    suffix: str = ""
    is_decimal: bool = True


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class String(Node):
    """String literals that stand beside each other, joined."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name as spelled (``std::max``, no leading ::), with its last component's template arguments as text."""

    text: str
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Member(Node):
    """``object.name`` or ``object->name``."""

    object: Node
    name: str
    arrow: bool = False
    template: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``callee(arguments)``, ``callee{arguments}`` with ``braces``."""

    callee: Node
    arguments: tuple[Node, ...]
    braces: bool = False


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``object[index]``."""

    object: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``static_cast<type>(operand)`` and its kin, ``(type)operand``, ``type(operand)`` of a builtin type.

    ``kind`` is the keyword, or "c".
    """

    kind: str
    type: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``operator operand``."""

    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``left operator right``, without assignments."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    """``condition ? then : other``."""

    condition: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class Braces(Node):
    """``{a, b}``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SizeOf(Node):
    """``sizeof(what)``: the text between the parentheses, and the expression that it may be (None: a type only)."""

    what: str
    operand: Node | None


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """A lambda, opaque."""
