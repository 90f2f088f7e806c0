"""``x.item<float>()`` on a parameter: Python reads the element, as it waits for the stream there as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.rewrites.returns.reading import Giver, Reading, placeholder, positions
from torchless.text.lexer import Kind

_NUMBERS = {
    b"float": "{}.item()",
    b"double": "{}.item()",
    b"int": "int({}.item())",
    b"int32_t": "int({}.item())",
    b"int64_t": "int({}.item())",
    b"bool": "bool({}.item())",
}


@dataclass(frozen=True, slots=True)
class Item:
    """An element that is read: of which parameter, by the tokens first..last, as which C++ type, and in Python.

    ``python`` has ``_argN_`` for the parameter.
    """

    position: int
    first: int
    last: int
    type: str
    python: str


def items_of(reading: Reading, giver: Giver) -> Iterator[Item]:
    """The places in the body of a definition that read the one element of a parameter as a number."""
    tokens, pair = reading.view.tokens, reading.scopes.pair
    assert giver.body is not None
    own = positions(giver, tokens)
    for i in range(giver.body.open + 1, giver.body.close - 5):
        name = tokens[i].text.decode("latin-1")
        if name not in own or tokens[i].kind is not Kind.NAME or tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        at = i + 1
        kind = giver.tensors[own[name]]
        held = [t.text for t in tokens[at : at + 4]] == [b".", b"value", b"(", b")"]
        if kind == "optional_tensor" and held:
            at += 4
        elif kind != "tensor" and not (kind == "optional_tensor" and tokens[at].text == b"->"):
            continue
        spelled = [t.text for t in tokens[at : at + 6]]
        if spelled[0] not in (b".", b"->") or spelled[1:3] != [b"item", b"<"] or spelled[4:] != [b">", b"("]:
            continue
        close = pair.get(at + 5, -1)
        if close == at + 6 and spelled[3] in _NUMBERS:
            place = placeholder(own[name])
            yield Item(own[name], i, close, spelled[3].decode(), _NUMBERS[spelled[3]].format(place))
