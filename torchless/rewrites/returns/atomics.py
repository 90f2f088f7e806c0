"""Scratch that a kernel adds into: what is there before the launch counts, so it has to be zero.

``torch::empty`` hands out whatever the allocator has. A kernel that updates such memory with atomics reads it before it
wrote it, unless the launcher clears it first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchless.rewrites.heads import parameters, split_arguments
from torchless.rewrites.returns.reading import Giver, Reading
from torchless.rewrites.scopes import BlockKind
from torchless.text.lexer import Kind

_ATOMIC = re.compile(
    rb"(?:unsafe)?[aA]tomic(?:Add|Sub|Max|Min|Or|And|Xor|Inc|Dec|CAS|Exch)\w*|atomic_(?:add|max|min)\w*"
)
_CLEARS = frozenset({b"hipMemsetAsync", b"hipMemset", b"hipMemsetD32Async", b"zero_", b"fill_", b"memset"})


def updated_by(reading: Reading, giver: Giver, local: str) -> str:
    """The kernel that updates the memory of ``local`` with atomics and finds it uncleared; "" when none is seen."""
    tokens = reading.view.tokens
    body = giver.body
    assert body is not None
    word = local.encode("latin-1")
    inside = range(body.open + 1, body.close)
    if any(tokens[i].text in _CLEARS and _mentions(reading, i, word) for i in inside):
        return ""
    pointers = {word, *_pointers(reading, giver, word)}
    for i in inside:
        if tokens[i].text != b"(" or i not in reading.scopes.pair:
            continue
        for position, (first, last) in enumerate(split_arguments(reading.scopes, i)):
            if not any(tokens[k].text in pointers and tokens[k].kind is Kind.NAME for k in range(first, last + 1)):
                continue
            callee = _callee(reading, i)
            if callee and _adds_into(reading, callee, position):
                return callee.decode("latin-1")
    return ""


def _mentions(reading: Reading, index: int, word: bytes) -> bool:
    """Whether the call or member at ``index`` has to do with ``word``: x.zero_(), hipMemsetAsync(x.data_ptr(), ...)."""
    tokens = reading.view.tokens
    if index >= 2 and tokens[index - 1].text == b"." and tokens[index - 2].text == word:
        return True
    close = reading.scopes.pair.get(index + 1, -1)
    return any(tokens[k].text == word for k in range(index + 1, close))


def _pointers(reading: Reading, giver: Giver, word: bytes) -> Iterator[bytes]:
    """Names of pointers that are made of the memory of ``word``: ``float* p = x.data_ptr<float>();``."""
    tokens = reading.view.tokens
    body = giver.body
    assert body is not None
    for i in range(body.open + 1, body.close):
        if tokens[i].text != word or tokens[i + 1].text != b"." or b"data_ptr" not in tokens[i + 2].text:
            continue
        k = i
        while k > body.open and tokens[k].text not in (b";", b"{", b"}", b"=", b","):
            k -= 1
        if tokens[k].text == b"=" and tokens[k - 1].kind is Kind.NAME:
            yield tokens[k - 1].text


def _callee(reading: Reading, opener: int) -> bytes:
    """The kernel or function that the ( at ``opener`` calls: f(...), f<T>(...), f<T><<<grid, block>>>(...)."""
    tokens = reading.view.tokens
    i = opener - 1
    depth = 0
    while i > 0 and (tokens[i].text in (b">", b">>", b">>>") or depth):
        text = tokens[i].text
        depth += text.count(b">") if set(text) == {62} else 0
        depth -= text.count(b"<") if set(text) == {60} else 0
        i -= 1
    return tokens[i].text if tokens[i].kind is Kind.NAME else b""


def _adds_into(reading: Reading, name: bytes, position: int) -> bool:
    """Whether the function ``name`` of this file updates its parameter at ``position`` with atomics."""
    tokens = reading.view.tokens
    for block in reading.scopes.blocks:
        if block.kind is not BlockKind.FUNCTION or block.params < 1:
            continue
        head = block.params - 1
        if tokens[head].text != name:
            continue
        found = parameters(reading.scopes, block.params)
        if position >= len(found) or found[position].name < 0:
            continue
        word = tokens[found[position].name].text
        for i in range(block.open + 1, block.close):
            if tokens[i].kind is Kind.NAME and _ATOMIC.fullmatch(tokens[i].text) and tokens[i + 1].text == b"(":
                first, last = split_arguments(reading.scopes, i + 1)[0]
                if any(tokens[k].text == word for k in range(first, last + 1)):
                    return True
    return False
