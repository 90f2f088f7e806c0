"""What the launch trace is given and what it finds. Frozen data, no behaviour beyond looking things up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from torchless.facts.model import TuSpec


class TraceError(Exception):
    """The trace cannot be made at all; the message is one line that says what is missing."""


@dataclass(frozen=True, slots=True)
class TreeText:
    """A checkout in one state: the folder ``root`` (absolute), and files whose text is another than on disk.

    ``texts`` maps root-relative paths to bytes. Files that exist only in ``texts`` are there as well.
    """

    root: str
    texts: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A function to call: its qualified name (``aiter::scale_rows``) and the source that defines it."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How to trace.

    ``arch`` is what the fake devices say they are. ``torch``: "real" needs an installed torch, "stand-in" uses ours,
    "auto" the real one where there is one. ``calls`` bounds the inputs per entry point that are compared, ``explored``
    those that are tried to find them. ``jobs`` 0 means one compiler per core.
    """

    arch: str = "gfx942"
    torch: str = "auto"
    seed: int = 1
    calls: int = 300
    explored: int = 1200
    jobs: int = 0
    compiler: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two things to compare: a state of the checkout, and how its sources are compiled."""

    name: str  # "before" or "after"
    tree: TreeText
    specs: tuple[TuSpec, ...]
    entries: tuple[EntryPoint, ...]


@dataclass(frozen=True, slots=True)
class TensorInput:
    """A tensor argument. ``device`` -1 is the CPU. ``offset``, ``sizes`` and ``strides`` are in elements."""

    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    device: int = 0
    offset: int = 0


Value = TensorInput | tuple["TensorInput", ...] | int | float | bool | str | tuple[int, ...] | None
"""An argument: a tensor, a list of them, a number, a text or dtype name, integers, or None for what is left out."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an entry point: its name, and its kind as the compiled program tells it.

    Kinds are tensor, tensors, int8, int32, int64, float, bool, str, dtype, enum, ints, and stream and generator, for
    which there is no argument; "?" at the end for one that may be left out; "unsupported TYPE" for the rest.
    """

    name: str
    kind: str

    @property
    def optional(self) -> bool:
        """Whether the argument may be None."""
        return self.kind.endswith("?")

    @property
    def base(self) -> str:
        """The kind without the mark."""
        return self.kind.rstrip("?")


@dataclass(frozen=True, slots=True)
class Signature:
    """An entry point as a program has it. ``returns`` is "" for void."""

    name: str
    params: tuple[Parameter, ...]
    returns: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the arguments in order, the device that the caller has current, and whether a graph is recorded."""

    entry: str
    args: tuple[Value, ...]
    device: int = 0
    capture: bool = False


Event = Mapping[str, object]
"""A line of the journal: "event" says what it is, the other fields depend on it (see verify/runtime)."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one call did.

    ``outcome`` is "returned", "threw", "died" (``signal`` is why: 6 for abort), "refused" (the arguments could not
    even be handed over) or "missing" (it called something that no stand-in provides). ``message`` is what it said,
    ``where`` the place in the source that said it ("" when unknown).
    """

    outcome: str
    events: tuple[Event, ...] = ()
    message: str = ""
    where: str = ""
    kind: str = ""
    signal: int = 0
    result: tuple[str, ...] = ()
    device: int = 0
    pending: str = "hipSuccess"

    @property
    def accepted(self) -> bool:
        """Whether the call went through."""
        return self.outcome == "returned"


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as before.

    ``kind`` is one of launch, kernel, grid, block, shared, stream, device, argument, memory, sync, verdict, message,
    result, capture, missing. ``accepted`` names the convention of the target that allows it, "" for none.
    """

    kind: str
    text: str
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference with the call that shows it, shrunk, and how to see it again."""

    difference: Difference
    call: Call
    reproducer: str
    seen: int = 1  # calls that show a difference of this kind


@dataclass(frozen=True, slots=True)
class EntryResult:
    """The verdict on one entry point: "pass", "fail" or "not run" (``why``).

    ``calls`` were compared, of which ``launched`` put something on the device alike and ``rejected`` were refused
    alike. ``allowed`` counts, by convention of the target, the calls that differ only in what it accepts. ``examples``
    are some of the calls, for a ``signature`` as it was before.
    """

    entry: str
    status: str
    why: str = ""
    findings: tuple[Finding, ...] = ()
    calls: int = 0
    launched: int = 0
    rejected: int = 0
    kernels: tuple[str, ...] = ()
    allowed: tuple[tuple[str, int], ...] = ()
    examples: tuple[Call, ...] = ()
    signature: Signature | None = None


@dataclass(frozen=True, slots=True)
class TraceResult:
    """What the trace of a unit found. ``torch`` says what "before" ran on; ``notes`` what a reader should know."""

    entries: tuple[EntryResult, ...]
    torch: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """ "fail" when any entry point fails, "not run" when none passed, else "pass"."""
        found = {e.status for e in self.entries}
        return "fail" if "fail" in found else "pass" if "pass" in found else "not run"
