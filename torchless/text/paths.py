"""One name for one file: how edits of one file find each other however the file was reached."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable
from pathlib import Path


def canonical_path(root: Path, path: str | Path) -> str:
    """The root-relative name, with forward slashes, of the file that ``path`` reaches.

    ``path`` is absolute, or relative to ``root``. Links and ``..`` are followed, so every spelling of a file inside
    ``root`` gives the same name. A file that really lies outside keeps the name under which ``root`` holds it when
    there is one, else its absolute real name. The file need not exist. Never raises.
    """
    real = _resolve(root / path)
    real_root = _resolve(root)
    if real.is_relative_to(real_root):
        return real.relative_to(real_root).as_posix()
    spelled = root.absolute() / path
    if ".." not in Path(path).parts and spelled.is_relative_to(root.absolute()):
        return spelled.relative_to(root.absolute()).as_posix()
    return real.as_posix()


def one_spelling(root: Path, paths: Iterable[str], suffixes: Collection[str] = ()) -> dict[str, str]:
    """For each of ``paths`` the one spelling to use for its file, for printing and for edits.

    Spellings belong together when they reach one (device, inode): links, ``..``, hard links, and letter case where the
    file system ignores it. A file that was given in one spelling only keeps it; else the first canonical one is taken,
    else the first; first in sorted order, names with one of ``suffixes`` before all others. The result does not depend
    on the order of ``paths``.
    """
    spellings: dict[object, list[str]] = {}
    for path in sorted(set(paths), key=lambda p: (posixpath.splitext(p)[1] not in suffixes, p)):
        try:
            status = (root / path).stat()
            identity: object = (status.st_dev, status.st_ino)
        except (OSError, ValueError):
            identity = canonical_path(root, path)
        spellings.setdefault(identity, []).append(path)
    chosen: dict[str, str] = {}
    for group in spellings.values():
        preferred = group[0] if len(group) == 1 else next((p for p in group if p == canonical_path(root, p)), group[0])
        chosen.update((path, preferred) for path in group)
    return chosen


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links (RuntimeError before Python 3.13), a NUL byte
        return Path(os.path.normpath(path))
