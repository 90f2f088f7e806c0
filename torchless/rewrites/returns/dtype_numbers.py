"""Parameters that are dtypes: Python passes the number that the target has for the dtype.

The target's binding converts tensors. A parameter ``at::ScalarType kind`` becomes ``int64_t kind``, an optional one an
optional number; in the body a cast makes it a dtype again.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchless.model import Edit
from torchless.rewrites.returns.reading import Giver, Reading, name_of
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind

CODE = "TL284"
_DTYPES = frozenset({b"ScalarType", b"Dtype"})
_ROOTS = frozenset({b"at", b"c10", b"torch"})
_HELD = (b"value", b"value_or")
_STARTS = frozenset({b"(", b",", b"{", b";", b"=", b"return", b"?", b":"})
_LOGICAL = frozenset({b"!", b"&&", b"||"})


@dataclass(frozen=True, slots=True)
class Numbered:
    """A parameter that becomes a number: its position, whether it is optional, the tokens that name the type."""

    position: int
    optional: bool
    first: int
    last: int


def numbered(reading: Reading, giver: Giver) -> list[Numbered]:
    """The parameters of a declaration or definition that are dtypes, by value."""
    tokens = reading.view.tokens
    out = []
    for position, parameter in enumerate(giver.parameters):
        end = parameter.name if parameter.name >= 0 else parameter.last + 1
        for i in range(parameter.first, end):
            first = qualified_first(tokens, i)
            if tokens[i].text not in _DTYPES or first == i or tokens[first].text not in _ROOTS:
                continue
            rest = [t.text for k, t in enumerate(tokens[parameter.first : end], parameter.first) if not first <= k <= i]
            plain = [t for t in rest if t not in (b"const", b"std", b"c10", b"::")]
            if plain in ([], [b"optional", b"<", b">"]):
                out.append(Numbered(position, bool(plain), first, i))
    return out


def number_types(reading: Reading, giver: Giver) -> list[Edit]:
    """The types of these parameters become int64_t."""
    tokens = reading.view.tokens
    spans = [(n.first, n.last) for n in numbered(reading, giver)]
    return [Edit(giver.path, tokens[a].start, tokens[b].end, b"int64_t", CODE) for a, b in spans]


def dtypes_again(reading: Reading, giver: Giver) -> list[Edit] | str:
    """Casts for the uses in the body of a definition; why not, where a use is none that a cast helps."""
    tokens = reading.view.tokens
    assert giver.body is not None
    edits: list[Edit] = []
    for parameter in numbered(reading, giver):
        word = name_of(giver, tokens, parameter.position)
        for i in range(giver.body.open + 1, giver.body.close):
            token = tokens[i]
            if token.text != word.encode("latin-1") or token.kind is not Kind.NAME:
                continue
            if tokens[i - 1].text in (b".", b"->", b"::"):
                continue
            span = _optional_use(reading, i) if parameter.optional else _plain_use(reading, i)
            if span is None:
                return f"{word} is a dtype, and more is done with it than to read it"
            if span:
                edits.append(Edit(giver.path, tokens[span[0]].start, tokens[span[0]].start, _CAST, CODE))
                edits.append(Edit(giver.path, tokens[span[1]].end, tokens[span[1]].end, b")", CODE))
    return edits


_CAST = b"static_cast<AiterDtype>("


def _plain_use(reading: Reading, name: int) -> tuple[int, int] | None:
    """The tokens to put into a cast: the name alone."""
    tokens, scopes = reading.view.tokens, reading.scopes
    around = scopes.enclosing(name)
    in_capture = around >= 0 and tokens[around].text == b"[" and tokens[around - 1].kind is not Kind.NAME
    changed = tokens[name + 1].text == b"=" or tokens[name - 1].text == b"&"
    return None if in_capture or changed or tokens[name + 1].text in (b".", b"->") else (name, name)


def _optional_use(reading: Reading, name: int) -> tuple[int, int] | tuple[()] | None:
    """The tokens to put into a cast, none where only its presence is asked for."""
    tokens, scopes = reading.view.tokens, reading.scopes
    before, after = tokens[name - 1].text, tokens[name + 1].text
    if after == b"." and tokens[name + 3].text == b"(":
        close = scopes.pair.get(name + 3, -1)
        if tokens[name + 2].text == b"has_value":
            return ()
        return (name, close) if tokens[name + 2].text in _HELD and close > 0 else None
    if before == b"*" and (tokens[name - 2].kind is Kind.PUNCT or tokens[name - 2].text == b"return"):
        return (name - 1, name) if tokens[name - 2].text not in (b")", b"]", b">") else None
    is_asked = before in _LOGICAL or (before in _STARTS and after in (b"&&", b"||", b"?"))
    ends = after in (b"&&", b"||", b"?", b")", b";", b",", b":", b"}")
    return () if ends and (is_asked or _is_condition(reading, name)) else None


def _is_condition(reading: Reading, name: int) -> bool:
    """Whether the name is all that an ``if`` or ``while`` asks."""
    tokens = reading.view.tokens
    alone = tokens[name - 1].text == b"(" and tokens[name + 1].text == b")"
    return alone and tokens[name - 2].text in (b"if", b"while")
