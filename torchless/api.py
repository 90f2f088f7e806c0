"""The rooms in order: what a program (the command line, a test, an editor) calls. Nothing here prints or writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchless.model import Edit, Finding, Unit
from torchless.text.writer import FileChange

__all__ = ["FileChange", "MigrateOptions", "MigrateResult", "Progress", "UsageError", "migrate", "why_joined"]

# progress(stage, done, total): called as work proceeds; total is 0 while it is not known.
Progress = Callable[[str, int, int], None]


class UsageError(Exception):
    """The request cannot be carried out as asked; the message is one line for the person who asked."""


@dataclass(frozen=True)
class MigrateOptions:
    """What to migrate and how.

    ``paths`` are files or folders, absolute or relative to the start folder. ``select`` and ``ignore`` are codes or
    prefixes of codes. ``jobs`` 0 means one worker per core. ``opus_guard``: mend the c10 leak at its "root", or by a
    "define" in each translation unit.
    """

    paths: tuple[str, ...]
    modules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    jobs: int = 0
    cache: bool = True
    headers: str = "stubs"
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    arch: str = "gfx942"
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    checks: str = "aiter"
    assume_target: bool = False
    rule_files: tuple[str, ...] = ()
    opus_guard: str = "root"


@dataclass(frozen=True)
class MigrateResult:
    """What migrate() found and would change.

    ``findings`` are those that belong to no unit. ``changes`` and ``edits`` hold what is to be written, by
    root-relative path. ``mergeable`` is false when the checkout lacks the target's headers, so that the edits do not
    compile there. ``files_failed`` could not be analysed at all.
    """

    root: str
    units: tuple[Unit, ...]
    findings: tuple[Finding, ...]
    changes: Mapping[str, FileChange]
    edits: tuple[Edit, ...]
    found: str
    seconds: float
    files_failed: tuple[str, ...] = ()
    mergeable: bool = True
    notes: tuple[str, ...] = ()


def migrate(options: MigrateOptions, start: Path, progress: Progress) -> MigrateResult:
    """Analyse and plan a migration from folder ``start``; writes nothing. Raises UsageError."""
    raise NotImplementedError


def why_joined(result: MigrateResult, a: str, b: str) -> str:
    """Why entry points (or modules) ``a`` and ``b`` must move together, one step a line. Raises UsageError."""
    raise NotImplementedError
