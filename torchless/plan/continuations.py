"""Keeps the backslashes of a macro in their column where an edit makes a line longer or shorter."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchless.model import Edit
from torchless.text.source import SourceFile

_TAIL = re.compile(rb"([ ]*)\\\r?\n?\Z")


def keep_columns(source: SourceFile, edits: Sequence[Edit]) -> list[Edit]:
    """Edits of blanks in front of the backslash that ends a line, for every such line that ``edits`` change.

    Only where the backslash stood in one column with that of the line before or after. At least one blank stays. Lines
    with tabs, and edits that take or make a line end, are left alone.
    """
    by_line: dict[int, list[Edit]] = {}
    left_alone: set[int] = set()
    for edit in edits:
        first = source.line_of(edit.start)
        if b"\n" in edit.new or b"\n" in source.data[edit.start : edit.end]:
            left_alone.update(range(first, source.line_of(edit.end) + 1))
        by_line.setdefault(first, []).append(edit)
    return [
        made
        for line, changed in sorted(by_line.items())
        if line not in left_alone
        for made in _blanks(source, line, changed)
    ]


def _blanks(source: SourceFile, line: int, changed: Sequence[Edit]) -> list[Edit]:
    text = source.line_bytes(line)
    tail = _TAIL.search(text)
    column = _backslash(source, line)
    if tail is None or b"\t" in text or column not in (_backslash(source, line - 1), _backslash(source, line + 1)):
        return []
    start = source.line_start(line) + tail.start(1)
    end = source.line_start(line) + tail.end(1)
    start = max(start, *(e.end for e in changed))
    if start > end:
        return []  # the backslash itself goes
    code = changed[0].code
    growth = sum(len(e.new) - (e.end - e.start) for e in changed)
    if growth < 0:
        return [Edit(source.path, end, end, b" " * -growth, code, rank=99)]
    spare = min(growth, end - start - 1)
    return [Edit(source.path, end - spare, end, b"", code)] if spare > 0 else []


def _backslash(source: SourceFile, line: int) -> int:
    """The column of the backslash that continues ``line``; -1 when none does."""
    if not 1 <= line <= source.line_count:
        return -1
    text = source.line_bytes(line).rstrip(b"\r\n")
    return len(text) if text.endswith(b"\\") else -1
