"""Lists of tensors that only their addresses are taken of: Python passes the addresses.

The target's binding converts single tensors. A ``std::vector<torch::Tensor>`` of which a function only copies from, or
to, the memory behind it becomes a ``std::vector<int64_t>``; the list in Python keeps the tensors alive for the call.
Addresses that might be kept beyond it are another matter: who owns the memory then, the code does not say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.model import Edit
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.reading import TENSOR_LIST, Giver, Reading, name_of
from torchless.rewrites.scopes import Block
from torchless.rewrites.tensor_types import Role, tensor_uses
from torchless.text.lexer import Kind, match_angle

CODE = "TL282"
_COPIES = frozenset({b"memcpy", b"hipMemcpy", b"hipMemcpyAsync", b"memmove"})
_COUNTS = frozenset({b"size", b"empty"})


@dataclass(frozen=True, slots=True)
class Addressed:
    """The positions of the parameters that become lists of addresses, and the edits in the body for it."""

    positions: tuple[int, ...] = ()
    edits: tuple[Edit, ...] = ()


def addressed(reading: Reading, giver: Giver) -> Addressed | str:
    """What of a definition's lists of tensors can become addresses; why not, where one cannot."""
    tokens = reading.view.tokens
    found = [i for i, kind in enumerate(giver.tensors) if kind == TENSOR_LIST]
    edits: list[Edit] = []
    assert giver.body is not None
    for position in found:
        word = name_of(giver, tokens, position).encode("latin-1")
        for i in _mentions(reading, giver.body, word):
            more = _use(reading, giver, i)
            if more is None:
                return f"of {word.decode('latin-1')} more is used than the addresses that are copied from or to"
            edits += more
    return Addressed(tuple(found), tuple(edits))


def type_edits(reading: Reading, giver: Giver) -> list[Edit]:
    """The element types of the parameters that are lists of tensors become int64_t."""
    tokens = reading.view.tokens
    spans = [(p.first, p.last) for p, kind in zip(giver.parameters, giver.tensors, strict=True) if kind == TENSOR_LIST]
    return [
        Edit(giver.path, tokens[use.first].start, tokens[use.last].end, b"int64_t", CODE)
        for use in tensor_uses(reading.view, reading.scopes)
        if use.role is Role.LIST and any(first <= use.first <= last for first, last in spans)
    ]


def _mentions(reading: Reading, block: Block, word: bytes) -> Iterator[int]:
    tokens = reading.view.tokens
    for i in range(block.open + 1, block.close):
        if tokens[i].text == word and tokens[i].kind is Kind.NAME and tokens[i - 1].text not in (b".", b"->", b"::"):
            yield i


def _use(reading: Reading, giver: Giver, index: int) -> list[Edit] | None:
    """The edits for one mention of the list; None for a use that addresses cannot stand for."""
    tokens, scopes = reading.view.tokens, reading.scopes
    after = tokens[index + 1].text
    if after == b"." and tokens[index + 2].text in _COUNTS:
        return []
    if after == b"[" and index + 1 in scopes.pair:
        return _address(reading, giver, index, scopes.pair[index + 1])
    opener = scopes.enclosing(index)
    if tokens[index - 1].text == b":" and after == b")" and opener > 0 and tokens[opener - 1].text == b"for":
        element = tokens[index - 2].text
        body = next((b for b in scopes.blocks if b.open == scopes.pair[opener] + 1), None)
        if body is None or tokens[index - 2].kind is not Kind.NAME:
            return None
        if any(t.text not in (b"auto", b"const", b"&", element) for t in tokens[opener + 1 : index - 1]):
            return None
        out: list[Edit] = []
        for i in _mentions(reading, body, element):
            more = _address(reading, giver, i, i)
            if more is None:
                return None
            out += more
        return out
    return None


def _address(reading: Reading, giver: Giver, first: int, last: int) -> list[Edit] | None:
    """``t.data_ptr()`` as an argument of a copy becomes a cast of the address ``t``."""
    tokens, scopes = reading.view.tokens, reading.scopes
    if tokens[last + 1].text != b"." or tokens[last + 2].text != b"data_ptr":
        return None
    opener, kind = last + 3, b"void"
    if tokens[opener].text == b"<":
        close = match_angle(tokens, opener)
        kind = reading.view.source.data[tokens[opener].end : tokens[close].start]
        opener = close + 1
    end = scopes.pair.get(opener, -1)
    call = scopes.enclosing(first)
    if end != opener + 1 or call < 1 or tokens[call - 1].text not in _COPIES:
        return None
    if not any(a == first and b == end for a, b in split_arguments(scopes, call)):
        return None
    data = reading.view.source.data
    text = b"reinterpret_cast<" + kind + b"*>(" + data[tokens[first].start : tokens[last].end] + b")"
    return [Edit(giver.path, tokens[first].start, tokens[end].end, text, CODE)]
