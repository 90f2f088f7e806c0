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
    prefixes of codes. ``jobs`` 0 means one worker per core. ``opus_guard``: mend the c10 leak at its "root",
    by a "define" in each translation unit, or ("auto") at the root where the header is selected, else by defines.
    ``offer_all``: offer optional rewrites also where they gain little. ``opt_in`` are the codes of rules that are
    applied only when they are selected; the rule files say which. ``held`` are names of units that are to stay as they
    are and count as backed out: they failed a rung of the ladder.
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
    opus_guard: str = "auto"
    offer_all: bool = False
    opt_in: frozenset[str] = frozenset()
    held: tuple[str, ...] = ()

    def dropped(self, code: str) -> bool:
        """Whether the user does not want what ``code`` does."""
        left_out = code in self.opt_in and not codes_match(code, self.select)
        return left_out or is_dropped(code, self.select, self.ignore)

    @property
    def takes_torch_out(self) -> bool:
        """Whether torch is to go: not when all that is selected are rules, or families, that are made on request.

        A family such as TL5 is meant for those of its rules; TL stands for all rules.
        """
        return not self.select or not all(self._is_on_request(prefix) for prefix in self.select)

    def _is_on_request(self, prefix: str) -> bool:
        return any(char.isdigit() for char in prefix) and any(code.startswith(prefix) for code in self.opt_in)


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
