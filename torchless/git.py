"""What git knows about files: could it bring them back (``--write`` asks), and what changed in them (``--since``)."""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    prefix = os.fsdecode(_git(root, ["rev-parse", "--show-prefix"])).removesuffix("\n")
    return tuple(sorted(path.removeprefix(prefix) for path in dirty))


@dataclass(frozen=True)
class Changes:
    """What changed: root-relative path -> the numbers of its lines that did, sorted, or None for all of them.

    A file that was only renamed, or only lost lines, is there without lines.
    """

    lines: Mapping[str, Sequence[int] | None]

    def touches(self, path: str, first: int = 0, last: int = 0) -> bool:
        """Whether one of the 1-based lines first..last of ``path`` changed; 0 asks about the file."""
        if path not in self.lines:
            return False
        changed = self.lines[path]
        if changed is None or not first:
            return True
        at = bisect_left(changed, first)
        return at < len(changed) and changed[at] <= last


def changed_since(root: Path, revision: str, among: Collection[str]) -> Changes:
    """What the work since ``revision`` changed in those of the root-relative files ``among`` that changed at all.

    That is everything between the last commit that ``revision`` and HEAD share, and the files as they are: committed,
    staged, unstaged and untracked (but not ignored). Raises GitError: no git tree, no such revision, nothing shared.
    """
    base = _base(root, revision)
    asked: dict[str, list[str]] = {}  # path -> what to ask git about: it, and before it the name that it had
    changed: dict[str, Sequence[int] | None] = {}
    fields = iter(os.fsdecode(_git(root, ["diff", "--name-status", "-z", *_DIFF, base, "--"])).split("\0"))
    for status in fields:
        names = [next(fields) for _ in range(2 if status[:1] in ("R", "C") else 1 if status else 0)]
        if names and names[-1] in among:
            asked[names[-1]] = names
            changed[names[-1]] = ()
    paths = sorted(asked)
    for first in range(0, len(paths), _FILES_PER_CALL // 2):
        few = [name for path in paths[first : first + _FILES_PER_CALL // 2] for name in asked[path]]
        changed.update(_changed_lines(_git(root, ["diff", "--unified=0", "--text", *_DIFF, base, "--", *few])))
    untracked = _git(root, ["ls-files", "--others", "--exclude-standard", "-z"])
    changed.update((path, None) for path in os.fsdecode(untracked).split("\0"))
    return Changes({path: changed[path] for path in changed if path in among})


# Whatever the user's settings say; paths as seen from the root.
_DIFF = (
    "--relative", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules",
    "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
_HUNK = re.compile(rb"@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def _base(root: Path, revision: str) -> str:
    """The last commit that ``revision`` and HEAD share. Raises GitError."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        raise GitError(f"--since {revision}: {root} is not in a git tree")
    if revision.startswith("-"):
        raise GitError(f"--since {revision}: not a revision")
    name = revision
    for kind in ("", "^{commit}"):  # in two steps: what follows ":/text" would be part of the text
        found = _run(root, ["rev-parse", "--verify", "--quiet", f"{name}{kind}"])
        if found.returncode and (kind or not found.stderr.strip()):  # it is quiet about unknown names, and them alone
            raise GitError(f"--since {revision}: no such revision{_shallow(root)}")
        name = _answer(found).decode().strip()
    shared = _run(root, ["merge-base", name, "HEAD"])
    if shared.returncode and not shared.stderr.strip():
        raise GitError(f"--since {revision}: it shares no commit with HEAD{_shallow(root)}")
    return _answer(shared).decode().split()[0]


def _shallow(root: Path) -> str:
    """A hint for a clone without its history."""
    is_shallow = _git(root, ["rev-parse", "--is-shallow-repository"]).strip() == b"true"
    return " in this shallow clone: fetch more history (git fetch --unshallow, or fetch-depth: 0)" if is_shallow else ""


def _changed_lines(patch: bytes) -> dict[str, Sequence[int] | None]:
    """The lines that a patch without context adds, by path."""
    changed: dict[str, Sequence[int] | None] = {}
    lines: list[int] = []
    left = 0  # lines of a hunk that are still to come: one of them may look like a header
    for line in patch.split(b"\n"):
        if left and line[:1] in (b"+", b"-"):
            left -= 1
        elif line.startswith(b"+++ b/") or line.startswith(b'+++ "b/'):
            lines = []
            changed[os.fsdecode(_unquoted(line[4:].removesuffix(b"\t"))[2:])] = lines
        elif hunk := _HUNK.match(line):
            old, new = (_count(part) for part in line.split(b" ")[1:3])
            left = old + new
            lines.extend(range(int(hunk.group(1)), int(hunk.group(1)) + new))
    return changed


def _count(part: bytes) -> int:
    """How many lines ``-12,3`` or ``+4`` stands for."""
    return int(part.partition(b",")[2] or 1)


_SHORT = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


def _unquoted(name: bytes) -> bytes:
    """``name`` as git prints it in a patch, without the quotes and escapes that it has when it is unusual."""
    if not name.startswith(b'"'):
        return name
    return re.sub(
        rb"\\([0-7]{3}|.)",
        lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else _SHORT.get(m[1], m[1]),
        name[1:-1],
    )


def _status(root: Path, paths: Sequence[str]) -> set[str]:
    """The paths that ``git status`` names, relative to the top of the tree (where -z always puts them)."""
    output = _git(root, ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", *paths])
    return {os.fsdecode(entry[3:]) for entry in output.split(b"\0") if entry}


def _git(root: Path, arguments: Sequence[str]) -> bytes:
    return _answer(_run(root, arguments))


def _run(root: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "--literal-pathspecs", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise GitError(f"cannot run git: {error.strerror}") from error


def _answer(done: subprocess.CompletedProcess[bytes]) -> bytes:
    if done.returncode != 0:
        lines = os.fsdecode(done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise GitError(f"git: {lines[0]}")
    return done.stdout
