"""What one file says about maps from keys to functions: aliases, map types, tables, and the names that stand for them.

Read off the tokens alone: what prints the rows is mostly not in the checkout, so no compiler sees these files whole.
Token indexes are those of the file's FileView.
"""

from __future__ import annotations

from collections.abc import Callable as Function
from collections.abc import Iterator
from dataclasses import dataclass

from torchless.facts.typing import FileView
from torchless.rewrites.dispatch_tables.spelling import Callable, Map, callable_at, map_at, pointer_at, std_start
from torchless.rewrites.scopes import Block, BlockKind, Scopes, find_scopes, statement_start
from torchless.text.lexer import Kind, match_angle

_STORAGE = frozenset({b"static", b"const", b"constexpr", b"inline", b"extern", b"thread_local"})


@dataclass(frozen=True, slots=True)
class Alias:
    """``using name = type;`` or a typedef: tokens decl..end (its ;), the type at first..last.

    ``parameter`` is the single type parameter of an alias template, "" for an alias.
    """

    path: str
    name: str
    decl: int
    end: int
    first: int
    last: int
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class MapType:
    """A map type that is spelled out in ``path``. ``alias``: the alias that it defines, None where it is used as is.

    ``value`` is the callable that its second argument spells; None when that is a name, which is then in ``named``.
    """

    path: str
    map: Map
    alias: Alias | None
    value: Callable | None
    named: str


@dataclass(frozen=True, slots=True)
class Table:
    """A place where a map is filled: the statement at tokens first..last (its ;), its type at type_first..type_last.

    What fills it lies between the tokens first_row..last_row. ``braces``: how many pairs of braces the text around that
    puts there: 1 for ``M{...}``, 0 for ``= MACRO()``. ``name`` is the variable that is declared, "" for
    ``return M{...};``. ``holder`` is the name that the table is known by: the variable, or what the lambda initialises,
    or the function that returns it; "" when it cannot be told.
    """

    path: str
    first: int
    last: int
    type_first: int
    type_last: int
    first_row: int
    last_row: int
    braces: int
    name: str
    holder: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A name that stands for a map within tokens scope_first..scope_last. ``is_function``: what calling it gives does.

    ``is_internal``: static, local or in an unnamed namespace, so that no other translation unit reaches it.
    ``at`` is the index of the name where it is declared.
    """

    path: str
    name: str
    at: int
    scope_first: int
    scope_last: int
    is_function: bool = False
    is_internal: bool = True
    is_constant: bool = True


@dataclass(frozen=True)
class File:
    """A file and its scopes."""

    view: FileView
    scopes: Scopes

    @property
    def path(self) -> str:
        """The root-relative path."""
        return self.view.source.path


def look(view: FileView) -> File:
    """The file behind ``view`` with its scopes."""
    return File(view, find_scopes(view.tokens))


def aliases(file: File) -> Iterator[Alias]:
    """Every alias and typedef of the file, outside of macros, in order."""
    tokens = file.view.tokens
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.directive:
            continue
        if token.text == b"using" and i + 3 < len(tokens) and tokens[i + 2].text == b"=":
            end = statement_end(file, i)
            if end > 0:
                decl, parameter = _template_head(file, i)
                yield Alias(file.path, tokens[i + 1].text.decode("latin-1"), decl, end, i + 3, end - 1, parameter)
        elif token.text == b"typedef":
            end = statement_end(file, i)
            if end > 0 and tokens[end - 1].kind is Kind.NAME and end - 2 > i:
                yield Alias(file.path, tokens[end - 1].text.decode("latin-1"), i, end, i + 1, end - 2)


def map_types(file: File) -> Iterator[MapType]:
    """Every standard map that is spelled out in the file, outside of macros, in order."""
    tokens = file.view.tokens
    by_start = {alias.first: alias for alias in aliases(file)}
    for i, token in enumerate(tokens):
        if token.text not in (b"unordered_map", b"map") or token.directive:
            continue
        found = map_at(tokens, i)
        if found is None:
            continue
        first, last = found.arguments[1]
        alias = by_start.get(found.first)
        value = spelled_callable(file, first, last)
        named = tokens[last].text.decode("latin-1") if value is None and _is_name(file, first, last) else ""
        yield MapType(file.path, found, alias if alias and alias.last == found.last else None, value, named)


def spelled_callable(file: File, first: int, last: int) -> Callable | None:
    """The callable that tokens first..last spell out, or None."""
    tokens = file.view.tokens
    for i in range(first, last + 1):
        if tokens[i].text == b"function":
            found = callable_at(tokens, i)
            if found is not None and (found.first, found.last) == (first, last):
                return found
    pointer = pointer_at(tokens, first)
    return pointer if pointer is not None and pointer.last == last else None


def functions_spelled(file: File) -> Iterator[Callable]:
    """Every std::function<...> in the file, outside of macros."""
    tokens = file.view.tokens
    for i, token in enumerate(tokens):
        if token.text == b"function" and not token.directive:
            found = callable_at(tokens, i)
            if found is not None:
                yield found


def tables(file: File, spelled: Iterator[tuple[int, int]]) -> Iterator[Table]:
    """The tables among the places first..last where a map type is ``spelled`` (by alias, or in full)."""
    tokens, scopes = file.view.tokens, file.scopes
    for first, last in spelled:
        before = scopes.previous(first)
        opener = last + 1
        if before >= 0 and tokens[before].text == b"return" and tokens[opener].text == b"{":
            close = scopes.pair.get(opener, -1)
            if close > 0 and tokens[close + 1].text == b";":
                holder = _holder(file, first)
                yield Table(file.path, before, close + 1, first, last, opener + 1, close - 1, 1, "", holder)
            continue
        declared = _declared(file, first, last)
        if declared is not None:
            yield declared


def _declared(file: File, first: int, last: int) -> Table | None:
    """``static const M name = ...;`` or ``static const M name{...};``, of which M stands at first..last."""
    tokens, scopes = file.view.tokens, file.scopes
    start = statement_start(scopes, first)
    if any(tokens[i].text not in _STORAGE for i in range(start, first)):
        return None
    i = last + 1
    while tokens[i].text == b"const":
        i += 1
    if tokens[i].kind is not Kind.NAME or tokens[i + 1].text not in (b"=", b"{"):
        return None
    name = tokens[i].text.decode("latin-1")
    end = statement_end(file, i)
    if end < 0:
        return None
    at = i + 2 if tokens[i + 1].text == b"=" else i + 1
    if (at, at + last - first) != (first, last) and _same(file, (at, at + last - first), (first, last)):
        at += last - first + 1  # M name = M{...};
    close = scopes.pair.get(at, -1)
    if tokens[at].text == b"{" and close == end - 1:
        return Table(file.path, start, end, first, last, at + 1, close - 1, 1, name, name)
    if tokens[at].kind is Kind.NAME and tokens[at + 1].text == b"(" and scopes.pair.get(at + 1, -1) == end - 1:
        return Table(file.path, start, end, first, last, at, end - 1, 0, name, name)
    return None


def _holder(file: File, index: int) -> str:
    """What the value returned at ``index`` becomes: the variable that a lambda initialises, or a function's name."""
    tokens, scopes = file.view.tokens, file.scopes
    for block in scopes.around(index):
        if block.kind is BlockKind.LAMBDA:
            variable = initialised_by(file, block)
            return tokens[variable].text.decode("latin-1") if variable >= 0 else ""
        if block.kind is BlockKind.FUNCTION:
            name = scopes.previous(block.params) if block.params >= 0 else -1
            return tokens[name].text.decode("latin-1") if name >= 0 else ""
    return ""


def initialised_by(file: File, block: Block) -> int:
    """The index of the name in ``auto name = [] {...}();``, whose lambda has its body at ``block``; -1 for others."""
    tokens, scopes = file.view.tokens, file.scopes
    behind = block.close + 1
    if [t.text for t in tokens[behind : behind + 3]] != [b"(", b")", b";"]:
        return -1
    start = statement_start(scopes, block.open)
    for i in range(start, block.open):
        if tokens[i].text == b"=" and tokens[i + 1].text == b"[" and tokens[i - 1].kind is Kind.NAME:
            return i - 1
    return -1


def statement_end(file: File, index: int) -> int:
    """The index of the ; that ends the statement at ``index``, -1 when there is none."""
    tokens, pair = file.view.tokens, file.scopes.pair
    i = index
    while i < len(tokens):
        text = tokens[i].text
        if tokens[i].directive and not tokens[index].directive:
            i += 1
            continue
        if text == b";":
            return i
        if text in (b"(", b"[", b"{") and tokens[i].kind is Kind.PUNCT:
            if i not in pair:
                return -1
            i = pair[i]
        elif text in (b")", b"]", b"}") and tokens[i].kind is Kind.PUNCT:
            return -1
        i += 1
    return -1


def _template_head(file: File, using: int) -> tuple[int, str]:
    """Where the declaration at ``using`` starts, and the type parameter when it is ``template <typename X> using``."""
    tokens = file.view.tokens
    if using < 5 or tokens[using - 1].text != b">":
        return using, ""
    for i in range(using - 1, max(-1, using - 60), -1):
        if tokens[i].text == b"template" and match_angle(tokens, i + 1) == using - 1:
            single = using - 1 - (i + 1) == 3 and tokens[i + 2].text in (b"typename", b"class")
            return i, tokens[i + 3].text.decode("latin-1") if single else "?"
    return using, "?"


def _is_name(file: File, first: int, last: int) -> bool:
    tokens = file.view.tokens
    return all(t.kind is Kind.NAME or t.text == b"::" for t in tokens[first : last + 1])


def _same(file: File, a: tuple[int, int], b: tuple[int, int]) -> bool:
    tokens = file.view.tokens
    return [t.text for t in tokens[a[0] : a[1] + 1]] == [t.text for t in tokens[b[0] : b[1] + 1]]


def named_at(file: File, name: str, where: Function[[int], bool] = lambda i: True) -> Iterator[int]:
    """The indexes of the tokens that are ``name``, no member and not inside another qualified name's front."""
    tokens, wanted = file.view.tokens, name.encode("latin-1")
    for i, token in enumerate(tokens):
        if token.text == wanted and token.kind is Kind.NAME and where(i):
            if i and tokens[i - 1].text in (b".", b"->"):
                continue
            yield i


def type_start(file: File, i: int) -> int:
    """The index of the first token of the (qualified) type name whose last part is at ``i``."""
    tokens = file.view.tokens
    if i >= 2 and tokens[i - 1].text == b"::" and tokens[i - 2].text == b"std":
        return std_start(tokens, i)
    while i >= 2 and tokens[i - 1].text == b"::" and tokens[i - 2].kind is Kind.NAME:
        i -= 2
    return i - 1 if i >= 1 and tokens[i - 1].text == b"::" else i
