"""Rows that a Python script prints: what a string puts into a row, and which Python value its key is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchless.rewrites.dispatch_tables.pytext import HOLE, Script, Text, template
from torchless.rewrites.dispatch_tables.spelling import split
from torchless.text.lexer import Kind, Token, match_forward

Writer = ast.Expr | ast.AugAssign


@dataclass(frozen=True)
class RowText:
    """A string that is a row, ``{KEY, VALUE},``.

    ``key``: the Python expression whose order is that of the key in C++. ``parts``: how many fields the key has, 0 when
    that is not known (a whole tuple is printed). ``is_text``: a single key that is a text. ``function`` is the name of
    the function in the value, holes included.
    """

    key: str
    parts: int
    is_text: bool
    function: str


@dataclass(frozen=True)
class Emission:
    """A statement that prints a row: ``f.write(ROW)``, ``out.append(ROW)`` or ``text += ROW``."""

    statement: Writer
    value: ast.expr
    row: RowText


def written(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """Where a statement writes to (as text: ``f.write``, ``out.append``, ``header +=``) and what; None for others."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return f"{ast.unparse(statement.target)} +=", statement.value
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        method = isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "append")
        if method and len(call.args) == 1 and not call.keywords:
            return ast.unparse(call.func), call.args[0]
    return None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement below ``body`` in the order of the text, those of functions within left out."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def is_row(script: Script, value: ast.expr, bound: Mapping[str, Text]) -> bool:
    """Whether ``value`` prints something in braces and nothing else, as a row is."""
    text, _ = text_of(script, value, bound)
    return text is not None and _closed(text.tokens) > 0


def _closed(tokens: list[Token]) -> int:
    """The index of the brace that closes the first of ``tokens``, when nothing but a comma follows it; or -1."""
    if not tokens or tokens[0].text != b"{":
        return -1
    close = match_forward(tokens, 0)
    return -1 if any(t.text not in (b",", b"\\") for t in tokens[close + 1 :]) else close


def row_of(script: Script, value: ast.expr, bound: Mapping[str, Text]) -> RowText | None:
    """The row that ``value`` prints, None when it prints none. ``bound`` are parameters whose text is known."""
    text, arguments = text_of(script, value, bound)
    if text is None:
        return None
    tokens = text.tokens
    close = _closed(tokens)
    if close < 0:
        return None
    parts = split(tokens, 1, close - 1)
    if len(parts) != 2:
        return None
    (a, b), (c, d) = parts
    function = _function(tokens[c : d + 1])
    found = _key(script, value, tokens[a : b + 1], arguments)
    return RowText(*found, function) if found is not None and function else None


def text_of(script: Script, value: ast.expr, bound: Mapping[str, Text]) -> tuple[Text | None, Mapping[str, ast.expr]]:
    """The C++ that ``value`` prints, and what is put into each hole of it."""
    if isinstance(value, ast.JoinedStr):
        text = script.joined(value)
        formatted = [part for part in value.values if isinstance(part, ast.FormattedValue)]
        return text, {name: part.value for name, part in zip(text.holes, formatted, strict=True)}
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "format":
        base = value.func.value
        known = bound.get(base.id) if isinstance(base, ast.Name) else None
        if known is not None and not known.is_template:
            known = template(known.code, known.node)
        constant = base if isinstance(base, ast.Constant) else assigned_to(script, base)
        if known is None and isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            known = template(constant.value, constant)
        if known is None or value.args:
            return None, {}
        given = {keyword.arg: keyword.value for keyword in value.keywords if keyword.arg}
        return known, {name: given[field] for name, field in known.holes.items() if field in given}
    if isinstance(value, ast.Name):
        assigned = assigned_to(script, value)
        if assigned is not None and not isinstance(assigned, ast.Name):
            return text_of(script, assigned, bound)
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return Text(value.value, {}, False, value), {}
    return None, {}


def assigned_to(script: Script, name: ast.expr) -> ast.expr | None:
    """What the variable ``name`` holds where it stands: its last assignment before, in the blocks around; or None.

    An assignment within a statement on the way, which may or may not be made, leaves it unknown.
    """
    if not isinstance(name, ast.Name):
        return None
    inner: ast.AST = name
    while inner is not script.tree:
        outer = script.parents[inner]
        block = next((b for b in blocks(outer) if any(s is inner for s in b)), [])
        before = block[: next((k for k, s in enumerate(block) if s is inner), 0)]
        for statement in reversed(before):
            if isinstance(statement, ast.Assign) and _assigns_to(statement, name.id):
                return statement.value
            if any(_assigns_to(nested, name.id) for nested in ast.walk(statement)):
                return None
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = (*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs)
            if any(a.arg == name.id for a in arguments):
                return None
            assigned = [s for s in script.tree.body if isinstance(s, ast.Assign) and _assigns_to(s, name.id)]
            local = any(_assigns_to(nested, name.id) for nested in ast.walk(outer))
            if not local and len(assigned) == 1:
                return assigned[0].value
        inner = outer
    return None


def blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements right below ``node``."""
    return [block for key in ("body", "orelse", "finalbody") if isinstance(block := getattr(node, key, None), list)]


def _assigns_to(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For | ast.NamedExpr):
        targets = [node.target]
    return any(isinstance(t, ast.Name) and t.id == name for target in targets for t in ast.walk(target))


def _function(tokens: list[Token]) -> str:
    """The name of the function that a row's value gives, "" when it gives anything else."""
    if tokens and tokens[0].text == b"&":
        tokens = tokens[1:]
    names = [t.text.decode("latin-1") for t in tokens]
    k = 0
    while k + 2 < len(names) and names[k + 1] == "::":
        k += 2
    plain = k < len(tokens) and tokens[k].kind is Kind.NAME
    templated = len(names) > k + 1 and names[k + 1] == "<" and names[-1] == ">"
    return names[k] if plain and (len(names) == k + 1 or templated) else ""


def _key(
    script: Script, value: ast.expr, tokens: list[Token], arguments: Mapping[str, ast.expr]
) -> tuple[str, int, bool] | None:
    """(key expression, number of fields, whether it is a single text) of the key spelled by ``tokens``."""
    if tokens[0].text == b"{" and tokens[-1].text == b"}":
        parts = [_part(tokens[a : b + 1], arguments) for a, b in split(tokens, 1, len(tokens) - 2)]
        known = [ast.unparse(part) for part in parts if part is not None]
        if len(known) != len(parts) or not parts:
            return None
        return f"({', '.join(known)}{',' if len(known) == 1 else ''})", len(known), False
    part = _part(tokens, arguments)
    if part is None:
        return None
    if tokens[0].kind is Kind.STRING:
        return ast.unparse(part), 1, True
    printed = assigned_to(script, part) or part
    whole = printed_tuple(printed)
    if whole:
        return whole, 0, False
    simple = isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
    return (ast.unparse(part), 1, False) if simple and printed is part else None


def _part(tokens: list[Token], arguments: Mapping[str, ast.expr]) -> ast.expr | None:
    """The Python value of one field: a hole, or a text that is a hole and nothing else."""
    if len(tokens) != 1:
        return None
    name = tokens[0].text.decode("latin-1")
    if tokens[0].kind is Kind.STRING and name.startswith('"') and name.endswith('"'):
        name = name[1:-1]
    return arguments.get(name) if name.startswith(HOLE) else None


def printed_tuple(value: ast.expr) -> str:
    """The tuple that ``value`` prints as ``{a, b, c}``, all of it in order, its first element quoted or not; or ""."""
    parts = _pieces(value)
    if len(parts) == 3 and parts[0] == "{" and parts[2] == "}":
        return _joined(parts[1], 0)
    if len(parts) == 5 and (parts[0], parts[2], parts[4]) == ('{"', '", ', "}"):
        rest = _joined(parts[3], 1)
        return rest if rest and parts[1] == f"{rest}[0]" else ""
    return ""


def _pieces(value: ast.expr) -> list[str]:
    """The text pieces of a concatenation or an f-string: constants as they are, other values as Python text."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return [*_pieces(value.left), *_pieces(value.right)]
    if isinstance(value, ast.JoinedStr):
        return [piece for part in value.values for piece in _pieces(part)]
    if isinstance(value, ast.FormattedValue):
        return [ast.unparse(value.value)]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [value.value]
    return [ast.unparse(value)]


def _joined(text: str, skipped: int) -> str:
    """The name of the tuple whose elements, from number ``skipped`` on, ``text`` joins by commas; or ""."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join"):
        return ""
    comma = isinstance(node.func.value, ast.Constant) and node.func.value.value in (", ", ",")
    source = _as_text(node.args[0]) if comma and len(node.args) == 1 else None
    if isinstance(source, ast.Call) and ast.unparse(source.func) in ("list", "tuple") and len(source.args) == 1:
        source = source.args[0]
    if skipped and isinstance(source, ast.Subscript) and ast.unparse(source.slice) == f"{skipped}:":
        source = source.value
    elif skipped:
        return ""
    return source.id if isinstance(source, ast.Name) else ""


def _as_text(node: ast.expr) -> ast.expr | None:
    """What ``node`` goes over when it gives str(x) for each x of it, else None."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
        each = node.generators[0]
        shown = isinstance(each.target, ast.Name) and ast.unparse(node.elt) == f"str({each.target.id})"
        return each.iter if shown and not each.ifs else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "map" and len(node.args) == 2:
        how = node.args[0]
        shown = isinstance(how, ast.Lambda) and len(how.args.args) == 1
        same = shown and ast.unparse(how.body) == f"str({how.args.args[0].arg})"  # type: ignore[attr-defined]
        return node.args[1] if same or ast.unparse(how) == "str" else None
    return None
