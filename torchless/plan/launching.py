"""Which functions launch kernels, themselves or through what they call, and which put up a device guard first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView
from torchless.rewrites.guards import GUARD
from torchless.text.lexer import Kind
from torchless.units.entities import Entity, EntityIndex


@dataclass(frozen=True, slots=True)
class Launching:
    """Unqualified names of functions and macros that launch, and of those that guard the device themselves."""

    launch: frozenset[str]
    guard: frozenset[str]


def find_launching(
    functions: Mapping[str, Iterable[FunctionFact]], views: Mapping[str, FileView], index: EntityIndex
) -> Launching:
    """Start from the functions and macros with a <<<...>>> of their own and follow calls backwards, by name.

    A call of what guards itself does not make a launcher. Names are compared without their namespaces, and a name
    guards only if all that have it do: too many launchers make a guard too many, never one too few.
    """
    launch = {name.rsplit("::", 1)[-1] for name, group in functions.items() if any(f.launches for f in group)}
    defined: dict[str, set[Entity]] = {}
    guarding: set[Entity] = set()
    calls: dict[str, set[str]] = {}
    for path, view in views.items():
        holder: Entity | None = None
        for token in view.tokens:
            if holder is None or not holder.start <= token.start < holder.end or holder.kind == "file":
                holder = index.at(path, token.start)
            if holder is None or holder.kind not in ("function", "macro"):
                continue
            if holder.defines:
                defined.setdefault(holder.last_name, set()).add(holder)
            if token.text == b"<<<":
                launch.add(holder.last_name)
            elif token.kind is Kind.NAME:
                if GUARD.fullmatch(token.text):
                    guarding.add(holder)
                calls.setdefault(token.text.decode("latin-1"), set()).add(holder.last_name)
    guard = {name for name, holders in defined.items() if holders <= guarding}
    pending = sorted(launch - guard)
    while pending:
        for caller in sorted(calls.get(pending.pop(), ())):
            if caller not in launch:
                launch.add(caller)
                if caller not in guard:
                    pending.append(caller)
    return Launching(frozenset(launch), frozenset(guard))
