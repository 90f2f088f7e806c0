"""Whole campaigns on a small checkout, through the command line: what is planned is what one migration writes."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from campaign_samples import NAMES, PAD, commit_all, files, git, lay_out, replace_in, repository, tree_of
from jsonschema import Draft202012Validator

from tests.api.conftest import configuration
from torchless import workers
from torchless.campaign.emitting import KEPT
from torchless.campaign.model import State
from torchless.campaign.repository import Repository
from torchless.campaign.state import load, state_file
from torchless.report.campaign_json import schema
from torchless.verify.types import CheckJob, CheckResult, check_tus

MODULES = ("alpha", "beta", "delta", "gamma")
ROWS = "csrc/include/rocm_ops.hpp"


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


def test_a_plan_checks_hardly_more_than_one_migration(torchless, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module has a row in one header; a unit whose own row stays the same is not checked again for that."""
    checked: list[CheckJob] = []

    def check(jobs: Sequence[CheckJob], *arguments: object, **more: object) -> list[CheckResult]:
        checked.extend(jobs)
        return check_tus(jobs, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setenv("TORCHLESS_CACHE_DIR", str(root.parent / "cache"))
    monkeypatch.setattr(workers, "check_tus", check)
    assert torchless("migrate", "-j", "1", cwd=root).code == 1
    by_one = len(checked)
    found = batches(torchless, root)
    assert len(found) == 5 and by_one == 2 * 2 * len(MODULES)  # a kernel and a binding, in two passes
    assert len(checked) == by_one


class Killed(BaseException):
    """The run ends here, as with kill."""


def with_sigma() -> dict[str, str]:
    """The checkout with a sixth module, whose row is far from the others."""
    wanted = files()
    for path, text in list(wanted.items()):
        if "gamma" in path:
            wanted[path.replace("gamma", "sigma")] = text.replace("gamma", "sigma").replace("GAMMA", "SIGMA")
    row = next(line for line in wanted[ROWS].splitlines() if line.startswith("#define GAMMA_PYBIND"))
    wanted[ROWS] += PAD + row.replace("gamma", "sigma").replace("GAMMA", "SIGMA") + "\n"
    names = (*NAMES, "sigma")
    modules = {f"module_{name}": [f"pybind/{name}_pybind.cu", f"kernels/{name}.cu"] for name in names}
    wanted["aiter/jit/optCompilerConfig.json"] = configuration(modules)
    return wanted


def by_hand(root: Path, branch: str, path: str, old: str, new: str) -> None:
    """Commit a change of a file on a branch, in a work tree of its own."""
    tree = root.parent / "hand"
    git(root, "worktree", "add", "-q", str(tree), branch)
    replace_in(tree, path, old, new)
    commit_all(tree, "By hand")
    git(root, "worktree", "remove", "--force", str(tree))


def test_a_campaign_over_weeks(torchless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three batches are merged, main changes under two, one in conflict with a hand edit, two runs are killed."""
    root = repository(tmp_path / "r", with_sigma())
    whole = Path(shutil.copytree(root, tmp_path / "whole"))
    assert torchless("plan", "--update", cwd=root).code == 2
    assert torchless("plan", "--write", "-j", "1", cwd=root).code == 1
    assert not git(root, "branch", "--list", "torchless/*")
    found = batches(torchless, root, "--emit", "branches", "--next", "2", "--verify", "none")
    planned = dict.fromkeys(("delta", "gamma", "sigma"), "planned")
    assert states(found) == {"alpha": "emitted", "beta": "emitted", **planned, "omega": "blocked"}
    found = batches(torchless, root, "--emit", "branches", "--verify", "none")
    assert set(states(found).values()) == {"emitted", "blocked"}

    by_hand(root, "torchless/module_gamma", "csrc/kernels/gamma.cu", "gamma: sizes differ", "gamma: by hand")
    by_hand(root, "torchless/module_delta", "csrc/kernels/delta.cu", "__global__ void", "// by hand\n__global__ void")
    git(root, "merge", "-q", "--no-ff", "-m", "alpha (#1)", "torchless/module_alpha")
    git(root, "merge", "-q", "--no-ff", "-m", "beta (#2)", "torchless/module_beta")
    git(root, "merge", "-q", "--squash", "torchless/module_sigma")
    git(root, "commit", "-qm", "sigma (#3)")
    replace_in(root, "csrc/kernels/gamma.cu", "gamma: sizes differ", "gamma: other sizes")
    replace_in(root, "csrc/kernels/delta.cu", "<<<1, 256, 0,", "<<<2, 256, 0,")
    commit_all(root, "Two changes")
    branch = {name: git(root, "rev-parse", f"torchless/module_{name}").strip() for name in ("gamma", "delta")}
    for step in (0, 1):
        calls = itertools.count()

        def move_ref(self, *words, calls=calls, step=step, real=Repository.move_ref):
            if next(calls) == step:
                raise Killed
            return real(self, *words)

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Repository, "move_ref", move_ref)
            torchless("plan", "--update", "--verify", "none", "-j", "1", cwd=root)
    found = batches(torchless, root, "--update", "--verify", "none")
    assert states(found) == {"delta": "emitted", "gamma": "stale", "omega": "blocked"}
    campaign = load(state_file(root))
    assert campaign is not None
    merged = [row for row in campaign.batches if row.state is State.MERGED]
    assert sorted(row.name for row in merged) == ["module_alpha", "module_beta", "module_sigma"]
    assert {row.note for row in merged} == {"as it was made"}
    # what main changed is in the new version, and what was changed by hand
    delta = git(root, "show", "torchless/module_delta:csrc/kernels/delta.cu")
    assert "<<<2, 256, 0," in delta and "// by hand" in delta
    assert git(root, "merge-base", "main", "torchless/module_delta") == git(root, "rev-parse", "main")
    assert branch["delta"] in git(root, "for-each-ref", "--format=%(objectname)", KEPT)
    # both sides of the conflict are there
    assert git(root, "rev-parse", "torchless/module_gamma").strip() == branch["gamma"]
    assert "gamma: other sizes" in git(root, "show", "torchless/module_gamma.fresh:csrc/kernels/gamma.cu")

    tree = tmp_path / "settled"
    git(root, "worktree", "add", "-q", str(tree), "torchless/module_gamma")
    git(tree, "merge", "-q", "torchless/module_gamma.fresh", check=False)
    git(tree, "checkout", "-q", "--theirs", "csrc/kernels/gamma.cu")
    replace_in(tree, "csrc/kernels/gamma.cu", "gamma: other sizes", "gamma: other sizes by hand")
    commit_all(tree, "Both")
    git(root, "worktree", "remove", "--force", str(tree))
    found = batches(torchless, root, "--update", "--verify", "none")
    assert states(found) == {"delta": "emitted", "gamma": "emitted", "omega": "blocked"}
    assert not git(root, "branch", "--list", "torchless/*.fresh")
    for name in ("delta", "gamma"):
        git(root, "merge", "-q", "--no-edit", f"torchless/module_{name}")
    done = torchless("plan", "--update", "-j", "1", cwd=root)
    names = ", ".join(f"module_{name}" for name in ("alpha", "beta", "delta", "gamma", "sigma"))
    assert b"module_omega" in done.out and f"merged: {names}".encode() in done.out
    # the end is what one migration of the tree of today would be, and the hand edits
    replace_in(whole, "csrc/kernels/gamma.cu", "gamma: sizes differ", "gamma: other sizes")
    replace_in(whole, "csrc/kernels/delta.cu", "<<<1, 256, 0,", "<<<2, 256, 0,")
    commit_all(whole, "Two changes")
    assert torchless("migrate", "--write", "-j", "1", cwd=whole).code == 1
    replace_in(whole, "csrc/kernels/gamma.cu", "gamma: other sizes", "gamma: other sizes by hand")
    replace_in(whole, "csrc/kernels/delta.cu", "__global__ void", "// by hand\n__global__ void")
    assert tree_of(root, "HEAD") == tree_of(whole, commit_all(whole, "whole"))
    said = torchless("report", "-j", "1", "--output-format", "json", cwd=root)
    assert said.code == 1 and json.loads(said.out)["places"]["free of torch"] == 5


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
