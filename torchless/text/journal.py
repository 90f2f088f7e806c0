"""The journal: what a write is about to do is on the disk before it does it, so that it can always be taken back.

It lives in ``<root>/.torchless/``, which hides itself from git, but for the state of a campaign:

    lock                the one run that may write holds it (flock, so a killed run lets go)
    blobs/<sha256>      old bytes of files; new bytes too where a file is overwritten in place
    journal/<n>.json    one record per write: unfinished until every file is in place
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from torchless.errors import ToolError
from torchless.text import disk

FOLDER = ".torchless"
KEPT_WRITES = 20
_VERSION = 1
_MODE = 0o644
_HIDDEN = b"*\n!campaign.toml\n"


class WriteError(ToolError):
    """A write, undo or recovery that was refused or failed. One line; ``paths`` are the files at fault."""

    def __init__(self, message: str, paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.paths = paths


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a write.

    ``path`` is root-relative and free of links; ``old`` and ``new`` are SHA-256 of its bytes before and after;
    ``staged`` names the file beside it that is renamed over it, "" when it is overwritten in place. ``created``: there
    was no such file before. ``removed``: there is none after.
    """

    path: str
    old: str
    new: str
    staged: str
    created: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One write: its number, whether it was finished, the number of the write that it takes back (0: none)."""

    number: int
    done: bool
    undoes: int
    entries: tuple[Entry, ...]


def digest(data: bytes) -> str:
    """The name of ``data`` among the blobs."""
    return hashlib.sha256(data).hexdigest()


def records(root: Path) -> list[Record]:
    """All records under ``root``, oldest first. Raises WriteError when one cannot be read."""
    folder = root / FOLDER / "journal"
    try:
        paths = sorted(folder.glob("*.json"))
    except OSError as error:
        raise WriteError(f"cannot read the journal {folder}: {reason(error)}") from error
    found = []
    for path in paths:
        try:
            raw = json.loads(path.read_bytes())
            if raw["version"] != _VERSION:
                raise WriteError(f"{path} was written by another version of torchless")
            entries = tuple(_entry(entry) for entry in raw["entries"])
            found.append(Record(int(path.stem), bool(raw["done"]), int(raw["undoes"]), entries))
        except FileNotFoundError:  # a run that ends just now drops it
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WriteError(f"cannot read the journal {path}: {reason(error)}") from error
    return found


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other runs from writing under ``root`` meanwhile; makes the journal's folder.

    Raises WriteError at once when another run holds the lock, or when the folder cannot be made.
    """
    state = root / FOLDER
    try:
        state.mkdir(exist_ok=True)
        handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT, _MODE)
    except OSError as error:
        raise WriteError(f"cannot keep a journal in {state}: {reason(error)}") from error
    try:
        _take(handle, root)
        try:
            for folder in (state / "blobs", state / "journal"):
                folder.mkdir(exist_ok=True)
            hide(state)
        except OSError as error:
            raise WriteError(f"cannot keep a journal in {state}: {reason(error)}") from error
        yield
    finally:
        os.close(handle)


def hide(state: Path) -> None:
    """Have git leave out everything in the folder ``state`` but the state of a campaign. Raises OSError."""
    file = state / ".gitignore"
    if not file.exists() or file.read_bytes() == b"*\n":
        disk.replace(file, _HIDDEN, _MODE)


def _take(handle: int, root: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(handle, 20).decode("ascii", "replace") or "?"
        raise WriteError(
            f"another torchless run (process {owner}) is writing to {root}: wait for it, then run again"
        ) from error
    except OSError as error:
        raise WriteError(f"cannot lock {root / FOLDER / 'lock'}: {reason(error)}") from error
    with contextlib.suppress(OSError):  # only told to people: a full disk must not stop a recovery
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)


def begin(root: Path, record: Record, blobs: Iterable[bytes]) -> None:
    """Put ``blobs`` and then the unfinished ``record`` on the disk, for good. Raises OSError."""
    folder = root / FOLDER / "blobs"
    for data in blobs:
        path = folder / digest(data)
        if not path.exists() or digest(path.read_bytes()) != path.name:
            staged = path.with_name(path.name + ".tmp")
            disk.create(staged, data, _MODE)
            staged.replace(path)
    disk.sync_folder(folder)
    _save(root, record)


def finish(root: Path, record: Record) -> None:
    """Mark ``record`` as done, for good. Raises OSError."""
    _save(root, replace(record, done=True))


def is_done(root: Path, number: int) -> bool:
    """Whether the disk says that write ``number`` is done."""
    return any(r.done and r.number == number for r in records(root))


def blob(root: Path, name: str) -> bytes:
    """The bytes kept as ``name``. Raises WriteError when they are missing or damaged."""
    path = root / FOLDER / "blobs" / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise WriteError(f"cannot read {path}: {reason(error)}") from error
    if digest(data) != name:
        raise WriteError(f"{path} is damaged")
    return data


def standing(root: Path) -> list[Record]:
    """The finished writes that no undo has taken back, oldest first. Raises WriteError."""
    known = [r for r in records(root) if r.done]
    undone = {r.undoes for r in known}
    return [r for r in known if not r.undoes and r.number not in undone]


def drop(root: Path, number: int) -> None:
    """Remove the record of write ``number``, for good. Raises OSError."""
    path = _record_path(root, number)
    path.unlink(missing_ok=True)
    disk.sync_folder(path.parent)


def prune(root: Path) -> None:
    """Drop what nobody asks for again: undone writes, the oldest ones, unused blobs. For when every write is finished.

    Raises OSError, WriteError; what was not dropped then does no harm.
    """
    kept = standing(root)[-KEPT_WRITES:]
    for record in records(root):  # what was undone goes before what undid it, or it would seem to stand
        if record not in kept:
            drop(root, record.number)
    used = {name for record in kept for entry in record.entries for name in (entry.old, entry.new)}
    for path in (root / FOLDER / "blobs").iterdir():
        if path.name not in used:
            path.unlink()


def reason(error: Exception) -> str:
    """What went wrong, in one line."""
    text = error.strerror if isinstance(error, OSError) else None
    return " ".join((text or str(error) or type(error).__name__).split())


def _entry(raw: dict[str, Any]) -> Entry:
    """``raw`` as an Entry that cannot lead out of the root: the journal may have come with the checkout."""
    entry = Entry(**raw)
    if not all(re.fullmatch(r"[0-9a-f]{64}", name) for name in (entry.old, entry.new)):
        raise ValueError("not a SHA-256")
    if PurePosixPath(entry.path).is_absolute() or ".." in PurePosixPath(entry.path).parts:
        raise ValueError("a path leads out of the root")
    if entry.staged and not re.fullmatch(r"\.torchless-[0-9-]+\.tmp", entry.staged):
        raise ValueError("not a staged file")
    return entry


def _record_path(root: Path, number: int) -> Path:
    return root / FOLDER / "journal" / f"{number:08}.json"


def _save(root: Path, record: Record) -> None:
    text = {
        "version": _VERSION,
        "done": record.done,
        "undoes": record.undoes,
        "entries": [asdict(entry) for entry in record.entries],
    }
    disk.replace(_record_path(root, record.number), json.dumps(text, indent=1).encode(), _MODE)
