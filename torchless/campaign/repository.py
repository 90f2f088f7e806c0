"""git, as a campaign uses it: objects, refs and an index of its own. The user's index, files and hooks are left alone.

Commits are made from blobs in a temporary index, so no work tree is needed and nothing is checked out.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torchless.errors import ToolError

NO_OBJECT = "0" * 40
_SETTINGS = (  # nothing of the user's runs, or changes what comes out
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=false", "diff.renames=true",
    "apply.whitespace=nowarn", "apply.ignoreWhitespace=no", "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip
_HERE = tuple(word for setting in _SETTINGS for word in ("-c", setting))
_ENVIRONMENT = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_NAMESPACE")


class RepositoryError(ToolError):
    """git cannot do what a campaign needs; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file in a tree: its mode and the blob."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Move:
    """A file that has another name in the second of two trees; ``blob`` and ``mode`` are those before."""

    old: str
    new: str
    mode: str
    blob: str


@dataclass(frozen=True)
class Repository:
    """The repository around a project. ``prefix`` leads from its top to the project's root ("" or with a slash)."""

    top: Path
    prefix: str

    def head(self) -> str:
        """The commit that HEAD is at. Raises RepositoryError when there is none yet."""
        done = self.try_run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if done is None:
            raise RepositoryError(f"{self.top}: there is no commit yet to base batches on")
        return _line(done)

    def branch(self) -> str:
        """The branch that HEAD names, "" when it is detached."""
        return _line(self.try_run("symbolic-ref", "--quiet", "--short", "HEAD") or b"")

    @property
    def is_shallow(self) -> bool:
        """Whether the clone lacks history."""
        return _line(self.run("rev-parse", "--is-shallow-repository")) == "true"

    def has(self, revision: str) -> bool:
        """Whether ``revision`` is a commit that is here."""
        return self.commit_of(revision) != ""

    def commit_of(self, revision: str) -> str:
        """The commit that ``revision`` names, "" for none."""
        return _line(self.try_run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") or b"")

    def tree_of(self, revision: str) -> str:
        """The tree of a commit."""
        return _line(self.run("rev-parse", "--verify", f"{revision}^{{tree}}"))

    def parent_of(self, commit: str) -> str:
        """The first parent of a commit, "" for none."""
        return self.commit_of(f"{commit}^")

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether commit ``one`` is in the history of ``other``."""
        return self.try_run("merge-base", "--is-ancestor", one, other) is not None

    def merge_base(self, one: str, other: str) -> str:
        """The last commit that both have, "" for none."""
        return _line(self.try_run("merge-base", one, other) or b"")

    def dirty(self) -> tuple[str, ...]:
        """The tracked files below the project that differ from HEAD, submodules and the campaign's own left out."""
        place = self.prefix or "."
        out = self.run(
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=no",
            "--ignore-submodules=all",
            "--",
            place,
        )
        names = (os.fsdecode(entry[3:]).removeprefix(self.prefix) for entry in out.split(b"\0") if entry)
        return tuple(sorted(name for name in names if not name.startswith(".torchless/")))

    def entries(self, tree: str, paths: Sequence[str]) -> dict[str, Entry]:
        """Those of ``paths`` (from the top) that are files in ``tree``. A submodule has mode 160000."""
        found: dict[str, Entry] = {}
        for first in range(0, len(paths), 500):
            out = self.run("--literal-pathspecs", "ls-tree", "-z", tree, "--", *paths[first : first + 500])
            for row in filter(None, out.split(b"\0")):
                about, _, name = row.partition(b"\t")
                mode, _, blob = about.decode().split()
                found[os.fsdecode(name)] = Entry(mode, blob)
        return found

    def submodule_of(self, tree: str, path: str) -> str:
        """The submodule that ``path`` (from the top) lies in, "" for none."""
        parts = path.split("/")
        folders = ["/".join(parts[:n]) for n in range(1, len(parts))]
        found = self.entries(tree, folders) if folders else {}
        return next((name for name in folders if name in found and found[name].mode == "160000"), "")

    def blob(self, path: str, data: bytes) -> str:
        """The blob that git would keep for ``data`` in the file ``path`` (from the top), line ends and all; kept."""
        return _line(self.run("hash-object", "-w", "--stdin", f"--path={path}", feed=data))

    def raw_blob(self, data: bytes) -> str:
        """The blob with just the bytes of ``data``; kept."""
        return _line(self.run("hash-object", "-w", "--stdin", "--no-filters", feed=data))

    def read(self, blob: str) -> bytes:
        """The bytes of a blob."""
        return self.run("cat-file", "blob", blob)

    def tree_with(self, tree: str, changes: Mapping[str, Entry | None]) -> str:
        """``tree`` with other entries at some paths (from the top), None takes one out."""
        rows = [
            f"{entry.mode} {entry.blob}\t" if entry is not None else f"0 {NO_OBJECT}\t" for entry in changes.values()
        ]
        feed = b"".join(row.encode() + os.fsencode(path) + b"\0" for row, path in zip(rows, changes, strict=True))
        with self._index() as index:
            self.run("read-tree", tree, index=index)
            self.run("update-index", "-z", "--index-info", index=index, feed=feed)
            return _line(self.run("write-tree", index=index))

    def applied(self, tree: str, patch: bytes, *, reverse: bool = False) -> str:
        """``tree`` with a patch made, or taken back, "" when it does not apply."""
        with self._index() as index:
            self.run("read-tree", tree, index=index)
            words = ["apply", "--cached", *(["--reverse"] if reverse else []), "-"]
            if self.try_run(*words, index=index, feed=patch) is None:
                return ""
            return _line(self.run("write-tree", index=index))

    def diff(self, one: str, other: str, paths: Sequence[str] = ()) -> bytes:
        """The patch from one tree or commit to another, binary files and all."""
        return self.run(
            "diff-tree", "-p", "-r", "--binary", "--full-index", "--no-renames", *_PLAIN, one, other, "--", *paths
        )

    def changed(self, one: str, other: str) -> tuple[str, ...]:
        """The paths (from the top) that differ between two trees or commits; a file that moved has two."""
        out = self.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)
        return tuple(os.fsdecode(name) for name in out.split(b"\0") if name)

    def moves(self, one: str, other: str) -> tuple[Move, ...]:
        """The files that have another name in ``other``."""
        fields = iter(self.run("diff-tree", "-r", "-z", "--raw", "-M", one, other).split(b"\0"))
        found = []
        for about in fields:
            if not about:
                continue
            mode, _, blob, _, status = about.decode().removeprefix(":").split()
            name = os.fsdecode(next(fields))
            if status[0] == "R":
                found.append(Move(name, os.fsdecode(next(fields)), mode, blob))
            elif status[0] == "C":
                next(fields)
        return tuple(found)

    def patch_id(self, one: str, other: str) -> str:
        """What two patches that make the same change of the same lines share, "" for an empty one."""
        patch = self.run("diff-tree", "-p", "-r", "--no-renames", *_PLAIN, one, other)
        return _line(self.run("patch-id", "--stable", feed=patch)).partition(" ")[0]

    def merged_text(self, ours: bytes, base: bytes, theirs: bytes) -> tuple[bytes, bool]:
        """The three-way merge of a file, and whether it is free of conflicts."""
        with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
            names = []
            for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
                Path(folder, name).write_bytes(data)
                names.append(str(Path(folder, name)))
            done = self._start(["merge-file", "-p", "-q", *names])
        if done.returncode > 127:  # a binary file, or git itself failed; else the number of conflicts
            return ours, False
        return done.stdout, done.returncode == 0

    def commit(self, tree: str, parent: str, message: str, like: str = "") -> str:
        """A commit of ``tree``; its author is that of commit ``like``, by default the user. Raises RepositoryError."""
        who = self._author(like) if like else {}
        return _line(self.run("commit-tree", tree, "-p", parent, feed=message.encode("utf-8", "replace"), extra=who))

    def message_of(self, commit: str) -> str:
        """The whole message of a commit."""
        return self.run("show", "-s", "--format=%B", commit).decode("utf-8", "replace")

    def identity(self) -> str:
        """The user as "Name <address>". Raises RepositoryError when git does not know one."""
        done = self.try_run("var", "GIT_COMMITTER_IDENT")
        if done is None:
            raise RepositoryError("git does not know who commits: set user.name and user.email")
        return _line(done).rpartition(">")[0] + ">"

    def ref(self, name: str) -> str:
        """The commit that the full name of a ref leads to, "" for none."""
        return self.commit_of(name) if name else ""

    def move_ref(self, name: str, new: str, old: str) -> None:
        """Let ref ``name`` lead from ``old`` ("": it must not be there) to ``new``. Raises RepositoryError."""
        self.run("update-ref", "-m", "torchless plan", name, new, old or NO_OBJECT)

    def delete_ref(self, name: str, old: str) -> None:
        """Take ref ``name`` out, which must lead to ``old``."""
        self.run("update-ref", "-d", name, old)

    def check_branch(self, name: str) -> None:
        """Raise RepositoryError when ``name`` cannot be that of a branch."""
        if self.try_run("check-ref-format", "--branch", name) is None:
            raise RepositoryError(f"git takes no branch called {name!r}")

    def checked_out(self) -> dict[str, str]:
        """Full name of each branch that a work tree has checked out -> that work tree."""
        found: dict[str, str] = {}
        place = ""
        for line in os.fsdecode(self.run("worktree", "list", "--porcelain")).splitlines():
            if line.startswith("worktree "):
                place = line.removeprefix("worktree ")
            elif line.startswith("branch "):
                found[line.removeprefix("branch ")] = place
        return found

    def mail(self, base: str, tip: str) -> bytes:
        """The commits of base..tip as `git am` takes them, whatever the user's settings for patches are."""
        settings = [word for key in _MAIL for word in ("-c", key)]
        words = ["--stdout", "--no-signature", "-M", "--no-attach", "--no-base", "--zero-commit", *_PLAIN]
        return self.run(*settings, "format-patch", *words, f"{base}..{tip}")

    def run(
        self, *words: str, index: str = "", feed: bytes | None = None, extra: Mapping[str, str] | None = None
    ) -> bytes:
        """What git prints. Raises RepositoryError with its first line of complaint."""
        done = self._start(words, index, feed, extra)
        if done.returncode != 0:
            lines = os.fsdecode(done.stderr).strip().splitlines() or [f"git {words[0]} failed"]
            raise RepositoryError(f"git: {lines[0]}")
        return done.stdout

    def try_run(self, *words: str, index: str = "", feed: bytes | None = None) -> bytes | None:
        """What git prints, None when it says no."""
        done = self._start(words, index, feed)
        return done.stdout if done.returncode == 0 else None

    def _start(
        self,
        words: Sequence[str],
        index: str = "",
        feed: bytes | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {name: value for name, value in os.environ.items() if name not in _ENVIRONMENT}
        environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **(extra or {})}
        if index:
            environment["GIT_INDEX_FILE"] = index
        return _git(["-C", str(self.top), *_HERE, *words], environment, feed)

    def _author(self, commit: str) -> dict[str, str]:
        name, address, date = self.run("show", "-s", "--format=%an%n%ae%n%aI", commit).decode().splitlines()[:3]
        return {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": date}

    @contextmanager
    def _index(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
            yield str(Path(folder, "index"))


_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--unified=3")
_MAIL = (
    "format.signOff=false", "format.thread=false", "format.coverLetter=false", "format.subjectPrefix=PATCH",
    "format.encodeEmailHeaders=true", "format.numbered=false", "format.notes=false", "format.headers=",
)  # fmt: skip


def open_repository(root: Path) -> Repository:
    """The repository whose work tree holds ``root``. Raises RepositoryError: no git, none, or without a work tree."""
    environment = {name: value for name, value in os.environ.items() if name not in _ENVIRONMENT}
    done = _git(["-C", str(root), "rev-parse", "--show-toplevel", "--show-prefix"], environment | {"LC_ALL": "C"}, None)
    if done.returncode != 0:
        said = os.fsdecode(done.stderr).strip().splitlines()
        if said and "not a git repository" not in said[0]:
            raise RepositoryError(f"git: {said[0]}")
        raise RepositoryError(f"{root} is not in a git tree, and batches are made of commits")
    top, prefix = os.fsdecode(done.stdout).split("\n")[:2]
    return Repository(Path(top), prefix)


def _git(
    words: Sequence[str], environment: Mapping[str, str], feed: bytes | None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *words], input=feed or b"", env=environment, capture_output=True, check=False)
    except OSError as error:
        raise RepositoryError(f"cannot run git: {error.strerror}") from None


def _line(data: bytes) -> str:
    return os.fsdecode(data).strip()
