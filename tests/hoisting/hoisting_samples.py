"""Small C++ functions as the tests of the translator give them, and what comes out."""

from __future__ import annotations

from torchless.facts.typing import make_view
from torchless.hoisting.allocation import (
    Allocation,
    Source,
    Translation,
    Untranslatable,
    find_allocations,
    open_source,
    read,
    read_condition,
    read_expression,
)
from torchless.text.lexer import Kind
from torchless.text.source import SourceFile


def source(text: str, *headers: str) -> Source:
    """``text`` as a file, with ``headers`` beside it."""
    views = [make_view(SourceFile(f"h{i}.h", h.encode())) for i, h in enumerate(headers)]
    return open_source(make_view(SourceFile("a.cu", text.encode())), views)


def function(body: str, params: str = "torch::Tensor& x, torch::Tensor& y, int n, int64_t m", before: str = "") -> str:
    """A launcher with that body."""
    return f"{before}\nvoid launch({params})\n{{\n{body}\n}}\n"


def allocations(text: str, *headers: str) -> list[Allocation | Untranslatable]:
    """Every allocation of a file."""
    opened = source(text, *headers)
    return [read(opened, i) for i in find_allocations(opened, 0, len(opened.view.tokens) - 1)]


def allocation(body: str, **more: str) -> str:
    """The Python of the only allocation of a launcher, or the reason why there is none."""
    (found,) = allocations(function(body, **more))
    return found.python if isinstance(found, Allocation) else f"refused: {found.reason}"


def condition(body: str, **more: str) -> str:
    """The condition of the only allocation of a launcher, or the reason why there is none."""
    opened = source(function(body, **more))
    (index,) = find_allocations(opened, 0, len(opened.view.tokens) - 1)
    found = read_condition(opened, index)
    return found.text if isinstance(found, Translation) else f"refused: {found.reason}"


def expression(text: str, body: str = "", *, params: str = "", before: str = "") -> Translation | Untranslatable:
    """The value of ``text`` where a launcher returns it behind ``body``."""
    plain = {"params": params} if params else {}
    opened = source(function(f"{body}\nreturn {text};", before=before, **plain))
    tokens = opened.view.tokens
    first = max(i for i, t in enumerate(tokens) if t.kind is Kind.NAME and t.text == b"return") + 1
    return read_expression(opened, first, len(tokens) - 3)


def said(text: str, body: str = "", **more: str) -> str:
    """The Python of an expression, or the reason why there is none."""
    found = expression(text, body, **more)
    return found.text if isinstance(found, Translation) else f"refused: {found.reason}"
