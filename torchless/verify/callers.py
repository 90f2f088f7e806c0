"""Rung 4 for a module, from Python: which of its ops are called, and the libraries that they are called in."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import PurePosixPath

from torchless.facts.model import TuSpec
from torchless.project.model import BindingRow, Module, Project, PyOp
from torchless.project.ops import ops_of, parse_python
from torchless.verify.trace.library import CORE, Library, build_core, build_library, build_runtime
from torchless.verify.trace.model import EntryPoint, EntryResult, Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.python_calls import PythonOp, PythonSide, compare_ops
from torchless.verify.trace.units import mentioned
from torchless.verify.tree import Tree


@dataclass(frozen=True, slots=True)
class Callers:
    """The ops of a module, and both versions of it as Python loads them; ``why`` they could not be built."""

    ops: tuple[PythonOp, ...]
    runtime: Library | None = None
    sides: tuple[PythonSide, ...] = ()
    why: str = ""

    def call(self, traced: Sequence[EntryResult], options: TraceOptions) -> tuple[EntryResult, ...]:
        """Call the ops as Python does, with inputs that the trace of C++ found."""
        if self.runtime is None:
            return tuple(EntryResult(f"{op.module}.{op.name}", "not run", self.why) for op in self.ops)
        examples = {e.entry: (e.signature, e.examples) for e in traced if e.signature is not None}
        return compare_ops(self.sides[0], self.sides[1], self.runtime, self.ops, examples, options)


def built_for_python(
    project: Project,
    module: Module,
    trees: tuple[Tree, Tree],
    specs: Sequence[TuSpec],
    core: Sequence[TuSpec],
    points: Sequence[EntryPoint],
    rows: Sequence[BindingRow],
    options: TraceOptions,
) -> Callers:
    """Build what Python loads of ``module`` in both ``trees``.

    ``specs`` are all host units of the module, ``core`` those of the target's core module. There are no ops where
    Python has none for any of the entry points ``points``.
    """
    before = {path: _ops(trees[0], path, module) for path in sorted({o.path for o in project.ops})}
    ops = tuple(python_ops([op for found in before.values() for op in found], rows, points))
    if not ops:
        return Callers(())
    converts = [any(op.develop for path in before for op in _ops(tree, path, module)) for tree in trees]
    texts = [TreeText(str(tree.root), dict(tree.overlay)) for tree in trees]
    sides = [
        Side(name, text, tuple(specs), mentioned(text, points))
        for name, text in zip(("before", "after"), texts, strict=True)
    ]
    folders = module.include_dirs or project.include_dirs
    with ThreadPoolExecutor(max_workers=5) as pool:  # compilers are counted where they are started
        runtime = pool.submit(build_runtime, options)
        own = [pool.submit(build_library, side, options) for side in sides]
        wanted = [(develop or bool(core)) and module.name != CORE for develop in converts]
        cores = [
            pool.submit(build_core, t, core, folders, options) if w else None
            for t, w in zip(texts, wanted, strict=True)
        ]
    try:
        built = []
        for text, library, converter in zip(texts, own, cores, strict=True):
            libraries = {module.name: library.result()}
            if converter is not None:
                libraries[CORE] = converter.result()
            built.append(PythonSide(text, libraries))
        return Callers(ops, runtime.result(), tuple(built))
    except TraceError as error:
        return Callers(ops, why=str(error))


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
