"""A source file as bytes, with just enough structure to edit it without touching what is not edited."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class SourceFile:
    """The bytes of one file and where its lines start.

    ``path`` is how findings and edits name the file (root-relative); ``data`` is the whole file, BOM included, so that
    every offset is an offset into the file on disk.
    """

    path: str
    data: bytes
    _line_starts: tuple[int, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        find = self.data.find
        at = find(b"\n")
        while at != -1:
            starts.append(at + 1)
            at = find(b"\n", at + 1)
        object.__setattr__(self, "_line_starts", tuple(starts))

    @property
    def has_bom(self) -> bool:
        """True when the file starts with a UTF-8 byte order mark."""
        return self.data.startswith(BOM)

    def line_of(self, offset: int) -> int:
        """The 1-based line that holds byte ``offset``."""
        return bisect_right(self._line_starts, offset)

    def column_of(self, offset: int) -> int:
        """The 1-based column of ``offset``, in bytes."""
        return offset - self._line_starts[self.line_of(offset) - 1] + 1

    def line_start(self, line: int) -> int:
        """The offset where 1-based ``line`` starts."""
        return self._line_starts[line - 1]

    @property
    def line_count(self) -> int:
        """How many lines there are; text after the last newline counts as one."""
        return len(self._line_starts)

    def line_bytes(self, line: int) -> bytes:
        """The bytes of 1-based ``line``, its line end included."""
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.data)
        return self.data[self._line_starts[line - 1] : end]

    def eol_at(self, offset: int) -> bytes:
        r"""The line end for a new line near ``offset``: that of the line itself, else of the nearest line before.

        A file without any line end gives ``b"\n"``.
        """
        for line in range(self.line_of(offset), 0, -1):
            text = self.line_bytes(line)
            if text.endswith(b"\r\n"):
                return b"\r\n"
            if text.endswith(b"\n"):
                return b"\n"
        return b"\n"


def read_source(root: Path, path: str) -> SourceFile:
    """Read ``root / path``. Raises OSError as open() does."""
    return SourceFile(path, (root / path).read_bytes())
