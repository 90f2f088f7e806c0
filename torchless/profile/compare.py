"""Two series of a figure: what to show of them, and whether they differ by more than their own noise.

Fewer than ten values are shown as they are; a median of three hides more than it says. From ten on: median, least and
most. *Outside the noise* is told without assuming a distribution: with fewer than ten values each, every value of one
series lies below every value of the other; from ten on, the middle halves of the two do not overlap. With one value
each nothing is known about the noise. Lines are counted, not measured: they have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from torchless.profile.walls import median

ENOUGH = 10
"""From so many values on a summary says more than the values."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """Two series. ratio: median before over median after, None where one of them is 0 or missing.

    outside: True outside of the noise, False within, None where nothing is known about the noise.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    ratio: float | None
    outside: bool | None

    @property
    def difference(self) -> float:
        """Median after minus median before."""
        return median(self.after) - median(self.before)

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.before or not self.after:
            return "only one side was measured"
        if self.outside is None:
            return "one value each: the noise is not known"
        return "outside the noise" if self.outside else "within the noise"


def compare(before: Sequence[float], after: Sequence[float]) -> Change:
    """How ``after`` differs from ``before``: seconds, several runs of each."""
    old, new = median(before), median(after)
    ratio = old / new if before and after and old > 0 and new > 0 else None
    return Change(tuple(before), tuple(after), ratio, _outside(before, after))


def _outside(before: Sequence[float], after: Sequence[float]) -> bool | None:
    if min(len(before), len(after)) < 2:
        return None
    if min(len(before), len(after)) < ENOUGH:
        return max(after) < min(before) or max(before) < min(after)
    (low, high), (below, above) = _middle(before), _middle(after)
    return above < low or high < below


def _middle(values: Sequence[float]) -> tuple[float, float]:
    """The quartiles, as medians of the lower and the upper half."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return median(ordered[:half]), median(ordered[-half:])


def shown(values: Sequence[float], form: str = "{:.2f}") -> str:
    """A series for people: raw below ENOUGH values, else median, least and most."""
    if not values:
        return "not measured"
    if len(values) < ENOUGH:
        return ", ".join(form.format(value) for value in values)
    parts = (("median", median(values)), ("min", min(values)), ("max", max(values)))
    return ", ".join(f"{name} {form.format(value)}" for name, value in parts) + f" of {len(values)}"


def paired(measure: Callable[[T, int], None], versions: Sequence[T], trials: int) -> None:
    """Call ``measure(version, trial)`` as A B A B: what drifts on the machine meets both alike."""
    for trial in range(trials):
        for version in versions:
            measure(version, trial)
