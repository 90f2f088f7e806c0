"""Python string literals, character by character: what each stands for, and which bytes of the script spell it."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst

HOLE = "torchless_hole_"
"""Where a script puts a value, its C++ has a name that starts so."""


@dataclass(frozen=True, slots=True)
class Literal:
    """How a piece of text is spelled: prefix and quotes of its literal, and what is done to the text afterwards.

    ``braces``: how often a brace is doubled, once for an f-string and once for ``.format``. ``percent``: whether the
    text is the left side of ``%``. ``newline`` is the script's own.
    """

    prefix: str
    quotes: str
    newline: str
    braces: int = 0
    percent: bool = False

    @property
    def is_raw(self) -> bool:
        """Whether a backslash stands for itself."""
        return "r" in self.prefix.lower()


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a text that is not to be divided: a character, or a hole.

    ``text`` is what it stands for; of a hole, the Python expression or the name of the field that fills it.
    ``start``/``end`` are the bytes of the script that spell it.
    """

    text: str
    start: int
    end: int
    literal: Literal
    is_hole: bool = False


def units_of(spelled: str, offset: int, newline: str) -> list[Unit] | None:
    """The units of a string expression: one or more adjacent literals, f-strings included; None for bytes.

    ``spelled`` is its text in the script, which starts at byte ``offset``.
    """
    node = libcst.parse_expression(f"({spelled})")
    units: list[Unit] = []
    at = offset
    for part, code in _flat(node, libcst.Module([])):
        if part is not None:
            found = _of_literal(part, at, newline)
            if found is None:
                return None
            units += found
        at += len(code.encode())
    return units


Part = libcst.SimpleString | libcst.FormattedString


def _flat(node: libcst.BaseExpression, module: libcst.Module) -> Iterator[tuple[Part | None, str]]:
    """The literals of ``node`` and what stands between them, in order, without the parentheses that we added."""
    if isinstance(node, libcst.ConcatenatedString):
        for _ in node.lpar[1:]:
            yield None, "("
        yield from _bare(node.left, module)
        yield None, module.code_for_node(node.whitespace_between)
        yield from _bare(node.right, module)
    elif isinstance(node, (libcst.SimpleString, libcst.FormattedString)):
        yield from _bare(node.with_changes(lpar=(), rpar=()), module)


def _bare(node: libcst.BaseExpression, module: libcst.Module) -> Iterator[tuple[Part | None, str]]:
    if isinstance(node, (libcst.SimpleString, libcst.FormattedString)):
        yield node, module.code_for_node(node)
    else:
        yield from _flat(node, module)


def _of_literal(node: Part, at: int, newline: str) -> list[Unit] | None:
    if isinstance(node, libcst.SimpleString):
        if "b" in node.prefix.lower():
            return None
        literal = Literal(node.prefix, node.quote, newline)
        return list(_of_text(node.raw_value, at + len(node.prefix) + len(node.quote), literal))
    module = libcst.Module([])
    literal = Literal(node.prefix, node.quote, newline, braces=1)
    at += len(node.start.encode())
    units: list[Unit] = []
    for part in node.parts:
        code = module.code_for_node(part)
        if isinstance(part, libcst.FormattedStringText):
            units += _halved(list(_of_text(part.value, at, literal)))
        elif isinstance(part, libcst.FormattedStringExpression):
            expression = module.code_for_node(part.expression)
            units.append(Unit(expression, at, at + len(code.encode()), literal, is_hole=True))
        at += len(code.encode())
    return units


_ESCAPE = re.compile(r"\\(?:\r\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{1,3}|.)|\r\n|.", re.S)


def _of_text(raw: str, at: int, literal: Literal) -> Iterator[Unit]:
    """The characters of the inside of a literal; an escape sequence is one unit."""
    for match in _ESCAPE.finditer(raw):
        spelled = match[0]
        end = at + len(spelled.encode())
        if spelled == "\r\n":
            yield Unit("\n", at, end, literal)
        elif len(spelled) == 1:
            yield Unit(spelled, at, end, literal)
        elif literal.is_raw:
            middle = at + 1
            yield Unit("\\", at, middle, literal)
            yield Unit("\n" if spelled[1:] == "\r\n" else spelled[1:], middle, end, literal)
        else:
            yield Unit(_value(spelled), at, end, literal)
        at = end


def _value(escape: str) -> str:
    """What an escape sequence stands for; one that Python does not know stands for itself."""
    if escape[1:] in ("\r\n", "\n"):
        return ""
    if escape[1] not in "\\'\"abfnrtvxuUN01234567":
        return escape
    value: str = ast.literal_eval(f'"{escape}"')
    return value


def _halved(units: Sequence[Unit]) -> list[Unit]:
    """``units`` with each doubled brace as one."""
    out: list[Unit] = []
    i = 0
    while i < len(units):
        unit = units[i]
        twin = i + 1 < len(units) and not unit.is_hole and unit.text in ("{", "}") and units[i + 1].text == unit.text
        out.append(replace(unit, end=units[i + 1].end) if twin else unit)
        i += 2 if twin else 1
    return out


def formatted(units: Sequence[Unit]) -> list[Unit] | None:
    """``units`` as ``.format`` reads them: doubled braces are one, a replacement field is a hole. None for no template.

    Source: the format string syntax of Python's documentation of ``string``.
    """
    text = "".join("x" if unit.is_hole else unit.text for unit in units if len(unit.text) == 1 or unit.is_hole)
    try:
        list(string.Formatter().parse(text))
    except ValueError:
        return None
    units = [replace(u, literal=replace(u.literal, braces=u.literal.braces + 1)) for u in units]
    out: list[Unit] = []
    i = 0
    while i < len(units):
        unit = units[i]
        if unit.is_hole or unit.text not in ("{", "}"):
            out.append(unit)
            i += 1
        elif i + 1 < len(units) and units[i + 1].text == unit.text and not units[i + 1].is_hole:
            out.append(replace(unit, end=units[i + 1].end))
            i += 2
        elif unit.text == "{":
            close = next((j for j in range(i, len(units)) if units[j].text == "}" and not units[j].is_hole), -1)
            if close < 0:
                return None
            field = re.split(r"[!:.\[]", "".join(u.text for u in units[i + 1 : close]))[0]
            out.append(Unit(field, unit.start, units[close].end, unit.literal, is_hole=True))
            i = close + 1
        else:
            return None
    return out


_CONVERSION = re.compile(r"%(?:\((\w+)\))?[-#0 +]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]")


def interpolated(units: Sequence[Unit]) -> list[Unit] | None:
    """``units`` as ``%`` reads them: ``%%`` is one, ``%s`` and ``%(name)s`` are holes. None where that is unclear."""
    units = [replace(u, literal=replace(u.literal, percent=True)) for u in units]
    text = "".join("\0" if u.is_hole or len(u.text) != 1 else u.text for u in units)
    out: list[Unit] = []
    i = 0
    while i < len(units):
        if text[i] != "%":
            out.append(units[i])
            i += 1
            continue
        if text.startswith("%%", i):
            out.append(replace(units[i], end=units[i + 1].end))
            i += 2
            continue
        match = _CONVERSION.match(text, i)
        if match is None:
            return None
        last = units[match.end() - 1]
        out.append(Unit(match[1] or "", units[i].start, last.end, units[i].literal, is_hole=True))
        i = match.end()
    return out


def spell(text: str, literal: Literal) -> str | None:
    """``text`` as it has to be written into ``literal``; None where that cannot be.

    Raw literals take no quotes of their own, and one on a single line no newline.
    """
    for _ in range(literal.braces):
        text = text.replace("{", "{{").replace("}", "}}")
    if literal.percent:
        text = text.replace("%", "%%")
    if literal.is_raw:
        alone = len(literal.quotes) == 1 and "\n" in text
        return None if alone or literal.quotes[0] in text or text.endswith("\\") else _ended(text, literal)
    text = text.replace("\\", "\\\\")
    if len(literal.quotes) == 1:
        return text.replace(literal.quotes, f"\\{literal.quotes}").replace("\n", "\\n")
    quote = literal.quotes[0]
    text = text.replace(literal.quotes, f"\\{quote}" * 3)
    if text.endswith(quote):
        text = f"{text[:-1]}\\{quote}"
    return _ended(text, literal)


def _ended(text: str, literal: Literal) -> str:
    return text.replace("\n", literal.newline)
