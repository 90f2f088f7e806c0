"""Which units stay behind when modules fail a rung: plans and rungs are made up here, the search among units is not."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from torchless import backing_out
from torchless.api import FileChange, MigrateResult
from torchless.backing_out import migrate_verified
from torchless.errors import UsageError
from torchless.model import Edit, Unit, UnitStatus
from torchless.options import MigrateOptions
from torchless.project.model import Project
from torchless.verification import VerifyOptions, VerifyResult
from torchless.verify.answer import Answer, Verdict, Verified
from torchless.verify.tree import Tree

FILES = {
    "scale": ("csrc/kernels/scale_kernels.cu", "module_scale"),
    "norm": ("csrc/kernels/norm_kernels.cu", "module_norm"),
    "shared": ("csrc/include/dispatch_utils.h", ""),  # both kernels read it
}
Fails = Callable[[set[str], str], bool]


class World:
    """Plans of three units in ``root``, and rungs that fail as ``fails(units made, module)`` says."""

    def __init__(self, root: Path, fails: Fails, stubborn: str = "") -> None:
        self.root = root
        self.fails = fails
        self.stubborn = stubborn
        self.asked: list[tuple[set[str], set[str]]] = []

    def migrate(self, options: MigrateOptions, start: Path, progress: object) -> MigrateResult:
        units, changes = [], {}
        for name, (path, module) in FILES.items():
            made = name not in options.held or name == self.stubborn
            edit = Edit(path, 0, 0, b"// new\n")
            status = UnitStatus.MIGRATED if made else UnitStatus.BACKED_OUT
            modules = (module,) if module else ()
            units.append(Unit(name, modules, (), (path,), status, edits=(edit,) if made else ()))
            if made:
                old = (self.root / path).read_bytes()
                changes[path] = FileChange(old, b"// new\n" + old)
        return MigrateResult(str(self.root), tuple(units), (), changes, (), "", 0.0)

    def compare(
        self,
        project: Project,
        before: Tree,
        after: Tree,
        compared_with: str,
        wanted: Collection[str],
        options: VerifyOptions,
        progress: object,
    ) -> VerifyResult:
        made = {name for name, (path, _) in FILES.items() if path in after.overlay}
        self.asked.append((made, set(wanted)))
        assert not before.overlay and options.rungs == ("device",)
        modules = []
        for module in sorted(wanted):
            verdict = Verdict.FAIL if self.fails(made, module) else Verdict.PASS
            modules.append(Verified(module, (Answer("device", verdict, "told", ("this differs", "that too")),)))
        return VerifyResult(str(self.root), compared_with, (), tuple(modules), (), 0.0)


def climbed(monkeypatch: pytest.MonkeyPatch, root: Path, fails: Fails, stubborn: str = "") -> tuple[World, set[str]]:
    """The world, and the units that are made in the end."""
    world = World(root, fails, stubborn)
    monkeypatch.setattr(backing_out, "migrate", world.migrate)
    monkeypatch.setattr(backing_out, "compare", world.compare)
    result = migrate_verified(MigrateOptions(("csrc",), cache=False), ("device",), root, lambda *_: None)
    made = {unit.name for unit in result.units if unit.edits}
    assert {name for name, (path, _) in FILES.items() if path in result.changes} == made
    told = {unit.name for unit in result.units if any(f.code == "TL901" for f in unit.findings)}
    assert told == set(FILES) - made
    assert all(u.status is UnitStatus.BACKED_OUT for u in result.units if u.name in told)
    assert not any(module.failed for module in result.verified)
    return world, made


def test_nothing_fails(monkeypatch, mini_aiter):
    world, made = climbed(monkeypatch, mini_aiter, lambda made, module: False)
    assert made == set(FILES)
    assert world.asked == [(set(FILES), {"module_scale", "module_norm"})]


def test_one_module_fails_because_of_its_own_unit(monkeypatch, mini_aiter):
    world, made = climbed(monkeypatch, mini_aiter, lambda made, module: module == "module_norm" and "norm" in made)
    assert made == {"scale", "shared"}
    # the unit of the other module is no suspect, and its module is not asked while the search goes on
    assert all("scale" in units for units, _ in world.asked)
    assert all(wanted == {"module_norm"} for _, wanted in world.asked[1:-1])
    # what stays is looked at as a whole, nothing twice
    assert world.asked[-1] == ({"scale", "shared"}, {"module_scale"})
    assert ({"scale", "shared"}, {"module_norm"}) in world.asked


def test_a_shared_header_is_at_fault_for_both(monkeypatch, mini_aiter):
    _, made = climbed(monkeypatch, mini_aiter, lambda made, module: "shared" in made)
    assert made == {"scale", "norm"}


def test_two_that_fail_only_together(monkeypatch, mini_aiter):
    _, made = climbed(monkeypatch, mini_aiter, lambda made, module: {"norm", "shared"} <= made)
    assert "scale" in made and len(made) == 2


def test_a_failure_that_the_last_look_finds(monkeypatch, mini_aiter):
    # without norm, module_scale fails: what stays is looked at as a whole, again
    _, made = climbed(
        monkeypatch,
        mini_aiter,
        lambda made, module: (
            (module == "module_norm" and "norm" in made)
            or (module == "module_scale" and "norm" not in made and "scale" in made)
        ),
    )
    assert made == {"shared"}


def test_everything_fails(monkeypatch, mini_aiter):
    world, made = climbed(monkeypatch, mini_aiter, lambda made, module: bool(made))
    assert made == set()
    assert len(world.asked) < 8


def test_what_fails_and_cannot_be_left_out_ends_the_run(monkeypatch, mini_aiter):
    with pytest.raises(UsageError, match="norm: fails a rung and cannot be left out alone"):
        climbed(monkeypatch, mini_aiter, lambda made, module: "norm" in made, stubborn="norm")


def test_the_plan_is_admitted_before_a_rung_is_asked(monkeypatch, mini_aiter):
    world = World(mini_aiter, lambda made, module: False)
    monkeypatch.setattr(backing_out, "migrate", world.migrate)
    monkeypatch.setattr(backing_out, "compare", world.compare)

    def refuse(result: MigrateResult) -> None:
        raise UsageError("dirty")

    with pytest.raises(UsageError, match="dirty"):
        migrate_verified(MigrateOptions(("csrc",), cache=False), ("device",), mini_aiter, lambda *_: None, refuse)
    assert world.asked == []
