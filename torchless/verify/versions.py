"""The version to compare the checkout with: an older git revision, or what was there before the last write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from torchless.errors import ToolError
from torchless.text import journal
from torchless.verify.tree import Tree


class VersionError(ToolError):
    """There is nothing to compare with; the message is one line that says what to do."""


def before_revision(root: Path, revision: str) -> Tree:
    """The tree of git's ``revision``, with today's files where they are not in it. Raises VersionError.

    A file that is new since then stays visible: nothing old can include it.
    """
    top = Path(os.fsdecode(_git(root, "rev-parse", "--show-toplevel")).rstrip("\n"))
    if subprocess.run(
        ["git", "-C", str(root), "rev-parse", "-q", "--verify", f"{revision}^{{commit}}"],
        capture_output=True,
        check=False,
    ).returncode:
        raise VersionError(f"git knows no revision {revision!r} (in a shallow clone: fetch it first)")
    prefix = root.resolve().relative_to(top.resolve()).as_posix()
    place = "" if prefix == "." else f"{prefix}/"
    listed = _git(root, "diff", "--name-only", "--no-renames", "-z", revision, "--", ".").split(b"\0")
    overlay: dict[str, bytes] = {}
    absent: set[str] = set()
    for name in filter(None, map(os.fsdecode, listed)):
        if not name.startswith(place):
            continue
        shown = _run(root, "show", f"{revision}:{name}")
        if shown.returncode == 0:
            overlay[name.removeprefix(place)] = shown.stdout
        else:
            absent.add(name.removeprefix(place))
    return Tree(root, overlay, frozenset(absent))


def before_last_write(root: Path) -> Tree | None:
    """The tree as it was before the last ``--write`` that stands, None when there is none. Raises WriteError."""
    standing = journal.standing(root)
    if not standing:
        return None
    return Tree(root, {entry.path: journal.blob(root, entry.old) for entry in standing[-1].entries})


def changed(before: Tree, after: Tree) -> tuple[str, ...]:
    """The root-relative files whose bytes differ between two versions of one checkout, sorted."""
    differing = []
    for path in sorted({*before.overlay, *after.overlay}):
        try:
            same = before.read(path) == after.read(path)
        except OSError:
            same = False
        if not same:
            differing.append(path)
    return tuple(differing)


def may_claim(before: Tree, after: Tree, source: str) -> bool:
    """Whether a change of ``source`` may be meant to take torch out: not where it only adds preprocessor directives.

    A header that asks its includers to opt in is the usual reason for such a line.
    """
    try:
        old, new = (tree.read(source).splitlines() for tree in (before, after))
    except OSError:
        return True
    left = iter(old)
    expected = next(left, None)
    for line in new:
        if line == expected:
            expected = next(left, None)
        elif line.strip() and (not line.lstrip().startswith(b"#") or line.rstrip().endswith(b"\\")):
            return True
    return expected is not None


def _git(root: Path, *arguments: str) -> bytes:
    done = _run(root, *arguments)
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).strip().splitlines() or ["git failed without a word"]
        raise VersionError(f"git: {lines[0]}")
    return done.stdout


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *arguments], capture_output=True, check=False
        )
    except OSError as error:
        raise VersionError(f"cannot run git: {error.strerror}") from error
