"""What becomes of the drafts of a rewrite that a compiler proves: held, shown or made, and where their edits lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, MigrateResult
from torchless.compiled import Draft, Find, Room, with_units
from torchless.model import Edit, Finding, Tier, UnitStatus
from torchless.text.edits import apply
from torchless.text.writer import FileChange
from torchless.verify.compilers import Compiler

TEXT = b"int a;\nint b;\n"
NOTHING = MigrateResult("", (), (), {}, (), "", 0.0)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc/a.cu").write_bytes(TEXT)
    monkeypatch.setattr("torchless.compiled.find_compiler", lambda: Compiler("none", "none", False))
    return tmp_path


def draft(name: str = "TL630 one", at: int = 7, tier: Tier = Tier.UNSAFE) -> Draft:
    finding = Finding("TL630", "", "csrc/a.cu", at, at, tier)
    edits = {"csrc/a.cu": [Edit("csrc/a.cu", at, at, b"// new\n", "TL630")]}
    return Draft(name, ("one",), finding, edits, {"csrc/b.cu": b"int c;\n"})


def made(root: Path, result: MigrateResult, find: Find, **more: object) -> MigrateResult:
    options = replace(MigrateOptions((".",), unsafe=True, cache=False), **more)  # type: ignore[arg-type]
    return with_units(result, options, root, lambda stage, done, total: None, "TL630", "module{} to fuse", find)


def test_a_draft_changes_and_makes_files(root: Path) -> None:
    result = made(root, NOTHING, lambda room: [draft()])
    assert result.changes == {
        "csrc/a.cu": FileChange(TEXT, b"int a;\n// new\nint b;\n"),
        "csrc/b.cu": FileChange(b"", b"int c;\n", created=True),
    }
    (unit,) = result.units
    assert unit.status is UnitStatus.MIGRATED and unit.files == ("csrc/a.cu", "csrc/b.cu")
    assert result.found == "1 module to fuse"
    assert [(f.line, f.column) for f in unit.findings] == [(2, 1)]


@pytest.mark.parametrize(
    ("more", "status"),
    [({"unsafe": False}, UnitStatus.CLEAN), ({"held": ("TL630 one",)}, UnitStatus.BACKED_OUT)],
)
def test_what_is_held_or_unsafe_is_not_made(root: Path, more: dict[str, object], status: UnitStatus) -> None:
    result = made(root, NOTHING, lambda room: [draft(), draft("TL630 two", tier=Tier.SAFE)], **more)
    assert [u.status for u in result.units] == [status, UnitStatus.MIGRATED]
    assert result.changes["csrc/a.cu"].new == b"int a;\n// new\nint b;\n"
    assert [u.edits == () for u in result.units] == [True, False]


def test_edits_lie_in_the_file_on_disk_and_later_drafts_see_earlier_ones(root: Path) -> None:
    before = Edit("csrc/a.cu", 0, 3, b"long", "TL620")
    changed = replace(NOTHING, changes={"csrc/a.cu": FileChange(TEXT, apply(TEXT, [before]))}, edits=(before,))
    seen = []

    def find(room: Room) -> Iterator[Draft | Finding]:
        seen.append(room.bench().read("csrc/a.cu"))
        yield replace(draft(at=8), created={})
        seen.append(room.bench().read("csrc/a.cu"))
        yield replace(draft("TL630 two", at=8), created={})

    result = made(root, changed, find)
    assert seen == [b"long a;\nint b;\n", b"long a;\n// new\nint b;\n"]
    assert result.changes["csrc/a.cu"].old == TEXT
    edits = [e for e in result.edits if e.path == "csrc/a.cu"]
    assert [e.start for e in edits] == [0, 7, 7]
    assert result.changes["csrc/a.cu"].new == b"long a;\n// new\n// new\nint b;\n" == apply(TEXT, edits)
