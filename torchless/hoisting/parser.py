"""Parses C++ expressions over code tokens.

What is taken: literals, qualified names with template arguments, calls, members, subscripts, casts of every spelling,
unary and binary operators, conditionals, brace lists, ``sizeof``. A lambda is kept as one opaque node. Everything else
raises NotAnExpression.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchless.hoisting import literals
from torchless.hoisting.nodes import (
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
    NotAnExpression,
    Number,
    SizeOf,
    String,
    Ternary,
    Unary,
)
from torchless.hoisting.spelling import BUILTIN_WORDS, is_builtin, is_type, split_template, type_text
from torchless.text.lexer import Kind, Token, match_angle, match_forward


def parse(tokens: Sequence[Token], first: int, last: int) -> Node:
    """The expression made of the code tokens ``first`` .. ``last`` (both included), all of them.

    Raises NotAnExpression for anything else: assignments, ``x++``, a comma outside brackets, a directive in between.
    """
    if first > last:
        raise NotAnExpression("there is no expression here", tokens[first].start if first < len(tokens) else 0)
    stream = tokens[first].directive
    inside = list(tokens[first : last + 1])
    for token in inside:
        if token.directive != stream or token.kind is Kind.DIRECTIVE:
            raise NotAnExpression("a preprocessor directive stands within the expression", token.start)
    parser = _Parser(inside)
    node = parser.conditional()
    if parser.at < len(inside):
        parser.fail()
    return node


_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||", "or"),
    ("&&", "and"),
    ("|", "bitor"),
    ("^", "xor"),
    ("&", "bitand"),
    ("==", "!=", "not_eq"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_WORDS = {"or": "||", "and": "&&", "bitor": "|", "xor": "^", "bitand": "&", "not_eq": "!=", "not": "!", "compl": "~"}
_ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_NOT_NAMES = frozenset(
    {"new", "delete", "throw", "co_await", "co_yield", "requires", "typeid", "noexcept", "alignof", "decltype",
     "operator", "this", "return", "goto", "case"}
)  # fmt: skip


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def fail(self, reason: str = "") -> None:
        """Raise at the current token."""
        if self.at >= len(self.tokens):
            end = self.tokens[-1].end if self.tokens else 0
            raise NotAnExpression(reason or "the expression ends too early", end)
        token = self.tokens[self.at]
        text = token.text.decode("latin-1")
        if text in _ASSIGNMENTS or text in ("++", "--"):
            reason = reason or "it changes a variable"
        raise NotAnExpression(reason or f"`{text}` is not understood here", token.start)

    def peek(self, ahead: int = 0) -> str:
        """Text of the token ``ahead`` of the current one, "" at the end."""
        i = self.at + ahead
        return self.tokens[i].text.decode("latin-1") if i < len(self.tokens) else ""

    def kind(self) -> Kind | None:
        """Kind of the current token."""
        return self.tokens[self.at].kind if self.at < len(self.tokens) else None

    def offset(self) -> int:
        """Byte offset of the current token."""
        if self.at >= len(self.tokens):
            self.fail()
        return self.tokens[self.at].start

    def expect(self, text: str) -> None:
        """Go past ``text``."""
        if self.peek() != text:
            self.fail()
        self.at += 1

    def conditional(self) -> Node:
        """A conditional expression, or anything that binds tighter."""
        offset = self.offset()
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.at += 1
        then = self.conditional()
        self.expect(":")
        return Ternary(offset, condition, then, self.conditional())

    def binary(self, level: int) -> Node:
        """Binary operators of ``level`` and tighter."""
        if level == len(_LEVELS):
            return self.unary()
        offset = self.offset()
        left = self.binary(level + 1)
        while True:
            operator, width = self._operator()
            if operator not in _LEVELS[level]:
                return left
            self.at += width
            left = Binary(offset, _WORDS.get(operator, operator), left, self.binary(level + 1))

    def _operator(self) -> tuple[str, int]:
        """The operator here and how many tokens it takes: the lexer gives > one by one."""
        text = self.peek()
        if text == ">" and self.at + 1 < len(self.tokens):
            following = self.tokens[self.at + 1]
            if following.start == self.tokens[self.at].end and following.text in (b">", b">="):
                return (">>", 2) if following.text == b">" else (">>=", 2)
        return text, 1

    def unary(self) -> Node:
        """Prefix operators, casts, sizeof."""
        offset, text = self.offset(), self.peek()
        operator = _WORDS.get(text, text)
        if operator in ("!", "-", "+", "~", "*", "&") and self.kind() in (Kind.PUNCT, Kind.NAME):
            self.at += 1
            return Unary(offset, operator, self.unary())
        if text in ("++", "--"):
            self.fail()
        if text == "sizeof":
            return self._sizeof(offset)
        cast = self._c_cast()
        if cast:
            self.at += len(cast) + 2
            return Cast(offset, "c", type_text(cast), self.unary())
        return self.postfix()

    def _sizeof(self, offset: int) -> Node:
        self.at += 1
        if self.peek() != "(":
            self.fail("sizeof without parentheses is not understood here")
        close = self._partner()
        inner = self.tokens[self.at + 1 : close]
        self.at = close + 1
        if not inner:
            self.fail()
        try:
            operand: Node | None = parse(inner, 0, len(inner) - 1)
        except NotAnExpression:
            operand = None
        return SizeOf(offset, type_text(inner), operand)

    def _partner(self) -> int:
        close = match_forward(self.tokens, self.at)
        if close < 0:
            self.fail("a bracket is not closed")
        return close

    def _c_cast(self) -> list[Token]:
        """The tokens of the type when a C cast starts here, else none."""
        if self.peek() != "(":
            return []
        close = match_forward(self.tokens, self.at)
        inner = self.tokens[self.at + 1 : close] if close > 0 else []
        if not inner or close + 1 >= len(self.tokens) or not is_type(inner):
            return []
        following = self.tokens[close + 1]
        if is_builtin(type_text(inner)):
            starts = following.kind is not Kind.PUNCT or following.text in (b"(", b"-", b"+", b"~", b"!", b"*", b"&")
            return inner if starts else []
        # (T) of a name that nobody knows: a cast only where nothing else can be meant
        operand = following.kind in (Kind.NAME, Kind.NUMBER, Kind.STRING, Kind.CHAR)
        return inner if operand and following.text.decode("latin-1") not in _WORDS else []

    def postfix(self) -> Node:
        """A primary expression with what follows it: members, calls, subscripts."""
        node = self.primary()
        while True:
            text, offset = self.peek(), node.offset
            if text in (".", "->"):
                self.at += 1
                node = self._member(node, text == "->")
            elif text == "(":
                node = Call(offset, node, self._list("(", ")"))
            elif text == "{" and isinstance(node, Name):
                node = Call(offset, node, self._list("{", "}"), braces=True)
            elif text == "[":
                self.at += 1
                index = self.conditional()
                self.expect("]")
                node = Index(offset, node, index)
            else:
                return node

    def _member(self, node: Node, arrow: bool) -> Node:
        if self.peek() == "template":
            self.at += 1
        if self.kind() is not Kind.NAME:
            self.fail()
        offset, name = self.offset(), self.peek()
        self.at += 1
        return Member(offset, node, name, arrow, self._template())

    def _list(self, opener: str, closer: str) -> tuple[Node, ...]:
        self.expect(opener)
        out: list[Node] = []
        while self.peek() != closer:
            out.append(self.conditional())
            if self.peek() != closer:
                self.expect(",")
                if self.peek() == closer and closer != "}":
                    self.fail()
        self.at += 1
        return tuple(out)

    def _template(self) -> tuple[str, ...]:
        """The template arguments that start here, when they are any."""
        if self.peek() != "<":
            return ()
        close = match_angle(self.tokens, self.at)
        after = self.tokens[close + 1].text if 0 < close < len(self.tokens) - 1 else b""
        if close < 0 or after not in (b"(", b"{", b"::"):
            return ()
        inner = self.tokens[self.at + 1 : close]
        plain = all(
            t.kind in (Kind.NAME, Kind.NUMBER) or t.text in (b"::", b"<", b">", b",", b"*", b"&", b"-") for t in inner
        )
        if not plain or not inner:
            return ()
        self.at = close + 1
        return split_template(inner)

    def primary(self) -> Node:
        """Literals, names, brackets, named casts."""
        kind, text, offset = self.kind(), self.peek(), self.offset()
        if kind is Kind.NUMBER:
            self.at += 1
            return literals.number(text, offset)
        if kind is Kind.CHAR:
            self.at += 1
            return literals.character(text, offset)
        if kind is Kind.STRING:
            return self._strings(offset)
        if text == "(":
            self.at += 1
            node = self.conditional()
            self.expect(")")
            return node
        if text == "{":
            return Braces(offset, self._list("{", "}"))
        if text == "[":
            return self._lambda(offset)
        if text in ("true", "false"):
            self.at += 1
            return Boolean(offset, text == "true")
        if text in _CASTS:
            return self._named_cast(offset, text)
        if text in _NOT_NAMES:
            self.fail(f"`{text}` is not understood here")
        if kind is Kind.NAME and text in BUILTIN_WORDS:
            return self._functional_cast(offset)
        if kind is Kind.NAME or text == "::":
            return self._name()
        self.fail()
        raise AssertionError

    def _strings(self, offset: int) -> Node:
        value = ""
        while self.kind() is Kind.STRING:
            value += literals.string(self.peek(), self.offset())
            self.at += 1
        return String(offset, value)

    def _lambda(self, offset: int) -> Node:
        i = self._partner() + 1
        while i < len(self.tokens) and self.tokens[i].text != b"{":
            if self.tokens[i].text == b"(":
                self.at = i
                i = self._partner()
            i += 1
        if i >= len(self.tokens):
            self.fail("this lambda is not understood")
        self.at = i
        self.at = self._partner() + 1
        return Lambda(offset)

    def _named_cast(self, offset: int, kind: str) -> Node:
        self.at += 1
        close = match_angle(self.tokens, self.at)
        if self.peek() != "<" or close < 0:
            self.fail()
        kind_of = type_text(self.tokens[self.at + 1 : close])
        self.at = close + 1
        self.expect("(")
        operand = self.conditional()
        self.expect(")")
        return Cast(offset, kind, kind_of, operand)

    def _functional_cast(self, offset: int) -> Node:
        start = self.at
        while self.peek() in BUILTIN_WORDS:
            self.at += 1
        kind = type_text(self.tokens[start : self.at])
        if self.peek() not in ("(", "{"):
            self.fail()
        inner = self._list("(", ")") if self.peek() == "(" else self._list("{", "}")
        if not inner:
            return Cast(offset, "c", kind, Number(offset, 0))
        if len(inner) != 1:
            raise NotAnExpression("a number cannot be made of several values", offset)
        return Cast(offset, "c", kind, inner[0])

    def _name(self) -> Node:
        parts: list[str] = []
        template: tuple[str, ...] = ()
        if self.peek() == "::":
            self.at += 1
        while True:
            if self.kind() is not Kind.NAME:
                self.fail()
            offset, word = self.offset(), self.peek()
            self.at += 1
            template = self._template()
            if self.peek() != "::":
                parts.append(word)
                break
            parts.append(f"{word}<{', '.join(template)}>" if template else word)
            self.at += 1
            if self.peek() == "template":
                self.at += 1
        name = "::".join(parts)
        if is_builtin(name) and self.peek() in ("(", "{"):
            inner = self._list("(", ")") if self.peek() == "(" else self._list("{", "}")
            if len(inner) == 1:
                return Cast(offset, "c", name, inner[0])
            if not inner:
                return Cast(offset, "c", name, Number(offset, 0))
            raise NotAnExpression("a number cannot be made of several values", offset)
        return Name(offset, name, template)
