"""TL611: modules that read no torch but are still built with it, and what keeps them from torch_exclude."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchless.closure.model import Closure
from torchless.lints.module_entries import Entry, entry_of
from torchless.lints.scan import FileScan, scans
from torchless.model import Finding, Related, Tier
from torchless.project.bindings import MODULE_MACRO
from torchless.project.model import Module
from torchless.rewrites.bindings import binding_tu
from torchless.rewrites.generators import printed_torch, scripts_of
from torchless.text.source import SourceFile

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL611"
_TORCH = "torch"  # the category of heavy headers
_NAME_MACRO = b"TORCH_EXTENSION_NAME"
_FP4_MACRO = b"TORCH_Float4_e2m1fn_x2"  # defined by the JIT where torch has the type
_FP4 = FileScan("fp4 macro", 1, lambda data: data.find(_FP4_MACRO))


def findings(context: Context) -> Iterator[Finding]:
    """One per module whose sources reach no torch header in any pass."""
    ctypes = {op.module for op in context.project.ops if op.ffi_type == "ctypes"}
    pybind = {op.module for op in context.project.ops if op.ffi_type != "ctypes"}
    torch: set[str] = set()
    light: set[str] = set()
    for module in context.modules:
        entry = entry_of(context, module)
        is_library = entry is not None and (
            "is_python_module" in entry.values and not entry.is_true("is_python_module")
        )
        if entry is None or is_library or module.torch_exclude or not module.sources or module.name not in pybind:
            continue
        closures = [c for source in module.sources for c in context.closures_of(source)]
        outside = set().union(*(closure.outside for closure in closures))
        for header in outside - light - torch:
            (torch if context.heavy.category(header) == _TORCH else light).add(header)
        if not outside.isdisjoint(torch) or _generates_torch(context, module):
            continue
        obstacles = list(_obstacles(context, entry, closures))
        told = "; its ctypes ops build it so already" if module.name in ctypes else ""
        told += f"; in the way: {'; '.join(text for text, _ in obstacles)}" if obstacles else ""
        yield Finding(
            CODE,
            f"{module.name} reads no torch and could be built without it (torch_exclude){told}",
            context.project.config_path,
            module.entry_start,
            entry.name_end,
            Tier.DISPLAY,
            help='mend what is in the way, then add "torch_exclude": "True" and build the module from scratch',
            related=tuple(place for _, place in obstacles if place is not None),
        )


def _obstacles(context: Context, entry: Entry, closures: list[Closure]) -> Iterator[tuple[str, Related | None]]:
    """(what it is, where) for everything that the flag would break."""
    module = entry.module
    yield from _binding(context, module)
    folder = f"{context.project.csrc}/include/torch/"
    for edge in dict.fromkeys(edge for closure in closures for edge in closure.edges):
        if edge.target.startswith(folder) and not edge.spelled.startswith("torch/"):
            place = Related(edge.includer, edge.line, f"{edge.spelled} is found in {folder}")
            yield f"{edge.spelled} is found through -I {folder[:-1]}, which goes as well", place
            break
    files = {path for closure in closures for path in closure.via if path not in closure.outside}
    for path, at in scans(context, files, _FP4):
        if at >= 0:
            name = _FP4_MACRO.decode()
            place = Related(path, context.source(path).line_of(at), f"{name} is not defined then")
            yield f"{path} asks for {name}", place
            break
    if module.has_generator:
        yield "the sources that its generator prints were not looked at", None


def _binding(context: Context, module: Module) -> Iterator[tuple[str, Related | None]]:
    tu = binding_tu(context.project, module)
    if tu is None:
        yield "its binding is not in the checkout", None
        return
    source = context.source(tu.path)
    at = source.data.rfind(MODULE_MACRO, 0, tu.body_start)
    if _NAME_MACRO not in source.data[at : tu.body_start]:
        return
    named = "its name is made at run time" if _is_named_at_run_time(context, module) else f"write {module.name} there"
    place = Related(tu.path, source.line_of(at), f"{_NAME_MACRO.decode()} is not defined then: {named}")
    yield f"{MODULE_MACRO.decode()}({_NAME_MACRO.decode()}, ...), a macro that goes as well", place


def _is_named_at_run_time(context: Context, module: Module) -> bool:
    return any(op.has_gen_func for op in context.project.ops if op.module == module.name)


def _generates_torch(context: Context, module: Module) -> bool:
    """Whether a script that prints sources of the module has torch in its text; one that cannot be read may have."""
    scripts = scripts_of(context.root, module)
    found = dict(scans(context, scripts, _PRINTED))
    return any(found.get(script, (0, 0)) is not None for script in scripts)


def _printed_torch(data: bytes) -> tuple[int, int] | None:
    return printed_torch(SourceFile("script.py", data))


_PRINTED = FileScan("printed torch", 1, _printed_torch)
