"""What git knows about files: the question that ``--write`` asks before it overwrites them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from torchless.errors import ToolError

_FILES_PER_CALL = 500  # keeps the command line far below the system's limit


class GitError(ToolError):
    """git is there but did not answer; the message is one line."""


def uncommitted(root: Path, paths: Iterable[str]) -> tuple[str, ...] | None:
    """Those of the root-relative ``paths`` whose content is not safe in a commit: modified, staged or untracked.

    None when ``root`` is not in a git tree. Raises GitError.
    """
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    wanted = sorted(paths)
    dirty: set[str] = set()
    for first in range(0, len(wanted), _FILES_PER_CALL):
        dirty.update(_status(root, wanted[first : first + _FILES_PER_CALL]))
    prefix = os.fsdecode(_git(root, ["rev-parse", "--show-prefix"])).rstrip("\n")
    return tuple(sorted(path.removeprefix(prefix) for path in dirty))


def _status(root: Path, paths: Sequence[str]) -> set[str]:
    """The paths that ``git status`` names, relative to the top of the tree (where -z always puts them)."""
    output = _git(root, ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", *paths])
    return {os.fsdecode(entry[3:]) for entry in output.split(b"\0") if entry}


def _git(root: Path, arguments: Sequence[str]) -> bytes:
    command = ["git", "--literal-pathspecs", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise GitError(f"cannot run git: {error.strerror}") from error
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise GitError(f"git: {lines[0]}")
    return done.stdout
