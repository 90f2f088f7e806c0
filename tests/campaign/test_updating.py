"""A campaign that goes on: batches merged, main changed, hand edits kept, conflicts told, runs killed anywhere."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from campaign_samples import commit_all, emit, git, plan_of, replace_in, repository

from torchless.campaign import emitting
from torchless.campaign.emitting import KEPT, How
from torchless.campaign.model import State
from torchless.campaign.repository import Repository
from torchless.campaign.state import Campaign, StateError, load, save, state_file
from torchless.campaign.updating import numbered

TEXT = "".join(f"line {n}\n" for n in range(1, 41))
A = ("a", {"csrc/a.txt": ("line 3\n", "LINE 3\n"), "csrc/shared.txt": ("line 10\n", "LINE 10\n")})
B = ("b", {"csrc/b.txt": ("line 20\n", "LINE 20\n"), "csrc/shared.txt": ("line 12\n", "LINE 12\n")})
C = ("c", {"csrc/c.txt": ("line 20\n", "LINE 20\n")})
D = ("d", {"csrc/d.txt": ("line 20\n", "LINE 20\n")})
NEEDS = {"b": ("a",)}
BRANCHES = How("branches")
FILES = [f"csrc/{name}.txt" for name in ("a", "b", "c", "d", "shared")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "r", dict.fromkeys(FILES, TEXT))


def everything(root: Path):
    return plan_of(root, A, B, C, D, needs=NEEDS)


def show(root: Path, revision: str, path: str) -> str:
    return git(root, "show", f"{revision}:{path}")


def by_hand(root: Path, branch: str, path: str, old: str, new: str) -> str:
    """Commit a change to ``branch`` in a work tree of its own; the commit."""
    tree = root.parent / f"hand-{branch.replace('/', '-')}"
    git(root, "worktree", "add", "-q", str(tree), branch)
    replace_in(tree, path, old, new)
    commit = commit_all(tree, "By hand")
    git(root, "worktree", "remove", "--force", str(tree))
    return commit


def on_main(root: Path, path: str, old: str, new: str) -> None:
    replace_in(root, path, old, new)
    git(root, "add", "csrc")
    git(root, "commit", "-qm", "Meanwhile")


def states(campaign: Campaign) -> dict[str, str]:
    return {row.name: row.state.value for row in campaign.batches}


@pytest.mark.parametrize("way", ["merge", "squash", "am", "copied"])
def test_what_was_merged_is_known_by_its_content(root: Path, way: str) -> None:
    emit(root, everything(root), BRANCHES)
    if way == "merge":
        git(root, "merge", "-q", "--no-ff", "-m", "Merge", "torchless/a")
    elif way == "squash":
        git(root, "merge", "-q", "--squash", "torchless/a")
        git(root, "commit", "-qm", "a (#1)")
    elif way == "am":
        patch = git(root, "format-patch", "--stdout", "main..torchless/a")
        git(root, "am", "--keep-non-patch", input=patch.encode())
    else:
        for path in ("csrc/a.txt", "csrc/shared.txt"):
            (root / path).write_text(show(root, "torchless/a", path))
        git(root, "commit", "-qam", "I typed this")
    on_main(root, "csrc/a.txt", "line 30\n", "line thirty\n")
    now = emit(root, plan_of(root, B, C, D), BRANCHES)
    assert states(now) == {"a": "merged", "b": "emitted", "c": "emitted", "d": "emitted"}
    assert now.row("a").note == "as it was made"  # type: ignore[union-attr]
    assert git(root, "merge-base", "main", "torchless/b") == git(
        root, "rev-parse", "main" if way != "merge" else "torchless/b^"
    )
    assert show(root, "torchless/b", "csrc/shared.txt").count("LINE") == 2


def test_what_somebody_did_in_another_way_is_merged_too(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    on_main(root, "csrc/c.txt", "line 20\n", "line xx\n")
    now = emit(root, plan_of(root, A, B, D, needs=NEEDS), BRANCHES)
    assert now.row("c").state is State.MERGED  # type: ignore[union-attr]
    assert "in another way" in now.row("c").note  # type: ignore[union-attr]


def test_a_batch_that_main_did_not_touch_stays_as_it_is(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    tip = git(root, "rev-parse", "torchless/d")
    on_main(root, "csrc/c.txt", "line 1\n", "first\n")
    now = emit(root, everything(root), BRANCHES)
    assert git(root, "rev-parse", "torchless/d") == tip
    assert states(now) == dict.fromkeys("abcd", "emitted")


def test_a_stale_batch_is_made_again_and_keeps_hand_edits(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    hand = by_hand(root, "torchless/c", "csrc/c.txt", "line 30\n", "line thirty\n")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")})
    now = emit(root, plan_of(root, A, B, fresh, D, needs=NEEDS), BRANCHES)
    text = show(root, "torchless/c", "csrc/c.txt")
    assert "LINE TWENTY\n" in text and "line thirty\n" in text
    assert states(now)["c"] == "emitted" and now.row("c").note == "hand edits are kept"  # type: ignore[union-attr]
    subjects = git(root, "log", "--format=%s", "main..torchless/c").splitlines()
    assert subjects == ["By hand", "[c] Take torch out"]
    assert git(root, "for-each-ref", "--format=%(objectname)", KEPT).split() == [hand]
    # and again, with the hand edits of before in it
    on_main(root, "csrc/c.txt", "line twenty\n", "line 2O\n")
    once_more = ("c", {"csrc/c.txt": ("line 2O\n", "LINE 2O\n")})
    emit(root, plan_of(root, A, B, once_more, D, needs=NEEDS), BRANCHES)
    text = show(root, "torchless/c", "csrc/c.txt")
    assert "LINE 2O\n" in text and "line thirty\n" in text


def test_an_amended_branch_is_a_hand_edit(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    tree = root.parent / "amend"
    git(root, "worktree", "add", "-q", str(tree), "torchless/c")
    replace_in(tree, "csrc/c.txt", "line 30\n", "line thirty\n")
    git(tree, "commit", "-qa", "--amend", "--no-edit")
    git(root, "worktree", "remove", "--force", str(tree))
    on_main(root, "csrc/c.txt", "line 1\n", "first\n")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")})
    emit(root, plan_of(root, A, B, fresh, D, needs=NEEDS), BRANCHES)
    text = show(root, "torchless/c", "csrc/c.txt")
    assert "LINE TWENTY\n" in text and "line thirty\n" in text and text.startswith("first\n")


def test_main_merged_into_a_branch_is_no_hand_edit(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    on_main(root, "csrc/a.txt", "line 1\n", "first\n")
    tree = root.parent / "merging"
    git(root, "worktree", "add", "-q", str(tree), "torchless/c")
    git(tree, "merge", "-q", "--no-edit", "main")
    replace_in(tree, "csrc/c.txt", "line 30\n", "line thirty\n")
    commit_all(tree, "By hand")
    git(root, "worktree", "remove", "--force", str(tree))
    on_main(root, "csrc/a.txt", "first\n", "1st\n")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")})
    now = emit(root, plan_of(root, A, B, fresh, D, needs=NEEDS), BRANCHES)
    assert states(now)["c"] == "emitted"
    assert git(root, "diff", "--name-only", "main", "torchless/c").split() == ["csrc/c.txt"]
    assert "line thirty\n" in show(root, "torchless/c", "csrc/c.txt")


def test_a_conflict_loses_neither_side_and_can_be_settled(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    hand = by_hand(root, "torchless/c", "csrc/c.txt", "LINE 20\n", "LINE 20 by hand\n")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = plan_of(root, A, B, ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")}), D, needs=NEEDS)
    now = emit(root, fresh, BRANCHES)
    row = now.row("c")
    assert row is not None and (row.state, row.conflicts) == (State.STALE, ("csrc/c.txt",))
    assert git(root, "rev-parse", "torchless/c").strip() == hand
    assert "LINE TWENTY" in show(root, "torchless/c.fresh", "csrc/c.txt")
    assert "merge torchless/c.fresh into torchless/c" in row.note
    assert states(now)["d"] == "emitted"
    assert emit(root, fresh, BRANCHES) == now  # said again, nothing else
    tree = root.parent / "settle"
    git(root, "worktree", "add", "-q", str(tree), "torchless/c")
    git(tree, "merge", "-q", "torchless/c.fresh", check=False)
    (tree / "csrc/c.txt").write_text(TEXT.replace("line 20\n", "LINE TWENTY by hand\n"))
    commit_all(tree, "Both")
    git(root, "worktree", "remove", "--force", str(tree))
    settled = emit(root, fresh, BRANCHES)
    assert states(settled)["c"] == "emitted"
    assert "LINE TWENTY by hand\n" in show(root, "torchless/c", "csrc/c.txt")
    assert not git(root, "branch", "--list", "torchless/c.fresh")


def test_a_branch_that_somebody_works_on_is_not_moved(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    tree = root.parent / "busy"
    git(root, "worktree", "add", "-q", str(tree), "torchless/c")
    tip = git(root, "rev-parse", "torchless/c")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = plan_of(root, A, B, ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")}), D, needs=NEEDS)
    now = emit(root, fresh, BRANCHES)
    assert states(now)["c"] == "stale" and "checked out in" in now.row("c").note  # type: ignore[union-attr]
    assert git(root, "rev-parse", "torchless/c") == tip and git(tree, "status", "--short") == ""
    git(root, "worktree", "remove", str(tree))
    assert states(emit(root, fresh, BRANCHES))["c"] == "emitted"


def test_a_branch_that_is_gone_is_planned_again(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    git(root, "branch", "-q", "-D", "torchless/c")
    now = emit(root, everything(root), BRANCHES, wanted=frozenset())
    assert states(now) == {"a": "emitted", "b": "emitted", "c": "planned", "d": "emitted"}
    assert states(emit(root, everything(root), BRANCHES))["c"] == "emitted"


def test_a_hand_edit_is_in_what_builds_upon_it(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    by_hand(root, "torchless/a", "csrc/a.txt", "line 30\n", "line thirty\n")
    now = emit(root, everything(root), BRANCHES)
    assert states(now) == dict.fromkeys("abcd", "emitted")
    assert "line thirty" in show(root, "torchless/b", "csrc/a.txt")
    assert git(root, "rev-parse", "torchless/b^") == git(root, "rev-parse", "torchless/a")


def test_p45_a_move_is_a_commit_of_its_own(root: Path) -> None:
    """A file that was moved and edited by hand comes back as a move, and after it the edits."""
    emit(root, everything(root), BRANCHES)
    tree = root.parent / "move"
    git(root, "worktree", "add", "-q", str(tree), "torchless/c")
    git(tree, "mv", "csrc/d.txt", "csrc/moved.txt")
    replace_in(tree, "csrc/moved.txt", "line 30\n", "line thirty\n")
    commit_all(tree, "Move and edit")
    git(root, "worktree", "remove", "--force", str(tree))
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    emit(root, plan_of(root, A, B, ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")}), needs=NEEDS), BRANCHES)
    subjects = git(root, "log", "--format=%s", "main..torchless/c").splitlines()
    assert subjects == ["Move and edit", "[c] Move 1 file", "[c] Take torch out"]
    moved = git(root, "show", "-M", "--raw", "--format=", "torchless/c~1")
    assert "R100" in moved and moved.count("\n") == 1
    edited = git(root, "show", "-M", "--raw", "--format=", "torchless/c")
    assert " M\tcsrc/moved.txt" in edited and edited.count("\n") == 1
    assert "line thirty" in show(root, "torchless/c", "csrc/moved.txt")


def test_p45_a_move_in_a_patch_is_a_commit_of_its_own(root: Path, tmp_path: Path) -> None:
    how = How("patches", tmp_path / "out")
    emit(root, everything(root), how)
    file = tmp_path / "out/0003-c.patch"
    git(root, "checkout", "-q", "-b", "scratch")
    git(
        root, "am", "-q", "--keep-non-patch", *(str(tmp_path / f"out/000{n}-{x}.patch") for n, x in enumerate("abc", 1))
    )
    git(root, "mv", "csrc/d.txt", "csrc/moved.txt")
    replace_in(root, "csrc/moved.txt", "line 30\n", "line thirty\n")
    git(root, "commit", "-qa", "--amend", "--no-edit")
    file.write_text(git(root, "format-patch", "--stdout", "-M", "HEAD~1..HEAD"))
    git(root, "checkout", "-q", "main")
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")})
    emit(root, plan_of(root, A, B, fresh, needs=NEEDS), how)
    git(root, "am", "-q", "--keep-non-patch", *(str(f) for f in sorted((tmp_path / "out").glob("000[123]*.patch"))))
    assert git(root, "log", "-2", "--format=%s").splitlines()[1] == "[c] Move 1 file"
    assert "line thirty" in (root / "csrc/moved.txt").read_text()
    assert "LINE TWENTY" in (root / "csrc/c.txt").read_text()


def test_patches_keep_what_was_changed_in_them(root: Path, tmp_path: Path) -> None:
    how = How("patches", tmp_path / "out")
    emit(root, everything(root), how)
    file = tmp_path / "out/0003-c.patch"
    file.write_text(file.read_text().replace("+LINE 20\n", "+LINE 20 by hand\n"))
    assert states(emit(root, everything(root), how)) == dict.fromkeys("abcd", "emitted")
    assert "+LINE 20 by hand\n" in file.read_text()
    on_main(root, "csrc/c.txt", "line 1\n", "first\n")
    on_main(root, "csrc/c.txt", "line 17\n", "line 17, changed\n")
    now = emit(root, everything(root), how)
    assert states(now) == dict.fromkeys("abcd", "emitted")
    git(root, "am", "--keep-non-patch", *(str(f) for f in sorted((tmp_path / "out").iterdir())))
    assert "LINE 20 by hand\n" in (root / "csrc/c.txt").read_text()


def test_a_patch_in_conflict_stays_and_the_new_one_lies_beside_it(root: Path, tmp_path: Path) -> None:
    how = How("patches", tmp_path / "out")
    emit(root, everything(root), how)
    file = tmp_path / "out/0003-c.patch"
    mine = file.read_text().replace("+LINE 20\n", "+LINE 20 by hand\n")
    file.write_text(mine)
    on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
    fresh = plan_of(root, A, B, ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")}), D, needs=NEEDS)
    now = emit(root, fresh, how)
    assert states(now)["c"] == "stale" and now.row("c").conflicts == ("csrc/c.txt",)  # type: ignore[union-attr]
    assert file.read_text() == mine and "+LINE TWENTY" in (tmp_path / "out/0003-c.patch.fresh").read_text()
    assert states(now)["d"] == "emitted"
    file.write_text("nonsense")
    assert "does not apply" in emit(root, fresh, how).row("c").note  # type: ignore[union-attr]
    assert file.read_text() == "nonsense"


def test_merged_patches_leave_the_folder(root: Path, tmp_path: Path) -> None:
    how = How("patches", tmp_path / "out")
    emit(root, everything(root), how)
    git(root, "am", "-q", "--keep-non-patch", str(tmp_path / "out/0001-a.patch"))
    now = emit(root, plan_of(root, B, C, D), how)
    assert states(now) == {"a": "merged", "b": "emitted", "c": "emitted", "d": "emitted"}
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == ["0002-b.patch", "0003-c.patch", "0004-d.patch"]
    git(root, "am", "-q", "--keep-non-patch", *(str(f) for f in sorted((tmp_path / "out").iterdir())))


def test_commits_follow_main_and_keep_hand_edits(root: Path) -> None:
    how = How("commits")
    emit(root, everything(root), how)
    by_hand(root, "torchless/series", "csrc/c.txt", "line 30\n", "line thirty\n")
    on_main(root, "csrc/d.txt", "line 1\n", "first\n")
    emit(root, everything(root), how)
    assert git(root, "merge-base", "main", "torchless/series") == git(root, "rev-parse", "main")
    assert git(root, "rev-list", "--count", "main..torchless/series").strip() == "5"
    assert "line thirty" in show(root, "torchless/series", "csrc/c.txt")


class Killed(BaseException):
    """The run ends here, as with kill."""


@pytest.mark.parametrize("kind", ["branches", "patches", "commits"])
@pytest.mark.parametrize("before", [True, False], ids=["instead of a step", "behind a step"])
def test_killed_anywhere_a_second_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, before: bool
) -> None:
    """Every run dies at the next save, ref or file; each time the next one ends as if nothing had been."""
    for count in itertools.count():
        place = tmp_path / str(count)
        root = repository(place / "r", dict.fromkeys(FILES[2:4], TEXT))
        how = How(kind, place / "out")
        emit(root, plan_of(root, C, D), how)
        edited = ""
        if kind == "branches":
            by_hand(root, "torchless/c", "csrc/c.txt", "line 30\n", "line thirty\n")
            edited = "line thirty\n"
        on_main(root, "csrc/c.txt", "line 20\n", "line twenty\n")
        fresh = plan_of(root, ("c", {"csrc/c.txt": ("line twenty\n", "LINE TWENTY\n")}), D)
        calls = itertools.count()

        def step(function, calls=calls, count=count):
            def call(*args, **named):
                here = next(calls) == count
                if here and before:
                    raise Killed
                out = function(*args, **named)
                if here:
                    raise Killed
                return out

            return call

        file = state_file(root)
        died = False
        with monkeypatch.context() as patch:
            patch.setattr(Repository, "move_ref", step(Repository.move_ref))
            patch.setattr(emitting.disk, "replace", step(emitting.disk.replace))
            try:
                emit(root, fresh, how, save=lambda campaign, file=file: save(file, campaign))
            except Killed:
                died = True
        now = emit(root, fresh, how)
        assert set(states(now).values()) == {"emitted"}, count
        assert all(not row.next_tip for row in now.rows), count
        if kind == "patches":
            git(root, "am", "-q", "--keep-non-patch", *(str(f) for f in sorted((place / "out").iterdir())))
            text = (root / "csrc/c.txt").read_text()
        else:
            text = show(root, "torchless/c" if kind == "branches" else "torchless/series", "csrc/c.txt")
        assert "LINE TWENTY\n" in text and edited in text, count
        if not died:
            assert count > 3
            return


def test_a_whole_campaign(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three batches are merged in three ways, main changes under two, one in conflict, and two runs are killed."""
    for name in "ef":
        (root / f"csrc/{name}.txt").write_text(TEXT)
    commit_all(root, "more")
    parts = {name: (name, {f"csrc/{name}.txt": ("line 20\n", "LINE 20\n")}) for name in "def"}
    plan = plan_of(root, A, B, C, *parts.values(), needs=NEEDS)
    emit(root, plan, BRANCHES)
    hand = {name: by_hand(root, f"torchless/{name}", f"csrc/{name}.txt", "LINE 20\n", "LINE 20!\n") for name in "e"}
    hand["d"] = by_hand(root, "torchless/d", "csrc/d.txt", "line 30\n", "line thirty\n")
    git(root, "merge", "-q", "--no-ff", "-m", "a (#1)", "torchless/a")
    git(root, "cherry-pick", "torchless/b")
    git(root, "merge", "-q", "--squash", "torchless/c")
    git(root, "commit", "-qm", "c (#3)")
    for name in "de":
        on_main(root, f"csrc/{name}.txt", "line 20\n", "line twenty\n")
    fresh = {n: (n, {f"csrc/{n}.txt": ("line twenty\n", "LINE TWENTY\n")}) for n in "de"}
    plan = plan_of(root, fresh["d"], fresh["e"], parts["f"])
    for step in (0, 1):
        calls = itertools.count()

        def move_ref(self, *words, calls=calls, step=step, real=Repository.move_ref):
            if next(calls) == step:
                raise Killed
            return real(self, *words)

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Repository, "move_ref", move_ref)
            emit(root, plan, BRANCHES)
    now = emit(root, plan, BRANCHES)
    assert states(now) == {
        "a": "merged", "b": "merged", "c": "merged", "d": "emitted", "e": "stale", "f": "emitted",
    }  # fmt: skip
    assert [row.note for row in now.batches[:3]] == ["as it was made"] * 3
    text = show(root, "torchless/d", "csrc/d.txt")
    assert "LINE TWENTY\n" in text and "line thirty\n" in text
    assert git(root, "rev-parse", "torchless/e").strip() == hand["e"]  # one side
    assert "LINE TWENTY\n" in show(root, "torchless/e.fresh", "csrc/e.txt")  # and the other
    kept = git(root, "for-each-ref", "--format=%(objectname)", KEPT).split()
    assert kept == [hand["d"]]
    assert "LINE 20\n" in show(root, "torchless/f", "csrc/f.txt")


def test_numbers_stay_and_never_contradict_the_order(root: Path) -> None:
    first = emit(root, everything(root), BRANCHES)
    assert [(row.number, row.name) for row in first.batches] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    later = numbered(plan_of(root, D, C, ("e", {})), first)
    assert [(batch.number, batch.name) for batch in later.batches] == [(4, "d"), (5, "c"), (6, "e")]


def test_comments_in_the_state_file_stay(root: Path) -> None:
    emit(root, everything(root), BRANCHES)
    file = state_file(root)
    file.write_text(file.read_text().replace('name = "c"\n', '# Ask Kim first.\nname = "c"  # kernels\n'))
    on_main(root, "csrc/c.txt", "line 1\n", "first\n")
    emit(root, everything(root), BRANCHES)
    for _ in range(3):
        save(file, load(file) or Campaign())
    text = file.read_text()
    assert "# Ask Kim first.\n" in text and "# kernels" in text and "\n\n\n" not in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version = 2\n", r"written by a newer torchless \(version 2, and this one knows 1\): update"),
        ("x = 1\n", "it has no version"),
        ("version = \n", "not valid TOML"),
        ("version = 1\n[[batch]]\nname = 'a'\nnumber = 1\nstate = 'lost'\n", "damaged"),
        ("version = 1\n[[batch]]\nname = 'a'\nnumber = 1\nstate = 'merged'\nsurprise = 1\n", "damaged"),
        ("version = 1\n[[batch]]\nname = 'a'\nnumber = 'x'\nstate = 'merged'\n", "damaged"),
        ("version = 1\nbatch = 3\n", "damaged"),
        ("version = 1\n" + "[[batch]]\nname = 'a'\nnumber = 1\nstate = 'merged'\n" * 2, "two batches are called 'a'"),
    ],
)
def test_a_state_file_that_cannot_be_used(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(text)
    with pytest.raises(StateError, match=says) as error:
        load(file)
    assert "\n" not in str(error.value)
    assert file.read_text() == text
