"""Numbers, characters and texts of C++ as values."""

from __future__ import annotations

import ast
import re

from torchless.hoisting.nodes import NotAnExpression, Number

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uUlLzZ]*)")
_FLOAT = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([fFlL]?)")


def number(text: str, offset: int) -> Number:
    """The number that ``text`` spells. Raises NotAnExpression."""
    plain = text.replace("'", "")
    m = _INTEGER.fullmatch(plain)
    if m:
        digits = m[1].lower()
        if digits.startswith("0x"):
            return Number(offset, int(digits, 16), m[2].lower(), is_decimal=False)
        if digits.startswith("0b"):
            return Number(offset, int(digits, 2), m[2].lower(), is_decimal=False)
        if digits.startswith("0") and len(digits) > 1:
            return Number(offset, int(digits, 8), m[2].lower(), is_decimal=False)
        return Number(offset, int(digits), m[2].lower())
    m = _FLOAT.fullmatch(plain)
    if m:
        return Number(offset, float(m[1]), m[2].lower())
    raise NotAnExpression(f"the number {text} is not understood", offset)


_ESCAPES = re.compile(r"\\(?:[abfnrtv\\'\"?0]|x[0-9a-fA-F]{1,2}(?![0-9a-fA-F]))")


def _unescaped(text: str, offset: int) -> str:
    """The text between quotes, escapes replaced."""
    rest = _ESCAPES.sub("", text)
    if "\\" in rest or "\n" in rest or any(ord(c) > 126 for c in text):
        raise NotAnExpression("this text is not understood", offset)
    quoted = text.replace('\\"', '"').replace("\\?", "?").replace('"', '\\"')
    value = str(ast.literal_eval(f'"{quoted}"'))
    if any(ord(c) > 126 for c in value):
        raise NotAnExpression("this text is not understood", offset)
    return value


def string(text: str, offset: int) -> str:
    """The text that a plain string literal spells. Raises NotAnExpression."""
    if not text.startswith('"') or not text.endswith('"') or len(text) < 2:
        raise NotAnExpression("this text is not understood", offset)
    return _unescaped(text[1:-1], offset)


def character(text: str, offset: int) -> Number:
    """The number that a plain character literal spells. Raises NotAnExpression."""
    value = _unescaped(text[1:-1], offset) if text.startswith("'") and text.endswith("'") else ""
    if len(value) != 1:
        raise NotAnExpression("this character is not understood", offset)
    return Number(offset, ord(value), "char")
