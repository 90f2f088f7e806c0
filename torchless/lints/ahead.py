"""What lints ask of nearly every file, found out by two processes before they ask.

Reading hundreds of files for the first time takes seconds, most of it in questions about one file alone. A second
process, a copy of this one, takes half of the files. Where it cannot be had, or dies, nothing is lost: a lint that
misses something computes it itself.
"""

from __future__ import annotations

import marshal
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from torchless.closure.directives import DIRECTIVES, scan_directives
from torchless.lints.comment_figures import COMMENT_FIGURES
from torchless.lints.context import Context
from torchless.lints.dtype_numbers import DTYPE_NUMBERS
from torchless.lints.launches import LAUNCHES
from torchless.lints.scan import FileScan
from torchless.reliance import declared, mentions

OF_ALL: Sequence[FileScan[Any]] = (
    FileScan(*DIRECTIVES, scan_directives),
    FileScan("mentions", mentions.VERSION, mentions.scan),
    LAUNCHES,
    DTYPE_NUMBERS,
)
OF_HEADERS: Sequence[FileScan[Any]] = (FileScan("declared", declared.VERSION, declared.scan), COMMENT_FIGURES)
Row = tuple[bytes, str, int, bytes]
"""(key of the content, kind, version, value as the index stores it)"""


def read_ahead(context: Context, new: Sequence[str]) -> None:
    """Have the index know OF_ALL and OF_HEADERS for the files ``new``; nothing is done where one process has to do.

    That is on a single core, and where a process cannot be copied safely: beside threads, or not on Linux.
    """
    if sys.platform != "linux" or (os.cpu_count() or 1) < 2 or threading.active_count() > 1:
        return
    copying = multiprocessing.get_context("fork")
    receiver, sender = copying.Pipe(duplex=False)
    helper = copying.Process(target=_answer, args=(context, new[1::2], sender), daemon=True)
    helper.start()
    sender.close()
    for row in rows_of(context, new[::2]):
        context.index.adopt(*row)
    try:
        rows = marshal.loads(receiver.recv_bytes())
    except (EOFError, OSError):
        rows = []  # it died
    for row in rows:
        context.index.adopt(*row)
    helper.join()


def rows_of(context: Context, paths: Sequence[str]) -> list[Row]:
    """What the scans make of the files ``paths``, without those that cannot be read."""
    rows: list[Row] = []
    headers = frozenset(context.project.headers)
    for path in paths:
        try:
            data, key = context.index.read(path), context.index.key(path)
        except OSError:
            continue
        for scan in (*OF_ALL, *(OF_HEADERS if path in headers else ())):
            rows.append((key, scan.kind, scan.version, marshal.dumps(scan.compute(data))))
    return rows


def _answer(context: Context, paths: Sequence[str], sender: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt is for the parent to report
    sender.send_bytes(marshal.dumps(rows_of(context, paths)))
