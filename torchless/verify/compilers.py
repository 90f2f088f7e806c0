"""Which compiler of this machine can stand in for ROCm's, and what it reads: processes are started here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchless.errors import UsageError
from torchless.facts.flags import HeadersError, find_headers, shown_path, unit_arguments
from torchless.facts.model import TuSpec

_OLDEST = 17  # the first release that knows gfx942
_CLANGS = (*(f"clang++-{version}" for version in range(30, _OLDEST - 1, -1)), "clang++")
_NO_CLANG = "clang version 0"
_TIMEOUT = 300  # seconds for one translation unit


@dataclass(frozen=True, slots=True)
class Compiler:
    """A clang that accepts ``-x hip``: where it is, what it calls itself, and whether it is ROCm's own."""

    path: str
    version: str
    is_rocm: bool


@dataclass(frozen=True, slots=True)
class Reads:
    """What a compiler read for one unit in one pass, named as in ``TuFacts.opened``; ``problem`` why it did not."""

    spec: TuSpec
    files: frozenset[str]
    problem: str = ""


@cache
def find_compiler() -> Compiler | None:
    """The compiler for HIP: TORCHLESS_CLANG, else ROCm's clang, else the newest plain clang of this machine.

    None when there is none that starts and is new enough. Raises UsageError when TORCHLESS_CLANG names none such:
    whoever set it wants no other.
    """
    named = os.environ.get("TORCHLESS_CLANG", "")
    path = shutil.which(named) if named else None
    if named and (path is None or _release(_version(path)) < _OLDEST):
        what = "cannot be run" if path is None else "is not a clang that is new enough"
        raise UsageError(f"TORCHLESS_CLANG is {named!r}, which {what}: name a clang++ {_OLDEST} or newer, or unset it")
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm"))
    places = [named, str(rocm / "llvm/bin/clang++"), str(rocm / "lib/llvm/bin/clang++")]
    for place in (*places, *_CLANGS):
        path = shutil.which(place) if place else None
        version = _version(path) if path else _NO_CLANG
        if path and _release(version) >= _OLDEST:
            return Compiler(path, version, path.startswith(str(rocm)))
    return None


def _release(version: str) -> int:
    """The number of the release in what a compiler calls itself: 19 of ``clang version 19.1.7``."""
    return int(version.split()[-1].split(".")[0] or 0)


def _version(path: str) -> str:
    """``clang version 19.1.7``, that of 0 for something that is no clang."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return _NO_CLANG
    found = re.search(r"clang version [\d.]+", done.stdout)
    return found.group() if found and done.returncode == 0 else _NO_CLANG


def files_read(
    compiler: Compiler, specs: Sequence[TuSpec], root: Path, jobs: int, overlay: Sequence[str] = ()
) -> list[Reads]:
    """What ``compiler -M`` reads for each of ``specs``, over the bundled stub headers, in the order of ``specs``.

    Headers that nobody has do not stop it (-MG), and are named as spelled. ``overlay`` are arguments by which some
    files are read otherwise than they are on disk (Tree.vfs()).
    """
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        return list(pool.map(lambda spec: _read_by(compiler, spec, root, overlay), specs))


def _read_by(compiler: Compiler, spec: TuSpec, root: Path, overlay: Sequence[str]) -> Reads:
    try:
        headers = find_headers("stubs")
    except HeadersError as error:
        return Reads(spec, frozenset(), str(error))
    arguments = [a for a in unit_arguments(spec, root, headers) if not a.startswith("-ferror-limit")]
    command = [compiler.path, *arguments, *overlay, "-M", "-MG", str(root / spec.source)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False, cwd=root)
    except subprocess.TimeoutExpired:
        return Reads(spec, frozenset(), f"no answer after {_TIMEOUT} s")
    except OSError as error:
        return Reads(spec, frozenset(), f"{compiler.path}: {error.strerror}")
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).splitlines()
        first = next((line for line in lines if "error" in line), lines[0] if lines else "failed without a word")
        return Reads(spec, frozenset(), first.strip())
    files = frozenset(_shown(name, root) for name in dependencies(done.stdout))
    if spec.source not in files:  # a compiler that says nothing must not pass for one that found nothing
        return Reads(spec, frozenset(), f"what {compiler.version} -M printed does not name the source itself")
    return Reads(spec, files)


def _shown(name: str, root: Path) -> str:
    """A file by its name in results; a header that was not found as it is spelled."""
    path = name if os.path.isabs(name) else str(root / name)  # noqa: PTH117 - tens of thousands of these
    return shown_path(path, root) if os.path.exists(path) else name  # noqa: PTH110


def dependencies(rule: bytes) -> list[str]:
    r"""The prerequisites of a make rule as ``-M`` prints it: backslash-newline joins, ``\ `` and ``$$`` escape."""
    _, _, listed = rule.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").partition(b": ")
    words = re.findall(rb"(?:\\.|[^\s\\])+", listed)
    return [os.fsdecode(re.sub(rb"\\([ #\\])", rb"\1", word).replace(b"$$", b"$")) for word in words]


def symbols(path: Path) -> tuple[tuple[str, ...], str]:
    """(the demangled symbols that the object or library at ``path`` defines or needs, what kept it from being read)."""
    nm = shutil.which("nm") or shutil.which("llvm-nm") or shutil.which("llvm-nm-19")
    if nm is None:
        return (), "no nm on this machine"
    dynamic = ["-D"] if path.suffix == ".so" else []
    try:
        command = [nm, "-C", "-P", *dynamic, str(path)]
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return (), f"nm failed: {error}"
    if done.returncode != 0:
        return (), "nm failed: " + (os.fsdecode(done.stderr).strip().splitlines() or ["without a word"])[0]
    rows = os.fsdecode(done.stdout).splitlines()
    # "-P": name, type, value, size; a demangled name has blanks in it
    names = (re.sub(r" [A-Za-z?](?: [0-9a-f]+){0,2}\s*$", "", row) for row in rows)
    return tuple(sorted({name for name in names if name})), ""
