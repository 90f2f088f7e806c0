"""Whole results, remembered: a run over files that nobody has touched since gives its answer without looking again.

The key covers the options, the tool itself, the rule files, and name, size and times of every file of the project that
a run can be expected to read; a run that read anything else is not remembered. Inode change times are among them, so
that a file put back with its old modification time counts as changed. Corrupt or foreign entries are misses (see
facts/cache.py).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import torchless
from torchless.facts import flags
from torchless.facts.cache import Cache
from torchless.model import Confidence, Edit, Finding, LedgerEntry, Related, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions
from torchless.text.writer import FileChange

_FORMAT = 1
_MAX_FILES = 20_000
_SKIPPED = frozenset({"build", "blob", "dist", "node_modules", "__pycache__", "venv"})
_TOOLCHAIN = ("/usr/include/", "/usr/lib/")
_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".hip", ".h", ".hpp", ".hh", ".hxx", ".inl", ".inc", ".py", ".json")
_NAMED = ("pyproject.toml", "torchless.toml", ".gitignore")


def result_key(options: MigrateOptions, start: Path, root: Path, rule_files: Iterable[Path]) -> str | None:
    """The key of a run from ``start`` over the project at ``root``; None for one that is not to be remembered.

    That is when the project is too large to look over, or an include folder lies outside of it.
    """
    if any(not (root / folder).resolve().is_relative_to(root.resolve()) for folder in options.include_dirs):
        return None
    digest = hashlib.sha256()
    digest.update(repr((_FORMAT, torchless.__version__, options, str(start), str(root), flags.toolchain())).encode())
    digest.update(flags.stubs_digest().encode())
    package = Path(torchless.__file__).parent
    for path in (*sorted(package.rglob("*.py")), *rule_files):
        digest.update(_stamp(path))
    if options.headers != "stubs":
        for folder in flags.find_headers(options.headers).search:
            digest.update(_stamp(Path(folder)))  # an installation that is replaced has new folders
    for count, entry in enumerate(_files(root)):
        if count > _MAX_FILES:
            return None
        digest.update(_stamp(entry))
    return digest.hexdigest()


def _files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """Every file below ``folder`` that a run could read, in a fixed order; links to folders are not followed."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if _is_entered(entry.name):
                yield from _files(entry.path)
        elif _is_looked_at(entry.name):
            yield entry


def _is_entered(folder: str) -> bool:
    return folder not in _SKIPPED and not folder.startswith(".")


def _is_looked_at(file: str) -> bool:
    return file.endswith(_SUFFIXES) or file in _NAMED


def is_watched(path: str, headers: str) -> bool:
    """Whether result_key() notices a change of a file that a parse opened, named as in TuFacts.opened.

    Of files outside of the project that is so for the stub headers and for what the tool chain and the header set
    (``headers``) brought with them, which are replaced as a whole or not at all.
    """
    if path.startswith(flags.STUB_PREFIX):
        return True
    if Path(path).is_absolute():
        return path.startswith((*_TOOLCHAIN, *flags.find_headers(headers).search))
    *folders, file = path.split("/")
    return _is_looked_at(file) and all(map(_is_entered, folders))


def _stamp(file: os.DirEntry[str] | Path) -> bytes:
    name = os.fspath(file)
    try:
        s = file.stat()
    except OSError as error:
        return f"{name}\0{error.errno}\n".encode("utf-8", "surrogateescape")
    stamp = f"{name}\0{s.st_size}\0{s.st_mtime_ns}\0{s.st_ctime_ns}\0{s.st_ino}\0{s.st_mode}\n"
    return stamp.encode("utf-8", "surrogateescape")


def encode(value: Any) -> bytes:
    """A dataclass of this package as JSON bytes."""
    return json.dumps(_plain(value)).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if is_dataclass(value):
        return [_plain(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def edit_of(row: list[Any]) -> Edit:
    """The Edit that encode() made ``row`` of."""
    path, start, end, new, code, rank = row
    return Edit(path, start, end, new.encode("latin-1"), code, rank)


def finding_of(row: list[Any]) -> Finding:
    """The Finding that encode() made ``row`` of."""
    code, message, path, start, end, tier, edits, confidence, blocks, advice, requires, unit, line, column, near = row
    made = tuple(edit_of(e) for e in edits)
    needed = tuple(requires)
    sure = Confidence(confidence)
    places = tuple(Related(*place) for place in near)
    return Finding(
        code, message, path, start, end, Tier(tier), made, sure, blocks, advice, needed, unit, line, column, places
    )


def unit_of(row: list[Any]) -> Unit:
    """The Unit that encode() made ``row`` of."""
    name, modules, entry_points, files, status, findings, edits, ledger, joined, leaks = row
    return Unit(
        name,
        tuple(modules),
        tuple(entry_points),
        tuple(files),
        UnitStatus(status),
        tuple(finding_of(f) for f in findings),
        tuple(edit_of(e) for e in edits),
        tuple(LedgerEntry(*entry) for entry in ledger),
        tuple((a, b, c) for a, b, c in joined),
        tuple(leaks),
    )


def change_of(row: list[Any]) -> FileChange:
    """The FileChange that encode() made ``row`` of."""
    old, new, created, removed = row
    return FileChange(old.encode("latin-1"), new.encode("latin-1"), created, removed)


def recall(cache: Cache, key: str, decode: Callable[[Any], Any]) -> Any:
    """What was stored under ``key``, decoded; None when there is nothing, or nothing that decodes."""
    body = cache.findings(key)
    if body is None:
        return None
    try:
        return decode(json.loads(body))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
