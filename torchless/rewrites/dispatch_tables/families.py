"""Which maps and function types have to change together: all that are tied by the names of their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.scan import (
    Alias,
    File,
    MapType,
    aliases,
    map_types,
    spelled_callable,
    type_start,
)
from torchless.rewrites.dispatch_tables.spelling import Callable
from torchless.rewrites.scopes import BlockKind, statement_start
from torchless.text.lexer import Kind, match_angle
from torchless.units.components import Components

Node = tuple[str, str, int]  # ("type" | "map", path, index of its first token)


@dataclass(frozen=True)
class FunctionType:
    """A callable type: spelled out where an alias defines it, or inside of a map type (``alias`` None)."""

    path: str
    callable: Callable
    alias: Alias | None


@dataclass(frozen=True)
class Family:
    """Function types and maps to them.

    ``name`` is what the family is known by: the file of its first map, or function type, and the name of that type.
    ``derived`` are aliases that stand for one of the maps through an alias template: ``using M = Base<Fn>;``. ``ties``
    are reasons why it could not be told what belongs to it.
    """

    name: str
    functions: tuple[FunctionType, ...]
    maps: tuple[MapType, ...]
    derived: tuple[Alias, ...]
    ties: tuple[str, ...] = ()


def find(code: Codebase) -> list[Family]:
    """Every family of the checkout that stores functions in maps, or gives out std::function, in path order."""
    found = _Finder(code)
    for path in code.candidates():
        file = code.file(path)
        for map_type in map_types(file):
            found.add_map(file, map_type)
        found.add_given_out(file)
    return found.families()


class _Finder:
    """Gathers types and what ties them."""

    def __init__(self, code: Codebase) -> None:
        self.code = code
        self.components: Components[Node] = Components()
        self.functions: dict[Node, FunctionType] = {}
        self.maps: dict[Node, MapType] = {}
        self.derived: dict[Node, list[Alias]] = {}
        self.unclear: dict[Node, list[str]] = {}
        self.generic: list[tuple[File, Node, MapType]] = []

    def add_map(self, file: File, found: MapType) -> None:
        node: Node = ("map", found.path, found.map.first)
        if found.value is not None:
            self._join(node, found, self._function(FunctionType(found.path, found.value, None)))
            return
        if not found.named:
            return
        if found.alias is not None and found.alias.parameter:
            if found.alias.parameter == found.named:
                self._add_template(node, found)
            return
        if _is_parameter(file, found.map.first, found.named):
            self.generic.append((file, node, found))
            return
        function = self._resolve(found.path, found.named, found.map.arguments[1][1])
        if function is not None:
            self._join(node, found, self._function(function))

    def add_given_out(self, file: File) -> None:
        """std::function types with a name that some function returns: who calls that may call a pointer as well."""
        for alias in aliases(file):
            spelled = spelled_callable(file, alias.first, alias.last)
            if spelled is None or not spelled.is_function or alias.parameter:
                continue
            if any(_returns(self.code.file(path), i) for path, i in self.code.names(alias)):
                self._function(FunctionType(file.path, spelled, alias))

    def families(self) -> list[Family]:
        for file, node, found in self.generic:
            self._add_generic(file, node, found)
        self._join_accessors()
        out: dict[str, Family] = {}
        for nodes in sorted(self.components.groups(), key=min):
            functions = tuple(self.functions[n] for n in sorted(nodes) if n in self.functions)
            maps = tuple(self.maps[n] for n in sorted(nodes) if n in self.maps)
            derived = tuple(alias for n in sorted(nodes) for alias in self.derived.get(n, ()))
            ties = tuple(text for n in sorted(nodes) for text in self.unclear.get(n, ()))
            if functions:
                base = name = _name(functions, maps)
                number = 2
                while name in out:
                    name, number = f"{base}#{number}", number + 1
                out[name] = Family(name, functions, maps, derived, ties)
        return [out[name] for name in sorted(out)]

    def _join_accessors(self) -> None:
        """A function that gives out a map ties the source that defines it to those that declare and call it."""
        givers: dict[str, list[tuple[Node, str]]] = {}
        for node, found in self.maps.items():
            if found.alias is None or found.alias.parameter:
                continue
            for path, i in self.code.names(found.alias):
                name = _accessor(self.code.file(path), i)
                if name:
                    givers.setdefault(name, []).append((node, path))
        for name, places in sorted(givers.items()):
            for i, (node, path) in enumerate(places):
                modules = {m.name for m in self.code.modules_of(path)}
                for other, elsewhere in places[i + 1 :]:
                    if modules.intersection(m.name for m in self.code.modules_of(elsewhere)):
                        self.components.join(node, other, f"{name}() gives the map out")

    def _join(self, node: Node, found: MapType, function: Node) -> None:
        self.maps[node] = found
        self.components.join(node, function, "the map holds functions of this type")

    def _function(self, function: FunctionType) -> Node:
        node: Node = ("type", function.path, function.callable.first)
        self.functions.setdefault(node, function)
        self.components.add(node)
        return node

    def _resolve(self, path: str, name: str, index: int) -> FunctionType | None:
        """The callable type that ``name`` stands for at token ``index`` of ``path``; None for another type."""
        alias = self.code.definition(path, name, index)
        spelled = spelled_callable(self.code.file(alias.path), alias.first, alias.last) if alias else None
        return FunctionType(alias.path, spelled, alias) if alias is not None and spelled is not None else None

    def _add_template(self, node: Node, found: MapType) -> None:
        """``template <typename F> using Base = map<Key, F>;``: tied to the function types that it is used with."""
        alias = found.alias
        assert alias is not None
        for path, i in self.code.names(alias):
            file = self.code.file(path)
            tokens = file.view.tokens
            close = match_angle(tokens, i + 1) if tokens[i + 1].text == b"<" else -1
            if close < 0:
                self.unclear.setdefault(node, []).append(f"{path} names {alias.name} without an argument")
                continue
            argument = tokens[close - 1].text.decode("latin-1")
            named = tokens[close - 1].kind is Kind.NAME
            function = self._resolve(path, argument, close - 1) if named else None
            if function is None:
                self.unclear.setdefault(node, []).append(f"{path} uses {alias.name} with {argument}")
                continue
            self._join(node, found, self._function(function))
            using = next((a for a in aliases(file) if a.first <= i <= a.last), None)
            if using is not None and using.first == type_start(file, i) and using.last == close:
                self.derived.setdefault(node, []).append(using)

    def _add_generic(self, file: File, node: Node, found: MapType) -> None:
        """A map to a template parameter of a function: tied to the maps of the file that have the same key."""
        key = _texts(file, *found.map.arguments[0])
        for other, map_type in list(self.maps.items()):
            if map_type.path == file.path and _texts(file, *map_type.map.arguments[0]) == key:
                self.maps[node] = found
                self.components.join(node, other, "a function of the file takes such maps")


def _name(functions: Sequence[FunctionType], maps: Sequence[MapType]) -> str:
    if maps:
        return f"{maps[0].path}:{maps[0].alias.name if maps[0].alias else maps[0].named or 'table'}"
    return f"{functions[0].path}:{functions[0].alias.name if functions[0].alias else 'function'}"


def _is_parameter(file: File, index: int, name: str) -> bool:
    """Whether ``name`` is a type parameter of the function template that the token at ``index`` belongs to."""
    tokens, scopes = file.view.tokens, file.scopes
    start = index
    for block in scopes.around(index):
        if block.kind is BlockKind.FUNCTION:
            start = block.head
    for i in range(start, max(-1, start - 80), -1):
        if tokens[i].text == b"template" and tokens[i + 1].text == b"<":
            close = match_angle(tokens, i + 1)
            words = [t.text.decode("latin-1") for t in tokens[i + 2 : close]]
            between = {t.text for t in tokens[close:index]}
            return name in words and not between.intersection((b";", b"}"))
    return False


def _returns(file: File, i: int) -> bool:
    """Whether the type named at ``i`` is the return type of a function that is declared there."""
    tokens = file.view.tokens
    called = tokens[i + 1].kind is Kind.NAME and tokens[i + 2].text == b"("
    return called and file.scopes.function_of(i) is None


def _accessor(file: File, i: int) -> str:
    """The function, not a static one, that is declared to give the map type named at ``i``, or a reference to it."""
    tokens, scopes = file.view.tokens, file.scopes
    k = i + 1
    while tokens[k].text in (b"&", b"const"):
        k += 1
    if tokens[k].kind is Kind.NAME and tokens[k + 1].text == b"(" and scopes.function_of(i) is None:
        start = statement_start(scopes, i)
        if not any(t.text == b"static" for t in tokens[start:i]):
            return tokens[k].text.decode("latin-1")
    return ""


def _texts(file: File, first: int, last: int) -> list[bytes]:
    return [t.text for t in file.view.tokens[first : last + 1]]


def occurrences(code: Codebase, family: Family) -> dict[str, list[tuple[int, int]]]:
    """Where the family's maps are spelled as types, by path: token ranges, those that define aliases left out.

    A qualified name is spelled with its qualification.
    """
    out: dict[str, set[tuple[int, int]]] = {}
    for found in family.maps:
        if found.alias is None:
            out.setdefault(found.path, set()).add((found.map.first, found.map.last))
        elif not found.alias.parameter:
            _add_named(code, found.alias, out)
    for alias in family.derived:
        _add_named(code, alias, out)
    inside = {(a.path, i) for a in family.derived for i in range(a.decl, a.end)}
    for found in family.maps:
        if found.alias is not None and found.alias.parameter:
            for path, i in code.names(found.alias):
                close = match_angle(code.file(path).view.tokens, i + 1)
                if (path, i) not in inside and close > 0:
                    out.setdefault(path, set()).add((type_start(code.file(path), i), close))
    return {path: sorted(found) for path, found in sorted(out.items())}


def _add_named(code: Codebase, alias: Alias, out: dict[str, set[tuple[int, int]]]) -> None:
    for path, i in code.names(alias):
        out.setdefault(path, set()).add((type_start(code.file(path), i), i))


def given_out(code: Codebase, family: Family) -> Iterator[tuple[str, int]]:
    """Where the family's function types are named in C++, as (path, token index), their definitions left out."""
    for function in family.functions:
        if function.alias is not None:
            yield from code.names(function.alias)
