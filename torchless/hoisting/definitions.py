"""What a name means outside of functions: constants, aliases, macros and small functions of the files at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchless.facts.typing import FileView
from torchless.hoisting.expressions import type_text
from torchless.hoisting.locals import Local, read_locals
from torchless.rewrites.heads import function_name, parameters
from torchless.rewrites.include_lines import guard_conditions
from torchless.rewrites.scopes import Block, BlockKind, Scopes, find_scopes, statement_start
from torchless.text.lexer import Kind


@dataclass(frozen=True)
class File:
    """A file and its brackets and blocks."""

    view: FileView
    scopes: Scopes

    @cached_property
    def arms(self) -> dict[int, tuple[int, ...]]:
        """By token index, for tokens within conditional text: the # of every #if, #elif and #else that holds it.

        Outermost first; the include guard does not count.
        """
        return _arms(self.view)


@dataclass(frozen=True, slots=True)
class Constant:
    """A variable at namespace or class scope."""

    file: File
    local: Local


@dataclass(frozen=True, slots=True)
class Macro:
    """``#define name body``; ``params`` is None without a parameter list."""

    file: File
    params: tuple[str, ...] | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Alias:
    """``using name = type``."""

    file: File
    type: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body. ``template`` are the names of its template parameters."""

    file: File
    block: Block
    template: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A name out of an enum, by token index."""

    file: File
    name: int


Definition = Constant | Macro | Alias | Function | Enumerator


@dataclass
class Definitions:
    """Definitions by the last component of their name."""

    files: Sequence[File]
    _found: dict[str, list[Definition]] | None = field(default=None, repr=False)

    def of(self, name: str) -> list[Definition]:
        """Everything called ``name`` (its last component counts), the first file's first."""
        if self._found is None:
            self._found = {}
            for file in self.files:
                for found, definition in _definitions(file):
                    self._found.setdefault(found, []).append(definition)
        return self._found.get(name.rpartition("::")[2], [])


def open_file(view: FileView) -> File:
    """``view`` with its scopes."""
    return File(view, find_scopes(view.tokens))


def _arms(view: FileView) -> dict[int, tuple[int, ...]]:
    tokens = view.tokens
    guard = guard_conditions(tokens)
    out: dict[int, tuple[int, ...]] = {}
    stack: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            word = tokens[i + 1].text if i + 1 < len(tokens) and tokens[i + 1].directive else b""
            if word in (b"if", b"ifdef", b"ifndef"):
                stack.append(i)
            elif word in (b"elif", b"else", b"elifdef", b"elifndef") and stack:
                stack[-1] = i
            elif word == b"endif" and stack:
                stack.pop()
        held = tuple(i for i in stack if i != guard)
        if held:
            out[i] = held
    return out


def _definitions(file: File) -> Iterator[tuple[str, Definition]]:
    tokens, scopes = file.view.tokens, file.scopes
    seen: set[int] = set()
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME:
            continue
        if token.directive == "define" and token.text == b"define":
            yield from _macro(file, i)
        elif not token.directive and token.text in (b"constexpr", b"const") and _outside(scopes, i):
            first = statement_start(scopes, i)
            if first not in seen:
                seen.add(first)
                yield from _constants(file, first)
        elif not token.directive and token.text == b"using" and i + 3 < len(tokens) and tokens[i + 2].text == b"=":
            end = next((j for j in range(i + 3, min(len(tokens), i + 80)) if tokens[j].text == b";"), -1)
            if end > 0:
                yield tokens[i + 1].text.decode("latin-1"), Alias(file, type_text(tokens[i + 3 : end]))
    for block in scopes.blocks:
        if block.kind is BlockKind.FUNCTION and block.params >= 0 and not tokens[block.open].directive:
            name = function_name(scopes, block.params)
            if name >= 0:
                yield tokens[name].text.decode("latin-1"), Function(file, block, template_names(scopes, block))
        elif block.kind is BlockKind.ENUM and not tokens[block.open].directive:
            for j in range(block.open + 1, block.close):
                if tokens[j].kind is Kind.NAME and tokens[j - 1].text in (b"{", b","):
                    yield tokens[j].text.decode("latin-1"), Enumerator(file, j)


def template_names(scopes: Scopes, block: Block) -> tuple[str, ...]:
    """The names of the template parameters in the head of ``block``'s function."""
    tokens = scopes.tokens
    out: list[str] = []
    for i in range(block.head, block.open):
        if tokens[i].text == b"template" and tokens[i + 1].text == b"<":
            depth = 0
            for j in range(i + 1, block.open):
                if tokens[j].text == b"<":
                    depth += 1
                elif tokens[j].text == b">":
                    depth -= 1
                if tokens[j].text in (b",", b">", b"=") and depth <= 1 and tokens[j - 1].kind is Kind.NAME:
                    out.append(tokens[j - 1].text.decode("latin-1"))
                if depth == 0:
                    break
    return tuple(out)


def _outside(scopes: Scopes, index: int) -> bool:
    block = scopes.at(index)
    return block is None or block.kind in (BlockKind.NAMESPACE, BlockKind.CLASS)


def _macro(file: File, index: int) -> Iterator[tuple[str, Definition]]:
    tokens = file.view.tokens
    name = index + 1
    if name >= len(tokens) or tokens[name].directive != "define":
        return
    last = name
    while last + 1 < len(tokens) and tokens[last + 1].directive and tokens[last + 1].kind is not Kind.DIRECTIVE:
        last += 1
    opener = name + 1
    called = opener <= last and tokens[opener].text == b"(" and tokens[opener].start == tokens[name].end
    params: tuple[str, ...] | None = None
    first = opener
    if called and opener in file.scopes.pair:
        close = file.scopes.pair[opener]
        params = tuple(t.text.decode("latin-1") for t in tokens[opener + 1 : close] if t.text != b",")
        first = close + 1
    yield tokens[name].text.decode("latin-1"), Macro(file, params, first, last)


def _constants(file: File, first: int) -> Iterator[tuple[str, Definition]]:
    tokens = file.view.tokens
    end = next((j for j in range(first, min(len(tokens), first + 400)) if tokens[j].text in (b";", b"}")), -1)
    # braces of an initialiser may hold ; only in a lambda, which is not followed anyway
    while end > 0 and tokens[end].text == b"}" and end + 1 < len(tokens) and tokens[end + 1].text == b";":
        end += 1
    if end < 0 or tokens[end].text != b";":
        return
    for local in read_locals(file.scopes, first, end):
        if local.const and local.init[0] <= local.init[1] and local.style != "(":
            yield local.text, Constant(file, local)


def by_value_functions(definitions: Definitions, functions: Sequence[str] = ()) -> frozenset[str]:
    """Names of functions at hand all of whose versions take every argument by value or by const reference."""
    good: dict[str, bool] = {}
    for file in definitions.files:
        scopes = file.scopes
        for block in scopes.blocks:
            if block.kind is not BlockKind.FUNCTION or block.params < 0:
                continue
            name = function_name(scopes, block.params)
            if name < 0:
                continue
            text = scopes.tokens[name].text.decode("latin-1")
            fine = all(_by_value(scopes, p.first, p.last) for p in parameters(scopes, block.params))
            good[text] = good.get(text, True) and fine
        for fact in file.view.functions:
            text = fact.name.rpartition("::")[2]
            fine = all(
                not p.spelled.rstrip().endswith("&") or p.spelled.lstrip().startswith("const ") for p in fact.params
            )
            good[text] = good.get(text, True) and fine
    return frozenset({*(name for name, fine in good.items() if fine), *functions})


def _by_value(scopes: Scopes, first: int, last: int) -> bool:
    words = {t.text for t in scopes.tokens[first : last + 1]}
    return b"const" in words or not words & {b"&", b"&&"}
