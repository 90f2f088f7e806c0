r"""A C++ lexer over raw bytes: ranges for edits, whatever the preprocessor makes of the text.

It never fails: a byte that fits nothing becomes a one-byte PUNCT token. Backslash-newline is blank space between tokens
(a token that is itself split by one is not joined, comment marks excepted). Digraphs and trigraphs are not known.
Every byte of the file lies in exactly one token, blanks and comments included, so
``b"".join(data[t.start:t.end] for t in tokens) == data``.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is."""

    BLANK = 0  # blanks, newlines, backslash-newline
    COMMENT = 1
    NAME = 2
    NUMBER = 3
    STRING = 4  # string literals of every kind, raw ones and prefixes included
    CHAR = 5
    PUNCT = 6
    HEADER = 7  # <...> or "..." after #include
    DIRECTIVE = 8  # '#' that starts a preprocessor directive


class Token(NamedTuple):
    """A token: kind, byte range, text. ``directive`` is the keyword of the directive it stands in, else ""."""

    kind: Kind
    start: int
    end: int
    text: bytes
    directive: str = ""


# What joins two physical lines. Compilers allow blanks after the backslash, and clang takes a lone CR for a newline.
_SPLICE = rb"(?:\\[ \t\f\v]*(?:\r\n|\n|\r))"
# No alternative of a repeated group can match where another one does, and the groups that end a literal cannot fail:
# nothing ever backtracks, so time is linear in the input whatever it is.
_TOKEN = re.compile(
    rb"""
    (?P<blank>(?:[\ \t\f\v\r\n]+|SPLICE)+)
  | (?P<line>/SPLICE*/(?:[^\r\n\\]+|SPLICE|\\)*)
  | (?P<block>/SPLICE*\*.*?(?:\*SPLICE*/|\Z))
  | (?P<raw>(?:u8|[uUL])?R"(?P<delim>[^ ()\\\t\v\f\r\n]{0,16})\(.*?(?:\)(?P=delim)"|\Z))
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\r\n]+|SPLICE|\\.|\\\Z)*(?:"|(?=[\r\n])|\Z))
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\r\n]+|SPLICE|\\.|\\\Z)*(?:'|(?=[\r\n])|\Z))
  | (?P<name>[A-Za-z_\x80-\xff$][A-Za-z0-9_\x80-\xff$]*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z]|[0-9A-Za-z_.])*)
  | (?P<punct><<<|<<=|<=>|\.\.\.|->\*|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|%=|&=|\|=|\^=|\#\#|.)
    """.replace(b"SPLICE", _SPLICE),
    re.X | re.S,
)
_KINDS = {
    "blank": Kind.BLANK,
    "line": Kind.COMMENT,
    "block": Kind.COMMENT,
    "raw": Kind.STRING,
    "string": Kind.STRING,
    "char": Kind.CHAR,
    "name": Kind.NAME,
    "number": Kind.NUMBER,
    "punct": Kind.PUNCT,
}
# By lastindex, which is the group that was closed last: the outer one of "raw" and the "delim" within.
_KIND_OF_GROUP = {_TOKEN.groupindex[name]: kind for name, kind in _KINDS.items()}
_HEADER = re.compile(rb"<[^>\r\n]*>|\"[^\"\r\n]*\"")
_INCLUDES = ("include", "include_next", "import")
_LINE_END = re.compile(_SPLICE + rb"|(?P<newline>\r\n|\n|\r)")


def _first_newline(blank: bytes) -> int:
    """Where the first line of a BLANK token really ends: the offset after its newline, or -1 when all are spliced."""
    if b"\\" not in blank and b"\r" not in blank:  # as nearly always
        return blank.find(b"\n") + 1 or -1
    for m in _LINE_END.finditer(blank):
        if m.lastgroup:
            return m.end()
    return -1


def lex(data: bytes, start: int = 0, end: int | None = None) -> list[Token]:
    """Split ``data[start:end]`` into tokens; offsets are into ``data``.

    ``>>`` and ``>>>`` come as single ``>`` tokens so that template arguments close one by one (``<<<`` is one token).
    A UTF-8 BOM at offset 0 is blank.
    Inside a directive every token carries the directive's keyword, up to the newline that no backslash precedes.
    """
    end = len(data) if end is None else end
    out: list[Token] = []
    pos = start
    line_fresh = True  # only blanks and comments so far on this logical line
    directive = ""
    awaiting_keyword = False
    awaiting_header = False
    if pos == 0 and data.startswith(b"\xef\xbb\xbf") and end >= 3:
        out.append(Token(Kind.BLANK, 0, 3, data[:3]))
        pos = 3
    match = _TOKEN.match
    while pos < end:
        if awaiting_header:
            header = _HEADER.match(data, pos, end)
            if header:
                out.append(Token(Kind.HEADER, pos, header.end(), header.group(), directive))
                pos = header.end()
                awaiting_header = False
                continue
        m = match(data, pos, end)
        assert m is not None  # the last alternative takes any byte
        kind = _KIND_OF_GROUP[m.lastindex]  # type: ignore[index]
        stop = m.end()
        text = m.group()
        if kind is Kind.BLANK:
            cut = -1 if text == b" " or (line_fresh and not directive) else _first_newline(text)
            if cut > 0:
                # the directive ends with this newline: split the blank so that what follows is free of it
                out.append(Token(Kind.BLANK, pos, pos + cut, text[:cut], directive))
                if cut < len(text):
                    out.append(Token(Kind.BLANK, pos + cut, stop, text[cut:]))
                directive, awaiting_keyword, awaiting_header, line_fresh = "", False, False, True
            else:
                out.append(Token(kind, pos, stop, text, directive))
            pos = stop
            continue
        if kind is Kind.COMMENT:
            out.append(Token(kind, pos, stop, text, directive))
            pos = stop
            continue
        if awaiting_keyword:
            awaiting_keyword = False
            directive = text.decode("latin-1") if kind is Kind.NAME else "#"
            awaiting_header = directive in _INCLUDES
        else:
            awaiting_header = False
        if kind is Kind.PUNCT and text == b"#" and line_fresh and not directive:
            directive, awaiting_keyword, line_fresh = "#", True, False
            out.append(Token(Kind.DIRECTIVE, pos, stop, text, "#"))
            pos = stop
            continue
        line_fresh = False
        out.append(Token(kind, pos, stop, text, directive))
        pos = stop
    return out


def code_tokens(tokens: list[Token]) -> list[Token]:
    """The tokens without blanks and comments."""
    return [t for t in tokens if t.kind > Kind.COMMENT]


OPENERS = {b"(": b")", b"[": b"]", b"{": b"}"}
CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{"}


def match_forward(tokens: list[Token], index: int) -> int:
    """Index of the bracket that closes the ( [ { at ``index`` in ``tokens`` (blank-free).

    -1 when none does, or when brackets of different kinds cross before it.
    """
    expected: list[bytes] = []
    for i in range(index, len(tokens)):
        text = tokens[i].text
        if tokens[i].kind is Kind.PUNCT:
            if text in OPENERS:
                expected.append(OPENERS[text])
            elif text in CLOSERS:
                if not expected or expected.pop() != text:
                    return -1
                if not expected:
                    return i
    return -1


def match_backward(tokens: list[Token], index: int) -> int:
    """Index of the bracket that opens the ) ] } at ``index``, or -1 as in match_forward."""
    expected: list[bytes] = []
    for i in range(index, -1, -1):
        text = tokens[i].text
        if tokens[i].kind is Kind.PUNCT:
            if text in CLOSERS:
                expected.append(CLOSERS[text])
            elif text in OPENERS:
                if not expected or expected.pop() != text:
                    return -1
                if not expected:
                    return i
    return -1


def match_angle(tokens: list[Token], index: int) -> int:
    """Index of the > that closes the < at ``index`` when the two enclose template arguments, or -1.

    Brackets inside are skipped whole; a ; { or } at the top level, or a logical operator, says that it was a less-than.
    """
    depth = 0
    i = index
    while i < len(tokens):
        token = tokens[i]
        if token.kind is Kind.PUNCT:
            if token.text == b"<":
                depth += 1
            elif token.text == b">":
                depth -= 1
                if depth == 0:
                    return i
            elif token.text in (b"(", b"["):
                i = match_forward(tokens, i)
                if i < 0:
                    return -1
            elif token.text in (b";", b"{", b"}", b")", b"]", b"&&", b"||"):
                return -1
        i += 1
    return -1
