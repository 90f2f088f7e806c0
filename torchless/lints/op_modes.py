"""TL712 and TL714: ops whose calls cannot reach their C++ function, and lists of tensors in develop ops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchless.lints.bound import BoundOp, asked_ops, declared_ops
from torchless.lints.declared import TARGET, TORCH, Declared
from torchless.model import Edit, Finding, Related, Tier
from torchless.project.model import PyOp
from torchless.rewrites.python_layout import read_style
from torchless.rewrites.python_ops import Bound, Kind, annotation_kind, develop_flags

if TYPE_CHECKING:
    from torchless.lints.context import Context

MODE = "TL712"
LISTS = "TL714"


def findings(context: Context) -> Iterator[Finding]:
    """At each op whose calls cannot reach its C++ function."""
    lists: dict[PyOp, list[str]] = {}
    where: dict[PyOp, tuple[Related, ...]] = {}
    for op in asked_ops(context):
        if op.develop and op.ffi_type == "pybind":
            lists[op] = [p.name for p in op.params if annotation_kind(p.annotation) is Kind.TENSOR_LIST]
    for bound, function in declared_ops(context):
        if function is None:
            continue
        op = bound.op
        where[op] = (bound.bound_at, _declared_at(context, function))
        yield from _mismatch(context, bound, function, where[op])
        if op in lists:
            named = [name or "an unnamed one" for name, kind in function.params if kind == f"list {TARGET}"]
            lists[op] = list(dict.fromkeys((*lists[op], *named)))
    for op, names in lists.items():
        if names:
            message = f"{op.function} takes a list of tensors ({', '.join(names)}), and a develop op converts none"
            advice = "pass the tensors one by one, or a list of their data pointers"
            related = where.get(op, ())
            yield Finding(LISTS, message, op.path, op.start, op.end, Tier.DISPLAY, help=advice, related=related)


def _mismatch(context: Context, bound: BoundOp, function: Declared, related: tuple[Related, ...]) -> Iterator[Finding]:
    """For an op whose tensors do not arrive as what the function takes, or whose result does not arrive in Python."""
    op = bound.op
    edits: tuple[Edit, ...] = ()
    if TARGET in function.returns.split():
        message = f"{op.function}: {function.name} returns aiter_tensor_t, which pybind cannot hand back to Python"
        advice = "make the result a parameter: allocate it in Python and let the C++ function fill it"
    elif op.develop and TORCH in function.tensors:
        message = f"{op.function} is a develop op, but {function.name} in C++ takes or returns torch tensors"
        advice = f"migrate the module (torchless migrate --module {bound.module.name}), or take develop=True out"
    elif not op.develop and function.tensors == {TARGET}:
        message = f"{op.function} is no develop op, but {function.name} in C++ takes aiter_tensor_t"
        advice = "add develop=True"
        flips = develop_flags([op], context.source, {op: Bound(True, False)}, read_style(context.root))
        if not any(f.blocks for f in flips):
            edits = tuple(replace(e, code=MODE) for f in flips for e in f.edits)
    else:
        return
    tier = Tier.SAFE if edits else Tier.DISPLAY
    yield Finding(MODE, message, op.path, op.start, op.end, tier, edits, help=advice, related=related)


def _declared_at(context: Context, function: Declared) -> Related:
    line = context.source(function.path).line_of(function.start)
    return Related(function.path, line, f"{function.name} is declared here")
