"""Whatever stops a write, at whatever moment: afterwards all files are old, or all are new.

A run is stopped before each of its system calls in turn, so no moment is left out. The system calls are counted where
Python makes them.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from torchless.text.writer import FileChange, WriteError, pending, recover, undo, write_files

CHANGING = [
    *((os, name) for name in ("open", "write", "fsync", "fchmod", "ftruncate", "pwrite")),
    *((Path, name) for name in ("replace", "unlink", "mkdir")),
]
READING = [(Path, name) for name in ("read_bytes", "stat")]


def intercept(
    monkeypatch: pytest.MonkeyPatch, before: Callable[[str, tuple], object], calls: list[tuple[object, str]] = CHANGING
) -> None:
    """Have ``before(name, arguments)`` called before each of these system calls."""

    def wrap(name: str, real):
        def called(*arguments, **options):
            before(name, arguments)
            return real(*arguments, **options)

        return called

    for owner, name in calls:
        monkeypatch.setattr(owner, name, wrap(name, getattr(owner, name)))


def killed(monkeypatch: pytest.MonkeyPatch, moment: int, action: Callable[[], object]) -> bool:
    """Run ``action`` in a child that is killed before its call number ``moment``; False when it ended before.

    A write is killed half way: a part of its bytes gets through. Only calls that change something count, for a kill
    before any other one leaves the same.
    """
    count = 0
    write = os.write

    def stop(name: str, arguments: tuple) -> None:
        nonlocal count
        count += 1
        if count == moment:
            if name == "write":
                write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        intercept(monkeypatch, stop)
        try:
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def raising(
    moment: int, error: BaseException, once: bool = True, fired: list[str] | None = None
) -> Callable[[str, tuple], None]:
    """Raise ``error`` at call number ``moment``, and at every later one that needs room unless ``once``.

    The names of those calls are added to ``fired``.
    """
    count = 0

    def stop(name: str, _: tuple) -> None:
        nonlocal count
        count += 1
        if count == moment or (not once and count > moment and name in ("write", "mkdir")):
            if fired is not None:
                fired.append(name)
            raise error

    return stop


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill loses nothing that was written, so fsync need only be called; see the test of the order for the rest."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def fresh(fast_path: Path, plant) -> Iterator[Callable[[], object]]:
    """Makes a new tree each time, in place of the one before."""

    def make():
        root = fast_path / "checkout"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        return plant(root)

    yield make


def leftovers(root: Path) -> list[Path]:
    """Staged files; what is left inside the journal's own folder is overwritten by the next run."""
    return [path for path in root.rglob("*.tmp") if path.parent.parent.name != ".torchless" != path.parent.name]


def moments(until_it_ends: Callable[[int], bool]) -> int:
    """Try moment 1, 2, ... until the run ends by itself; the number of moments."""
    moment = 1
    while until_it_ends(moment):
        moment += 1
        assert moment < 2000
    return moment


def test_p09_killed_at_every_moment_of_a_write(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    def attempt(moment: int) -> bool:
        tree = fresh()
        shape = tree.shape()
        went = killed(monkeypatch, moment, lambda: write_files(tree.root, tree.changes))
        interrupted = bool(pending(tree.root))
        recover(tree.root)
        seen.add((interrupted, tree.state()))
        assert tree.state() == "old" or not interrupted
        assert tree.state() in ("old", "new") and tree.shape() == shape
        assert not pending(tree.root)
        if tree.state() == "new":
            undo(tree.root)
        assert tree.state() == "old"
        write_files(tree.root, tree.changes)
        undo(tree.root)
        assert tree.state() == "old" and tree.shape() == shape and not leftovers(tree.root)
        return went

    assert moments(attempt) > 40
    assert seen == {(False, "old"), (True, "old"), (False, "new")}


def test_p09_killed_at_every_moment_of_an_undo(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(moment: int) -> bool:
        tree = fresh()
        write_files(tree.root, tree.changes)
        went = killed(monkeypatch, moment, lambda: undo(tree.root))
        recover(tree.root)
        if tree.state() == "new":
            undo(tree.root)
        assert tree.state() == "old" and not pending(tree.root)
        with pytest.raises(WriteError, match="nothing to undo"):
            undo(tree.root)
        return went

    assert moments(attempt) > 40


def test_p09_killed_at_every_moment_of_a_recovery(fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: dict[str, int] = {}  # a moment for each kind of wreck

    def wreck(moment: int) -> bool:
        tree = fresh()
        went = killed(monkeypatch, moment, lambda: write_files(tree.root, tree.changes))
        torn = any((tree.root / n).read_bytes() not in (c.old, c.new) for n, c in tree.changes.items())
        starts["torn" if torn else tree.state()] = moment
        return went

    moments(wreck)
    assert set(starts) == {"old", "new", "mixed", "torn"}
    for kind in ("mixed", "torn"):

        def attempt(moment: int, start: int = starts[kind]) -> bool:
            tree = fresh()
            killed(monkeypatch, start, lambda: write_files(tree.root, tree.changes))
            went = killed(monkeypatch, moment, lambda: recover(tree.root))
            recover(tree.root)
            assert tree.state() == "old" and not pending(tree.root)
            write_files(tree.root, tree.changes)
            assert tree.state() == "new" and not leftovers(tree.root)
            return went

        assert moments(attempt) > 10


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
def test_p09_full_disk_at_every_moment(fresh, once: bool) -> None:
    said = set()

    def attempt(moment: int) -> bool:
        tree = fresh()
        shape = tree.shape()
        caught = None
        fired: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            intercept(patch, raising(moment, failure, once, fired), CHANGING + READING)
            try:
                write_files(tree.root, tree.changes)
            except WriteError as error:
                caught = error
        if caught is None:
            assert tree.state() == "new" and not pending(tree.root)
        else:
            assert "No space left on device" in str(caught) and "\n" not in str(caught)
            again = "again by the next run" in str(caught)
            said.add(again)
            assert bool(pending(tree.root)) <= again
            recover(tree.root)
            assert tree.state() == "old"
        assert tree.shape() == shape and not leftovers(tree.root)
        return bool(fired)

    assert moments(attempt) > 80
    assert said == ({False} if once else {False, True})


def test_p09_interrupted_at_every_moment(fresh) -> None:
    seen = set()

    def attempt(moment: int) -> bool:
        tree = fresh()
        shape = tree.shape()
        interrupted = False
        with pytest.MonkeyPatch.context() as patch:
            intercept(patch, raising(moment, KeyboardInterrupt()))
            try:
                write_files(tree.root, tree.changes)
            except KeyboardInterrupt:
                interrupted = True
        seen.add((interrupted, tree.state()))
        assert tree.shape() == shape and not pending(tree.root)
        assert tree.state() in (("old", "new") if interrupted else ("new",))
        assert not leftovers(tree.root)
        write_files(tree.root, tree.changes) if tree.state() == "old" else undo(tree.root)
        return interrupted

    assert moments(attempt) > 40
    assert seen >= {(True, "old"), (False, "new")}


def test_p09_a_second_interrupt_does_not_stop_the_way_back(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def interrupt(name: str, _: tuple) -> None:
        nonlocal calls
        if name == "replace":
            calls += 1
            if calls > 11:
                os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        intercept(patch, interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_files(tree.root, tree.changes)
    assert calls > 12, "the way back was to meet more interrupts"
    assert tree.state() == "old" and not pending(tree.root)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_p09_system_calls_that_write_one_byte_at_a_time(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:7])))
    write_files(tree.root, tree.changes)
    assert tree.state() == "new"
    undo(tree.root)
    assert tree.state() == "old"


def test_p09_everything_is_on_the_disk_before_what_relies_on_it(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[tuple[str, str]] = []
    link = "/proc/self/fd/{}" if Path("/proc/self/fd").exists() else "/dev/fd/{}"
    monkeypatch.setattr(os, "fsync", lambda handle: log.append(("sync", str(Path(link.format(handle)).readlink()))))
    replace, write = Path.replace, os.write

    def logged_replace(self: Path, target: Path) -> Path:
        log.append(("rename", str(target)))
        return replace(self, target)

    def logged_write(handle: int, data: bytes) -> int:
        log.append(("write", str(Path(link.format(handle)).readlink())))
        return write(handle, data)

    monkeypatch.setattr(Path, "replace", logged_replace)
    monkeypatch.setattr(os, "write", logged_write)
    write_files(tree.root, tree.changes)

    state = str(tree.root / ".torchless")
    record = f"{state}/journal/00000001.json"
    first, done = (i for i, entry in enumerate(log) if entry == ("rename", record))
    sources = [i for i, (what, path) in enumerate(log) if state not in path and what == "rename"]
    in_place = log.index(("write", str(tree.root / "csrc/kernels/hard.h")))
    assert len(sources) == 4
    assert log[first - 1] == ("sync", record + ".tmp") and log[first + 1] == ("sync", f"{state}/journal")
    assert log.index(("sync", f"{state}/blobs")) < first
    blobs = {i for i, (what, path) in enumerate(log) if what == "sync" and "/blobs/" in path}
    assert len(blobs) == len(tree.changes) + 1 and max(blobs) < first
    staged = {i for i, (what, path) in enumerate(log) if what == "sync" and ".torchless-1-" in path}
    assert len(staged) == 4 and first + 1 < min(staged) and max(staged) < min(*sources, in_place)
    folders = {log.index(("sync", str(tree.root / name))) for name in ("csrc", "csrc/kernels", "inc")}
    assert max(*sources, in_place) < min(folders) and max(folders) < done
    assert in_place < log.index(("sync", str(tree.root / "csrc/kernels/hard.h"))) < done


SCRIPT = """
import pathlib, sys, time
from torchless.text.writer import FileChange, write_files
root = pathlib.Path(sys.argv[1])
replace, count = pathlib.Path.replace, 0
def slow(self, target):
    global count
    result = replace(self, target)
    if ".torchless" not in pathlib.Path(target).relative_to(root).parts[0]:
        count += 1
        if count == int(sys.argv[2]):
            print("now", flush=True)
            time.sleep(60)
    return result
pathlib.Path.replace = slow
write_files(root, {f"f{i}.cu": FileChange(b"old", b"new") for i in range(4)})
"""


@pytest.mark.parametrize("replaced", [1, 2, 4])
def test_p09_kill_between_writes(tmp_path: Path, replaced: int) -> None:
    files = [tmp_path / f"f{i}.cu" for i in range(4)]
    for path in files:
        path.write_bytes(b"old")
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), str(replaced)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"now\n"
    with pytest.raises(WriteError, match=f"process {process.pid}"):
        recover(tmp_path)
    process.kill()
    process.communicate()
    assert [path.read_bytes() for path in files] == [b"new"] * replaced + [b"old"] * (4 - replaced)
    assert len(pending(tmp_path)) == 4
    report = recover(tmp_path)
    assert report.restored == tuple(path.name for path in files[:replaced]) and report.left == ()
    assert [path.read_bytes() for path in files] == [b"old"] * 4
    assert leftovers(tmp_path) == []


def half_written(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave ``tree`` with an interrupted write of which some files are new."""
    count = 0

    def stop(name: str, arguments: tuple) -> None:
        nonlocal count
        count += name == "replace" and ".torchless/" not in str(arguments[0])
        if count == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        intercept(monkeypatch, stop)
        write_files(tree.root, tree.changes)
        os._exit(0)
    os.waitpid(child, 0)
    assert tree.state() == "mixed"


def test_p09_undo_after_a_kill_takes_only_the_interrupted_write_back(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = tree.root / "extra.h"
    extra.write_bytes(b"1")
    write_files(tree.root, {"extra.h": FileChange(b"1", b"2")})
    half_written(tree, monkeypatch)
    assert undo(tree.root).number == 2
    assert tree.state() == "old" and extra.read_bytes() == b"2"
    assert undo(tree.root).number == 1
    assert extra.read_bytes() == b"1"


def test_p09_the_next_write_recovers_first(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    half_written(tree, monkeypatch)
    write_files(tree.root, tree.changes)
    assert tree.state() == "new"


def test_p09_what_was_edited_after_the_kill_is_left_and_named(tree, monkeypatch: pytest.MonkeyPatch) -> None:
    half_written(tree, monkeypatch)
    (tree.root / "csrc/plain.cu").write_bytes(b"edited by a person")
    (tree.root / "csrc/kernels/latin.h").unlink()
    report = recover(tree.root)
    assert report.left == ("csrc/kernels/latin.h", "csrc/plain.cu")
    assert (tree.root / "csrc/plain.cu").read_bytes() == b"edited by a person"
    assert not (tree.root / "csrc/kernels/latin.h").exists()
    assert (tree.root / "csrc/kernels/hard.h").read_bytes() == tree.changes["csrc/kernels/hard.h"].old
    assert recover(tree.root).left == () and not pending(tree.root)


def test_p09_a_truly_full_disk(tmp_path: Path, plant) -> None:
    mount = tmp_path / "disk"
    mount.mkdir()
    outcomes = []
    for kilobytes in range(40, 200, 8):
        command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(mount)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("may not mount a small disk here")
        try:
            tree = plant(mount)
            shape = tree.shape()
            try:
                write_files(mount, tree.changes)
            except WriteError as error:
                assert "No space left on device" in str(error) and "\n" not in str(error)
                recover(mount)
                assert tree.state() == "old"
            outcomes.append(tree.state())
            assert tree.shape() == shape and not leftovers(mount)
        finally:
            subprocess.run(["umount", str(mount)], check=True)
    assert outcomes[0] == "old" and outcomes[-1] == "new"
    assert outcomes == sorted(outcomes, reverse=True)
