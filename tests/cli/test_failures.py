"""Bad input and bad luck: one line on stderr, the right exit code, and every file as it was."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_samples import MIGRATED, NEW, OLD, result

from torchless import api
from torchless.text import journal, writer


def assert_refused(ran, *words: str, code: int = 2) -> None:
    assert ran.code == code
    assert ran.out == b""
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.startswith("torchless: error: ")
    for word in words:
        assert word in ran.err


def test_a_usage_error_of_the_engine(run, fake, checkout):
    fake(api.UsageError("csrc/none: no such file or folder"))
    assert_refused(run("migrate", "csrc/none", cwd=checkout), "csrc/none: no such file or folder")


def test_unknown_codes_name_near_ones(run, fake, checkout):
    fake(result())
    assert_refused(run("migrate", "--select", "TL2,TL302x", cwd=checkout), "unknown code 'TL302X'", "TL302")
    assert_refused(run("migrate", "--ignore", "E501", cwd=checkout), "unknown code 'E501'")
    assert_refused(run("explain", "TL999", cwd=checkout), "unknown code 'TL999'")
    assert_refused(run("explain", "torch-check", cwd=checkout), "that is the name of TL301")
    assert_refused(run("explain", "TL3", cwd=checkout), "TL3 stands for several rules")


def test_an_unknown_flag_and_a_bad_value(run, checkout):
    assert_refused(run("migrate", "--wriet", cwd=checkout), "--wriet", "--write")
    assert_refused(run("migrate", "--jobs", "many", cwd=checkout), "many")
    assert_refused(run("migrate", "--arch", "sm_90", cwd=checkout), "sm_90")
    assert_refused(run("migrate", "-D", "1=2", cwd=checkout), "1=2")
    assert_refused(run("migrate", "-I", "nowhere", cwd=checkout), "no such include folder: ")
    assert_refused(run("migrate", "--rules", "nowhere.toml", cwd=checkout), "nowhere.toml")


def test_an_internal_error_is_one_line_and_a_trace_on_request(run, fake, checkout):
    fake(RuntimeError("the sky\nfell"))
    assert_refused(run("migrate", cwd=checkout), "internal error: RuntimeError: the sky fell", "please report")
    assert "Traceback" in run("migrate", "-v", cwd=checkout).err


def test_an_interrupt_is_one_line_and_writes_nothing(run, fake, checkout):
    fake(KeyboardInterrupt())
    assert_refused(run("migrate", "--write", cwd=checkout), "interrupted")
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD


def test_write_then_undo(run, fake, checkout):
    fake(result(MIGRATED, root=checkout))
    ran = run("migrate", "--write", cwd=checkout)
    assert (ran.code, ran.out) == (0, b"")
    assert "torchless undo" in ran.err
    assert (checkout / "csrc/scale.cu").read_bytes() == NEW
    undone = run("undo", cwd=checkout)
    assert undone.code == 0
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD


def test_undo_works_from_a_folder_below(run, fake, checkout):
    fake(result(MIGRATED, root=checkout))
    run("migrate", "--write", cwd=checkout)
    assert run("undo", cwd=checkout / "csrc").code == 0
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD


def test_undo_without_a_write(run, checkout):
    assert_refused(run("undo", cwd=checkout), "nothing to undo")


@pytest.mark.parametrize("how", ["modified", "staged", "untracked"])
def test_write_refuses_what_git_could_not_bring_back(run, fake, repository, how):
    file = repository / "csrc/scale.cu"
    if how == "untracked":
        subprocess.run(["git", "rm", "-q", "--cached", "csrc/scale.cu"], cwd=repository, check=True)
    else:
        file.write_bytes(OLD + b"// mine\n")
    if how == "staged":
        subprocess.run(["git", "add", "."], cwd=repository, check=True)
    before = file.read_bytes()
    fake(result(MIGRATED, root=repository))
    assert_refused(run("migrate", "--write", cwd=repository), "csrc/scale.cu", "--allow-dirty")
    assert file.read_bytes() == before


def test_other_dirty_files_do_not_matter(run, fake, repository):
    (repository / "notes.txt").write_text("mine")
    fake(result(MIGRATED, root=repository))
    assert run("migrate", "--write", cwd=repository).code == 0


def test_allow_dirty_writes(run, fake, repository):
    subprocess.run(["git", "rm", "-q", "--cached", "csrc/scale.cu"], cwd=repository, check=True)
    fake(result(MIGRATED, root=repository))
    assert run("migrate", "--write", "--allow-dirty", cwd=repository).code == 0
    assert (repository / "csrc/scale.cu").read_bytes() == NEW


def test_a_dirty_file_is_seen_from_a_checkout_inside_a_larger_tree(run, fake, repository):
    inner = repository / "examples" / "inner"
    (inner / "csrc").mkdir(parents=True)
    (inner / "csrc" / "scale.cu").write_bytes(OLD)
    fake(result(MIGRATED, root=inner))
    assert_refused(run("migrate", "--write", cwd=inner), " csrc/scale.cu", "uncommitted")


def test_a_git_that_does_not_answer_stops_the_write(run, fake, checkout, monkeypatch):
    (checkout / ".git").mkdir()
    fake(result(MIGRATED, root=checkout))
    assert_refused(run("migrate", "--write", cwd=checkout), "git: fatal: not a git repository")
    monkeypatch.setenv("PATH", "")
    assert_refused(run("migrate", "--write", cwd=checkout), "cannot run git")
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD
    assert run("migrate", "--write", "--allow-dirty", cwd=checkout).code == 0


def test_what_a_killed_run_left_is_taken_back_before_anything_is_read(run, fake, checkout, monkeypatch):
    def die(*arguments: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(journal, "finish", die)
        patch.setattr(writer, "_back_out", lambda *arguments: None)
        with pytest.raises(SystemExit):
            writer.write_files(checkout, {"csrc/scale.cu": api.FileChange(OLD, NEW)})
    assert (checkout / "csrc/scale.cu").read_bytes() == NEW
    asked = fake(result())
    ran = run("migrate", "csrc", cwd=checkout)
    assert len(asked) == 1
    assert ran.err.startswith("Took an interrupted write back (1 file).\n")
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD


def test_a_result_that_would_not_compile_is_not_written(run, fake, checkout):
    fake(result(MIGRATED, root=checkout, mergeable=False))
    assert_refused(run("migrate", "--write", cwd=checkout), "target's headers")
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD
    assert "cannot be merged here" in run("migrate", cwd=checkout).err


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_full_disk_leaves_every_file_as_it_was(run, fake, checkout, monkeypatch, call):
    def full(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    fake(result(MIGRATED, root=checkout))
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        assert_refused(run("migrate", "--write", cwd=checkout), "No space left on device")
    assert (checkout / "csrc/scale.cu").read_bytes() == OLD
    assert [p.name for p in (checkout / "csrc").iterdir()] == ["scale.cu"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_below_stdout(spawn, tmp_path):
    with Path("/dev/full").open("wb") as stdout:
        assert_refused(spawn("rules", cwd=tmp_path, stdout=stdout), "cannot write to stdout", "No space left")


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(run, fake, checkout):
    (checkout / "csrc/scale.cu").write_bytes(OLD + b"// saved by an editor meanwhile\n")
    fake(result(MIGRATED, root=checkout))
    assert_refused(run("migrate", "--write", cwd=checkout), "csrc/scale.cu")
    assert b"meanwhile" in (checkout / "csrc/scale.cu").read_bytes()


def test_the_module_runs_as_a_program(tmp_path):
    done = subprocess.run([sys.executable, "-m", "torchless", "--version"], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0


def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, importlib.abc\n"
        "class Stop(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torchless.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-m", "torchless", "rules"], capture_output=True, env=environment)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"torchless: error: interrupted; nothing was done\n"
