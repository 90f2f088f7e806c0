"""Built things, kept by content: objects, precompiled headers, programs. Files, put in place in one step."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

from torchless.facts.cache import default_folder

MAX_BYTES = 3 << 29
"""When more than this is kept, what was used longest ago goes until three quarters are left."""


def folder() -> Path:
    """Where built things are kept: beside the cache of facts."""
    return default_folder() / "trace"


def digest(*parts: str | bytes) -> str:
    """A key for what ``parts`` determine, in their order."""
    whole = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:40]


def find(kind: str, key: str) -> Path | None:
    """The file kept under ``key``, or None. Using it keeps it longer."""
    path = folder() / kind / key
    try:
        os.utime(path)
    except OSError:
        return None
    return path


def keep(kind: str, key: str, built: Path) -> Path:
    """Move the file ``built`` into the store and give its place there. Raises OSError."""
    path = folder() / kind / key
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    os.close(handle)
    shutil.copyfile(built, temporary)
    shutil.copymode(built, temporary)
    Path(temporary).replace(path)
    return path


def linked(target: Path) -> Path:
    """A folder in which ``target`` is found under its own name, and nothing else."""
    place = folder() / "links" / digest(str(target))
    place.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        (place / target.name).symlink_to(target)
    return place


def keep_bytes(kind: str, key: str, data: bytes) -> None:
    """Keep ``data``. A folder that cannot be written to is no reason to fail: it is made again next time."""
    with suppress(OSError), tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "value"
        path.write_bytes(data)
        keep(kind, key, path)


def read_json(kind: str, key: str) -> Any | None:
    """What write_json() was given, None when there is nothing or nothing readable."""
    path = find(kind, key)
    if path is None:
        return None
    try:
        return json.loads(path.read_text("utf-8", "surrogateescape"))
    except (OSError, ValueError):
        return None


def write_json(kind: str, key: str, value: Any) -> None:
    """Keep ``value``, as keep_bytes() does."""
    keep_bytes(kind, key, json.dumps(value).encode("utf-8", "surrogateescape"))


def prune(max_bytes: int = MAX_BYTES) -> None:
    """Delete what was used longest ago when all together are larger than ``max_bytes``."""
    entries: list[tuple[float, int, Path]] = []
    for path in folder().glob("*/*"):
        with suppress(OSError):
            stat = path.lstat()
            if not S_ISREG(stat.st_mode):
                continue
            entries.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    if total <= max_bytes:
        return
    for _, size, path in sorted(entries):
        path.unlink(missing_ok=True)
        total -= size
        if total <= max_bytes * 3 // 4:
            return
