"""What a proof says: pass, fail, or not run and why. Nothing that did not run is ever a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_SHOWN = 5


class Verdict(str, Enum):
    """The three things a proof can say."""

    PASS = "pass"
    FAIL = "fail"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one proof said. ``detail`` is one line: what was compared, or why nothing was.

    ``evidence`` are chains, symbols, differences; ``unseen`` is what it left out, each with the reason. ``seconds`` is
    wall time. ``figures`` are named series of numbers, for programs.
    """

    name: str
    verdict: Verdict
    detail: str
    evidence: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    seconds: float = 0.0
    figures: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """What the rungs said of one module, in the order of the ladder."""

    module: str
    answers: tuple[Answer, ...]

    @property
    def failed(self) -> bool:
        """Whether any rung found a difference or an error."""
        return any(answer.verdict is Verdict.FAIL for answer in self.answers)


def few(texts: Sequence[str], shown: int = _SHOWN) -> tuple[str, ...]:
    """The first of ``texts``, with a last one that says how many were left out."""
    rest = len(texts) - shown
    return (*texts[:shown], f"and {rest} more") if rest > 0 else tuple(texts)
