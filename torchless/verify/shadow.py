"""A copy of one version of a checkout to build in, so that neither the user's files nor what is built there change."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from torchless.project.modules import VENDORED
from torchless.verify.tree import Tree

_LEFT_OUT = frozenset({".git", ".torchless", "__pycache__", ".venv", "node_modules"})
_BUILT = (".so", ".o", ".pyc")
_COPIED = ("aiter", "aiter_meta", "csrc", "gradlib", "op_tests")
"""What a build reads by path and may write beside; everything else is linked."""


def lay_out(tree: Tree, folder: Path) -> Path:
    """Make ``folder`` hold ``tree``; gives its root. Raises OSError.

    Sources, the JIT and its configuration are copied; other folders are links to those of the checkout, the single ones
    below 3rdparty too, so that what a build clones there stays out of the checkout. What was built is left behind.
    """
    folder.mkdir(parents=True)
    replaced = {path.partition("/")[0] for path in (*tree.overlay, *tree.absent)}
    for entry in sorted(os.scandir(tree.root), key=lambda e: e.name):
        target = folder / entry.name
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir() and entry.name in VENDORED:
            target.mkdir()
            for inner in os.scandir(entry.path):
                (target / inner.name).symlink_to(inner.path)
        elif entry.is_dir() and (entry.name in _COPIED or entry.name in replaced):
            shutil.copytree(entry.path, target, symlinks=True, ignore=_ignored)
        elif entry.is_dir():
            target.symlink_to(entry.path)
        else:
            shutil.copy2(entry.path, target)
    for path in tree.absent:
        (folder / path).unlink(missing_ok=True)
    for path, data in tree.overlay.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        target.write_bytes(data)
    return folder


def _ignored(folder: str, names: list[str]) -> set[str]:
    return set(_unwanted(folder, names))


def _unwanted(folder: str, names: list[str]) -> Iterator[str]:
    for name in names:
        # aiter/jit/build is what the JIT left; another folder of that name may hold sources
        is_build = name == "build" and Path(folder).name == "jit"
        if name in _LEFT_OUT or is_build or name.endswith(_BUILT):
            yield name
