"""One source compiled for the launch trace: its object, and what its intermediate code says.

Each source is compiled together with a few lines of ours that include it and bind its entry points by name, so that
types are those of the source and nothing has to be declared twice. Edited text is laid over the checkout by the
compiler (``-ivfsoverlay``): nothing is copied and no path changes. Objects are kept by content; the files that count
are those that the text of the include directives reaches, which is a superset of what the compiler opens.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchless.facts.includes import IncludeGraph, torch_headers
from torchless.facts.model import TuSpec
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.compiling import CompileError, compile_unit, once, run_compiler
from torchless.verify.trace.ir import Kernel, KernelParam, read_kernels, read_parameter_names, undefined_offload_symbols
from torchless.verify.trace.model import EntryPoint, Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.toolchain import RUNTIME, Toolchain


@dataclass(frozen=True, slots=True)
class Unit:
    """A source that was compiled: its object, and what its intermediate code says."""

    source: str
    object: str
    flavour: str
    kernels: tuple[Kernel, ...]
    names: Mapping[str, tuple[str, ...]]
    offload: tuple[str, ...]


def torch_flavour(options: TraceOptions) -> str:
    """Which torch "before" runs on: "real" or "stand-in". Raises TraceError when the one asked for is not there."""
    if options.torch == "stand-in":
        return "stand-in"
    if toolchain.find_torch() is not None:
        return "real"
    if options.torch == "real":
        raise TraceError("torch is not installed in this Python: install it, or use the stand-in")
    return "stand-in"


def driver(side: Side, source: str, flavour: str, target: bool) -> str:
    """The text that is compiled: the source, the readers of the types that it can have, and its entry points."""
    lines = [f'#include "{posixpath.join(side.tree.root, source)}"']
    if flavour != "free":
        lines.append(f'#include "{RUNTIME}/torch_tensor.h"')
    if target or flavour == "free":
        lines.append(f'#include "{RUNTIME}/targets/aiter.h"')
    names = [e.name for e in side.entries if e.source == source]
    lines += ["namespace {"]
    lines += [f'const bool torchless_bound_{i} = torchless::bind("{name}", &{name});' for i, name in enumerate(names)]
    return "\n".join([*lines, "}", ""])


def mentioned(tree: TreeText, points: Sequence[EntryPoint]) -> tuple[EntryPoint, ...]:
    """Those of ``points`` whose source has their name: of one that it has not, no compiler need be asked."""
    found = []
    for point in points:
        name = re.escape(point.name.rpartition("::")[2].encode())
        if re.search(rb"(?<![A-Za-z0-9_])" + name + rb"(?![A-Za-z0-9_])", _read(tree, point.source)):
            found.append(point)
    return tuple(found)


def _read(tree: TreeText, path: str) -> bytes:
    try:
        return tree.texts[path] if path in tree.texts else (Path(tree.root) / path).read_bytes()
    except OSError:
        return b""


def unit_or_why(
    chain: Toolchain, side: Side, spec: TuSpec, graph: IncludeGraph, options: TraceOptions, scratch: Path
) -> Unit | str:
    """The compiled unit, or one line that says why there is none."""
    closure = graph.closure_of(spec.source)
    spec = _for_python(side.tree, spec)
    target = any(posixpath.basename(path) == "aiter_tensor.h" for path in closure)
    flavours = ["free"] if side.name == "after" or not torch_headers(closure) else []
    flavours += [torch_flavour(options)] if torch_headers(closure) else []
    problem = ""
    for flavour in flavours:
        try:
            return _unit(chain, side, spec, graph, flavour, target, options, scratch)
        except CompileError as error:
            problem = f"{spec.source} does not compile on the host: {error}"
    return problem


def _for_python(tree: TreeText, spec: TuSpec) -> TuSpec:
    """A source that binds functions gets torch's conversions as well; the others do not need them."""
    binds = b"PYBIND11_MODULE" in _read(tree, spec.source)
    return replace(spec, defines=(*spec.defines, _PYTHON)) if binds else spec


def _unit(
    chain: Toolchain,
    side: Side,
    spec: TuSpec,
    graph: IncludeGraph,
    flavour: str,
    target: bool,
    options: TraceOptions,
    scratch: Path,
) -> Unit:
    text = driver(side, spec.source, flavour, target)
    own = toolchain.unit_arguments(spec, "/root")
    common = (toolchain.identity(chain, flavour), *toolchain.common_arguments(flavour, options.arch), *own)
    key = store.digest("unit", *common, text.replace(side.tree.root, "/root"), *_contents(side, spec.source, graph))
    with once(key):
        if key in _refused:
            raise _refused[key]
        kept = _kept(spec.source, flavour, store.read_json("same", key) or key)
        if kept is not None:
            return kept
        place = scratch / f"{side.name}-{store.digest(spec.source, flavour)[:12]}"
        place.mkdir(exist_ok=True)
        (place / "driver.cu").write_text(text, "utf-8", "surrogateescape")
        front = [*toolchain.unit_arguments(spec, side.tree.root), *_overlay(side, place), str(place / "driver.cu")]
        try:
            if not _binds(spec):
                return _compiled(chain, spec, flavour, front, key, options, place)
            # what binds functions reads the rows of all modules, of which mostly others differ
            compile_unit(
                chain, flavour, [*front, "-E", "-P", "-o", str(place / "unit.i")], options, python=_in_front(spec)
            )
            read = (place / "unit.i").read_bytes()
            has_code = b"((global))" in read or any(e.source == spec.source for e in side.entries)
            compiled = _compiled if has_code else _compiled_without_kernels
            alike = store.digest("preprocessed", *common, spec.source, read)
            with once(alike):
                kept = _kept(spec.source, flavour, alike)
                made = kept or compiled(chain, spec, flavour, front, alike, options, place)
            store.write_json("same", key, alike)
        except CompileError as error:
            _refused[key] = error
            raise
        return made


def _binds(spec: TuSpec) -> bool:
    return _PYTHON in spec.defines


def _in_front(spec: TuSpec) -> bool:
    """Whether pybind11 may be read in advance: a define that is meant for it comes too late then."""
    return _binds(spec) and not any(define.startswith("PYBIND11_") for define in spec.defines)


def _compiled(
    chain: Toolchain,
    spec: TuSpec,
    flavour: str,
    front: Sequence[str],
    key: str,
    options: TraceOptions,
    place: Path,
) -> Unit:
    """Compile what ``front`` says and keep it under ``key``. Raises CompileError."""
    emit = ["-Xclang", f"-cuid={key[:16]}", "-S", "-emit-llvm", "-fno-discard-value-names"]
    arguments = [*front, *emit, "-o", str(place / "unit.ll")]
    compile_unit(chain, flavour, arguments, options, python=_in_front(spec))
    assembly = (place / "unit.ll").read_text("utf-8", "replace")
    kernels, names = read_kernels(assembly), read_parameter_names(assembly)
    names = {symbol: params for symbol, params in names.items() if "__device_stub__" not in symbol}
    told: list[Any] = [[[k.symbol, [[p.name, p.leaves] for p in k.params]] for k in kernels], names]
    told.append(undefined_offload_symbols(assembly))
    assemble = [chain.compiler, "-w", "-O0", "-fPIC", "-c", str(place / "unit.ll"), "-o", str(place / "unit.o")]
    run_compiler(assemble, options.jobs)
    return _stored(spec.source, flavour, key, place / "unit.o", json.loads(json.dumps(told)))


def _compiled_without_kernels(
    chain: Toolchain,
    spec: TuSpec,
    flavour: str,
    front: Sequence[str],
    key: str,
    options: TraceOptions,
    place: Path,
) -> Unit:
    """The same for a source that has no kernel and no entry point: there is nothing to read in its code."""
    arguments = [*front, "-Xclang", f"-cuid={key[:16]}", "-c", "-o", str(place / "unit.o")]
    compile_unit(chain, flavour, arguments, options, python=_in_front(spec))
    return _stored(spec.source, flavour, key, place / "unit.o", [[], {}, []])


def _stored(source: str, flavour: str, key: str, built: Path, told: Any) -> Unit:
    path = store.keep("objects", key, built)
    store.write_json("facts", key, told)
    return _from_json(source, path, flavour, told)


def _kept(source: str, flavour: str, key: str) -> Unit | None:
    """The unit that is kept under ``key``."""
    kept, told = store.find("objects", key), store.read_json("facts", key)
    return _from_json(source, kept, flavour, told) if kept is not None and told is not None else None


def _from_json(source: str, path: Path, flavour: str, told: Any) -> Unit:
    kernels = tuple(
        Kernel(symbol, tuple(KernelParam(name, tuple((o, k) for o, k in leaves)) for name, leaves in params))
        for symbol, params in told[0]
    )
    names = {symbol: tuple(params) for symbol, params in told[1].items()}
    return Unit(source, str(path), flavour, kernels, names, tuple(told[2]))


def _contents(side: Side, source: str, graph: IncludeGraph) -> list[bytes | str]:
    """What the unit reads of the checkout: names and bytes of the files that its text reaches."""
    parts: list[bytes | str] = []
    for path in sorted(graph.closure_of(source)):
        parts.append(path)
        if graph.is_file(path) or path == source:
            parts.append(_read(side.tree, path))
    return parts


def _overlay(side: Side, place: Path) -> list[str]:
    """The flag that lays the edited texts over the checkout; none when nothing is edited."""
    if not side.tree.texts:
        return []
    roots = []
    for i, (path, data) in enumerate(sorted(side.tree.texts.items())):
        text = place / f"text{i}"
        text.write_bytes(data)
        name = posixpath.join(side.tree.root, path)
        roots.append({"name": name, "type": "file", "external-contents": str(text)})
    overlay = place / "overlay.yaml"
    overlay.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}), "utf-8")
    return ["-ivfsoverlay", str(overlay)]


_PYTHON = "TORCHLESS_PYTHON"
_refused: dict[str, CompileError] = {}  # what did not compile in this process: it is asked for more than once
