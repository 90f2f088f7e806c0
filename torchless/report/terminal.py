"""The terminal: pages that are plain when piped, and a progress bar that is not there at all when piped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from torchless.options import Progress as Callback
from torchless.report.color import wants_color

PIPED_WIDTH = 120


def make_page(choice: str, stream: IO[str]) -> Console:
    """A console that collects in memory (``page.file.getvalue()``) what is meant for ``stream``, laid out for it."""
    color = wants_color(choice, stream)
    width = None if stream.isatty() else PIPED_WIDTH
    if color:
        return Console(file=StringIO(), force_terminal=True, no_color=False, highlight=False, width=width)
    return Console(file=StringIO(), color_system=None, highlight=False, width=width)


def page_text(page: Console) -> str:
    """What make_page()'s console has collected."""
    assert isinstance(page.file, StringIO)
    return page.file.getvalue()


@contextmanager
def progress_bar(choice: str, stream: IO[str], quiet: bool) -> Iterator[Callback]:
    """Give a callback that draws a bar on ``stream`` while the block runs; silent when piped or ``quiet``."""
    if quiet or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda stage, done, total: None
        return
    console = Console(file=stream, no_color=not wants_color(choice, stream))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total or None)
            bar.update(tasks[stage], completed=done, total=total or None)

        yield update
