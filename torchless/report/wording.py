"""Words that every printer for people shares."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def plural(count: int, noun: str, many: str = "") -> str:
    """``1 file``, ``2 files``."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def place(path: str, line: int = 0, column: int = 0) -> str:
    """``path:line:column``, without what is not known."""
    return ":".join([path, *(str(n) for n in (line, column) if n)])


def one_line(text: str) -> str:
    """``text`` in one line, printable."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """``text`` with nothing in it that a terminal would obey: a file name may hold anything."""
    return _CONTROL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return ascii(match.group())[1:-1]
