"""Reads the text of ``#if`` expressions, and replaces macros in it where that has to be done on the text.

What is parsed is stored with the scan of a file, so that a run over known files needs nothing of this; it is imported
when it is needed, because its patterns take a while to compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchless.closure.conditions import FUNCTION, UNDEFINED, UNKNOWN, ConditionError, Look, Node

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


_PIECE = re.compile(
    r"(?P<defined>\bdefined\b\s*(?:\(\s*([A-Za-z_$][\w$]*)\s*\)|([A-Za-z_$][\w$]*)))"
    r"|(?P<has>__has_include\s*\([^)]*\))|(?P<number>\.?[0-9](?:[eEpP][+-]|'?[\w.])*)"
    r"|(?P<quoted>(?:u8|[uUL])?'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<name>[A-Za-z_$][\w$]*)"
)
_CANNOT_TELL = " __has_torchless(unknown) "  # a call, which parse() takes for not known
_MOST_TEXT = 1 << 14


def expand(text: str, look: Look, hidden: frozenset[str]) -> Iterator[str]:
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
            for piece in expand(value, look, hidden | {name}):
                total += len(piece)
                if total > _MOST_TEXT:
                    raise ConditionError("the condition does not end")
                yield piece
            yield " "
        elif text[position:].lstrip().startswith("("):
            yield name  # with its arguments a call, which is not known
        else:
            yield f" {int(name == 'true')} " if value in (UNDEFINED, FUNCTION) else _CANNOT_TELL
