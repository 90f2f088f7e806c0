"""Compile commands of our own, for a checkout that nobody has built: the module's flags over the headers there are."""

from __future__ import annotations

import importlib.util
import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from torchless.errors import UsageError
from torchless.facts import stubs
from torchless.facts.flags import Headers, HeadersError, find_headers, unit_arguments
from torchless.facts.spec import TuSpec
from torchless.profile.model import Unit
from torchless.verify.compilers import Compiler
from torchless.verify.trace.toolchain import RUNTIME

GAPS = Path(__file__).resolve().parent / "gaps"
"""Headers of torch's HIP half beyond those of the launch trace, for a torch that was built for the CPU."""

_PASS = re.compile(r"--cuda-(?:host|device)-only\Z|--offload-arch=")


@dataclass(frozen=True, slots=True)
class Installed:
    """The headers to measure over, in words for a report, and whether torch's are real."""

    headers: Headers
    words: tuple[str, ...]
    real_torch: bool
    complete: bool


@cache
def headers_for(kind: str) -> Installed:
    """The headers ``stubs``, ``system``, or ``auto``: system where torch is installed, else stubs. Raises UsageError.

    complete: nothing is stood in for, so that what is measured is a compilation as a build makes it.
    """
    torch = importlib.util.find_spec("torch")
    if kind == "auto":
        kind = "system" if torch is not None and torch.submodule_search_locations else "stubs"
    try:
        found = find_headers(kind)
    except HeadersError as error:
        raise UsageError(str(error)) from None
    if kind == "stubs":
        told = "stand-ins of torchless for torch, HIP, pybind11 and composable_kernel: what torch costs is not in it"
        return Installed(found, (told,), False, False)
    include = Path(found.search[0])
    own = [str(folder) for folder in stubs.stub_dirs()]
    outside = [folder for folder in found.search if folder not in own]
    rocm = [folder for folder in outside if Path(folder, "hip", "hip_runtime.h").is_file()]
    has_hip_half = (include / "ATen/hip/HIPContext.h").is_file()
    front = [] if has_hip_half else [str(GAPS), str(RUNTIME / "torch_gpu")]
    python = sysconfig.get_paths()["include"]
    # torch brings pybind11 of its own; thrust's complex numbers come last, and only where there is no ROCm
    fill = [str(folder) for folder in stubs.stub_dirs(torch=False) if folder.name != "pybind11"]
    last = [] if rocm else [str(RUNTIME / "torch_real")]
    search = (*front, *outside, *([python] if Path(python, "Python.h").is_file() else []), *fill, *last)
    words = [f"torch {_version(include)} as installed"]
    if not has_hip_half:
        words.append("stand-ins for torch's HIP half, which a build for the CPU lacks")
    words.append(f"ROCm as installed in {rocm[0]}" if rocm else "stand-ins for HIP and composable_kernel")
    return Installed(replace(found, search=search), tuple(words), True, bool(rocm) and has_hip_half)


def _version(include: Path) -> str:
    try:
        found = re.search(r"__version__ = '([^']+)'", (include.parent / "version.py").read_text("utf-8"))
    except OSError:
        found = None
    return found[1] if found else "of unknown version"


def derived(
    spec: TuSpec, module: str, root: Path, compiler: Compiler, installed: Installed, arches: Sequence[str]
) -> Unit:
    """The unit of ``spec`` (either pass) as ``compiler`` compiles it over ``installed``, optimised as by the JIT."""
    arguments = unit_arguments(spec, root, installed.headers)
    if installed.complete:  # a whole compiler over whole headers needs none of what the stand-ins need
        arguments = [a for a in _without_prelude(arguments) if a not in ("-nogpuinc", "-nogpulib", "-nohipwrapperinc")]
    kept = [
        argument for argument in arguments if not _PASS.match(argument) and not argument.startswith("-ferror-limit")
    ]
    command = (compiler.path, *kept, "-O3", "-fno-builtin") if not installed.complete else (compiler.path, *kept, "-O3")
    return Unit(
        spec.source, module, command, str(root), str(root), tuple(arches), "derived from the module's configuration"
    )


def _without_prelude(arguments: Sequence[str]) -> list[str]:
    out: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-include":
            next(rest)
        elif not argument.startswith("-resource-dir="):
            out.append(argument)
    return out
