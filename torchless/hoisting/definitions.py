"""What a name means outside of functions: constants, aliases, macros and functions of the files at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torchless.facts.typing import FileView, make_view
from torchless.hoisting.locals import Local, read_locals
from torchless.hoisting.spelling import type_text
from torchless.hoisting.writes import writes
from torchless.rewrites.heads import function_name, parameters, qualified_name
from torchless.rewrites.include_lines import guard_conditions
from torchless.rewrites.scopes import Block, BlockKind, Scopes, find_scopes, statement_start
from torchless.text.lexer import Kind, Token
from torchless.text.source import SourceFile


@dataclass(frozen=True)
class File:
    """A file with its brackets and blocks, found when they are asked for. ``source`` alone is enough to start with."""

    source: SourceFile
    given: FileView | None = None

    @cached_property
    def view(self) -> FileView:
        """Its tokens and facts."""
        return self.given or make_view(self.source)

    @cached_property
    def scopes(self) -> Scopes:
        """Its brackets and blocks."""
        return find_scopes(self.view.tokens)

    @property
    def tokens(self) -> list[Token]:
        """The view's tokens."""
        return self.view.tokens

    @cached_property
    def arms(self) -> dict[int, tuple[int, ...]]:
        """By token index, for tokens within conditional text: the # of every #if, #elif and #else that holds it.

        Outermost first; the include guard does not count.
        """
        return _arms(self.tokens)

    @cached_property
    def definitions(self) -> dict[str, list[Definition]]:
        """What it defines, by the last component of the name."""
        out: dict[str, list[Definition]] = {}
        for name, definition in _definitions(self):
            out.setdefault(name, []).append(definition)
        return out

    def has_name(self, name: str) -> bool:
        """Could it have anything of that name?"""
        return name.encode("latin-1") in self.source.data


@dataclass(frozen=True, slots=True)
class Constant:
    """A variable at namespace or class scope. ``template`` names the template parameters of the classes around it."""

    file: File
    path: str
    owner: str
    local: Local
    template: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Macro:
    """``#define name body``, body first..last; ``params`` is None without a parameter list."""

    file: File
    path: str
    owner: str
    params: tuple[str, ...] | None
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Alias:
    """``using name = type``."""

    file: File
    path: str
    owner: str
    type: str


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body. ``template`` are the names of its template parameters, those of its classes too."""

    file: File
    path: str
    owner: str
    block: Block
    template: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A name out of an enum, by token index. ``scoped``: it goes by the enum's name."""

    file: File
    path: str
    owner: str
    name: int
    scoped: bool


Definition = Constant | Macro | Alias | Function | Enumerator
"""``path`` is the name with the namespaces and classes around it, :: between them; ``owner`` is the path of the class
that it is a member of, "" for what is none."""


@dataclass
class Definitions:
    """Definitions of several files. ``declaring`` files tell how functions take their arguments, and nothing else."""

    files: Sequence[File]
    declaring: Sequence[File] = ()
    _takes_values: dict[str, bool | None] = field(default_factory=dict, repr=False)

    def of(self, name: str, owner: str = "") -> list[Definition]:
        """Everything that ``name``, as spelled in the class ``owner`` or outside of any, may mean, first file first.

        A qualifier has to be the end of the path of what it names. Without one, a member of a class is meant in that
        class alone.
        """
        last = name.rpartition("::")[2]
        found = [d for file in self.files if file.has_name(last) for d in file.definitions.get(last, ())]
        if "::" not in name:
            return [d for d in found if d.owner in ("", owner)]
        return [d for d in found if f"::{d.path}".endswith(f"::{name}") or isinstance(d, Macro)]

    def takes_values(self, name: str) -> bool | None:
        """Do all functions and macros of that name leave their arguments alone? None when there are none at hand."""
        if name not in self._takes_values:
            files = [file for file in (*self.files, *self.declaring) if file.has_name(name)]
            found = [leaves for file in files for leaves in _leaves_alone(file, name)]
            self._takes_values[name] = all(found) if found else None
        return self._takes_values[name]


def _arms(tokens: list[Token]) -> dict[int, tuple[int, ...]]:
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
    tokens, scopes = file.tokens, file.scopes
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
        elif (
            not token.directive
            and token.text == b"using"
            and _outside(scopes, i)
            and i + 3 < len(tokens)
            and tokens[i + 2].text == b"="
        ):
            end = next((j for j in range(i + 3, min(len(tokens), i + 80)) if tokens[j].text == b";"), -1)
            if end > 0:
                name = _text(tokens[i + 1])
                yield (
                    name,
                    Alias(file, qualified_name(scopes, i + 1), _owner(scopes, i + 1), type_text(tokens[i + 3 : end])),
                )
    for block in scopes.blocks:
        if tokens[block.open].directive:
            continue
        if block.kind is BlockKind.FUNCTION and block.params >= 0:
            index = function_name(scopes, block.params)
            if index >= 0:
                template = (*template_names(scopes, block), *_class_templates(scopes, block.open))
                yield (
                    _text(tokens[index]),
                    Function(file, qualified_name(scopes, index), _owner(scopes, index), block, template),
                )
        elif block.kind is BlockKind.ENUM:
            yield from _enumerators(file, block)


def _text(token: Token) -> str:
    return token.text.decode("latin-1")


def template_names(scopes: Scopes, block: Block) -> tuple[str, ...]:
    """The names of the template parameters in the head of the function or class ``block``."""
    tokens = scopes.tokens
    out: list[str] = []
    for i in range(block.head, block.open):
        if tokens[i].text != b"template" or tokens[i + 1].text != b"<":
            continue
        depth = 0
        for j in range(i + 1, block.open):
            depth += {b"<": 1, b">": -1}.get(tokens[j].text, 0)
            ends = tokens[j].text in (b",", b">", b"=") and depth <= 1
            if ends and tokens[j - 1].kind is Kind.NAME:
                out.append(_text(tokens[j - 1]))
            if depth == 0:
                break
    return tuple(out)


def _class_templates(scopes: Scopes, index: int) -> tuple[str, ...]:
    """The template parameters of the classes around the token at ``index``."""
    return tuple(
        name
        for block in scopes.around(index)
        if block.kind is BlockKind.CLASS
        for name in template_names(scopes, block)
    )


def _owner(scopes: Scopes, index: int) -> str:
    """The path of the class that holds the declaration whose name is at ``index``, "" without one."""
    block = scopes.at(index)
    if block is not None and block.kind is BlockKind.ENUM:
        block = scopes.blocks[block.parent] if block.parent >= 0 else None
    if block is None or block.kind is not BlockKind.CLASS:
        return ""
    return qualified_name(scopes, index).rpartition("::")[0]


def _outside(scopes: Scopes, index: int) -> bool:
    block = scopes.at(index)
    return block is None or block.kind in (BlockKind.NAMESPACE, BlockKind.CLASS)


def _macro(file: File, index: int) -> Iterator[tuple[str, Definition]]:
    tokens = file.tokens
    name = index + 1
    if name >= len(tokens) or tokens[name].directive != "define":
        return
    last = name
    while last + 1 < len(tokens) and tokens[last + 1].directive and tokens[last + 1].kind is not Kind.DIRECTIVE:
        last += 1
    opener = name + 1
    params: tuple[str, ...] | None = None
    first = opener
    if opener <= last and tokens[opener].text == b"(" and tokens[opener].start == tokens[name].end:
        close = file.scopes.pair.get(opener, -1)
        if close < 0:
            return
        params = tuple(_text(t) for t in tokens[opener + 1 : close] if t.text != b",")
        first = close + 1
    yield _text(tokens[name]), Macro(file, _text(tokens[name]), "", params, first, last)


def _constants(file: File, first: int) -> Iterator[tuple[str, Definition]]:
    tokens, scopes = file.tokens, file.scopes
    end = first
    while end < len(tokens) and tokens[end].text != b";" and tokens[end].text != b"}":
        end = scopes.pair.get(end, end) + 1 if tokens[end].text in (b"(", b"[", b"{") else end + 1
    if end >= len(tokens) or tokens[end].text != b";":
        return
    for local in read_locals(scopes, first, end):
        if local.const and local.init[0] <= local.init[1] and local.style != "(":
            path = qualified_name(scopes, local.name)
            yield (
                local.text,
                Constant(file, path, _owner(scopes, local.name), local, _class_templates(scopes, local.name)),
            )


def _enumerators(file: File, block: Block) -> Iterator[tuple[str, Definition]]:
    tokens, scopes = file.tokens, file.scopes
    words = [t for t in tokens[block.head : block.open] if t.kind is Kind.NAME]
    scoped = any(t.text in (b"class", b"struct") for t in words)
    at = next((i for i, t in enumerate(words) if t.text == b"enum"), -1)
    name = next((_text(t) for t in words[at + 1 :] if t.text not in (b"class", b"struct")), "")
    i = block.open + 1
    while i < block.close:
        if tokens[i].kind is Kind.NAME and tokens[i - 1].text in (b"{", b","):
            path = qualified_name(scopes, i)
            last = _text(tokens[i])
            if name:
                path = f"{path.removesuffix(last)}{name}::{last}"
            yield last, Enumerator(file, path, _owner(scopes, i), i, scoped)
        i = scopes.pair.get(i, i) + 1 if tokens[i].text in (b"(", b"{") else i + 1


def _leaves_alone(file: File, name: str) -> Iterator[bool]:
    """For every function or macro ``name``: does it take its arguments by value or const reference?"""
    scopes, tokens = file.scopes, file.tokens
    word = name.encode("latin-1")
    for i, token in enumerate(tokens):
        if token.text != word or token.kind is not Kind.NAME or not i or i + 1 >= len(tokens):
            continue
        before = tokens[i - 1]
        declared = before.kind is Kind.NAME or before.text in (b"*", b"&", b">", b"::")
        if declared and tokens[i + 1].text == b"(" and _outside(scopes, i) and not token.directive:
            yield all(_by_value(scopes, p.first, p.last) for p in parameters(scopes, i + 1))
    for definition in file.definitions.get(name, ()):
        if isinstance(definition, Macro) and definition.params:
            body = (definition.first, definition.last)
            yield not any(writes(scopes, p, *body, lambda _: None) for p in (*definition.params, "__VA_ARGS__"))
    for fact in file.view.functions:
        if fact.name.rpartition("::")[2] == name:
            yield all(not p.spelled.endswith("&") or p.spelled.lstrip().startswith("const ") for p in fact.params)


def _by_value(scopes: Scopes, first: int, last: int) -> bool:
    words = {t.text for t in scopes.tokens[first : last + 1]}
    return b"const" in words or not words & {b"&", b"&&"}
