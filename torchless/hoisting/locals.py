"""Local variables, and how they are declared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.hoisting.spelling import BUILTIN_WORDS, type_text
from torchless.rewrites.scopes import Scopes
from torchless.text.lexer import Kind, Token, match_angle

_SPECIFIERS = frozenset(
    {b"const", b"constexpr", b"static", b"inline", b"thread_local", b"volatile", b"register", b"extern", b"typename"}
)


_NOT_TYPES = frozenset(
    {b"return", b"delete", b"throw", b"goto", b"new", b"else", b"case", b"using", b"typedef", b"default", b"if",
     b"for", b"while", b"do", b"switch", b"break", b"continue", b"template", b"operator", b"public", b"private",
     b"friend", b"namespace", b"static_assert", b"sizeof", b"co_return", b"not", b"try", b"catch"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Local:
    """A declared variable. ``name`` is a token index; ``init`` the token range of its initialiser, first > last: none.

    ``type`` is the spelling without specifiers, & and *; ``style`` is "=", "{", "(" or "" and ``part`` its number in a
    structured binding, else -1. ``end`` is the last token of the declarator.
    """

    name: int
    text: str
    type: str
    init: tuple[int, int]
    style: str
    const: bool
    constexpr: bool
    static: bool
    reference: bool
    pointer: bool
    end: int
    part: int = -1


def read_locals(scopes: Scopes, first: int, last: int) -> tuple[Local, ...]:
    """The variables that the statement first..last (its ; included) declares; none when it is no declaration."""
    tokens = scopes.tokens
    words: set[bytes] = set()
    i = first
    while i <= last and tokens[i].text == b"[" and tokens[i + 1].text == b"[" and i in scopes.pair:
        i = scopes.pair[i] + 1  # [[maybe_unused]]
    while i <= last and tokens[i].text in _SPECIFIERS:
        words.add(tokens[i].text)
        i += 1
    start = i
    i = _past_type(tokens, i, last)
    if i <= start:
        return ()
    kind = type_text(tokens[start:i])
    while i <= last and tokens[i].text in (b"const", b"constexpr", b"static"):
        words.add(tokens[i].text)
        i += 1
    out: list[Local] = []
    while i <= last:
        sign: set[bytes] = set()
        while i <= last and tokens[i].text in (b"*", b"&", b"&&", b"const", b"__restrict__"):
            sign.add(tokens[i].text)
            i += 1
        if i > last:
            return ()
        if tokens[i].text == b"[" and kind == "auto" and i in scopes.pair:
            return tuple(_structured(scopes, i, last, words, sign))
        if tokens[i].kind is not Kind.NAME or tokens[i].text in _NOT_TYPES or i + 1 > last:
            return ()
        name = i
        i += 1
        array = tokens[i].text == b"["
        while i <= last and tokens[i].text == b"[" and i in scopes.pair:
            i = scopes.pair[i] + 1
        if i > last:
            return ()
        style, init = tokens[i].text, (1, 0)
        if style == b"=":
            end = _to_comma(scopes, i + 1, last)
            init = (i + 1, end)
        elif style in (b"{", b"(") and i in scopes.pair:
            end = scopes.pair[i]
            init = (i + 1, end - 1)
        elif style in (b",", b";"):
            end, style = i - 1, b""
        else:
            return ()
        out.append(
            Local(
                name,
                tokens[name].text.decode("latin-1"),
                f"{kind}[]" if array else kind,
                init,
                style.decode("latin-1"),
                bool(words & {b"const", b"constexpr"}) or b"const" in sign,
                b"constexpr" in words,
                bool(words & {b"static", b"thread_local", b"extern"}),
                bool(sign & {b"&", b"&&"}),
                b"*" in sign,
                end,
            )
        )
        i = end + 1
        if i > last or tokens[i].text == b";":
            break
        if tokens[i].text != b",":
            return ()
        i += 1
    return tuple(out)


def _structured(scopes: Scopes, opener: int, last: int, words: set[bytes], sign: set[bytes]) -> Iterator[Local]:
    tokens = scopes.tokens
    close = scopes.pair[opener]
    after = close + 1
    if after > last or tokens[after].text not in (b"=", b"{", b"("):
        return
    end = _to_comma(scopes, after + 1, last) if tokens[after].text == b"=" else scopes.pair.get(after, last)
    init = (after + 1, end if tokens[after].text == b"=" else end - 1)
    names = [i for i in range(opener + 1, close) if tokens[i].kind is Kind.NAME]
    for part, name in enumerate(names):
        text = tokens[name].text.decode("latin-1")
        const = bool(words & {b"const", b"constexpr"})
        yield Local(name, text, "auto", init, "=", const, False, b"static" in words, bool(sign), False, end, part)


def _past_type(tokens: list[Token], index: int, last: int) -> int:
    """Index after the type that starts at ``index``; ``index`` when none does."""
    i = index
    if i > last or tokens[i].kind is not Kind.NAME or tokens[i].text in _NOT_TYPES:
        if i < last and tokens[i].text == b"::" and tokens[i + 1].kind is Kind.NAME:
            i += 1
        else:
            return index
    if tokens[i].text.decode("latin-1") in BUILTIN_WORDS:
        while i <= last and (tokens[i].text.decode("latin-1") in BUILTIN_WORDS or tokens[i].text == b"const"):
            i += 1
        return i
    while i <= last and tokens[i].kind is Kind.NAME:
        i += 1
        if i <= last and tokens[i].text == b"<":
            close = match_angle(tokens, i)
            if not 0 < close <= last:
                return index
            i = close + 1
        if i < last and tokens[i].text == b"::" and tokens[i + 1].kind is Kind.NAME:
            i += 1
            continue
        return i
    return index


def _to_comma(scopes: Scopes, first: int, last: int) -> int:
    """Index of the last token before the , or ; that ends the initialiser which starts at ``first``."""
    tokens = scopes.tokens
    i = first
    while i <= last:
        token = tokens[i]
        if token.kind is Kind.PUNCT:
            if token.text in (b",", b";"):
                return i - 1
            if token.text in (b"(", b"[", b"{") and i in scopes.pair:
                i = scopes.pair[i]
            elif token.text == b"<" and i > first and tokens[i - 1].kind is Kind.NAME:
                close = match_angle(tokens, i)
                after = tokens[close + 1].text if 0 < close < last else b""
                i = close if after in (b"(", b"{", b"::") else i
        i += 1
    return last
