"""TL713: defaults of Python ops that their binding does not repeat, or gives otherwise."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchless.lints.bound import BoundOp, declared_ops
from torchless.lints.declared import Declared
from torchless.model import Edit, Finding, Tier
from torchless.project.model import BindingArg, BindingRow, OpParam
from torchless.text.lexer import Kind, code_tokens, lex, match_forward
from torchless.text.source import SourceFile

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL713"
_ADVICE = "repeat the Python default in py::arg"
_CXX_LITERALS = {"true": True, "false": False, "std::nullopt": None, "nullptr": None, "py::none()": None}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")  # what stands for itself in a literal of C++ as of Python
_CONTINUED = re.compile(rb"([ \t]*)\\\r?\n?\Z")
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class _Missing:
    """A parameter of an op whose default the binding lacks; ``text`` is the default in C++, "" when it has none."""

    param: OpParam
    arg: BindingArg | None
    text: str
    reason: str = ""


def findings(context: Context) -> Iterator[Finding]:
    """At each op: one finding for the defaults that an edit can repeat, one for each other."""
    ops = list(declared_ops(context))
    spelled: dict[tuple[str, int, str], set[str]] = {}
    for bound, function in ops:
        for missing in _missing(bound, function):
            spelled.setdefault((bound.row.path, bound.row.start, missing.param.name), set()).add(missing.text)
    for bound, function in ops:
        op, row = bound.op, bound.row
        certain: list[_Missing] = []
        for missing in _missing(bound, function):
            name, default = missing.param.name, missing.param.default
            if missing.text and len(spelled[row.path, row.start, name]) == 1:
                certain.append(missing)
                continue
            reason = missing.reason or "two ops that are bound by this row want different ones"
            message = f"{op.function}: {name} has a default in Python ({default}) but none in py::arg; {reason}"
            yield _finding(bound, message)
        if certain:
            edits = _edits(context.source(row.path), row, certain)
            told = ", ".join(f"{m.param.name} ({m.param.default})" for m in certain)
            yield _finding(bound, f"{op.function}: defaults in Python but not in py::arg: {told}", edits)
        for param, arg in _pairs(bound):
            if arg is not None and param.default and arg.default and _differ(param.default, arg.default):
                message = f"{op.function}: {param.name} defaults to {param.default} in Python, {arg.default} in py::arg"
                yield _finding(bound, message)


def _finding(bound: BoundOp, message: str, edits: tuple[Edit, ...] = ()) -> Finding:
    op = bound.op
    tier = Tier.SAFE if edits else Tier.DISPLAY
    return Finding(CODE, message, op.path, op.start, op.end, tier, edits, help=_ADVICE, related=(bound.bound_at,))


def _pairs(bound: BoundOp) -> Iterator[tuple[OpParam, BindingArg | None]]:
    """Each parameter of the op with the py::arg that names it: by place where there are as many, else by name."""
    params, args = bound.op.params, bound.row.args
    if len(params) == len(args):
        yield from zip(params, args, strict=True)
        return
    by_name = {arg.name: arg for arg in args}
    for param in params:
        yield param, by_name.get(param.name)


def _missing(bound: BoundOp, function: Declared | None) -> Iterator[_Missing]:
    kinds = function.params if function is not None and len(function.params) == len(bound.op.params) else ()
    for index, (param, arg) in enumerate(_pairs(bound)):
        if not param.default or (arg is not None and arg.default):
            continue
        if arg is None:
            names = "names no py::arg of that name" if bound.row.args else "has no py::arg"
            yield _Missing(param, None, "", f"the binding {names}")
            continue
        value = _literal(param.default)
        text = "" if value is _UNKNOWN else _in_cxx(value)
        if not text:
            yield _Missing(param, arg, "", "it is no literal that C++ writes the same")
        elif value is None and not (kinds and "optional" in kinds[index][1].split()):
            yield _Missing(
                param, arg, "", f"in C++ the parameter is {'no' if kinds else 'not known to be an'} optional"
            )
        else:
            yield _Missing(param, arg, text)


def _literal(python: str) -> object:
    """The value of a literal of one of the types that C++ has as well, else _UNKNOWN."""
    try:
        value: object = ast.literal_eval(python)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN
    return value if value is None or isinstance(value, (bool, int, float, str)) else _UNKNOWN


def _in_cxx(value: object) -> str:
    """A literal of C++ with the same value, "" where there is none that is sure to have it."""
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(1 << 63) < value < 1 << 63 else ""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return f'"{value}"' if isinstance(value, str) and _PLAIN.fullmatch(value) else ""


def _differ(python: str, cxx: str) -> bool:
    """Whether two defaults are both literals, and different ones."""
    left = _literal(python)
    text = cxx.strip()
    right: object = _CXX_LITERALS.get(text, _UNKNOWN)
    if right is _UNKNOWN:
        right = _literal(re.sub(r"(?<=[0-9.])[fFuUlL]+$", "", text))
    return left is not _UNKNOWN and right is not _UNKNOWN and left != right


def _edits(source: SourceFile, row: BindingRow, missing: Sequence[_Missing]) -> tuple[Edit, ...]:
    """`` = default`` behind each py::arg; backslashes stay in their column as far as the blanks before them allow."""
    wanted = {m.arg.name: m.text for m in missing if m.arg is not None}
    tokens = code_tokens(lex(source.data, row.start, row.end))
    edits: list[Edit] = []
    grown: dict[int, int] = {}
    for i, token in enumerate(tokens):
        name = _PLAIN_STRING.fullmatch(token.text) if token.kind is Kind.STRING else None
        if name is None or name[1].decode() not in wanted:
            continue
        if i > 1 and tokens[i - 1].text == b"(" and tokens[i - 2].text == b"arg":
            at = tokens[match_forward(tokens, i - 1)].end
        elif i + 1 < len(tokens) and tokens[i + 1].text == b"_a":
            at = tokens[i + 1].end
        else:
            continue
        new = f" = {wanted.pop(name[1].decode())}".encode()
        edits.append(Edit(row.path, at, at, new, CODE))
        line = source.line_of(at)
        grown[line] = grown.get(line, 0) + len(new)
    for line, more in grown.items():
        blanks = _CONTINUED.search(source.line_bytes(line))
        spare = min(more, len(blanks[1]) - 1) if blanks else 0
        if blanks and spare > 0:
            end = source.line_start(line) + blanks.end(1)
            edits.append(Edit(row.path, end - spare, end, b"", CODE))
    return tuple(edits)


_PLAIN_STRING = re.compile(rb'"([A-Za-z_0-9]+)"')
