"""From the sources of one side to a program that can be asked to call its entry points.

Each source is compiled together with a few lines of ours that include it and bind its entry points by name, so that
types are those of the source and nothing has to be declared twice. Edited text is laid over the checkout by the
compiler (``-ivfsoverlay``): nothing is copied and no path changes. Objects and programs are kept by content; the files
that count are those that the text of the include directives reaches, which is a superset of what the compiler opens.
"""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchless.facts.includes import IncludeGraph, torch_headers
from torchless.facts.model import TuSpec
from torchless.facts.pool import default_jobs
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.ir import Kernel, KernelParam, read_kernels, read_parameter_names, undefined_offload_symbols
from torchless.verify.trace.model import Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.toolchain import RUNTIME, Toolchain

TIMEOUT = 1800.0
"""Seconds of wall time that one compiler may take: it takes some twenty, but shares the machine with others."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A source that was compiled: its object, and what its intermediate code says."""

    source: str
    object: str
    flavour: str
    kernels: tuple[Kernel, ...]
    names: Mapping[str, tuple[str, ...]]
    offload: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A program that calls entry points. ``key`` stands for everything that went into it.

    ``failures``: why sources could not be compiled, by source. ``missing``: symbols that nothing defines; a call that
    reaches one says so.
    """

    path: str
    key: str
    flavour: str
    kernels: tuple[Kernel, ...]
    names: Mapping[str, tuple[str, ...]]
    failures: Mapping[str, str]
    missing: tuple[str, ...]


class CompileError(Exception):
    """A compiler or linker said no: (its first error, all that it said)."""

    def __str__(self) -> str:
        return str(self.args[0])


def build(side: Side, options: TraceOptions) -> Program:
    """Compile and link one side. Raises TraceError when there is no compiler or nothing compiles."""
    chain = toolchain.find_toolchain(options.compiler)
    graph = IncludeGraph(
        Path(side.tree.root), {s.source: [s.include_dirs] for s in side.specs}, overlay=dict(side.tree.texts)
    )
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        jobs = options.jobs or default_jobs()
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            support = pool.submit(support_object, chain, "free", "all.cpp", options, Path(scratch))
            made = list(pool.map(lambda s: unit_or_why(chain, side, s, graph, options, Path(scratch)), side.specs))
            units = [u for u in made if isinstance(u, Unit)]
            failures = {s.source: u for s, u in zip(side.specs, made, strict=True) if isinstance(u, str)}
            if not units:
                raise TraceError("; ".join(dict.fromkeys(failures.values())) or "there is nothing to compile")
            objects = [support.result(), *(Path(u.object) for u in units)]
        flavour = next((u.flavour for u in units if u.flavour != "free"), "free")
        if flavour != "free":
            name = "torch_real.cpp" if flavour == "real" else "torch_shim.cpp"
            objects.append(support_object(chain, flavour, name, options, Path(scratch)))
        path, key, missing = _link(chain, flavour, objects, units, Path(scratch))
    kernels = {k.symbol: k for u in units for k in u.kernels}
    names = {symbol: params for u in units for symbol, params in u.names.items()}
    store.prune()
    return Program(
        str(path), key, flavour, tuple(kernels[s] for s in sorted(kernels)), names, failures, tuple(sorted(missing))
    )


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
    text = tree.texts.get(spec.source)
    if text is None:
        try:
            text = (Path(tree.root) / spec.source).read_bytes()
        except OSError:
            return spec
    return replace(spec, defines=(*spec.defines, "TORCHLESS_PYTHON")) if b"PYBIND11_MODULE" in text else spec


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
    key = store.digest(
        "unit",
        toolchain.identity(chain, flavour),
        *toolchain.common_arguments(flavour, options.arch),
        *own,
        text.replace(side.tree.root, "/root"),
        *_contents(side, spec.source, graph),
    )
    kept, told = store.find("objects", key), store.read_json("facts", key)
    if kept is not None and told is not None:
        return _from_json(spec.source, kept, flavour, told)
    place = scratch / f"{side.name}-{store.digest(spec.source, flavour)[:12]}"
    place.mkdir(exist_ok=True)
    (place / "driver.cu").write_text(text, "utf-8", "surrogateescape")
    arguments = [
        *toolchain.unit_arguments(spec, side.tree.root),
        *_overlay(side, place),
        *("-Xclang", f"-cuid={key[:16]}"),
        *("-S", "-emit-llvm", "-fno-discard-value-names"),
        str(place / "driver.cu"),
        *("-o", str(place / "unit.ll")),
    ]
    _compile(chain, flavour, arguments, options, place)
    assembly = (place / "unit.ll").read_text("utf-8", "replace")
    kernels, names = read_kernels(assembly), read_parameter_names(assembly)
    names = {symbol: params for symbol, params in names.items() if "__device_stub__" not in symbol}
    told = [[[k.symbol, [[p.name, p.leaves] for p in k.params]] for k in kernels], names]
    told.append(undefined_offload_symbols(assembly))
    run_compiler([chain.compiler, "-w", "-O0", "-fPIC", "-c", str(place / "unit.ll"), "-o", str(place / "unit.o")])
    object_path = store.keep("objects", key, place / "unit.o")
    told = json.loads(json.dumps(told))
    store.write_json("facts", key, told)
    return _from_json(spec.source, object_path, flavour, told)


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
            data = side.tree.texts.get(path)
            try:
                parts.append((Path(side.tree.root) / path).read_bytes() if data is None else data)
            except OSError:
                parts.append("")
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


def _compile(chain: Toolchain, flavour: str, arguments: Sequence[str], options: TraceOptions, place: Path) -> None:
    """Compile with the precompiled header, and where that fails without: it is not to blame for what then fails."""
    common = [chain.compiler, *toolchain.common_arguments(flavour, options.arch)]
    repair = place / "repair.h"
    repair.write_bytes(toolchain.repair_text())
    try:
        front = toolchain.precompiled_arguments(str(_precompiled(chain, flavour, options)), str(repair))
        run_compiler([*common, *front, *arguments])
    except CompileError:
        run_compiler([*common, *arguments])


def _precompiled(chain: Toolchain, flavour: str, options: TraceOptions) -> Path:
    """The precompiled header for units of a flavour; built when it is not there."""
    arguments = toolchain.common_arguments(flavour, options.arch)
    key = store.digest("pch", toolchain.identity(chain, flavour), *arguments)
    kept = store.find("pch", key)
    if kept is not None:
        return kept
    with _building[flavour]:
        kept = store.find("pch", key)
        if kept is not None:
            return kept
        with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
            built = Path(scratch) / "front.pch"
            header = RUNTIME / ("front.h" if flavour == "free" else "torch_front.h")
            emit = ["-Xclang", "-emit-pch", "-Xclang", "-fno-pch-timestamp", "-c", str(header)]
            run_compiler([chain.compiler, *arguments, *emit, "-o", str(built)])
            return store.keep("pch", key, built)


def support_object(
    chain: Toolchain, flavour: str, name: str, options: TraceOptions, scratch: Path, more: Sequence[str] = ()
) -> Path:
    """An object of our own: the runtime, or what makes a torch ready for it. ``more`` are further arguments."""
    arguments = [*toolchain.common_arguments(flavour, options.arch), *more]
    key = store.digest("support", name, toolchain.identity(chain, flavour), *arguments)
    kept = store.find("objects", key)
    if kept is not None:
        return kept
    place = scratch / f"support-{key[:16]}"
    place.mkdir(exist_ok=True)
    built = place / "support.o"
    own = [*more, "-Xclang", f"-cuid={key[:16]}", "-c", str(RUNTIME / name), "-o", str(built)]
    _compile(chain, flavour, own, options, place)
    return store.keep("objects", key, built)


def _link(
    chain: Toolchain, flavour: str, objects: Sequence[Path], units: Sequence[Unit], scratch: Path
) -> tuple[Path, str, list[str]]:
    """(program, its key, symbols that were missing). What nobody defines is defined to say so when it is called."""
    libraries = toolchain.link_arguments(flavour)
    key = store.digest("program", *(path.name for path in objects), *libraries)
    kept, told = store.find("programs", key), store.read_json("missing", key)
    if kept is not None and told is not None:
        return kept, key, told
    offload = scratch / "offload.cpp"
    offload.write_text(offload_text([s for u in units for s in u.offload]), "utf-8")
    program = scratch / "program"
    link = [chain.compiler, "-w", "-Wl,--no-demangle", *map(str, objects), "-x", "c++", str(offload), "-x", "none"]
    missing: list[str] = []
    try:
        run_compiler([*link, *libraries, "-o", str(program)])
    except CompileError as error:
        missing = sorted(set(_UNDEFINED.findall(str(error.args[1]))))
        data = [symbol for symbol in missing if symbol.startswith(("_ZTV", "_ZTI", "_ZTT", "_ZGV"))]
        if data or not missing:
            raise TraceError(
                f"the program does not link: {data[0] + ' is nowhere defined' if data else error}"
            ) from None
        absent = scratch / "missing.cpp"
        absent.write_text(_missing_text(missing), "utf-8")
        try:
            run_compiler([*link, "-x", "c++", str(absent), "-x", "none", *libraries, "-o", str(program)])
        except CompileError as again:
            raise TraceError(f"the program does not link: {again}") from None
    path = store.keep("programs", key, program)
    store.write_json("missing", key, missing)
    return path, key, missing


def offload_text(symbols: Sequence[str]) -> str:
    """Definitions of the device code that was not built. They are hidden, so they must be in the same program."""
    lines = []
    for symbol in sorted(set(symbols)):
        kind = "char" if "fatbin" in symbol else "void*"
        lines.append(f'extern "C" __attribute__((visibility("hidden"))) {kind} {symbol}[8] = {{}};')
    return "\n".join([*lines, ""])


def _missing_text(symbols: Sequence[str]) -> str:
    lines = ["namespace torchless { [[noreturn]] void missing(const char*); }"]
    for i, symbol in enumerate(symbols):
        lines.append(f'extern "C" void torchless_missing_{i}() __asm__("{symbol}");')
        lines.append(f'void torchless_missing_{i}() {{ torchless::missing("{symbol}"); }}')
    return "\n".join([*lines, ""])


def run_compiler(command: Sequence[str]) -> None:
    """Run a compiler. Raises CompileError with (first error, all that was said)."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise CompileError(f"took longer than {TIMEOUT:g} s", "") from None
    except OSError as error:
        raise TraceError(f"{command[0]} cannot be run: {error.strerror}") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line or "undefined reference" in line]
        raise CompileError(errors[0] if errors else f"exit code {done.returncode}", done.stderr)


_building = {flavour: threading.Lock() for flavour in ("free", "real", "stand-in")}  # one at a time is enough
_UNDEFINED = re.compile(r"undefined reference to `([^']+)'")
