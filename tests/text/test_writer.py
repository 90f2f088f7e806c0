"""All files of a write change or none does, and everything about them but their bytes stays."""

from __future__ import annotations

import os
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.text import journal
from torchless.text.disk import is_torn
from torchless.text.writer import FileChange, WriteError, WriteReport, pending, recover, undo, write_files

AS_ROOT = os.geteuid() == 0
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def one_line(caught: pytest.ExceptionInfo[WriteError]) -> str:
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_p09_links_modes_and_names_survive(tree) -> None:
    before = tree.shape()
    report = write_files(tree.root, tree.changes)
    assert report == WriteReport(1, tuple(sorted(tree.changes)))
    assert tree.state() == "new"
    assert tree.shape() == before
    assert (tree.root / "inc/twin.h").samefile(tree.root / "csrc/kernels/hard.h")
    assert (tree.root / "inc/plain.cu").is_symlink()


def test_undo_gives_everything_back(tree) -> None:
    before = tree.shape()
    write_files(tree.root, tree.changes)
    report = undo(tree.root)
    assert (report.number, len(report.paths)) == (1, len(tree.changes))
    assert tree.state() == "old"
    assert tree.shape() == before


EOLS = st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"\xe9", b"\xef\xbb\xbf", b"\x00"])
TEXT = st.lists(EOLS, max_size=8).map(b"".join)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["a.cu", "b.h", "d/c.cu", "d/e é.h"]), st.tuples(TEXT, TEXT, TEXT)))
def test_p06_p07_p08_bytes_arrive_as_given_and_come_back(files: dict[str, tuple[bytes, bytes, bytes]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(folder)
        (root / "d").mkdir()
        for name, (first, _, _) in files.items():
            (root / name).write_bytes(first)
        stages = [{name: versions[i] for name, versions in files.items()} for i in range(3)]
        made = []
        for old, new in pairwise(stages):
            if write_files(root, {name: FileChange(old[name], new[name]) for name in files}).number:
                made.append(old)
            assert {name: (root / name).read_bytes() for name in files} == new
        for old in reversed(made):
            undo(root)
            assert {name: (root / name).read_bytes() for name in files} == old
        with pytest.raises(WriteError, match="nothing to undo"):
            undo(root)


def test_p11_a_file_changed_since_the_analysis_is_refused(tree) -> None:
    (tree.root / "csrc/kernels/latin.h").write_bytes(b"edited meanwhile")
    others = {n: c for n, c in tree.changes.items() if "latin" not in n}
    with pytest.raises(WriteError) as caught:
        write_files(tree.root, tree.changes)
    assert one_line(caught) == "csrc/kernels/latin.h has changed since it was read; nothing was written"
    assert caught.value.paths == ("csrc/kernels/latin.h",)
    assert all((tree.root / n).read_bytes() == c.old for n, c in others.items())


def test_p11_a_file_changed_during_the_write_is_refused(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = journal.begin

    def interfere(*arguments) -> None:
        begin(*arguments)
        (tree.root / "inc/grown.h").write_bytes(b"edited meanwhile")

    monkeypatch.setattr(journal, "begin", interfere)
    with pytest.raises(WriteError, match=r"inc/grown\.h was changed while"):
        write_files(tree.root, tree.changes)
    assert (tree.root / "inc/grown.h").read_bytes() == b"edited meanwhile"
    (tree.root / "inc/grown.h").write_bytes(b"")
    assert tree.state() == "old"


@pytest.mark.parametrize("name", ["csrc/kernels/latin.h", "csrc/kernels/hard.h"])
def test_p10_one_read_only_file_stops_all(tree, name: str) -> None:
    (tree.root / name).chmod(0o444)
    with pytest.raises(WriteError) as caught:
        write_files(tree.root, tree.changes)
    assert one_line(caught) == f"{name} is read-only; nothing was written"
    assert tree.state() == "old"


def test_p10_a_read_only_folder_stops_all(tree) -> None:
    (tree.root / "inc").chmod(0o555)
    with pytest.raises(WriteError, match=r"^inc/grown.h is in a read-only folder; nothing"):
        write_files(tree.root, tree.changes)
    (tree.root / "inc").chmod(0o755)
    assert tree.state() == "old"


def test_p10_every_file_at_fault_is_listed(tree) -> None:
    names = [f"csrc/f{i}.cu" for i in range(7)]
    for name in names:
        (tree.root / name).write_bytes(b"x")
    with pytest.raises(WriteError, match="and 2 more; nothing was written") as caught:
        write_files(tree.root, tree.changes | {name: FileChange(b"", b"y") for name in names})
    assert caught.value.paths == tuple(names)


@pytest.fixture
def shared_tree(plant):
    """A tree of the superuser in which everybody may write."""
    if not AS_ROOT:
        pytest.skip("needs the superuser to become somebody else")
    with tempfile.TemporaryDirectory() as folder:
        tree = plant(Path(folder))
        for path in (tree.root, *tree.root.rglob("*")):
            path.chmod(path.stat().st_mode | (0o777 if path.is_dir() else 0o666))
        yield tree


def as_nobody(action) -> str:
    """Run ``action`` in a child process without the superuser's rights: "done", or what was raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            action()
            os.write(writer, b"done")
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    text = os.read(reader, 1000).decode()
    os.close(reader)
    os.waitpid(child, 0)
    return text


def test_p10_what_another_user_may_not_write_is_refused(shared_tree) -> None:
    (shared_tree.root / "inc/grown.h").chmod(0o644)
    told = as_nobody(lambda: write_files(shared_tree.root, shared_tree.changes))
    assert told == "WriteError: inc/grown.h is read-only; nothing was written"
    assert shared_tree.state() == "old"


def test_p09_another_user_does_not_take_the_files_over(shared_tree) -> None:
    before = shared_tree.shape()
    assert as_nobody(lambda: write_files(shared_tree.root, shared_tree.changes)) == "done"
    assert shared_tree.state() == "new"
    assert shared_tree.shape() == before


@pytest.mark.skipif(not AS_ROOT, reason="only the superuser can give files away")
def test_p09_the_owner_stays(tree) -> None:
    os.chown(tree.root / "csrc/plain.cu", 1234, 2345)
    before = tree.shape()
    write_files(tree.root, tree.changes)
    assert tree.shape() == before


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.cu", "cannot be read (No such file or directory)"),
        ("csrc", "is not a regular file"),
        ("../outside.h", "lies outside"),
        ("outward.h", "lies outside"),
        ("a\0b", "cannot be read ("),
        ("new\nline", "cannot be read (No such file"),
        ("loop", "cannot be read ("),
    ],
)
def test_what_is_no_file_of_the_project_is_refused(tree, name: str, problem: str) -> None:
    (tree.root.parent / "outside.h").write_bytes(b"x")
    (tree.root / "outward.h").symlink_to("../outside.h")
    (tree.root / "loop").symlink_to("loop")
    with pytest.raises(WriteError) as caught:
        write_files(tree.root, tree.changes | {name: FileChange(b"x", b"y")})
    assert problem in one_line(caught)
    assert tree.state() == "old"
    assert (tree.root.parent / "outside.h").read_bytes() == b"x"


def test_p02_two_names_of_one_file_are_written_once(tree) -> None:
    change = tree.changes["csrc/kernels/hard.h"]
    write_files(tree.root, {"inc/twin.h": change, "csrc/kernels/hard.h": change, "kernels/hard.h": change})
    assert (tree.root / "inc/twin.h").read_bytes() == change.new
    undo(tree.root)
    assert tree.state() == "old"


def test_p02_two_names_of_one_file_must_agree(tree) -> None:
    change = tree.changes["csrc/kernels/hard.h"]
    with pytest.raises(
        WriteError, match=r"^inc/twin.h is the same file as csrc/kernels/hard.h, which gets other bytes"
    ):
        write_files(tree.root, tree.changes | {"inc/twin.h": FileChange(change.old, b"other")})
    assert tree.state() == "old"


def test_nothing_to_change_writes_nothing(tree) -> None:
    assert write_files(tree.root, {"csrc/plain.cu": FileChange(b"stale", b"stale")}) == WriteReport(0, ())
    assert not (tree.root / ".torchless").exists()


def test_the_same_write_twice_is_refused(tree) -> None:
    write_files(tree.root, tree.changes)
    with pytest.raises(WriteError, match="has changed since"):
        write_files(tree.root, tree.changes)
    assert tree.state() == "new"


def test_undo_refuses_files_changed_since(tree) -> None:
    write_files(tree.root, tree.changes)
    (tree.root / "inc/grown.h").write_bytes(b"edited later")
    with pytest.raises(WriteError) as caught:
        undo(tree.root)
    assert one_line(caught) == "inc/grown.h has changed since it was written; nothing was written"
    (tree.root / "inc/grown.h").write_bytes(tree.changes["inc/grown.h"].new)
    assert tree.state() == "new"
    undo(tree.root)
    assert tree.state() == "old"


def test_undo_refuses_a_read_only_file(tree) -> None:
    write_files(tree.root, tree.changes)
    (tree.root / "inc/grown.h").chmod(0o444)
    with pytest.raises(WriteError, match=r"inc/grown.h is read-only"):
        undo(tree.root)
    assert tree.state() == "new"


def test_undo_refuses_damaged_blobs(tree) -> None:
    write_files(tree.root, tree.changes)
    for path in (tree.root / ".torchless" / "blobs").iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(WriteError, match="is damaged"):
        undo(tree.root)
    assert tree.state() == "new"


def test_a_damaged_blob_is_not_relied_on_by_the_next_write(tree) -> None:
    write_files(tree.root, tree.changes)
    undo(tree.root)
    for change in tree.changes.values():
        (tree.root / ".torchless" / "blobs" / journal.digest(change.old)).write_bytes(b"damaged")
    write_files(tree.root, tree.changes)
    undo(tree.root)
    assert tree.state() == "old"


def test_undo_without_a_write_leaves_no_trace(tree) -> None:
    with pytest.raises(WriteError, match="nothing to undo: no write is recorded in"):
        undo(tree.root)
    assert not (tree.root / ".torchless").exists()
    assert recover(tree.root).restored == () and pending(tree.root) == ()


def test_old_writes_and_their_blobs_are_dropped(tree) -> None:
    path = tree.root / "inc/grown.h"
    for i in range(journal.KEPT_WRITES + 5):
        write_files(tree.root, {"inc/grown.h": FileChange(path.read_bytes(), b"%d" % i)})
    assert len(journal.standing(tree.root)) == journal.KEPT_WRITES
    assert len(list((tree.root / ".torchless/blobs").iterdir())) == journal.KEPT_WRITES
    for _ in range(journal.KEPT_WRITES):
        undo(tree.root)
    assert path.read_bytes() == b"4"
    assert list((tree.root / ".torchless/blobs").iterdir()) == []


def test_a_broken_journal_is_one_line(tree) -> None:
    write_files(tree.root, tree.changes)
    record = tree.root / ".torchless/journal/00000001.json"
    good = record.read_text()
    for bad in ("{", "[]", "{}", good.replace('"version": 1', '"version": 2'), good.replace('"path": "', '"path": "/')):
        record.write_text(bad)
        with pytest.raises(WriteError) as caught:
            undo(tree.root)
        assert "00000001.json" in one_line(caught)
    assert tree.state() == "new"


@pytest.mark.parametrize(
    ("field", "value"),
    [("path", "../victim"), ("staged", "../../victim"), ("staged", "victim"), ("old", "../../victim")],
)
def test_a_journal_that_came_with_the_checkout_leads_nowhere_else(tree, field: str, value: str) -> None:
    victim = tree.root.parent / "victim"
    victim.write_bytes(b"precious")
    entry = {"path": "csrc/plain.cu", "old": "0" * 64, "new": "1" * 64, "staged": ".torchless-1-0.tmp"} | {field: value}
    (tree.root / ".torchless/journal").mkdir(parents=True)
    text = repr({"version": 1, "done": 0, "undoes": 0, "entries": [entry]}).replace("'", '"')
    (tree.root / ".torchless/journal/00000001.json").write_text(text)
    with pytest.raises(WriteError, match="cannot read the journal"):
        recover(tree.root)
    assert victim.read_bytes() == b"precious"


def test_git_sees_only_the_files_that_changed(tree) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(command, cwd=tree.root, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "x")
    write_files(tree.root, tree.changes)
    changed = {line[3:] for line in git("status", "--porcelain").splitlines()}
    assert changed == {
        *("csrc/plain.cu", "csrc/kernels/tool.py", "csrc/kernels/latin.h", "csrc/kernels/hard.h"),
        *("inc/grown.h", "inc/twin.h"),
    }
    undo(tree.root)
    assert git("status", "--porcelain") == ""


def test_p35_a_second_run_is_told_who_writes(tree) -> None:
    with journal.locked(tree.root), pytest.raises(WriteError) as caught:
        write_files(tree.root, tree.changes)
    assert f"another torchless run (process {os.getpid()}) is writing to {tree.root}" in one_line(caught)
    assert tree.state() == "old"
    write_files(tree.root, tree.changes)
    with journal.locked(tree.root), pytest.raises(WriteError, match="another torchless run"):
        undo(tree.root)
    assert tree.state() == "new"


def test_p35_of_many_runs_at_once_one_writes(tree) -> None:
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                write_files(tree.root, tree.changes)
            except WriteError:
                os._exit(1)
            except BaseException:
                os._exit(2)
            os._exit(0)
        children.append(child)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert codes == [0, 1, 1, 1, 1, 1]
    assert tree.state() == "new"
    undo(tree.root)
    assert tree.state() == "old"


def test_the_root_may_be_a_link_or_relative(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tree.root.parent / "link"
    link.symlink_to(tree.root)
    write_files(link, tree.changes)
    monkeypatch.chdir(tree.root.parent)
    undo(Path(tree.root.name))
    assert tree.state() == "old"


def test_a_root_that_cannot_hold_a_journal_is_one_line(tree) -> None:
    with pytest.raises(WriteError, match="cannot keep a journal in"):
        write_files(tree.root / "none", tree.changes)
    (tree.root / ".torchless").write_bytes(b"")
    with pytest.raises(WriteError, match="cannot keep a journal in"):
        write_files(tree.root, tree.changes)
    assert tree.state() == "old"


@pytest.mark.skipif(os.uname().sysname == "Darwin", reason="its file systems want UTF-8 names")
def test_p08_names_that_are_no_utf8(tree) -> None:
    name = os.fsdecode(b"caf\xe9.h")
    (tree.root / name).write_bytes(b"a")
    write_files(tree.root, {name: FileChange(b"a", b"b")})
    undo(tree.root)
    assert (tree.root / name).read_bytes() == b"a"


@pytest.mark.parametrize(
    ("now", "torn"),
    [
        (b"old1", True),
        (b"newer2", True),
        (b"ned1", True),
        (b"newe", True),
        (b"newer", True),
        (b"oldwr", False),
        (b"oldr", False),
        (b"ol", False),
        (b"newer2!", False),
        (b"edit", False),
    ],
)
def test_p09_a_torn_overwrite_is_told_from_an_edit(now: bytes, torn: bool) -> None:
    assert is_torn(now, b"old1", b"newer2") is torn
    assert is_torn(now, b"newer2", b"old1") is torn


def test_a_new_file_is_made_with_the_others_and_goes_with_them(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"old")
    changes = {"a.cu": FileChange(b"old", b"new"), "b.cu": FileChange(b"", b"made", created=True)}
    write_files(tmp_path, changes)
    assert (tmp_path / "b.cu").read_bytes() == b"made"
    undo(tmp_path)
    assert (tmp_path / "a.cu").read_bytes() == b"old" and not (tmp_path / "b.cu").exists()


def test_an_empty_file_can_be_made(tmp_path: Path) -> None:
    write_files(tmp_path, {"b.cu": FileChange(b"", b"", created=True)})
    assert (tmp_path / "b.cu").exists()


@pytest.mark.parametrize(("path", "reason"), [("b.cu", "is there already"), ("none/b.cu", "cannot be read")])
def test_a_new_file_replaces_nothing(tmp_path: Path, path: str, reason: str) -> None:
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_bytes(b"old")
    with pytest.raises(WriteError, match=reason):
        write_files(tmp_path, {"a.cu": FileChange(b"old", b"new"), path: FileChange(b"", b"made", created=True)})
    assert (tmp_path / "a.cu").read_bytes() == (tmp_path / "b.cu").read_bytes() == b"old"


@pytest.mark.parametrize("at", ["finish", "undo"])
def test_an_interrupted_write_takes_its_new_file_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    (tmp_path / "a.cu").write_bytes(b"old")
    changes = {"a.cu": FileChange(b"old", b"new"), "b.cu": FileChange(b"", b"made", created=True)}
    if at == "undo":
        write_files(tmp_path, changes)

    def killed(root: Path, record: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(journal, "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        write_files(tmp_path, changes) if at == "finish" else undo(tmp_path)
    assert (tmp_path / "b.cu").exists() == (at == "undo")
    assert (tmp_path / "a.cu").read_bytes() == (b"new" if at == "undo" else b"old")
