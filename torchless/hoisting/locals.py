"""Local variables: how they are declared, and where they are written to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.hoisting.expressions import BUILTIN_WORDS, type_text
from torchless.rewrites.scopes import BlockKind, Scopes
from torchless.rewrites.statements import enclosing_call
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


@dataclass(frozen=True, slots=True)
class Write:
    """A place where a variable may be written to. ``how``: assign, step, element, mutate, passed, address, alias."""

    index: int
    how: str


_ASSIGNMENTS = frozenset({b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"<<="})
_MUTATORS = frozenset(
    b"push_back emplace_back pop_back insert erase clear resize assign append swap reset emplace resize_ resize_as_"
    b" set_ squeeze_ unsqueeze_ transpose_ t_ swapdims_ swapaxes_ as_strided_ set_data merge reserve_ swap_".split()
)
# Functions that take a plain variable and leave it alone, whoever wrote them.
_HARMLESS = frozenset(
    b"sizeof decltype static_cast reinterpret_cast const_cast dim3 if while switch for return printf fprintf assert"
    b" device_of value_or has_value size stride size_to_dim_ data_ptr getCurrentHIPStream".split()
)
_HARMFUL_STD = frozenset({b"tie", b"swap", b"exchange", b"ref", b"iota", b"sort", b"fill", b"getline", b"advance"})


def writes(scopes: Scopes, name: str, first: int, last: int, *, by_value: frozenset[str] = frozenset(),
           is_tensor: bool = False) -> list[Write]:  # fmt: skip
    """Every place in the token range where the variable ``name`` may be written to.

    ``by_value`` names functions that are known to take their arguments by value or const reference. A tensor that is
    handed on may get other contents, but stays the same tensor unless the function's name says otherwise.
    """
    out = []
    word = name.encode("latin-1")
    for i in range(first, last + 1):
        if scopes.tokens[i].text == word and scopes.tokens[i].kind is Kind.NAME:
            how = _how(scopes, i, by_value, is_tensor)
            if how:
                out.append(Write(i, how))
    return out


def _text(tokens: list[Token], index: int) -> bytes:
    return tokens[index].text if 0 <= index < len(tokens) else b""


def _how(scopes: Scopes, i: int, by_value: frozenset[str], is_tensor: bool) -> str:
    tokens = scopes.tokens
    before, after = _text(tokens, i - 1), _text(tokens, i + 1)
    if before in (b".", b"->", b"::") or after == b"::":
        return ""
    if _assigns(tokens, i + 1):
        return "assign"
    if after in (b"++", b"--") or before in (b"++", b"--"):
        return "step"
    if after == b"[" and i + 1 in scopes.pair and _assigns(tokens, scopes.pair[i + 1] + 1):
        return "element"
    if after in (b".", b"->"):
        member = _text(tokens, i + 2)
        if member in _MUTATORS:
            return "mutate"
        opener = i + 3
        if _text(tokens, opener) == b"(" and opener in scopes.pair and _assigns(tokens, scopes.pair[opener] + 1):
            return "element"
        return ""
    if before == b"&" and _is_prefix(tokens, i - 1):
        return "address"
    if before == b"=" and _text(tokens, i - 3) in (b"&", b"&&") and after in (b";", b","):
        return "alias"
    if before in (b"(", b",") and after in (b")", b","):
        return "passed" if _may_change(scopes, i, by_value, is_tensor) else ""
    if before == b">" and _text(tokens, i - 2) == b">" and after in (b";", b">") and not is_tensor:
        return "passed" if _text(tokens, i - 3) != b">" and _reads_stream(scopes, i) else ""
    return ""


def _assigns(tokens: list[Token], i: int) -> bool:
    text = _text(tokens, i)
    if text in _ASSIGNMENTS:
        return True
    return text == b">" and _text(tokens, i + 1) == b">=" and tokens[i].end == tokens[i + 1].start


def _is_prefix(tokens: list[Token], index: int) -> bool:
    """True for an operator with nothing on its left that it could join."""
    if index < 1:
        return True
    before = tokens[index - 1]
    if before.kind in (Kind.NAME, Kind.NUMBER):
        return before.text in (b"return", b"case")
    return before.text not in (b")", b"]", b"}", b">")


def _reads_stream(scopes: Scopes, i: int) -> bool:
    j = i
    while j >= 0 and scopes.tokens[j].text not in (b";", b"{", b"}"):
        if scopes.tokens[j].text in (b"=", b"return", b"("):
            return False
        j -= 1
    return True


def _may_change(scopes: Scopes, i: int, by_value: frozenset[str], is_tensor: bool) -> bool:
    """Could the call that gets the variable at ``i`` as an argument write to it?"""
    tokens = scopes.tokens
    opener = enclosing_call(scopes, i)
    if opener < 1:
        return False
    callee = tokens[opener - 1]
    if callee.text == b">":
        angle = next((j for j in range(opener - 2, max(0, opener - 80), -1)
                      if tokens[j].text == b"<" and match_angle(tokens, j) == opener - 1), -1)  # fmt: skip
        if angle < 1:
            return False  # kernel<<<...>>>(x): kernels take no references
        callee = tokens[angle - 1]
    elif callee.text in (b"]", b")"):
        return callee.text == b")" and not _is_cast(scopes, opener)
    if callee.kind is not Kind.NAME:
        return False
    word = callee.text
    index = opener - 1 if tokens[opener - 1] is callee else angle - 1
    if word in _HARMFUL_STD or word.endswith(b"_out"):
        return True
    if word in _HARMLESS or word.decode("latin-1") in by_value or is_tensor:
        return False
    if word.isupper() or word.replace(b"_", b"").isupper():  # a macro: checks and dispatches write to nothing
        return False
    root = index
    while root >= 2 and tokens[root - 1].text == b"::" and tokens[root - 2].kind is Kind.NAME:
        root -= 2
    return tokens[root].text not in (b"std", b"torch", b"at", b"c10") or root == index


def _is_cast(scopes: Scopes, opener: int) -> bool:
    close = opener - 1
    start = scopes.pair.get(close, -1)
    return start >= 0 and all(t.kind is Kind.NAME or t.text in (b"::", b"*") for t in scopes.tokens[start + 1 : close])


def in_lambda(scopes: Scopes, index: int, since: int) -> bool:
    """True when a lambda that starts behind the token ``since`` holds the one at ``index``."""
    return any(b.kind is BlockKind.LAMBDA and b.open > since for b in scopes.around(index))
