"""The heads of functions, read off the tokens: names, parameters, arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.rewrites.scopes import Block, BlockKind, Scopes
from torchless.text.lexer import OPENERS, Kind, Token, match_angle


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter by token index: its declarator is first..last; its name (-1: none); its default (first -1: none)."""

    first: int
    last: int
    name: int
    default_first: int
    default_last: int


def split_arguments(scopes: Scopes, opener: int) -> list[tuple[int, int]]:
    """First and last token index of each comma-separated argument between ``opener`` and its partner.

    Template arguments and nested brackets are not split. An empty list gives no argument.
    """
    close = scopes.pair.get(opener, -1)
    out: list[tuple[int, int]] = []
    first = i = opener + 1
    while i < close:
        token = scopes.tokens[i]
        if token.kind is Kind.PUNCT:
            if token.text in OPENERS and i in scopes.pair:
                i = scopes.pair[i]
            elif token.text == b"<" and scopes.tokens[i - 1].kind is Kind.NAME:
                end = match_angle(scopes.tokens, i)
                i = end if 0 <= end < close else i
            elif token.text == b",":
                out.append((first, i - 1))
                first = i + 1
        i += 1
    if close > first or out:
        out.append((first, close - 1))
    return out


def parameters(scopes: Scopes, opener: int) -> list[Parameter]:
    """The parameters of the list that ``opener`` opens. ``(void)`` has none."""
    out = []
    tokens = scopes.tokens
    for first, last in split_arguments(scopes, opener):
        if first > last or (first == last and tokens[first].text == b"void"):
            continue
        default = next((i for i in _flat(scopes, first, last) if tokens[i].text == b"="), -1)
        end = last if default < 0 else default - 1
        while end > first and tokens[end].text == b"]" and end in scopes.pair:
            end = scopes.pair[end] - 1
        named = tokens[end].kind is Kind.NAME and end > first and tokens[end - 1].text != b"::"
        if named and tokens[end].text in (b"const", b"int", b"bool", b"float", b"double", b"long", b"char"):
            named = False
        out.append(
            Parameter(
                first, last, end if named else -1, default + 1 if default >= 0 else -1, last if default >= 0 else -1
            )
        )
    return out


def _flat(scopes: Scopes, first: int, last: int) -> Iterator[int]:
    """Token indexes first..last that stand outside brackets and template arguments."""
    i = first
    while i <= last:
        token = scopes.tokens[i]
        if token.kind is Kind.PUNCT and token.text in OPENERS and i in scopes.pair:
            i = scopes.pair[i]
        elif token.text == b"<" and i > first and scopes.tokens[i - 1].kind is Kind.NAME:
            end = match_angle(scopes.tokens, i)
            i = end if first < end <= last else i
        else:
            yield i
        i += 1


def function_name(scopes: Scopes, opener: int) -> int:
    """Index of the last name component of the function whose parameter list ``opener`` opens, or -1.

    ``f<int>(`` gives f; ``operator==(`` and lambdas give -1.
    """
    tokens = scopes.tokens
    i = opener - 1
    if i >= 0 and tokens[i].text == b">":
        for j in range(i - 1, max(-1, i - 200), -1):
            if tokens[j].text == b"<" and match_angle(tokens, j) == i:
                i = j - 1
                break
    if i < 0 or tokens[i].kind is not Kind.NAME or tokens[i].text == b"operator":
        return -1
    return -1 if i and tokens[i - 1].text == b"operator" else i


def qualified_name(scopes: Scopes, name: int) -> str:
    """The function name at ``name`` with the namespaces and classes around it and those spelled before it."""
    tokens = scopes.tokens
    spelled = [tokens[name].text.decode("latin-1")]
    i = name - 1
    while i > 0 and tokens[i].text == b"::" and tokens[i - 1].kind is Kind.NAME:
        spelled.insert(0, tokens[i - 1].text.decode("latin-1"))
        i -= 2
    around: list[str] = []
    for block in scopes.around(name):
        if block.kind is BlockKind.NAMESPACE:
            around[:0] = _namespace_parts(tokens, block)
        elif block.kind is BlockKind.CLASS:
            around[:0] = _class_name(scopes, block)
    return "::".join(around + spelled)


def namespace_of(scopes: Scopes, index: int) -> str:
    """The named namespaces around the token at ``index``: ``aiter::detail``, "" outside of any."""
    around: list[str] = []
    for block in scopes.around(index):
        if block.kind is BlockKind.NAMESPACE:
            around[:0] = _namespace_parts(scopes.tokens, block)
    return "::".join(around)


def _namespace_parts(tokens: list[Token], block: Block) -> list[str]:
    parts = [
        t.text.decode("latin-1") for t in tokens[block.head : block.open] if t.kind is Kind.NAME and not t.directive
    ]
    return [p for p in parts if p not in ("namespace", "inline", "extern", "__attribute__")]


def _class_name(scopes: Scopes, block: Block) -> list[str]:
    tokens = scopes.tokens
    for i in range(block.head, block.open):
        if tokens[i].text in (b"class", b"struct", b"union"):
            j = i + 1
            while j < block.open:
                if tokens[j].text == b"(" and j in scopes.pair:
                    j = scopes.pair[j]
                elif tokens[j].kind is Kind.NAME and tokens[j].text not in (b"__attribute__", b"alignas"):
                    return [tokens[j].text.decode("latin-1")]
                j += 1
    return []
