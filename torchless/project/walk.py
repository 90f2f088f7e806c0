"""Which files lie below a folder: listings, .gitignore, links. Effects are those of listing folders, no more.

Folders are listed anew in every run. Whether a folder's times tell of every change in it depends on the file system
(git tests for it before it relies on that), and a file that is missed would be a wrong answer. What costs is not the
listing but the matching against .gitignore, whose answers depend on two texts alone, so those are remembered.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from torchless.index import Index
from torchless.project.modules import VENDORED
from torchless.text.paths import one_spelling

# Folders that hold what a build or a tool made, never what a person edits.
SKIPPED = VENDORED | {"build", "blob", "dist", "node_modules", "__pycache__", "venv"}
_VERSION = 1  # of what is remembered about a .gitignore
_SPARE = 1000  # answers about paths that are not there now, beside as many as there are paths
Problem = tuple[str, str]


class Walker:
    """Lists files below folders of ``root``, in sorted order; what cannot be listed goes to ``problems``."""

    def __init__(self, root: Path, index: Index, problems: list[Problem]) -> None:
        self.root = root
        self.problems = problems
        self._ignored = Ignored(index)
        self._inodes: dict[int, list[str]] = {}

    def files(self, starts: Sequence[str], suffixes: frozenset[str] | set[str]) -> list[str]:
        """Root-relative files with one of ``suffixes`` at or below ``starts`` (folders or files), each once."""
        found: set[str] = set()
        links: list[str] = []
        for start in dict.fromkeys(starts):
            if VENDORED.intersection(start.split("/")):
                self.problems.append((start, "lies in a vendored folder, which is never edited"))
            elif (self.root / start).is_dir():
                self._walk("" if start == "." else start, tuple(suffixes), found, links)
            elif start.endswith(tuple(suffixes)):
                found.add(start)
                self._note((self.root / start).stat().st_ino, start)
        for link in links:
            try:
                target = (self.root / link).resolve(strict=True).relative_to(self.root.resolve()).as_posix()
            except (OSError, RuntimeError, ValueError):
                continue  # broken, a loop, or out of the tree
            if not SKIPPED.intersection(target.split("/")):
                found.add(target if posixpath.splitext(target)[1] in suffixes else link)
        return sorted(found)

    def further_names(self, files: Sequence[str], preferred: Collection[str]) -> dict[str, str]:
        """Hard links among ``files`` -> the name of the same file to use instead; ``preferred`` suffixes go first.

        A listing tells inode numbers for nothing, so that only files which share one are looked at more closely.
        """
        known = set(files)
        twins = {path for paths in self._inodes.values() if len(paths) > 1 for path in paths if path in known}
        chosen = one_spelling(self.root, twins, preferred) if twins else {}
        return {path: name for path, name in sorted(chosen.items()) if path != name}

    def remember(self) -> None:
        """Put what was worked out about .gitignore into the index."""
        self._ignored.remember()

    def _walk(self, folder: str, suffixes: tuple[str, ...], found: set[str], links: list[str]) -> None:
        ignored = self._ignored
        pending = [folder]
        while pending:
            current = pending.pop()
            try:
                with os.scandir(f"{self.root}/{current}") as entries:
                    listed = list(entries)
            except OSError as error:
                self.problems.append((current, f"cannot list: {error.strerror}"))
                continue
            prefix = current + "/" if current else ""
            for entry in listed:
                name = entry.name
                if entry.is_dir(follow_symlinks=False):
                    hidden = name.startswith(".") or name.endswith(".egg-info")
                    if not hidden and name not in SKIPPED and not ignored(f"{prefix}{name}/"):
                        pending.append(prefix + name)
                elif name.endswith(suffixes) and posixpath.splitext(name)[1] and not ignored(prefix + name):
                    if entry.is_symlink():
                        links.append(prefix + name)
                    elif entry.is_file(follow_symlinks=False):
                        found.add(prefix + name)
                        self._note(entry.inode(), prefix + name)

    def _note(self, inode: int, path: str) -> None:
        self._inodes.setdefault(inode, []).append(path)


class Ignored:
    """Whether the .gitignore at the root of ``index``, if any, ignores a root-relative path (a folder ends in "/").

    Lines that are no pattern match nothing, as for git.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._matches: Callable[[str], bool] | None = None
        self._known: dict[str, bool] = {}
        self._asked: dict[str, bool] = {}
        self._new = False
        self._version = ""
        try:
            self._key = index.key(".gitignore")
        except OSError:
            self._key = b""
            return
        self._version = _version()
        self._known = index.note("ignored", self._version, self._key) or {}

    def __call__(self, path: str) -> bool:
        """Whether ``path`` is ignored."""
        if not self._key:
            return False
        answer = self._known.get(path)
        if answer is None:
            self._new = True
            if self._matches is None:
                self._matches = _matcher(self._index.read(".gitignore"))
            answer = self._matches(path)
        self._asked[path] = answer
        return answer

    def remember(self) -> None:
        """Put new answers into the index, with those of old that may be asked for again."""
        if self._new:
            old = self._known if len(self._known) < 2 * len(self._asked) + _SPARE else {}
            self._index.set_note("ignored", self._version, self._key, {**old, **self._asked})


def _matcher(data: bytes) -> Callable[[str], bool]:
    import pathspec  # here: it takes a tenth of a cold start, and a known .gitignore does without

    patterns: list[pathspec.Pattern] = []
    for line in data.decode("utf-8-sig", "replace").split("\n"):
        with suppress(ValueError):
            if line.strip() != "/":  # which pathspec takes for everything, git for nothing
                patterns += pathspec.PathSpec.from_lines("gitignore", [line.removesuffix("\r")]).patterns
    return pathspec.PathSpec(patterns).match_file


def _version() -> str:
    """Of the matching: ours, and pathspec as it is installed."""
    spec = importlib.util.find_spec("pathspec")  # finds it, but runs nothing of it
    if spec is None or spec.origin is None:
        return str(_VERSION)
    try:
        status = Path(spec.origin).stat()
    except OSError:
        return f"{_VERSION} {spec.origin}"
    return f"{_VERSION} {status.st_size} {status.st_mtime_ns}"
