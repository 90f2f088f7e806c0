"""The command line that a translation unit is parsed with, and how files outside the project are named."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import posixpath
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from torchless.facts import libclang, stubs
from torchless.facts.arches import parser_arguments
from torchless.facts.includes import scan_includes
from torchless.facts.model import TuSpec

STUBS = Path(stubs.__file__).resolve().parent
STUB_PREFIX = "<stubs>/"
TORCH_PREFIX = "<stubs>/torch/"
"""Resolved paths of the stand-ins for torch, ATen and c10 start with this."""

_COMMON = (
    "-x",
    "hip",
    "-std=c++20",
    "-nogpuinc",
    "-nogpulib",
    "-nohipwrapperinc",
    "-ferror-limit=0",
    "-fno-spell-checking",  # corrections of typing errors look like new diagnostics
    "-w",
    "-D__HIP_PLATFORM_AMD__=1",
    "-DUSE_ROCM",
)


@dataclass(frozen=True, slots=True)
class Headers:
    """Where headers come from: search folders in order, the compiler's own, and what goes in front of every unit."""

    kind: str
    search: tuple[str, ...]
    resource: str
    prelude: str


class HeadersError(Exception):
    """The headers asked for are not on this machine; the message is one line."""


@cache
def find_headers(kind: str) -> Headers:
    """The header set ``stubs`` (ours) or ``system`` (an installed torch and ROCm). Raises HeadersError."""
    resource, prelude = str(stubs.resource_dir()), str(stubs.PRELUDE)
    if kind == "stubs":
        return Headers(kind, tuple(map(str, stubs.stub_dirs())), resource, prelude)
    if kind != "system":
        raise HeadersError(f"unknown header set {kind!r}: choose stubs or system")
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        raise HeadersError("--headers system needs torch in this Python; it is not installed")
    include = Path(next(iter(torch.submodule_search_locations))) / "include"
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm")) / "include"
    hip = (str(rocm),) if rocm.is_dir() else ()
    # what is installed comes first; our stand-ins fill the gaps, torch's excepted
    rest = tuple(map(str, stubs.stub_dirs(torch=False)))
    search = (str(include), str(include / "torch/csrc/api/include"), *hip, *rest)
    return Headers(kind, search, resource, prelude)


def pass_arguments(device: bool, arch: str, headers: Headers) -> list[str]:
    """What all units of one pass share; a precompiled header is built with exactly these."""
    return [
        *_COMMON,
        *stubs.COMPILER_FLAGS,
        "--cuda-device-only" if device else "--cuda-host-only",
        *parser_arguments(arch, device),
        f"-resource-dir={headers.resource}",
    ]


def unit_arguments(spec: TuSpec, root: Path, headers: Headers) -> list[str]:
    """The full command line for one unit in one pass, without a precompiled header and without the source."""
    arguments = pass_arguments(spec.device, spec.arch, headers)
    arguments += ["-include", headers.prelude]
    arguments.append(f"-DENABLE_CK={int(spec.enable_ck)}")
    arguments += [f"-D{define}" for define in spec.defines]
    if not any(define.startswith("TORCH_EXTENSION_NAME") for define in spec.defines):
        arguments.append("-DTORCH_EXTENSION_NAME=extension")
    for folder in spec.include_dirs:
        arguments.append("-I" + os.path.normpath(root / folder))
    for folder in headers.search:
        arguments += ["-isystem", folder]
    return arguments


@cache
def stubs_digest() -> str:
    """A hash over the names and bytes of all stub headers."""
    digest = hashlib.sha256()
    for path in sorted(p for p in STUBS.rglob("*") if p.is_file() and p.suffix not in (".py", ".pyc")):
        digest.update(path.relative_to(STUBS).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@cache
def stub_closure(shown: str) -> frozenset[str]:
    """The stub headers that a stub header (``<stubs>/...``) reaches, itself included; empty for any other file.

    Taken from the text: what a precompiled header holds is not entered again, so the parser cannot say.
    """
    if not shown.startswith(STUB_PREFIX):
        return frozenset()
    reached: set[str] = set()
    pending = [shown.removeprefix(STUB_PREFIX)]
    while pending:
        path = pending.pop()
        if path in reached:
            continue
        reached.add(path)
        for include in scan_includes((STUBS / path).read_bytes()):
            own = () if include.angled else (posixpath.dirname(path),)
            for folder in (*own, *(d.name for d in stubs.stub_dirs())):
                candidate = posixpath.normpath(posixpath.join(folder, include.spelled))
                if (STUBS / candidate).is_file():
                    pending.append(candidate)
                    break
    return frozenset(STUB_PREFIX + path for path in reached)


@cache
def toolchain() -> str:
    """What identifies the parser and the standard library it finds: part of every cache key."""
    places = ("c++/*/bits", "c++/*/*/bits", "*/c++/*/bits")
    config = sorted(p for place in places for p in Path("/usr/include").glob(f"{place}/c++config.h"))
    stamps = [f"{p}:{p.stat().st_size}:{p.stat().st_mtime_ns}" for p in config]
    folders = [f"{name}={os.environ.get(name, '')}" for name in ("CPATH", "CPLUS_INCLUDE_PATH")]
    return "|".join([libclang.version(), *stamps, *folders])


@lru_cache(maxsize=1 << 16)
def shown_path(name: str, root: Path) -> str:
    """How a file is named in results: root-relative, ``<stubs>/torch/all.h``, or absolute; symbolic links resolved."""
    real = os.path.realpath(name)
    inside = project_path(real, root)
    if inside:
        return inside
    stubs = str(STUBS) + os.sep
    if real.startswith(stubs):
        return STUB_PREFIX + real[len(stubs) :].replace(os.sep, "/")
    return real


@lru_cache(maxsize=1 << 16)
def project_path(name: str, root: Path) -> str:
    """The root-relative path of a file inside ``root`` (which is resolved), "" for any other."""
    real = os.path.realpath(name)
    prefix = str(root) + os.sep
    return real[len(prefix) :].replace(os.sep, "/") if real.startswith(prefix) else ""


def is_vendored(path: str) -> bool:
    """True for a file of the project (root-relative) that is someone else's: it is opened, but no facts are wanted."""
    return path.startswith(("3rdparty/", "third_party/"))
