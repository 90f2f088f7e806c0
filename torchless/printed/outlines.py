"""Headers that generators write, as far as the checkout's own sources see them: the headers that they include."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchless.facts.includes import scan_includes
from torchless.printed.templates import file_name
from torchless.rewrites.dispatch_tables.pytext import Script


def outlines_of(script: Script, headers: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The headers that ``script`` writes -> those of ``headers`` (root-relative) that they include.

    A header is known by the name that the script spells, its includes by the strings of the function that writes it,
    and of the script as far as that function names them. One that includes no header of the checkout is left out.
    """
    out: dict[str, tuple[str, ...]] = {}
    for node, name in _written(script):
        spelled = {i.spelled for text in _strings(script, node) for i in scan_includes(text.encode())}
        found = [_the_one(headers, s) for s in sorted(spelled)]
        included = tuple(dict.fromkeys([*out.get(name, ()), *(path for path in found if path)]))
        if included:
            out[name] = included
    return out


def _written(script: Script) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(script.tree):
        written: list[ast.expr] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "write_text":
            written = [node.func.value]
        elif isinstance(node, ast.With):
            written = [item.context_expr for item in node.items]
        for expression in written:
            name = file_name(script, expression)
            if name.endswith((".h", ".hpp", ".cuh", ".inc")) and "*" not in name:
                yield node, name


def _strings(script: Script, node: ast.AST) -> Iterator[str]:
    """The strings of the function around ``node``, and those at the top of the script that it names."""
    scope = script.function_of(node)
    named = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)}
    top = [a.value for a in script.tree.body if isinstance(a, ast.Assign) and any(_is(t, named) for t in a.targets)]
    for part in [scope, *top]:
        for child in ast.walk(part):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.value


def _is(target: ast.expr, names: set[str]) -> bool:
    return isinstance(target, ast.Name) and target.id in names


def _the_one(headers: Sequence[str], spelled: str) -> str:
    """The only one of ``headers`` that ``spelled`` may mean, "" for none and for several."""
    found = [path for path in headers if path == spelled or path.endswith(f"/{spelled}")]
    return found[0] if len(found) == 1 else ""
