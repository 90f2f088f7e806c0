"""The order of batches and what each needs, on migrations that no engine made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import pytest

from torchless.api import FileChange, MigrateResult
from torchless.campaign.grouping import SHARED, Known
from torchless.campaign.model import Gain, GroupBy, Limits, Texts
from torchless.campaign.planning import PlanOptions, _Planner
from torchless.campaign.variants import Variants
from torchless.model import Edit, Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions

TEXT = b"".join(b"line %d\n" % n for n in range(60))
Lines = Mapping[str, int]  # file -> the line of it that a unit changes


def result_of(units: Mapping[str, Lines], ahead: Collection[str], requires: Mapping[str, str]) -> MigrateResult:
    """What the migration of ``ahead`` gives; a unit that ``requires`` one that is not made is backed out."""
    out, changes = [], {}
    for name, lines in units.items():
        made = name in ahead and requires.get(name, name) in ahead
        edits = tuple(
            Edit(path, TEXT.index(b"line %d\n" % n), TEXT.index(b"line %d\n" % n) + 4, b"LINE")
            for path, n in lines.items()
        )
        status = UnitStatus.MIGRATED if made else UnitStatus.BACKED_OUT
        modules = () if name.startswith("inc/") else (name,)
        out.append(Unit(name, modules, (name,), tuple(lines), status, edits=edits if made else ()))
        for path, n in lines.items() if made else ():
            text = changes.get(path, TEXT)
            changes[path] = text.replace(b"line %d\n" % n, b"LINE %d\n" % n)
    files = {path: FileChange(TEXT, text) for path, text in changes.items()}
    edits = tuple(edit for unit in out for edit in unit.edits)
    return MigrateResult("/nowhere", tuple(out), (), files, edits, "", 0.0)


class Fake(Variants):
    """Variants of units that are just lines of files."""

    def __init__(self, units: Mapping[str, Lines], requires: Mapping[str, str]) -> None:
        super().__init__(None, lambda *_: None, result_of(units, units.keys(), requires))  # type: ignore[arg-type]
        self.units, self.requires = units, requires
        self.asked: list[frozenset[str]] = []

    def only(self, names: Collection[str]) -> MigrateResult:
        self.asked.append(frozenset(names))
        return result_of(self.units, names, self.requires)


@dataclass(frozen=True)
class FakeMeter:
    """A change of a file is worth what the table says."""

    worth: Mapping[str, int]

    def gain(self, before: Texts, after: Texts) -> Gain:
        return Gain(1000, 1000 - sum(self.worth.get(path, 1) for path in after.keys() - before.keys()))


def planned(
    units: Mapping[str, Lines],
    requires: Mapping[str, str] | None = None,
    worth: Mapping[str, int] | None = None,
    known: tuple[Known, ...] = (),
    **more: object,
):
    options = PlanOptions(
        MigrateOptions(
            ("."),
        ),
        **more,
    )  # type: ignore[arg-type]
    fake = Fake(units, requires or {})
    planner = _Planner(options, fake, FakeMeter(worth or {}))  # type: ignore[arg-type]
    order, batches = planner.ordered(known)
    series = planner.series(order)
    stacks = {batch.name: [name for name, _ in planner.stack(batch, batches)] for batch in batches}
    whole = {path: change.new for path, change in fake.whole.changes.items()}
    assert not batches or series[batches[-1].name] == whole
    return batches, stacks


def needs(batches) -> dict[str, tuple[str, ...]]:
    return {batch.name: batch.needs for batch in batches}


def test_by_gain_per_line_with_shared_headers_first() -> None:
    units = {"a": {"a.cu": 3}, "b": {"b.cu": 3}, "inc/h.h:f": {"inc/h.h": 3}, "c": {"c.cu": 3, "d.cu": 3}}
    batches, _ = planned(units, worth={"a.cu": 10, "b.cu": 50, "c.cu": 30, "d.cu": 40, "inc/h.h": 1})
    assert [(batch.name, batch.lines) for batch in batches] == [(SHARED, 2), ("b", 2), ("c", 4), ("a", 2)]
    assert not any(batch.needs for batch in batches)


def test_neighbours_in_a_file_need_each_other_and_no_more() -> None:
    units = {"a": {"h": 10}, "b": {"h": 12}, "c": {"h": 30}, "d": {"h": 14}, "e": {"h": 45, "e.cu": 1}}
    batches, stacks = planned(units)
    assert needs(batches) == {"a": (), "b": ("a",), "c": (), "d": ("a", "b"), "e": ()}
    assert stacks["d"] == ["a", "b", "d"] and stacks["e"] == ["e"]


def test_what_does_not_stand_alone_comes_behind_what_it_requires() -> None:
    units = {"a": {"a.cu": 1}, "b": {"b.cu": 1}, "c": {"c.cu": 1}}
    batches, stacks = planned(units, {"a": "b"}, {"a.cu": 90, "b.cu": 1, "c.cu": 50})
    assert [batch.name for batch in batches] == ["c", "b", "a"]
    assert needs(batches)["a"] == ("c", "b") and stacks["a"][-1] == "a"


def test_what_only_stands_together_is_one_batch() -> None:
    batches, _ = planned({"a": {"a.cu": 1}, "b": {"b.cu": 1}, "c": {"c.cu": 1}}, {"a": "b", "b": "a"})
    assert [sorted(batch.unit_names) for batch in batches] == [["c"], ["a", "b"]]


def test_what_another_one_does_already_goes_with_it() -> None:
    batches, _ = planned({"a": {"a.cu": 1}, "b": {"a.cu": 1}, "c": {"c.cu": 1}})
    assert [batch.unit_names for batch in batches] == [("a", "b"), ("c",)]


def test_a_known_order_is_kept() -> None:
    units = {"a": {"a.cu": 1}, "b": {"b.cu": 1}, "c": {"c.cu": 1}}
    known = (Known("c", ("c",), ()), Known("gone", ("x",), ()), Known("a", ("a",), ()))
    batches, _ = planned(units, worth={"b.cu": 900}, known=known)
    assert [batch.name for batch in batches] == ["c", "a", "b"]


def test_limits_and_tiers() -> None:
    units = {f"inc/{n}.h:f": {f"inc/{n}.h": 1} for n in "abc"}
    batches, _ = planned(units, by=GroupBy.DIRECTORY, limits=Limits(lines=4))
    assert [len(batch.units) for batch in batches] == [2, 1] and not any(batch.over for batch in batches)
    batches, _ = planned({"a": {"a.cu": 1, "b.cu": 1}}, limits=Limits(files=1))
    assert batches[0].over == ("2 files, and the limit is 1",)
    unsafe = Finding("TL234", "x", "a.cu", 0, 1, Tier.UNSAFE, (Edit("a.cu", 0, 1, b""),))
    assert replace(batches[0].units[0], findings=(unsafe,)).findings[0].tier is Tier.UNSAFE
    assert batches[0].tier is Tier.SAFE


def test_what_is_blocked_is_apart_from_what_can_go() -> None:
    fake = Fake({"a": {"csrc/k/a.cu": 1}}, {})
    found = Finding("TL490", "about it", "csrc/k/b.cu", 0, 1, blocks=True)
    waiting = Unit("b", ("b",), ("b",), (), UnitStatus.BLOCKED, (found,))
    fake.whole = replace(fake.whole, units=(*fake.whole.units, waiting))
    options = PlanOptions(MigrateOptions((".",)), GroupBy.DIRECTORY)
    planner = _Planner(options, fake, FakeMeter({}))  # type: ignore[arg-type]
    _, ready = planner.ordered(())
    blocked = planner.blocked((), ready)
    assert [batch.name for batch in (*ready, *blocked)] == ["csrc/k", "csrc/k#blocked"]
    known = (Known("csrc/k", ("a",), ()), Known("csrc/k#blocked", ("b",), ()))
    assert planner.blocked(known, ready)[0].name == "csrc/k#blocked"


@pytest.mark.parametrize("status", [UnitStatus.BLOCKED, UnitStatus.BACKED_OUT, UnitStatus.UNCHECKED])
def test_what_cannot_move_says_why(status: UnitStatus) -> None:
    code = {UnitStatus.BLOCKED: "TL490", UnitStatus.BACKED_OUT: "TL008", UnitStatus.UNCHECKED: "TL007"}[status]
    found = Finding(code, "about it", "a.cu", 0, 1, blocks=status is UnitStatus.BLOCKED, help="do this")
    for findings in ((found, found), ()):
        fake = Fake({"b": {"b.cu": 1}}, {})
        waiting = Unit("a", ("a",), ("a",), (), status, findings)
        clean = Unit("clean", ("clean",), ("clean",))
        fake.whole = replace(fake.whole, units=(*fake.whole.units, waiting, clean))
        planner = _Planner(PlanOptions(MigrateOptions((".",))), fake, FakeMeter({}))  # type: ignore[arg-type]
        _, ready = planner.ordered(())
        (batch,) = planner.blocked((), ready)
        assert (batch.name, batch.number) == ("a", 2) and batch.blockers
        if findings:
            assert [(b.code, b.message, b.help, b.places) for b in batch.blockers] == [(code, "about it", "do this", 2)]
