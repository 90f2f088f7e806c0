"""The vocabulary that every other module shares: edits, findings, units. Frozen data, no behaviour.

Offsets are 0-based byte offsets into the file as it is on disk; ranges are half-open [start, end).
Paths are relative to the project root, with forward slashes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Tier(str, Enum):
    """How far a finding's edits can be trusted (design: safe, unsafe, display)."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


class Confidence(str, Enum):
    """Where the facts behind a finding came from: the compiler, or the shape of the text alone."""

    SEMANTIC = "semantic"
    SYNTACTIC = "syntactic"


class UnitStatus(str, Enum):
    """What became of a unit."""

    MIGRATED = "migrated"
    BLOCKED = "blocked"
    BACKED_OUT = "backed out"
    UNCHECKED = "unchecked"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace bytes [start, end) of ``path`` with ``new``.

    ``start == end`` inserts. Insertions at one place are ordered by ``rank``, then by ``code``.
    ``code`` names the rule that made the edit.
    """

    path: str
    start: int
    end: int
    new: bytes
    code: str = ""
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Related:
    """A further place that explains a finding, such as a step of an include chain. ``line`` is 1-based, 0 for none."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that torchless saw at one place.

    ``edits`` may be empty. ``blocks`` says that the unit it belongs to must not be migrated; then ``help`` says
    what a person would do. ``unit`` is filled in by the planner. ``line``/``column`` are 1-based (column in bytes),
    0 where nobody computed them. ``related`` are the places that lead to it, in order (an include chain).
    """

    code: str
    message: str
    path: str
    start: int
    end: int
    tier: Tier = Tier.SAFE
    edits: tuple[Edit, ...] = ()
    confidence: Confidence = Confidence.SEMANTIC
    blocks: bool = False
    help: str = ""
    requires: tuple[str, ...] = ()
    unit: str = ""
    line: int = 0
    column: int = 0
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One change of behaviour that the caller of a unit can see, for reviewers."""

    kind: str
    message: str
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest set of edits that must land together, and what became of it."""

    name: str
    modules: tuple[str, ...]
    entry_points: tuple[str, ...]
    files: tuple[str, ...] = ()
    status: UnitStatus = UnitStatus.CLEAN
    findings: tuple[Finding, ...] = ()
    edits: tuple[Edit, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    joined_by: tuple[tuple[str, str, str], ...] = field(default=())
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Debt:
    """Findings that are known and may stay for now: what they have in common, and how many there are.

    ``line`` is the text of the line that they start on, ``context`` a hash of it and its neighbours; baseline.py makes
    both. No line number: what moves is still known.
    """

    path: str
    code: str
    line: str
    context: str
    count: int = 1


@dataclass(frozen=True)
class CheckResult:
    """What a check found.

    ``findings`` are sorted by path, place and code, and have edits where they can be mended; ``known`` are those that
    the baseline knows, which are no news; ``suppressed`` says how many more a comment took out, ``untouched`` how many
    lie elsewhere than the change that was asked about. ``gone`` counts findings of the baseline that are no more, and
    ``debts`` is what a baseline of today holds, when that was asked for. ``files`` and ``units`` say how many files
    were asked about and how many translation units were followed for it.
    """

    root: str
    findings: tuple[Finding, ...]
    suppressed: int
    files: int
    units: int
    files_failed: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    known: tuple[Finding, ...] = ()
    gone: int = 0
    untouched: int = 0
    debts: tuple[Debt, ...] = ()
