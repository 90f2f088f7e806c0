r"""Unified diffs in git's format, byte for byte: what ``git apply`` and ``patch -p1`` take.

Lines end at ``\n`` alone, as for git; a ``\r`` before it is part of the line.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from torchless.model import Edit
from torchless.text.edits import apply, consistent
from torchless.text.source import SourceFile

CONTEXT = 3
# Comparing line by line takes time in proportion to the product of the lengths; beyond it the shortest edit script is
# looked for, which takes time in proportion to the square of its length; where that is too long as well, the block is
# shown as replaced.
_COMPARABLE = 100_000
_LONGEST_SCRIPT = 1_000
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class _Change:
    """Old lines [start, end) (0-based) become the lines ``new``."""

    start: int
    end: int
    new: tuple[bytes, ...]


def diff_from_edits(source: SourceFile, edits: Iterable[Edit]) -> bytes:
    """The diff of ``source`` with ``edits`` made, b"" when they change nothing.

    Only lines that an edit touches are compared, so the hunks are where the edits are and the time does not depend on
    what the rest looks like. Raises EditError as edits.apply() does.
    """
    lines = _lines(source.data)
    changes: list[_Change] = []
    for first, last, made in _blocks(source, consistent(edits, len(source.data))):
        start, end = _start_of(source, first), _start_of(source, last)
        moved = (Edit(e.path, e.start - start, e.end - start, e.new, e.code, e.rank) for e in made)
        changes += _compare(lines, first, last, _lines(apply(source.data[start:end], moved)))
    return _render(source.path, lines, changes)


def unified_diff(path: str, old: bytes, new: bytes, created: bool = False) -> bytes:
    """The diff from ``old`` to ``new`` of the file ``path``, b"" when they are equal. Prefer diff_from_edits().

    ``created``: there is no such file before.
    """
    lines = _lines(old)
    return _render(path, lines, _compare(lines, 0, len(lines), _lines(new)), created)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _start_of(source: SourceFile, line: int) -> int:
    """Where 0-based ``line`` starts; the end of the file for the one after the last."""
    return source.line_start(line + 1) if line < source.line_count else len(source.data)


def _blocks(source: SourceFile, edits: Sequence[Edit]) -> list[tuple[int, int, list[Edit]]]:
    """Runs of whole lines [first, last) with the edits that touch them; no line is in two runs.

    The line at the end of an edit belongs to its run: a deleted line end joins it to what comes before.
    """
    blocks: list[tuple[int, int, list[Edit]]] = []
    for edit in edits:
        first, last = source.line_of(edit.start) - 1, source.line_of(edit.end)
        if blocks and first < blocks[-1][1]:
            first, _, made = blocks.pop()
            blocks.append((first, last, [*made, edit]))
        else:
            blocks.append((first, last, [edit]))
    return blocks


def _compare(lines: Sequence[bytes], first: int, last: int, new: Sequence[bytes]) -> list[_Change]:
    """What turns ``lines[first:last]`` into ``new``."""
    return [
        _Change(first + i, first + j, tuple(new[k:m]))
        for i, j, k, m in _differences(lines[first:last], new, _MAX_DEPTH)
    ]


def _differences(a: Sequence[bytes], b: Sequence[bytes], depth: int) -> Iterator[tuple[int, int, int, int]]:
    """The ranges (i, j, k, m) such that a[i:j] differs from b[k:m], and the rest is equal, by the patience method.

    Lines that occur once on both sides hold the two together; what lies between them is compared in the same way.
    """
    shortest = min(len(a), len(b))
    head = next((i for i in range(shortest) if a[i] != b[i]), shortest)
    tail = next((i for i in range(shortest - head) if a[-1 - i] != b[-1 - i]), shortest - head)
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    anchors = _anchors(a, b) if depth else []
    if anchors:
        i, k = 0, 0
        for j, m in [*anchors, (len(a), len(b))]:
            for start, end, new_start, new_end in _differences(a[i:j], b[k:m], depth - 1):
                yield head + i + start, head + i + end, head + k + new_start, head + k + new_end
            i, k = j + 1, m + 1
    elif 0 < len(a) * len(b) <= _COMPARABLE:
        for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if tag != "equal":
                yield head + i, head + j, head + k, head + m
    elif a or b:
        for i, j, k, m in _shortest_script(a, b):
            yield head + i, head + j, head + k, head + m


def _shortest_script(a: Sequence[bytes], b: Sequence[bytes]) -> list[tuple[int, int, int, int]]:
    """The ranges of ``a`` and ``b`` that differ in the shortest edit script (Myers' greedy search).

    All of both when that script is longer than _LONGEST_SCRIPT lines.
    """
    reach = {1: 0}  # diagonal i - k -> how far along it ``a`` is used up by a script of the length so far
    history: list[dict[int, int]] = []
    for length in range(min(_LONGEST_SCRIPT, len(a) + len(b)) + 1):
        history.append(dict(reach))
        for diagonal in range(-length, length + 1, 2):
            inserts = diagonal == -length or (diagonal != length and reach[diagonal - 1] < reach[diagonal + 1])
            i = reach[diagonal + 1] if inserts else reach[diagonal - 1] + 1
            while i < len(a) and i - diagonal < len(b) and a[i] == b[i - diagonal]:
                i += 1
            reach[diagonal] = i
            if i >= len(a) and i - diagonal >= len(b):
                return _ranges(history, len(a), len(b))
    return [(0, len(a), 0, len(b))]


def _ranges(history: Sequence[Mapping[int, int]], i: int, k: int) -> list[tuple[int, int, int, int]]:
    """The steps of the script that ends at (i, k), joined where no equal line lies between them, in order."""
    out: list[tuple[int, int, int, int]] = []
    for length in range(len(history) - 1, 0, -1):
        reach, diagonal = history[length], i - k
        inserts = diagonal == -length or (diagonal != length and reach[diagonal - 1] < reach[diagonal + 1])
        from_i = reach[diagonal + 1] if inserts else reach[diagonal - 1]
        from_k = from_i - (diagonal + 1 if inserts else diagonal - 1)
        to_i, to_k = (from_i, from_k + 1) if inserts else (from_i + 1, from_k)
        if out and (to_i, to_k) == (out[-1][0], out[-1][2]):
            out[-1] = (from_i, out[-1][1], from_k, out[-1][3])
        else:
            out.append((from_i, to_i, from_k, to_k))
        i, k = from_i, from_k
    return out[::-1]


def _anchors(a: Sequence[bytes], b: Sequence[bytes]) -> list[tuple[int, int]]:
    """The longest run of pairs, ascending on both sides, of lines that occur exactly once on each."""
    in_a, in_b = _once(a), _once(b)
    pairs = [(i, in_b[line]) for line, i in in_a.items() if line in in_b]  # ascending in i
    tails: list[int] = []  # the smallest last j of an ascending run of each length
    ends: list[int] = []  # its index in pairs
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        tails[at : at + 1] = [j]
        ends[at : at + 1] = [index]
        before.append(ends[at - 1] if at else -1)
    run: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _once(lines: Sequence[bytes]) -> dict[bytes, int]:
    """The lines that occur once, and where, in order."""
    where: dict[bytes, int] = {}
    for i, line in enumerate(lines):
        where[line] = -1 if line in where else i
    return {line: i for line, i in where.items() if i >= 0}


def _render(path: str, lines: Sequence[bytes], changes: Sequence[_Change], created: bool = False) -> bytes:
    if not changes:
        return b""
    name = os.fsencode(path)
    a, b = _quoted(b"a/" + name), _quoted(b"b/" + name)
    tab = b"\t" if b" " in name else b""  # else patch would take the first blank for the end of the name
    # No "diff --git" line: with it, `git apply` in a folder below the top of a tree would skip the file without a word.
    before = b"/dev/null" if created else a + tab
    out = [b"--- " + before + b"\n", b"+++ " + b + tab + b"\n"]
    shift = 0  # how many lines longer the new file is so far
    for hunk in _hunks(changes):
        start = max(hunk[0].start - CONTEXT, 0)
        end = min(hunk[-1].end + CONTEXT, len(lines))
        body: list[bytes] = []
        at, grown = start, 0
        for change in hunk:
            body += [b" " + line for line in lines[at : change.start]]
            body += [b"-" + line for line in lines[change.start : change.end]]
            body += [b"+" + line for line in change.new]
            at = change.end
            grown += len(change.new) - (change.end - change.start)
        body += [b" " + line for line in lines[at:end]]
        old_range, new_range = _range(start, end - start), _range(start + shift, end - start + grown)
        out.append(b"@@ -%b +%b @@%b\n" % (old_range, new_range, _heading(lines, start)))
        out += [line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in body]
        shift += grown
    return b"".join(out)


def _hunks(changes: Sequence[_Change]) -> list[list[_Change]]:
    """``changes`` by hunks: those whose context lines touch are shown together."""
    hunks: list[list[_Change]] = []
    for change in changes:
        if hunks and change.start - hunks[-1][-1].end <= 2 * CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _range(start: int, count: int) -> bytes:
    """A range of a hunk header: 1-based, an empty one names the line before it, a count of 1 is left out."""
    return b"%d" % (start + 1) if count == 1 else b"%d,%d" % (start + 1 if count else start, count)


def _heading(lines: Sequence[bytes], start: int) -> bytes:
    """What git shows after @@: the last line before the hunk that starts with a name."""
    for line in reversed(lines[:start]):
        if line[:1].isalpha() or line[:1] in (b"_", b"$"):
            return b" " + line[:80].rstrip()
    return b""


def _quoted(name: bytes) -> bytes:
    """``name`` as git writes it: in quotes when a byte is not printable ASCII, or is a quote or a backslash."""
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in name):
        return name
    short = {0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f", 0x0D: b"\\r"}
    short |= {0x22: b'\\"', 0x5C: b"\\\\"}
    plain = (bytes([byte]) if 0x20 <= byte < 0x7F else b"\\%03o" % byte for byte in name)
    return b'"' + b"".join(short.get(byte, text) for byte, text in zip(name, plain, strict=True)) + b'"'
