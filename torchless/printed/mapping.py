"""From edits and places in printed C++ to the script that prints it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from torchless.model import Edit, Finding
from torchless.printed.literals import HOLE, Unit, spell
from torchless.printed.sources import Printed, printed_by
from torchless.printed.templates import Template
from torchless.text.edits import EditError, apply
from torchless.text.source import SourceFile

_HOLE = re.compile(rb"%b\w+" % HOLE.encode())


def place_in_script(printed: Printed, offset: int) -> int:
    """The byte of the script that spells the byte at ``offset`` of the C++."""
    template = printed.template
    index = min(bisect_right(template.starts, offset) - 1, len(template.units) - 1)
    if index < 0:
        return 0
    unit = template.units[index]
    return unit.end if offset >= template.starts[index + 1] else unit.start


def spans_in(printed: Mapping[str, Printed], script: str) -> list[tuple[int, int]]:
    """The byte ranges of a script that spell what it prints, as far as that is a source."""
    return [run for p in printed.values() if p.script.path == script for run in _runs(p.template.units)]


def edits_in_script(printed: Printed, edit: Edit) -> tuple[Edit, ...] | None:
    """The edits of the script that come to ``edit`` of the C++, which may lie in several literals; None for none.

    A hole is kept: an edit may move over it when its new text names it.
    """
    template = printed.template
    first, last = bisect_left(template.starts, edit.start), bisect_left(template.starts, edit.end)
    if first >= len(template.starts) or template.starts[first] != edit.start or template.starts[last] != edit.end:
        return None
    units = template.units[first:last]
    own = ((template.code[template.starts[i] : template.starts[i + 1]], template.units[i]) for i in range(first, last))
    holes = {name: unit for name, unit in own if unit.is_hole}
    if sum(unit.is_hole for unit in units) != len(_HOLE.findall(edit.new)):
        return None
    at = units[0] if units else template.units[min(first, len(template.units) - 1)]
    new = _spelled(edit.new, at, holes, printed.script.data)
    if new is None:
        return None
    if not units:
        place = _insertion(template.units, first)
        return (replace(edit, path=printed.script.path, start=place, end=place, new=new),)
    edits = [Edit(printed.script.path, *run, b"", edit.code, edit.rank) for run in _runs(units)]
    return (replace(edits[0], new=new), *edits[1:])


def _insertion(units: Sequence[Unit], index: int) -> int:
    """Where in the script to write what comes before ``units[index]``."""
    if index == len(units):
        return units[-1].end
    at, before = units[index], units[index - 1] if index else None
    # a brace that we put around a text that goes into another one has no place of its own
    return before.end if before is not None and at.start == at.end and before.start < before.end else at.start


def _runs(units: Sequence[Unit]) -> list[tuple[int, int]]:
    """The byte ranges of the script that spell ``units``, those that touch as one."""
    runs: list[tuple[int, int]] = []
    for unit in units:
        if unit.start == unit.end:
            continue
        if runs and runs[-1][1] == unit.start:
            runs[-1] = (runs[-1][0], unit.end)
        else:
            runs.append((unit.start, unit.end))
    return runs or [(units[0].start, units[0].start)]


def _spelled(new: bytes, at: Unit, holes: Mapping[bytes, Unit], script: bytes) -> bytes | None:
    """``new`` as the literal of ``at`` has to spell it; None where it cannot, or names a hole that is not there."""
    out: list[bytes] = []
    position = 0
    for match in [*_HOLE.finditer(new), None]:
        text = new[position : match.start() if match else len(new)].decode("utf-8", "surrogateescape")
        spelled = spell(text, at.literal)
        if spelled is None:
            return None
        out.append(spelled.encode("utf-8", "surrogateescape"))
        if match:
            unit = holes.get(match[0])
            if unit is None or unit.literal != at.literal:
                return None
            out.append(script[unit.start : unit.end])
            position = match.end()
    return b"".join(out)


def edited_scripts(
    printed: Mapping[str, Printed], edits: Mapping[str, Sequence[Edit]]
) -> Mapping[str, tuple[Edit, ...] | str]:
    """For each script that prints something with ``edits`` (by path): its edits, sorted, or why it has none, in words.

    The edited script is read again: it must print what the edits make of what it printed.
    """
    edits = {path: [_but_for_a_line_end(printed[path].template, edit) for edit in own] for path, own in edits.items()}
    by_script: dict[str, list[Printed]] = {}
    for path in edits:
        by_script.setdefault(printed[path].script.path, []).append(printed[path])
    return {script: _edited(found, edits) for script, found in by_script.items()}


def _but_for_a_line_end(template: Template, edit: Edit) -> Edit:
    """``edit`` without the line end that it would take from the line on which the script puts another string in."""
    first = bisect_left(template.starts, edit.start)
    if edit.new or not 0 < first < len(template.units) - 1 or template.starts[first + 1] >= edit.end:
        return edit
    unit, before = template.units[first], template.units[first - 1]
    ends_line = unit.text in ("\n", "\r\n") and before.end != unit.start
    return replace(edit, start=template.starts[first + 1]) if ends_line else edit


def _edited(found: Sequence[Printed], edits: Mapping[str, Sequence[Edit]]) -> tuple[Edit, ...] | str:
    script = found[0].script
    made: set[Edit] = set()
    for printed in found:
        for edit in edits[printed.path]:
            own = edits_in_script(printed, edit)
            if own is None:
                line = script.line_of(place_in_script(printed, edit.start))
                return f"an edit of the C++ in line {line} cannot be written into the string there"
            made.update(own)
    try:
        text = apply(script.data, made)
    except EditError:
        return "one string goes into several places, which would have to change differently"
    wanted = [apply(code, edits.get(path, ())) for path, code in _printed(script.path, script.data)]
    after = [code for _, code in _printed(script.path, text)]
    if after != wanted:
        return "one string goes into several places, which would have to change differently"
    return tuple(sorted(made))


@lru_cache(maxsize=256)
def _printed(path: str, script: bytes) -> tuple[tuple[str, bytes], ...]:
    """All that a script prints, as (path, C++)."""
    return tuple((p.path, p.template.code) for p in printed_by(SourceFile(path, script), lambda code: True))


def finding_in_script(printed: Mapping[str, Printed], finding: Finding) -> Finding:
    """``finding`` where the script spells what it is about; its edits, which were mapped already, left out."""
    if finding.path not in printed:
        return finding
    source = printed[finding.path]
    start, end = place_in_script(source, finding.start), place_in_script(source, finding.end)
    related = tuple(r for r in finding.related if r.path not in printed)
    return replace(finding, path=source.script.path, start=start, end=max(start, end), related=related)
