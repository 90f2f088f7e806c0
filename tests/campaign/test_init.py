"""`torchless init`: what it shows is what it writes, what is there stays, and what it wrote works."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from torchless.config import load_config


def test_it_shows_first_and_writes_the_same(torchless, mini_aiter: Path, tmp_path: Path) -> None:
    shown = torchless("init", cwd=mini_aiter)
    assert shown.code == 1 and not (mini_aiter / "torchless.toml").exists()
    assert "Would write 3 files" in shown.err
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    copy = tmp_path / "applied"
    copy.mkdir()
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], input=shown.out, cwd=copy, check=True)
    assert torchless("init", "--write", cwd=mini_aiter).code == 0
    for name in ("torchless.toml", ".pre-commit-config.yaml", ".torchless-baseline.json"):
        assert (mini_aiter / name).read_bytes() == (copy / name).read_bytes()
    again = torchless("init", cwd=mini_aiter)
    assert (again.code, again.out) == (0, b"") and "Nothing to do." in again.err


def test_what_it_wrote_works(torchless, mini_aiter: Path) -> None:
    assert torchless("init", "-w", "--hooks-url", "https://example.org/torchless", cwd=mini_aiter).code == 0
    config = load_config(mini_aiter)
    assert Path(config.values["baseline"]) == mini_aiter / ".torchless-baseline.json"
    checked = torchless("check", cwd=mini_aiter)
    assert checked.code == 0 and "No new finding" in checked.err
    with (mini_aiter / "csrc/include/norm.h").open("a") as file:
        file.write("#include <torch/all.h>\n")
    assert torchless("check", cwd=mini_aiter).code == 1
    assert json.loads((mini_aiter / ".torchless-baseline.json").read_text())["torchless_baseline"] == 1


HOOKS = "repos:\n{0}- repo: https://example.org/other\n{0}  rev: v1\n{0}  hooks:\n{0}    - id: other\n"


@pytest.mark.parametrize("shift", ["", "  ", "    "])
def test_the_hook_goes_behind_those_that_are_there(torchless, mini_aiter: Path, shift: str) -> None:
    old = HOOKS.format(shift)
    (mini_aiter / ".pre-commit-config.yaml").write_text(old)
    assert torchless("init", "-w", "--no-baseline", cwd=mini_aiter).code == 0
    new = (mini_aiter / ".pre-commit-config.yaml").read_text()
    assert new.startswith(old)
    added = new[len(old) :].splitlines()
    assert added[0].startswith(f"{shift}- repo: https://") and added[3] == f"{shift}    - id: torchless-check"
    assert not (mini_aiter / ".torchless-baseline.json").exists()
    assert "baseline" not in (mini_aiter / "torchless.toml").read_text()


def test_hooks_laid_out_in_another_way_are_left(torchless, mini_aiter: Path) -> None:
    old = "repos: [{repo: meta, hooks: [{id: identity}]}]\nfail_fast: true\n"
    (mini_aiter / ".pre-commit-config.yaml").write_text(old)
    done = torchless("init", "-w", cwd=mini_aiter)
    assert (mini_aiter / ".pre-commit-config.yaml").read_text() == old
    assert "does not extend; add by hand" in done.err


def test_settings_and_a_baseline_that_are_there_stay(torchless, mini_aiter: Path) -> None:
    (mini_aiter / "pyproject.toml").write_text("[tool.torchless]\njobs = 1\n")
    (mini_aiter / ".torchless-baseline.json").write_text('{"torchless_baseline": 1, "findings": []}')
    done = torchless("init", "-w", "--no-hooks", cwd=mini_aiter)
    assert done.code == 0 and "Nothing to do." in done.err
    assert not (mini_aiter / "torchless.toml").exists() and not (mini_aiter / ".pre-commit-config.yaml").exists()
