"""The rows of a table that are written in C++: what their keys are worth, and the text that puts them in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from torchless.rewrites.dispatch_tables.keys import Key
from torchless.rewrites.dispatch_tables.scan import File, Table
from torchless.rewrites.dispatch_tables.spelling import split
from torchless.rewrites.dispatch_tables.uses import ROWS, STORED, Problem, problem
from torchless.text.lexer import Kind, Token, lex, match_angle

Value = int | bytes
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*)([uUlLzZ]*)")
_MAKERS = ("std::make_tuple", "std::make_pair")


@dataclass(frozen=True, slots=True)
class Macro:
    """Rows that a macro stands for: its name, and how many pairs of braces the text around it adds."""

    name: str
    first: int
    last: int
    braces: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row written out, its braces at tokens first..last: the worth of its key and the tokens of its value."""

    first: int
    last: int
    key: tuple[Value, ...]
    value_first: int
    value_last: int


def macro_of(file: File, table: Table) -> Macro | None:
    """The macro that stands for all rows of ``table``, or None."""
    tokens, pair = file.view.tokens, file.scopes.pair
    first, last = table.first_row, table.last_row
    if first > last or tokens[first].kind is not Kind.NAME:
        return None
    name = tokens[first].text.decode("latin-1")
    if tokens[first + 1].text == b"(" and pair.get(first + 1, -1) == last:
        return Macro(name, first, last, table.braces)
    return Macro(name, first, last, table.braces) if first == last else None


def rows_of(file: File, table: Table, key: Key | None) -> list[Row] | Problem:
    """The rows of a table that is written out, in the order of the text. Without a ``key`` their keys are not read."""
    tokens = file.view.tokens
    first, last = table.first_row, table.last_row
    if any(t.directive for t in tokens[first : last + 1]):
        return problem(file, ROWS, "the rows stand between directives: which there are is not known", first, last)
    parts = split(tokens, first, last)
    if is_list(file, table):
        parts = split(tokens, first + 1, last - 1)
    out: list[Row] = []
    for a, b in parts:
        row = _row(file, a, b, key)
        if isinstance(row, Problem):
            return row
        out.append(row)
    return out


def is_list(file: File, table: Table) -> bool:
    """Whether what fills the table is one pair of braces with all rows in it: M{{{1, f}, {2, g}}}."""
    tokens = file.view.tokens
    first, last = table.first_row, table.last_row
    if tokens[first].text != b"{" or file.scopes.pair.get(first, -1) != last:
        return False
    return all(tokens[a].text == b"{" and tokens[b].text == b"}" for a, b in split(tokens, first + 1, last - 1))


def _row(file: File, first: int, last: int, key: Key | None) -> Row | Problem:
    tokens = file.view.tokens
    if tokens[first].text != b"{" or tokens[last].text != b"}":
        return problem(file, ROWS, "a row is no {key, function}", first, last)
    parts = split(tokens, first + 1, last - 1)
    if len(parts) != 2:
        return problem(file, ROWS, "a row is no {key, function}", first, last)
    (a, b), (c, d) = parts
    worth = _worth(file, a, b, key) if key is not None else ()
    if worth is None:
        return problem(file, ROWS, "a key is no literal, so the rows cannot be put in order here", a, b)
    trouble = stored(file, c, d)
    return trouble if trouble is not None else Row(first, last, worth, c, d)


def _worth(file: File, first: int, last: int, key: Key) -> tuple[Value, ...] | None:
    tokens = file.view.tokens
    if key.kind in ("number", "text"):
        one = literal(tokens[first : last + 1])
        fits = one is not None and isinstance(one, bytes) == key.fields[0].is_text
        return (one,) if fits and one is not None else None
    opener = next((i for i in range(first, last) if tokens[i].text in (b"{", b"(")), -1)
    maker = "".join(t.text.decode("latin-1") for t in tokens[first : max(opener, first)])
    if opener < 0 or (opener != first and (key.kind != "tuple" or maker not in _MAKERS)):
        return None
    values = [literal(tokens[a : b + 1]) for a, b in split(tokens, opener + 1, last - 1)]
    if len(values) != len(key.fields):
        return None
    known = tuple(v for v in values if v is not None)
    right = len(known) == len(values) and all(
        isinstance(v, bytes) == f.is_text for v, f in zip(known, key.fields, strict=True)
    )
    return known if right else None


def literal(tokens: Sequence[Token]) -> Value | None:
    """What a literal is worth: a number, or the bytes of a plain string; None for anything else."""
    sign = -1 if tokens and tokens[0].text == b"-" else 1
    rest = tokens[1:] if sign < 0 else tokens
    if len(rest) != 1:
        return None
    text = rest[0].text.decode("latin-1")
    if rest[0].kind is Kind.NUMBER:
        match = _NUMBER.fullmatch(text)
        if match is None or (match[1].startswith("0") and match[1].isdigit() and len(match[1]) > 1):
            return None  # not an integer, or octal
        return sign * int(match[1].replace("'", ""), 0)
    if rest[0].kind is Kind.STRING and text.startswith('"') and "\\" not in text and sign > 0:
        return rest[0].text[1:-1]
    return None


def stored(file: File, first: int, last: int) -> Problem | None:
    """Why what the tokens first..last give is more than the name of a function; None when it is no more than that.

    A lambda without captures is a function, too.
    """
    tokens = file.view.tokens
    i = first + 1 if tokens[first].text == b"&" else first
    if tokens[i].text == b"[":
        if tokens[i + 1].text == b"]":
            return None
        return problem(file, STORED, "a lambda with captures is stored: a pointer has no room for them", first, last)
    if tokens[i].text == b"::":
        i += 1
    while i <= last and tokens[i].kind is Kind.NAME:
        i += 1
        if i <= last and tokens[i].text == b"<":
            close = match_angle(tokens, i)
            if not 0 < close <= last:
                break
            i = close + 1
        if i > last:
            return None
        if tokens[i].text != b"::":
            break
        i += 1
    words = b"".join(t.text for t in tokens[first : last + 1])
    what = "the result of std::bind" if b"bind(" in words else "something else than the name of a function"
    return problem(file, STORED, f"{what} is stored: it may hold state", first, last)


def in_order(rows: Sequence[Row]) -> bool:
    """Whether the keys of ``rows`` ascend, each of them once."""
    return all(a.key < b.key for a, b in pairwise(rows))


def sorted_text(file: File, rows: Sequence[Row]) -> tuple[int, int, bytes]:
    """Byte range [start, end) of the rows, and the text that has them in order; of equal keys the first row stays.

    A row takes the comment behind it on its line and the comment lines above it along.
    """
    data = file.view.source.data
    chunks = _chunks(file, rows)
    start, end = chunks[0][0], chunks[-1][1]
    kept: dict[tuple[Value, ...], int] = {}
    for k, row in enumerate(rows):
        kept.setdefault(row.key, k)
    order = [k for _, k in sorted(kept.items())]
    tokens = file.view.tokens
    trailing = tokens[rows[-1].last + 1].text == b","
    eol = file.view.source.eol_at(start)
    text = b""
    for position, k in enumerate(order):
        a, b = chunks[k]
        behind = tokens[rows[k].last + 1]
        row_end, rest = (behind.start, behind.end) if behind.text == b"," else (tokens[rows[k].last].end,) * 2
        comma = b"," if trailing or position + 1 < len(order) else b""
        if b"//" in text.rsplit(b"\n", 1)[-1] and not data[a:row_end].lstrip(b" \t\r").startswith(b"\n"):
            text += eol  # a comment would swallow the row
        text += data[a:row_end] + comma + data[rest:b]
    return start, end, text


def _chunks(file: File, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """The byte range of each row with what belongs to it; together they are one range without a gap."""
    data, tokens = file.view.source.data, file.view.tokens
    ends: list[int] = []
    for row in rows:
        behind = tokens[row.last + 1]
        end = behind.end if behind.text == b"," else tokens[row.last].end
        newline = data.find(b"\n", end)
        found = [t for t in lex(data, end, newline if newline >= 0 else len(data)) if t.kind is not Kind.BLANK]
        if found and all(t.kind is Kind.COMMENT for t in found):
            end = found[-1].end
        ends.append(end)
    start = tokens[rows[0].first - 1].end
    leading = data[start : tokens[rows[0].first].start]
    line = leading.find(b"\n")
    start += max(line - leading[:line].endswith(b"\r"), 0)
    return list(zip([start, *ends[:-1]], ends, strict=True))
