"""What a profile knows, as frozen data. All seconds are floats; lines and counts are integers.

A *unit* is a source as one module compiles it; a *pass* is one run of the compiler's front end over it: the host's, or
the device's for one architecture. *Exclusive* is what a header costs itself, *inclusive* that together with all that it
includes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FRONT_END = "front-end"
COMPILE = "compile"

TORCH = "torch"
KINDS = ("checkout", TORCH, "ck", "pybind11", "hip", "other")
"""What a file belongs to. `other` is the compiler's own, the C++ library's and everything else outside."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One translation unit and how it is compiled.

    source: root-relative, or absolute where it lies outside. command: compiler and arguments, without the source, what
    is written where, and the choice of a pass. cwd: where it runs; root: what ``source`` is relative to. arches: those
    of the device passes, empty where there is none. origin: where the command comes from. is_hip: whether it is
    compiled once for the host and once for each arch.
    """

    source: str
    module: str
    command: tuple[str, ...]
    cwd: str
    root: str
    arches: tuple[str, ...]
    origin: str
    is_hip: bool = True

    @property
    def passes(self) -> tuple[str, ...]:
        """The names of its passes: ``host``, then the architectures."""
        return ("host", *self.arches)


@dataclass(frozen=True, slots=True)
class Seconds:
    """One run of one pass. wall and cpu: of the whole process. The others are wall seconds out of ``-ftime-trace``,
    None where there is no trace; optimizer and code_generation are 0 where only the front end ran."""

    wall: float
    cpu: float
    front_end: float | None = None
    optimizer: float | None = None
    code_generation: float | None = None


@dataclass(frozen=True, slots=True)
class HeaderTime:
    """A header in the front end of one pass, in seconds of its trace. count: how often it was read."""

    path: str
    inclusive: float
    exclusive: float
    count: int


@dataclass(frozen=True, slots=True)
class Node:
    """A file as one directive brings it. kind: one of KINDS. exclusive: its own lines; inclusive: with all below."""

    path: str
    kind: str
    exclusive: int
    inclusive: int
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class FileLines:
    """A file in the preprocessed text of a pass. chain: on which way it was first read, "path:line" of each directive
    from the source on. entered: how often it was read."""

    path: str
    kind: str
    exclusive: int
    inclusive: int
    entered: int
    chain: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lines:
    """The preprocessed lines of one pass.

    total: as ``-E | wc -l`` counts. by_kind: kind -> exclusive lines, adding up to total. through: kind -> the lines
    read below headers of that kind, those of other kinds that they include among them. files: the heaviest ones by
    inclusive lines. opened: how many files were read, the source among them. tree: by include chain, small ones put
    together. in_front: those of ``total`` that the compiler reads before any unit, whatever the unit is: for HIP its
    own wrapper header, or the stand-in for that.
    """

    total: int
    by_kind: Mapping[str, int]
    through: Mapping[str, int]
    files: tuple[FileLines, ...]
    opened: int
    tree: Node
    in_front: int = 0


@dataclass(frozen=True)
class PassProfile:
    """One pass of one unit. name: ``host``, or the architecture. runs: one for each trial.

    headers: the slowest ones in the first trial. tables: the seconds that instantiating std::function took in it.
    """

    name: str
    lines: Lines | None = None
    runs: tuple[Seconds, ...] = ()
    headers: tuple[HeaderTime, ...] = ()
    tables: float = 0.0

    @property
    def is_device(self) -> bool:
        """Whether it is a device pass."""
        return self.name != "host"


@dataclass(frozen=True)
class UnitProfile:
    """One unit. started: seconds after the first one, slot: the worker, both of the first trial."""

    source: str
    module: str
    origin: str
    passes: tuple[PassProfile, ...]
    started: float = 0.0
    slot: int = 0
    binds: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What names the unit in two versions."""
        return self.module, self.source


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit in a build: when it started, seconds after the build did, and how long it took."""

    source: str
    started: float
    seconds: float


@dataclass(frozen=True)
class BuildProfile:
    """A module built end to end by the JIT, once for each trial. units: what ninja's log says of the last one."""

    module: str
    trials: tuple[float, ...]
    units: tuple[Placed, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Profile:
    """What was measured of one version. version: "" for the files as they are, else a git revision.

    kind: FRONT_END for figures of the front end alone, over stand-ins for headers; COMPILE for whole compilations as
    the build makes them. how: compiler, headers and flags in words. jobs: how many ran at a time; build_jobs: MAX_JOBS
    of the build that is reckoned with.
    """

    root: str
    version: str
    kind: str
    how: tuple[str, ...]
    jobs: int
    build_jobs: int
    units: tuple[UnitProfile, ...]
    builds: tuple[BuildProfile, ...] = ()
    problems: tuple[str, ...] = field(default_factory=tuple)
