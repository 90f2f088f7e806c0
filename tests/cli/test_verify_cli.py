"""`torchless verify` on the bundled example: every rung, in the words of a person, a program and a pull request."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from torchless.text.writer import FileChange, write_files
from torchless.verify.compilers import find_compiler
from torchless.verify.trace import TraceError

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
        (["--rungs", ""], "no rung named ''"),
        (["--since", "-v"], "git knows no revision '-v'"),
        (["nothing.cu"], "nothing.cu: No such file or directory"),
        (["--trials", "0"], "0"),
        (["-o", "nofolder/result.json"], "nofolder/result.json: cannot be written: there is no folder "),
        (["-o", "csrc"], "csrc: cannot be written: it is a folder"),
    ],
)
def test_bad_input_is_one_line(run, committed, arguments, said):
    done = run("verify", *arguments, cwd=committed)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(("named", "why"), [("/nowhere/clang++", "cannot be run"), ("true", "is not a clang")])
def test_a_compiler_that_is_none_is_said_at_once(run, committed, monkeypatch, named, why):
    find_compiler.cache_clear()
    monkeypatch.setenv("TORCHLESS_CLANG", named)
    done = run("verify", "--since", "HEAD", cwd=committed)
    assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
    assert f"TORCHLESS_CLANG is {named!r}, which {why}" in done.err
    find_compiler.cache_clear()


def test_without_git_there_must_have_been_a_write(run, mini_aiter):
    done = run("verify", cwd=mini_aiter)
    assert done.code == 2
    assert "git: " in done.err


def test_without_git_on_the_path(run, committed, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = run("verify", "--since", "HEAD", cwd=committed)
    assert (done.code, done.err) == (2, "torchless: error: cannot run git: No such file or directory\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda journal, blob: journal.write_text('{"version": 1, "done"'), "cannot read the journal "),
        (lambda journal, blob: journal.write_text("[]"), "cannot read the journal "),
        (lambda journal, blob: blob.unlink(), ": No such file or directory"),
        (lambda journal, blob: blob.write_bytes(b"other bytes"), " is damaged"),
        (
            lambda journal, blob: journal.write_text(journal.read_text().replace('"done": true', '"done": false')),
            "a write was interrupted, so files may be half old, half new",
        ),
    ],
    ids=["truncated", "another thing", "a lost blob", "another blob", "interrupted"],
)
def test_a_journal_that_cannot_be_trusted(run, mini_aiter, spoil, said):
    change = {SOURCE: FileChange((mini_aiter / SOURCE).read_bytes(), b"// another text\n")}
    write_files(mini_aiter, change)
    (journal,) = (mini_aiter / ".torchless/journal").iterdir()
    (blob,) = (mini_aiter / ".torchless/blobs").iterdir()
    spoil(journal, blob)
    done = run("verify", "--rungs", "closure", cwd=mini_aiter)
    assert (done.code, done.out) == (2, b"")
    assert said in done.err
    assert done.err.startswith("torchless: error: ") and done.err.count("\n") == 1


def test_without_a_compiler_a_rung_does_not_run_and_nothing_is_claimed(run, committed, monkeypatch):
    monkeypatch.setattr("torchless.verification.find_compiler", lambda: None)
    monkeypatch.setattr("torchless.verify.trace.toolchain.find_toolchain", _no_toolchain)
    (committed / SOURCE).write_bytes(b"// a line more\n" + (committed / SOURCE).read_bytes())
    done = run("verify", "--rungs", "device,trace", "--output-format", "json", cwd=committed)
    assert done.code == 0
    assert rungs(done.out, "module_scale") == {"device": "not run", "trace": "not run"}
    text = run("verify", "--rungs", "device,trace", cwd=committed).out.decode()
    assert "device   not run  no clang that knows AMDGPU on this machine" in text
    assert "trace    not run" in text and "which is not on the path" in text


def _no_toolchain(wanted: str = "") -> None:
    raise TraceError("the launch trace compiles host code and needs clang++ 17 or newer, which is not on the path")


def test_a_table_for_a_pull_request(run, committed):
    (committed / SOURCE).write_bytes(b"// a line more\n" + (committed / SOURCE).read_bytes())
    done = run("verify", "--rungs", "types", "--output-format", "markdown", "-o", "table.md", cwd=committed)
    assert (done.code, done.out) == (0, b"")
    assert "| module\\_scale | pass |" in (committed / "table.md").read_text()
