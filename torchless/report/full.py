"""Findings for people: the place in its source, what leads there, what to do, and what the fix would change."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from torchless.model import Edit, Finding, Related, Tier
from torchless.report.checked import Checked, led_by
from torchless.report.color import Paint
from torchless.report.concise import heading
from torchless.report.wording import one_line, place, plural, printable
from torchless.text.diff import diff_from_edits
from torchless.text.edits import EditError
from torchless.text.source import BOM, SourceFile

TAB = 4
WIDTH = 120  # columns of a source line that are shown
_HUNK = re.compile(rb"@@ -(\d+)\S* \+(\d+)\S* @@")
MOST_CHANGES = 12  # lines of a fix that are shown before the rest is counted


def full(checked: Checked, paint: Paint, known: bool) -> str:
    """Every finding as a paragraph, in order; ``known`` lists those that the baseline knows, too, a line each."""
    paragraphs = ["\n".join(_paragraph(finding, checked, paint)) for finding in checked.result.findings]
    old = [heading(finding, paint, " (known)") for finding in checked.result.known if known]
    return "".join(f"{text}\n\n" for text in paragraphs) + "".join(f"{line}\n" for line in old)


def _paragraph(finding: Finding, checked: Checked, paint: Paint) -> Iterator[str]:
    source = checked.source(finding.path)
    yield heading(finding, paint)
    yield from _excerpt(finding, source, paint)
    for step in finding.related:
        yield f"  {paint(led_by(step), 'chain')} {_step(step, paint)}"
    if finding.help:
        yield f"  {paint('help:', 'help')} {one_line(finding.help)}"
    if finding.edits:
        yield from _fix(finding, checked, paint)


def _step(step: Related, paint: Paint) -> str:
    return f"{paint(printable(place(step.path, step.line)), 'bold')}: {one_line(step.message)}"


def _excerpt(finding: Finding, source: SourceFile, paint: Paint) -> Iterator[str]:
    """The line that the finding starts on, with a mark below; nothing for a finding about a whole file."""
    if not finding.end or not finding.start <= finding.end <= len(source.data):
        return
    number = source.line_of(finding.start)
    at = source.line_start(number)
    line = source.line_bytes(number).rstrip(b"\r\n")
    first, last = finding.start - at, min(finding.end - at, len(line))
    if number == 1 and line.startswith(BOM):
        line, first, last = line[len(BOM) :], max(first - len(BOM), 0), max(last - len(BOM), 0)
    before, marked, after = (_shown(part) for part in (line[:first], line[first:last], line[last:]))
    text, column, length = _window(_expanded(before), _expanded(marked, before), _expanded(after, before + marked))
    gutter = paint(f"{number:>5} |", "dim")
    yield f"{gutter} {text}".rstrip()
    yield f"{paint('      |', 'dim')} {' ' * column}{paint('^' + '~' * (length - 1), 'code')}"
    further = source.line_of(finding.end - 1) - number
    if further > 0:
        yield paint(f"      | ... and {plural(further, 'more line')}", "dim")


def _window(before: str, marked: str, after: str) -> tuple[str, int, int]:
    """The part of a line around what is marked that fits, the column of the mark, and its length (1 or more)."""
    text, column, length = before + marked + after, _width(before), max(_width(marked), 1)
    if _width(text) <= WIDTH:
        return text, column, length
    if column + min(length, WIDTH // 2) > WIDTH - 3:
        before = before[-WIDTH // 4 :]
        text, column = "..." + before + marked + after, 3 + _width(before)
    if len(text) > WIDTH:
        text = text[: WIDTH - 3] + "..."
    return text, column, max(min(length, WIDTH - 3 - column), 1)


def _fix(finding: Finding, checked: Checked, paint: Paint) -> Iterator[str]:
    """The lines that the finding's edits take out and put in."""
    note = {Tier.SAFE: "", Tier.UNSAFE: " (unsafe)", Tier.DISPLAY: " (for a person to make)"}[finding.tier]
    yield f"  {paint(f'fix{note}:', 'help')}"
    by_path: dict[str, list[Edit]] = {}
    for edit in finding.edits:
        by_path.setdefault(edit.path, []).append(edit)
    lines = [line for path in sorted(by_path) for line in _changed(finding, path, by_path, checked, paint)]
    cut = len(lines) if len(lines) <= MOST_CHANGES + 1 else MOST_CHANGES
    yield from lines[:cut]
    if cut < len(lines):
        yield paint(f"    ... and {plural(len(lines) - cut, 'more line')} (`torchless migrate` prints the diff)", "dim")


def _changed(
    finding: Finding, path: str, by_path: Mapping[str, list[Edit]], checked: Checked, paint: Paint
) -> Iterator[str]:
    source = checked.source(path)
    try:
        diff = diff_from_edits(source, by_path[path]).split(b"\n")
    except EditError:  # the file changed meanwhile: what is shown must not be wrong
        yield f"    in {printable(path)}, which changed meanwhile"
        return
    if len(by_path) > 1 or path != finding.path:
        yield f"    {paint(f'in {printable(path)}:', 'dim')}"
    numbers: dict[bytes, int] = {}  # of the next old and the next new line, once the header is over
    for line in diff:
        if hunk := _HUNK.match(line):
            numbers = {b"-": int(hunk[1]), b"+": int(hunk[2])}
        elif numbers and line[:1] in numbers:
            text = _expanded(_shown(line[1:].rstrip(b"\r").removeprefix(BOM)))
            style = "new" if line[:1] == b"+" else "old"
            yield f"{numbers[line[:1]]:>5} {paint(f'{line[:1].decode()} {text}'.rstrip(), style)}"
            numbers[line[:1]] += 1
        elif line[:1] == b" ":
            numbers = {sign: number + 1 for sign, number in numbers.items()}


def _shown(text: bytes) -> str:
    """``text`` as a terminal may get it, tabs still in it."""
    return "\t".join(printable(part) for part in text.decode("utf-8", "replace").split("\t"))


def _expanded(text: str, before: str = "") -> str:
    """``text`` with blanks for its tabs, when ``before`` stands in front of it on the line."""
    if "\t" not in text:
        return text
    column = 0
    out = []
    for char in before:
        column += TAB - column % TAB if char == "\t" else _width(char)
    for char in text:
        width = TAB - column % TAB if char == "\t" else _width(char)
        out.append(" " * width if char == "\t" else char)
        column += width
    return "".join(out)


def _width(text: str) -> int:
    """How many columns of a terminal ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
