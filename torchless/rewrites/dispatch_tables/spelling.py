"""Types as they are spelled: std::function, pointers to functions, the maps of the standard library.

Everything works on code tokens (blanks and comments out) and gives token indexes, last ones included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchless.text.lexer import CLOSERS, OPENERS, Kind, Token, match_angle, match_backward, match_forward

_CV = frozenset({b"const", b"volatile"})
_INTRODUCING = frozenset({b"typename", b"struct", b"class", b"enum", b"union"})
_BUILTIN = frozenset(
    {
        *(b"void", b"bool", b"char", b"short", b"int", b"long", b"float", b"double", b"signed", b"unsigned", b"auto"),
        *(b"wchar_t", b"char8_t", b"char16_t", b"char32_t"),
    }
)
_ROOTS = frozenset({b"torch", b"at", b"c10"})
_DECLARED = frozenset({b"&", b"*", b"&&", b">"})


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function returns and takes, normalised so that equal types are spelled alike."""

    returns: str
    params: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.returns}({', '.join(self.params)})"


@dataclass(frozen=True, slots=True)
class Callable:
    """A type that calls a function, at tokens first..last.

    ``is_function``: std::function rather than a pointer. ``open`` and ``close`` are the parentheses of the parameters;
    for std::function ``angle`` is its <, which ``last`` closes.
    """

    first: int
    last: int
    is_function: bool
    open: int
    close: int
    signature: Signature
    angle: int = -1


@dataclass(frozen=True, slots=True)
class Map:
    """std::unordered_map<...> or std::map<...> at tokens first..last, its arguments as (first, last) pairs."""

    first: int
    last: int
    ordered: bool
    arguments: tuple[tuple[int, int], ...]


def std_name(tokens: Sequence[Token], i: int) -> bool:
    """Whether the name at ``i`` is spelled std::name (a leading :: included)."""
    return i >= 2 and tokens[i - 1].text == b"::" and tokens[i - 2].text == b"std"


def std_start(tokens: Sequence[Token], i: int) -> int:
    """The index of the first token of std::name whose name is at ``i``."""
    return i - 3 if i >= 3 and tokens[i - 3].text == b"::" else i - 2


def callable_at(tokens: list[Token], i: int) -> Callable | None:
    """The std::function<R(A...)> whose name ``function`` stands at ``i``, or None."""
    if tokens[i].text != b"function" or not std_name(tokens, i) or i + 1 >= len(tokens):
        return None
    if tokens[i + 1].text != b"<":
        return None
    close = match_angle(tokens, i + 1)
    if close < 0 or tokens[close - 1].text != b")":
        return None
    opener = match_backward(tokens, close - 1)
    if opener <= i + 2:
        return None
    signature = Signature(normal(tokens[i + 2 : opener]), parameters(tokens, opener))
    return Callable(std_start(tokens, i), close, True, opener, close - 1, signature, i + 1)


def pointer_at(tokens: list[Token], first: int) -> Callable | None:
    """The R (*)(A...) that starts at ``first``, or None. R holds no parentheses."""
    i = first
    while i + 3 < len(tokens) and tokens[i].text != b"(":
        if tokens[i].kind is not Kind.NAME and tokens[i].text not in (b"::", b"<", b">", b",", b"*", b"&"):
            return None
        i += 1
    if i + 3 >= len(tokens) or i == first:
        return None
    if [t.text for t in tokens[i : i + 4]] != [b"(", b"*", b")", b"("]:
        return None
    close = match_forward(tokens, i + 3)
    if close < 0:
        return None
    last = close + 1 if close + 1 < len(tokens) and tokens[close + 1].text == b"noexcept" else close
    signature = Signature(normal(tokens[first:i]), parameters(tokens, i + 3))
    return Callable(first, last, False, i + 3, close, signature)


def map_at(tokens: list[Token], i: int) -> Map | None:
    """The standard map whose name ``unordered_map`` or ``map`` stands at ``i``, or None."""
    if tokens[i].text not in (b"unordered_map", b"map") or not std_name(tokens, i) or i + 1 >= len(tokens):
        return None
    if tokens[i + 1].text != b"<":
        return None
    close = match_angle(tokens, i + 1)
    if close < 0:
        return None
    arguments = tuple(split(tokens, i + 2, close - 1))
    return Map(std_start(tokens, i), close, tokens[i].text == b"map", arguments) if len(arguments) > 1 else None


def split(tokens: list[Token], first: int, last: int, separator: bytes = b",") -> list[tuple[int, int]]:
    """The parts of tokens first..last between ``separator`` outside of all brackets; an empty last part is dropped."""
    out: list[tuple[int, int]] = []
    start = i = first
    while i <= last:
        text = tokens[i].text
        if tokens[i].kind is Kind.PUNCT:
            if text in OPENERS:
                close = match_forward(tokens, i)
                i = close if 0 <= close <= last else i
            elif text == b"<" and i and tokens[i - 1].kind is Kind.NAME:
                close = match_angle(tokens, i)
                i = close if 0 <= close <= last else i
            elif text == separator:
                out.append((start, i - 1))
                start = i + 1
        i += 1
    if start <= last:
        out.append((start, last))
    return out


def parameters(tokens: list[Token], opener: int) -> tuple[str, ...]:
    """The normalised types of the parameter list whose ( stands at ``opener``; names and defaults are left out."""
    close = match_forward(tokens, opener)
    parts = split(tokens, opener + 1, close - 1)
    types = [parameter_type(tokens[a : b + 1]) for a, b in parts]
    return () if types == ["void"] else tuple(types)


def parameter_type(tokens: list[Token]) -> str:
    """The normalised type of one parameter: its default and its name are left out, const of a value too."""
    texts = [t.text for t in tokens]
    if b"=" in texts:
        tokens = tokens[: texts.index(b"=")]
    if len(tokens) > 1 and tokens[-1].kind is Kind.NAME and _is_declared_name(tokens):
        tokens = tokens[:-1]
    while len(tokens) > 1 and tokens[-1].text in _CV and tokens[-2].text == b"*":
        tokens = tokens[:-1]  # of the pointer itself
    if tokens and tokens[-1].text not in (b"&", b"&&", b"*"):
        tokens = [t for k, t in enumerate(tokens) if t.text not in _CV or _inside_angles(tokens, k)]
    return normal(tokens)


def _is_declared_name(tokens: list[Token]) -> bool:
    if tokens[-1].text in _BUILTIN or tokens[-1].text in _CV or tokens[-2].text == b"::":
        return False
    before = [t for t in tokens[:-1] if t.text not in _CV | _INTRODUCING]
    return bool(before) and (before[-1].text in _DECLARED or before[-1].kind is Kind.NAME)


def _inside_angles(tokens: Sequence[Token], k: int) -> bool:
    depth = sum((t.text == b"<") - (t.text == b">") for t in tokens[:k])
    return depth > 0


def normal(tokens: Sequence[Token]) -> str:
    """The type spelled by ``tokens`` in one way: const in front, torch's namespaces as ``at``, blanks dropped."""
    texts = [t.text for t in tokens if t.text not in _INTRODUCING]
    if texts and texts[0] == b"::":
        texts = texts[1:]
    for i in range(len(texts) - 1):
        if texts[i] in _ROOTS and texts[i + 1] == b"::" and not (i and texts[i - 1] == b"::"):
            texts[i] = b"at"
    depth = 0
    pointed = False  # a const behind * or & is another one
    head: list[bytes] = []
    qualifiers: set[bytes] = set()
    for text in texts:
        depth += (text == b"<") - (text == b">")
        pointed = pointed or (depth == 0 and text in (b"*", b"&", b"&&"))
        if depth == 0 and text in _CV and not pointed:
            qualifiers.add(text)
        else:
            head.append(text)
    out = ""
    for word in (w.decode("latin-1") for w in [*sorted(qualifiers), *head]):
        out += (" " if out and _is_word(out[-1]) and _is_word(word[0]) else "") + word
    return out


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def closing(tokens: list[Token], i: int) -> int:
    """The index of the bracket that closes the one at ``i``; -1 when there is none."""
    return match_forward(tokens, i) if tokens[i].text in OPENERS else -1


def is_closer(token: Token) -> bool:
    """Whether ``token`` closes a bracket."""
    return token.kind is Kind.PUNCT and token.text in CLOSERS
