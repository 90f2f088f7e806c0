"""Which functions of which sources to call: entry points from binding rows and from what the parser saw."""

from __future__ import annotations

from collections.abc import Iterable

from torchless.facts.model import TuFacts
from torchless.project.model import BindingRow, Module, Project
from torchless.verify.trace.model import EntryPoint


def bound_targets(project: Project, module: Module) -> tuple[str, ...]:
    """The C++ functions that the binding sources of a module name, as spelled there, in order, each once."""
    macros = {macro.name: macro for macro in project.binding_macros}
    rows: list[BindingRow] = []
    for tu in project.binding_tus:
        if tu.path not in module.sources:
            continue
        rows += tu.rows
        pending = list(tu.macros)
        while pending:
            macro = macros.get(pending.pop(0))
            if macro is not None:
                rows += macro.rows
                pending += macro.expands
    return tuple(dict.fromkeys(row.target for row in rows if row.target))


def defined_entries(facts: Iterable[TuFacts], targets: Iterable[str]) -> tuple[EntryPoint, ...]:
    """Entry points for the functions among ``targets`` that a unit of ``facts`` (host pass) defines.

    A target may be spelled without the namespaces around it. A function that a header defines counts for the first
    source that has it; templates and functions of one name with several definitions in a file are left out.
    """
    wanted = set(targets)
    found: dict[str, EntryPoint] = {}
    for unit in facts:
        if unit.spec.device:
            continue
        for file in sorted(unit.files, key=lambda f: f.path != unit.spec.source):
            defined = [f for f in file.functions if f.body_start >= 0 and not f.is_template and not f.is_kernel]
            names = [f.name for f in defined]
            for name in sorted(set(names)):
                spelled = {name.split("::", n)[-1] for n in range(name.count("::") + 1)}
                if spelled & wanted and names.count(name) == 1:
                    found.setdefault(name, EntryPoint(name, unit.spec.source))
    return tuple(found[name] for name in sorted(found))
