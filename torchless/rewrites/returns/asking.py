"""Sizes that only C++ can compute: a small function that Python asks for them.

What an allocation's size is made of is taken apart into what Python can say, which become the function's parameters,
and the rest, which stays C++: calls of functions whose body is not at hand, constants of generated headers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchless.hoisting.allocation import Source, Untranslatable, read_expression
from torchless.hoisting.locals import Local, read_locals
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.reading import Giver, Reading, placeholders, positions
from torchless.rewrites.scopes import BlockKind
from torchless.rewrites.statements import statements
from torchless.text.lexer import Kind


@dataclass(frozen=True, slots=True)
class Query:
    """A function ``name`` in C++ that computes ``expression`` of its ``parameters``, integers all.

    ``arguments`` is what Python passes for each, with _argN_ for the parameters of the function that allocates;
    ``variable`` is what Python calls the answer.
    """

    name: str
    expression: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    variable: str

    @property
    def declared(self) -> str:
        """The head of the function in C++."""
        return f"int64_t {self.name}({', '.join(f'int64_t {p}' for p in self.parameters)})"

    @property
    def call(self) -> str:
        """What Python does to ask, with _argN_ for parameters."""
        return f"{self.name}({', '.join(self.arguments)})"


class CannotAsk(ValueError):
    """Why a size cannot be computed by a function of its own. One line, for people."""


def ask(reading: Reading, giver: Giver, source: Source, span: tuple[int, int], local: str) -> Query:
    """The query for the tokens ``span``, the size of what ``local`` is allocated as. Raises CannotAsk."""
    found: dict[str, str] = {}
    text = _written(_Work(reading, giver, source, found), *span, depth=0)
    name = f"{giver.fact.name.rsplit('::', 1)[-1]}_{local}_size"
    return Query(name, text, tuple(found), tuple(found.values()), f"{local}_size")


@dataclass
class _Work:
    reading: Reading
    giver: Giver
    source: Source
    found: dict[str, str]  # C++ name -> Python


_MOST_STEPS = 8


def _written(work: _Work, first: int, last: int, depth: int) -> str:
    """The tokens as C++ over the query's own parameters; what Python can say becomes one."""
    tokens = work.reading.view.tokens
    out: list[str] = []
    skip_to = first
    for i in range(first, last + 1):
        if i < skip_to:
            continue
        token = tokens[i]
        if i > first and token.start > tokens[i - 1].end:
            out.append(" ")
        word = token.text.decode("latin-1")
        if token.kind is not Kind.NAME or not _is_variable(work, i):
            out.append(word)
            continue
        if tokens[i + 1].text == b"." and i + 2 <= last:
            out.append(_dimension(work, i, depth))
            skip_to = i + 3
            continue
        names = placeholders(work.giver, tokens)
        value = read_expression(work.source, i, i, names)
        if not isinstance(value, Untranslatable) and value.text.isdigit():
            out.append(value.text)
            continue
        own = names.get(word)
        if not isinstance(value, Untranslatable) and not _is_tensor(work, word):
            if work.found.setdefault(word, value.text) != value.text:
                raise CannotAsk(f"{word} is one thing here and another there")
            out.append(word)
            continue
        local = _local(work, i)
        if own is not None or local is None or depth >= _MOST_STEPS:
            raise CannotAsk(f"{word} is neither a number that Python knows nor computed from such")
        out.append(f"({_written(work, *local.init, depth + 1)})")
    return "".join(out)


def _dimension(work: _Work, index: int, depth: int) -> str:
    """``grid.x`` of a ``dim3 grid(rows, columns);``: what it was made of, as wide as it is."""
    tokens = work.reading.view.tokens
    local = _local(work, index)
    member = tokens[index + 2].text
    if local is None or local.type != "dim3" or local.style != "(" or member not in (b"x", b"y", b"z"):
        raise CannotAsk(f"{tokens[index].text.decode('latin-1')} is asked for more than a number")
    spans = split_arguments(work.reading.scopes, local.init[0] - 1)
    at = (b"x", b"y", b"z").index(member)
    inner = _written(work, *spans[at], depth + 1) if at < len(spans) else "1"
    return f"static_cast<uint32_t>({inner})"


def _is_tensor(work: _Work, word: str) -> bool:
    position = positions(work.giver, work.reading.view.tokens).get(word, -1)
    return position >= 0 and work.giver.tensors[position] != ""


def _is_variable(work: _Work, index: int) -> bool:
    """Whether the name at ``index`` is a local or a parameter of the function."""
    tokens = work.reading.view.tokens
    if tokens[index - 1].text in (b".", b"->", b"::") or tokens[index + 1].text in (b"(", b"::", b"<"):
        return False
    word = tokens[index].text.decode("latin-1")
    return word in positions(work.giver, tokens) or _local(work, index) is not None


def _local(work: _Work, index: int) -> Local | None:
    """The local that the name at ``index`` stands for: declared with a value, once, and never set again."""
    tokens = work.reading.view.tokens
    body = work.giver.body
    assert body is not None
    found = [local for local in _declared(work) if tokens[local.name].text == tokens[index].text]
    if len(found) != 1 or found[0].name >= index or found[0].init[0] > found[0].init[1]:
        return None
    local = found[0]
    if local.static or local.reference or local.pointer or local.part >= 0:
        return None
    for i in range(body.open + 1, body.close):
        if i != local.name and tokens[i].text == tokens[index].text:
            after, before = tokens[i + 1].text, tokens[i - 1].text
            if after in _CHANGES or before in (b"++", b"--", b"&") or after in (b"++", b"--"):
                return None
    return local


_CHANGES = frozenset({b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"<<=", b">>=", b"|=", b"&="})


def _declared(work: _Work) -> Iterator[Local]:
    scopes, body = work.reading.scopes, work.giver.body
    assert body is not None
    for block in scopes.blocks:
        if block.open < body.open or block.close > body.close:
            continue
        if block is not body and block.kind is not BlockKind.STATEMENT:
            continue
        for statement in statements(scopes, block.open + 1, block.close - 1):
            if not statement.branches:
                yield from read_locals(scopes, statement.first, statement.last)


def compared(reading: Reading, span: tuple[int, int], known: Mapping[str, str]) -> str | None:
    """``size > 0`` and its kin in Python, where ``known`` maps what C++ calls sizes to what Python does; else None."""
    tokens = reading.view.tokens
    first, last = span
    if last != first + 2:
        return None
    left, operator, right = (tokens[i].text.decode("latin-1") for i in range(first, last + 1))
    if left not in known or operator not in (">", ">=", "!=", "<", "<=", "==") or not right.isdigit():
        return None
    return f"{known[left]} {operator} {right}"
