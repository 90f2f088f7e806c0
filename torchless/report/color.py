"""Colour without a library: whether a stream wants it, and text that has it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

Paint = Callable[[str, str], str]
"""paint(text, style) gives ``text`` as it is to be printed; ``style`` is a name in STYLES."""

STYLES = {"bold": "1", "dim": "2", "code": "1;31", "mark": "36", "chain": "33", "help": "36", "new": "32", "old": "31"}


def wants_color(choice: str, stream: IO[str]) -> bool:
    """Whether to colour ``stream``: ``choice`` is "always", "never" or "auto" (a terminal, and no NO_COLOR)."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painter(colored: bool) -> Paint:
    """A paint() that colours, or one that does nothing."""
    return _paint if colored else _plain


def _paint(text: str, style: str) -> str:
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if text else text


def _plain(text: str, style: str) -> str:
    return text
