"""The Python ops that a check is about, with the module and the binding row behind each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchless.lints.declared import Declarations, Declared, declarations, meant
from torchless.model import Related
from torchless.project.model import BindingMacro, BindingRow, BindingTu, Module, PyOp
from torchless.rewrites.bindings import binding_tu, expanded_macros, macros_by_name

if TYPE_CHECKING:
    from torchless.lints.context import Context


@dataclass(frozen=True, slots=True)
class BoundOp:
    """An op that is called through pybind, its module, the binding block of that, and the one row with its name."""

    op: PyOp
    module: Module
    tu: BindingTu
    row: BindingRow

    @property
    def bound_at(self) -> Related:
        """The row, as a place that explains a finding."""
        return Related(self.row.path, self.row.line, f"{self.row.name} is bound here")


def asked_ops(context: Context) -> Iterator[PyOp]:
    """The ops of the modules that were asked for and those in the Python files that were, in the project's order."""
    modules = {module.name for module in context.modules}
    for op in context.project.ops:
        if op.module in modules or op.path in context.python:
            yield op


def bound_ops(context: Context) -> Iterator[BoundOp]:
    """The asked ops that are called through pybind and have exactly one row in their module."""
    ops = [op for op in asked_ops(context) if op.ffi_type == "pybind" and op.module and op.fc_name]
    if not ops:
        return
    modules = {module.name: module for module in context.project.modules}
    macros = macros_by_name(context.project)
    known: dict[str, tuple[BindingTu, dict[str, list[BindingRow]]] | None] = {}
    for op in ops:
        module = modules.get(op.module)
        if module is None:
            continue
        if module.name not in known:
            tu = binding_tu(context.project, module)
            known[module.name] = None if tu is None else (tu, rows_of(tu, macros))
        found = known[module.name]
        rows = found[1].get(op.fc_name, []) if found is not None else []
        if found is not None and len(rows) == 1:
            yield BoundOp(op, module, found[0], rows[0])


def declared_ops(context: Context) -> Iterator[tuple[BoundOp, Declared | None]]:
    """bound_ops() with the C++ function behind each, None where it is not known for certain."""
    known: dict[str, Declarations] = {}
    for bound in bound_ops(context):
        source = bound.tu.path
        if source not in known:
            known[source] = declarations(context, source)
        yield bound, meant(known[source], bound.row.target) if bound.row.target else None


def rows_of(tu: BindingTu, macros: Mapping[str, Sequence[BindingMacro]]) -> dict[str, list[BindingRow]]:
    """Name -> the rows of that name that the block registers, those of macros included."""
    rows: dict[str, list[BindingRow]] = {}
    definitions = [d for name in expanded_macros(tu, macros) for d in macros[name]]
    for row in (*tu.rows, *(row for d in definitions for row in d.rows)):
        rows.setdefault(row.name, []).append(row)
    return rows
