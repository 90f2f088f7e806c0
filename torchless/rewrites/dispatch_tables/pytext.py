"""Python scripts that print C++: their strings as C++ with holes, and where their statements stand in bytes.

In the C++ of a string each value that Python puts in is a name of its own, a *hole*. Of a string only the text is
known; which holes it has depends on whether it is an f-string, a template of ``.format`` or neither.
"""

from __future__ import annotations

import ast
import re
import string
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from torchless.text.lexer import Token, code_tokens, lex
from torchless.text.source import BOM, SourceFile

HOLE = "torchless_hole_"


@dataclass(frozen=True)
class Text:
    """The C++ of a string. ``holes``: the name of each hole -> what is put there.

    That is the text of a Python expression, or for a ``.format`` template the name of the argument. ``is_template``
    says which; ``node`` is the string.
    """

    code: str
    holes: dict[str, str]
    is_template: bool
    node: ast.expr

    @cached_property
    def tokens(self) -> list[Token]:
        """The code tokens of the C++."""
        return code_tokens(lex(self.code.encode("utf-8", "replace")))


class Script:
    """A Python file: its tree, its strings, and byte offsets. ``failure`` says why it has no tree, "" otherwise."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.failure = ""
        self.tree = ast.Module([], [])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(source.data)
        except (SyntaxError, ValueError) as error:
            self.failure = f"it is not Python: {error.msg if isinstance(error, SyntaxError) else error}"
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @property
    def path(self) -> str:
        """The root-relative path."""
        return self.source.path

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The byte range of a node."""
        first, last = node.lineno, node.end_lineno or node.lineno
        start = self.source.line_start(first) + node.col_offset
        end = self.source.line_start(last) + (node.end_col_offset or 0)
        bom = len(BOM) if self.source.has_bom else 0
        return start + bom * (first == 1), end + bom * (last == 1)

    def text(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node as it is written."""
        start, end = self.span(node)
        return self.source.data[start:end].decode("utf-8", "replace")

    def enclosing(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """The innermost node of one of ``kinds`` around ``node``."""
        current = self.parents.get(node)
        while current is not None and not isinstance(current, kinds):
            current = self.parents.get(current)
        return current

    def function_of(self, node: ast.AST) -> ast.AST:
        """The innermost function around ``node``, else the module."""
        return self.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or self.tree

    @cached_property
    def templates(self) -> frozenset[str]:
        """The names on which ``.format`` is called somewhere in the file."""
        return frozenset(
            node.func.value.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
            and isinstance(node.func.value, ast.Name)
        )

    @cached_property
    def strings(self) -> tuple[Text, ...]:
        """Every string of the file as C++ with holes; docstrings and parts of f-strings are left out."""
        return tuple(self._strings())

    def _strings(self) -> Iterator[Text]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.JoinedStr) and not isinstance(self.parents.get(node), ast.FormattedValue):
                yield self.joined(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                parent = self.parents.get(node)
                if isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.Expr):
                    continue
                yield self.constant(node)

    def joined(self, node: ast.JoinedStr) -> Text:
        """An f-string."""
        code = ""
        holes: dict[str, str] = {}
        for part in node.values:
            if isinstance(part, ast.Constant):
                code += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                name = f"{HOLE}{len(holes)}"
                holes[name] = ast.unparse(part.value)
                code += name
        return Text(code, holes, False, node)

    def constant(self, node: ast.Constant) -> Text:
        """A plain string, as a template where its name or the string itself is formatted."""
        parent = self.parents.get(node)
        formatted = isinstance(parent, ast.Attribute) and parent.attr == "format"
        if isinstance(parent, ast.Assign):
            names = [t.id for t in parent.targets if isinstance(t, ast.Name)]
            formatted = any(name in self.templates for name in names)
        value = str(node.value)
        return template(value, node) if formatted else Text(value, {}, False, node)


def template(value: str, node: ast.expr) -> Text:
    """The C++ of a template for ``.format``; one that is none is taken as plain text."""
    code = ""
    holes: dict[str, str] = {}
    try:
        for literal, field, _, _ in string.Formatter().parse(value):
            code += literal
            if field is not None:
                name = f"{HOLE}{len(holes)}"
                holes[name] = field
                code += name
    except ValueError:
        return Text(value, {}, False, node)
    return Text(code, holes, True, node)


def defines(text: Text, macro: str) -> bool:
    """Whether the C++ defines ``macro``."""
    return re.search(rf"#\s*define\s+{re.escape(macro)}\b", text.code) is not None
