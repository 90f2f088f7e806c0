"""The Python ops of a checkout: functions under ``@compile_ops``.

Files are parsed with the standard library's ``ast``, whose columns count UTF-8 bytes; ``PyFile`` turns them into byte
offsets of the file on disk, whatever its line ends, byte order mark or declared encoding.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from torchless.index import Index
from torchless.project.model import OpParam, PyOp

_VERSION = 1  # of what is stored in an index for the same bytes
DECORATOR = "compile_ops"
DEFINITION = "jit/core.py"  # of the package: where the decorator itself is defined
# Positions of the decorator's parameters in aiter, up to the one that is looked for. Later ones are given by name.
_POSITIONS = ("_md_name", "fc_name", "gen_func", "gen_fake", "ffi_type", "develop")
Problem = tuple[str, str]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class PyFile:
    """A parsed Python file. ``data`` is the file on disk; every offset is into it."""

    path: str
    data: bytes
    tree: ast.Module
    encoding: str
    line_starts: tuple[int, ...]

    def offset(self, line: int, column: int) -> int:
        """The byte offset of ast's ``line`` (1-based) and ``column`` (UTF-8 bytes)."""
        start = self.line_starts[line - 1]
        if self.encoding not in ("utf-8", "ascii"):
            end = self.line_starts[line] if line < len(self.line_starts) else len(self.data)
            before = self.data[start:end].decode(self.encoding).encode()[:column].decode()
            column = len(before.encode(self.encoding))
        return start + column

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> tuple[int, int]:
        """The byte range of ``node``."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr | None) -> str:
        """The source text of ``node``, "" for None."""
        if node is None:
            return ""
        start, end = self.span(node)
        return self.data[start:end].decode(self.encoding)


def parse_python(path: str, data: bytes) -> PyFile:
    """Parse ``data``. Raises ValueError, with a one-line message, when it is not Python that this version reads."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in their string is none of our business
            tree = ast.parse(data)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise ValueError(f"{where}{getattr(error, 'msg', None) or error or type(error).__name__}") from error
    starts = [len(_BOM) if data.startswith(_BOM) else 0, *(m.end() for m in _LINE_END.finditer(data))]
    return PyFile(path, data, tree, "utf-8" if encoding == "utf-8-sig" else encoding, tuple(starts))


def decorator_parameters(data: bytes) -> frozenset[str]:
    """The parameter names of the ``compile_ops`` defined in ``data``; empty when there is none or it does not parse."""
    try:
        tree = parse_python("", data).tree
    except ValueError:
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == DECORATOR:
            args = node.args
            return frozenset(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    return frozenset()


def read_ops(root: Path, paths: list[str], index: Index | None = None) -> tuple[list[PyOp], list[Problem]]:
    """The ops in the files ``paths`` (root-relative), in file order, and what could not be read.

    A file without the decorator's name costs one read and nothing else; one that ``index`` knows not even that.
    """
    index = index or Index(root)
    ops: list[PyOp] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            scan = index.get(path, "ops", _VERSION, _scan)
        except OSError as error:
            problems.append((path, f"cannot read: {error.strerror}"))
            continue
        if scan is not None:
            ops += [_restored(path, row) for row in scan[0]]
            problems += [(path, message) for message in scan[1]]
    return ops, problems


def read_decorator(root: Path, path: str, index: Index | None = None) -> frozenset[str]:
    """decorator_parameters() of the file ``path`` (root-relative); empty when it cannot be read."""
    try:
        return (index or Index(root)).get(path, "decorator", _VERSION, decorator_parameters)
    except OSError:
        return frozenset()


def _scan(data: bytes) -> tuple[list[tuple[Any, ...]], list[str]] | None:
    """The fields of the ops in ``data``, without the file's name, and messages; None where nothing tells of ops."""
    if DECORATOR.encode() not in data:
        return None
    try:
        found, wrong = ops_of(parse_python("", data))
    except ValueError as error:
        return [], [f"does not parse as Python: {error}"]
    return [astuple(op)[1:] for op in found], wrong


def _restored(path: str, row: tuple[Any, ...]) -> PyOp:
    """The op whose fields _scan() gave as ``row``."""
    function, module, fc_name, start, end, line, develop, ffi_type, params, *rest = row
    made = tuple(OpParam(*param) for param in params)
    return PyOp(path, function, module, fc_name, start, end, line, develop, ffi_type, made, *rest)


def ops_of(file: PyFile) -> tuple[list[PyOp], list[str]]:
    """The ops of one file, in file order, and one line for each use of the decorator that cannot be read."""
    statements = list(_statements(file.tree.body))
    names = {DECORATOR}
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname for alias in node.names if alias.name == DECORATOR and alias.asname}
    constants = _string_constants(file.tree)
    ops: list[PyOp] = []
    problems: list[str] = []
    decorators: set[ast.AST] = set()
    for node in statements:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and _is_decorator(decorator.func, names):
                decorators.add(decorator)
                op, wrong = _op(file, node, decorator, _values_at(constants, decorator.lineno))
                ops.append(op)
                problems += [f"line {op.line}: {op.function}: {message}" for message in wrong]
    if len(re.findall(rb"\b(?:%b)\s*\(" % "|".join(names).encode(), file.data)) > len(decorators):
        for call in ast.walk(file.tree):
            if isinstance(call, ast.Call) and _is_decorator(call.func, names) and call not in decorators:
                problems.append(f"line {call.lineno}: {DECORATOR} is called, but not as a decorator")
    return sorted(ops, key=lambda op: op.start), problems


def _statements(body: Sequence[ast.stmt], enter_definitions: bool = True) -> Iterator[ast.stmt]:
    """Every statement in ``body``, nested ones included; expressions, the bulk of a tree, are not visited."""
    pending: list[ast.AST] = [*reversed(body)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt):
            yield node
        if enter_definitions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for block in ("cases", "finalbody", "orelse", "handlers", "body"):
                pending += reversed(getattr(node, block, ()))


def decorator_call(file: PyFile, op: PyOp) -> ast.Call:
    """The decorator's call of an op of this very file. Raises LookupError when ``op`` is not from it."""
    for function in ast.walk(file.tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name == op.function:
            for decorator in function.decorator_list:
                if isinstance(decorator, ast.Call) and file.span(decorator)[1] == op.end:
                    return decorator
    raise LookupError(f"{op.function} is not in {file.path}")


def decorator_argument(call: ast.Call, name: str) -> ast.expr | None:
    """The argument of the decorator's call that binds its parameter ``name``, positional or by keyword."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    place = _POSITIONS.index(name)
    before = call.args[: place + 1]
    if len(before) > place and not any(isinstance(arg, ast.Starred) for arg in before):
        return before[place]
    return None


def _is_decorator(node: ast.expr, names: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == DECORATOR
    return isinstance(node, ast.Name) and node.id in names


def _string_constants(tree: ast.Module) -> list[tuple[int, str, str | None]]:
    """(line, name, string) for each assignment to a name outside of functions and classes, in file order.

    The string is None where something else is assigned, or where the assignment depends on a condition.
    """
    found: list[tuple[int, str, str | None]] = []
    certain = set(tree.body)
    for node in _statements(tree.body, enter_definitions=False):
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) and node in certain else None
        text = value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append((node.lineno, node.name, None))
            continue
        for expression in ast.iter_child_nodes(node):
            if isinstance(expression, (ast.stmt, ast.excepthandler, ast.match_case)):
                continue
            for name in ast.walk(expression):
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                    found.append((node.lineno, name.id, text))
    return found


def _values_at(constants: list[tuple[int, str, str | None]], line: int) -> dict[str, str]:
    """What the names stand for when the decorator on ``line`` runs."""
    values: dict[str, str | None] = {}
    for assigned, name, value in constants:
        if assigned < line:
            values[name] = value
    return {name: value for name, value in values.items() if value is not None}


def _string(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    """The string that an argument stands for, or None when that cannot be told from the file."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
        return _string(node.value, constants)
    if isinstance(node, ast.JoinedStr):
        parts = [_string(part, constants) for part in node.values]
        return None if None in parts else "".join(part for part in parts if part is not None)
    return None


def _op(
    file: PyFile, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, constants: dict[str, str]
) -> tuple[PyOp, list[str]]:
    problems: list[str] = []
    module_node = decorator_argument(call, "_md_name")
    module = _string(module_node, constants)
    if module is None:
        problems.append(f"the module name is not a plain string: {file.text(module_node) or 'missing'}")
    fc_node = decorator_argument(call, "fc_name")
    given = fc_node is not None and not (isinstance(fc_node, ast.Constant) and fc_node.value is None)
    fc_name = _string(fc_node, constants) if given else function.name
    if fc_name is None:
        problems.append(f"fc_name is not a plain string: {file.text(fc_node)}")
    develop = decorator_argument(call, "develop")
    if develop is not None and not (isinstance(develop, ast.Constant) and isinstance(develop.value, bool)):
        problems.append(f"develop is neither True nor False: {file.text(develop)}")
    ffi_node = decorator_argument(call, "ffi_type")
    ffi_type = _string(ffi_node, constants) if ffi_node is not None else "pybind"
    if ffi_type is None:
        problems.append(f"ffi_type is not a plain string: {file.text(ffi_node)}")
    start, end = file.span(call)
    op = PyOp(
        path=file.path,
        function=function.name,
        module=module or "",
        fc_name=fc_name or "",
        start=file.data.rindex(b"@", 0, start),
        end=end,
        line=call.lineno,
        develop=isinstance(develop, ast.Constant) and develop.value is True,
        ffi_type=ffi_type or "",
        params=_params(file, function.args),
        returns=file.text(function.returns),
        has_gen_func=_is_given(decorator_argument(call, "gen_func")),
        has_gen_fake=_is_given(decorator_argument(call, "gen_fake")),
    )
    return op, problems


def _is_given(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and node.value is None)


def _params(file: PyFile, args: ast.arguments) -> tuple[OpParam, ...]:
    """Parameters in order; ``*args`` and ``**kwargs`` keep their stars in the name."""
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(args.defaults)), *args.defaults]
    out = [OpParam(a.arg, file.text(a.annotation), file.text(d)) for a, d in zip(positional, defaults, strict=True)]
    if args.vararg:
        out.append(OpParam("*" + args.vararg.arg, file.text(args.vararg.annotation), ""))
    keyword_only = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    out += [OpParam(a.arg, file.text(a.annotation), file.text(d)) for a, d in keyword_only]
    if args.kwarg:
        out.append(OpParam("**" + args.kwarg.arg, file.text(args.kwarg.annotation), ""))
    return tuple(out)
