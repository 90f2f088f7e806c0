"""Entities: the pieces of a file that findings belong to (functions, macros, types, the file itself)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView
from torchless.text.lexer import Kind, Token, match_angle, match_forward


@dataclass(frozen=True, slots=True, order=True)
class Entity:
    """A piece of a file: byte range [start, end), what it is, and its qualified name ("" for a file).

    kind: "function" (``defines`` says whether it has a body), "macro", "type" (struct, class, alias), or "file", which
    stands for everything in the file that lies in none of the others.
    """

    path: str
    start: int
    end: int
    kind: str
    name: str
    defines: bool = True

    @property
    def last_name(self) -> str:
        """The name without its namespaces."""
        return self.name.rsplit("::", 1)[-1]


def entities_of(view: FileView) -> list[Entity]:
    """Every entity of a file, sorted by start, the "file" entity first."""
    path = view.source.path
    out = {Entity(path, 0, len(view.source.data), "file", "")}
    for function in view.functions:
        if function.path in ("", path):
            out.add(_of_function(path, function))
    out.update(_macros(path, view.tokens))
    out.update(_types(path, view.tokens))
    return sorted(out, key=lambda e: (e.start, -e.end, e.kind, e.name))


def _of_function(path: str, function: FunctionFact) -> Entity:
    return Entity(path, function.start, function.end, "function", function.name, function.body_start >= 0)


def _macros(path: str, tokens: list[Token]) -> Iterator[Entity]:
    i = 0
    while i < len(tokens):
        if tokens[i].kind is Kind.DIRECTIVE and i + 2 < len(tokens) and tokens[i + 1].text == b"define":
            last = i + 1
            while last + 1 < len(tokens) and tokens[last + 1].directive == "define":
                if tokens[last + 1].kind is Kind.DIRECTIVE:
                    break
                last += 1
            name = tokens[i + 2].text.decode("latin-1")
            yield Entity(path, tokens[i].start, tokens[last].end, "macro", name)
            i = last
        i += 1


def _types(path: str, tokens: list[Token]) -> Iterator[Entity]:
    """Structs, classes and aliases, read off the text: enough to know which type a construct belongs to."""
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.directive:
            continue
        if token.text in (b"struct", b"class", b"union"):
            found = _class(tokens, i)
        elif token.text == b"using" and i + 2 < len(tokens) and tokens[i + 2].text == b"=":
            end = _semicolon(tokens, i)
            found = (i + 1, end) if end > 0 else None
        elif token.text == b"typedef":
            end = _semicolon(tokens, i)
            name = _typedef_name(tokens, i, end) if end > 0 else -1
            found = (name, end) if name > 0 else None
        else:
            continue
        if found is not None:
            name, last = found
            yield Entity(path, token.start, tokens[last].end, "type", tokens[name].text.decode("latin-1"))


def _class(tokens: list[Token], keyword: int) -> tuple[int, int] | None:
    """The indexes of the name and of the closing brace of the class defined at ``keyword``; None when none is."""
    name = -1
    in_bases = False
    i = keyword + 1
    while 0 < i < len(tokens):
        token = tokens[i]
        if token.text == b"{" and not token.directive:
            close = match_forward(tokens, i)
            return (name, close) if name > 0 and close > 0 else None
        if token.directive or token.text in (b"::", b"...", b"final"):
            pass
        elif token.kind is Kind.NAME:
            name = name if in_bases else i  # the last one: a macro may stand before the name
        elif token.text == b":":
            in_bases = True
        elif token.text == b"<":
            i = match_angle(tokens, i)
        elif token.text in (b"(", b"[") and (name < 0 or tokens[name].text in _ATTRIBUTES):
            i = match_forward(tokens, i)
        elif token.text != b"," or not in_bases:
            return None  # a parameter, a variable or a function
        i = i + 1 if i > 0 else -1
    return None


_ATTRIBUTES = frozenset({b"alignas", b"__attribute__", b"__align__"})


def _semicolon(tokens: list[Token], start: int) -> int:
    """Index of the ; that ends the alias declared at ``start``, braces skipped; -1 when none does nearby."""
    i = start
    for _ in range(_LONGEST_ALIAS):
        if not 0 <= i < len(tokens):
            return -1
        if tokens[i].directive:  # neither the ; of a macro nor its braces are those of the alias
            i += 1
            continue
        if tokens[i].text == b";":
            return i
        i = match_forward(tokens, i) + 1 or -1 if tokens[i].text == b"{" else i + 1
    return -1


_LONGEST_ALIAS = 200  # tokens


def _typedef_name(tokens: list[Token], start: int, end: int) -> int:
    """Index of the name that the typedef from ``start`` to the ; at ``end`` declares, -1 when it cannot be told."""
    if tokens[end - 1].kind is Kind.NAME and not tokens[end - 1].directive:
        return end - 1
    for i in range(start, end - 3):  # a pointer to a function: void (*name)(...)
        if tokens[i].text == b"(" and tokens[i + 1].text in (b"*", b"&") and tokens[i + 3].text == b")":
            return i + 2 if tokens[i + 2].kind is Kind.NAME else -1
    return -1


class EntityIndex:
    """Finds the innermost entity that holds a byte of a file."""

    def __init__(self, entities: Iterable[Entity]) -> None:
        by_path: dict[str, list[Entity]] = {}
        for entity in entities:
            by_path.setdefault(entity.path, []).append(entity)
        self._by_path = {p: sorted(es, key=lambda e: (e.start, -e.end)) for p, es in by_path.items()}
        self._starts = {p: [e.start for e in es] for p, es in self._by_path.items()}

    def at(self, path: str, offset: int) -> Entity | None:
        """The innermost entity of ``path`` that covers ``offset``; None for an unknown file.

        Types and aliases inside a function belong to the function: what moves is the function.
        """
        found = self._by_path.get(path, [])
        best: Entity | None = None
        for i in range(bisect_right(self._starts.get(path, []), offset) - 1, -1, -1):
            entity = found[i]
            if entity.end <= offset:
                continue
            if best is None or (best.kind == "type" and entity.kind in ("function", "macro")):
                best = entity
            if entity.kind in ("function", "macro", "file"):
                break
        return best

    def of_file(self, path: str) -> list[Entity]:
        """All entities of ``path``, by start."""
        return self._by_path.get(path, [])

    def joined(self, entities: Iterable[Entity]) -> EntityIndex:
        """This index and ``entities`` of other files."""
        return EntityIndex([*(e for es in self._by_path.values() for e in es), *entities])

    @cached_property
    def macros(self) -> frozenset[bytes]:
        """The names of all macros."""
        return frozenset(e.name.encode("latin-1") for es in self._by_path.values() for e in es if e.kind == "macro")
