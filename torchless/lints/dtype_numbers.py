"""TL236: sizeof and arithmetic on a dtype, which is an object in torch and an enumerator in the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchless.lints.scan import FileScan, scans
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_backward, match_forward

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL236"
_DTYPES = (b"dtype", b"scalar_type")
_ARITHMETIC = frozenset({b"*", b"/", b"%", b"+", b"-"})  # << prints
_WORDS = frozenset({b"return", b"case", b"else", b"throw", b"co_return"})
Row = tuple[int, int, bytes]
"""(start, end, what to write instead; b"" for arithmetic)"""


def findings(context: Context) -> Iterator[Finding]:
    """sizeof(x.dtype()), which an edit turns into x.element_size(), and x.dtype() as an operand of * / % + -."""
    for path, rows in scans(context, context.files, DTYPE_NUMBERS):
        for start, end, new in rows:
            spelled = " ".join(context.source(path).data[start:end].decode("utf-8", "replace").split())
            if new:
                edit = Edit(path, start, end, new, CODE)
                message = f"{spelled} is the size of what names the dtype, not of an element"
                advice = "the size of an element is element_size()"
                yield Finding(CODE, message, path, start, end, Tier.UNSAFE, (edit,), Confidence.SYNTACTIC, help=advice)
            else:
                message = f"{spelled} computes with what names the dtype, not with a size"
                advice = "the size of an element is element_size(); of a dtype alone, AiterDtype_element_size(dtype)"
                yield Finding(CODE, message, path, start, end, Tier.DISPLAY, (), Confidence.SYNTACTIC, help=advice)


# Nearly every file is spared being lexed: what _rows() finds looks like this, unless a comment stands in its middle.
_NAMED = re.compile(rb"\b(?:dtype|scalar_type)\s*\(")
_WINDOW = 350  # bytes: no alternative of _LIKELY is longer
_LIKELY = re.compile(
    rb"\bsizeof\s*\([^;{}]{0,300}?\b(?:dtype|scalar_type)\s*\(\s*\)\s*\)"
    rb"|\b(?:dtype|scalar_type)\s*\(\s*\)\s*[*/%+-]"
    rb"|[*/%+-]\s*[\w.:>()\[\]-]{1,200}(?:\.|->)\s*(?:dtype|scalar_type)\s*\(\s*\)"
)


def _scan(data: bytes) -> tuple[Row, ...]:
    if not any(_LIKELY.search(data, max(0, m.start() - _WINDOW), m.end() + _WINDOW) for m in _NAMED.finditer(data)):
        return ()
    return tuple(_rows(data, code_tokens(lex(data))))


DTYPE_NUMBERS = FileScan("dtype numbers", 1, _scan)


def _rows(data: bytes, tokens: list[Token]) -> Iterator[Row]:
    for i, token in enumerate(tokens[:-2]):
        if token.kind is not Kind.NAME or token.text not in _DTYPES or i < 2:
            continue
        if tokens[i - 1].text not in (b".", b"->") or [t.text for t in tokens[i + 1 : i + 3]] != [b"(", b")"]:
            continue
        first, last = _object_start(tokens, i - 1), i + 2
        if first < 0:
            continue
        before, after = _text(tokens, first - 1), _text(tokens, last + 1)
        if before == b"(" and after == b")" and _text(tokens, first - 2) == b"sizeof":
            new = data[tokens[first].start : tokens[i - 1].end] + b"element_size()"
            yield tokens[first - 2].start, tokens[last + 1].end, new
        elif after in _ARITHMETIC and _same_stream(tokens, last, last + 1):
            end = _operand_end(tokens, last + 2)
            yield tokens[first].start, tokens[end].end, b""
        elif before in _ARITHMETIC and _is_operand(tokens, first - 2):
            yield tokens[first - 2].start, tokens[last].end, b""


def _text(tokens: Sequence[Token], index: int) -> bytes:
    return tokens[index].text if 0 <= index < len(tokens) else b""


def _same_stream(tokens: Sequence[Token], one: int, other: int) -> bool:
    """Whether both tokens stand in the same directive, or both in none."""
    return other < len(tokens) and tokens[one].directive == tokens[other].directive


def _object_start(tokens: list[Token], dot: int) -> int:
    """Index of the first token of the postfix expression that ends before the dot: x, a.b, a[i], f(x)."""
    i = dot - 1
    while i >= 0:
        if tokens[i].text in (b")", b"]"):
            i = match_backward(tokens, i)
            if i < 0:
                return -1
            if i and (tokens[i - 1].kind is Kind.NAME or tokens[i - 1].text in (b"]", b")")):
                i -= 1
                continue
            return i
        if tokens[i].kind is not Kind.NAME:
            return -1
        if _text(tokens, i - 1) in (b".", b"->", b"::"):
            i -= 2
            continue
        return i
    return -1


def _is_operand(tokens: Sequence[Token], index: int) -> bool:
    """Whether what ends at ``index`` is a value, so that the sign behind it is no * & + - of one operand."""
    if index < 0 or tokens[index].kind is Kind.STRING:
        return False
    if tokens[index].kind is Kind.NAME:
        return tokens[index].text not in _WORDS
    return tokens[index].kind is Kind.NUMBER or tokens[index].text in (b")", b"]")


def _operand_end(tokens: list[Token], index: int) -> int:
    """Index of the last token of the operand that starts at ``index``: one name or number, or what brackets close."""
    i = min(index, len(tokens) - 1)
    while i + 1 < len(tokens) and tokens[i + 1].text in (b".", b"->", b"::", b"("):
        if tokens[i + 1].text == b"(":
            close = match_forward(tokens, i + 1)
            if close < 0:
                return i
            i = close
        else:
            i += 2
    return min(i, len(tokens) - 1)
