"""The process that libclang runs in: reads a task, runs it, writes its result, until its input ends.

pool.py starts it. A message is its length in 8 bytes and then its pickle. A task is
(function, argument); an answer is (True, value, resident bytes) or (False, one-line text, resident bytes).
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import sys
from typing import IO, Any

HEADER_BYTES = 8
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve tasks from standard input; answers go to what was standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it ends this process
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # nothing that a library prints may end up in the protocol
    while True:
        message = receive(sys.stdin.buffer)
        if message is None:
            return
        try:
            function, argument = pickle.loads(message)
            answer = (True, function(argument), resident_bytes())
        except Exception as error:
            answer = (False, one_line(error), resident_bytes())
        answers.write(frame(answer))
        answers.flush()


def frame(value: object) -> bytes:
    """A message that holds ``value``."""
    body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(body).to_bytes(HEADER_BYTES, "little") + body


def receive(stream: IO[bytes]) -> bytes | None:
    """The body of the next message, None at the end of the stream."""
    header = stream.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    size = int.from_bytes(header, "little")
    body = stream.read(size)
    return body if len(body) == size else None


def one_line(error: BaseException) -> str:
    """An exception as one line of text."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def resident_bytes() -> int:
    """The memory this process holds now; its peak where the system does not tell the present value."""
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 (a pseudo file, read at once)
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _die_with_parent() -> None:
    """On Linux ask to be killed when the parent dies, however it does; elsewhere the end of input has to do."""
    if not sys.platform.startswith("linux"):
        return
    library: Any = ctypes.CDLL(None)
    library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:  # it died before the request
        os._exit(1)
