"""Precompiled headers of the stubs: one with torch and one without, for each pass and architecture.

``-x hip`` and precompiled headers do not get along in clang 18: when one is loaded, functions that differ only in being
for the host or for the device are merged. Of the global operator new and delete, which every unit has implicitly, only
the device's are left, and the first instantiation of std::vector for the host crashes the parser. REPAIR, which goes in
front of every unit that uses a precompiled header, declares them for the host again.

One error that is not there remains: templates that were read into the precompiled header and name operator delete, as
std::allocator does, still find the device's. clang.py leaves it out; it has no part in any type.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.facts import flags, libclang
from torchless.facts.model import TuSpec

_STANDARD = (
    "algorithm", "array", "atomic", "cassert", "cfloat", "chrono", "climits", "cmath", "cstddef", "cstdint", "cstdio",
    "cstdlib", "cstring", "exception", "fstream", "functional", "initializer_list", "iomanip", "iostream", "iterator",
    "limits", "list", "map", "memory", "mutex", "numeric", "optional", "ostream", "random", "set", "sstream",
    "stdexcept", "string", "string_view", "thread", "tuple", "type_traits", "typeinfo", "unordered_map",
    "unordered_set", "utility", "variant", "vector",
)  # fmt: skip
_DEVICE = (
    "hip/hip_runtime.h", "hip/hip_fp16.h", "hip/hip_bf16.h", "hip/hip_bfloat16.h", "hip/hip_fp8.h",
    "hipcub/hipcub.hpp", "rocprim/rocprim.hpp", "hiprand/hiprand.h", "hiprand/hiprand_kernel.h",
)  # fmt: skip
_TORCH = (
    "torch/extension.h", "torch/all.h", "torch/python.h", "ATen/ATen.h", "ATen/hip/HIPContext.h",
    "ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h", "ATen/cuda/CUDAContext.h", "c10/cuda/CUDAGuard.h",
    "c10/cuda/CUDAStream.h", "c10/hip/HIPStream.h",
)  # fmt: skip
_KEPT = 12  # files: three versions of the four that one architecture needs

REPAIR_NAME = "/torchless-virtual/repair.h"
REPAIR = b"""\
#define TORCHLESS_HOST __attribute__((host))
namespace std { enum class align_val_t : decltype(sizeof 0); }
TORCHLESS_HOST void* operator new(decltype(sizeof 0));
TORCHLESS_HOST void* operator new[](decltype(sizeof 0));
TORCHLESS_HOST void* operator new(decltype(sizeof 0), std::align_val_t);
TORCHLESS_HOST void* operator new[](decltype(sizeof 0), std::align_val_t);
TORCHLESS_HOST void operator delete(void*) noexcept;
TORCHLESS_HOST void operator delete[](void*) noexcept;
TORCHLESS_HOST void operator delete(void*, decltype(sizeof 0)) noexcept;
TORCHLESS_HOST void operator delete[](void*, decltype(sizeof 0)) noexcept;
TORCHLESS_HOST void operator delete(void*, std::align_val_t) noexcept;
TORCHLESS_HOST void operator delete[](void*, std::align_val_t) noexcept;
TORCHLESS_HOST void operator delete(void*, decltype(sizeof 0), std::align_val_t) noexcept;
TORCHLESS_HOST void operator delete[](void*, decltype(sizeof 0), std::align_val_t) noexcept;
#undef TORCHLESS_HOST
"""


@dataclass(frozen=True, slots=True)
class PchRequest:
    """Which precompiled header to build: for which pass and architecture, with torch or without, in which folder."""

    arch: str
    device: bool
    torch: bool
    folder: str


@dataclass(frozen=True, slots=True)
class PchSet:
    """Precompiled headers that are ready: ((device, torch), path), and why any that were asked for are not there."""

    arch: str
    paths: tuple[tuple[tuple[bool, bool], str], ...]
    notes: tuple[str, ...] = ()

    def path_for(self, spec: TuSpec, torch: bool) -> str:
        """The file to use for ``spec``, "" when there is none."""
        if spec.arch != self.arch:
            return ""
        return dict(self.paths).get((spec.device, torch), "")


def consumer_arguments(path: str) -> list[str]:
    """What goes in front of the arguments of a unit that uses the precompiled header ``path``."""
    return ["-include-pch", path, "-include", REPAIR_NAME]


def path_of(request: PchRequest) -> Path:
    """Where the precompiled header is kept. The name changes with everything that it depends on."""
    headers = flags.find_headers("stubs")
    parts = [
        flags.toolchain(),
        str(flags.STUBS),
        flags.stubs_digest(),
        *flags.pass_arguments(request.device, request.arch, headers),
        _header_text(request.torch),
    ]
    return Path(request.folder) / "pch" / (hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32] + ".pch")


def build(request: PchRequest) -> str:
    """Build the precompiled header unless it is there, and return its path.

    Raises LibclangError when it cannot be built or would hold errors, OSError when the folder cannot be written to.
    """
    path = path_of(request)
    if path.exists():
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    header = path.with_suffix(".h")
    _write_whole(header, _header_text(request.torch).encode())
    headers = flags.find_headers("stubs")
    arguments = [*flags.pass_arguments(request.device, request.arch, headers), "-include", headers.prelude]
    for folder in headers.search:
        arguments += ["-isystem", folder]
    arguments += ["-Xclang", "-fno-pch-timestamp"]
    lib = libclang.library()
    index = lib.clang_createIndex(0, 0)
    unit = 0
    try:
        options = libclang.FOR_SERIALIZATION | libclang.KEEP_GOING | libclang.DETAILED_PREPROCESSING
        unit = libclang.parse_unit(index, str(header), arguments, {}, options)
        problem = _first_error(unit)
        if problem:
            raise libclang.LibclangError(f"the stub headers do not parse: {problem}")
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        os.close(handle)
        code = lib.clang_saveTranslationUnit(unit, os.fsencode(temporary), 0)
        if code != 0:
            Path(temporary).unlink(missing_ok=True)
            raise libclang.LibclangError(f"libclang could not save a precompiled header (code {code})")
        Path(temporary).replace(path)
    finally:
        if unit:
            lib.clang_disposeTranslationUnit(unit)
        lib.clang_disposeIndex(index)
    _drop_old(path.parent)
    return str(path)


def _header_text(torch: bool) -> str:
    """The includes to compile in advance: the standard library and the stubs that units most often use."""
    names = [f"<{name}>" for name in _STANDARD]
    for name in (*_DEVICE, *(_TORCH if torch else ())):
        if any((Path(folder) / name).is_file() for folder in flags.find_headers("stubs").search):
            names.append(f"<{name}>")
    return "".join(f"#include {name}\n" for name in names)


def _first_error(unit: int) -> str:
    lib = libclang.library()
    for i in range(lib.clang_getNumDiagnostics(unit)):
        handle = lib.clang_getDiagnostic(unit, i)
        severity = lib.clang_getDiagnosticSeverity(handle)
        message = libclang.text(lib.clang_getDiagnosticSpelling(handle))
        lib.clang_disposeDiagnostic(handle)
        if severity >= libclang.ERROR:
            return message
    return ""


def _write_whole(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as out:
        out.write(data)
    Path(temporary).replace(path)


def _drop_old(folder: Path) -> None:
    """Keep the files that were built last; they are large."""
    built: Sequence[Path] = sorted(folder.glob("*.pch"), key=lambda p: p.stat().st_mtime, reverse=True)
    for path in built[_KEPT:]:
        path.unlink(missing_ok=True)
        path.with_suffix(".h").unlink(missing_ok=True)
