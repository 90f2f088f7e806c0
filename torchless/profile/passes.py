"""Measures one pass of one unit: its lines with -E, its seconds with -ftime-trace."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.profile.lines import Classify, LinesError, read_lines
from torchless.profile.model import FRONT_END, HeaderTime, Lines, Seconds, Unit
from torchless.profile.run import Ran, bounded, run
from torchless.profile.trace import Trace, TraceError, read_trace

GRANULARITY = 200
"""Microseconds below which clang leaves an event out of the trace of a large unit, which has a hundred thousands."""

_LARGE = 20_000
"""Preprocessed lines. Headers of so many take more than GRANULARITY; a unit of fewer is traced without a limit."""

_HEADERS = 30


@dataclass(frozen=True)
class Measured:
    """One run of one pass. problem: why there are no figures, "" when there are."""

    seconds: Seconds | None = None
    headers: tuple[HeaderTime, ...] = ()
    tables: float = 0.0
    problem: str = ""


def pass_arguments(unit: Unit, name: str) -> list[str]:
    """What makes ``unit``'s command run the pass ``name`` alone."""
    if not unit.is_hip:
        return []
    if name == "host":
        # the host's pass wants an architecture, too: it looks for the headers of the device's library by it
        return ["--cuda-host-only", *(f"--offload-arch={arch}" for arch in unit.arches[:1])]
    return ["--cuda-device-only", f"--offload-arch={name}"]


def count_lines(unit: Unit, name: str, overlay: Sequence[str], classify: Classify) -> tuple[Lines | None, str]:
    """(the preprocessed lines of a pass, "" or why there are none). ``overlay`` are arguments as from Tree.vfs()."""
    ran = _compile(unit, name, [*overlay, "-E"], threads=1)
    if ran.problem:
        return None, ran.problem
    try:
        return read_lines(ran.out, classify, f"{unit.source} ({name})"), ""
    except LinesError as error:
        return None, str(error)


def measure(
    unit: Unit, name: str, kind: str, overlay: Sequence[str], classify: Classify, threads: int, lines: Lines
) -> Measured:
    """Compile one pass and say what it took.

    ``kind``: FRONT_END stops before code is made; COMPILE goes as far as an object for the host, and assembly for the
    device, which leaves out the device's linker. ``threads``: how many the compiler may have. ``lines`` are those of
    the pass: where they say that it reads headers, a trace without any is an error. A compiler without traces (gcc)
    gives the seconds of the process alone.
    """
    with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
        path = Path(folder, "trace.json")
        # for the compiler proper: clang's driver writes no trace for device passes, nor for -fsyntax-only
        limit = GRANULARITY if lines.total >= _LARGE else 0
        traced = ["-Xclang", f"-ftime-trace={path}", "-Xclang", f"-ftime-trace-granularity={limit}"]
        if kind == FRONT_END:
            goal = ["-fsyntax-only"]
        else:
            goal = ["-S" if name != "host" else "-c", "-o", str(Path(folder, "out"))]
        is_clang = _is_clang(unit)
        ran = _compile(unit, name, [*overlay, *goal, *(traced if is_clang else [])], threads)
        if ran.problem:
            return Measured(problem=ran.problem)
        if not is_clang:
            return Measured(Seconds(ran.wall, ran.cpu))
        try:
            includes = lines.opened > 1 and (not limit or lines.total - lines.tree.exclusive >= _LARGE)
            trace = read_trace(path.read_bytes(), f"{unit.source} ({name}): its trace", includes=includes)
        except OSError:
            return Measured(problem=f"{unit.command[0]} wrote no trace: it must be a clang that knows -ftime-trace")
        except TraceError as error:
            return Measured(problem=str(error))
    return _measured(ran, trace, kind, classify)


def _measured(ran: Ran, trace: Trace, kind: str, classify: Callable[[str], tuple[str, str]]) -> Measured:
    whole = kind != FRONT_END
    seconds = Seconds(
        ran.wall,
        ran.cpu,
        trace.front_end,
        trace.optimizer if whole else 0.0,
        trace.code_generation if whole else 0.0,
    )
    rows = tuple(
        HeaderTime(classify(row.path)[0], row.inclusive, row.exclusive, row.count) for row in trace.headers[:_HEADERS]
    )
    return Measured(seconds, rows, trace.tables)


def _is_clang(unit: Unit) -> bool:
    name = Path(unit.command[0]).name
    return "clang" in name or "hipcc" in name


def _compile(unit: Unit, name: str, arguments: Sequence[str], threads: int) -> Ran:
    command = bounded(unit.command, threads)
    source = str(Path(unit.root, unit.source))  # one outside of the root is absolute, and stays so
    return run([*command, *pass_arguments(unit, name), *arguments, source], Path(unit.cwd))
