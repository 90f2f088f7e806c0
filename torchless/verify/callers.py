"""Rung 4 for a module, from Python: which of its ops are called, and the libraries that they are called in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePosixPath

from torchless.facts.model import TuSpec
from torchless.project.model import BindingRow, Module, Project, PyOp
from torchless.project.ops import ops_of, parse_python
from torchless.verify.trace.library import CORE, build_core, build_library, build_runtime
from torchless.verify.trace.model import EntryPoint, EntryResult, Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.python_calls import PythonOp, PythonSide, compare_ops
from torchless.verify.tree import Tree


def call_from_python(
    project: Project,
    module: Module,
    trees: tuple[Tree, Tree],
    specs: Sequence[TuSpec],
    core: Sequence[TuSpec],
    points: Sequence[EntryPoint],
    traced: Sequence[EntryResult],
    rows: Sequence[BindingRow],
    options: TraceOptions,
) -> tuple[EntryResult, ...]:
    """Call the ops of ``module`` in both ``trees`` as Python does, with inputs that the trace of C++ found.

    ``specs`` are all host units of the module, ``core`` those of the target's core module. Gives nothing where Python
    has no op for any of the entry points ``points``; "not run", with the reason, where something cannot be built.
    """
    before = {path: _ops(trees[0], path, module) for path in sorted({o.path for o in project.ops})}
    ops = python_ops([op for found in before.values() for op in found], rows, points)
    if not ops:
        return ()
    develop = [any(op.develop for path in before for op in _ops(tree, path, module)) for tree in trees]
    try:
        runtime = build_runtime(options)
        sides = []
        for tree, name, converts in zip(trees, ("before", "after"), develop, strict=True):
            text = TreeText(str(tree.root), dict(tree.overlay))
            own = tuple(points)
            libraries = {module.name: build_library(Side(name, text, tuple(specs), own), options)}
            if (converts or core) and module.name != CORE:
                libraries[CORE] = build_core(text, core, module.include_dirs or project.include_dirs, options)
            sides.append(PythonSide(text, libraries))
    except TraceError as error:
        return tuple(EntryResult(f"{op.module}.{op.name}", "not run", str(error)) for op in ops)
    examples = {e.entry: (e.signature, e.examples) for e in traced if e.signature is not None}
    return compare_ops(sides[0], sides[1], runtime, ops, examples, options)


def python_ops(before: Sequence[PyOp], rows: Sequence[BindingRow], points: Sequence[EntryPoint]) -> list[PythonOp]:
    """The ops as they were ``before`` that the binding ``rows`` lead to one of the entry points, in file order."""
    targets = {row.name: row.target.removeprefix("::") for row in rows if row.target}
    entries = {name: p.name for p in points for name in (p.name.rpartition("::")[2], p.name)}
    found = []
    for op in before:
        target = targets.get(op.fc_name, "")
        entry = entries.get(target, entries.get(target.rpartition("::")[2], ""))
        if entry and op.ffi_type == "pybind":
            params = tuple(param.name for param in op.params)
            defaults = frozenset(param.name for param in op.params if param.default)
            found.append(PythonOp(_dotted(op.path), op.function, entry, params, defaults))
    return found


def python_digest(project: Project, trees: Sequence[Tree]) -> str:
    """A key for every Python file of the package that has the ops, in some versions of the checkout."""
    package = PurePosixPath(project.config_path).parts[:1] or ("",)
    digest = hashlib.sha256()
    for tree in trees:
        folder = tree.root / package[0]
        files = {path.relative_to(tree.root).as_posix() for path in folder.rglob("*.py")} if package[0] else set()
        for path in sorted(files | {path for path in tree.overlay if path.endswith(".py")}):
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
            digest.update(hashlib.sha256(_read(tree, path)).digest())
    return digest.hexdigest()


def one_each(specs: Sequence[TuSpec], module: Module) -> list[TuSpec]:
    """The host pass of every source once, in the way in which ``module`` builds it."""
    found: dict[str, TuSpec] = {}
    for spec in specs:
        if not spec.device and (spec.source not in found or spec.enable_ck == module.enable_ck):
            found[spec.source] = spec
    return list(found.values())


def _ops(tree: Tree, path: str, module: Module) -> list[PyOp]:
    """The ops of ``module`` in a file of one version; none where it is not there or does not parse."""
    data = _read(tree, path)
    if path in tree.absent or module.name.encode() not in data:
        return []
    try:
        found, _ = ops_of(parse_python(path, data))
    except ValueError:
        return []
    return [op for op in found if op.module == module.name]


def _read(tree: Tree, path: str) -> bytes:
    try:
        return tree.read(path)
    except OSError:
        return b""


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")
