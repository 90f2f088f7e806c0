"""Suppression comments, applied to findings as they are made, with what that means for a unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from torchless import suppress
from torchless.model import Finding, Tier
from torchless.text.source import SourceFile

# What a unit is whole without: dtype checks, throwing and guards that are added to what the text says.
MAY_GO = frozenset({"TL310", "TL311", "TL403"})


class Suppressor:
    """Takes suppressed findings out and remembers all it was shown, so that stale comments can be told afterwards."""

    def __init__(self, read: Callable[[str], SourceFile]) -> None:
        self._read = read
        self._suppressions: dict[str, suppress.Suppressions] = {}
        self._shown: list[Finding] = []

    def settle(self, findings: Sequence[Finding]) -> list[Finding]:
        """``findings`` without the suppressed ones.

        A suppressed finding leaves something as it is that the rest of its unit would build upon: a blocker with the
        same code says so. One that only adds what nothing else needs (a check, a guard) just goes.
        """
        self._shown.extend(findings)
        outcome = self._apply(findings)
        return [*outcome.kept, *(_left(s) for s in outcome.suppressed if not may_go(s.finding))]

    def unsuppressed(self, findings: Sequence[Finding]) -> list[Finding]:
        """``findings`` without the suppressed ones, where each stands for itself (include lines)."""
        self._shown.extend(findings)
        return list(self._apply(findings).kept)

    def stale(self, paths: Collection[str], looked_for: Callable[[str], bool]) -> list[Finding]:
        """TL001 for each comment in ``paths`` that suppressed nothing of what was shown."""
        outcome = suppress.apply(
            [f for f in self._shown if f.path in paths], {p: self._of(p) for p in sorted(paths)}, looked_for
        )
        return list(outcome.stale)

    def _apply(self, findings: Sequence[Finding]) -> suppress.Outcome:
        return suppress.apply(findings, {p: self._of(p) for p in sorted({f.path for f in findings})})

    def _of(self, path: str) -> suppress.Suppressions:
        if path not in self._suppressions:
            try:
                self._suppressions[path] = suppress.read(self._read(path))
            except OSError:
                self._suppressions[path] = suppress.Suppressions(SourceFile(path, b""))
        return self._suppressions[path]


def may_go(finding: Finding) -> bool:
    """Whether the unit of ``finding`` is whole without it."""
    return not finding.blocks and (not finding.edits or finding.code in MAY_GO)


def left_alone(finding: Finding, why: str, advice: str) -> Finding:
    """``finding`` as a blocker: what it would have changed stays as it is."""
    text = f"left alone on request ({why}): {finding.message}"
    return replace(finding, message=text, tier=Tier.DISPLAY, edits=(), blocks=True, help=advice)


def _left(suppressed: suppress.Suppressed) -> Finding:
    reason = suppressed.directive.reason or "no reason given"
    return left_alone(suppressed.finding, reason, "take the comment out to have the unit migrated")
