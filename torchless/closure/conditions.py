"""``#if`` expressions over macros that may be unknown: an expression is true, false or not to be decided.

`parse` turns the text of a condition into nested tuples (which ``marshal`` can store), `evaluate` gives its value in a
macro state. The value of a macro is its replacement text, or one of the marks below.
"""

from __future__ import annotations

import re
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
_SPELLED = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "not_eq": "!=",
}
_LEVELS = {
    operator: level
    for level, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"),
    )
    for operator in operators.split()
}
# Names are told by the ASCII that is not in them: a class that spells out all of Unicode takes 20 ms to compile.
_TOKEN = re.compile(
    r"\s*(?:(?P<char>(?:u8|[uUL])?'(?:[^'\\]|\\.)*')|(?P<text>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<name>[^\x00-#%-@\[-^`{-\x7f][^\x00-#%-/:-@\[-^`{-\x7f]*)|(?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)"
    r"|(?P<punctuation><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^!~?:(),]))"
)
_NUMBER = re.compile(r"(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9][0-9]*))([uUlLzZ]*)\Z")
_SUFFIX = re.compile(r"(?i:u?(?:ll?|z)?|(?:ll?|z)u)\Z")
_HAS_INCLUDE = re.compile(r"\s*\(\s*(?:<([^>]*)>|\"([^\"]*)\")\s*\)")
_ARGUMENT = re.compile(r"[()]|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}
_DEPTH = 50  # parentheses and operators within each other, far above what people write
_OPERATORS = 300


class ConditionError(ValueError):
    """The text is no condition; the message says why in a few words."""


class _Unsigned(int):
    """An integer that the preprocessor takes for unsigned."""


def parse(text: str) -> Node:
    """The expression ``text``, without comments and line splices. Raises ConditionError when it is none."""
    parser = _Parser(text)
    node = parser.ternary(0)
    if parser.kind:
        raise ConditionError(f"unexpected {parser.token}")
    return node


class _Parser:
    """Recursive descent over one expression; ``token`` is the next one, "" at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.operators = 0
        self.kind = ""
        self.token = ""
        self.next()

    def next(self) -> None:
        """Go on to the next token. Raises ConditionError for what is none."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            rest = self.text[self.position :].strip()
            if rest:
                raise ConditionError(f"unexpected {rest[0]}")
            self.kind = self.token = ""
            return
        self.kind = match.lastgroup or ""
        self.token = _SPELLED.get(match[self.kind], match[self.kind])
        self.position = match.end()

    def expect(self, token: str) -> None:
        """Skip ``token``. Raises ConditionError when it does not stand there."""
        if self.token != token:
            raise ConditionError(f"{token} is missing")
        self.next()

    def ternary(self, depth: int) -> Node:
        """condition ? yes : no, or anything that binds tighter."""
        node = self.binary(0, depth)
        if self.token == "?":
            self.next()
            yes = self.ternary(depth + 1)
            self.expect(":")
            return ("?", node, yes, self.ternary(depth + 1))
        return node

    def binary(self, level: int, depth: int) -> Node:
        """Operators of at least this level, the left ones first."""
        if depth > _DEPTH:
            raise ConditionError("the condition is too deep")
        node = self.unary(depth)
        while _LEVELS.get(self.token, -1) >= level:
            operator = self.token
            self.operators += 1
            if self.operators > _OPERATORS:
                raise ConditionError("the condition is too long")
            self.next()
            node = (operator, node, self.binary(_LEVELS[operator] + 1, depth + 1))
        return node

    def unary(self, depth: int) -> Node:
        """A number, a name, something in parentheses, or one of these behind a sign."""
        if depth > _DEPTH:
            raise ConditionError("the condition is too deep")
        kind, token, after = self.kind, self.token, self.position
        if not kind:
            raise ConditionError("a value is missing")
        self.next()
        if token in ("!", "-", "+", "~"):
            return (token, self.unary(depth + 1))
        if token == "(":
            node = self.ternary(depth + 1)
            self.expect(")")
            return node
        if kind == "number":
            return _number(token)
        if kind == "char":
            return _character(token)
        if kind != "name":
            raise ConditionError(f"unexpected {token}")
        if token == "defined":
            return self.defined()
        if token == "__has_include":
            match = _HAS_INCLUDE.match(self.text, after)
            if match is not None:
                self.position = match.end()
                self.next()
                return ("has", match[1] if match[1] is not None else match[2], match[1] is not None)
        if self.token == "(":
            self.arguments()
            return ("call", token)
        return ("name", token)

    def defined(self) -> Node:
        """``defined X`` or ``defined(X)``, from behind the word."""
        bracket = self.token == "("
        if bracket:
            self.next()
        if self.kind != "name":
            raise ConditionError("a macro's name is missing")
        name = self.token
        self.next()
        if bracket:
            self.expect(")")
        return ("defined", name)

    def arguments(self) -> None:
        """Skip the arguments of a function-like macro, which may be any tokens at all."""
        depth = 1
        for match in _ARGUMENT.finditer(self.text, self.position):
            depth += (match[0] == "(") - (match[0] == ")")
            if not depth:
                self.position = match.end()
                self.next()
                return
        raise ConditionError(") is missing")


def _number(token: str) -> Node:
    match = _NUMBER.match(token.replace("'", ""))
    if match is None or not _SUFFIX.match(match[5]):
        raise ConditionError(f"{token} is not an integer")
    digits = match[1] or match[2] or match[3] or match[4]
    value = int(digits, 16 if match[1] else 2 if match[2] else 8 if match[3] else 10)
    return ("number", value, "u" in match[5].lower() or value >= 1 << 63)


def _character(token: str) -> Node:
    body = token[token.index("'") + 1 : -1]
    if len(body) == 1:
        return ("number", ord(body), False)
    if len(body) == 2 and body[0] == "\\" and body[1] in _ESCAPES:
        return ("number", _ESCAPES[body[1]], False)
    return UNKNOWN


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
    try:
        return _evaluate(parse("".join(_expand(condition[1], look, frozenset()))), look, has)
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


_PIECE = re.compile(
    r"(?P<defined>\bdefined\b\s*(?:\(\s*([A-Za-z_$][\w$]*)\s*\)|([A-Za-z_$][\w$]*)))"
    r"|(?P<has>__has_include\s*\([^)]*\))|(?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)"
    r"|(?P<quoted>(?:u8|[uUL])?'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<name>[A-Za-z_$][\w$]*)"
)
_CANNOT_TELL = " __has_torchless(unknown) "  # a call, which parse() takes for not known
_MOST_TEXT = 1 << 14


def _expand(text: str, look: Look, hidden: frozenset[str]) -> Iterator[str]:
    """The pieces of ``text`` with macros replaced; raises ConditionError when that does not end soon."""
    position = total = 0
    while True:
        match = _PIECE.search(text, position)
        if match is None:
            yield text[position:]
            return
        yield text[position : match.start()]
        position = match.end()
        if match["name"] is None or match["name"] in _SPELLED:
            yield match[0]
            continue
        name = match["name"]
        value = UNDEFINED if name in hidden else look(name)
        if isinstance(value, str):
            yield " "
            for piece in _expand(value, look, hidden | {name}):
                total += len(piece)
                if total > _MOST_TEXT:
                    raise ConditionError("the condition does not end")
                yield piece
            yield " "
        elif text[position:].lstrip().startswith("("):
            yield name  # with its arguments a call, which is not known
        else:
            yield f" {int(name == 'true')} " if value in (UNDEFINED, FUNCTION) else _CANNOT_TELL


def unsettled(condition: Condition, look: Look) -> list[str]:
    """The macros that keep a condition from being decided, sorted."""
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
