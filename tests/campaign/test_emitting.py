"""Batches as branches, commits and patches, on plans that no engine made: what git has afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from campaign_samples import commit_all, emit, git, plan_of, replace_in, repository

from torchless.campaign.emitting import How
from torchless.campaign.model import Batch, State
from torchless.campaign.repository import RepositoryError, open_repository
from torchless.campaign.trees import Trees, refuse_dirty
from torchless.errors import UsageError
from torchless.model import Unit, UnitStatus
from torchless.report.campaign_letter import Letter, Told, check_letter, message

TEXT = "".join(f"line {n}\n" for n in range(1, 41))
ONE = ("one", {"csrc/a.txt": ("line 3\n", "LINE 3\n"), "csrc/shared.txt": ("line 10\n", "LINE 10\n")})
TWO = ("two", {"csrc/shared.txt": ("line 12\n", "LINE 12\n")})
THREE = ("three", {"csrc/b.txt": ("line 5\n", "LINE 5\n"), "csrc/shared.txt": ("line 30\n", "LINE 30\n")})
NEEDS = {"two": ("one",)}
BRANCHES = How("branches")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A git tree with three files of forty lines, two of them needed by several batches."""
    names = ("csrc/a.txt", "csrc/b.txt", "csrc/shared.txt")
    return repository(tmp_path / "r", dict.fromkeys(names, TEXT))


def three(root: Path):
    return plan_of(root, ONE, TWO, THREE, needs=NEEDS)


def show(root: Path, revision: str, path: str) -> str:
    return git(root, "show", f"{revision}:{path}")


def test_branches_hold_a_batch_and_what_it_needs(root: Path) -> None:
    emitted = emit(root, three(root), BRANCHES)
    assert [(row.name, row.state, row.place) for row in emitted.batches] == [
        ("one", State.EMITTED, "torchless/one"),
        ("two", State.EMITTED, "torchless/two"),
        ("three", State.EMITTED, "torchless/three"),
    ]
    assert git(root, "rev-list", "--count", "main..torchless/two").strip() == "2"
    assert git(root, "rev-parse", "torchless/two^") == git(root, "rev-parse", "torchless/one")
    assert git(root, "rev-parse", "torchless/three^") == git(root, "rev-parse", "main")
    assert "LINE 10\nline 11\nLINE 12\n" in show(root, "torchless/two", "csrc/shared.txt")
    assert "LINE" not in show(root, "torchless/three", "csrc/shared.txt").replace("LINE 30", "")


def test_nothing_of_the_user_is_touched_and_no_hook_runs(root: Path) -> None:
    for hook in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "prepare-commit-msg",
    ):
        file = root / ".git/hooks" / hook
        file.write_text(f"#!/bin/sh\necho {hook} >> '{root}/ran'\nexit 1\n")
        file.chmod(0o755)
    (root / "notes.txt").write_text("mine")
    index = (root / ".git/index").read_bytes()
    emit(root, three(root), BRANCHES)
    assert not (root / "ran").exists()
    assert (root / ".git/index").read_bytes() == index
    assert git(root, "branch", "--show-current").strip() == "main"
    assert git(root, "status", "--short") == "?? .torchless/\n?? notes.txt\n"
    assert git(root, "worktree", "list").count("\n") == 1


def test_one_branch_of_commits_ends_in_all_of_them(root: Path) -> None:
    plan = three(root)
    emit(root, plan, How("commits"))
    subjects = git(root, "log", "--reverse", "--format=%s", "main..torchless/series").splitlines()
    assert [subject.partition("]")[0] for subject in subjects] == ["[one", "[two", "[three"]
    for path, text in plan.series["three"].items():
        assert show(root, "torchless/series", path) == text.decode()


def test_patches_apply_in_order_and_independent_ones_alone(root: Path, tmp_path: Path) -> None:
    plan, folder = three(root), tmp_path / "out"
    emit(root, plan, How("patches", folder))
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["0001-one.patch", "0002-two.patch", "0003-three.patch"]
    clone = Path(shutil.copytree(root, tmp_path / "clone"))
    git(clone, "am", "--keep-non-patch", *(str(file) for file in files))
    for path, text in plan.series["three"].items():
        assert (clone / path).read_bytes() == text
    assert git(clone, "log", "-1", "--format=%s").startswith("[three] ")
    for file, works in zip(files, (True, False, True), strict=True):
        alone = Path(shutil.copytree(root, tmp_path / f"alone-{file.name}"))
        done = git(alone, "am", str(file), check=False)
        applied = git(alone, "rev-list", "--count", "main", "^" + git(root, "rev-parse", "main").strip()).strip() == "1"
        assert applied is works, done


def test_settings_of_the_user_for_patches_do_not_matter(root: Path, tmp_path: Path) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    again = Path(shutil.copytree(root, tmp_path / "again"))
    emit(root, three(root), How("patches", plain))
    for key, value in {
        "format.signOff": "true",
        "format.attach": "true",
        "format.subjectPrefix": "RFC",
        "format.numbered": "true",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "color.ui": "always",
        "diff.external": "false",
        "core.quotePath": "true",
        "commit.gpgSign": "true",
    }.items():
        git(again, "config", key, value)
    emit(again, three(again), How("patches", other))
    for file in plain.iterdir():
        ours, theirs = ((folder / file.name).read_text().split("Subject:", 1)[1] for folder in (plain, other))
        assert ours == theirs


def test_carriage_returns_stay(root: Path, tmp_path: Path) -> None:
    (root / "csrc/a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    commit_all(root, "windows")
    plan = plan_of(root, ("crlf", {"csrc/a.txt": ("two\r\n", "TWO\r\n")}))
    emit(root, plan, How("patches", tmp_path / "out"))
    git(root, "am", "--keep-cr", str(tmp_path / "out/0001-crlf.patch"))
    assert (root / "csrc/a.txt").read_bytes() == b"one\r\nTWO\r\nthree\r\n"


def test_modes_stay(root: Path) -> None:
    (root / "csrc/a.txt").chmod(0o755)
    commit_all(root, "mode")
    emit(root, three(root), BRANCHES)
    assert git(root, "ls-tree", "torchless/one", "csrc/a.txt").startswith("100755")


def test_line_ends_that_git_converts(root: Path) -> None:
    """With autocrlf the work tree has CRLF and the blobs LF; the commit has LF, too."""
    git(root, "config", "core.autocrlf", "true")
    (root / "csrc/a.txt").unlink()
    git(root, "checkout", "csrc/a.txt")
    assert (root / "csrc/a.txt").read_bytes() == TEXT.replace("\n", "\r\n").encode()
    assert not open_repository(root).dirty()
    emit(root, plan_of(root, ("x", {"csrc/a.txt": ("line 3\r\n", "LINE 3\r\n")})), BRANCHES)
    assert git(root, "show", "torchless/x:csrc/a.txt") == TEXT.replace("line 3\n", "LINE 3\n")


def test_titles_trailers_and_a_sign_off_only_when_asked_for(root: Path) -> None:
    emit(root, three(root), BRANCHES)
    assert "Signed-off-by" not in git(root, "log", "--all", "--format=%B")
    who = open_repository(root).identity()
    letter = Letter("{batch} ({files} files)", ("Campaign: detorch",), who)
    emit(root, three(root), How("branches", letter=letter), again=True)
    body = git(root, "log", "-1", "--format=%B", "torchless/one").rstrip("\n")
    assert body.startswith("one (2 files)\n\n")
    assert body.endswith("\n\nCampaign: detorch\nSigned-off-by: Tess Ter <tess@example.org>")
    trailers = git(root, "log", "-1", "--format=%(trailers)", "torchless/one").strip()
    assert trailers.splitlines() == ["Campaign: detorch", "Signed-off-by: Tess Ter <tess@example.org>"]


@pytest.mark.parametrize(
    "letter", [Letter("{who}"), Letter("{"), Letter(" "), Letter("a\nb"), Letter("{0}"), Letter("x", ("no",))]
)
def test_words_that_cannot_be_used(letter: Letter) -> None:
    with pytest.raises(UsageError, match="--t"):
        check_letter(letter)


def test_the_body_survives_git_am(root: Path, tmp_path: Path) -> None:
    emit(root, three(root), How("patches", tmp_path / "out"))
    git(root, "am", "--keep-non-patch", str(tmp_path / "out/0001-one.patch"))
    body = git(root, "log", "-1", "--format=%b")
    for part in ("| batch | preprocessed lines before |", "**What callers will see change**", "    torchless plan"):
        assert part in body
    git(root, "commit", "--amend", "--no-edit", "--cleanup=strip")
    assert git(root, "log", "-1", "--format=%b") == body


def test_again_changes_nothing(root: Path, tmp_path: Path) -> None:
    first = emit(root, three(root), BRANCHES)
    refs = git(root, "for-each-ref")
    assert emit(root, three(root), BRANCHES) == first
    assert git(root, "for-each-ref") == refs


def test_only_what_is_wanted_is_made(root: Path) -> None:
    emitted = emit(root, three(root), BRANCHES, wanted=frozenset({"two"}))
    assert [row.state.value for row in emitted.batches] == ["planned", "emitted", "planned"]
    assert git(root, "branch", "--list", "torchless/*").split() == ["torchless/two"]
    assert git(root, "rev-list", "--count", "main..torchless/two").strip() == "2"


def test_what_it_needs_is_not_made_anew_each_time(root: Path) -> None:
    emit(root, three(root), BRANCHES, wanted=frozenset({"two"}))
    tip = git(root, "rev-parse", "torchless/two")
    emit(root, three(root), BRANCHES, wanted=frozenset({"two"}))
    assert git(root, "rev-parse", "torchless/two") == tip


def test_names_that_look_alike_in_a_branch(root: Path) -> None:
    plan = plan_of(root, ("a/b", ONE[1]), ("a-b", THREE[1]))
    emitted = emit(root, plan, BRANCHES)
    assert [row.place for row in emitted.batches] == ["torchless/a-b-1", "torchless/a-b-2"]


def test_white_space_settings_of_the_user_do_not_matter(root: Path, tmp_path: Path) -> None:
    git(root, "config", "apply.whitespace", "fix")
    how = How("patches", tmp_path / "out")
    plan = plan_of(root, ("x", {"csrc/a.txt": ("line 3\n", "LINE 3  \n")}))
    emit(root, plan, how)
    file = tmp_path / "out/0001-x.patch"
    file.write_text(file.read_text().replace("+LINE 3  \n", "+LINE 3 by hand  \n"))
    emit(root, plan, how)
    assert "+LINE 3 by hand  \n" in file.read_text()


def test_a_branch_of_somebody_else_stops_it_before_anything_is_made(root: Path) -> None:
    git(root, "branch", "torchless/three")
    with pytest.raises(RepositoryError, match="the branch torchless/three exists and is none of this campaign"):
        emit(root, three(root), BRANCHES)
    assert git(root, "branch", "--list", "torchless/*").split() == ["torchless/three"]
    emitted = emit(root, three(root), How("branches", prefix="mine-"))
    assert {row.place for row in emitted.batches} == {"mine-one", "mine-two", "mine-three"}


def test_a_branch_in_the_way_of_a_name(root: Path) -> None:
    git(root, "branch", "torchless")
    with pytest.raises(RepositoryError, match="the branch torchless leaves no room for torchless/one"):
        emit(root, three(root), BRANCHES)


def test_a_prefix_that_is_none(root: Path) -> None:
    with pytest.raises(RepositoryError, match="git takes no branch called"):
        emit(root, three(root), How("branches", prefix="a..b~"))


def test_a_folder_with_patches_of_somebody_else(root: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/0001-other.patch").write_text("x")
    with pytest.raises(RepositoryError, match=r"holds 0001-other\.patch, which is none of this campaign"):
        emit(root, three(root), How("patches", tmp_path / "out"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(RepositoryError, match="cannot be made"):
        emit(root, three(root), How("patches", tmp_path / "file"))


def test_uncommitted_changes_and_files_in_no_commit(root: Path) -> None:
    plan = three(root)
    replace_in(root, "csrc/b.txt", "line 1\n", "mine\n")
    with pytest.raises(RepositoryError, match=r"uncommitted changes in csrc/b\.txt"):
        refuse_dirty(open_repository(root))
    git(root, "checkout", "csrc/b.txt")
    (root / "csrc/new.txt").write_text(TEXT)
    fresh = plan_of(root, ("new", {"csrc/new.txt": ("line 3\n", "LINE 3\n")}))
    with pytest.raises(RepositoryError, match=r"csrc/new\.txt is in no commit"):
        emit(root, fresh, BRANCHES)
    git(root, "update-index", "--assume-unchanged", "csrc/a.txt")
    replace_in(root, "csrc/a.txt", "line 1\n", "hidden\n")
    with pytest.raises(RepositoryError, match=r"csrc/a\.txt is not what HEAD holds"):
        emit(root, three(root), BRANCHES)
    assert plan.ready


def test_a_detached_head_and_a_shallow_clone_are_fine(root: Path, tmp_path: Path) -> None:
    commit_all_twice = [(root / f"n{n}").write_text("x") and commit_all(root, f"n{n}") for n in range(2)]
    shallow = tmp_path / "shallow"
    git(root, "clone", "-q", "--depth", "1", root.as_uri(), str(shallow))
    git(shallow, "checkout", "-q", "--detach")
    assert open_repository(shallow).is_shallow and open_repository(shallow).branch() == ""
    emitted = emit(shallow, three(shallow), BRANCHES)
    assert {row.state for row in emitted.batches} == {State.EMITTED}
    assert git(shallow, "rev-parse", "torchless/one^").strip() == commit_all_twice[-1]


def test_a_file_in_a_submodule(root: Path, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"in.txt": TEXT})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "csrc/sub")
    commit_all(root, "submodule")
    with pytest.raises(RepositoryError, match=r"csrc/sub/in\.txt lies in the submodule csrc/sub"):
        emit(root, plan_of(root, ("sub", {"csrc/sub/in.txt": ("line 3\n", "LINE 3\n")})), BRANCHES)
    (root / "csrc/sub/in.txt").write_text("dirty in there")
    assert open_repository(root).dirty() == ()
    emit(root, three(root), BRANCHES)  # beside one it works
    assert "160000" in git(root, "ls-tree", "torchless/one", "csrc/sub")


def test_a_project_below_the_top_of_its_tree(tmp_path: Path) -> None:
    top = repository(tmp_path / "top", {"deep/er/csrc/a.txt": TEXT, "other.txt": TEXT})
    project = top / "deep/er"
    emit(project, plan_of(project, ("x", {"csrc/a.txt": ("line 3\n", "LINE 3\n")})), BRANCHES)
    assert "LINE 3" in show(top, "torchless/x", "deep/er/csrc/a.txt")
    assert (project / ".torchless/campaign.toml").is_file()


def test_no_git_tree_and_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RepositoryError, match="is not in a git tree, and batches are made of commits"):
        open_repository(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(RepositoryError, match="there is no commit yet"):
        open_repository(tmp_path).head()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RepositoryError, match="cannot run git"):
        open_repository(tmp_path)


def test_nobody_to_commit_as(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key in ("user.name", "user.email"):
        git(root, "config", "--unset", key)
    git(root, "config", "user.useConfigOnly", "true")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RepositoryError, match=r"set user\.name and user\.email"):
        open_repository(root).identity()


def test_trees_are_made_once(root: Path) -> None:
    trees = Trees(open_repository(root), three(root), git(root, "rev-parse", "HEAD").strip())
    trees.check()
    assert trees.of({}) == git(root, "rev-parse", "HEAD^{tree}").strip()


def test_the_body_of_a_batch_without_entry_points_promises_no_structs() -> None:
    batch = Batch("shared-headers", 1, (Unit("inc/h.h", (), (), ("inc/h.h",), UnitStatus.MIGRATED),), 2, ("inc/h.h",))
    text = message(batch, Letter(), Told(None, "Formatting: nothing.", "torchless plan"))
    assert text.startswith("[shared-headers] Take torch out\n")
    assert "Takes torch out of `inc/h.h`, and so out of what reads them." in text and "plain structs" not in text


def test_the_body_of_a_batch_that_no_module_is_built_from() -> None:
    batch = Batch("x/x.cu", 1, (Unit("x/x.cu:x", (), ("x",), ("x/x.cu",), UnitStatus.MIGRATED),), 2, ("x/x.cu",))
    text = message(batch, Letter(), Told({"modules": []}, "Formatting: nothing.", "torchless plan"))
    assert "No module is built from these files, so no rung was run" in text and "| not run |" in text
