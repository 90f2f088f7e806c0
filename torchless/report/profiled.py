"""What was profiled, for people: as text, and as Markdown for a pull request.

Figures of front ends over stand-ins are called that, on every page: they are no build seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchless.profile.compare import Change, shown
from torchless.profile.diagnose import diagnose, thresholds
from torchless.profile.kinds import short
from torchless.profile.model import COMPILE, PassProfile, Profile
from torchless.profile.rows import Row, builds, rows
from torchless.profile.walls import placed, schedule
from torchless.report.color import Paint
from torchless.report.wording import plural, printable

_FILES = 5
_RANKED = 20
_LIKE = 0.8
LEGEND = (
    "lines: preprocessed lines, as -E | wc -l counts them. below torch: read below a header of torch (inclusive).\n"
    "exclusive: a header's own lines; inclusive: with all that it includes. in front of every unit: what the compiler\n"
    "itself reads for HIP before the source, or what stands in for that.\n"
    "seconds: CPU seconds of one run of the compiler over one pass.\n"
)


def kind_of_figures(profile: Profile) -> str:
    """What the seconds are: the first thing that a reader must know."""
    if profile.kind == COMPILE:
        return "compile seconds: each pass compiled alone, as the build does it; bundling and linking are not in them"
    return "front-end figures: preprocessing and parsing alone, no code is made; these are not build seconds"


def text(profiles: Sequence[Profile], paint: Paint, verbose: bool = False) -> str:
    """One profile or a comparison, for people. ``verbose`` explains the thresholds."""
    return "\n".join(_text(profiles, paint, verbose)) + "\n"


def _text(profiles: Sequence[Profile], paint: Paint, verbose: bool) -> Iterator[str]:
    last = profiles[-1]
    yield paint(kind_of_figures(last), "bold")
    yield from (f"  {printable(words)}" for words in last.how)
    if len(profiles) > 1:
        yield f"  before: {_label(profiles[0])}; after: {_label(last)}"
    unit: tuple[str, str] | None = None
    for row in rows(profiles):
        if unit != (row.module, row.source):
            unit = (row.module, row.source)
            yield ""
            yield paint(printable(row.source), "bold") + (f" ({row.module})" if row.module else "")
        yield from _row(row, len(profiles) > 1, paint)
    yield from _builds(profiles, paint)
    yield from _ranking(last, paint)
    yield ""
    yield paint("diagnosis", "bold") + (f" (of {_label(last)})" if len(profiles) > 1 else "")
    yield from (f"  {line}" for line in diagnosis_lines(last))
    if verbose:
        yield from (paint(f"    {line}", "dim") for line in thresholds())
    for profile in profiles:
        yield from (paint(f"failed: {printable(problem)}", "code") for problem in profile.problems)


def _label(profile: Profile) -> str:
    return profile.version or "the files as they are"


def pass_name(name: str) -> str:
    """``host`` or ``device gfx942``."""
    return name if name == "host" else f"device {name}"


def _row(row: Row, two: bool, paint: Paint) -> Iterator[str]:
    head = f"  {pass_name(row.name):<14} "
    blank = " " * len(head)
    yield head + (_lines_changed(row) if two else _lines(row))
    change = row.seconds
    if change.before or change.after:
        yield blank + (f"{_changed(change)} s" if two else f"{shown(change.after)} s{_parts(row)}")
    if not two and row.after is not None:
        yield from (paint(f"{blank}{line}", "dim") for line in heaviest(row.after))


def _lines(row: Row) -> str:
    count, share = row.lines[1], row.torch[1]
    return "lines not counted" if count is None else f"{plural(count, 'line')}, {share or 0:.0%} of them below torch"


def _lines_changed(row: Row) -> str:
    before, after = row.lines
    if before is None or after is None:
        only = "before" if after is None else "after"
        return f"{plural(before or after or 0, 'line')}, only {only}"
    fewer, own = row.fewer_lines or 0.0, row.fewer_own_lines or 0.0
    old, new = (f"{share or 0:.0%}" for share in row.torch)
    front = f", {-own:+.1%} of what is not in front of every unit" if row.own_lines != row.lines else ""
    return f"{before:,} -> {after:,} lines ({-fewer:+.1%}{front}); below torch {old} -> {new}"


def _changed(change: Change) -> str:
    ratio = f", {change.ratio:.2f} times as fast" if change.ratio else ""
    return f"{shown(change.before)} -> {shown(change.after)}{ratio}; {change.verdict}"


def _parts(row: Row) -> str:
    """Front end, optimiser and code generation, where a trace told them."""
    found = [(row.part(which), name) for which, name in PARTS]
    told = [f"{name} {shown(change.after)}" for change, name in found if any(change.after)]
    return f" (wall: {'; '.join(told)})" if told else ""


PARTS = (("front_end", "front end"), ("optimizer", "optimiser"), ("code_generation", "code generation"))


def heaviest(profiled: PassProfile, count: int = _FILES) -> list[str]:
    """The heaviest headers of a pass by inclusive lines, each with the way on which it is first read.

    One that is little lighter than a header on that way is left out: it is the same weight once more.
    """
    if profiled.lines is None:
        return []
    listed: dict[str, int] = {}
    out = []
    for row in profiled.lines.files[1:]:  # the first is the source itself
        way = [step.rpartition(":")[0] for step in row.chain]
        if row.path.startswith("<built-in>") or any(step.startswith("<built-in>") for step in way):
            continue  # what stands in front of every unit
        if any(row.inclusive > _LIKE * listed[step] for step in way if step in listed):
            listed[row.path] = row.inclusive
            continue
        listed[row.path] = row.inclusive
        steps = " > ".join(short(step) for step in row.chain)
        figures = f"{row.inclusive:>9,} inclusive {row.exclusive:>8,} exclusive"
        out.append(f"{figures}  {printable(short(row.path))}  from {printable(steps)}")
        if len(out) == count:
            break
    return out


def _builds(profiles: Sequence[Profile], paint: Paint) -> Iterator[str]:
    found = builds(profiles)
    if found:
        yield ""
        yield paint("end-to-end builds through the JIT, wall seconds", "bold")
    for module, change, problems in found:
        told = _changed(change) if len(profiles) > 1 else shown(change.after)
        yield f"  {module}: {told}"
        yield from (f"    failed: {printable(problem)}" for problem in problems)


def _ranking(profile: Profile, paint: Paint) -> Iterator[str]:
    """The units of each module by their seconds, and what a build with MAX_JOBS hangs on."""
    for module in dict.fromkeys(unit.module for unit in profile.units if unit.module):
        units, origin = placed(profile, module)
        if len(units) < 2 or not any(unit.seconds for unit in units):
            continue
        yield ""
        yield paint(f"{module}: units by their seconds", "bold") + f" ({origin})"
        seconds = [unit.seconds for unit in units]
        found = schedule(seconds, profile.build_jobs)
        critical = {units[index].source for index in found.critical}
        ranked = sorted(units, key=lambda unit: (-unit.seconds, unit.source))
        for unit in ranked[:_RANKED]:
            mark = "  critical path" if unit.source in critical else ""
            yield f"  {unit.seconds:8.2f} s  {printable(unit.source)}{mark}"
        if len(ranked) > _RANKED:
            yield f"  and {len(ranked) - _RANKED} more"
        best = schedule(seconds, profile.build_jobs, largest_first=True)
        yield (
            f"  MAX_JOBS={profile.build_jobs}: {found.wall:.2f} s in this order, {best.wall:.2f} s the longest first;"
            f" no order beats {max(found.longest, found.share):.2f} s"
        )


def diagnosis_lines(profile: Profile) -> list[str]:
    """The diagnosis in sentences; at least one."""
    out = []
    for found in diagnose(profile):
        bound = {"host": "host-pass bound: ", "device": "device-pass bound: ", "both": "both passes: "}.get(
            found.bound, ""
        )
        codes = f" ({', '.join(found.codes)})" if found.codes else ""
        out.append(f"{printable(found.source or found.module)}: {bound}{found.text}{codes}")
    return out or ["nothing was measured that says anything"]


def markdown(profiles: Sequence[Profile], verified: str = "") -> str:
    """A table for a pull request: unit and pass, before, after, difference. ``verified``: how, a table of `verify`."""
    last = profiles[-1]
    out = [f"{kind_of_figures(last).capitalize()}.", ""]
    out += [f"- {escaped(words)}" for words in last.how]
    if len(profiles) > 1:
        out += [f"- before: {escaped(_label(profiles[0]))}; after: {escaped(_label(last))}", ""]
        heads = "unit | pass | lines before | after | difference | without what is in front of every unit | torch"
        out += [f"| {heads} | s before | after | ratio | |", _rule(11)]
        out += [_markdown_row(row) for row in rows(profiles)]
    else:
        out += ["", "| unit | pass | lines | below torch | seconds |", _rule(5)]
        for row in rows(profiles):
            count, share = row.lines[1] or 0, row.torch[1] or 0.0
            cells = [escaped(row.source), pass_name(row.name), f"{count:,}", f"{share:.0%}", shown(row.seconds.after)]
            out.append(f"| {' | '.join(cells)} |")
    built = builds(profiles)
    if built:
        out += ["", "| module | build before, wall s | after | ratio | |", _rule(5)]
    for module, change, problems in built:
        told = [escaped(problem) for problem in problems] or [change.verdict]
        out.append(f"| {' | '.join((escaped(module), *_series(change), _ratio(change), '; '.join(told)))} |")
    out += ["", *(f"- {escaped(line)}" for line in diagnosis_lines(last))]
    out += [f"- failed: {escaped(problem)}" for profile in profiles for problem in profile.problems]
    return "\n".join(out) + "\n" + (f"\n{verified}" if verified else "")


def _markdown_row(row: Row) -> str:
    before, after = ("" if count is None else f"{count:,}" for count in row.lines)
    old, new = ("" if share is None else f"{share:.0%}" for share in row.torch)
    change = row.seconds
    differences = ["" if share is None else f"{-share:+.1%}" for share in (row.fewer_lines, row.fewer_own_lines)]
    cells = [escaped(row.source), pass_name(row.name), before, after, *differences, f"{old} to {new}"]
    return f"| {' | '.join((*cells, *_series(change), _ratio(change), change.verdict))} |"


def _series(change: Change) -> tuple[str, str]:
    return shown(change.before), shown(change.after)


def _ratio(change: Change) -> str:
    return f"{change.ratio:.2f}" if change.ratio else ""


def _rule(columns: int) -> str:
    return f"|{'---|' * columns}"


def escaped(words: str) -> str:
    """``words`` as they stand, in a cell of a Markdown table."""
    words = printable(words).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return words.replace("_", "\\_").replace("*", "\\*")
