"""Reads what clang's ``-ftime-trace`` writes: where a pass spent its time, and in which headers.

Two shapes are known. Up to clang 18 a ``Source`` event is complete ("X", with a duration). Since clang 19 it is a pair,
"b" and "e" with the same id, and carries its path on the "b" alone (aras-p/ClangBuildAnalyzer#100: a tool that knew
only the first shape printed an empty table from then on). A trace in which nothing of what must be there is found is an
error, never an empty answer.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchless.errors import ToolError
from torchless.profile.model import HeaderTime

_MICRO = 1e-6
_TOTAL = "Total "
_INSTANTIATIONS = frozenset({"InstantiateClass", "InstantiateFunction"})
_STD_FUNCTION = re.compile(r"\bstd::(?:function<|_Function_(?:handler|base)\b)")
_OPENING = {"b": "e", "B": "E"}


class TraceError(ToolError):
    """A file that is no trace of a compilation, or one whose shape is not known; one line."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that the compiler did: microseconds from start to end, and the path or name that it did it to."""

    name: str
    detail: str
    start: float
    end: float


@dataclass(frozen=True)
class Trace:
    """What one pass spent, in seconds of wall time.

    total: all of it. front_end: preprocessing, parsing, and what of code is made along with it. optimizer and
    code_generation: 0 where only the front end ran. headers: the slowest first, by inclusive time. tables: what
    instantiating std::function took.
    """

    total: float
    front_end: float
    optimizer: float
    code_generation: float
    headers: tuple[HeaderTime, ...]
    tables: float


def read_trace(data: bytes, where: str, *, includes: bool = True) -> Trace:
    """What the trace ``data`` says; ``where`` names it in errors. Raises TraceError.

    ``includes``: the unit is known to read headers, so that a trace without a single one is an error.
    """
    events = _events(data, where)
    spans = _spans(events, where)
    totals = _totals(events, spans)
    if "Frontend" not in totals:
        raise TraceError(
            f"{where}: {len(events)} events and none of the front end: this version of clang writes its traces in a"
            " way that is not known; please report its version"
        )
    sources = [span for span in spans if span.name == "Source"]
    if includes and not sources:
        raise TraceError(
            f"{where}: 0 Source events although the unit includes headers: this version of clang writes them in a way"
            " that is not known; please report its version"
        )
    backend = totals.get("Backend", 0.0)
    optimizer = totals.get("Optimizer", totals.get("PerModulePasses", 0.0) + totals.get("PerFunctionPasses", 0.0))
    generation = totals.get("CodeGenPasses", max(0.0, backend - optimizer))
    tables = [s for s in spans if s.name in _INSTANTIATIONS and _STD_FUNCTION.search(s.detail)]
    front = totals["Frontend"]
    total = totals.get("ExecuteCompiler", front + backend)
    return Trace(total, front, optimizer, generation, tuple(header_times(sources)), _covered(tables))


def _events(data: bytes, where: str) -> Sequence[Mapping[str, Any]]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise TraceError(f"{where}: not JSON: the compiler did not finish writing it, or it is no trace") from None
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise TraceError(f"{where}: no traceEvents in it: it is not a trace that -ftime-trace wrote")
    if not events:
        raise TraceError(f"{where}: no events in it")
    return events


def _spans(events: Iterable[Mapping[str, Any]], where: str) -> list[Span]:
    """The complete events, and the pairs made one; without the sums that clang adds at the end."""
    out = []
    open_: dict[tuple[object, ...], list[Mapping[str, Any]]] = defaultdict(list)
    try:
        for event in events:
            phase, name = event.get("ph"), str(event.get("name", ""))
            if name.startswith(_TOTAL):
                continue
            if phase == "X":
                start = float(event["ts"])
                out.append(Span(name, _detail(event), start, start + float(event["dur"])))
            elif phase in _OPENING:
                open_[_key(event, _OPENING[phase])].append(event)
            elif phase in _OPENING.values():
                waiting = open_[_key(event, phase)]
                if waiting:  # an end without its beginning was cut off by the granularity
                    begin = waiting.pop()
                    out.append(Span(name, _detail(begin) or _detail(event), float(begin["ts"]), float(event["ts"])))
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{where}: an event that cannot be read: {error!r}") from None
    left = [event for waiting in open_.values() for event in waiting if event.get("name") == "Source"]
    if left:
        raise TraceError(f"{where}: {len(left)} headers are entered and never left: the trace is cut off")
    return out


def _key(event: Mapping[str, Any], closing: object) -> tuple[object, ...]:
    return (closing, event.get("pid"), event.get("tid"), event.get("cat"), event.get("id"), event.get("name"))


def _detail(event: Mapping[str, Any]) -> str:
    arguments = event.get("args")
    return str(arguments.get("detail", "")) if isinstance(arguments, dict) else ""


def _totals(events: Iterable[Mapping[str, Any]], spans: Iterable[Span]) -> dict[str, float]:
    """Seconds by name: clang's own sums, and for what it has none the time that its events cover."""
    grouped: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        grouped[span.name].append(span)
    totals = {name: _covered(found) for name, found in grouped.items()}
    for event in events:
        name = str(event.get("name", ""))
        if name.startswith(_TOTAL) and isinstance(event.get("dur"), (int, float)):
            totals[name.removeprefix(_TOTAL)] = float(event["dur"]) * _MICRO
    return totals


def _covered(spans: Iterable[Span]) -> float:
    """The seconds that ``spans`` cover, those that several cover counted once."""
    covered, reached = 0.0, float("-inf")
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        covered += max(0.0, span.end - max(span.start, reached))
        reached = max(reached, span.end)
    return covered * _MICRO


def header_times(sources: Iterable[Span]) -> list[HeaderTime]:
    """The seconds of each header, the slowest by inclusive time first.

    Inclusive counts a header that includes itself, in whatever way, once; the exclusive times of all headers add up to
    the time that the outermost ones take.
    """
    inclusive: dict[str, float] = defaultdict(float)
    exclusive: dict[str, float] = defaultdict(float)
    count: dict[str, int] = defaultdict(int)
    stack: list[Span] = []
    for span in sorted(sources, key=lambda s: (s.start, -s.end)):
        while stack and stack[-1].end <= span.start:
            stack.pop()
        length = span.end - span.start
        count[span.detail] += 1
        exclusive[span.detail] += length
        if stack:
            exclusive[stack[-1].detail] -= length
        if all(outer.detail != span.detail for outer in stack):
            inclusive[span.detail] += length
        stack.append(span)
    rows = [HeaderTime(p, inclusive[p] * _MICRO, max(0.0, exclusive[p]) * _MICRO, count[p]) for p in count]
    return sorted(rows, key=lambda row: (-row.inclusive, row.path))
