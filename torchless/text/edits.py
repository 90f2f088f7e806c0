"""Sets of edits: merging them, finding conflicts, applying them, and where an offset goes when they are applied.

Two edits of one file conflict when both replace some byte, or when one inserts strictly inside what the other
replaces. Adjacent replacements and insertions at the boundary of a replacement are fine: text inserted at the start of
a replaced range comes before the new text, text inserted at its end after it. Nothing depends on the order of the
input.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchless.model import Edit


class EditError(ValueError):
    """An edit that cannot be made: a range outside the file, or one that overlaps another. One line."""


@dataclass(frozen=True, slots=True, order=True)
class Conflict:
    """Two edits of one file that cannot both be made; ``first`` starts no later than ``second``."""

    first: Edit
    second: Edit

    def __str__(self) -> str:
        return f"{self.first.path}: {_describe(self.first)} and {_describe(self.second)} overlap"


@dataclass(frozen=True, slots=True)
class MergeResult:
    """``edits``: those that conflict with nothing, each once, in order of application. ``conflicts``: the others.

    Every edit that was left out is in at least one conflict; not every pair that overlaps is listed.
    """

    edits: tuple[Edit, ...]
    conflicts: tuple[Conflict, ...]


@dataclass(frozen=True, slots=True, order=True)
class GroupConflict:
    """Why ``group`` was dropped: its ``edit`` conflicts with ``other`` of ``winner``, which may be ``group`` itself."""

    group: str
    winner: str
    edit: Edit
    other: Edit

    def __str__(self) -> str:
        owner = "itself" if self.winner == self.group else self.winner
        return (
            f"{self.edit.path}: {_describe(self.edit)} of {self.group} and {_describe(self.other)} of {owner} overlap"
        )


@dataclass(frozen=True, slots=True)
class GroupMerge:
    """``edits`` of the groups named in ``applied``, merged; ``conflicts`` of the groups that were dropped whole."""

    edits: tuple[Edit, ...]
    applied: tuple[str, ...]
    conflicts: tuple[GroupConflict, ...]


def merge(edits: Iterable[Edit]) -> MergeResult:
    """Sort ``edits`` (of any number of files), make each identical one once, and take out those that conflict.

    Replacements are identical when path, range and text are, whichever rules made them. Insertions must also agree in
    rank and code: two rules may well want one more ")" each at one place. A rule that wants that twice must use two
    ranks. Raises EditError for a range that is no range (start < 0 or end < start).
    """
    ordered = _distinct(edits)
    lost: set[int] = set()
    conflicts: list[Conflict] = []
    reach = -1  # index of the replacement so far that ends last in the current file
    for i, edit in enumerate(ordered):
        if reach >= 0 and ordered[reach].path != edit.path:
            reach = -1
        if reach >= 0 and edit.start < ordered[reach].end:
            conflicts.append(Conflict(ordered[reach], edit))
            lost.update((reach, i))
        if edit.end > edit.start and (reach < 0 or edit.end > ordered[reach].end):
            reach = i
    kept = tuple(edit for i, edit in enumerate(ordered) if i not in lost)
    return MergeResult(kept, tuple(conflicts))


def merge_groups(groups: Mapping[str, Sequence[Edit]]) -> GroupMerge:
    """Merge groups of edits of which each applies whole or not at all.

    Groups are taken in the order of their names; one that conflicts with itself or with a group taken before is
    dropped, and every conflict that it has is reported. A dropped group stands in nobody's way. Raises EditError as
    merge does.
    """
    taken: dict[str, _Occupied] = defaultdict(_Occupied)
    applied: list[str] = []
    conflicts: list[GroupConflict] = []
    for name in sorted(groups):
        merged = merge(groups[name])
        found = [GroupConflict(name, name, c.second, c.first) for c in merged.conflicts]
        for edit in merged.edits:
            found += [GroupConflict(name, owner, edit, other) for owner, other in taken[edit.path].against(edit)]
        if found:
            conflicts += found
            continue
        applied.append(name)
        for edit in merged.edits:
            taken[edit.path].add(name, edit)
    edits = _distinct(edit for name in applied for edit in groups[name])
    return GroupMerge(tuple(edits), tuple(applied), tuple(conflicts))


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` with ``edits`` made, all of them of this one file, in any order.

    Raises EditError when a range does not lie in 0 <= start <= end <= len(data), when two edits conflict, or when they
    are of several files.
    """
    pieces: list[bytes] = []
    done = 0
    for edit in consistent(edits, len(data)):
        pieces += (data[done : edit.start], edit.new)
        done = edit.end
    pieces.append(data[done:])
    return b"".join(pieces)


def consistent(edits: Iterable[Edit], length: int | None = None) -> tuple[Edit, ...]:
    """``edits`` of one file of ``length`` bytes (None: unknown) merged, in order of application.

    Raises EditError when they conflict, are of several files, or reach beyond the end.
    """
    merged = merge(edits)
    if merged.conflicts:
        raise EditError(str(merged.conflicts[0]))
    if merged.edits and merged.edits[0].path != merged.edits[-1].path:
        raise EditError(f"edits of both {merged.edits[0].path} and {merged.edits[-1].path} for one file")
    if length is not None and merged.edits and merged.edits[-1].end > length:
        raise EditError(f"{merged.edits[0].path}: {_describe(merged.edits[-1])} ends after the file's {length} bytes")
    return merged.edits


@dataclass(frozen=True)
class OffsetMap:
    """Where offsets of one file go when ``edits`` are made, and where they came from. Build it with offset_map()."""

    edits: tuple[Edit, ...]
    _old_starts: tuple[int, ...] = field(repr=False)
    _new_starts: tuple[int, ...] = field(repr=False)

    def new(self, offset: int) -> int:
        """The new offset of the byte at old ``offset``; that of the new text when the byte was replaced.

        The end of the old file maps to the end of the new one.
        """
        i = bisect_right(self._old_starts, offset) - 1
        if i < 0:
            return offset
        edit = self.edits[i]
        if offset < edit.end:
            return self._new_starts[i]
        return self._new_starts[i] + len(edit.new) + offset - edit.end

    def old(self, offset: int) -> int | None:
        """The old offset of the byte at new ``offset``, or None when that byte is new text."""
        i = bisect_right(self._new_starts, offset) - 1
        if i < 0:
            return offset
        edit = self.edits[i]
        past = offset - self._new_starts[i] - len(edit.new)
        return None if past < 0 else edit.end + past


def offset_map(edits: Iterable[Edit]) -> OffsetMap:
    """The map for ``edits`` of one file. Raises EditError as consistent() does."""
    ordered = consistent(edits)
    new_starts: list[int] = []
    shift = 0
    for edit in ordered:
        new_starts.append(edit.start + shift)
        shift += len(edit.new) - (edit.end - edit.start)
    return OffsetMap(ordered, tuple(e.start for e in ordered), tuple(new_starts))


def map_offset(edits: Iterable[Edit], offset: int) -> int:
    """Old offset to new offset, see OffsetMap.new. For many offsets of one file build offset_map() once."""
    return offset_map(edits).new(offset)


def unmap_offset(edits: Iterable[Edit], offset: int) -> int | None:
    """New offset to old offset, None inside new text, see OffsetMap.old."""
    return offset_map(edits).old(offset)


def _distinct(edits: Iterable[Edit]) -> list[Edit]:
    """``edits`` in order of application, identical ones once. Raises EditError for a range that is none."""
    chosen: dict[tuple[object, ...], Edit] = {}
    for edit in edits:
        if not 0 <= edit.start <= edit.end:
            raise EditError(f"{edit.path}: {_describe(edit)} is not a range")
        key: tuple[object, ...] = (edit.path, edit.start, edit.end, edit.new)
        if edit.start == edit.end:
            key += (edit.rank, edit.code)
        known = chosen.get(key)
        if known is None or (edit.rank, edit.code) < (known.rank, known.code):
            chosen[key] = edit
    return sorted(chosen.values(), key=lambda e: (e.path, e.start, e.end, e.rank, e.code, e.new))


class _Occupied:
    """What earlier groups do to one file: their replacements, which do not overlap, and where they insert."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._replacements: list[tuple[str, Edit]] = []
        self._points: list[int] = []
        self._insertions: list[tuple[str, Edit]] = []

    def against(self, edit: Edit) -> list[tuple[str, Edit]]:
        """The earlier edits, with the groups that made them, that ``edit`` conflicts with."""
        if edit.start == edit.end:
            before = bisect_left(self._starts, edit.start) - 1
            return [r for r in self._replacements[max(before, 0) : before + 1] if r[1].end > edit.start]
        low = max(bisect_right(self._starts, edit.start) - 1, 0)
        high = bisect_left(self._starts, edit.end)
        found = [r for r in self._replacements[low:high] if r[1].end > edit.start and not _same(r[1], edit)]
        inside = slice(bisect_right(self._points, edit.start), bisect_left(self._points, edit.end))
        return found + self._insertions[inside]

    def add(self, group: str, edit: Edit) -> None:
        """Record ``edit``, which conflicts with nothing here."""
        if edit.start == edit.end:
            at = bisect_right(self._points, edit.start)
            self._points.insert(at, edit.start)
            self._insertions.insert(at, (group, edit))
            return
        at = bisect_left(self._starts, edit.start)
        if self._starts[at : at + 1] != [edit.start]:  # else the same edit, made by an earlier group too
            self._starts.insert(at, edit.start)
            self._replacements.insert(at, (group, edit))


def _same(one: Edit, other: Edit) -> bool:
    return (one.start, one.end, one.new) == (other.start, other.end, other.new)


def _describe(edit: Edit) -> str:
    what = "insertion at byte" if edit.start == edit.end else "replacement of bytes"
    where = f"{edit.start}" if edit.start == edit.end else f"{edit.start}-{edit.end}"
    return f"{what} {where}" + (f" ({edit.code})" if edit.code else "")
