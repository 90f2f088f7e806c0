"""Parameters that are asked whether there is a tensor at all: they become optional.

``x.defined()`` is false for what ``torch::Tensor()`` and Python's None give. The target's tensor is a plain struct,
always there, so the parameter becomes ``std::optional<aiter_tensor_t>``; a local of the old name, of no elements where
there is no tensor, serves the rest of the body as before.
"""

from __future__ import annotations

from collections.abc import Collection

from torchless.model import Edit
from torchless.rewrites.heads import Parameter
from torchless.rewrites.returns.reading import Giver, Reading, name_of
from torchless.text.lexer import Kind

CODE = "TL285"
_ASKS = [b".", b"defined", b"(", b")"]


def asked(reading: Reading, giver: Giver) -> tuple[int, ...]:
    """The positions of the tensors that the body of a definition asks whether they are defined."""
    return tuple(i for i in range(len(giver.parameters)) if giver.tensors[i] == "tensor" and _places(reading, giver, i))


def _places(reading: Reading, giver: Giver, position: int) -> list[int]:
    tokens = reading.view.tokens
    if giver.body is None or giver.parameters[position].name < 0:
        return []
    word = tokens[giver.parameters[position].name].text
    return [
        i
        for i in range(giver.body.open + 1, giver.body.close)
        if tokens[i].text == word
        and tokens[i].kind is Kind.NAME
        and tokens[i - 1].text not in (b".", b"->", b"::")
        and [t.text for t in tokens[i + 1 : i + 5]] == _ASKS
    ]


def optional_edits(reading: Reading, giver: Giver, positions: Collection[int]) -> list[Edit]:
    """The parameters at ``positions`` become optional, and the body of a definition goes by it."""
    tokens = reading.view.tokens
    out: list[Edit] = []
    for position in positions:
        parameter = giver.parameters[position]
        out += _head(reading, giver, parameter)
        if giver.body is None or parameter.name < 0:
            continue
        name = name_of(giver, tokens, position)
        held = _held(reading, giver, name)
        out.append(Edit(giver.path, tokens[parameter.name].start, tokens[parameter.name].end, held.encode(), CODE))
        const = any(t.text == b"const" for t in tokens[parameter.first : parameter.name])
        start = tokens[giver.body.open].end
        line = f"{'const ' if const else ''}aiter_tensor_t {name} = {held}.value_or(aiter_tensor_t{{}});"
        text = _line_ahead(reading, giver.body.open) + line.encode()
        out.append(Edit(giver.path, start, start, text, CODE, position))
        for i in _places(reading, giver, position):
            out.append(Edit(giver.path, tokens[i].start, tokens[i + 4].end, f"{held}.has_value()".encode(), CODE))
    return out


def _line_ahead(reading: Reading, opener: int) -> bytes:
    """What goes before a statement that comes first behind the brace ``opener``: a new line, where the next has one."""
    source = reading.view.source
    brace, following = reading.view.tokens[opener], reading.view.tokens[opener + 1]
    start = source.line_start(source.line_of(following.start))
    if start < brace.end:
        return b" "
    return source.eol_at(brace.end) + source.data[start : following.start]


def _head(reading: Reading, giver: Giver, parameter: Parameter) -> list[Edit]:
    """The type, and a default that makes no tensor."""
    tokens = reading.view.tokens
    last = parameter.name - 1 if parameter.name >= 0 else parameter.last
    new = b"std::optional<aiter_tensor_t>"
    if parameter.name >= 0 and tokens[last].end == tokens[parameter.name].start:
        new += b" "
    out = [Edit(giver.path, tokens[parameter.first].start, tokens[last].end, new, CODE)]
    if parameter.default_first >= 0:
        start, end = tokens[parameter.default_first].start, tokens[parameter.default_last].end
        out.append(Edit(giver.path, start, end, b"std::nullopt", CODE))
    return out


def _held(reading: Reading, giver: Giver, name: str) -> str:
    """A free name for the optional parameter behind ``name``."""
    assert giver.body is not None
    words = {t.text.decode("latin-1") for t in reading.view.tokens[giver.opener : giver.body.close]}
    return next(n for n in (f"{name}_or_none", *(f"{name}_or_none{i}" for i in range(2, 99))) if n not in words)
