"""`torchless verify --rebuild --tests -o FILE`: one command for a machine with ROCm, over a stub of its compiler."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.verify.fake_jit import SOURCES, checkout, install_tools


@pytest.fixture
def rocm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A committed checkout with a JIT, and the tools that it wants on the path."""
    folder, _ = install_tools(tmp_path / "tools")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    root = checkout(tmp_path / "checkout")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "start"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    return root


def rebuilt(run, root: Path, *more: str, code: int) -> dict[str, dict[str, object]]:
    asked = ("--rungs", "closure", "--rebuild", "--tests", "--max-jobs", "1", *more, "-o", "result.json")
    ran = run("verify", *asked, cwd=root)
    assert (ran.code, ran.out) == (code, b""), ran.err
    report = json.loads((root / "result.json").read_text())
    assert report["compared_with"] == "HEAD" and report["failed"] is (code == 3)
    (module,) = report["modules"]
    assert module["module"] == "module_one"
    assert [rung["rung"] for rung in module["rungs"]] == ["closure", "rebuild", "tests"]
    return {rung["rung"]: rung for rung in module["rungs"]}


def test_both_versions_are_built_in_turns_and_the_result_can_be_attached(run, rocm, monkeypatch):
    monkeypatch.setattr("torchless.verify.op_tests._KFD", rocm / "no-such-device")
    (rocm / SOURCES[1]).write_text('#include "shared.h"\nint two = 2;\n')
    told = rebuilt(run, rocm, "--trials", "2", code=0)
    assert told["rebuild"]["verdict"] == "pass"
    figures = told["rebuild"]["figures"]
    assert len(figures["seconds_before"]) == len(figures["seconds_after"]) == 2
    assert told["tests"]["verdict"] == "not run" and "no GPU" in told["tests"]["detail"]
    assert not (rocm / "aiter/jit/build").exists()  # built in copies
    markdown = run("verify", "--rungs", "closure", "--rebuild", "--output-format", "markdown", cwd=rocm).out.decode()
    assert "| module | closure | rebuild |" in markdown and "| module\\_one | pass | pass |" in markdown


def test_the_ops_scripts_run_where_a_gpu_is(run, rocm, tmp_path, monkeypatch):
    device = tmp_path / "kfd"
    device.write_text("")
    monkeypatch.setattr("torchless.verify.op_tests._KFD", device)
    (rocm / "op_tests/test_one.py").write_text("# one_forward\nprint('fine')\n")
    (rocm / SOURCES[0]).write_text('#include "shared.h"\nint one = 1;\n')
    told = rebuilt(run, rocm, code=0)
    assert (told["tests"]["verdict"], told["tests"]["detail"]) == ("pass", "1 of 1 scripts pass")


def test_a_build_that_fails_after_it_said_finish_fails_the_run(run, rocm):
    (rocm / SOURCES[1]).write_text('#include "shared.h"\n#ifndef __clang__\n#error no\n#endif\nint two;\n')
    told = rebuilt(run, rocm, code=3)
    assert told["rebuild"]["verdict"] == "fail"
    assert "no longer builds for gfx942" in told["rebuild"]["detail"]
    assert any("two.cu:1:2: error: this does not compile" in line for line in told["rebuild"]["evidence"])
    assert told["rebuild"]["figures"]["seconds_after"] == []


def test_without_rocm_both_rungs_say_so_and_nothing_is_claimed(run, rocm, monkeypatch):
    monkeypatch.setattr("torchless.verify.rebuild.missing_rocm", lambda: "no hipcc on this machine: it takes ROCm")
    monkeypatch.setattr("torchless.verify.op_tests.missing_rocm", lambda: "no hipcc on this machine: it takes ROCm")
    (rocm / SOURCES[1]).write_text('#include "shared.h"\nint two = 2;\n')
    told = rebuilt(run, rocm, code=0)
    assert {(told[r]["verdict"], told[r]["detail"]) for r in ("rebuild", "tests")} == {
        ("not run", "no hipcc on this machine: it takes ROCm")
    }
