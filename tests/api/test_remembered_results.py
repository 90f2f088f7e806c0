"""Whole results come back as they were, and only while nothing has changed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Checkout
from torchless import api, remembered
from torchless.api import MigrateOptions, MigrateResult
from torchless.facts.cache import Cache
from torchless.model import Confidence, Edit, Finding, LedgerEntry, Tier, Unit, UnitStatus
from torchless.remembered import encode, is_watched, recall, result_key
from torchless.text.writer import FileChange

OPTIONS = MigrateOptions(paths=("csrc",))
BYTES = bytes(range(256))
EDIT = Edit("csrc/naïve \udce9.cu", 3, 9, BYTES, "TL201", -4)
FINDING = Finding(
    "TL203", "messäge", "a.cu", 1, 2, Tier.UNSAFE, (EDIT, EDIT), Confidence.SYNTACTIC, True, "help", ("a.h",), "u", 7, 8
)
UNIT = Unit(
    "unit", ("m1", "m2"), ("f",), ("a.cu",), UnitStatus.UNCHECKED, (FINDING,), (EDIT,),
    (LedgerEntry("kind", "message", "a.cu", 4), LedgerEntry("kind", "message")), (("a", "b", "why"),), ("a -> b",),
)  # fmt: skip
RESULT = MigrateResult(
    "/root", (UNIT, Unit("bare", (), ())), (FINDING,), {"a.cu": FileChange(BYTES, b"")}, (EDIT,), "1 unit", 1.5,
    ("b.cu",), False, ("note",),
)  # fmt: skip


def test_a_result_survives_the_round_trip() -> None:
    again = api._decode(json.loads(encode(RESULT)))
    assert again == RESULT
    assert type(again.units[0].findings[0].tier) is Tier and type(again.units) is tuple


def test_every_field_of_the_model_is_covered() -> None:
    """A field that is added without its place in the decoder must show."""
    for value, decode in (
        (EDIT, remembered.edit_of),
        (FINDING, remembered.finding_of),
        (UNIT, remembered.unit_of),
        (FileChange(b"a", b"b"), remembered.change_of),
    ):
        row = json.loads(encode(value))
        assert decode(row) == value
        with pytest.raises(ValueError):
            decode([*row, None])


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b"{}", b"[1,2]", encode(replace(RESULT, changes={"a": 1})), b"[" * 9 + b"]" * 9]
)
def test_a_corrupt_entry_is_a_miss(body: bytes, tmp_path: Path) -> None:
    cache = Cache(tmp_path, folder=tmp_path / "cache")
    assert recall(cache, "00key", api._decode) is None
    cache.store_findings("00key", body)
    assert recall(cache, "00key", api._decode) is None
    cache.store_findings("00key", encode(RESULT))
    assert recall(cache, "00key", api._decode) == RESULT
    entry = next(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-1] + b"!")
    assert recall(cache, "00key", api._decode) is None


def key(root: Path, options: MigrateOptions = OPTIONS, start: Path | None = None) -> str | None:
    return result_key(options, start or root, root, [])


def test_touching_nothing_keeps_the_key(mini_aiter: Path) -> None:
    before = key(mini_aiter)
    (mini_aiter / "csrc/kernels/norm_kernels.cu").read_bytes()
    (mini_aiter / ".git").mkdir()
    (mini_aiter / ".git" / "index.h").write_text("x")
    (mini_aiter / "notes.txt").write_text("no part of it")
    (mini_aiter / "aiter" / "jit" / "build").mkdir()
    (mini_aiter / "aiter" / "jit" / "build" / "copy.cu").write_text("x")
    assert key(mini_aiter) == before is not None


def test_touching_any_file_of_the_project_changes_it(mini_aiter: Path) -> None:
    seen = {key(mini_aiter)}
    files = sorted(p for p in mini_aiter.rglob("*") if p.is_file() and p.suffix != ".md")
    assert len(files) > 20
    for file in files:
        old = file.stat()
        file.write_bytes(file.read_bytes())
        os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))  # put back: the change of the inode still shows
        seen.add(key(mini_aiter))
    assert len(seen) == len(files) + 1


def test_new_and_lost_files_change_it(mini_aiter: Path) -> None:
    seen = [key(mini_aiter)]
    vendored = mini_aiter / "3rdparty" / "composable_kernel" / "include"
    vendored.mkdir(parents=True)
    for file in (mini_aiter / "csrc" / "new.cuh", vendored / "ck.hpp", mini_aiter / ".gitignore"):
        file.write_text("x")
        seen.append(key(mini_aiter))
    (mini_aiter / "csrc/include/norm.h").rename(mini_aiter / "csrc/include/norms.h")
    seen.append(key(mini_aiter))
    (mini_aiter / "csrc/include/norms.h").unlink()
    seen.append(key(mini_aiter))
    assert len(set(seen)) == len(seen)


def test_options_place_and_rules_change_it(mini_aiter: Path) -> None:
    changes = [
        {"paths": ("csrc", "csrc")}, {"modules": ("m",)}, {"select": ("TL1",)}, {"ignore": ("TL1",)}, {"unsafe": True},
        {"include_dirs": ("csrc",)}, {"defines": ("A",)}, {"arch": "gfx950"}, {"exclude": ("a",)},
        {"force_exclude": True}, {"checks": "throw"}, {"assume_target": True}, {"opus_guard": "define"},
    ]  # fmt: skip
    keys = [key(mini_aiter), *(key(mini_aiter, replace(OPTIONS, **change)) for change in changes)]  # type: ignore[arg-type]
    keys.append(key(mini_aiter, start=mini_aiter / "csrc"))
    rules = mini_aiter.parent / "my.toml"
    for text in ("", "# changed"):
        rules.write_text(text)
        keys.append(result_key(OPTIONS, mini_aiter, mini_aiter, [rules]))
    assert None not in keys and len(set(keys)) == len(keys)


def test_what_cannot_be_looked_over_has_no_key(mini_aiter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("..", "/nowhere", "csrc/../.."):
        assert key(mini_aiter, replace(OPTIONS, include_dirs=(folder,))) is None
    assert key(mini_aiter, replace(OPTIONS, include_dirs=(str(mini_aiter / "csrc"),))) is not None
    monkeypatch.setattr(remembered, "_MAX_FILES", 5)
    assert key(mini_aiter) is None


@pytest.mark.parametrize(
    ("path", "watched"),
    [
        ("csrc/include/norm.h", True),
        ("3rdparty/ck/a.hpp", True),
        ("<stubs>/torch/torch/all.h", True),
        ("/usr/include/c++/12/vector", True),
        ("aiter/jit/build/norm.h", False),
        ("csrc/.hidden/a.h", False),
        ("csrc/table.def", False),
        ("/home/somebody/include/a.h", False),
    ],
)
def test_files_that_the_key_says_nothing_of(path: str, watched: bool) -> None:
    assert is_watched(path, "stubs") is watched


def again(scale: Checkout, **options: Any) -> tuple[MigrateResult, list[str]]:
    """A migration that may remember, and the stages of work that it went through."""
    stages: list[str] = []
    wanted = MigrateOptions(paths=("csrc",), jobs=1, **options)
    return api.migrate(wanted, scale.root, lambda stage, done, total: stages.append(stage)), stages


def test_a_second_run_gives_the_same_without_looking_again(scale: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = again(scale)
    assert {u.status for u in first.units} == {UnitStatus.MIGRATED}

    def no_work(*arguments: object) -> None:
        raise AssertionError("it looked again")

    with monkeypatch.context() as patch:
        patch.setattr(api, "prepare", no_work)
        second, stages = again(scale)
        assert replace(second, seconds=first.seconds) == first and stages == []
        for options in ({"cache": False}, {"defines": ("OTHER",)}):
            with pytest.raises(AssertionError):
                again(scale, **options)
        scale.edit("csrc/include/scale.h", "#pragma once", "#pragma once\n")
        with pytest.raises(AssertionError):
            again(scale)
    third, _ = again(scale)
    assert (
        third.changes["csrc/include/scale.h"].new == b"#pragma once\n" + first.changes["csrc/include/scale.h"].new[12:]
    )


def test_a_run_over_unwatched_files_is_not_remembered(scale: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    (scale.root / "csrc/include/table.def").write_text("1, 2, 3")
    scale.edit("csrc/kernels/scale.cu", "__global__", 'int table[] = {\n#include "table.def"\n};\n__global__')
    first, _ = again(scale)
    assert {u.status for u in first.units} == {UnitStatus.MIGRATED}
    monkeypatch.setattr(api, "settle", lambda *arguments, **options: RESULT)
    assert again(scale)[0] == RESULT
