"""What a std::function of a family holds: only names of functions may become pointers, and of the very type.

A std::function can be empty, can hold state, and takes anything that can be called with its arguments. What cannot be
seen to hold the name of a function is a problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.declared import signatures
from torchless.rewrites.dispatch_tables.families import Family, given_out, occurrences
from torchless.rewrites.dispatch_tables.printers import Printer, Scripts
from torchless.rewrites.dispatch_tables.pytext import HOLE
from torchless.rewrites.dispatch_tables.rows import Row, stored
from torchless.rewrites.dispatch_tables.scan import File, Table, statement_end, type_start
from torchless.rewrites.dispatch_tables.uses import SIGNATURE, STORED, UNKNOWN, Problem, problem, returned
from torchless.rewrites.scopes import BlockKind
from torchless.text.lexer import Kind, match_angle

Names = dict[str, tuple[str, int, int]]
"""The name of a function (with holes, where it is printed) -> path, start and end of one place that stores it."""


def row_names(code: Codebase, table: Table, rows: Sequence[Row], printers: Sequence[Printer], names: Names) -> None:
    """Add the functions in the rows of ``table`` to ``names``."""
    file = code.file(table.path)
    tokens = file.view.tokens
    for row in rows:
        name = _named(file, row.value_first, row.value_last)
        if name:
            names.setdefault(name, (file.path, tokens[row.value_first].start, tokens[row.value_last].end))
    place = (file.path, tokens[table.first].start, tokens[table.last].end)
    for printer in printers:
        for emission in printer.emissions:
            names.setdefault(emission.row.function, place)


def _named(file: File, first: int, last: int) -> str:
    """The function that tokens first..last name, "" for a lambda."""
    tokens = file.view.tokens
    i = first + 1 if tokens[first].text == b"&" else first
    if tokens[i].text == b"::":
        i += 1
    while i + 2 <= last and tokens[i].kind is Kind.NAME and tokens[i + 1].text == b"::":
        i += 2
    return tokens[i].text.decode("latin-1") if tokens[i].kind is Kind.NAME else ""


def held(code: Codebase, scripts: Scripts, family: Family, names: Names) -> Iterator[Problem]:
    """Where a std::function of the family may hold more than a function; those that are given out join ``names``."""
    yield from _printed(code, scripts, family)
    spelled = occurrences(code, family)
    for path, i in given_out(code, family):
        file = code.file(path)
        tokens, scopes = file.view.tokens, file.scopes
        before = tokens[type_start(file, i) - 1].text
        after, behind = tokens[i + 1], tokens[i + 2].text
        if after.kind is Kind.NAME and behind == b"<" and scopes.function_of(i) is None:
            close = match_angle(tokens, i + 2)  # template F f<int>(int);
            behind = tokens[close + 1].text if close > 0 else behind
        if tokens[i].directive:
            yield problem(file, UNKNOWN, "a macro names the function type", i)
        elif before in (b"<", b",") and after.text in (b">", b","):
            in_map = _in_map(family, path, i) or any(a <= i <= b for a, b in spelled.get(path, ()))
            if not in_map and not any(a.path == path and a.decl <= i <= a.end for a in family.derived):
                yield problem(file, STORED, "the function type is an argument of another template", i)
        elif after.kind is Kind.NAME and behind == b"(" and scopes.function_of(i) is None:
            yield from _from_function(file, i, names)
        elif after.kind is Kind.NAME and behind in (b"=", b"{") and scopes.function_of(i) is not None:
            end = statement_end(file, i)
            found = _kept(file, i + 3, (end if behind == b"=" else scopes.pair.get(i + 2, end)) - 1, names)
            if found is not None:
                yield found
        elif not (_is_parameter(file, i) or (after.text == b"{" and before == b"->")):
            text = "the function type is used in a way that is not known: it may be empty, or hold state"
            yield problem(file, STORED, text, i)


def _in_map(family: Family, path: str, i: int) -> bool:
    return any(m.path == path and m.map.first <= i <= m.map.last for m in family.maps)


def _is_parameter(file: File, i: int) -> bool:
    """Whether the type named at ``i`` is that of a parameter, by value or by reference to const."""
    tokens, scopes = file.view.tokens, file.scopes
    opener = scopes.enclosing(i)
    if opener <= 0 or tokens[opener].text != b"(":
        return False
    declares = tokens[opener - 1].kind is Kind.NAME and scopes.function_of(opener) is None
    return declares and tokens[i + 1].text not in (b"*",)


def _from_function(file: File, result: int, names: Names) -> Iterator[Problem]:
    """What the function returns whose return type is at ``result``, where it has its body here."""
    tokens, scopes = file.view.tokens, file.scopes
    opener = next(i for i in range(result, len(tokens)) if tokens[i].text == b"(")
    for block in scopes.blocks:
        if block.kind is BlockKind.FUNCTION and block.params == opener:
            for first, last in returned(file, block):
                found = _kept(file, first, last, names)
                if found is not None:
                    yield found


def _kept(file: File, first: int, last: int, names: Names) -> Problem | None:
    """The problem with a value that becomes a std::function; a function that it names is added to ``names``."""
    tokens, scopes = file.view.tokens, file.scopes
    if first > last:
        return problem(file, STORED, "an empty std::function can be told from a full one", first - 1)
    words = {t.text for t in tokens[first : last + 1]}
    texts = [t.text for t in tokens[first : last + 1]]
    if tokens[first].text == b"{" or texts == [b"nullptr"]:
        return problem(file, STORED, "an empty std::function throws when it is called, a null pointer does not", first)
    if b"?" in words:
        return None if b"[" not in words else problem(file, STORED, "a lambda is chosen here", first, last)
    if texts[-2:] == [b"->", b"second"] or texts[-2:] == [b".", b"second"]:
        return None
    if tokens[last].text == b")" and scopes.pair.get(last, -1) > first and tokens[first].text != b"[":
        if b"bind" in words or b"mem_fn" in words:
            return problem(file, STORED, "the result of std::bind is stored: it holds state", first, last)
        return None  # a call: what it gives must fit, which the compiler checks
    if len(texts) == 1 and tokens[first].kind is Kind.NAME and _is_local(file, first):
        return None
    trouble = stored(file, first, last)
    if trouble is None:
        name = _named(file, first, last)
        if name:
            names.setdefault(name, (file.path, tokens[first].start, tokens[last].end))
    return trouble


def _is_local(file: File, i: int) -> bool:
    """Whether the name at ``i`` is a variable or parameter of the function around it."""
    tokens, scopes = file.view.tokens, file.scopes
    block = scopes.function_of(i)
    if block is None:
        return False
    start = block.params if block.params >= 0 else block.open
    return any(
        tokens[k].text == tokens[i].text and tokens[k + 1].text in (b"=", b",", b")", b"{", b";")
        for k in range(start, i)
        if tokens[k - 1].kind is Kind.NAME or tokens[k - 1].text in (b"&", b"*", b">")
    )


def other_signatures(
    code: Codebase, scripts: Scripts, family: Family, names: Names, opened: Sequence[str]
) -> Iterator[Problem]:
    """Functions that are stored and not seen to be declared with the very type of the std::function.

    ``opened`` are the scripts that print the family's rows.
    """
    wanted = {f.callable.signature for f in family.functions if f.callable.is_function}
    paths = sorted({family.functions[0].path, *(path for path, _, _ in names.values())})
    files = frozenset[str]().union(*(code.seen_with(path) for path in paths))
    generators = list(dict.fromkeys([*opened, *(g for path in paths for g in code.generators(path))]))
    if not names and not family.maps:
        names = _printed_names(code, family, generators)
    expected = ", ".join(sorted(map(str, wanted)))
    for name, (path, start, end) in sorted(names.items()):
        found = signatures(code, scripts, name, files, generators)
        shown = name.split(HOLE)[0] or "what is printed"
        if not found:
            text = f"it is not seen how {shown} is declared: a pointer must have its very type"
            yield Problem(SIGNATURE, text, path, start, end)
        for signature in sorted(found - wanted, key=str):
            text = f"{shown} is declared as {signature}, which std::function<{expected}> takes and a pointer does not"
            yield Problem(SIGNATURE, text, path, start, end)


def _printed(code: Codebase, scripts: Scripts, family: Family) -> Iterator[Problem]:
    """Lambdas with captures and bound functions that printed code returns where it gives the function type out."""
    for function in family.functions:
        name = function.alias.name.encode("latin-1") if function.alias else b""
        for path in code.generators(function.path) if name else ():
            script = scripts(path)
            if script.failure or name not in script.source.data:
                continue
            for text in script.strings:
                tokens = text.tokens
                if not any(t.text == name for t in tokens):
                    continue
                for i in range(len(tokens) - 3):
                    captures = tokens[i + 1].text == b"[" and tokens[i + 2].text != b"]"
                    binds = b"bind" in (tokens[i + 1].text, tokens[i + 3].text)
                    if tokens[i].text == b"return" and (captures or binds):
                        yield Problem(
                            STORED, "printed code returns a callable with state", path, *script.span(text.node)
                        )


def _printed_names(code: Codebase, family: Family, generators: Sequence[str]) -> Names:
    """A stand-in for functions that only printed code stores: those whose whole name is a hole."""
    function = family.functions[0]
    name = function.alias.name if function.alias else ""
    tokens = code.file(function.path).view.tokens
    for path in generators:
        if name and name.encode() in code.read(path):
            start, end = tokens[function.callable.first].start, tokens[function.callable.last].end
            return {f"{HOLE}0": (function.path, start, end)}
    return {}
