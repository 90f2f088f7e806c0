"""What every command does with its output: data on stdout, words on stderr, nothing lost and no traceback."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from torchless.errors import UsageError
from torchless.exitcodes import FAILED


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


def say(text: str) -> None:
    """Print for people, who may have stopped reading."""
    with suppress(BrokenPipeError):
        click.echo(text, err=True, nl=False, color=True)


def _forget_stdout() -> None:
    """Let what is still buffered for stdout go nowhere, so that the interpreter's own flush at exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
