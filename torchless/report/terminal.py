"""The terminal: consoles that are plain when piped, and a progress bar that is not there at all when piped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from torchless import api

PIPED_WIDTH = 120


def wants_color(choice: str, stream: IO[str]) -> bool:
    """Whether to colour ``stream``: ``choice`` is "always", "never" or "auto" (a terminal, and no NO_COLOR)."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def make_console(choice: str, stream: IO[str]) -> Console:
    """A console on ``stream`` that writes escape sequences only when colour is wanted."""
    if wants_color(choice, stream):
        return Console(file=stream, force_terminal=True, no_color=False, highlight=False)
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, color_system=None, highlight=False, width=width)


@contextmanager
def progress_bar(console: Console, quiet: bool) -> Iterator[api.Progress]:
    """Give a callback that draws a bar on ``console`` while the block runs; silent when piped or ``quiet``."""
    if quiet or not console.file.isatty():
        yield lambda stage, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield update
