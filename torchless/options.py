"""What a caller can ask of a migration, and of a check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchless.selection import codes_match

# progress(stage, done, total): called as work proceeds; total is 0 while it is not known.
Progress = Callable[[str, int, int], None]


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

    def dropped(self, code: str) -> bool:
        """Whether the user does not want what ``code`` does."""
        return is_dropped(code, self.select, self.ignore)


@dataclass(frozen=True)
class CheckOptions:
    """What to check and how.

    ``paths``, ``select`` and ``ignore`` are as for a migration; paths may also name Python files and the JIT
    configuration. ``heavy`` are further headers to watch, each "PATTERN=CATEGORY". ``since`` is a git revision: only
    findings that the change since then touches are kept. ``baseline`` is a file of findings that are known, relative to
    the start folder; ``record`` asks what it would hold today, and then it need not exist yet.
    """

    paths: tuple[str, ...]
    modules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    cache: bool = True
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    arch: str = "gfx942"
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    rule_files: tuple[str, ...] = ()
    heavy: tuple[str, ...] = ()
    since: str = ""
    baseline: str = ""
    record: bool = False

    def dropped(self, code: str) -> bool:
        """Whether the user does not want what ``code`` looks for."""
        return is_dropped(code, self.select, self.ignore)


def is_dropped(code: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    """Whether ``code`` is ignored, or something else is selected. Both hold codes or prefixes of codes."""
    return codes_match(code, ignore) or (bool(select) and not codes_match(code, select))
