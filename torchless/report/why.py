"""Why a unit reads a header: for people as plain text, for programs as one JSON object (why.schema.json beside this).

Passes and builds with the same ways are shown once; where their figures differ, each figure says whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torchless import __version__
from torchless.closure.why import Reason, Step
from torchless.facts.spec import TuSpec
from torchless.report.color import Paint
from torchless.report.wording import place, plural, printable
from torchless.why import COUNTED, Pass, Reading

if TYPE_CHECKING:
    from torchless.front_end import Timing

SCHEMA_VERSION = 1
LEGEND = (
    "Lines are preprocessed lines; those of headers outside of the checkout are stored figures (-v says which).\n"
    "exclusive: what a header brings that none before it did; inclusive: it and all that it includes;\n"
    "without it: what the unit no longer reads when that directive goes.\n"
)
Timings = Mapping[str, "Timing"]


def schema() -> dict[str, Any]:
    """The JSON schema of what to_json() gives."""
    from importlib.resources import files  # here: nobody else pays for it

    text = files("torchless.report").joinpath("why.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def text(reading: Reading, timings: Timings, paint: Paint) -> str:
    """The answer for people. ``timings`` are by header; empty when nobody asked for them."""
    labels = _labels([each.why.spec for each in reading.passes])
    groups: dict[object, list[int]] = {}
    for number, each in enumerate(reading.passes):
        groups.setdefault(_ways(each), []).append(number)
    modules = f" ({', '.join(reading.modules)})" if reading.modules else ""
    lines = [paint(printable(reading.source), "bold") + modules]
    for numbers in groups.values():
        passes = [reading.passes[n] for n in numbers]
        lines += _group(reading, passes, [labels[n] for n in numbers], timings, paint)
    if reading.similar:
        lines.append(f"did you mean {' or '.join(reading.similar)}?")
    return "\n".join(lines).rstrip("\n") + "\n"


def _group(
    reading: Reading, passes: Sequence[Pass], labels: Sequence[str], timings: Timings, paint: Paint
) -> Iterator[str]:
    """Passes that come to the same headers on the same ways."""

    def figure(of: Callable[[Pass], int], noun: str) -> str:
        counts = [of(each) for each in passes]
        if len(set(counts)) == 1:
            return plural(counts[0], noun)
        return ", ".join(f"{plural(n, noun)} ({label})" for n, label in zip(counts, labels, strict=True))

    reads = f"{figure(lambda p: p.why.files, 'file')}; {figure(lambda p: p.why.lines, 'line')}"
    arch = next((f" for {each.why.spec.arch}" for each in passes if each.why.spec.device), "")
    yield f"{paint(', '.join(labels) + arch, 'bold')}: reads {reads}"
    unknown = list(dict.fromkeys(header for each in passes for header in each.why.unweighed))
    if unknown:
        few = ", ".join(map(printable, unknown[:5])) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
        yield paint(f"  not counted, for want of a weight: {few}", "dim")
    for trouble in dict.fromkeys(trouble for each in passes for trouble in each.troubles):
        yield f"  {printable(place(trouble.path, trouble.line))}: {printable(trouble.message)}"
    if not passes[0].why.reasons:
        yield f"  reads no {printable(reading.header)}" if reading.header else "  reads no heavy header"
    for number, reason in enumerate(passes[0].why.reasons):
        yield ""
        yield from _reason(reason, [each.why.reasons[number] for each in passes], passes, labels, paint)
        if reason.header in timings:
            yield f"  {_timed(timings[reason.header])}"
    yield ""


def _reason(
    reason: Reason, same: Sequence[Reason], passes: Sequence[Pass], labels: Sequence[str], paint: Paint
) -> Iterator[str]:
    kind = f" ({reason.category})" if reason.category else ""
    maybe = "" if reason.certain else ", perhaps: only below conditions that are not decided"
    yield f"{paint(printable(reason.header), 'code')}{kind}: {_figures(same, labels)}{maybe}"
    for count, way in enumerate(reason.chains):
        if count:
            yield "  or"
        for number, step in enumerate(way):
            steps = [each.chains[count][number] for each in same]
            yield f"  {_directive(step, paint)}"
            yield paint(f"      without it: {_saved(steps, labels, reason.header)}", "dim")
    further = max((each.further.get(reason.header, 0) for each in passes), default=0)
    if not reason.is_all:
        least = "at least " if further + len(reason.chains) >= COUNTED else ""
        hint = " (--all lists them)" if len(reason.chains) == 1 else ""
        yield f"  {least}{plural(max(further, 1), 'further way')}{hint}"


def _figures(same: Sequence[Reason], labels: Sequence[str]) -> str:
    if not same[0].weighed:
        return "its lines are not known"
    said = [f"{plural(r.exclusive, 'line')} exclusive, {r.inclusive:,} inclusive" for r in same]
    return _per_pass(said, labels)


def _saved(steps: Sequence[Step], labels: Sequence[str], header: str) -> str:
    said = []
    for step in steps:
        if not step.saves.files:
            said.append("nothing goes; another directive brings all of it")
            continue
        stays = "" if step.frees else f"; {printable(header)} stays, on another way"
        said.append(f"{plural(step.saves.lines, 'line')} and {plural(len(step.saves.files), 'file')} less{stays}")
    return _per_pass(said, labels)


def _per_pass(said: Sequence[str], labels: Sequence[str]) -> str:
    """What holds for all of the passes, or what holds for each."""
    if len(set(said)) == 1:
        return said[0]
    return "; ".join(f"{text} ({label})" for text, label in zip(said, labels, strict=True))


def _directive(step: Step, paint: Paint) -> str:
    edge = step.edge
    spelled = f"<{edge.spelled}>" if edge.angled else f'"{edge.spelled}"'
    maybe = "" if edge.certain else "  (below a condition that is not decided)"
    return f"{paint(printable(place(edge.includer, edge.line)), 'bold')}: #include {printable(spelled)}{maybe}"


def _timed(timing: Timing) -> str:
    if timing.problem:
        return f"front end: not measured: {printable(timing.problem)}"
    return f"front end: {timing.milliseconds:,} ms for this header alone (plain C++, host pass, -fsyntax-only)"


def _labels(specs: Sequence[TuSpec]) -> list[str]:
    """A name for each way of building and pass: as much as tells them apart."""
    several = len({spec.enable_ck for spec in specs}) > 1
    defines = [set(spec.defines) for spec in specs]
    common = set.intersection(*defines) if defines else set()
    labels = []
    for spec in specs:
        parts = ["device pass" if spec.device else "host pass"]
        parts += [f"ENABLE_CK={int(spec.enable_ck)}"] if several else []
        parts += [define for define in spec.defines if define not in common]
        labels.append(" ".join(parts))
    return [
        f"{label} #{labels[:n].count(label) + 1}" if label in labels[:n] else label for n, label in enumerate(labels)
    ]


def _ways(each: Pass) -> object:
    """What two passes must have in common to be shown as one."""
    return tuple(
        (r.header, r.category, r.certain, r.is_all, tuple(tuple(step.edge for step in way) for way in r.chains))
        for r in each.why.reasons
    )


def to_json(reading: Reading, timings: Timings) -> str:
    """The answer as one JSON object with a final newline, pure ASCII; a pass each, also where passes are the same."""
    report = {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": reading.root,
        "source": reading.source,
        "modules": list(reading.modules),
        "header": reading.header,
        "passes": [_pass(each, timings) for each in reading.passes],
        "similar": list(reading.similar),
        "weights": reading.weights,
    }
    return json.dumps(report, indent=1) + "\n"


def _pass(each: Pass, timings: Timings) -> dict[str, Any]:
    spec = each.why.spec
    return {
        "pass": "device" if spec.device else "host",
        "arch": spec.arch if spec.device else "",
        "enable_ck": spec.enable_ck,
        "defines": list(spec.defines),
        "include_dirs": list(spec.include_dirs),
        "files": each.why.files,
        "lines": each.why.lines,
        "unweighed": list(each.why.unweighed),
        "troubles": [{"path": t.path, "line": t.line, "message": t.message} for t in each.troubles],
        "reasons": [_reason_data(reason, each, timings) for reason in each.why.reasons],
    }


def _reason_data(reason: Reason, each: Pass, timings: Timings) -> dict[str, Any]:
    further = 0 if reason.is_all else max(each.further.get(reason.header, 0), 1)
    out: dict[str, Any] = {
        "header": reason.header,
        "category": reason.category,
        "certain": reason.certain,
        "exclusive_lines": reason.exclusive if reason.weighed else None,
        "inclusive_lines": reason.inclusive if reason.weighed else None,
        "ways": [[_step_data(step) for step in way] for way in reason.chains],
        "further_ways": further,
        "further_ways_counted": further + len(reason.chains) < COUNTED,
    }
    if reason.header in timings:
        timing = timings[reason.header]
        out["front_end"] = {"milliseconds": None if timing.problem else timing.milliseconds, "problem": timing.problem}
    return out


def _step_data(step: Step) -> dict[str, Any]:
    edge = step.edge
    return {
        "path": edge.includer,
        "line": edge.line,
        "offset": edge.offset,
        "spelled": edge.spelled,
        "angled": edge.angled,
        "target": edge.target,
        "certain": edge.certain,
        "saves_lines": step.saves.lines,
        "saves_files": list(step.saves.files),
        "frees": step.frees,
    }
