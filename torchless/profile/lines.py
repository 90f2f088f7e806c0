"""Preprocessed lines by header, from the line markers of ``clang -E``.

A file's *exclusive* lines are those between its markers, the markers themselves among them; over all files they add up
to what ``-E | wc -l`` counts. Its *inclusive* lines are those together with all that was read below it; where it was
read several times, all of these, a file below itself counted once.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from torchless.errors import ToolError
from torchless.profile.model import FileLines, Lines, Node

_MARKER = re.compile(rb'^# (\d+) "((?:[^"\\]|\\.)*)"([ 1-4]*)\r?$', re.M)
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_MOST_FILES = 60
_SMALLEST = 0.0005  # of the total: what a page cannot show anyway

Classify = Callable[[str], tuple[str, str]]


class LinesError(ToolError):
    """Preprocessed text without line markers; one line."""


@dataclass(slots=True)
class _Entered:
    """A file as one directive brought it. line: that of the directive, 0 until the file is left."""

    name: str
    parent: _Entered | None
    lines: int = 0
    line: int = 0
    children: list[_Entered] = field(default_factory=list)
    below: int = 0


def read_lines(text: bytes, classify: Classify, where: str) -> Lines:
    """The lines of a pass. ``text`` is what ``-E`` printed; ``classify`` is as from kinds.classifier().

    Raises LinesError for a text without markers (``-P`` takes them out); ``where`` names it.
    """
    top = _entered(text)
    if top is None:
        raise LinesError(f"{where}: no line markers in what -E printed; is there a -P among the flags?")
    order = list(_walk(top))
    for entry in reversed(order):
        entry.below = entry.lines + sum(child.below for child in entry.children)
    files, entered, inclusive = Counter[str](), Counter[str](), Counter[str]()
    first: dict[str, _Entered] = {}
    by_kind, through = Counter[str](), Counter[str]()
    for entry in order:
        shown, kind = classify(entry.name)
        files[shown] += entry.lines
        entered[shown] += 1
        first.setdefault(shown, entry)
        by_kind[kind] += entry.lines
        above = [classify(outer.name) for outer in _outer(entry)]
        if all(name != shown for name, _ in above):
            inclusive[shown] += entry.below
        if all(other != kind for _, other in above):
            through[kind] += entry.below
    heaviest = sorted(files, key=lambda name: (-inclusive[name], -files[name], name))[:_MOST_FILES]
    rows = tuple(
        FileLines(
            name,
            classify(first[name].name)[1],
            files[name],
            inclusive[name],
            entered[name],
            _chain(first[name], classify),
        )
        for name in heaviest
    )
    total = top.below
    tree = _node(top, classify, total * _SMALLEST)
    opened = sum(1 for entry in first.values() if not entry.name.startswith("<"))  # not <built-in> and its kin
    in_front = sum(child.below for child in top.children if child.name == "<built-in>")
    return Lines(total, dict(sorted(by_kind.items())), dict(sorted(through.items())), rows, opened, tree, in_front)


def _entered(text: bytes) -> _Entered | None:
    """The tree of files as their markers tell it; the source is its top."""
    top: _Entered | None = None
    current: _Entered | None = None
    position = 0
    for marker in _MARKER.finditer(text):
        if current is not None:
            current.lines += text.count(b"\n", position, marker.start())
        position = marker.start()
        name, flags = _name(marker.group(2)), marker.group(3).split()
        if current is None or top is None:
            top = current = _Entered(name, None)
        elif b"1" in flags:
            entry = _Entered(name, current)
            current.children.append(entry)
            current = entry
        elif b"2" in flags and current.parent is not None:
            # the marker has the line after the directive
            current.line = max(0, int(marker.group(1)) - 1)
            current = current.parent
    if current is not None:
        current.lines += text.count(b"\n", position)
    return top


def _name(quoted: bytes) -> str:
    def plain(found: re.Match[bytes]) -> bytes:
        return bytes([int(found[1], 8) & 255]) if found[1] else found[2]

    return os.fsdecode(_ESCAPE.sub(plain, quoted))


def _walk(top: _Entered) -> Iterator[_Entered]:
    """All entries, each before what is below it, in the order of the text."""
    pending = [top]
    while pending:
        entry = pending.pop()
        yield entry
        pending += reversed(entry.children)


def _outer(entry: _Entered) -> Iterator[_Entered]:
    while entry.parent is not None:
        entry = entry.parent
        yield entry


def _chain(entry: _Entered, classify: Classify) -> tuple[str, ...]:
    """The directives that brought ``entry``, the source's first."""
    steps = []
    while entry.parent is not None:
        steps.append(f"{classify(entry.parent.name)[0]}:{entry.line}")
        entry = entry.parent
    return tuple(reversed(steps))


def _node(entry: _Entered, classify: Classify, smallest: float) -> Node:
    """The tree below ``entry``; files of less than ``smallest`` lines are put together by kind."""
    kept: list[Node] = []
    rest = Counter[str]()
    for child in entry.children:
        if child.below >= smallest:
            kept.append(_node(child, classify, smallest))
        else:
            for kind, lines in _kinds(_walk(child), classify):
                rest[kind] += lines
    kept += [Node("", kind, lines, lines) for kind, lines in sorted(rest.items()) if lines]
    kept.sort(key=lambda node: (-node.inclusive, node.path))
    return Node(*classify(entry.name), entry.lines, entry.below, tuple(kept))


def _kinds(entries: Iterable[_Entered], classify: Classify) -> Iterator[tuple[str, int]]:
    for entry in entries:
        yield classify(entry.name)[1], entry.lines
