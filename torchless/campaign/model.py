"""What a campaign is made of. Frozen data; paths are root-relative, texts are whole files in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from torchless.model import LedgerEntry, Tier, Unit

Texts = Mapping[str, bytes]
"""The new text of every file that differs from the base, by path."""


class State(str, Enum):
    """Where a batch stands."""

    PLANNED = "planned"
    EMITTED = "emitted"
    MERGED = "merged"
    STALE = "stale"
    BLOCKED = "blocked"


class GroupBy(str, Enum):
    """What the units of a batch have in common."""

    MODULE = "module"
    DIRECTORY = "directory"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a batch of several units may get; 0 is no limit. A unit is never cut."""

    files: int = 0
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Gain:
    """What a batch buys by itself.

    ``before`` and ``after`` are the preprocessed lines of all passes that come to read other files. ``seconds`` is
    None without a stored profile; else its seconds of those passes times the share of their lines that goes.
    """

    before: int = 0
    after: int = 0
    seconds: float | None = None

    @property
    def lines(self) -> int:
        """The preprocessed lines that go."""
        return self.before - self.after

    @property
    def worth(self) -> float:
        """What batches are ordered by: seconds where they are known, else lines."""
        return self.seconds if self.seconds is not None else float(self.lines)


@dataclass(frozen=True, slots=True)
class Blocker:
    """Why units cannot move yet: the code and an example of its message, the help, and how many places there are."""

    code: str
    message: str
    help: str
    places: int


@dataclass(frozen=True)
class Batch:
    """What one pull request does, or, with ``blockers``, what none can do yet.

    ``number`` is its place in the plan. ``needs`` are the names of the batches without which it does not apply to the
    base, or does not compile; without any it is independent. ``tier`` is that of its most doubtful edit. ``over`` says
    which limit it exceeds. ``constructs`` counts the places that it changes, or that wait in it, by code.
    """

    name: str
    number: int
    units: tuple[Unit, ...]
    lines: int = 0
    files: tuple[str, ...] = ()
    gain: Gain = Gain()
    tier: Tier = Tier.SAFE
    needs: tuple[str, ...] = ()
    blockers: tuple[Blocker, ...] = ()
    over: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    @property
    def unit_names(self) -> tuple[str, ...]:
        """The names of its units."""
        return tuple(unit.name for unit in self.units)

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that its units belong to."""
        return tuple(sorted({name for unit in self.units for name in unit.modules}))

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """What callers will see change."""
        return tuple(dict.fromkeys(entry for unit in self.units for entry in unit.ledger))

    @property
    def leaks(self) -> tuple[str, ...]:
        """The chains by which its sources still reach torch."""
        return tuple(dict.fromkeys(leak for unit in self.units for leak in unit.leaks))

    @property
    def constructs(self) -> Mapping[str, int]:
        """How many places of each code it changes, or, when it is blocked, would."""
        found: dict[str, int] = {}
        for unit in self.units:
            for finding in unit.findings:
                if finding.edits or finding.blocks:
                    found[finding.code] = found.get(finding.code, 0) + 1
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Plan:
    """The batches in order: those that can be made, then those that are blocked.

    ``series`` holds, for each batch that can be made, the texts with it and all before it made; ``stacks`` the same for
    what its branch holds: each batch of ``needs`` in order, then itself. ``notes`` are for people.
    """

    root: str
    batches: tuple[Batch, ...]
    series: Mapping[str, Texts]
    stacks: Mapping[str, tuple[tuple[str, Texts], ...]]
    base: Texts = field(repr=False)
    notes: tuple[str, ...] = ()
    files_failed: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def ready(self) -> tuple[Batch, ...]:
        """The batches that can be made, in order."""
        return tuple(batch for batch in self.batches if not batch.blockers)

    @property
    def blocked(self) -> tuple[Batch, ...]:
        """The batches that cannot be made yet."""
        return tuple(batch for batch in self.batches if batch.blockers)

    def named(self, name: str) -> Batch:
        """The batch called ``name``. Raises KeyError."""
        return next(batch for batch in self.batches if batch.name == name)
