"""What every command does with its output: data on stdout, words on stderr, nothing lost and no traceback."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

import click

from torchless.errors import UsageError
from torchless.exitcodes import FAILED
from torchless.text import disk


def fail(message: str, help_page: bool = False) -> int:
    """Say ``message`` on stderr as one line (a help page as it is) and give the exit code."""
    click.echo(message if help_page else f"torchless: error: {' '.join(message.split())}", err=True)
    return FAILED


def emit(data: bytes) -> None:
    """Put ``data`` on stdout at once. A reader that stops early is no error; a full disk is a UsageError."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        raise UsageError(f"cannot write to stdout: {error.strerror}") from error


def save(data: bytes, file: Path) -> None:
    """Put ``data`` into ``file``: all of it, or the file is as it was. Raises UsageError, which names the file.

    A link is followed; a file that is there keeps its permissions. What is no regular file (a pipe, a terminal) is
    written to as it is.
    """
    try:
        if file.exists() and not file.is_file() and not file.is_dir():
            with file.open("wb", buffering=0) as device:
                device.write(data)
            return
        target = Path(os.path.realpath(file))
        if target.is_dir():
            raise UsageError(f"{file}: cannot be written: it is a folder")
        staged = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            disk.create(staged, data, _mode(target))
            staged.replace(target)
        except BaseException:
            with suppress(OSError):
                staged.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error


def require_place(file: str | None) -> None:
    """Say before a long run what save() would say after it. Raises UsageError; nothing is written."""
    if file in (None, "-"):
        return
    target = Path(os.path.realpath(str(file)))
    if target.is_dir():
        raise UsageError(f"{file}: cannot be written: it is a folder")
    if not target.parent.is_dir():
        raise UsageError(f"{file}: cannot be written: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"{file}: cannot be written: {target.parent} is not writable")


_FORMATS = {".json": "json", ".md": "markdown", ".html": "html"}


def format_of(file: str | None) -> str:
    """The format that the end of a file's name speaks of, ``text`` for any other and for stdout."""
    return _FORMATS.get(Path(file or "").suffix.lower(), "text")


def _mode(file: Path) -> int:
    """The permissions of ``file``, or what a new file gets."""
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def say(text: str) -> None:
    """Print for people, who may have stopped reading."""
    with suppress(BrokenPipeError):
        click.echo(text, err=True, nl=False, color=True)


def _forget_stdout() -> None:
    """Let what is still buffered for stdout go nowhere, so that the interpreter's own flush at exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
