"""From the sources of one side to what Python loads: the module and the target's core module, and the fake runtime.

The objects are those of build.py. The runtime is a library of its own that is loaded first, for all to see.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from torchless.facts.includes import IncludeGraph
from torchless.facts.model import TuSpec
from torchless.facts.pool import default_jobs
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.build import offload_text
from torchless.verify.trace.compiling import CompileError, once, run_compiler, support_object
from torchless.verify.trace.ir import Kernel
from torchless.verify.trace.model import Side, TraceError, TraceOptions, TreeText
from torchless.verify.trace.toolchain import RUNTIME, Toolchain
from torchless.verify.trace.units import Unit, unit_or_why

CORE = "module_aiter_core"
"""The module that makes a target's tensor out of Python's."""

_RUNTIME = (("free", "all.cpp"), ("real", "torch_real.cpp"), ("real", "python.cpp"))
_CORE_SOURCE = "torchless_aiter_core.cu"
_REGISTRY = re.compile(rb"__pybind11_internals_v\w+")


@dataclass(frozen=True, slots=True)
class Library:
    """A shared object that Python can import, and the kernels that it registers."""

    path: str
    key: str
    kernels: tuple[Kernel, ...]

    @property
    def registry(self) -> str:
        """Which registry of types its pybind11 uses: libraries that name another one do not see its types."""
        found = _REGISTRY.search(Path(self.path).read_bytes())
        return found[0].decode() if found else ""


def build_runtime(options: TraceOptions) -> Library:
    """The fake runtime with the real torch on it. Raises TraceError."""
    chain = toolchain.find_toolchain(options.compiler)
    if toolchain.find_torch() is None:
        raise TraceError("torch is not installed in this Python")
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        place = Path(scratch)
        try:
            with ThreadPoolExecutor(max_workers=len(_RUNTIME)) as pool:
                objects = list(pool.map(lambda part: support_object(chain, part[0], part[1], options, place), _RUNTIME))
            return _linked(chain, objects, (), toolchain.link_arguments("real"), options, place)
        except CompileError as error:
            raise TraceError(f"the runtime does not compile: {error}") from None


def build_library(side: Side, options: TraceOptions) -> Library:
    """A module of one side from all of its sources. Raises TraceError with what does not compile."""
    chain = toolchain.find_toolchain(options.compiler)
    if not toolchain.pybind_include():
        raise TraceError("no pybind11 with Python's headers is installed")
    graph = IncludeGraph(
        Path(side.tree.root), {s.source: [s.include_dirs] for s in side.specs}, overlay=dict(side.tree.texts)
    )
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        with ThreadPoolExecutor(max_workers=options.jobs or default_jobs()) as pool:
            made = list(pool.map(lambda s: unit_or_why(chain, side, s, graph, options, Path(scratch)), side.specs))
        problems = [why for why in made if isinstance(why, str)]
        units = [unit for unit in made if isinstance(unit, Unit)]
        if problems or not units:
            raise TraceError(problems[0] if problems else "it has no source of its own")
        flavour = next((u.flavour for u in units if u.flavour != "free"), "free")
        libraries = toolchain.link_arguments(flavour, python=True)
        try:
            return _linked(chain, [Path(u.object) for u in units], units, libraries, options, Path(scratch))
        except CompileError as error:
            raise TraceError(f"it does not link: {error}") from None


def build_core(
    tree: TreeText,
    specs: Sequence[TuSpec],
    include_dirs: Sequence[str],
    options: TraceOptions,
    defines: tuple[str, ...] = (),
) -> Library:
    """The target's core module of a tree: its own sources ``specs``, or ours where it has none. Raises TraceError.

    ``defines`` are further ones: what a build of it may have had that the module's has not.
    """
    if not specs:
        text = (RUNTIME / "targets/aiter_core.cpp").read_bytes()
        tree = replace(tree, texts={**tree.texts, _CORE_SOURCE: text})
        specs = (TuSpec(_CORE_SOURCE, include_dirs=tuple(include_dirs), enable_ck=False),)
    specs = tuple(replace(spec, defines=(*spec.defines, *defines)) for spec in specs)
    return build_library(Side("after", tree, specs, ()), options)


def foreign(libraries: Mapping[str, Library]) -> str:
    """What to rebuild when the libraries do not all share one registry of pybind11's, "" when they do.

    Each build of pybind11 keeps its types in a registry named by its version, compiler and standard library. A type
    that one library registers is unknown in another one with another name, and a call with it is a TypeError.
    """
    core = libraries.get(CORE)
    if core is None:
        return ""
    for name, library in libraries.items():
        if library.registry and core.registry and library.registry != core.registry:
            return (
                f"{name} and {CORE} keep their types apart ({library.registry} and {core.registry}): a tensor made by"
                f" one is a TypeError in the other. Rebuild {CORE} and {name} with the same compiler and pybind11"
            )
    return ""


def _linked(
    chain: Toolchain,
    objects: Sequence[Path],
    units: Sequence[Unit],
    libraries: Sequence[str],
    options: TraceOptions,
    scratch: Path,
) -> Library:
    """The shared object of some objects; what nobody defines is looked for when it is called. Raises CompileError."""
    kernels = {k.symbol: k for u in units for k in u.kernels}
    key = store.digest("library", *(path.name for path in objects), *libraries)
    with once(key):
        path = store.find("programs", key)
        if path is None:
            offload = scratch / "offload.cpp"
            offload.write_text(offload_text([s for u in units for s in u.offload]), "utf-8")
            built = scratch / "library.so"
            own = [*map(str, objects), "-x", "c++", str(offload), "-x", "none", *libraries]
            link = [chain.compiler, "-w", "-shared", "-fPIC", *own, "-Wl,-z,lazy", "-o", str(built)]
            run_compiler(link, options.jobs)
            path = store.keep("programs", key, built)
    return Library(str(path), key, tuple(kernels[s] for s in sorted(kernels)))
