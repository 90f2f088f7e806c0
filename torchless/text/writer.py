"""Writing many files so that all of them change or none does, and taking a write back.

The order is: look at every file, put the old bytes and a record of the write into the journal, stage the new bytes
beside the files, rename them over the files, mark the record done. An exception or Ctrl-C on the way takes everything
back at once; after a kill the next run finds the unfinished record, and recover() takes it back. A file keeps its
permission bits, owner and links: a symbolic link is followed, and a file that a rename would cut off from its other
names or its owner is overwritten in place.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.text import disk, journal
from torchless.text.journal import Entry, Record, WriteError

__all__ = [
    "FileChange",
    "RecoverReport",
    "UndoReport",
    "WriteError",
    "WriteReport",
    "pending",
    "recover",
    "undo",
    "write_files",
]


_NEW_MODE = 0o644  # permission bits of a file that is made


@dataclass(frozen=True, slots=True)
class FileChange:
    """The whole bytes of one file: those that it must still have, and those that it gets.

    ``created``: there must be no such file yet, and ``old`` is empty. ``removed``: it goes, and ``new`` is empty; only
    undo() does that.
    """

    old: bytes
    new: bytes
    created: bool = False
    removed: bool = False


@dataclass(frozen=True, slots=True)
class WriteReport:
    """A finished write: its number in the journal (0 when nothing was to change) and the files that changed."""

    number: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UndoReport:
    """A write that was taken back: its number and the files that have their old bytes again."""

    number: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """What was left of an interrupted write.

    ``restored`` files have their old bytes again. ``left`` files were changed or removed by somebody else since, and
    were not touched.
    """

    restored: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Target:
    """A file to write: how the caller names it, where it really is, and what it was when it was looked at.

    ``status`` is None where there was none.
    """

    name: str
    path: Path
    change: FileChange
    status: os.stat_result | None


def write_files(root: Path, changes: Mapping[str, FileChange]) -> WriteReport:
    """Make ``changes`` (by root-relative path) to the files under ``root``: all of them, or none.

    A change whose old and new bytes are equal is passed over. Raises WriteError, with nothing changed, when a file's
    bytes are not the old ones any more, when one that is to be made is there already, when a file or its folder is
    read-only or it lies outside ``root``, when two names of one file get different bytes, when another run is writing,
    or when the system fails (full disk). KeyboardInterrupt takes everything back and goes on. An earlier write that was
    interrupted is recovered first.
    """
    wanted = {path: change for path, change in changes.items() if change.old != change.new or change.created}
    if not wanted:
        return WriteReport(0, ())
    with journal.locked(root):
        _recover(root)
        targets = _examine(root, wanted)
        number = _commit(root, targets, undoes=0)
    return WriteReport(number, tuple(sorted(wanted)))


def undo(root: Path) -> UndoReport:
    """Take the last finished write under ``root`` back; again for the one before it.

    When the last write was interrupted, taking that one back is all it does. Raises WriteError, with nothing changed,
    when there is no write left in the journal, when a file was changed since, or for the reasons that write_files()
    has.
    """
    if not journal.records(root):
        raise WriteError(f"nothing to undo: no write is recorded in {root}")
    with journal.locked(root):
        interrupted = [r.number for r in journal.records(root) if not r.done]
        if interrupted:
            return UndoReport(interrupted[-1], _recover(root).restored)
        standing = journal.standing(root)
        if not standing:
            raise WriteError(f"nothing to undo: no write is recorded in {root}")
        last = standing[-1]
        _commit(root, _examine(root, _reverse(root, last)), undoes=last.number)
    return UndoReport(last.number, tuple(entry.path for entry in last.entries))


def pending(root: Path) -> tuple[str, ...]:
    """The files of a write that was interrupted (or that another run is doing right now). Raises WriteError."""
    return tuple(e.path for r in journal.records(root) if not r.done for e in r.entries)


def recover(root: Path) -> RecoverReport:
    """Take back what an interrupted write left. To be called before anything is read for a new write.

    Raises WriteError when another run is writing, or when the system fails; the next call tries again.
    """
    if not pending(root):
        return RecoverReport()
    with journal.locked(root):
        return _recover(root)


def _recover(root: Path) -> RecoverReport:
    """recover() for the holder of the lock."""
    unfinished = [r for r in journal.records(root) if not r.done]
    reports = [_take_back(root, record) for record in reversed(unfinished)]
    return RecoverReport(
        tuple(path for report in reports for path in report.restored),
        tuple(path for report in reports for path in report.left),
    )


def _reverse(root: Path, record: Record) -> dict[str, FileChange]:
    """The changes that take ``record`` back. Raises WriteError when a file has not the bytes any more that it wrote."""
    changes: dict[str, FileChange] = {}
    problems: list[tuple[str, str]] = []
    for entry in record.entries:
        try:
            now = (root / entry.path).read_bytes()
        except OSError as error:
            problems.append((entry.path, f"cannot be read ({journal.reason(error)})"))
            continue
        if journal.digest(now) == entry.new:
            was = b"" if entry.created else journal.blob(root, entry.old)
            changes[entry.path] = FileChange(now, was, removed=entry.created)
        else:
            problems.append((entry.path, "has changed since it was written"))
    _refuse(problems)
    return changes


def _examine(root: Path, changes: Mapping[str, FileChange]) -> list[_Target]:
    """Look at every file before anything is written. Raises WriteError that names all that cannot be written."""
    inside = root.resolve()
    targets: dict[tuple[object, ...], _Target] = {}
    problems: list[tuple[str, str]] = []
    for name in sorted(changes):
        try:
            if changes[name].created:
                path = (root / name).parent.resolve(strict=True) / Path(name).name
                targets[path,] = _Target(name, path, changes[name], None)
                if problem := _obstacle_to_new(path, inside):
                    problems.append((name, problem))
                continue
            path = (root / name).resolve(strict=True)
            status = path.stat()
            problem = _obstacle(path, status, inside) or (
                "" if path.read_bytes() == changes[name].old else "has changed since it was read"
            )
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links before Python 3.13, a NUL byte
            problems.append((name, f"cannot be read ({journal.reason(error)})"))
            continue
        twin = targets.setdefault((status.st_dev, status.st_ino), _Target(name, path, changes[name], status))
        if not problem and twin.change != changes[name]:
            problem = f"is the same file as {twin.name}, which gets other bytes"
        if problem:
            problems.append((name, problem))
    _refuse(problems)
    return list(targets.values())


def _obstacle(path: Path, status: os.stat_result, inside: Path) -> str:
    """Why the file cannot be written, "" when it can. The superuser may write anything, so the mode bits count too."""
    if not path.is_relative_to(inside):
        return f"lies outside {inside}"
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        return "is read-only"
    return "is in a read-only folder" if _is_read_only(path.parent) else ""


def _obstacle_to_new(path: Path, inside: Path) -> str:
    """Why a file cannot be made, "" when it can."""
    if not path.is_relative_to(inside):
        return f"lies outside {inside}"
    if os.path.lexists(path):
        return "is there already"
    return "is to be made in a read-only folder" if _is_read_only(path.parent) else ""


def _is_read_only(folder: Path) -> bool:
    return not folder.stat().st_mode & 0o222 or not os.access(folder, os.W_OK | os.X_OK)


def _refuse(problems: Sequence[tuple[str, str]]) -> None:
    if problems:
        shown = [f"{_printable(name)} {problem}" for name, problem in problems[:5]]
        if len(problems) > len(shown):
            shown.append(f"and {len(problems) - len(shown)} more")
        raise WriteError(f"{', '.join(shown)}; nothing was written", tuple(name for name, _ in problems))


def _commit(root: Path, targets: Sequence[_Target], undoes: int) -> int:
    """Write ``targets`` and give the number of the record.

    Raises WriteError, or what interrupted it, with everything taken back.
    """
    inside = root.resolve()
    number = max((r.number for r in journal.records(root)), default=0) + 1
    entries = [_entry(inside, number, i, target) for i, target in enumerate(targets)]
    record = Record(number, False, undoes, tuple(entries))
    at = str(root / journal.FOLDER)
    try:
        kept = [t.change.old for t in targets]
        kept += [t.change.new for t, e in zip(targets, entries, strict=True) if not e.staged]
        journal.begin(root, record, kept)
        for target, entry in zip(targets, entries, strict=True):
            at = target.name
            if entry.staged:
                disk.create(target.path.with_name(entry.staged), target.change.new, *_bits(target))
        for target, entry in zip(targets, entries, strict=True):
            at = target.name
            if _has_changed(target):
                raise WriteError(f"{_printable(at)} was changed while it was to be written; nothing was written", (at,))
            if entry.removed:
                target.path.unlink()
            elif entry.staged:
                target.path.with_name(entry.staged).replace(target.path)
            else:
                disk.overwrite(target.path, target.change.new)
        at = str(root)
        for folder in sorted({target.path.parent for target in targets}):
            disk.sync_folder(folder)
        journal.finish(root, record)
    except BaseException as error:
        with _interrupts_ignored():
            stands = _back_out(root, record, error, at)
        if not (stands and isinstance(error, OSError)):
            raise
    with contextlib.suppress(OSError, WriteError):
        journal.prune(root)
    return number


def _entry(inside: Path, number: int, index: int, target: _Target) -> Entry:
    status, change = target.status, target.change
    in_place = status is not None and (status.st_nlink > 1 or os.geteuid() not in (0, status.st_uid))
    return Entry(
        path=target.path.relative_to(inside).as_posix(),
        old=journal.digest(change.old),
        new=journal.digest(change.new),
        staged="" if in_place or change.removed else f".torchless-{number}-{index}.tmp",
        created=change.created,
        removed=change.removed,
    )


def _bits(target: _Target) -> tuple[int, tuple[int, int]]:
    """The permission bits and the owner that a staged file gets; a new one belongs to who its folder belongs to."""
    if target.status is not None:
        return stat.S_IMODE(target.status.st_mode), (target.status.st_uid, target.status.st_gid)
    folder = target.path.parent.stat()
    return _NEW_MODE, (folder.st_uid, folder.st_gid)


def _has_changed(target: _Target) -> bool:
    if target.status is None:
        return os.path.lexists(target.path)
    return _signature(target.path.stat()) != _signature(target.status)


def _signature(status: os.stat_result) -> tuple[int, ...]:
    """What changes when somebody writes or replaces the file."""
    return (status.st_dev, status.st_ino, status.st_mode, status.st_nlink, status.st_size, status.st_mtime_ns)


def _back_out(root: Path, record: Record, error: BaseException, at: str) -> bool:
    """Take ``record`` back after ``error`` at the file ``at``; True when the write was finished before, and stands.

    Raises WriteError when the system was at fault.
    """
    try:
        if journal.is_done(root, record.number):
            return True
        _take_back(root, record)
    except (OSError, WriteError) as second:
        first = journal.reason(error) if isinstance(error, Exception) else "interrupted"
        raise WriteError(
            f"cannot write {_printable(at)}: {first}; taking the write back failed too ({journal.reason(second)})"
            " and will be tried again by the next run",
            (at,),
        ) from error
    with contextlib.suppress(OSError, WriteError):
        journal.prune(root)
    if isinstance(error, OSError):
        raise WriteError(
            f"cannot write {_printable(at)}: {journal.reason(error)}; nothing was written", (at,)
        ) from error
    return False


def _take_back(root: Path, record: Record) -> RecoverReport:
    """Give every file of an unfinished ``record`` its old bytes, and drop the record. Raises WriteError.

    Can be interrupted and begun again. Staged files go first: on a full disk they make room.
    """
    restored: list[str] = []
    left: list[str] = []
    at = str(root)
    try:
        for entry in record.entries:
            if entry.staged:
                at = entry.path
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    (root / entry.path).with_name(entry.staged).unlink()
        for entry in record.entries:
            at = entry.path
            state = _state(root, entry)
            if state == "new":
                _restore(root, entry)
                restored.append(entry.path)
            elif state == "foreign":
                left.append(entry.path)
        at = str(root / journal.FOLDER)
        journal.drop(root, record.number)
    except OSError as error:
        raise WriteError(f"cannot restore {_printable(at)}: {journal.reason(error)}", (at,)) from error
    return RecoverReport(tuple(restored), tuple(left))


def _state(root: Path, entry: Entry) -> str:
    """Whether the file is "old", "new" (wholly, or torn while it was overwritten), or "foreign" to the write."""
    path = root / entry.path
    try:
        now = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        is_absent = isinstance(error, FileNotFoundError)
        return "old" if is_absent and entry.created else "new" if is_absent and entry.removed else "foreign"
    name = journal.digest(now)
    if name == entry.old and not entry.created:
        return "old"
    if name == entry.new:
        return "new"
    if not entry.staged and disk.is_torn(now, journal.blob(root, entry.old), journal.blob(root, entry.new)):
        return "new"
    return "foreign"


def _restore(root: Path, entry: Entry) -> None:
    path = root / entry.path
    if entry.created:
        path.unlink()
        disk.sync_folder(path.parent)
        return
    old = journal.blob(root, entry.old)
    if entry.removed:
        disk.create(path, old, _NEW_MODE)
        disk.sync_folder(path.parent)
    elif entry.staged:
        status = path.stat()
        staged = path.with_name(entry.staged)
        disk.create(staged, old, stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid))
        staged.replace(path)
        disk.sync_folder(path.parent)
    else:
        disk.overwrite(path, old)


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """A second Ctrl-C must not stop the way back. Only the main thread gets any."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _printable(name: str) -> str:
    """``name`` on one line."""
    return name if name.isprintable() else repr(name)
