"""From the sources of one side to a program that can be asked to call its entry points.

Programs are kept by what went into them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from torchless.facts.includes import IncludeGraph
from torchless.facts.pool import default_jobs
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.compiling import CompileError, run_compiler, support_object
from torchless.verify.trace.ir import Kernel
from torchless.verify.trace.model import Side, TraceError, TraceOptions
from torchless.verify.trace.toolchain import Toolchain
from torchless.verify.trace.units import Unit, unit_or_why


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
        path, key, missing = _link(chain, flavour, objects, units, options, Path(scratch))
    kernels = {k.symbol: k for u in units for k in u.kernels}
    names = {symbol: params for u in units for symbol, params in u.names.items()}
    store.prune()
    return Program(
        str(path), key, flavour, tuple(kernels[s] for s in sorted(kernels)), names, failures, tuple(sorted(missing))
    )


def _link(
    chain: Toolchain,
    flavour: str,
    objects: Sequence[Path],
    units: Sequence[Unit],
    options: TraceOptions,
    scratch: Path,
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
        run_compiler([*link, *libraries, "-o", str(program)], options.jobs)
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
            more = ["-x", "c++", str(absent), "-x", "none", *libraries, "-o", str(program)]
            run_compiler([*link, *more], options.jobs)
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


_UNDEFINED = re.compile(r"undefined reference to `([^']+)'")
