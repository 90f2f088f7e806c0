"""Python side of a migration: ``develop=True`` on the ops of a module.

With the flag the dispatcher converts each tensor argument to the target's tensor and hands over the current stream
before the call. It converts arguments that are tensors themselves, never those inside a list, and it converts nothing
that is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from torchless.model import Edit, Finding, Tier
from torchless.project.model import PyOp
from torchless.project.ops import PyFile, decorator_argument, decorator_call, parse_python
from torchless.rewrites.python_layout import BlackStyle, is_laid_out, lay_out_decorator
from torchless.rewrites.returns.handing_back import wrapping
from torchless.rewrites.returns.model import Contract
from torchless.rewrites.wrappers import NotSplit, Surroundings, find_guard, split_op
from torchless.text.source import SourceFile

Read = Callable[[str], SourceFile]


@dataclass(frozen=True, slots=True)
class Bound:
    """What is known about the C++ function behind an op: whether it takes, and whether it returns, a tensor."""

    takes_tensor: bool
    returns_tensor: bool
    contract: Contract | None = None  # what it gave back, when it becomes void
    names: tuple[str, ...] = ()  # of its parameters, as the binding has them


def develop_flags(
    ops: Sequence[PyOp], read: Read, bound: Mapping[PyOp, Bound], style: BlackStyle, taken: Collection[str] = ()
) -> list[Finding]:
    """Turn the ops of the modules of one unit into develop ops: TL701 or TL720 with its edits, or blockers.

    ``ops`` are all ops of those modules; ``bound`` says what the C++ functions behind them look like (an op that is
    absent is judged by its annotations); ``taken`` are names of ops anywhere. Ops that are develop or ctypes ops
    already give nothing, and neither do ops that handle no tensor: they work either way. Ops are taken file by file,
    in file order.
    """
    findings: list[Finding] = []
    ordered = sorted(ops, key=lambda op: (op.path, op.start))
    for path, group in groupby((op for op in ordered if flips(op, bound.get(op))), key=lambda op: op.path):
        source = read(path)
        try:
            file = parse_python(path, source.data)
        except ValueError as error:
            findings += [_blocker("TL790", op, f"{path} does not parse: {error}", "mend the file") for op in group]
            continue
        layout = _Layout(file, style)
        around = Surroundings(find_guard(path, read), taken)
        for op in group:
            known = bound.get(op)
            blockers = op_blockers(op, known)
            if blockers:
                findings += blockers
            elif known is not None and known.contract is not None and _is_split(op, known.contract):
                findings.append(_split(file, op, known.contract, known.names, style, around))
            else:
                findings.append(_flip(layout, op))
    return findings


def _is_split(op: PyOp, contract: Contract) -> bool:
    """Whether the op needs a function around it: it returns something, or Python makes something for it."""
    made = contract.added or contract.fills or contract.fallback
    changed = bool(made or contract.addresses or contract.philox or contract.numbers)
    return bool(changed) or annotation_kind(op.returns) is not Kind.NONE


def _split(
    file: PyFile, op: PyOp, contract: Contract, names: Sequence[str], style: BlackStyle, around: Surroundings
) -> Finding:
    """TL720 for an op whose function becomes void: a private op, and a function that returns what it returned."""
    try:
        return split_op(file, op, wrapping(op, contract, names), style, around)
    except NotSplit as error:
        advice = "split it by hand into a private op and a function that calls it and returns the result"
        return _blocker("TL790", op, f"{op.function} cannot become a function around its op: {error}", advice)


def flips(op: PyOp, bound: Bound | None = None) -> bool:
    """Whether a migration of its module concerns ``op``: it handles a tensor and is not migrated yet."""
    if op.develop or op.ffi_type == "ctypes":
        return False
    kinds = [annotation_kind(param.annotation) for param in op.params]
    if any(kind in (Kind.TENSOR, Kind.TENSOR_LIST) for kind in kinds) or annotation_kind(op.returns) in _TENSOR_RETURNS:
        return True
    return bound is not None and (bound.takes_tensor or bound.returns_tensor)


class Kind(str, Enum):
    """What an annotation says, as far as the dispatcher cares."""

    NONE = "none"
    MISSING = "missing"
    TENSOR = "tensor"
    PLAIN = "plain"  # int, float, bool, str and lists of them
    TENSOR_LIST = "list of tensors"
    GENERATOR = "generator"
    DTYPE = "dtype"
    OTHER = "other"


_TENSOR_RETURNS = (Kind.TENSOR, Kind.TENSOR_LIST)
_SCALARS = frozenset({"int", "float", "bool", "str"})
_LISTS = frozenset({"list", "List", "Sequence", "tuple", "Tuple", "Iterable"})


def annotation_kind(annotation: str) -> Kind:
    """The kind of a parameter or return annotation, as spelled. An optional counts as what it may hold."""
    text = annotation.strip()
    if not text:
        return Kind.MISSING
    try:
        return _kind(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Kind.OTHER


def _kind(node: ast.expr) -> Kind:
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Kind.NONE
        return annotation_kind(node.value) if isinstance(node.value, str) else Kind.OTHER
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either([node.left, node.right])
    if isinstance(node, ast.Subscript):
        outer = _last_name(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if outer in ("Optional", "Union"):
            return _either([*inner])
        if outer == "Annotated":
            return _kind(inner[0])
        if outer in _LISTS:
            kinds = {_kind(item) for item in inner if not (isinstance(item, ast.Constant) and item.value is ...)}
            if Kind.TENSOR in kinds or Kind.TENSOR_LIST in kinds:
                return Kind.TENSOR_LIST
            return Kind.PLAIN if kinds == {Kind.PLAIN} else Kind.OTHER
        return Kind.OTHER
    name = _last_name(node)
    if name == "Tensor":
        return Kind.TENSOR
    if name in _SCALARS:
        return Kind.PLAIN
    return {"Generator": Kind.GENERATOR, "dtype": Kind.DTYPE}.get(name, Kind.OTHER)


def _either(nodes: list[ast.expr]) -> Kind:
    kinds = {_kind(node) for node in nodes} - {Kind.NONE}
    return kinds.pop() if len(kinds) == 1 else Kind.OTHER


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


_REFUSED = {
    Kind.TENSOR_LIST: (
        "TL291",
        "is a list of tensors, which the dispatcher does not convert",
        "pass the tensors one by one, or a list of their data pointers",
    ),
    Kind.GENERATOR: (
        "TL491",
        "is a generator, which the target has no type for",
        "take the seed and the offset in Python and pass them as integers",
    ),
    Kind.DTYPE: (
        "TL297",
        "is a torch dtype, which the target's binding does not take",
        "pass the number of the target's dtype",
    ),
    Kind.MISSING: ("TL790", "has no annotation", "annotate it"),
    Kind.NONE: ("TL790", "is annotated as None", "give its type"),
    Kind.OTHER: (
        "TL790",
        "has a type that the target's binding is not known to take",
        "pass it as a tensor, an int, a float, a bool, a str or a list of them",
    ),
}


def op_blockers(op: PyOp, bound: Bound | None = None) -> list[Finding]:
    """Why ``op`` cannot become a develop op; empty when it can."""
    blockers = []
    contract = bound.contract if bound is not None else None
    passed = (*contract.addresses, *(at for at, _ in contract.numbers)) if contract is not None else ()
    if contract is not None and contract.philox is not None:
        passed = (*passed, contract.philox.position)
    for position, param in enumerate(op.params):
        kind = annotation_kind(param.annotation)
        if position in passed:
            continue  # Python passes addresses, numbers, or seed and offset
        if kind in _REFUSED:
            code, reason, advice = _REFUSED[kind]
            spelled = f" ({param.annotation})" if param.annotation else ""
            blockers.append(_blocker(code, op, f"{op.function}: {param.name}{spelled} {reason}", advice))
        elif param.name.startswith("*"):
            blockers.append(_blocker("TL790", op, f"{op.function} takes {param.name}", "name its parameters"))
    returned = annotation_kind(op.returns)
    if bound is not None and bound.contract is not None:
        returned = Kind.NONE
    returns_tensor = (
        bound.returns_tensor and bound.contract is None if bound is not None else returned in _TENSOR_RETURNS
    )
    if returns_tensor:
        message = f"{op.function} returns a tensor, and the target's tensor cannot be handed back to Python"
        advice = "make the result a parameter: allocate it in Python and let the C++ function fill it"
        blockers.append(_blocker("TL290", op, message, advice))
    if op.ffi_type not in ("pybind", "ctypes"):
        spelled = op.ffi_type or "something that is only known at run time"
        blockers.append(_blocker("TL790", op, f"{op.function}: ffi_type is {spelled}", "spell it out"))
    return blockers


def _blocker(code: str, op: PyOp, message: str, advice: str) -> Finding:
    return Finding(code, message, op.path, op.start, op.end, Tier.DISPLAY, blocks=True, help=advice)


@dataclass
class _Layout:
    """A file, its style, and whether it is black's, which is found out at most once."""

    file: PyFile
    style: BlackStyle
    _clean: bool | None = None

    def is_clean(self) -> bool:
        """Whether black would leave the file as it is."""
        if self._clean is None:
            text = self.file.data.decode(self.file.encoding).removeprefix("\ufeff").replace("\r\n", "\n")
            self._clean = is_laid_out(text, self.style)
        return self._clean


def _flip(layout: _Layout, op: PyOp) -> Finding:
    """TL701 for one op: the flag goes after the last argument; black's layout where the file is in it."""
    file = layout.file
    try:
        call = decorator_call(file, op)
    except LookupError:
        return _blocker("TL790", op, f"{op.function} is no longer where it was", "run again")
    value = decorator_argument(call, "develop")
    if any(keyword.arg is None for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return _blocker("TL790", op, f"{op.function}: the decorator's arguments are unpacked", "write them out")
    if value is not None and not (isinstance(value, ast.Constant) and value.value is False):
        message = f"{op.function}: develop is {file.text(value)}, which is only known at run time"
        return _blocker("TL790", op, message, "write True or False")
    minimal = _replaced(file, value) if value is not None else _appended(file, call, op)
    edit = _as_black(layout, op, minimal) or minimal
    message = f"{op.function} takes torch tensors in C++ until it is a develop op"
    return Finding("TL701", message, op.path, op.start, op.end, edits=(edit,))


def _replaced(file: PyFile, value: ast.expr) -> Edit:
    start, end = file.span(value)
    return Edit(file.path, start, end, b"True", "TL701")


def _appended(file: PyFile, call: ast.Call, op: PyOp) -> Edit:
    """The flag behind the last argument, on a line of its own when the arguments end in a comma and a newline."""
    data = file.data
    position = last_end = max(
        [file.span(argument)[1] for argument in call.args] + [file.span(keyword)[1] for keyword in call.keywords]
    )
    comma = -1
    while position < op.end - 1:  # what stands before the call's own parenthesis: blanks, comments, ) and a comma
        byte = data[position : position + 1]
        if byte == b"#":
            position = _line_end(data, position)
            continue
        if byte == b")":  # closes a parenthesised argument
            last_end = position + 1
        elif byte == b",":
            comma = position
        position += 1
    if comma < 0:
        return Edit(file.path, last_end, last_end, b", develop=True", "TL701")
    if b"\n" not in data[comma : op.end]:
        return Edit(file.path, comma + 1, comma + 1, b" develop=True,", "TL701")
    line_end = _line_end(data, comma)
    start = data.rfind(b"\n", 0, comma) + 1
    indent = data[start : len(data) - len(data[start:].lstrip(b" \t"))]
    eol = b"\r\n" if data[line_end : line_end + 1] == b"\r" else b"\n"
    return Edit(file.path, line_end, line_end, eol + indent + b"develop=True,", "TL701")


def _line_end(data: bytes, position: int) -> int:
    """Where the line of ``position`` ends, before its line end."""
    newline = data.find(b"\n", position)
    newline = len(data) if newline < 0 else newline
    return newline - 1 if data[newline - 1 : newline] == b"\r" else newline


def _as_black(layout: _Layout, op: PyOp, minimal: Edit) -> Edit | None:
    """The edit that gives black's layout of the decorator; None when ``minimal`` does, or the file is not black's."""
    file = layout.file
    data = file.data
    end = _line_end(data, op.end)  # a comment behind the decorator counts towards the line's length
    line_start = data.rfind(b"\n", 0, op.start) + 1
    indent = data[line_start : op.start].decode(file.encoding).removeprefix("\ufeff")
    old = data[op.start : end].decode(file.encoding)
    new = (data[op.start : minimal.start] + minimal.new + data[minimal.end : end]).decode(file.encoding)
    if "\n" not in new and len(indent) + len(new) <= layout.style.line_length:
        return None  # it fits on its line as it did before
    crlf = data[end : end + 2] == b"\r\n"
    if crlf:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    wanted = lay_out_decorator(new, indent, layout.style)
    if wanted is None or wanted == new:
        return None
    if lay_out_decorator(old, indent, layout.style) != old or not layout.is_clean():
        return None
    kept_before = _common_length(old, wanted)
    kept_after = _common_length(old[kept_before:][::-1], wanted[kept_before:][::-1])
    text = wanted[kept_before : len(wanted) - kept_after]

    def on_disk(part: str) -> bytes:
        return (part.replace("\n", "\r\n") if crlf else part).encode(file.encoding)

    start = op.start + len(on_disk(old[:kept_before]))
    return Edit(
        file.path, start, start + len(on_disk(old[kept_before : len(old) - kept_after])), on_disk(text), "TL701"
    )


def _common_length(a: str, b: str) -> int:
    """How many characters ``a`` and ``b`` have in common at their start."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
