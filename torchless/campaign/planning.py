"""The plan: which batches there are, in which order they go, and which of them stand alone.

Every text in a plan is what a migration of some of the units gave and proved: a prefix of the series for patches, a
batch with what it needs for branches. So the series ends in what one migration of everything writes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless import api
from torchless.campaign.apart import applies_alone, near
from torchless.campaign.gain import Meter, measured_in, meter
from torchless.campaign.grouping import Known, grouped, is_shared, over
from torchless.campaign.model import Batch, Blocker, Gain, GroupBy, Limits, Plan, Texts
from torchless.campaign.owners import owners_of
from torchless.campaign.variants import Variants, moving, texts
from torchless.errors import UsageError
from torchless.mend import selected_lints
from torchless.model import Tier, Unit, UnitStatus
from torchless.options import MigrateOptions, Progress
from torchless.project.discover import ProjectError, locate
from torchless.text.diff import unified_diff


@dataclass(frozen=True)
class PlanOptions:
    """What to plan and how: ``migrate`` says what moves; ``profile`` is a stored result of `torchless profile`."""

    migrate: MigrateOptions
    by: GroupBy = GroupBy.MODULE
    limits: Limits = field(default_factory=Limits)
    profile: Path | None = None


def plan(options: PlanOptions, start: Path, progress: Progress, known: Sequence[Known] = ()) -> Plan:
    """Plan a campaign from folder ``start``; ``known`` batches keep their units and their order. Raises UsageError."""
    began = time.monotonic()
    if selected_lints(options.migrate):
        raise UsageError("a plan takes torch out; what mends a check is one command: torchless migrate --select ...")
    measured = measured_in(options.profile) if options.profile is not None else {}
    if options.by is GroupBy.OWNER and owners_of(root_of(options.migrate.paths, start)) is None:
        raise UsageError("--group-by owner: the checkout has no CODEOWNERS file")
    prepared = api.prepare(options.migrate, start, progress)
    if not prepared.mergeable:
        raise UsageError(
            "the checkout lacks the target's headers, so no batch could be merged: torchless migrate says more"
        )
    whole = api.settle(prepared, progress)
    planner = _Planner(options, Variants(prepared, progress, whole), meter(prepared.project, options.migrate, measured))
    ordered, batches = planner.ordered(known)
    blocked = planner.blocked(known, batches)
    return Plan(
        root=whole.root,
        batches=(*batches, *blocked),
        series=planner.series(ordered),
        stacks={batch.name: planner.stack(batch, batches) for batch in batches},
        base={path: change.old for path, change in whole.changes.items()},
        notes=whole.notes,
        files_failed=whole.files_failed,
        seconds=time.monotonic() - began,
    )


def root_of(paths: Sequence[str], start: Path) -> Path:
    """The root of the project that ``paths`` lie in. Raises UsageError."""
    try:
        return locate(start, paths)
    except ProjectError as error:
        raise UsageError(str(error)) from None


@dataclass
class _Planner:
    """One plan in the making."""

    options: PlanOptions
    variants: Variants
    meter: Meter
    base: dict[str, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.base = {path: change.old for path, change in self.variants.whole.changes.items()}

    def ordered(self, known: Sequence[Known]) -> tuple[list[Batch], list[Batch]]:
        """The batches that can be made, as they were grouped and with all that is to be told, both in order."""
        units = moving(self.variants.whole)
        options = self.options
        root = Path(self.variants.whole.root)
        groups = grouped(units, options.by, options.limits, self._size, root, known)
        drafts = [Batch(name, 0, members) for name, members in groups.items()]
        place = {batch.name: number for number, batch in enumerate(known)}
        gains = {d.name: self._gain_alone(d) for d in drafts if self._stands_alone(d)}
        sizes = {name: self._lines(texts(self.variants.only([u.name for u in groups[name]]))) for name in gains}

        def rank(draft: Batch) -> tuple[object, ...]:
            name = draft.name
            per_line = gains[name].worth / max(1, sizes[name]) if name in gains else 0.0
            shared = any(is_shared(unit) for unit in draft.units)
            return name not in place, place.get(name, 0), name not in gains, not shared, -per_line, name

        order = self._settled(sorted(drafts, key=rank))
        return order, self._told(order, gains)

    def _stands_alone(self, draft: Batch) -> bool:
        names = draft.unit_names
        return all(self.variants.stands(name, names) for name in names)

    def _settled(self, order: list[Batch]) -> list[Batch]:
        """``order``, with what does not stand upon those before it put behind the others, or made one with the next."""
        done: list[Batch] = []
        waiting = list(order)
        deferred = 0
        while waiting:
            draft = waiting.pop(0)
            names = [name for batch in (*done, draft) for name in batch.unit_names]
            if all(self.variants.stands(name, names) for name in names):
                if done and self._adds_nothing(names, draft):
                    done[-1] = replace(done[-1], units=(*done[-1].units, *draft.units))
                else:
                    done.append(draft)
                deferred = 0
            elif deferred < len(waiting):
                waiting.append(draft)
                deferred += 1
            elif waiting:  # none of what is left stands without another one
                waiting[0] = replace(waiting[0], units=(*draft.units, *waiting[0].units))
                deferred = 0
            else:
                done.append(draft)
        return done

    def _adds_nothing(self, names: Sequence[str], draft: Batch) -> bool:
        """Whether all that ``draft`` changes is changed by those before it: it would be an empty commit."""
        before = [name for name in names if name not in draft.unit_names]
        return texts(self.variants.only(names)) == texts(self.variants.only(before))

    def series(self, order: Sequence[Batch]) -> Mapping[str, Texts]:
        """Batch name -> the texts with it and all before it made."""
        out = {}
        names: list[str] = []
        for batch in order:
            names += batch.unit_names
            out[batch.name] = texts(self.variants.only(names))
        return out

    def stack(self, batch: Batch, batches: Sequence[Batch]) -> tuple[tuple[str, Texts], ...]:
        """What a branch of ``batch`` holds, commit by commit: what it needs, in order, and itself."""
        out = []
        names: list[str] = []
        for each in (*(b for b in batches if b.name in batch.needs), batch):
            names += each.unit_names
            out.append((each.name, texts(self.variants.only(names))))
        return tuple(out)

    def _told(self, order: Sequence[Batch], gains: Mapping[str, Gain]) -> list[Batch]:
        series = self.series(order)
        owners = owners_of(Path(self.variants.whole.root))
        out: list[Batch] = []
        before: Texts = {}
        for number, draft in enumerate(order, 1):
            after = series[draft.name]
            files = tuple(sorted(p for p in {*before, *after} if self._text(before, p) != self._text(after, p)))
            gain = gains.get(draft.name) or self.meter.gain(before, after)
            who = owners and {name for path in files for name in owners(path)}
            out.append(
                replace(
                    draft,
                    number=number,
                    lines=self._lines(after, before),
                    files=files,
                    gain=gain,
                    tier=_tier(draft.units),
                    needs=self._needs(draft, before, after, files, out),
                    over=over(draft.units, self.options.limits, self._size),
                    owners=tuple(sorted(who or ())),
                )
            )
            before = after
        return out

    def _needs(
        self, draft: Batch, before: Texts, after: Texts, files: Sequence[str], earlier: Sequence[Batch]
    ) -> tuple[str, ...]:
        """The batches before ``draft`` without which it does not apply to the base, or is not what it is."""
        if not earlier:
            return ()
        direct: set[str]
        if not self._stands_alone(draft):
            direct = {batch.name for batch in earlier}
        else:
            alone = texts(self.variants.only(draft.unit_names))
            lost = [
                path
                for path in sorted({*files, *alone})
                if not applies_alone(
                    path, self.base[path], self._text(before, path), self._text(after, path), self._text(alone, path)
                )
            ]
            direct = {b.name for path in lost for b in earlier if self._is_near(path, alone, b)}
            if lost and not direct:
                direct = {b.name for b in earlier if set(b.files).intersection(lost)} or {b.name for b in earlier}
        needed = direct | {name for batch in earlier if batch.name in direct for name in batch.needs}
        needs = tuple(batch.name for batch in earlier if batch.name in needed)
        return needs if self._is_whole(draft, needs, earlier) else tuple(batch.name for batch in earlier)

    def _is_whole(self, draft: Batch, needs: Sequence[str], earlier: Sequence[Batch]) -> bool:
        """Whether every unit stands where only ``needs`` and ``draft`` are made."""
        members = [b for b in earlier if b.name in needs]
        names = [name for batch in (*members, draft) for name in batch.unit_names]
        return all(self.variants.stands(name, names) for name in names)

    def _is_near(self, path: str, alone: Texts, other: Batch) -> bool:
        if path not in other.files:
            return False
        if not self._stands_alone(other):
            return True
        theirs = texts(self.variants.only(other.unit_names))
        return near(self.base[path], self._text(alone, path), self._text(theirs, path))

    def _text(self, changed: Texts, path: str) -> bytes:
        """The text of ``path``, which some batch changes, with ``changed`` over the base."""
        return changed[path] if path in changed else self.base[path]

    def _size(self, units: Sequence[Unit]) -> tuple[int, int]:
        """Files and changed lines of ``units``, each made alone (as far as it stands alone)."""
        made = [self.variants.only([unit.name]).changes for unit in units if unit.edits]
        lines = sum(_changed_lines(change.old, change.new) for changes in made for change in changes.values())
        return len({path for changes in made for path in changes}), lines

    def _lines(self, after: Texts, before: Texts | None = None) -> int:
        """The changed lines between two trees, of which the base is the first by default."""
        old = before or {}
        return sum(_changed_lines(self._text(old, p), self._text(after, p)) for p in {*old, *after})

    def _gain_alone(self, draft: Batch) -> Gain:
        return self.meter.gain({}, texts(self.variants.only(draft.unit_names)))

    def blocked(self, known: Sequence[Known], ready: Sequence[Batch]) -> list[Batch]:
        """The batches that wait for a person, those with the fewest blockers first, behind the ``ready`` ones.

        What would share its batch with units that can go is a batch of its own.
        """
        taken = {batch.name for batch in ready}
        ahead = {unit.name for unit in moving(self.variants.whole)}
        units = [u for u in self.variants.whole.units if u.name not in ahead and u.status is not UnitStatus.CLEAN]
        root = Path(self.variants.whole.root)
        groups = grouped(units, self.options.by, Limits(), lambda members: (0, 0), root, known)
        batches = [
            Batch(f"{name}#blocked" if name in taken else name, 0, members, blockers=_blockers(members))
            for name, members in groups.items()
        ]
        batches.sort(key=lambda b: (sum(blocker.places for blocker in b.blockers), b.name))
        return [replace(batch, number=n) for n, batch in enumerate(batches, len(ready) + 1)]


def _tier(units: Iterable[Unit]) -> Tier:
    unsafe = any(f.edits and f.tier is Tier.UNSAFE for unit in units for f in unit.findings)
    return Tier.UNSAFE if unsafe else Tier.SAFE


_WHY = {
    UnitStatus.BLOCKED: "blocks",
    UnitStatus.BACKED_OUT: "failed its check",
    UnitStatus.UNCHECKED: "no check sees it",
}
_TOLD = {UnitStatus.BACKED_OUT: ("TL008", "TL901"), UnitStatus.UNCHECKED: ("TL007", "TL011")}


def _blockers(units: Sequence[Unit]) -> tuple[Blocker, ...]:
    """Why ``units`` cannot move, by code, what has the most places first; never empty."""
    found: dict[str, list[tuple[str, str]]] = {}
    for unit in units:
        codes = _TOLD.get(unit.status, ())
        told = [f for f in unit.findings if f.blocks or f.code in codes]
        for finding in told:
            found.setdefault(finding.code, []).append((finding.message, finding.help))
        if not told:
            found.setdefault("TL008", []).append((f"{unit.name} {_WHY.get(unit.status, unit.status.value)}", ""))
    blockers = [Blocker(code, *places[0], len(places)) for code, places in found.items()]
    return tuple(sorted(blockers, key=lambda b: (-b.places, b.code)))


def _changed_lines(old: bytes, new: bytes) -> int:
    """Lines that go and lines that come."""
    body = unified_diff("x", old, new).split(b"\n")[2:]
    return sum(line[:1] in (b"+", b"-") for line in body)
