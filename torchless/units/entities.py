"""Entities: the pieces of a file that findings belong to (functions, macros, types, the file itself)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView
from torchless.text.lexer import Kind, Token, match_forward


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
            j = i + 1
            while j < len(tokens) and tokens[j].text in (b"alignas", b"__attribute__", b"(", b"[", b"__align__"):
                j = match_forward(tokens, j) + 1 if tokens[j].text in (b"(", b"[") else j + 1
                if j == 0:
                    break
            if not j or j >= len(tokens) or tokens[j].kind is not Kind.NAME:
                continue
            name = tokens[j].text.decode("latin-1")
            k = j + 1
            while k < len(tokens) and tokens[k].text not in (b"{", b";", b"(", b")", b"=", b","):
                k += 1
            if k < len(tokens) and tokens[k].text == b"{":
                close = match_forward(tokens, k)
                if close > 0:
                    yield Entity(path, token.start, tokens[close].end, "type", name)
        elif token.text == b"using" and i + 2 < len(tokens) and tokens[i + 2].text == b"=":
            end = next((k for k in range(i + 3, min(i + 200, len(tokens))) if tokens[k].text == b";"), -1)
            if end > 0:
                yield Entity(path, token.start, tokens[end].end, "type", tokens[i + 1].text.decode("latin-1"))
        elif token.text == b"typedef":
            end = next((k for k in range(i + 1, min(i + 200, len(tokens))) if tokens[k].text == b";"), -1)
            if end > 0 and tokens[end - 1].kind is Kind.NAME:
                yield Entity(path, token.start, tokens[end].end, "type", tokens[end - 1].text.decode("latin-1"))


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
