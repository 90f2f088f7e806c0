"""From a compile command that somebody else wrote to one that measures a pass: what is kept of it and what is not."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from torchless.errors import ToolError
from torchless.facts.flags import shown_path
from torchless.profile.model import Unit
from torchless.profile.ninja import compile_edges, read_text

_ALONE = frozenset(
    {
        "-c",
        "-S",
        "-E",
        "-P",
        "-M",
        "-MM",
        "-MD",
        "-MMD",
        "-MP",
        "-MG",
        "-fsyntax-only",
        "-ftime-trace",
        "-v",
        "--verbose",
    }
    | {"--cuda-host-only", "--cuda-device-only", "-save-temps", "--save-temps", "-emit-llvm", "-ftime-report"}
)
_WITH_VALUE = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "--offload-arch", "--cuda-gpu-arch"})
_STARTS = (
    "-ftime-trace=", "-ftime-trace-granularity=", "-save-temps=", "--save-temps=", "--offload-arch=",
    "--no-offload-arch=", "--cuda-gpu-arch=", "-ftime-report=",
)  # fmt: skip
_ARCH = re.compile(r"(?:--offload-arch|--cuda-gpu-arch)(?:=|\Z)")
_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc", "nice", "time"})
_HIP_SOURCES = (".cu", ".hip")


class CommandsError(ToolError):
    """A file of commands that cannot be used; one line that says what to do."""


def as_unit(words: Sequence[str], source: str, cwd: str, root: Path, module: str, origin: str) -> Unit:
    """The unit that ``words`` compile. Raises CommandsError when the source is not among them.

    Left out: the source, what is written and where, the choice of a pass, and compiler caches, which would answer from
    memory instead of compiling.
    """
    words = list(words)
    while words and Path(words[0]).name in _LAUNCHERS:
        words.pop(0)
    if len(words) < 2:
        raise CommandsError(f"{origin}: no command to compile {source}")
    full = os.path.normpath(Path(cwd, source))
    arches: list[str] = []
    kept = [words[0]]
    seen = is_hip = False
    rest = iter(words[1:])
    for word in rest:
        if _ARCH.match(word):
            value = word.partition("=")[2] or next(rest, "")
            arches += [part.partition(":")[0] for part in value.split(",") if part]
        elif word in _WITH_VALUE:
            next(rest, "")
        elif word in _ALONE or word.startswith(_STARTS):
            continue
        elif word == "-x":
            language = next(rest, "")
            is_hip |= language == "hip"
            kept += ["-x", language]
        elif not word.startswith("-") and os.path.normpath(Path(cwd, word)) == full:
            seen = True
        else:
            kept.append(word)
    if not seen:
        raise CommandsError(f"{origin}: the command for {source} does not name it")
    compiler = Path(words[0]).name
    is_hip |= "hipcc" in compiler or ("clang" in compiler and source.endswith(_HIP_SOURCES))
    wanted = tuple(dict.fromkeys(arches)) if is_hip else ()
    return Unit(shown_path(full, root.resolve()), module, tuple(kept), cwd, str(root), wanted, origin, is_hip)


def from_ninja(path: Path, root: Path, module: str) -> list[Unit]:
    """The units of a ``build.ninja``, in its order. Raises NinjaError and CommandsError."""
    folder = str(path.resolve().parent)
    units = [
        as_unit(edge.command, edge.source, folder, root, module, str(path))
        for edge in compile_edges(read_text(path), str(path))
    ]
    if not units:
        raise CommandsError(f"{path}: no statement in it compiles a C++ source")
    return units


def from_database(path: Path, root: Path, module_of: dict[str, str]) -> list[Unit]:
    """The units of a ``compile_commands.json``. ``module_of``: source -> its module. Raises CommandsError."""
    try:
        rows = json.loads(path.read_bytes())
    except OSError as error:
        raise CommandsError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise CommandsError(f"{path}: not JSON") from None
    if not isinstance(rows, list):
        raise CommandsError(f"{path}: a list of commands is wanted, as CMake and Bear write it")
    units: dict[str, Unit] = {}
    for number, row in enumerate(rows, 1):
        try:
            folder, source = str(row["directory"]), str(row["file"])
            words = [str(word) for word in row["arguments"]] if "arguments" in row else shlex.split(row["command"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise CommandsError(f"{path}: entry {number} has no directory, file, and command or arguments") from None
        shown = shown_path(os.path.normpath(Path(folder, source)), root.resolve())
        units.setdefault(shown, as_unit(words, source, folder, root, module_of.get(shown, ""), str(path)))
    return list(units.values())


def build_file(root: Path, module: str) -> Path:
    """Where aiter's JIT leaves the build file of ``module``; AITER_JIT_DIR counts, as it does there."""
    jit = os.environ.get("AITER_JIT_DIR")
    return Path(jit or root / "aiter" / "jit") / "build" / module / "build" / "build.ninja"


def object_source(output: str, sources: Sequence[str]) -> str:
    """The source that an object is made of, by its base name; "" for any other output (``x.cuda.o`` is of x.cu)."""
    stem = re.sub(r"(?:\.cuda)?\.o\Z", "", posixpath.basename(output))
    if not output.endswith(".o"):
        return ""
    found = [source for source in sources if posixpath.splitext(posixpath.basename(source))[0] == stem]
    return found[0] if len(found) == 1 else ""
