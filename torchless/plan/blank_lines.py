"""Leaves one blank line, not two, where edits take whole lines away between them."""

from __future__ import annotations

from collections.abc import Sequence

from torchless.model import Edit
from torchless.text.source import SourceFile


def join_blank_lines(source: SourceFile, edits: Sequence[Edit]) -> list[Edit]:
    """An edit of the blank line below each run of lines that ``edits`` take away, where one stands above the run too.

    The opening brace of a block counts as a blank line above. Nothing where an edit puts something at the run's end or
    into the blank line. The code is that of the run's last edit.
    """
    out: list[Edit] = []
    ordered = sorted(edits)
    for number, edit in enumerate(ordered):
        behind = ordered[number + 1] if number + 1 < len(ordered) else None
        if not _takes_lines(source, edit) or edit.end >= len(source.data):
            continue
        below = source.line_of(edit.end)
        end = edit.end + len(source.line_bytes(below))
        if source.line_bytes(below).strip() or (behind is not None and behind.start < end):
            continue  # behind.start == edit.end: the run goes on, or something is put there
        start = edit.start
        for before in reversed(ordered[:number]):
            if before.end != start or not _takes_lines(source, before):
                break
            start = before.start
        if any(e.start == e.end == start for e in ordered):
            continue
        above = source.line_bytes(source.line_of(start) - 1).rstrip() if start else b""
        if start and (not above or above.endswith(b"{")):
            out.append(Edit(source.path, edit.end, end, b"", edit.code))
    return out


def _takes_lines(source: SourceFile, edit: Edit) -> bool:
    if edit.new or edit.start == edit.end:
        return False
    return all(at == len(source.data) or source.column_of(at) == 1 for at in (edit.start, edit.end))
