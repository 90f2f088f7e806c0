"""A small tree with every kind of file that a writer can spoil, and how to look at it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchless.text.writer import FileChange


@dataclass(frozen=True)
class Tree:
    """A project root, and changes to all of its files by the names under which a user reaches them."""

    root: Path
    changes: dict[str, FileChange]

    def state(self) -> str:
        """ "old", "new" or "mixed": what all files together are. A file that is neither fails the test."""
        states = set()
        for name, change in self.changes.items():
            now = (self.root / name).read_bytes()
            assert now in (change.old, change.new), f"{name} is neither old nor new: {now!r}"
            states.add("old" if now == change.old else "new")
        return states.pop() if len(states) == 1 else "mixed"

    def shape(self) -> dict[str, tuple[object, ...]]:
        """Everything but the bytes: kind, mode, owner, links, and which files there are."""
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted(self.root.rglob("*")):
            if ".torchless" in path.relative_to(self.root).parts[:1]:
                continue
            status = path.lstat()
            target = path.readlink() if path.is_symlink() else None
            found[str(path.relative_to(self.root))] = (
                status.st_mode,
                status.st_uid,
                status.st_gid,
                status.st_nlink,
                target,
            )
        return found


def _plant(root: Path) -> Tree:
    """Files that are plain, executable, linked both ways, in two folders; new bytes longer, shorter, empty."""
    (root / "csrc" / "kernels").mkdir(parents=True)
    (root / "inc").mkdir()
    files = {
        "csrc/plain.cu": (b"int plain;\n" * 300, b"int longer_name;\r\n" * 300, 0o644),
        "csrc/kernels/tool.py": (b"\xef\xbb\xbfprint(1)", b"\xef\xbb\xbfprint()\n", 0o755),
        "csrc/kernels/latin.h": (b"// caf\xe9\r\n\n", b"", 0o664),
        "csrc/kernels/hard.h": (b"aaaa\n" * 200, b"aabb\n" * 150, 0o640),
        "inc/grown.h": (b"", b"x", 0o644),
    }
    for name, (old, _, mode) in files.items():
        (root / name).write_bytes(old)
        (root / name).chmod(mode)
    os.link(root / "csrc" / "kernels" / "hard.h", root / "inc" / "twin.h")
    (root / "inc" / "plain.cu").symlink_to("../csrc/plain.cu")
    (root / "kernels").symlink_to("csrc/kernels")
    by_user = {"csrc/plain.cu": "inc/plain.cu", "csrc/kernels/tool.py": "kernels/tool.py"}
    changes = {by_user.get(name, name): FileChange(old, new) for name, (old, new, _) in files.items()}
    return Tree(root, changes)


@pytest.fixture
def plant() -> Callable[[Path], Tree]:
    """Makes such a tree in a folder."""
    return _plant


@pytest.fixture
def fast_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: the faults are tried thousands of times."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def tree(fast_path: Path) -> Tree:
    """One such tree."""
    root = fast_path / "checkout"
    root.mkdir()
    return _plant(root)
