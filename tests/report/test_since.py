"""What git says has changed since a revision, in whatever way it changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torchless.git import Changes, GitError, changed_since

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


class Repo:
    """A git repository with one commit, tagged "start"."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write("a.cu", TEXT)
        self.write("b.cu", TEXT)
        self.commit("start")
        self.git("tag", "start")

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        command = ["git", "-C", str(self.root), *who, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def changes(self, revision: str = "start", *among: str, root: str = "") -> Changes:
        return changed_since(self.root / root, revision, among or ("a.cu", "b.cu", "c.cu"))


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    return Repo(tmp_path / "repo")


def edited(*numbers: int, text: str = TEXT) -> str:
    return "".join(f"new {n}\n" if n in numbers else line for n, line in enumerate(text.splitlines(True), 1))


@pytest.mark.parametrize("how", ["committed", "staged", "unstaged", "all"])
def test_changed_lines_however_far_they_are(repo, how):
    repo.write("a.cu", edited(3, 9, 10))
    if how != "unstaged":
        repo.git("add", "-A")
    if how in ("committed", "all"):
        repo.commit("change")
    if how == "all":
        repo.write("b.cu", edited(1))
        repo.git("add", "-A")
        repo.write("b.cu", edited(1, 20))
    assert repo.changes().lines == {"a.cu": [3, 9, 10], **({"b.cu": [1, 20]} if how == "all" else {})}


def test_a_new_file_is_new_in_every_line(repo):
    repo.write("c.cu", TEXT)
    assert repo.changes().lines == {"c.cu": None}
    repo.git("add", "-A")
    assert repo.changes().lines == {"c.cu": list(range(1, 21))}


def test_ignored_files_did_not_change(repo):
    repo.write(".gitignore", "c.cu\n")
    repo.write("c.cu", TEXT)
    assert repo.changes().lines == {}


def test_a_renamed_file_changed_only_where_it_was_edited(repo):
    repo.git("mv", "a.cu", "c.cu")
    assert repo.changes().lines == {"c.cu": ()}
    repo.write("c.cu", edited(5))
    assert repo.changes().lines == {"c.cu": [5]}
    assert repo.changes().touches("c.cu") and not repo.changes().touches("c.cu", 6, 20)


def test_lines_that_went_touch_the_file_only(repo):
    repo.write("a.cu", "".join(TEXT.splitlines(True)[:5] + TEXT.splitlines(True)[9:]))
    changes = repo.changes()
    assert changes.lines == {"a.cu": []}
    assert changes.touches("a.cu") and not changes.touches("a.cu", 1, 20)


def test_a_change_on_the_other_branch_is_not_this_change(repo):
    repo.git("checkout", "-qb", "mine")
    repo.write("a.cu", edited(2))
    repo.commit("mine")
    repo.git("checkout", "-q", "main")
    repo.write("b.cu", edited(7))
    repo.commit("theirs")
    repo.git("checkout", "-q", "mine")
    assert repo.changes("main").lines == {"a.cu": [2]}


def test_revisions_of_every_kind(repo):
    repo.write("a.cu", edited(2))
    repo.commit("change")
    for revision in ("HEAD~1", "HEAD^", "start", repo.git("rev-parse", "HEAD~").strip()[:9], "main@{0}~1", ":/start"):
        assert repo.changes(revision).lines == {"a.cu": [2]}, revision
    assert repo.changes("HEAD").lines == {}


def test_a_project_below_the_top_of_its_repository(repo):
    repo.write("sub/a.cu", TEXT)
    repo.write("sub/dir/x.cu", TEXT)
    repo.commit("sub")
    repo.git("mv", "sub/dir/x.cu", "sub/dir/y.cu")
    repo.write("sub/a.cu", edited(4))
    repo.write("a.cu", edited(1))
    repo.write("sub/new.cu", "x\n")
    changes = repo.changes("HEAD", "a.cu", "dir/y.cu", "new.cu", root="sub")
    assert changes.lines == {"a.cu": [4], "dir/y.cu": (), "new.cu": None}


@pytest.mark.parametrize(
    "name", ["ä ö.cu", 'q"uote.cu', "tab\tand\nnewline.cu", "back\\slash.cu", "*.cu", "b/x.cu", "-x.cu"]
)
def test_names_of_every_kind(repo, name):
    repo.write(name, TEXT)
    repo.commit("odd")
    repo.write(name, edited(6))
    assert repo.changes("HEAD", name).lines == {name: [6]}
    repo.git("mv", "--", name, "z.cu")
    assert repo.changes("HEAD", "z.cu").lines == {"z.cu": [6]}


def test_a_name_that_is_not_utf8(repo):
    name = os.fsdecode(b"\xe4.cu")
    repo.write(name, TEXT)
    repo.commit("odd")
    repo.write(name, edited(6))
    assert repo.changes("HEAD", name).lines == {name: [6]}


def test_text_that_looks_like_a_patch(repo):
    repo.write("a.cu", "-- a/x\n++ b/c.cu\n@@ -1 +1 @@\n" + TEXT)
    repo.commit("odd")
    repo.write("a.cu", "++ b/b.cu\n@@ -1 +1,5 @@\n-- b\n" + TEXT)
    assert repo.changes("HEAD").lines == {"a.cu": [1, 2, 3]}


def test_binary_for_git_is_text_for_us(repo):
    repo.write(".gitattributes", "*.cu -diff\n")
    repo.write("a.cu", edited(2))
    assert repo.changes().lines == {"a.cu": [2]}


def test_the_user_s_settings_change_nothing(repo, tmp_path):
    (tmp_path / "gitconfig").write_text(
        "[diff]\nnoprefix = true\nmnemonicPrefix = true\nexternal = false\ninterHunkContext = 9\nrenames = false\n"
        "context = 7\nrelative = false\n[color]\nui = always\n[core]\nquotePath = false\n"
    )
    repo.git("mv", "b.cu", "c.cu")
    repo.write("a.cu", edited(3, 5))
    assert repo.changes().lines == {"a.cu": [3, 5], "c.cu": ()}


def test_a_conflict_is_a_change(repo):
    repo.git("checkout", "-qb", "mine")
    repo.write("a.cu", edited(2))
    repo.commit("mine")
    repo.git("checkout", "-q", "main")
    repo.write("a.cu", TEXT.replace("line 2\n", "theirs\n"))
    repo.commit("theirs")
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "mine")
    assert repo.changes("HEAD").lines == {"a.cu": [2, 4, 5, 6]}  # "theirs" itself stands in HEAD


def test_many_files(repo):
    names = [f"many/{n}.cu" for n in range(700)]
    for name in names:
        repo.write(name, TEXT)
    repo.commit("many")
    for n, name in enumerate(names):
        repo.write(name, edited(n % 20 + 1))
    assert repo.changes("HEAD", *names).lines == {name: [n % 20 + 1] for n, name in enumerate(names)}


def test_touches_asks_for_any_line_of_a_range():
    changes = Changes({"a.cu": [3, 9], "new.cu": None, "moved.cu": ()})
    assert [changes.touches("a.cu", n, n) for n in (2, 3, 4, 9, 10)] == [False, True, False, True, False]
    assert changes.touches("a.cu", 4, 9) and not changes.touches("a.cu", 4, 8)
    assert changes.touches("new.cu", 77, 77) and changes.touches("moved.cu")
    assert not changes.touches("moved.cu", 1, 99) and not changes.touches("other.cu")


@pytest.mark.parametrize(
    "revision", ["nosuch", "HEAD~9", "start:a.cu", "a..b", "-x", "--all", "@{yesterday nonsense", "\n"]
)
def test_a_revision_that_is_none(repo, revision):
    with pytest.raises(GitError, match=r"no such revision|not a revision") as caught:
        repo.changes(revision)
    assert "shallow" not in str(caught.value)


def test_no_git_tree(tmp_path):
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitError, match="is not in a git tree"):
        changed_since(tmp_path / "plain", "HEAD", ["a.cu"])


def test_a_repository_without_a_commit(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    with pytest.raises(GitError, match="no such revision"):
        changed_since(tmp_path / "empty", "HEAD", ["a.cu"])


def test_histories_that_share_nothing(repo):
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit("other")
    with pytest.raises(GitError, match="shares no commit with HEAD"):
        repo.changes("start")


def test_a_shallow_clone_says_what_to_do(repo, tmp_path):
    old = repo.git("rev-parse", "HEAD").strip()
    repo.write("a.cu", edited(2))
    repo.commit("change")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{repo.root}", str(clone)], check=True)
    with pytest.raises(GitError, match="no such revision in this shallow clone: fetch more history"):
        changed_since(clone, old, ["a.cu"])


def test_no_git_on_the_machine(repo, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="cannot run git"):
        repo.changes()
