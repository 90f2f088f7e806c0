"""Whole campaigns on a small checkout, through the command line: what is planned is what one migration writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from campaign_samples import commit_all, files, git, lay_out, replace_in, repository, tree_of
from jsonschema import Draft202012Validator

from torchless.report.campaign_json import schema

MODULES = ("alpha", "beta", "delta", "gamma")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "r")


def batches(torchless, root: Path, *arguments: str) -> dict[str, dict[str, object]]:
    done = torchless("plan", *arguments, "-j", "1", "--output-format", "json", cwd=root)
    assert done.code == 1, done.err
    data = json.loads(done.out)
    Draft202012Validator(schema()).validate(data)
    return {batch["name"].removeprefix("module_"): batch for batch in data["batches"]}


def states(found: dict[str, dict[str, object]]) -> dict[str, object]:
    return {name: batch["state"] for name, batch in found.items()}


def changes_of(patch: Path) -> list[str]:
    """The lines of a patch from its first file on, without those that name the contents of whole files."""
    lines = patch.read_text().split("\ndiff --git", 1)[1].splitlines()
    return [line for line in lines if not line.startswith("index ")]


def test_the_series_gives_what_one_migration_writes(torchless, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = batches(torchless, root, "--emit", "patches", str(out))
    assert [batch["needs"] for batch in found.values()] == [[], ["module_alpha"], [], [], []]
    assert states(found) == {**dict.fromkeys(MODULES, "emitted"), "omega": "blocked"}
    assert found["omega"]["blockers"][0]["code"].startswith("TL")  # type: ignore[index]
    whole = Path(shutil.copytree(root, tmp_path / "whole"))
    assert torchless("migrate", "--write", "-j", "1", cwd=whole).code == 1
    wanted = commit_all(whole, "whole")
    patches = sorted(out.iterdir())
    series = Path(shutil.copytree(root, tmp_path / "series"))
    git(series, "am", "-q", "--keep-non-patch", *map(str, patches))
    assert tree_of(series, "HEAD") == tree_of(whole, wanted)
    # in any order, as long as what is needed comes first
    other = Path(shutil.copytree(root, tmp_path / "other"))
    git(other, "am", "-q", "--3way", *(str(patches[n]) for n in (3, 0, 2, 1)))
    assert tree_of(other, "HEAD") == tree_of(whole, wanted)
    body = git(series, "log", "-1", "--format=%B")
    assert "| module\\_gamma | pass | pass |" in body and "types pass, closure pass" in body
    assert "torchless plan --batch module_gamma --emit patches DIR" in body
    # the command that the body names makes the same diff
    alone = Path(shutil.copytree(root, tmp_path / "alone"))
    shutil.rmtree(alone / ".torchless")
    words = ["--batch", "module_gamma", "--verify", "none", "-j", "1", "--emit", "patches", str(tmp_path / "one")]
    assert torchless("plan", *words, cwd=alone).code == 1
    (one,) = (tmp_path / "one").iterdir()
    assert changes_of(one) == changes_of(patches[3])


def test_a_campaign_over_weeks(torchless, root: Path, tmp_path: Path) -> None:
    """Two batches are merged, main changes under two others, one in conflict with a hand edit; nothing is lost."""
    whole = Path(shutil.copytree(root, tmp_path / "whole"))
    assert torchless("plan", "--update", cwd=root).code == 2
    assert torchless("plan", "--write", "-j", "1", cwd=root).code == 1
    assert not git(root, "branch", "--list", "torchless/*")
    found = batches(torchless, root, "--emit", "branches", "--next", "2", "--verify", "none")
    assert states(found) == {
        "alpha": "emitted",
        "beta": "emitted",
        "delta": "planned",
        "gamma": "planned",
        "omega": "blocked",
    }
    found = batches(torchless, root, "--emit", "branches", "--verify", "none")
    assert set(states(found).values()) == {"emitted", "blocked"}

    git(root, "merge", "-q", "--squash", "torchless/module_alpha")
    git(root, "commit", "-qm", "alpha (#1)")
    for name, old, new in (("gamma", "    AITER_CHECK(", "    // by hand\n    AITER_CHECK("),):
        tree = tmp_path / f"hand-{name}"
        git(root, "worktree", "add", "-q", str(tree), f"torchless/module_{name}")
        text = (tree / f"csrc/kernels/{name}.cu").read_text()
        (tree / f"csrc/kernels/{name}.cu").write_text(text.replace(old, new, 1))
        commit_all(tree, "By hand")
        git(root, "worktree", "remove", "--force", str(tree))
    for name in ("gamma", "delta"):
        replace_in(root, f"csrc/kernels/{name}.cu", "<<<1, 256, 0,", "<<<2, 256, 0,")
    commit_all(root, "Two blocks")
    found = batches(torchless, root, "--update", "--verify", "none")
    assert states(found) == {"beta": "emitted", "delta": "emitted", "gamma": "emitted", "omega": "blocked"}
    assert found["beta"]["needs"] == []
    for name in ("gamma", "delta"):
        text = git(root, "show", f"torchless/module_{name}:csrc/kernels/{name}.cu")
        assert "<<<2, 256, 0," in text and ("// by hand" in text) is (name == "gamma")
        assert git(root, "merge-base", "main", f"torchless/module_{name}") == git(root, "rev-parse", "main")
    for name in ("beta", "delta", "gamma"):
        git(root, "merge", "-q", "--no-edit", f"torchless/module_{name}")
    done = torchless("plan", "--update", "-j", "1", cwd=root)
    assert b"module_omega" in done.out and b"merged: module_alpha, module_beta, module_delta, module_gamma" in done.out
    # the end is what one migration of the tree of today would be, and the hand edit
    for name in ("gamma", "delta"):
        replace_in(whole, f"csrc/kernels/{name}.cu", "<<<1, 256, 0,", "<<<2, 256, 0,")
    commit_all(whole, "Two blocks")
    assert torchless("migrate", "--write", "-j", "1", cwd=whole).code == 1
    replace_in(whole, "csrc/kernels/gamma.cu", "    AITER_CHECK(out.n", "    // by hand\n    AITER_CHECK(out.n")
    assert tree_of(root, "HEAD") == tree_of(whole, commit_all(whole, "whole"))
    said = torchless("report", "-j", "1", "--output-format", "json", cwd=root)
    assert said.code == 1 and json.loads(said.out)["places"]["free of torch"] == 4


def test_a_shared_header_goes_first_and_limits_hold(torchless, tmp_path: Path) -> None:
    """A plain folder: one header's helper is used by two sources, others stand for themselves."""
    from tests.api.conftest import TARGET

    torch = "#include <torch/all.h>\n"
    wanted = {f"include/{name}": text for name, text in TARGET.items()}
    for name in ("a", "b", "c"):
        wanted[f"{name}/{name}.cu"] = f"{torch}void {name}(const torch::Tensor& x) {{ x.dim(); }}\n"
    wanted["CODEOWNERS"] = "* @all\n/a/ @kim\n/b/ @kim @lee  # both\n"
    root = repository(tmp_path / "plain", wanted)
    found = batches(torchless, root, "--group-by", "owner")
    assert {name: batch["units"] for name, batch in found.items()} == {
        "@all": ["c/c.cu:c"],
        "@kim": ["a/a.cu:a"],
        "@kim @lee": ["b/b.cu:b"],
    }
    assert found["@kim"]["owners"] == ["@kim"]
    found = batches(torchless, root, "--group-by", "directory", "a", "b", "include")
    assert list(found) == ["a", "b"]
    by_module = batches(torchless, root)
    assert sorted(by_module) == ["a/a.cu", "b/b.cu", "c/c.cu"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--emit", "patches"), "name the folder for them behind the paths"),
        (("--batch", "x"), "--batch and --next choose what --emit makes"),
        (("--update",), "there is no campaign here yet"),
        (("--group-by", "owner"), "the checkout has no CODEOWNERS file"),
        (("--select", "TL11"), "what mends a check is one command"),
        (("--emit", "branches", "--title", "{nope}"), "--title"),
        (("--profile", "nothing.json"), "nothing.json: No such file"),
        (("--emit", "branches", "--verify", "guess"), "no rung named 'guess'"),
    ],
)
def test_what_cannot_be_asked(torchless, root: Path, arguments: tuple[str, ...], says: str) -> None:
    done = torchless("plan", *arguments, cwd=root)
    assert done.code == 2 and says in done.err and done.err.count("\n") == 1, done.err
    assert git(root, "status", "--short") in ("", "?? .torchless/\n")


def test_bad_places(torchless, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_in(root, "csrc/kernels/alpha.cu", "alpha: sizes differ", "alpha: sizes")
    done = torchless("plan", "--write", cwd=root)
    assert done.code == 2 and "uncommitted changes in csrc/kernels/alpha.cu" in done.err
    git(root, "checkout", "csrc")
    (root / ".torchless").mkdir()
    (root / ".torchless/campaign.toml").write_text("version = 9\n")
    for command in (("plan",), ("plan", "--update"), ("report",)):
        done = torchless(*command, cwd=root)
        assert done.code == 2 and "written by a newer torchless" in done.err
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    plain = lay_out(tmp_path / "plain", files())
    for arguments in (("--write",), ("--emit", "branches")):
        done = torchless("plan", *arguments, cwd=plain)
        assert done.code == 2 and "is not in a git tree, and batches are made of commits" in done.err


def test_two_runs_at_once(torchless, root: Path) -> None:
    from torchless.text import journal

    with journal.locked(root):
        done = torchless("plan", "--write", cwd=root)
    assert done.code == 2 and "another torchless run" in done.err
