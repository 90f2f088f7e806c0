"""The few ways in which bytes get onto the disk for good. POSIX only."""

from __future__ import annotations

import contextlib
import errno
import os
from itertools import chain, repeat
from pathlib import Path


def create(path: Path, data: bytes, mode: int, owner: tuple[int, int] | None = None) -> None:
    """Make the new file ``path`` with ``data`` and permission bits ``mode``, flushed to the disk.

    A file of that name is removed first. ``owner`` is (uid, gid), given where the system allows. Raises OSError; then
    there may be a part of the file.
    """
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        _write_all(handle, data)
        if owner is not None:
            with contextlib.suppress(PermissionError):
                os.fchown(handle, *owner)
        os.fchmod(handle, mode)  # after fchown, which clears the set-user bits
        os.fsync(handle)
    finally:
        os.close(handle)


def overwrite(path: Path, data: bytes) -> None:
    """Put ``data`` into the existing file ``path`` without giving it a new inode, flushed to the disk.

    Not atomic: until it returns the file may begin with new bytes and go on with old ones, see is_torn(). Raises
    OSError.
    """
    handle = os.open(path, os.O_WRONLY)
    try:
        _write_all(handle, data)
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)


def is_torn(now: bytes, old: bytes, new: bytes) -> bool:
    """Whether ``now`` is what interrupted overwrite()s between ``old`` and ``new``, there and back, can leave.

    Then every byte is that of one of the two at its place, and the length lies between theirs.
    """
    if not min(len(old), len(new)) <= len(now) <= max(len(old), len(new)):
        return False
    return all(byte in pair for byte, *pair in zip(now, chain(old, repeat(-1)), chain(new, repeat(-1)), strict=False))


def replace(path: Path, data: bytes, mode: int) -> None:
    """Put ``data`` at ``path``, old or new at any moment and flushed to the disk, by way of ``path`` + ".tmp".

    Raises OSError.
    """
    staged = path.with_name(path.name + ".tmp")
    create(staged, data, mode)
    staged.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Flush the names in folder ``path``: a rename is on the disk only then. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot, and need not
            raise
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
