"""Everything about one family: its tables and rows, the names that stand for it, and what stands in the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.families import Family, occurrences
from torchless.rewrites.dispatch_tables.held import Names, held, other_signatures, row_names
from torchless.rewrites.dispatch_tables.keys import Key, key_of
from torchless.rewrites.dispatch_tables.layout import Layout
from torchless.rewrites.dispatch_tables.printers import Printer, Scripts, Unprintable, printers
from torchless.rewrites.dispatch_tables.rows import Macro, Row, macro_of, rows_of
from torchless.rewrites.dispatch_tables.scan import Bound, Table, tables
from torchless.rewrites.dispatch_tables.uses import (
    ROWS,
    STORED,
    UNKNOWN,
    Problem,
    bindings,
    problem,
    use_problems,
)
from torchless.rewrites.dispatch_tables.uses import Family as Ties
from torchless.text.lexer import Kind


@dataclass(frozen=True)
class Filled:
    """A table with what fills it: rows that are written out, or a macro and how it is printed."""

    table: Table
    rows: tuple[Row, ...] = ()
    macro: Macro | None = None
    printers: tuple[Printer, ...] = ()


@dataclass(frozen=True)
class Study:
    """What was found out about ``family``.

    ``spelled`` are the places of its map types by path, see occurrences(). ``map_problems`` keep the map from becoming
    an array, ``function_problems`` keep std::function from becoming a pointer (and with it the map). ``key`` is None
    where there is no map, or none that can be ordered.
    """

    family: Family
    spelled: dict[str, list[tuple[int, int]]]
    key: Key | None
    filled: tuple[Filled, ...]
    bound: tuple[Bound, ...]
    map_problems: tuple[Problem, ...]
    function_problems: tuple[Problem, ...]

    @property
    def has_functions(self) -> bool:
        """Whether std::function is among the types, rather than pointers only."""
        return any(f.callable.is_function for f in self.family.functions)


def study(code: Codebase, scripts: Scripts, family: Family, layout: Layout) -> Study:
    """Look at every place where the family's types and maps are used."""
    spelled = occurrences(code, family)
    map_problems: list[Problem] = []
    first = family.maps[0] if family.maps else None
    for text in family.ties:
        assert first is not None
        map_problems.append(problem(code.file(first.path), UNKNOWN, text, first.map.first, first.map.last))
    key = _key(code, family, map_problems)
    found: list[Table] = []
    bound: list[Bound] = []
    for path, places in spelled.items():
        file = code.file(path)
        for a, _ in places:
            if file.view.tokens[a].directive:
                map_problems.append(problem(file, UNKNOWN, "a macro names the map's type", a))
        places = [p for p in places if not file.view.tokens[p[0]].directive]
        here = list(tables(file, iter(places)))
        names, problems = bindings(file, places, here)
        found += here
        bound += names
        map_problems += problems
    map_problems += _uses(code, family, bound, spelled)
    filled: list[Filled] = []
    for table in found:
        what = _fill(code, scripts, table, key, layout)
        if isinstance(what, Problem):
            map_problems.append(what)
        else:
            filled.append(what)
    stored: Names = {}
    for one in filled:
        row_names(code, one.table, one.rows, one.printers, stored)
    function_problems = [p for p in map_problems if p.code == STORED]
    map_problems = [p for p in map_problems if p.code != STORED]
    if any(f.callable.is_function for f in family.functions):
        function_problems += held(code, scripts, family, stored)
        if not function_problems:
            opened = [printer.opened_by for one in filled for printer in one.printers]
            function_problems += other_signatures(code, scripts, family, stored, opened)
    return Study(family, spelled, key, tuple(filled), tuple(bound), _once(map_problems), _once(function_problems))


def _once(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(set(problems), key=lambda p: (p.path, p.start, p.end, p.code, p.message)))


def _key(code: Codebase, family: Family, problems: list[Problem]) -> Key | None:
    keys: set[Key] = set()
    for found in family.maps:
        key = key_of(code, found)
        if isinstance(key, Problem):
            problems.append(key)
        else:
            keys.add(key)
    if len(keys) > 1:
        first = family.maps[0]
        text = "maps that are tied together have different keys"
        problems.append(problem(code.file(first.path), UNKNOWN, text, first.map.first, first.map.last))
    return next(iter(keys)) if len(keys) == 1 and not problems else None


def _uses(
    code: Codebase, family: Family, bound: list[Bound], spelled: dict[str, list[tuple[int, int]]]
) -> Iterator[Problem]:
    """The problems with the uses of every name that stands for a map; names found on the way are added to ``bound``."""
    ordered = all(found.map.ordered for found in family.maps)
    known = {(b.path, b.at) for b in bound}
    for one in bound:  # grows
        ties = Ties(
            ordered,
            frozenset(b.name for b in bound if b.is_function),
            frozenset(_taking(code, spelled)),
            frozenset(b.name for b in bound if not b.is_function),
        )
        if not one.is_internal and not one.is_constant:
            text = f"{one.name} is not const, and other translation units may change it"
            yield problem(code.file(one.path), "TL521", text, one.at)
        for path in _reaching(code, one):
            problems, further = use_problems(code.file(path), one, ties)
            yield from problems
            bound += [b for b in further if (b.path, b.at) not in known]
            known |= {(b.path, b.at) for b in further}


def _reaching(code: Codebase, bound: Bound) -> list[str]:
    """The files in which ``bound`` may be used."""
    if bound.is_internal and bound.path not in code.headers:
        return [bound.path]
    files = set(code.users(bound.path, bound.name))
    if not bound.is_internal:
        for module in code.modules_of(bound.path):
            reached = set().union(*(code.closures.get(s, frozenset({s})) for s in module.sources))
            files.update(p for p in reached if bound.name.encode() in code.read(p))
    return sorted(files)


def _taking(code: Codebase, spelled: dict[str, list[tuple[int, int]]]) -> Iterator[str]:
    """The functions with a parameter whose type is one of the spelled map types."""
    for path, places in spelled.items():
        file = code.file(path)
        tokens, scopes = file.view.tokens, file.scopes
        for first, _ in places:
            opener = scopes.enclosing(first)
            if opener > 0 and tokens[opener].text == b"(" and tokens[opener - 1].kind is Kind.NAME:
                yield tokens[opener - 1].text.decode("latin-1")


def _fill(code: Codebase, scripts: Scripts, table: Table, key: Key | None, layout: Layout) -> Filled | Problem:
    """What fills ``table``, or why its rows cannot be known to be in order. Without a ``key`` any rows will do."""
    file = code.file(table.path)
    macro = macro_of(file, table)
    if macro is None:
        if table.first_row > table.last_row:
            return Filled(table)
        rows = rows_of(file, table, key)
        return rows if isinstance(rows, Problem) else Filled(table, tuple(rows))
    for path in code.definers_of_macro(table.path, macro.name):
        return problem(file, ROWS, f"{macro.name} is a macro of {path}, whose rows are not read", macro.first)
    named = list(dict.fromkeys(g for module in code.modules_of(table.path) for g in module.generators))
    ways = printers(code, scripts, named, macro.name, layout)
    if not ways:
        beside = [path for path in code.generators(table.path) if path not in named]
        ways = printers(code, scripts, beside, macro.name, layout)
    if not ways:
        return problem(file, ROWS, f"no script of the checkout is seen to print {macro.name}", macro.first)
    found: list[Printer] = []
    for way in ways:
        if isinstance(way, Unprintable):
            text = f"{way.path} prints {macro.name} in an order that is not known: {way.message}"
            return problem(file, ROWS, text, macro.first)
        if any(_fits(e.row.is_text, e.row.parts, key) for e in way.emissions):
            found.append(way)
    if not found:
        return problem(file, ROWS, f"the rows that are printed for {macro.name} have keys of another kind", macro.first)
    return Filled(table, macro=macro, printers=tuple(found))


def _fits(is_text: bool, parts: int, key: Key | None) -> bool:
    if key is None:
        return True
    if key.kind == "text":
        return is_text
    if key.kind == "number":
        return not is_text and parts == 1
    return not is_text and parts in (0, len(key.fields))
