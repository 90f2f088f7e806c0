"""What a person sees who has the hooks: a leak is caught in the commit and mended; everything else goes through."""

from __future__ import annotations

import sys

from tests.hooks.conftest import DEPTH, LEAK, Repository

THIRD = "csrc/include/deep/third.h"


def leak(repository: Repository) -> None:
    repository.write(THIRD, DEPTH[THIRD].replace(b"#pragma once\n", b"#pragma once\n" + LEAK))


def test_a_leak_three_headers_deep_is_caught_and_mended(repository: Repository) -> None:
    leak(repository)
    refused = repository.commit("Leak")
    assert refused.code != 0
    assert f"{THIRD}:2:" in refused.text
    chain = ["csrc/kernels/clean.cu", "csrc/include/deep/first.h", "csrc/include/deep/second.h", THIRD, "torch/all.h"]
    places = [refused.text.find(step) for step in chain]
    assert -1 not in places

    mended = repository.hook("torchless-fix", "--hook-stage", "manual", "--files", THIRD)
    assert "files were modified by this hook" in mended.text
    assert repository.read(THIRD) == DEPTH[THIRD]
    assert repository.run("git", "diff", "--cached", "--name-only").text.split() == [THIRD]
    repository.write("csrc/include/deep/note.h", b"#pragma once\n")
    assert repository.commit("Mended").code == 0


def test_a_commit_that_brings_no_torch_goes_through(repository: Repository) -> None:
    repository.write(THIRD, DEPTH[THIRD].replace(b"3", b"4"))
    done = repository.commit("Change")
    assert done.code == 0, done.text


def test_what_is_in_the_baseline_does_not_stop_a_commit(repository: Repository) -> None:
    path = "csrc/kernels/norm_kernels.cu"
    repository.write(path, b"// A line more, so that every other one moves.\n" + repository.read(path))
    done = repository.commit("Move")
    assert done.code == 0, done.text


def test_many_files_and_runs_at_once(repository: Repository) -> None:
    for number in range(300):
        body = b"#pragma once\n" + (LEAK if number % 100 == 0 else b"") + b"inline int f%d() { return 1; }\n" % number
        repository.write(f"csrc/include/many/h{number}.h", body)
    repository.run("git", "add", "-A")
    command = (sys.executable, "-m", "pre_commit", "run", "torchless-check", "--all-files")
    runs = [repository.start(*command) for _ in range(3)]
    texts = [run.communicate()[0].decode() for run in runs]
    assert [run.returncode for run in runs] == [1, 1, 1]
    for text in texts:
        assert "Traceback" not in text
        for number in (0, 100, 200):
            assert f"csrc/include/many/h{number}.h:2:" in text


def test_two_writers_at_once_leave_every_file_whole(repository: Repository) -> None:
    leak(repository)
    repository.run("git", "add", "-A")
    arguments = ("--hook-stage", "manual", "--files", THIRD)
    command = (sys.executable, "-m", "pre_commit", "run", "torchless-fix", *arguments)
    runs = [repository.start(*command) for _ in range(2)]
    texts = [run.communicate()[0].decode() for run in runs]
    assert repository.read(THIRD) == DEPTH[THIRD]
    assert all("Traceback" not in text for text in texts)
