"""Errors that are said to the person as one line, with the exit code 2."""

from __future__ import annotations


class ToolError(Exception):
    """Something that torchless cannot go on with; the message is one line that says what to do."""


class UsageError(ToolError):
    """The caller asked for something impossible."""
