"""Which units are meant, and with which commands they are compiled."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torchless.closure.build import Closures
from torchless.errors import UsageError
from torchless.profile.commands import build_file, from_database, from_ninja
from torchless.profile.derive import derived, headers_for
from torchless.profile.model import COMPILE, FRONT_END, Unit
from torchless.project.model import Project
from torchless.project.modules import modules_of, tu_specs
from torchless.selection import Selection, SelectionError, select
from torchless.verify.compilers import Compiler, find_compiler

FLAGS = ("auto", "ninja", "database", "derived")


@dataclass(frozen=True)
class Chosen:
    """The units to measure, how far to compile them, and with what, in words."""

    units: tuple[Unit, ...]
    kind: str
    how: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller asks for. names: modules or paths. flags: one of FLAGS. ninja, database: files, "" for the usual.

    depth: FRONT_END, COMPILE, or "auto": compile where the commands are a build's, or nothing is stood in for.
    """

    names: tuple[str, ...]
    modules: tuple[str, ...] = ()
    flags: str = "auto"
    ninja: str = ""
    database: str = ""
    headers: str = "auto"
    arches: tuple[str, ...] = ("gfx942",)
    depth: str = "auto"


def split_names(project: Project, wanted: Wanted) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the paths, the modules) among the names: what is called like a module is one, unless such a file exists."""
    known = {module.name for module in project.modules}
    modules = [name for name in wanted.names if name in known]
    return tuple(n for n in wanted.names if n not in known), (*wanted.modules, *modules)


def choose(project: Project, closures: Closures, wanted: Wanted, start: Path) -> Chosen:
    """The units that ``wanted`` names. Raises UsageError and the errors of the files that it names."""
    paths, names = split_names(project, wanted)
    if not paths and not names:
        raise UsageError("name the modules, sources or folders to profile; a whole checkout takes hours")
    try:
        selection = select(project, start, paths, names)
    except SelectionError as error:
        raise UsageError(str(error)) from None
    pairs = _pairs(project, selection)
    if not pairs:
        what = ", ".join((*paths, *names))
        raise UsageError(f"{what}: no C++ source in it that is compiled; for a header, name a source that reads it")
    root = Path(project.root).resolve()
    units, derive = _from_builds(project, root, pairs, wanted, start)
    compiler = find_compiler() if derive else None
    if derive and compiler is None:
        raise UsageError(
            "no build of these modules to take commands from, and no clang++ 17 or newer to derive some for: build them"
            " once, install clang, or name one in TORCHLESS_CLANG"
        )
    installed = headers_for(wanted.headers)
    whole = installed.complete and compiler is not None and compiler.is_rocm
    for pair in derive:
        assert compiler is not None
        units[pair] = [_derived(project, closures, pair, root, compiler, wanted)]
    kind = wanted.depth
    if kind == "auto":
        kind = COMPILE if not derive or whole else FRONT_END
    how = _words(units, derive, compiler, installed.words)
    return Chosen(tuple(unit for pair in pairs for unit in units.get(pair, ())), kind, how)


Pair = tuple[str, str]
"""(module, source); a source of no module has ""."""


def _pairs(project: Project, selection: Selection) -> list[Pair]:
    owners = modules_of(project)
    out: dict[Pair, None] = {}
    for module in project.modules:
        if module.name in selection.modules:
            out.update(((module.name, source), None) for source in module.sources)
    for source in sorted(selection.sources):
        if all(pair[1] != source for pair in out):
            out[owners[source][0].name if source in owners else "", source] = None
    return list(out)


def _from_builds(
    project: Project, root: Path, pairs: Sequence[Pair], wanted: Wanted, start: Path
) -> tuple[dict[Pair, list[Unit]], list[Pair]]:
    """(the units that a build has commands for, the pairs that are left to derive)."""
    units: dict[Pair, list[Unit]] = {}
    if wanted.flags == "derived":
        return units, list(pairs)
    if wanted.flags in ("auto", "ninja"):
        for module in dict.fromkeys(module for module, _ in pairs if module):
            path = start / wanted.ninja if wanted.ninja else build_file(root, module)
            if path.is_file():
                _take(
                    units, pairs, [u for u in from_ninja(path, root, module) if _starts(u) or wanted.flags == "ninja"]
                )
            elif wanted.ninja:
                raise UsageError(f"{wanted.ninja}: no such file")
    if wanted.flags == "database" or wanted.database:
        path = start / (wanted.database or "compile_commands.json")
        owner = {source: module for module, source in pairs}
        _take(units, pairs, from_database(path, root, owner))
    left = [pair for pair in pairs if pair not in units]
    if left and wanted.flags != "auto":
        raise UsageError(f"{left[0][1]}: the build that was named has no command for it")
    return units, left


def _take(units: dict[Pair, list[Unit]], pairs: Sequence[Pair], found: Sequence[Unit]) -> None:
    """Add the units of ``found`` that are wanted; what a generator printed belongs to its whole module."""
    whole = {module for module, _ in pairs}
    sources = {source for _, source in pairs}
    for unit in found:
        pair = (unit.module, unit.source)
        generated = unit.source.startswith("/") or "/build/" in unit.source
        if pair in pairs or (unit.source in sources and not unit.module):
            units.setdefault(pair, []).append(unit)
        elif generated and unit.module in whole:
            last = [p for p in pairs if p[0] == unit.module][-1]
            units.setdefault(last, []).append(unit)


def _starts(unit: Unit) -> bool:
    """Whether the compiler of a command is on this machine: a build folder may have been copied from another one."""
    return shutil.which(unit.command[0], path=os.pathsep.join([unit.cwd, os.environ.get("PATH", "")])) is not None


def _derived(project: Project, closures: Closures, pair: Pair, root: Path, compiler: Compiler, wanted: Wanted) -> Unit:
    name, source = pair
    module = next((m for m in project.modules if m.name == name), None)
    if module is None:
        spec = closures.specs(source)[0]
    else:
        spec = next(s for s in tu_specs(module, devices=(False,)) if s.source == source)
    spec = replace(spec, device=False, arch=wanted.arches[0])
    return derived(spec, name, root, compiler, headers_for(wanted.headers), wanted.arches)


def _words(
    units: dict[Pair, list[Unit]], derive: Sequence[Pair], compiler: Compiler | None, headers: Sequence[str]
) -> tuple[str, ...]:
    out = []
    origins = sorted({u.origin for pair, found in units.items() if pair not in derive for u in found})
    if origins:
        more = f" and {len(origins) - 1} more" if len(origins) > 1 else ""
        out.append(f"commands from {origins[0]}{more}")
    if compiler is not None:
        out.append(f"commands derived from the modules' configuration, for {compiler.version} ({compiler.path})")
        out += headers
    return tuple(out)
