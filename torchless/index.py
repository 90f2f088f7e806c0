"""What was computed from a file's bytes alone, kept for the next run.

An index belongs to one project root and is one file in the cache folder. It knows every file by a *stamp*: size, times
of modification and of inode change in nanoseconds, and inode number, of the file that a link leads to. A file whose
stamp is the one on record is not read again. An inode's change time cannot be set by a program, and a file put in
another's place has an inode of its own, so content with preserved size and modification time is noticed all the same.

The exception is the one that git calls *racy*: a file changed twice within one tick of the file system's clock may have
the same stamp before and after. A stamp younger than ``_SETTLED`` when the file was read is therefore never trusted;
the file is read again, and what was computed is found by a hash of its content. Where a file system keeps no change
times, size and time of modification have to do.

Values are stored with ``marshal``, which is fast and safe only for data that we wrote ourselves: a damaged stream may
crash the interpreter. So a file is taken apart only after its first line (format, version of the tool, its installed
files, Python) and the checksum behind it were found to be right. Whatever is not exactly that is a miss, never an
error. As with Python's own .pyc files, whoever can write to the cache folder is trusted.
"""

# Thousands of files are looked at in a few milliseconds, which Path objects alone would take.
# ruff: noqa: PTH100, PTH103, PTH105, PTH108, PTH110, PTH116, PTH120, PTH123, PTH208

from __future__ import annotations

import errno
import hashlib
import marshal
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import torchless

T = TypeVar("T")
Stamp = tuple[int, int, int, int]
"""(size, mtime_ns, ctime_ns, inode)"""

_FORMAT = 2
_SETTLED = 2_000_000_000  # ns; the coarsest clock of a file system in use (FAT) ticks every two seconds
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # nonblocking: a pipe must not hang
_DIGEST = hashlib.sha256().digest_size
_KEY = 16  # bytes of a content hash that serve as key
_ROW = 120  # bytes that a file costs beside its values, about
MAX_NOTES = 6
MAX_PATHS = 50_000
MAX_BYTES = 1 << 26
"""An index is never written larger than this; files of this run go before others, those before contents of old."""
MAX_TOTAL = 1 << 28
"""When the first index of a project is written, the oldest ones of all projects go until they take less than this."""


class Index:
    """Values computed from the files of the project at ``root``, and the files' bytes, each read at most once a run.

    ``folder`` is the cache folder; None keeps everything in memory only. Nothing is read before the first question,
    nothing is written before save(). Paths are relative to ``root`` with forward slashes, or absolute. What a file is
    like is found out once: an index serves one run over files that hold still.
    """

    def __init__(self, root: Path | str, folder: Path | str | None = None) -> None:
        self.root = os.path.abspath(root)
        self._file = "" if folder is None else _place(os.fspath(folder), self.root)
        self._opened = not self._file
        self._changed = False
        self._paths: dict[str, tuple[Stamp, bool, bytes]] = {}  # path -> stamp, whether it is settled, content key
        self._bodies: dict[bytes, dict[str, tuple[int | str, bytes]]] = {}  # content key -> kind -> version, value
        self._notes: dict[str, tuple[tuple[int | str, bytes, bytes], ...]] = {}  # kind -> version, key, value
        self._seen: dict[str, bytes] = {}  # path -> content key, as found in this run
        self._data: dict[str, bytes] = {}

    def get(self, path: str, kind: str, version: int | str, compute: Callable[[bytes], T]) -> T:
        """``compute(bytes of the file)``, or what an earlier call with this ``kind`` and ``version`` gave for them.

        ``compute`` must depend on the bytes alone (not on the path: files with the same content share the value), and
        give what marshal can store: None, bool, int, float, str, bytes, and tuples, lists, sets and dicts of these.
        ``version`` must change whenever what ``compute`` gives does. Raises OSError when the file cannot be read,
        whatever ``compute`` raises (which is not remembered), and ValueError for a value that cannot be stored.
        """
        key = self.key(path)
        kinds = self._bodies.get(key)
        stored = kinds.get(kind) if kinds is not None else None
        if stored is not None and stored[0] == version:
            return cast(T, marshal.loads(stored[1]))
        data = self.read(path)
        value = compute(data)
        self._bodies.setdefault(self._seen[path], {})[kind] = (version, marshal.dumps(cast(Any, value)))
        self._changed = True
        return value

    def knows(self, path: str, kind: str, version: int | str) -> bool:
        """Whether get() would not have to compute; False as well for a file that cannot be read."""
        try:
            stored = self._bodies.get(self.key(path), {}).get(kind)
        except OSError:
            return False
        return stored is not None and stored[0] == version

    def adopt(self, key: bytes, kind: str, version: int | str, stored: bytes) -> None:
        """Remember what another process computed for the content with this key(), as ``marshal.dumps`` gave it."""
        self._bodies.setdefault(key, {})[kind] = (version, stored)
        self._changed = True

    def read(self, path: str) -> bytes:
        """The bytes of a file, read once. Raises OSError; one that is not a regular file cannot be read."""
        if path not in self._data:
            self._open()
            self._data[path] = self._read(path)
        return self._data[path]

    def key(self, path: str) -> bytes:
        """A hash of the file's content, the same for the same bytes whatever the path. Raises OSError."""
        key = self._seen.get(path)
        if key is None:
            self._open()
            known = self._paths.get(path)
            if known is None or not known[1] or known[0] != _stamp(os.stat(self._absolute(path))):
                self.read(path)
                return self._seen[path]
            key = self._seen[path] = known[2]
        return key

    def seen(self) -> dict[str, bytes]:
        """Every file that was asked about in this run -> its key()."""
        return dict(self._seen)

    def note(self, kind: str, version: int | str, key: bytes) -> Any:
        """What set_note() was given for just this ``kind``, ``version`` and ``key``, one of the last few, else None."""
        self._open()
        for row in self._notes.get(kind, ()):
            if row[:2] == (version, key):
                return marshal.loads(row[2])
        return None

    def set_note(self, kind: str, version: int | str, key: bytes, value: Any) -> None:
        """Remember a ``value`` that depends on what ``key`` is made of, not on the bytes of one file.

        A kind has as many notes as a few questions in turn need (MAX_NOTES), the newest ones.
        """
        self._open()
        row = (version, key, marshal.dumps(value))
        known = self._notes.get(kind, ())
        if row not in known:
            others = [other for other in known if other[:2] != (version, key)]
            self._notes[kind] = (row, *others[: MAX_NOTES - 1])
            self._changed = True

    def save(self) -> None:
        """Write what is new, in one step, without files that are gone; where that is not possible, do nothing.

        Of several processes that write at once, the last one's index stays; what it lacks is computed again.
        """
        if not self._file or not self._changed:
            return
        self._changed = False
        body = marshal.dumps((self.root, *self._kept(), self._notes))
        data = _header() + hashlib.sha256(body).digest() + body
        folder = os.path.dirname(self._file)
        temporary = f"{folder}/.{os.getpid()}-{time.time_ns()}.tmp"
        try:
            if not os.path.exists(self._file):
                os.makedirs(folder, exist_ok=True)
                with suppress(OSError):  # another process may be at it, too
                    _prune(os.path.dirname(folder), MAX_TOTAL - len(data))
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                    out.write(data)
                os.replace(temporary, self._file)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError:
            return

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.root}/{path}"

    def _read(self, path: str) -> bytes:
        """The bytes of a file, and its stamp put on record: settled only if nothing can have happened unnoticed."""
        now = time.time_ns()
        place = self._absolute(path)
        handle = os.open(place, _OPEN)
        try:
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "Not a regular file", place)
            with open(handle, "rb", buffering=0, closefd=False) as file:
                data = file.readall()
            stamp, after = _stamp(status), _stamp(os.fstat(handle))
        finally:
            os.close(handle)
        key = hashlib.sha256(data).digest()[:_KEY]
        settled = stamp == after and stamp[0] == len(data) and max(stamp[1:3]) + _SETTLED < now
        row = (stamp, settled, key)
        if self._paths.get(path) != row:
            self._paths[path] = row
            self._changed = True
        self._seen[path] = key
        return data

    def _open(self) -> None:
        """Take over what is stored, when it is ours and whole."""
        if self._opened:
            return
        self._opened = True
        try:
            with open(self._file, "rb", buffering=0) as file:
                data = file.read() if os.fstat(file.fileno()).st_size <= 2 * MAX_BYTES else b""
        except OSError:
            return
        header = _header()
        body = memoryview(data)[len(header) + _DIGEST :]
        if not data.startswith(header) or hashlib.sha256(body).digest() != data[len(header) : len(header) + _DIGEST]:
            return
        try:
            root, paths, bodies, notes = marshal.loads(body)
        except (ValueError, EOFError, TypeError):
            return
        if root == self.root:
            self._paths, self._bodies, self._notes = paths, bodies, notes

    def _kept(self) -> tuple[dict[str, tuple[Stamp, bool, bytes]], dict[bytes, dict[str, tuple[int | str, bytes]]]]:
        """What is worth writing, oldest first: files of this run, others that are still there, contents of old."""
        room = MAX_BYTES - sum(len(value) for rows in self._notes.values() for _, _, value in rows)
        paths: list[str] = []
        bodies: dict[bytes, dict[str, tuple[int | str, bytes]]] = {}

        def take(key: bytes) -> bool:
            nonlocal room
            kinds = self._bodies.get(key, {})
            room -= _ROW + (0 if key in bodies else sum(_ROW + len(value) for _, value in kinds.values()))
            if room >= 0 and kinds:
                bodies[key] = kinds
            return room >= 0

        others = (path for path in reversed(self._paths) if path not in self._seen)
        for path in (*self._seen, *(path for path in others if _is_there(self._absolute(path)))):
            if len(paths) == MAX_PATHS or not take(self._paths[path][2]):
                break
            paths.append(path)
        spare = len(paths) + 100  # enough for another branch
        for key in reversed(self._bodies):
            if key not in bodies:
                spare -= 1
                if spare < 0 or not take(key):
                    break
        return {path: self._paths[path] for path in reversed(paths)}, dict(reversed(bodies.items()))


def default_folder() -> Path:
    """Where the cache is kept: TORCHLESS_CACHE_DIR, or the user's cache folder."""
    folder = os.environ.get("TORCHLESS_CACHE_DIR")
    if not folder:
        import platformdirs  # here: where the variable is set, nothing else needs it

        folder = platformdirs.user_cache_dir("torchless")
    return Path(folder)


def open_index(root: Path | str, stored: bool = True) -> Index:
    """The index of the project at ``root``: the one in the cache folder, or one in memory when not ``stored``."""
    return Index(root, default_folder() if stored else None)


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_there(path: str) -> bool:
    """Whether something is at ``path``, as far as can be told."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _place(folder: str, root: str) -> str:
    """The index file of ``root``: one per version of the tool and of Python, so that two of them do not fight."""
    name = hashlib.sha256(repr((torchless.__version__, sys.version, root)).encode("utf-8", "backslashreplace"))
    return f"{folder}/index/{name.hexdigest()[:2]}/{name.hexdigest()}"


@cache
def _header() -> bytes:
    """The first line of an index that this very tool wrote with this very Python."""
    python = f"{sys.implementation.cache_tag}-{sys.hexversion:x}-{marshal.version}"
    return f"torchless-index {_FORMAT} {torchless.__version__} {python} {_installation()}\n".encode()


def _installation() -> str:
    """A digest of the tool's own files by their stamps: values of a changed tool are not its predecessor's."""
    digest = hashlib.sha256()
    for path, status in sorted(_python_files(os.path.dirname(torchless.__file__))):
        digest.update(f"{path}\0{status}\n".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def _python_files(folder: str) -> Iterator[tuple[str, Stamp]]:
    try:
        with os.scandir(folder) as listing:
            entries = list(listing)
    except OSError:
        return  # an archive: replaced as a whole, with its version
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith(("__pycache__", "data", ".")):
                yield from _python_files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path, _stamp(entry.stat())


def _prune(folder: str, room: int) -> None:
    """Delete the files two levels below ``folder`` that were written longest ago until the rest fits into ``room``."""
    files: list[tuple[int, int, str]] = []
    for inner in os.listdir(folder):
        with os.scandir(f"{folder}/{inner}") as listing:
            files += [(s.st_mtime_ns, s.st_size, entry.path) for entry in listing for s in (entry.stat(),)]
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= room:
            return
        os.unlink(path)
        total -= size
