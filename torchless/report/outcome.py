"""The figures that every printer shares: exit code, counts, what to do next. Computed, never stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchless.api import MigrateResult
from torchless.exitcodes import BACKED_OUT, FAILED, NOTHING_LEFT, SOMETHING_LEFT
from torchless.model import Finding, Tier, Unit, UnitStatus
from torchless.report.wording import plural

RUNG_FAILED = "TL901"


@dataclass(frozen=True)
class Outcome:
    """A result, whether its changes are on disk, and the exit code that says so."""

    result: MigrateResult
    written: bool
    exit_code: int


def judge(result: MigrateResult, written: bool) -> Outcome:
    """Decide the exit code.

    2 when a file failed (nothing can be said about it), else 3 when the check backed a unit out, else 1 when changes
    are pending or a unit stays behind, else 0.
    """
    if result.files_failed:
        code = FAILED
    elif any(unit.status is UnitStatus.BACKED_OUT for unit in result.units):
        code = BACKED_OUT
    elif (result.changes and not written) or any(True for _ in left_behind(result)):
        code = SOMETHING_LEFT
    else:
        code = NOTHING_LEFT
    return Outcome(result, written, code)


def left_behind(result: MigrateResult) -> Iterator[Unit]:
    """The units that a person has to look at: blocked, or unchecked and therefore not among the changes."""
    applied = set(result.edits)
    for unit in result.units:
        unapplied = unit.status is UnitStatus.UNCHECKED and not applied.issuperset(unit.edits)
        if unit.status is UnitStatus.BLOCKED or unapplied:
            yield unit


def every_finding(result: MigrateResult) -> Iterator[Finding]:
    """All findings, those of the units first, each once."""
    seen: set[Finding] = set()
    for group in (*(unit.findings for unit in result.units), result.findings):
        for finding in group:
            if finding not in seen:
                seen.add(finding)
                yield finding


def unit_counts(result: MigrateResult) -> Mapping[UnitStatus, int]:
    """How many units have each status, in the order of UnitStatus, zeros included."""
    counts = Counter(unit.status for unit in result.units)
    return {status: counts[status] for status in UnitStatus}


def code_counts(result: MigrateResult) -> Mapping[str, int]:
    """How many findings each code has, by code."""
    return dict(sorted(Counter(finding.code for finding in every_finding(result)).items()))


def held_back(result: MigrateResult) -> int:
    """How many unsafe fixes --unsafe would make: those of units that a blocker of another kind stops wait for that."""
    applied = set(result.edits)
    stopped = {unit.name for unit in result.units if any(f.blocks and not f.edits for f in unit.findings)}
    return sum(
        1
        for finding in every_finding(result)
        if finding.tier is Tier.UNSAFE
        and finding.edits
        and not applied.issuperset(finding.edits)
        and finding.unit not in stopped
    )


def next_steps(outcome: Outcome) -> tuple[str, ...]:
    """What to do now, most important first, one sentence each; never empty."""
    result, steps = outcome.result, []
    changed = plural(len(result.changes), "file")
    if result.files_failed:
        steps.append(f"{plural(len(result.files_failed), 'file')} could not be analysed; see TL006 and TL003 above.")
    if outcome.written and result.changes:
        steps.append(f"Wrote {changed}. Rebuild and test; `torchless undo` takes the write back.")
    elif not result.mergeable:
        steps.append(
            "This was tried against bundled target headers: the checkout has none, so it cannot be merged here."
        )
    elif result.changes:
        steps.append(f"Read the diff ({changed}), then run the same command with --write.")
    backed_out = [unit for unit in result.units if unit.status is UnitStatus.BACKED_OUT]
    failed = sum(any(finding.code == RUNG_FAILED for finding in unit.findings) for unit in backed_out)
    if len(backed_out) > failed:
        checked = plural(len(backed_out) - failed, "unit")
        steps.append(f"The check backed {checked} out, untouched; the diagnostics are above.")
    if failed:
        steps.append(f"A rung of the ladder backed {plural(failed, 'unit')} out, untouched; the differences are above.")
    blocked = [unit for unit in left_behind(result) if unit.status is UnitStatus.BLOCKED]
    if blocked:
        codes = Counter(f.code for unit in blocked for f in unit.findings if f.blocks).most_common(1)
        tail = f": `torchless explain {codes[0][0]}` says what a person would do." if codes else "."
        steps.append(f"{plural(len(blocked), 'unit')} blocked{tail}")
    unsafe = held_back(result)
    if unsafe:
        steps.append(f"{plural(unsafe, 'fix', 'fixes')} may shift the meaning and wait for --unsafe.")
    if not steps:
        steps.append("Nothing to do.")
    return tuple(steps)
