"""Which compiler and which torch there are, and the command lines that follow from it.

Everything is compiled for the host alone (``-x hip --cuda-host-only``) over our HIP stubs, by a plain clang. Three
flavours of torch: "real" (an installed torch, any build, with torch_gpu/ for the half that a build for the CPU lacks),
"stand-in" (torch_shim/), and "free" (none: what a migrated source must do with).
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchless.facts import flags, stubs
from torchless.facts.model import TuSpec
from torchless.facts.pch import REPAIR
from torchless.verify.trace import store
from torchless.verify.trace.model import TraceError

RUNTIME = Path(__file__).resolve().parent.parent / "runtime"
"""Our C++: the fake HIP runtime, the harness, what stands in for torch."""

_OLDEST = 17
_FIXED = (
    "-x", "hip", "-std=c++20", "--cuda-host-only", "-nogpuinc", "-nogpulib", "-nohipwrapperinc", "-w", "-O0",
    # objects become a program, and libraries that Python loads; the target's own build hides inline functions as well
    "-fPIC", "-fvisibility-inlines-hidden",
    "-D__HIP_PLATFORM_AMD__=1", "-DUSE_ROCM", "-ferror-limit=5", "-fno-spell-checking",
    # what a launcher leaves unset must not differ from run to run
    "-ftrivial-auto-var-init=pattern",
    *stubs.COMPILER_FLAGS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Torch:
    """An installed torch: its folder and version, and whether it was built with the new C++ ABI of libstdc++."""

    folder: str
    version: str
    new_abi: bool

    @property
    def include(self) -> tuple[str, ...]:
        """Its include folders, in order."""
        base = f"{self.folder}/include"
        return (base, f"{base}/torch/csrc/api/include")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler, by path and version text."""

    compiler: str
    version: str


@cache
def find_toolchain(wanted: str = "") -> Toolchain:
    """The compiler ``wanted``, TORCHLESS_CLANG, or a clang++ on the path. Raises TraceError when there is none."""
    wanted = wanted or os.environ.get("TORCHLESS_CLANG", "")
    names = [wanted] if wanted else ["clang++-19", *(f"clang++-{n}" for n in (21, 20, 18, _OLDEST)), "clang++"]
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        number = re.search(r"version (\d+)", told)
        if number and int(number[1]) >= _OLDEST:
            return Toolchain(path, told.splitlines()[0])
    what = wanted or f"clang++ {_OLDEST} or newer"
    raise TraceError(f"the launch trace compiles host code and needs {what}, which is not on the path")


@cache
def find_torch() -> Torch | None:
    """The torch of this Python, None when none with headers and libraries is installed. It is not imported."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    library = folder / "lib/libc10.so"
    if not (folder / "include/torch/csrc/api/include/torch/types.h").is_file() or not library.is_file():
        return None
    try:
        version = re.search(r"__version__ = '([^']+)'", (folder / "version.py").read_text("utf-8"))
    except OSError:
        version = None
    return Torch(str(folder), version[1] if version else "unknown", b"__cxx1112basic_string" in library.read_bytes())


@cache
def pybind_include() -> tuple[str, ...]:
    """The include folders of a pybind11 that runs, and of this Python; () where either is missing.

    pybind11's own package, or the copy that torch brings: then a folder of links that shows nothing else of torch.
    """
    python = sysconfig.get_paths()["include"]
    if not Path(python, "Python.h").is_file():
        return ()
    spec = importlib.util.find_spec("pybind11")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(next(iter(spec.submodule_search_locations))) / "include"
        if (folder / "pybind11/pybind11.h").is_file():
            return (str(folder), python)
    torch = find_torch()
    brought = Path(torch.folder, "include/pybind11") if torch is not None else None
    if brought is None or not (brought / "pybind11.h").is_file():
        return ()
    return (str(store.linked(brought)), python)


@cache
def runtime_digest() -> str:
    """A key for the bytes of all of our C++."""
    files = sorted(p for p in RUNTIME.rglob("*") if p.is_file())
    return store.digest(*(part for p in files for part in (p.relative_to(RUNTIME).as_posix(), p.read_bytes())))


def identity(toolchain: Toolchain, flavour: str) -> str:
    """A key for all that is outside of the project: compiler, standard library, stubs, runtime, torch."""
    torch = find_torch() if flavour == "real" else None
    told = ""
    if torch is not None:
        stat = (Path(torch.folder) / "version.py").stat()
        told = f"{torch}:{stat.st_size}:{stat.st_mtime_ns}"
    return store.digest(
        toolchain.compiler, toolchain.version, flags.toolchain(), flags.stubs_digest(), runtime_digest(), told
    )


def common_arguments(flavour: str, arch: str) -> list[str]:
    """What all units of a flavour share, and what a precompiled header for them is built with."""
    arguments = [*_FIXED, f"--offload-arch={arch}", "-include", str(stubs.PRELUDE)]
    if flavour == "real":
        torch = find_torch()
        if torch is None:
            raise TraceError("torch is not installed")
        arguments.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.new_abi)}")
        own = [str(RUNTIME / "torch_real"), str(RUNTIME / "torch_gpu")]
        python = sysconfig.get_paths()["include"]
        folders = [*own, *torch.include, *([python] if Path(python, "Python.h").is_file() else [])]
    elif flavour == "stand-in":
        folders = [str(RUNTIME / "torch_shim"), str(RUNTIME / "torch_gpu")]
    else:
        folders = list(pybind_include())
    # our stubs fill the gaps: torch's where its stand-in has no header of its own, pybind11's where torch brings none
    rest = stubs.stub_dirs(torch=flavour == "stand-in")
    if flavour == "real" or (flavour == "free" and pybind_include()):
        rest = [folder for folder in rest if folder.name != "pybind11"]
    for folder in [*folders, *map(str, rest)]:
        arguments += ["-isystem", folder]
    return arguments


def unit_arguments(spec: TuSpec, root: str) -> list[str]:
    """What one unit adds: its defines and include folders. Paths in the object are relative to ``root``."""
    arguments = [f"-DENABLE_CK={int(spec.enable_ck)}"]
    arguments += [f"-D{define}" for define in spec.defines]
    if not any(define.startswith("TORCH_EXTENSION_NAME") for define in spec.defines):
        arguments.append("-DTORCH_EXTENSION_NAME=extension")
    for folder in spec.include_dirs:
        arguments.append("-I" + os.path.normpath(os.path.join(root, folder)))  # noqa: PTH118 - a string all the way
    return [*arguments, f"-ffile-prefix-map={root.rstrip('/')}/="]


def precompiled_arguments(header: str, repair: str) -> list[str]:
    """What uses the precompiled ``header``; ``repair`` is a file with repair_text() in it."""
    return ["-Xclang", "-include-pch", "-Xclang", header, "-include", repair]


def repair_text() -> bytes:
    """What has to be declared again after a precompiled header for HIP was read; see facts/pch.py."""
    return REPAIR


def link_arguments(flavour: str, *, python: bool = False) -> list[str]:
    """The libraries of a program, or of what Python loads."""
    if flavour != "real":
        return []
    torch = find_torch()
    if torch is None:
        raise TraceError("torch is not installed")
    lib = f"{torch.folder}/lib"
    more = ["-ltorch_python"] if python else []
    return [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", *more, "-ltorch_cpu", "-ltorch", "-lc10"]
