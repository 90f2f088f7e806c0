"""Suppression comments, applied to findings as they are made, with what that means for a unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from torchless import suppress
from torchless.model import Finding, Tier
from torchless.text.source import SourceFile


class Suppressor:
    """Takes suppressed findings out and remembers all it was shown, so that stale comments can be told afterwards."""

    def __init__(self, read: Callable[[str], SourceFile]) -> None:
        self._read = read
        self._suppressions: dict[str, suppress.Suppressions] = {}
        self._shown: list[Finding] = []

    def settle(self, findings: Sequence[Finding]) -> list[Finding]:
        """``findings`` without the suppressed ones.

        Where a suppressed finding would have replaced text, a torch construct stays: a blocker with the same code says
        so. One that only inserts (a check, a guard) just goes.
        """
        self._shown.extend(findings)
        outcome = suppress.apply(findings, {p: self._of(p) for p in sorted({f.path for f in findings})})
        return [*outcome.kept, *(_left(s) for s in outcome.suppressed if _leaves_something(s.finding))]

    def stale(self, paths: Collection[str], looked_for: Callable[[str], bool]) -> list[Finding]:
        """TL001 for each comment in ``paths`` that suppressed nothing of what was shown."""
        outcome = suppress.apply(
            [f for f in self._shown if f.path in paths], {p: self._of(p) for p in sorted(paths)}, looked_for
        )
        return list(outcome.stale)

    def _of(self, path: str) -> suppress.Suppressions:
        if path not in self._suppressions:
            try:
                self._suppressions[path] = suppress.read(self._read(path))
            except OSError:
                self._suppressions[path] = suppress.Suppressions(SourceFile(path, b""))
        return self._suppressions[path]


def _leaves_something(finding: Finding) -> bool:
    return finding.blocks or any(e.end > e.start for e in finding.edits)


def _left(suppressed: suppress.Suppressed) -> Finding:
    reason = suppressed.directive.reason or "no reason given"
    return replace(
        suppressed.finding,
        message=f"left alone on request ({reason}): {suppressed.finding.message}",
        tier=Tier.DISPLAY,
        edits=(),
        blocks=True,
        help="take the comment out to have the unit migrated",
    )
