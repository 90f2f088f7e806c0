"""`torchless verify` on the bundled example: every rung, in the words of a person, a program and a pull request."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

SOURCE = "csrc/kernels/scale_kernels.cu"
CHEAP = "types,closure,device"


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=someone", "-c", "user.email=someone@example.invalid"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def committed(mini_aiter: Path) -> Path:
    git(mini_aiter, "init", "-q")
    git(mini_aiter, "add", "-A")
    git(mini_aiter, "commit", "-q", "-m", "start")
    return mini_aiter


def rungs(out: bytes, module: str) -> dict[str, str]:
    (found,) = [m for m in json.loads(out)["modules"] if m["module"] == module]
    return {rung["rung"]: rung["verdict"] for rung in found["rungs"]}


@pytest.mark.clang
def test_a_migrated_module_passes_and_a_spoilt_one_does_not(run, committed):
    assert run("migrate", "csrc", "--write", cwd=committed).code == 1  # the other module is blocked
    done = run("verify", "--module", "module_scale", "--rungs", CHEAP, "--output-format", "json", cwd=committed)
    assert done.code == 0
    assert rungs(done.out, "module_scale") == {"types": "pass", "closure": "pass", "device": "pass"}
    assert json.loads(done.out)["compared_with"] == "the last write"

    path = committed / SOURCE
    good = path.read_text()
    path.write_text(good.replace("] * ", "] + ", 1))
    spoilt = run("verify", "--since", "HEAD", "--module", "module_scale", "--rungs", CHEAP, cwd=committed)
    assert spoilt.code == 3
    assert b"device   FAIL" in spoilt.out
    assert b"aiter::scale_rows_kernel<float>" in spoilt.out
    path.write_text("#include <torch/all.h>\n" + good)
    leaking = run("verify", "--since", "HEAD", "--module", "module_scale", "--rungs", "closure", cwd=committed)
    assert leaking.code == 3
    assert f"{SOURCE} -> torch/all.h".encode() in leaking.out


@pytest.mark.clang
def test_a_module_that_nobody_edited_makes_no_claim(run, committed):
    header = committed / "csrc/include/rocm_ops.hpp"
    header.write_bytes(header.read_bytes() + b"// a line more\n")
    done = run("verify", "--module", "module_norm", "--rungs", "closure", "--output-format", "json", cwd=committed)
    assert done.code == 0
    assert rungs(done.out, "module_norm") == {"closure": "not run"}


def test_nothing_to_compare_is_said(run, committed):
    done = run("verify", cwd=committed)
    assert (done.code, done.out) == (
        0,
        b"compared with HEAD: 0 files differ\nnote: nothing differs between the two versions\n",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rungs", "guess"], "no rung named 'guess': choose from types, closure, device, trace"),
        (["--since", "nowhere"], "git knows no revision 'nowhere' (in a shallow clone: fetch it first)"),
        (["--module", "module_scal"], "no module named module_scal in "),
        (["nothing.cu"], "nothing.cu: No such file or directory"),
    ],
)
def test_bad_input_is_one_line(run, committed, arguments, said):
    done = run("verify", *arguments, cwd=committed)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_without_git_there_must_have_been_a_write(run, mini_aiter):
    done = run("verify", cwd=mini_aiter)
    assert done.code == 2
    assert "git: " in done.err


def test_a_table_for_a_pull_request(run, committed):
    (committed / SOURCE).write_bytes(b"// a line more\n" + (committed / SOURCE).read_bytes())
    done = run("verify", "--rungs", "types", "--output-format", "markdown", "-o", "table.md", cwd=committed)
    assert (done.code, done.out) == (0, b"")
    assert "| module\\_scale | pass |" in (committed / "table.md").read_text()
