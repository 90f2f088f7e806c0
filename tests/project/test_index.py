"""The index of what was computed from files: right whatever happened to the files, quick when nothing did."""

from __future__ import annotations

import hashlib
import marshal
import multiprocessing
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torchless import index as index_module
from torchless.index import Index


class Counted:
    """A computation that knows how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, data: bytes) -> tuple[int, bytes]:
        self.calls += 1
        return len(data), data[:64]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def the_file(cache: Path) -> Path:
    (file,) = (path for path in cache.glob("index/*/*"))
    return file


def ask(project: Path, cache: Path, compute: Callable[[bytes], object], *paths: str, version: int = 1) -> list[object]:
    """One run: the values of ``paths``, and a save."""
    index = Index(project, cache)
    values = [index.get(path, "kind", version, compute) for path in paths]
    index.save()
    return values


def test_a_value_is_computed_once_per_content_kind_and_version(project: Path, cache: Path) -> None:
    for name, text in (("a", b"same"), ("b", b"same"), ("c", b"other")):
        (project / name).write_bytes(text)
    compute = Counted()
    index = Index(project, cache)
    assert index.get("a", "kind", 1, compute) == index.get("b", "kind", 1, compute) == (4, b"same")
    assert compute.calls == 1 and index.key("a") == index.key("b") != index.key("c")
    index.get("c", "kind", 1, compute)
    index.get("c", "other kind", 1, compute)
    assert compute.calls == 3
    index.save()
    assert ask(project, cache, compute, "a", "b", "c") == [(4, b"same"), (4, b"same"), (5, b"other")]
    assert compute.calls == 3
    ask(project, cache, compute, "a", version=2)
    ask(project, cache, compute, "a", version=2)
    assert compute.calls == 4
    assert Index(project, None).get("a", "kind", 1, compute) == (4, b"same") and compute.calls == 5


def test_settled_files_are_neither_read_nor_written_about_again(
    project: Path, cache: Path, quick_clock: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a").write_bytes(b"text")
    quick_clock()
    ask(project, cache, Counted(), "a")
    written = the_file(cache).stat()

    def unexpected(*_: object) -> bytes:
        raise AssertionError("was read")

    with monkeypatch.context() as patch:
        patch.setattr(Index, "_read", unexpected)
        assert ask(project, cache, Counted(), "a") == [(4, b"text")]
    assert the_file(cache).stat() == written
    assert Index(project, cache).read("a") == b"text"


@pytest.mark.parametrize("settled", [2_000_000_000, -(10**18)])
def test_a_second_change_within_one_tick_of_the_clock(
    settled: int, project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of this file system stands still: both contents have the same stamp. Not to be fooled is the rule's
    doing alone, so without the rule the old value must come back."""
    now = time.time_ns()
    monkeypatch.setattr(index_module, "_stamp", lambda status: (status.st_size, now, now, 7))
    monkeypatch.setattr(index_module, "_SETTLED", settled)
    (project / "a").write_bytes(b"old")
    assert ask(project, cache, Counted(), "a") == [(3, b"old")]
    (project / "a").write_bytes(b"new")
    assert ask(project, cache, Counted(), "a") == [(3, b"new" if settled > 0 else b"old")]


def test_a_touched_file_is_read_again_but_not_computed_again(
    project: Path, cache: Path, quick_clock: Callable[[], None]
) -> None:
    (project / "a").write_bytes(b"text")
    quick_clock()
    compute = Counted()
    ask(project, cache, compute, "a")
    os.utime(project / "a")
    assert ask(project, cache, compute, "a") == [(4, b"text")] and compute.calls == 1


def test_content_with_preserved_size_and_time_is_noticed(
    project: Path, cache: Path, quick_clock: Callable[[], None]
) -> None:
    for name in ("in place", "replaced", "spare"):
        (project / name).write_bytes(b"old " + name.encode())
        os.utime(project / name, ns=(10**18, 10**18))
    (project / "link").symlink_to("in place")
    (project / "folder").mkdir()
    (project / "folder/a").write_bytes(b"one")
    (project / "other").mkdir()
    (project / "other/a").write_bytes(b"two")
    (project / "way").symlink_to("folder")
    for path in ("folder/a", "other/a"):
        os.utime(project / path, ns=(10**18, 10**18))
    quick_clock()
    paths = ("in place", "replaced", "link", "way/a")
    before = ask(project, cache, Counted(), *paths)

    (project / "in place").write_bytes(b"new in place")
    (project / "new").write_bytes(b"new replaced")
    for name in ("in place", "new"):
        os.utime(project / name, ns=(10**18, 10**18))
    (project / "new").replace(project / "replaced")
    for name, target in (("link", "spare"), ("way", "other")):
        (project / name).unlink()
        (project / name).symlink_to(target)
    assert [(project / path).stat().st_mtime_ns for path in paths] == [10**18] * 4
    after = ask(project, cache, Counted(), *paths)
    assert after == [(12, b"new in place"), (12, b"new replaced"), (9, b"old spare"), (3, b"two")]
    assert before == [(12, b"old in place"), (12, b"old replaced"), (12, b"old in place"), (3, b"one")]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_to_the_files_the_answers_are_fresh(
    seed: int, project: Path, cache: Path, quick_clock: Callable[[], None]
) -> None:
    """Random edits between runs, with and without a pause; answers are compared with what is on disk."""
    rng = random.Random(seed)
    names = [f"f{i}" for i in range(6)]
    paths = [*names, "d/x", "d/y", "l0", "l1", "ld/x"]

    def content() -> bytes:
        return b"%06d" % rng.randrange(40)

    def write(path: str, keep_time: bool) -> None:
        times = (project / path).stat() if (project / path).exists() else None
        (project / path).write_bytes(content())
        if keep_time and times:
            os.utime(project / path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def link(path: str, target: str) -> None:
        if (project / path).is_symlink():
            (project / path).unlink()
        (project / path).symlink_to(target)

    def step() -> None:
        name, other = rng.sample([*names, "d/x", "d/y"], 2)
        match rng.randrange(9):
            case 0 | 1:
                write(name, keep_time=False)
            case 2 | 3:
                write(name, keep_time=True)
            case 4:
                os.utime(project / name) if (project / name).exists() else write(name, False)
            case 5:
                (project / name).unlink(missing_ok=True)
            case 6:  # a rename keeps the inode and the time of modification
                if (project / name).exists():
                    (project / name).replace(project / other)
            case 7:  # replaced by a new file of the same size and time
                times = (project / name).stat() if (project / name).exists() else (project / "d").stat()
                (project / "new").write_bytes(content())
                os.utime(project / "new", ns=(times.st_atime_ns, times.st_mtime_ns))
                (project / "new").replace(project / name)
            case 8:
                link(rng.choice(["l0", "l1"]), rng.choice([*names, "absent"]))
                link("ld", rng.choice(["d", "e"]))

    for folder in ("d", "e"):
        (project / folder).mkdir()
        (project / folder / "x").write_bytes(folder.encode())
    for path in [*names, "d/y"]:
        write(path, False)
    link("ld", "d")
    computed = answered = 0
    for _ in range(40):
        if rng.random() < 0.25:
            quick_clock()
        compute = Counted()
        index = Index(project, cache)
        for path in paths:
            try:
                expected: object = Counted()((project / path).read_bytes())
            except OSError as error:
                with pytest.raises(type(error)):
                    index.get(path, "kind", 1, compute)
                continue
            assert index.get(path, "kind", 1, compute) == expected, path
            answered += 1
        if rng.random() < 0.8:
            index.save()
        computed += compute.calls
        for _ in range(rng.randrange(4)):
            step()
    assert computed < answered / 2


def test_files_that_are_gone_are_dropped_and_others_stay(project: Path, cache: Path) -> None:
    for name in "abc":
        (project / name).write_bytes(name.encode())
    compute = Counted()
    ask(project, cache, compute, "a", "b", "c")
    (project / "b").unlink()
    (project / "c").write_bytes(b"changed")
    ask(project, cache, compute, "c")
    assert set(stored(cache)[1]) == {"a", "c"}
    assert ask(project, cache, compute, "a") == [(1, b"a")] and compute.calls == 4


def stored(cache: Path) -> tuple[str, dict[str, object], dict[bytes, object], dict[str, object]]:
    """What the index file holds, behind its first line and checksum."""
    body = the_file(cache).read_bytes().partition(b"\n")[2][32:]
    return marshal.loads(body)  # type: ignore[no-any-return]


def test_an_index_is_bounded_and_keeps_what_the_run_used(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MAX_BYTES", 60_000)
    compute = Counted()

    def large(data: bytes) -> bytes:
        return compute(data)[1] * 100

    for i in range(30):
        (project / f"f{i}").write_bytes(b"%064d" % i)
    ask(project, cache, large, *(f"f{i}" for i in range(20)))
    assert 30_000 < the_file(cache).stat().st_size < 62_000
    for i in range(20, 30):
        ask(project, cache, large, f"f{i}")
    assert 30_000 < the_file(cache).stat().st_size < 62_000
    before = compute.calls
    ask(project, cache, large, *(f"f{i}" for i in range(25, 30)))
    assert compute.calls == before
    monkeypatch.setattr(index_module, "MAX_PATHS", 3)
    ask(project, cache, large, "f0", "f1", "f2", "f3", version=2)
    assert len(stored(cache)[1]) == 3


def test_contents_of_old_are_kept_for_a_while(project: Path, cache: Path) -> None:
    """Switching between branches computes nothing twice; contents that never come back do not pile up."""
    compute = Counted()
    for text in (b"main", b"branch", b"main", b"branch"):
        (project / "a").write_bytes(text)
        assert ask(project, cache, compute, "a") == [(len(text), text)]
    assert compute.calls == 2
    for i in range(150):
        (project / "a").write_bytes(b"%d" % i)
        ask(project, cache, compute, "a")
    assert len(stored(cache)[2]) == 102  # the file's, and a hundred and one for the one file


def damaged(data: bytes) -> list[bytes]:
    head = data.index(b"\n") + 1
    body = data[head + 32 :]
    other = data[:head].replace(b"torchless-index ", b"torchless-index 9")
    assert other != data[:head]
    flipped = [
        data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in (0, head - 2, head, head + 40, len(data) - 1)
    ]
    return [
        *flipped,
        *(data[:size] for size in (0, 5, head, head + 31, head + 32, head + 33, len(data) - 1)),
        data + b"x",
        other + hashlib.sha256(body).digest() + body,
        b"\n",
        b"\0" * 10_000,
    ]


def test_a_damaged_or_foreign_index_is_a_miss_and_is_never_unmarshalled(
    project: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a").write_bytes(b"text")
    ask(project, cache, Counted(), "a")
    good = the_file(cache).read_bytes()

    def unexpected(*_: object) -> object:
        raise AssertionError("unmarshalled")

    for data in damaged(good):
        the_file(cache).write_bytes(data)
        compute = Counted()
        with monkeypatch.context() as patch:
            patch.setattr(index_module.marshal, "loads", unexpected)
            assert ask(project, cache, compute, "a") == [(4, b"text")] and compute.calls == 1
        assert ask(project, cache, compute, "a") == [(4, b"text")] and compute.calls == 1


def test_a_well_formed_index_of_another_shape_or_root_is_a_miss(project: Path, cache: Path) -> None:
    (project / "a").write_bytes(b"text")
    ask(project, cache, Counted(), "a")
    head = the_file(cache).read_bytes().partition(b"\n")[0] + b"\n"
    row = stored(cache)
    for body in (marshal.dumps(("/elsewhere", *row[1:])), marshal.dumps(None), marshal.dumps((1, 2)), b"", b"["):
        the_file(cache).write_bytes(head + hashlib.sha256(body).digest() + body)
        compute = Counted()
        assert ask(project, cache, compute, "a") == [(4, b"text")] and compute.calls == 1


def test_a_changed_tool_has_values_of_its_own(
    project: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a").write_bytes(b"text")
    (tmp_path / "tool/sub").mkdir(parents=True)
    (tmp_path / "tool/__init__.py").write_bytes(b"")
    (tmp_path / "tool/sub/a.py").write_bytes(b"")
    monkeypatch.setattr(index_module.torchless, "__file__", str(tmp_path / "tool/__init__.py"))
    index_module._header.cache_clear()
    compute = Counted()
    try:
        ask(project, cache, compute, "a")
        index_module._header.cache_clear()
        ask(project, cache, compute, "a")
        assert compute.calls == 1
        (tmp_path / "tool/sub/a.py").write_bytes(b"x = 1\n")
        index_module._header.cache_clear()
        ask(project, cache, compute, "a")
        assert compute.calls == 2
    finally:
        index_module._header.cache_clear()


def test_a_cache_that_cannot_be_written_is_no_error(
    project: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a").write_bytes(b"text")
    (tmp_path / "file").write_bytes(b"")
    compute = Counted()
    for folder in (tmp_path / "file", Path("/proc/1/absent")):
        assert ask(project, folder, compute, "a") == [(4, b"text")]
    ask(project, cache, compute, "a")
    before = the_file(cache).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(index_module.os, "replace", full)
        ask(project, cache, compute, "a", version=2)
    assert the_file(cache).read_bytes() == before and compute.calls == 4  # and no temporary file beside it


def test_oldest_indexes_of_all_projects_go_first(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(5):
        root = tmp_path / f"p{i}"
        root.mkdir()
        (root / "a").write_bytes(b"text")
        before = set(cache.glob("index/*/*"))
        ask(root, cache, Counted(), "a")
        (new,) = set(cache.glob("index/*/*")) - before
        os.utime(new, (1000 + i, 1000 + i))
        if i == 1:
            monkeypatch.setattr(index_module, "MAX_TOTAL", 3 * new.stat().st_size)
    times = sorted(int(path.stat().st_mtime) for path in cache.glob("index/*/*"))
    assert times == [1002, 1003, 1004]


def write_many(project: str, cache: str, me: int) -> None:
    for i in range(25):
        index = Index(project, cache)
        for path in ("a", "b"):
            assert index.get(path, "kind", 1, Counted()) == (4, b"text")
        index.get("a", f"kind {me}", i, Counted())
        index.save()


def test_parallel_writers_never_leave_a_broken_index(project: Path, cache: Path) -> None:
    for name in "ab":
        (project / name).write_bytes(b"text")
    ask(project, cache, Counted(), "a", "b")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(str(project), str(cache), i)) for i in range(3)]
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        compute = Counted()
        assert Index(project, cache).get("b", "kind", 1, compute) == (4, b"text") and compute.calls == 0
        reads += 1
        time.sleep(0.005)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert reads > 3 and [path.name for path in the_file(cache).parent.iterdir()] == [the_file(cache).name]


def test_what_cannot_be_read(project: Path, cache: Path) -> None:
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe")
    (project / "loop").symlink_to("loop")
    index = Index(project, cache)
    for path in ("absent", "folder", "pipe", "loop", "folder/absent"):
        with pytest.raises(OSError):
            index.get(path, "kind", 1, len)
        with pytest.raises(OSError):
            index.read(path)
    (project / "a").write_bytes(b"text")
    with pytest.raises(ValueError):
        index.get("a", "kind", 1, lambda data: object())
    with pytest.raises(ZeroDivisionError):
        index.get("a", "kind", 1, lambda data: 1 / 0)
    assert index.get("a", "kind", 1, len) == 4


def test_paths_outside_of_the_root_and_odd_names(project: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"far")
    odd = os.fsdecode(b"caf\xe9")
    (project / odd).write_bytes(b"near")
    compute = Counted()
    paths = (str(tmp_path / "outside"), "../outside", odd)
    for _ in range(2):
        assert ask(project, cache, compute, *paths) == [(3, b"far"), (3, b"far"), (4, b"near")]
    assert compute.calls == 2


def test_notes(project: Path, cache: Path) -> None:
    index = Index(project, cache)
    assert index.note("kind", 1, b"key") is None
    index.set_note("kind", 1, b"key", {"a": True})
    index.save()
    index = Index(project, cache)
    assert index.note("kind", 1, b"key") == {"a": True}
    assert index.note("kind", 2, b"key") is index.note("kind", 1, b"other") is index.note("other", 1, b"key") is None
    written = the_file(cache).stat()
    index.set_note("kind", 1, b"key", {"a": True})
    index.save()
    assert the_file(cache).stat() == written
    for i in range(index_module.MAX_NOTES - 1):
        index.set_note("kind", 1, b"%d" % i, (i,))
    index.set_note("kind", 1, b"0", ("again",))
    index.save()
    index = Index(project, cache)
    assert index.note("kind", 1, b"0") == ("again",) and index.note("kind", 1, b"1") == (1,)
    assert index.note("kind", 1, b"key") == {"a": True}
    index.set_note("kind", 1, b"one more", ())
    assert index.note("kind", 1, b"key") is None and index.note("kind", 1, b"1") == (1,)
