"""What is done with a map and with the names that stand for it, and why that may keep it from becoming a sorted array.

Allowed is what a read-only table can do: find, size, empty, count, contains, end, and passing it on. Everything else
is a problem that names its reason; what nobody thought of is one as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.scan import Bound, File, Table, initialised_by, named_at, statement_end
from torchless.rewrites.scopes import Block, BlockKind, statement_start
from torchless.text.lexer import Kind

STORED, CHANGED, ORDER, ROWS, SIGNATURE, KEY, UNKNOWN = (
    "TL520", "TL521", "TL522", "TL523", "TL524", "TL525", "TL526",
)  # fmt: skip

_READS = frozenset({b"find", b"size", b"empty", b"count", b"contains", b"end"})
_CHANGES = frozenset(
    {
        *(b"insert", b"emplace", b"try_emplace", b"insert_or_assign", b"emplace_hint", b"erase", b"clear", b"swap"),
        *(b"merge", b"extract", b"reserve", b"rehash"),
    }
)
_WALKS = frozenset({b"begin", b"cbegin", b"rbegin", b"lower_bound", b"upper_bound", b"equal_range", b"bucket"})
_STEPS = frozenset({b"next", b"prev", b"advance", b"distance"})
_MEMBER_TYPES = frozenset({b"value_type", b"const_iterator"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a map, or what it holds, has to stay: the code of the finding, its text, and the place in bytes."""

    code: str
    message: str
    path: str
    start: int
    end: int


def problem(file: File, code: str, message: str, index: int, last: int = -1) -> Problem:
    """The problem with the tokens index..last (default: that one token)."""
    tokens = file.view.tokens
    return Problem(code, message, file.path, tokens[index].start, tokens[max(index, last)].end)


def bindings(
    file: File, spelled: Sequence[tuple[int, int]], tables: Sequence[Table]
) -> tuple[list[Bound], list[Problem]]:
    """The names that stand for the map whose type is ``spelled`` at these token ranges, and what else it is used for.

    ``tables`` are those of the file: the places where it is filled.
    """
    bound: list[Bound] = []
    problems: list[Problem] = []
    filled = {table.type_first: table for table in tables}
    for first, last in spelled:
        table = filled.get(first)
        if table is not None:
            found = _of_table(file, table)
            if isinstance(found, Problem):
                problems.append(found)
            elif found is not None:
                bound.append(found)
            continue
        second = any(t.first < first < t.last and t.type_first != first for t in tables)
        if second and file.view.tokens[last + 1].text == b"{":
            continue  # the M of ``M name = M{...};``
        one = _bound_by(file, first, last)
        if isinstance(one, Problem):
            problems.append(one)
        elif one is not None:
            bound.append(one)
    return bound, problems


def _of_table(file: File, table: Table) -> Bound | Problem | None:
    tokens, scopes = file.view.tokens, file.scopes
    if table.name:
        name = next(i for i in range(table.type_last + 1, table.last) if tokens[i].text == table.name.encode())
        words = {tokens[i].text for i in range(table.first, name)}
        first, last = scope_of(file, name)
        internal = b"static" in words or scopes.function_of(name) is not None or _in_unnamed(file, name)
        constant = bool(words & {b"const", b"constexpr"})
        return Bound(file.path, table.name, name, first, last, False, internal, constant)
    for block in scopes.around(table.first):
        if block.kind is BlockKind.LAMBDA:
            name = initialised_by(file, block)
            if name < 0:
                return problem(file, UNKNOWN, "the lambda that makes the table is not called at once", table.first)
            first, last = scope_of(file, name)
            start = statement_start(scopes, name)
            constant = any(tokens[i].text in (b"const", b"constexpr") for i in range(start, name))
            internal = scopes.function_of(name) is not None
            return Bound(file.path, tokens[name].text.decode("latin-1"), name, first, last, False, internal, constant)
        if block.kind is BlockKind.FUNCTION:
            return None  # the function's own return type tells
    return problem(file, UNKNOWN, "the table is returned outside of any function", table.first)


def _bound_by(file: File, first: int, last: int) -> Bound | Problem | None:
    """What a map type at tokens first..last, which fills no table, declares."""
    tokens, scopes = file.view.tokens, file.scopes
    before = scopes.previous(first)
    start = statement_start(scopes, first)
    constant = any(tokens[i].text in (b"const", b"constexpr") for i in range(start, first))
    i = last + 1
    while tokens[i].text == b"const":
        constant = True
        i += 1
    if tokens[i].text == b"::" and tokens[i + 1].text in _MEMBER_TYPES:
        return None
    if tokens[i].text in (b"&", b"&&"):
        if not constant:
            return problem(file, CHANGED, "a reference to the map that is not const may change it", first, i)
        i += 1
        if tokens[i].text in (b",", b")"):
            return None  # a parameter without a name
        if before >= 0 and tokens[before].text in (b"->", b"const") and tokens[i].text == b"{":
            return None  # the return type of a lambda
        if tokens[i].kind is not Kind.NAME:
            return problem(file, UNKNOWN, "a reference to the map is used in a way that is not known", first, i)
        if tokens[i + 1].text in (b"=", b"{", b",", b")"):
            return Bound(file.path, _text(file, i), i, *scope_of(file, i))
    if tokens[i].kind is Kind.NAME:
        if tokens[i + 1].text == b"(":
            return _function(file, i, start)
        if tokens[i + 1].text in (b",", b")"):
            return Bound(file.path, _text(file, i), i, *scope_of(file, i))
        if tokens[i + 1].text in (b";", b"{"):
            return problem(file, CHANGED, f"{_text(file, i)} is filled by statements, not where it is made", first, i)
        if tokens[i + 1].text == b"=":
            return problem(file, UNKNOWN, f"{_text(file, i)} is filled in a way that is not known", first, i)
    return problem(file, UNKNOWN, "the map's type is used in a way that is not known", first, last)


def _function(file: File, name: int, start: int) -> Bound | Problem:
    tokens, scopes = file.view.tokens, file.scopes
    if scopes.function_of(name) is not None:
        text = f"{_text(file, name)} is filled from something that is no list of rows"
        return problem(file, UNKNOWN, text, name)
    internal = any(tokens[i].text == b"static" for i in range(start, name)) or _in_unnamed(file, name)
    around = scopes.at(name)
    first, last = (around.open, around.close) if internal and around is not None else (0, len(tokens) - 1)
    return Bound(file.path, _text(file, name), name, first, last, True, internal)


def scope_of(file: File, name: int) -> tuple[int, int]:
    """The token range in which the variable or parameter whose name is at ``name`` is visible."""
    scopes, tokens = file.scopes, file.view.tokens
    opener = scopes.enclosing(name)
    if opener >= 0 and tokens[opener].text == b"(":
        close = scopes.pair.get(opener, -1)
        for block in scopes.blocks:
            if block.params == opener and block.close > 0:
                return block.open, block.close
        return name, max(close, name)
    around = scopes.at(name)
    return name, around.close if around is not None and around.close > 0 else len(tokens) - 1


@dataclass(frozen=True, slots=True)
class Family:
    """What belongs together where uses are looked at.

    ``ordered``: the map is a std::map, whose rows already come in the order of their keys. ``functions`` are the names
    of functions that give such a map, ``passing`` of those that take one, ``variables`` of what holds one.
    """

    ordered: bool
    functions: frozenset[str]
    passing: frozenset[str]
    variables: frozenset[str]


def use_problems(file: File, bound: Bound, family: Family) -> tuple[list[Problem], list[Bound]]:
    """What keeps the map called ``bound`` from becoming a table by its uses in ``file``, and further names for it."""
    out: list[Problem] = []
    further: list[Bound] = []
    tokens = file.view.tokens
    here = bound.path == file.path
    for i in named_at(file, bound.name):
        if here and (i == bound.at or not bound.scope_first <= i <= bound.scope_last):
            continue
        end = i
        if bound.is_function:
            if tokens[i + 1].text != b"(":
                out.append(problem(file, UNKNOWN, f"the address of {bound.name} is taken", i))
                continue
            end = file.scopes.pair.get(i + 1, i)
            if _declares(file, i):
                continue
        found = _use(file, i, end, bound.name, family)
        if isinstance(found, Problem):
            out.append(found)
        elif found is not None:
            further.append(found)
    return out, further


def _use(file: File, i: int, end: int, name: str, family: Family) -> Problem | Bound | None:
    """What one use, the expression at tokens i..end that gives the map, amounts to; None when it is harmless."""
    tokens, scopes = file.view.tokens, file.scopes
    after = tokens[end + 1].text
    before = tokens[scopes.previous(i)].text if scopes.previous(i) >= 0 else b""
    if after in (b".", b"->"):
        member = tokens[end + 2].text
        called = member.decode("latin-1")
        if member in _READS:
            return _iterator_problem(file, i, end, family.ordered) if member == b"find" else None
        if member in _CHANGES:
            return problem(file, CHANGED, f"{name} is changed by {called}()", i, end + 2)
        if member in _WALKS:
            if family.ordered and member == b"begin":
                return None
            return problem(file, ORDER, f"{called}() shows in which order {name} holds its rows", i, end + 2)
        return problem(file, UNKNOWN, f"a table has no {called}()", i, end + 2)
    if after == b"[":
        return problem(file, CHANGED, f"{name}[...] adds a row where there is none", i, end + 1)
    if before == b":" and after == b")":
        if family.ordered:
            return None
        return problem(file, ORDER, f"a loop goes over {name} in the order in which the hash holds its rows", i)
    if after == b"=":
        return problem(file, CHANGED, f"{name} is assigned to", i)
    if before == b"return" and after == b";":
        return None if _returns_known(file, i, family) else problem(file, UNKNOWN, f"{name} is handed on", i)
    if (before == b"=" and after == b";") or (before in (b"(", b",") and after in (b")", b",")):
        return _passed(file, i, name, family)
    return problem(file, UNKNOWN, f"{name} is used in a way that is not known", i, end)


def _returns_known(file: File, i: int, family: Family) -> bool:
    """Whether what the function or lambda around ``i`` returns is looked at: its callers, or what it initialises."""
    tokens, scopes = file.view.tokens, file.scopes
    for block in scopes.around(i):
        if block.kind is BlockKind.LAMBDA:
            name = initialised_by(file, block)
            return name >= 0 and _text(file, name) in family.variables
        if block.kind is BlockKind.FUNCTION and block.params >= 0:
            return tokens[scopes.previous(block.params)].text.decode("latin-1") in family.functions
    return False


def _passed(file: File, i: int, name: str, family: Family) -> Problem | Bound | None:
    """The problem with a map that is an argument, or the name that it gets in a variable."""
    tokens, scopes = file.view.tokens, file.scopes
    opener = scopes.enclosing(i)
    if opener > 0 and tokens[opener].text == b"(":
        callee = tokens[scopes.previous(opener)].text.decode("latin-1")
        if callee in family.passing:
            return None
        return problem(file, UNKNOWN, f"{name} is passed to {callee}()", i)
    start = statement_start(scopes, i)
    variable = scopes.previous(scopes.previous(i))
    if tokens[variable].kind is not Kind.NAME or not any(t.text == b"auto" for t in tokens[start:variable]):
        known = tokens[variable].text.decode("latin-1") in family.variables
        return None if known else problem(file, UNKNOWN, f"{name} is assigned to something", i)
    if tokens[variable - 1].text == b"&" and not any(t.text == b"const" for t in tokens[start:variable]):
        return problem(file, UNKNOWN, f"a reference that is not const is bound to {name}", i)
    return Bound(file.path, _text(file, variable), variable, *scope_of(file, variable))


def _iterator_problem(file: File, i: int, end: int, ordered: bool) -> Problem | None:
    """Whether the iterator that a find() gives is stepped or written through, where it is given a name."""
    tokens, scopes = file.view.tokens, file.scopes
    before = scopes.previous(i)
    if before < 1 or tokens[before].text != b"=" or tokens[before - 1].kind is not Kind.NAME:
        return _written(file, scopes.pair.get(end + 3, end), "a row")
    iterator = tokens[before - 1].text
    first, last = scope_of(file, before - 1)
    for k in range(first, last):
        if tokens[k].text != iterator or tokens[k - 1].text in (b".", b"->", b"::"):
            continue
        stepped = tokens[k + 1].text in (b"++", b"--", b"+=", b"-=") or tokens[k - 1].text in (b"++", b"--")
        called = tokens[k - 1].text in (b"(", b",") and tokens[k - 2].text in _STEPS
        if (stepped or called) and not ordered:
            return problem(file, ORDER, f"{iterator.decode('latin-1')} steps over the rows in the map's order", k)
        found = _written(file, k, iterator.decode("latin-1"))
        if found is not None:
            return found
    return None


def _written(file: File, k: int, name: str) -> Problem | None:
    tokens = file.view.tokens
    if [t.text for t in tokens[k + 1 : k + 4]] == [b"->", b"second", b"="]:
        return problem(file, CHANGED, f"{name} is written through an iterator", k, k + 3)
    return None


def _declares(file: File, i: int) -> bool:
    """Whether the function's name at ``i`` is declared or defined here rather than called."""
    tokens, scopes = file.view.tokens, file.scopes
    if scopes.function_of(i) is not None:
        return False
    before = scopes.previous(i)
    return before >= 0 and (tokens[before].kind is Kind.NAME or tokens[before].text in (b"&", b"*", b">", b"::"))


def returned(file: File, block: Block) -> Iterator[tuple[int, int]]:
    """The expressions first..last that the function or lambda with its body at ``block`` returns, lambdas left out."""
    tokens, scopes = file.view.tokens, file.scopes
    for i in range(block.open + 1, block.close):
        if tokens[i].text == b"return" and not tokens[i].directive:
            inner = next(b for b in scopes.around(i) if b.kind in (BlockKind.LAMBDA, BlockKind.FUNCTION))
            end = statement_end(file, i)
            if inner.open == block.open and end > i + 1:
                yield i + 1, end - 1


def _in_unnamed(file: File, index: int) -> bool:
    tokens = file.view.tokens
    return any(
        b.kind is BlockKind.NAMESPACE and tokens[b.open - 1].text == b"namespace" for b in file.scopes.around(index)
    )


def _text(file: File, index: int) -> str:
    return file.view.tokens[index].text.decode("latin-1")
