"""Where a Python generator prints the rows of a table, and the edits that have it print them in the order of C++.

Rows are collected by key instead of being written at once, the first of equal keys stays, and they are written in the
order of their keys: Python orders numbers as numbers, texts by code point (for UTF-8 that is bytewise) and tuples
field by field, as the table does.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torchless.model import Edit
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.layout import Layout
from torchless.rewrites.dispatch_tables.printed import (
    Emission,
    assigned_to,
    blocks,
    is_row,
    row_of,
    statements,
    text_of,
    written,
)
from torchless.rewrites.dispatch_tables.pytext import HOLE, Script, Text, defines
from torchless.text.source import SourceFile

CODE = "TL512"
_HEADER = re.compile(r"[\w./-]+\.(?:h|hpp|cuh|inc)")
_PATH = re.compile(r"[\w-]+(?:/[\w-]+)+")


@dataclass(frozen=True)
class Printer:
    """Where the rows of a macro are printed. ``edits`` put them in order, () where they are already.

    ``braced``: the macro has the braces around its rows. ``parameters`` is its parameter list with the parentheses.
    ``includes`` are the include lines of the header it is printed into. ``at`` is the byte range of the loop, or of the
    first row, for a message. ``header`` is the name of the file that they are printed into, "" where it is not seen.
    ``opened_by`` is the script that holds the text of the macro, which may leave the rows to
    a function of another.
    """

    path: str
    opened_by: str
    at: tuple[int, int]
    emissions: tuple[Emission, ...]
    edits: tuple[Edit, ...]
    braced: bool
    parameters: str
    includes: tuple[str, ...]
    header: str = ""


@dataclass(frozen=True)
class Unprintable:
    """Why it is not known how a script prints the rows: a sentence and the byte range it is about."""

    path: str
    message: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class _Head:
    """The text that opens a table, and the expression by which it is written in ``script``."""

    script: Script
    text: Text
    node: ast.expr
    bound: Mapping[str, Text] = field(default_factory=dict)
    opened_by: str = ""
    header: str = ""


class Scripts:
    """Python files, parsed once; how they print the rows of a macro is looked at once, too."""

    def __init__(self, code: Codebase) -> None:
        self._code = code
        self._known: dict[str, Script] = {}
        self.printers: dict[tuple[str, str], list[Printer | Unprintable]] = {}

    def __call__(self, path: str) -> Script:
        """The script at ``path``."""
        if path not in self._known:
            self._known[path] = Script(SourceFile(path, self._code.read(path)))
        return self._known[path]


def printers(
    code: Codebase, scripts: Scripts, paths: Sequence[str], macro: str, layout: Layout
) -> list[Printer | Unprintable]:
    """How each of the scripts at ``paths`` that define ``macro`` prints its rows."""
    out: list[Printer | Unprintable] = []
    for path in paths:
        if (path, macro) not in scripts.printers:
            scripts.printers[path, macro] = _printers(code, scripts, path, macro, layout)
        out += scripts.printers[path, macro]
    return out


def _printers(code: Codebase, scripts: Scripts, path: str, macro: str, layout: Layout) -> list[Printer | Unprintable]:
    if b"define" not in code.read(path):
        return []
    script = scripts(path)
    if script.failure:
        return [Unprintable(path, script.failure)] if macro.encode() in script.source.data else []
    return [_printer(code, scripts, head, macro, layout) for head in _heads(script, macro)]


def _heads(script: Script, macro: str) -> list[_Head]:
    """The strings of ``script`` that define ``macro``, by name or by a hole that the name is put into."""
    texts = [text for text in script.strings if "define" in text.code]
    found = [text for text in texts if defines(text, macro)]
    named = any(isinstance(n, ast.Constant) and n.value == macro for n in ast.walk(script.tree))
    if not found and named:
        found = [text for text in texts if re.search(rf"#\s*define\s+{HOLE}\d+\b", text.code)]
    return [_Head(script, text, text.node, opened_by=script.path) for text in found]


def _printer(code: Codebase, scripts: Scripts, head: _Head, macro: str, layout: Layout) -> Printer | Unprintable:
    script = head.script
    parent = script.parents.get(head.node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        block = next(b for b in blocks(script.parents[parent]) if any(s is parent for s in b))
        near = [use for s in block[block.index(parent) + 1 :] for use in _uses(script, name, s)]
        uses = near or _uses(script, name, script.function_of(parent))
        if any(isinstance(s, ast.AugAssign) and ast.unparse(s.target) == name for s in statements(block)):
            return _written(script, head, parent, macro, layout, f"{name} +=")
    else:
        uses = [head.node]
    if len(uses) != 1:
        return _unknown(script, head.node, f"the text that opens {macro} is used {len(uses)} times")
    use = uses[0]
    outer = script.parents.get(use)
    if isinstance(outer, ast.Call) and use in outer.args and written(_statement(script, use)) is None:
        return _delegated(code, scripts, head, outer, use, macro, layout)
    return _written(script, head, _statement(script, use), macro, layout)


def _uses(script: Script, name: str, scope: ast.AST) -> list[ast.expr]:
    return [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]


def _statement(script: Script, node: ast.expr) -> ast.stmt:
    found = script.enclosing(node, ast.stmt)
    assert isinstance(found, ast.stmt)
    return found


def _delegated(
    code: Codebase, scripts: Scripts, head: _Head, call: ast.Call, use: ast.expr, macro: str, layout: Layout
) -> Printer | Unprintable:
    """The head is an argument of a function that writes the whole table: look there."""
    script = head.script
    if not isinstance(call.func, ast.Name):
        return _unknown(script, call, f"what opens {macro} is passed to {ast.unparse(call.func)}")
    name = call.func.id
    homes = [script] if _function(script, name) else [scripts(p) for p in _imported(code, script, name)]
    found = [(home, function) for home in homes for function in [_function(home, name)] if function is not None]
    if len(found) != 1:
        return _unknown(script, call, f"{name}(), which prints the rows of {macro}, is not to be found")
    home, function = found[0]
    parameters = [a.arg for a in function.args.args]
    bound: dict[str, Text] = {}
    mine = ""
    for k, argument in enumerate(call.args[: len(parameters)]):
        text, _ = text_of(script, argument, {})
        if text is not None:
            bound[parameters[k]] = text
        if argument is use:
            mine = parameters[k]
    uses = _uses(home, mine, function) if mine else []
    if len(uses) != 1:
        return _unknown(home, call, f"{name}() writes what opens {macro} {len(uses)} times")
    header = next((name for a in call.args for name in [_header_in(script, a)] if name), "")
    inner = _Head(home, head.text, uses[0], bound, head.opened_by, header)
    return _written(home, inner, _statement(home, uses[0]), macro, layout)


def _function(script: Script, name: str) -> ast.FunctionDef | None:
    return next((n for n in script.tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


def _imported(code: Codebase, script: Script, name: str) -> list[str]:
    """The files that ``from MODULE import name`` may mean: beside the script, or in a folder of a path it names."""
    modules = [
        node.module.replace(".", "/")
        for node in ast.walk(script.tree)
        if isinstance(node, ast.ImportFrom) and node.module and any(a.name == name for a in node.names)
    ]
    folders = {posixpath.dirname(script.path)}
    for text in script.strings:
        if len(text.code) < 200:
            folders.update(_PATH.findall(text.code.replace(HOLE, "/")))
    candidates = {posixpath.join(folder, f"{module}.py") for module in modules for folder in folders}
    return sorted(path for path in candidates if code.read(path))


def _written(
    script: Script, head: _Head, statement: ast.stmt, macro: str, layout: Layout, started: str = ""
) -> Printer | Unprintable:
    """The head is written by ``statement``: the rows follow in the same function, or are written elsewhere.

    ``started`` is what further text is added to where the statement is an assignment: ``text +=``.
    """
    target = (started, head.node) if started else written(statement)
    if target is None:
        return _unknown(script, statement, f"what opens {macro} is used in a way that is not known")
    function = script.function_of(statement)
    ordered = list(statements(getattr(function, "body", [])))
    behind = ordered[ordered.index(statement) + 1 :]
    opening = head.text.code
    for other in behind:
        more = written(other)
        text, _ = text_of(script, more[1], head.bound) if more and more[0] == target[0] else (None, {})
        if text is None or isinstance(script.enclosing(other, ast.For), ast.For):
            break
        opening += text.code  # "{" may come in a piece of its own
    braced, parameters = _macro_head(opening, macro)
    includes = _includes(script, head.text.code)
    header = (
        head.header or _file_name(script, statement) or _header_in(script, function) or _header_in(script, script.tree)
    )
    loops = [s for s in behind if isinstance(s, ast.For) and not _inside_any(script, s, behind)]
    sources = _row_sources(script, behind, target[0], head.bound)
    if len(sources) > 1:
        return _unknown(script, sources[1], f"the rows of {macro} are printed in more than one place")
    handed = _handed_on(script, behind, target[0])
    if handed is not None:
        return _unknown(script, handed, f"something else may print rows of {macro}")
    for loop in loops:
        inner = list(statements(loop.body))
        collected = [e for s in inner for e in [_collected(script, s, head.bound)] if e is not None]
        if collected and _drains(script, behind, target[0]):
            return Printer(
                script.path,
                head.opened_by,
                script.span(loop),
                tuple(collected),
                (),
                braced,
                parameters,
                includes,
                header,
            )
        emissions = [e for s in inner for e in [_emission(script, s, target[0], head.bound)] if e is not None]
        if emissions:
            strange = [s for s in inner if (w := written(s)) and w[0] == target[0] and not _is_any(s, emissions)]
            if strange:
                return _unknown(script, strange[0], f"the loop over the rows of {macro} writes more than rows")
            edits = layout.collect(script, loop, emissions)
            found = tuple(emissions)
            at = script.span(loop)
            return Printer(script.path, head.opened_by, at, found, tuple(edits), braced, parameters, includes, header)
    return _spread(script, head, statement, macro, (braced, parameters, includes), layout)


def _includes(script: Script, opening: str) -> tuple[str, ...]:
    """The include lines of the header that starts with ``opening``; where that is a piece of it, of all headers."""
    pattern = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.M)
    if "#pragma once" in opening or pattern.search(opening):
        return tuple(pattern.findall(opening))
    texts = [text.code for text in script.strings if "#pragma once" in text.code]
    return tuple(dict.fromkeys(line for text in texts for line in pattern.findall(text)))


def _row_sources(script: Script, behind: Sequence[ast.stmt], target: str, bound: Mapping[str, Text]) -> list[ast.stmt]:
    """The outermost loops, and the statements outside of loops, that print rows before the next macro is opened."""
    out: list[ast.stmt] = []
    for statement in behind:
        found = written(statement)
        text, _ = text_of(script, found[1], bound) if found and found[0] == target else (None, {})
        if text is not None and "define" in text.code:
            break
        if found is not None and found[0] == target and is_row(script, found[1], bound):
            loop: ast.stmt = statement
            while isinstance(outer := script.enclosing(loop, ast.For), ast.For) and any(outer is s for s in behind):
                loop = outer
            if not any(loop is known for known in out):
                out.append(loop)
    return out


_HARMLESS = {"write": ("write", "close", "flush"), "append": ("append",)}


def _handed_on(script: Script, behind: Sequence[ast.stmt], target: str) -> ast.expr | None:
    """A use of the open file, or of the list, that ``target`` writes to by which something else could write to it."""
    name, _, method = target.rpartition(".")
    if not name:
        return None  # a text is changed by assignments only
    for statement in behind:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Name) or node.id != name:
                continue
            parent = script.parents.get(node)
            if isinstance(parent, ast.Attribute) and parent.attr in _HARMLESS[method]:
                continue
            joined = isinstance(parent, ast.Call) and ast.unparse(parent.func).endswith(".join")
            if method == "append" and (joined or isinstance(parent, ast.Return)):
                continue
            return node
    return None


def _spread(
    script: Script,
    head: _Head,
    statement: ast.stmt,
    macro: str,
    opening: tuple[bool, str, tuple[str, ...]],
    layout: Layout,
) -> Printer | Unprintable:
    """Head, rows and end are written by functions of their own, which open one file by its name."""
    name = _file_name(script, statement)
    if not name:
        return _unknown(script, statement, f"it is not known what writes the rows of {macro}")
    same = [s for s in statements_of(script) if written(s) and s is not statement and _file_name(script, s) == name]
    rows: list[Emission] = []
    ends: list[ast.stmt] = []
    for other in same:
        found = written(other)
        emission = _emission(script, other, found[0] if found else "", head.bound)
        if emission is None:
            ends.append(other)
        else:
            rows.append(emission)
    if len(ends) != 1 or len(rows) != 1:
        return _unknown(script, statement, f"it is not known what writes the rows of {macro}")
    target = written(ends[0])
    loop = next((s for s in statements_of(script) if isinstance(s, ast.For) and _drained(s) == _store(script)), None)
    assert target is not None
    if loop is None:
        edits = layout.collect_apart(script, head.text.node, statement, rows[0], ends[0], target[0])
        if edits is None:
            return _unknown(script, statement, f"the text that opens {macro} is no variable of the module")
    else:
        edits = []
    at = script.span(rows[0].statement)
    return Printer(script.path, head.opened_by, at, tuple(rows), tuple(edits), *opening, name)


def statements_of(script: Script) -> list[ast.stmt]:
    """Every statement of a script, functions included."""
    return [node for node in ast.walk(script.tree) if isinstance(node, ast.stmt)]


def _store(script: Script) -> str:
    return "lookup_rows"


def _drained(loop: ast.For) -> str:
    """The dict that ``for _, row in sorted(rows.items()):`` goes over, or ""."""
    match = re.fullmatch(r"sorted\((\w+)\.items\(\)\)", ast.unparse(loop.iter))
    return match[1] if match else ""


def _emission(script: Script, statement: ast.stmt, target: str, bound: Mapping[str, Text]) -> Emission | None:
    found = written(statement)
    if found is None or found[0] != target or not isinstance(statement, ast.Expr | ast.AugAssign):
        return None
    row = row_of(script, found[1], bound)
    return Emission(statement, found[1], row) if row is not None else None


def _collected(script: Script, statement: ast.stmt, bound: Mapping[str, Text]) -> Emission | None:
    """``rows.setdefault(KEY, ROW)``, whose key is that of the row."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "setdefault":
        return None
    if len(call.args) != 2 or not isinstance(statement, ast.Expr):
        return None
    row = row_of(script, call.args[1], bound)
    return Emission(statement, call.args[1], row) if row is not None and ast.unparse(call.args[0]) == row.key else None


def _drains(script: Script, behind: Sequence[ast.stmt], target: str) -> bool:
    """Whether a loop over sorted(rows.items()) writes what was collected to ``target``."""
    for statement in behind:
        if isinstance(statement, ast.For) and _drained(statement) and len(statement.body) == 1:
            found = written(statement.body[0])
            if found is not None and found[0] == target:
                return True
    return False


def _inside_any(script: Script, statement: ast.stmt, others: Sequence[ast.stmt]) -> bool:
    outer = script.enclosing(statement, ast.For)
    return any(outer is other for other in others)


def _is_any(statement: ast.stmt, emissions: Sequence[Emission]) -> bool:
    return any(statement is e.statement for e in emissions)


def _file_name(script: Script, statement: ast.stmt) -> str:
    """The name of the file that is open where ``statement`` stands, from the strings in what it was opened by."""
    current = script.enclosing(statement, ast.With)
    while isinstance(current, ast.With):
        for item in current.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "open" and call.args:
                opened = call.args[0]
                opened = assigned_to(script, opened) or opened
                names = [n.value for n in ast.walk(opened) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                return names[-1] if names else ""
        current = script.enclosing(current, ast.With)
    return ""


def _header_in(script: Script, node: ast.AST) -> str:
    """The only C++ file that a string below ``node`` names, variables looked through; "" for none or several."""
    looked = [node]
    if isinstance(node, ast.Name):
        looked.append(assigned_to(script, node) or node)
    names = {
        child.value
        for start in looked
        for child in ast.walk(start)
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and _HEADER.fullmatch(child.value)
    }
    return names.pop() if len(names) == 1 else ""


def _macro_head(opening: str, macro: str) -> tuple[bool, str]:
    """(whether the macro's own text opens a brace, its parameter list) of the text before the first row."""
    match = re.search(rf"#\s*define\s+(?:{re.escape(macro)}|{HOLE}\d+)[ \t]*(\([^()]*\))?", opening)
    assert match is not None
    rest = opening[match.end() :].replace("\\", " ")
    return rest.lstrip().startswith("{"), match[1] or ""


def _unknown(script: Script, node: ast.expr | ast.stmt, message: str) -> Unprintable:
    start, end = script.span(node)
    return Unprintable(script.path, message, start, end)
