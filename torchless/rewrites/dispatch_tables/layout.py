"""The edits that have a Python loop collect rows and write them sorted, laid out as the rest of the file is."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchless.model import Edit
from torchless.rewrites.dispatch_tables.printed import Emission
from torchless.rewrites.dispatch_tables.pytext import Script
from torchless.rewrites.python_layout import BlackStyle, is_laid_out

CODE = "TL512"
_NAMES = ("rows", "table_rows", "rows_by_key")


class Layout:
    """How edits of Python files are laid out: by black with ``style`` where the file is, plainly elsewhere."""

    def __init__(self, style: BlackStyle) -> None:
        self._style = style

    def collect(self, script: Script, loop: ast.For, emissions: Sequence[Emission]) -> list[Edit]:
        """Collect the rows that ``loop`` prints, and write them behind it."""
        name = self._free_name(script, script.function_of(loop))
        indent = self._indent(script, loop)
        eol = script.source.eol_at(script.span(loop)[0]).decode()
        edits = [self._insert(script, script.span(loop)[0] - len(indent), f"{indent}{name} = {{}}{eol}", 0)]
        edits += [self._collected(script, emission, name) for emission in emissions]
        edits.append(self._write_all(script, loop, indent, name, emissions[0]))
        return edits

    def collect_apart(
        self, script: Script, head: ast.expr, opening: ast.stmt, row: Emission, end: ast.stmt, target: str
    ) -> list[Edit] | None:
        """Collect rows that one function prints, in a dict of the module that the one that prints the head empties.

        They are written before ``end``. None when the head is not assigned in the module.
        """
        assignment = script.parents.get(head)
        if not isinstance(assignment, ast.Assign) or assignment not in script.tree.body:
            return None
        name = "lookup_rows"
        eol = script.source.eol_at(script.span(assignment)[0]).decode()
        made = f"{name} = {{}}  # key -> row: a table is sorted by key, each key once{eol}{eol}"
        edits = [self._insert(script, script.span(assignment)[0], made, 0)]
        indent = self._indent(script, opening)
        edits.append(self._insert(script, script.span(opening)[0] - len(indent), f"{indent}{name}.clear(){eol}", 0))
        edits.append(self._collected(script, row, name))
        indent = self._indent(script, end)
        write = f"{target}(row)" if not target.endswith("+=") else f"{target} row"
        text = f"{indent}for _, row in sorted({name}.items()):{eol}{indent}    {write}{eol}"
        edits.append(self._insert(script, script.span(end)[0] - len(indent), text, 0))
        return edits

    def _write_all(self, script: Script, loop: ast.For, indent: str, name: str, emission: Emission) -> Edit:
        source = script.source
        eol = source.eol_at(script.span(loop)[0]).decode()
        start, end = script.span(emission.value)
        first, last = script.span(emission.statement)
        if isinstance(emission.statement, ast.AugAssign):
            write = f"{source.data[first:start].decode()}row"
        else:
            called = emission.statement.value
            assert isinstance(called, ast.Call)
            write = f"{script.text(called.func)}(row)"
        del end, last
        step = "    " if "\t" not in indent else "\t"
        text = f"{indent}for _, row in sorted({name}.items()):{eol}{indent}{step}{write}{eol}"
        line = source.line_of(script.span(loop)[1])
        at = source.line_start(line + 1) if line < source.line_count else len(source.data)
        before = "" if source.data[:at].endswith(b"\n") else eol
        return self._insert(script, at, before + text, 1)

    def _collected(self, script: Script, emission: Emission, name: str) -> Edit:
        """The statement that keeps a row instead of writing it."""
        statement = emission.statement
        start, end = script.span(statement)
        data = script.source.data
        if isinstance(statement, ast.AugAssign):
            inside = data[script.span(emission.value)[0] : end].decode("utf-8", "surrogateescape")
        else:
            call = statement.value
            assert isinstance(call, ast.Call)
            opener = data.index(b"(", script.span(call.func)[1])
            inside = data[opener + 1 : end - 1].decode("utf-8", "surrogateescape")
        text = f"{name}.setdefault({emission.row.key}, {inside.lstrip()})"
        if inside.lstrip(" ").startswith(("\n", "\r")):
            gap = inside[: len(inside) - len(inside.lstrip())]
            text = f"{name}.setdefault({gap}{emission.row.key},{gap}{inside.lstrip()})"
        indent = self._indent(script, statement)
        text = self._black(script, text, indent)
        return Edit(script.path, start, end, text.encode("utf-8", "surrogateescape"), CODE)

    def _black(self, script: Script, text: str, indent: str) -> str:
        """The statement as black lays it out in a file that black laid out; else as it is."""
        source = script.source.data.decode("utf-8", "surrogateescape")
        if "\r" in source or "\t" in indent or len(indent) % 4 or not is_laid_out(source, self._style):
            return text
        import black

        depth = len(indent) // 4
        blocks = "".join("    " * level + "if x:\n" for level in range(depth))
        try:
            laid_out = black.format_str(f"{blocks}{indent}{text}\n", mode=self._style.mode())
        except Exception:  # black raises many kinds for text that it cannot read
            return text
        lines = laid_out.split("\n")[depth:]
        return "\n".join(lines).rstrip("\n")[len(indent) :]

    def _indent(self, script: Script, statement: ast.stmt) -> str:
        start = script.span(statement)[0]
        line = script.source.line_start(script.source.line_of(start))
        return script.source.data[line:start].decode("utf-8", "replace")

    def _free_name(self, script: Script, scope: ast.AST) -> str:
        used = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)}
        used |= {n.arg for n in ast.walk(scope) if isinstance(n, ast.arg)}
        return next((name for name in _NAMES if name not in used), "rows_of_the_table")

    def _insert(self, script: Script, at: int, text: str, rank: int) -> Edit:
        return Edit(script.path, at, at, text.encode(), CODE, rank)
