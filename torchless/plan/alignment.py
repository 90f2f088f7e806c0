"""Keeps lines that go on with a list below its first element, where edits move the bracket that opens the list."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from torchless.model import Edit
from torchless.text.lexer import CLOSERS, OPENERS, Kind, Token, lex
from torchless.text.source import SourceFile


def keep_alignment(source: SourceFile, edits: Sequence[Edit]) -> list[Edit]:
    """``edits``, with more of blanks at the start of lines: what stood below the first element of a list still does.

    So does a comment that goes on below one. The list is that of the innermost ( [ or { which is open where the line
    starts. Left alone are lines that begin within a token, are indented with tabs, or whose start ``edits`` change;
    and whole lists when a change in front of their bracket takes or makes a line end, or takes the bracket. Lines that
    an edit puts into a list follow, too. The code of what is added is that of an edit which moved the bracket.
    """
    if not edits:
        return []
    lines = _Lines(source, edits)
    opened: list[tuple[Token, int]] = []  # brackets, and where their first element starts; -1 when not on their line
    made: list[Edit] = []
    pending = sorted((e for e in edits if b"\n" in e.new), reverse=True)
    placed = [e for e in edits if b"\n" not in e.new]
    seen = 0  # the line on which the token before ends
    tokens = [t for t in lex(source.data) if t.kind is not Kind.BLANK]
    for i, token in enumerate(tokens):
        line = source.line_of(token.start)
        around = opened[-1] if opened and opened[-1][1] >= 0 else None
        while pending and pending[-1].start <= token.start:
            edit = pending.pop()
            placed.append(lines.followed(edit, *around) if around else edit)
        if line != seen:
            moved = lines.moved(line, token, *around) if around else []
            above = tokens[i - 1] if i else None
            if above is not None and not moved and line == seen + 1 and token.kind is above.kind is Kind.COMMENT:
                moved = lines.moved(line, token, above, above.start)
            made += moved
        seen = source.line_of(max(token.start, token.end - 1))
        if token.kind is not Kind.PUNCT:
            continue
        if token.text in OPENERS:
            first = tokens[i + 1].start if i + 1 < len(tokens) else -1
            opened.append((token, first if first >= 0 and source.line_of(first) == line else -1))
        elif token.text in CLOSERS and opened and opened[-1][0].text == CLOSERS[token.text]:
            opened.pop()
    return [*placed, *pending, *made]


class _Lines:
    """By how many columns the edits, and what was made of them so far, move the text of lines."""

    def __init__(self, source: SourceFile, edits: Sequence[Edit]) -> None:
        self._source = source
        self._edits = sorted(edits)
        self._starts = [e.start for e in self._edits]
        self._shifts: dict[int, tuple[int, str]] = {}  # of the starts of lines that moved, and by whose code

    def moved(self, line: int, token: Token, bracket: Token, first: int) -> list[Edit]:
        """The edit that keeps ``line``, which starts with ``token``, below ``first``; none where there is no need.

        ``first`` moves as ``bracket`` does, the token in front of it or at it.
        """
        source = self._source
        start = source.line_start(line)
        indent = token.start - start
        if indent != source.column_of(first) - 1 or source.data[start : token.start].strip(b" "):
            return []
        found = self._before(bracket)
        if found is None or self._start_changes(start, token.start):
            return []
        by, code = found
        if by == 0 or indent + by < 0:
            return []
        self._shifts[line] = found
        if by > 0:  # one byte in front of the token, so that it meets no insertion at either end
            return [Edit(source.path, token.start - 1, token.start - 1, b" " * by, code)]
        return [Edit(source.path, token.start + by, token.start, b"", code)]

    def followed(self, edit: Edit, bracket: Token, first: int) -> Edit:
        """``edit``, with those of its lines moved that it puts below ``first``."""
        found = self._before(bracket)
        column = self._source.column_of(first) - 1
        if found is None or column + found[0] < 0:
            return edit
        below = re.compile(rb"\n {%d}(?! )" % column)
        return replace(edit, new=below.sub(b"\n" + b" " * (column + found[0]), edit.new))

    def _before(self, bracket: Token) -> tuple[int, str] | None:
        """By how much ``bracket`` moves right, and the code of an edit that does it; None when nobody can say."""
        source = self._source
        line = source.line_of(bracket.start)
        start = source.line_start(line)
        by, code = self._shifts.get(line, (0, ""))
        at = bisect_left(self._starts, start)
        if at and self._edits[at - 1].end >= start:
            return None  # a line end goes
        for edit in self._edits[at : bisect_right(self._starts, bracket.start)]:
            if edit.end > bracket.start:
                return None
            if edit.start == edit.end == start and edit.new.endswith(b"\n"):
                continue  # whole lines in front
            if b"\n" in edit.new or b"\n" in source.data[edit.start : edit.end]:
                return None
            by += len(edit.new) - (edit.end - edit.start)
            code = code or edit.code
        return by, code

    def _start_changes(self, start: int, end: int) -> bool:
        """Whether an edit touches the blanks [start, end) at the start of a line, or takes the line end in front."""
        at = bisect_left(self._starts, start)
        if at and self._edits[at - 1].end >= start:
            return True
        return any(
            not (e.start == e.end == start and e.new.endswith(b"\n"))
            for e in self._edits[at : bisect_left(self._starts, end)]
        )
