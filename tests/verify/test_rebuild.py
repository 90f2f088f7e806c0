"""Rung 5: builds through a JIT like aiter's, in copies. What decides is exceptions and files, never words in a log."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from fake_jit import CONFIG, CORE, SOURCES, checkout, install_tools

from torchless import cli
from torchless.project.discover import load
from torchless.verify.answer import Answer, Verdict
from torchless.verify.rebuild import (
    RebuildOptions,
    Rebuilt,
    Workshop,
    judge_rebuild,
    missing_rocm,
    only_ctypes,
    rebuild,
    rebuild_module,
)
from torchless.verify.shadow import lay_out
from torchless.verify.tree import Tree

BROKEN = b"#error no\n"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hipcc and a hipconfig on the path; gives the log of what hipcc was called with."""
    folder, log = install_tools(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name in ("ROCM_HOME", "ROCM_PATH", "CU_NUM", "FAKE_FORGETS"):
        monkeypatch.delenv(name, raising=False)
    return log


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return checkout(tmp_path / "checkout")


def answer(root: Path, before: Tree, after: Tree, name: str = "module_one", **options: object) -> Answer:
    project = load(root)
    (module,) = [m for m in project.modules if m.name == name]
    shop = Workshop(before, after)
    try:
        return rebuild(project, module, shop, RebuildOptions(**options))  # type: ignore[arg-type]
    finally:
        shop.close()


def running() -> list[bytes]:
    """The command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes())
    return found


def everything(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_both_versions_are_built_and_the_checkout_stays_as_it_is(root, tools):
    (root / "aiter/jit/module_one.so").write_bytes(b"\x7fELF of yesterday")
    was = everything(root)
    said = answer(root, Tree(root, {SOURCES[0]: b"int old;\n"}), Tree(root), trials=2)
    assert (said.verdict, said.name) == (Verdict.PASS, "rebuild")
    figures = dict(said.figures)
    assert len(figures["seconds_before"]) == len(figures["seconds_after"]) == 2
    assert all(seconds > 0 for seconds in (*figures["seconds_before"], *figures["seconds_after"]))
    assert said.detail.startswith("builds for gfx942: ") and " s before, " in said.detail
    assert everything(root) == was


def test_builds_alternate_each_in_a_process_of_its_own(root, tools):
    answer(root, Tree(root, {SOURCES[0]: b"int old;\n"}), Tree(root), trials=2)
    compiled = [line.split() for line in tools.read_text().splitlines() if "-shared" not in line]
    of = [words[words.index("-c") + 1].split("/")[-4] for words in compiled]
    assert of == ["before"] * 2 + ["after"] * 2 + ["before"] * 2 + ["after"] * 2
    assert len({words[0] for words in compiled}) == 4


def test_a_build_that_fails_and_says_that_it_finished(root, tools):
    said = answer(root, Tree(root), Tree(root, {SOURCES[1]: BROKEN}))
    assert said.verdict is Verdict.FAIL
    assert said.detail == "no longer builds for gfx942"
    assert said.evidence[0].startswith("RuntimeError: [aiter] build [module_one] under ")
    assert any("two.cu:1:2: error: this does not compile" in line for line in said.evidence)
    assert dict(said.figures)["seconds_after"] == ()
    # the words that must not decide are there
    copy = lay_out(Tree(root, {SOURCES[1]: BROKEN}), root.parent / "copy")
    job = {"root": str(copy), "module": "module_one", "ctypes": False}
    (root.parent / "job.json").write_text(json.dumps(job))
    script = Path(__file__).resolve().parents[2] / "torchless/verify/alone/rebuild_one.py"
    done = subprocess.run(
        ["python3", str(script), "job.json", "answer.json"],
        cwd=root.parent,
        env={**os.environ, "AITER_REBUILD": "1", "GPU_ARCHS": "gfx942"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, json.loads((root.parent / "answer.json").read_text())["ok"]) == (1, False)
    assert b"finish build [module_one], cost" in done.stderr


def test_a_jit_that_raises_nothing_must_have_made_a_library(root, tools, monkeypatch):
    monkeypatch.setenv("FAKE_FORGETS", "1")
    (root / "aiter/jit/module_one.so").write_bytes(b"\x7fELF of yesterday")
    copy = lay_out(Tree(root), root.parent / "copy")
    (copy / "aiter/jit/module_one.so").write_bytes(b"\x7fELF of the last build")
    built = rebuild_module(copy, "module_one", False, RebuildOptions())
    assert built.problem == "the JIT raised nothing, but there is no new module_one.so"


def test_what_is_made_must_be_a_library(root, tools):
    core = root / "aiter/jit/core.py"
    core.write_text(CORE.replace("shutil.copy(folder", "open(get_user_jit_dir() + '/module_one.so', 'w') or (folder"))
    copy = lay_out(Tree(root), root.parent / "copy")
    built = rebuild_module(copy, "module_one", False, RebuildOptions())
    assert built.problem == "the JIT raised nothing, but module_one.so is no shared object"


def test_the_sidecar_of_an_earlier_build_is_taken_away(root, tools):
    copy = lay_out(Tree(root), root.parent / "copy")
    for _ in range(2):
        assert not rebuild_module(copy, "module_one", False, RebuildOptions()).problem
    assert "-DKIDS=0" in tools.read_text() and "-DKIDS=1" not in tools.read_text()


def test_a_ctypes_module_is_built_as_the_runtime_builds_it(root, tools):
    project = load(root)
    one, plain = project.modules
    assert (only_ctypes(project, one), only_ctypes(project, plain)) == (False, True)
    copy = lay_out(Tree(root), root.parent / "copy")
    assert rebuild_module(copy, "module_plain", True, RebuildOptions()).torch_exclude
    assert "TORCH_EXTENSION_NAME" not in tools.read_text()
    assert not rebuild_module(copy, "module_one", False, RebuildOptions()).torch_exclude
    assert "-DTORCH_EXTENSION_NAME=module_one" in tools.read_text()


def test_the_seconds_of_each_source_come_from_ninjas_log(root, tools):
    copy = lay_out(Tree(root), root.parent / "copy")
    built = rebuild_module(copy, "module_one", False, RebuildOptions(arches=("gfx942",)))
    assert [unit.source for unit in built.units] == list(SOURCES)
    assert all(unit.seconds >= 0 for unit in built.units)
    assert built.units[0].started <= built.units[1].started


def test_a_version_that_never_built_is_no_measure(root, tools):
    said = answer(root, Tree(root, {SOURCES[0]: BROKEN}), Tree(root))
    assert said.verdict is Verdict.PASS
    assert said.unseen[0].startswith("the old version does not build: RuntimeError: ")
    both = answer(root, Tree(root, {SOURCES[0]: BROKEN}), Tree(root, {SOURCES[0]: BROKEN}))
    assert (both.verdict, both.detail) == (Verdict.NOT_RUN, "neither version builds here")


def test_a_build_that_hangs_is_ended_with_all_that_it_started(root, tools):
    copy = lay_out(Tree(root, {SOURCES[0]: b"// SLEEP\n"}), root.parent / "copy")
    built = rebuild_module(copy, "module_one", False, RebuildOptions(timeout=2))
    assert built.problem == "no answer after 2 s"
    until = time.monotonic() + 20  # a process that was killed is there until somebody has reaped it
    while any(str(copy).encode() in command for command in running()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(str(copy).encode() in command for command in running())


def test_an_interpreter_that_is_not_there(root, tools):
    copy = lay_out(Tree(root), root.parent / "copy")
    built = rebuild_module(copy, "module_one", False, RebuildOptions(python="/no/such/python"))
    assert built.problem == "/no/such/python: No such file or directory"


def test_without_rocm_nothing_is_claimed(root, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.delenv("ROCM_HOME", raising=False)
    if Path("/opt/rocm/bin/hipcc").exists():
        pytest.skip("this machine has ROCm where everybody looks for it")
    assert missing_rocm() == "no hipcc and no hipconfig on this machine: it takes ROCm"
    said = answer(root, Tree(root), Tree(root))
    assert (said.verdict, said.detail) == (Verdict.NOT_RUN, missing_rocm())


def test_a_checkout_without_a_jit(root, tools):
    (root / "aiter/jit/core.py").unlink()
    assert answer(root, Tree(root), Tree(root)).detail == "the checkout has no aiter/jit/core.py"


def test_the_environment_does_not_lead_out_of_the_copy(root, tools, monkeypatch, tmp_path):
    monkeypatch.setenv("AITER_JIT_DIR", str(tmp_path / "elsewhere"))
    copy = lay_out(Tree(root), root.parent / "copy")
    assert not rebuild_module(copy, "module_one", False, RebuildOptions()).problem
    assert not (tmp_path / "elsewhere").exists()


def test_a_copy_holds_one_version_and_links_the_rest(root):
    (root / "aiter/jit/build/module_one").mkdir(parents=True)
    (root / "aiter/jit/module_one.so").write_bytes(b"old")
    (root / "csrc/kernels/new.cu").write_text("int n;\n")
    (root / "hsa").mkdir()
    before = Tree(root, {SOURCES[0]: b"old one\n", "csrc/gone.h": b"gone\n"}, frozenset({"csrc/kernels/new.cu"}))
    copy = lay_out(before, root.parent / "copy")
    assert (copy / SOURCES[0]).read_bytes() == b"old one\n"
    assert (copy / "csrc/gone.h").read_bytes() == b"gone\n"
    assert not (copy / "csrc/kernels/new.cu").exists()
    assert not (copy / "aiter/jit/build").exists() and not (copy / "aiter/jit/module_one.so").exists()
    assert (copy / "hsa").is_symlink() and (copy / "3rdparty/lib").is_symlink()
    assert not (copy / "3rdparty").is_symlink() and not (copy / "csrc").is_symlink()
    assert (root / SOURCES[0]).read_bytes() != b"old one\n"


def with_generator(root: Path) -> Path:
    config = json.loads((root / CONFIG).read_text())
    config["module_one"]["blob_gen_cmd"] = "f'{AITER_CSRC_DIR}/print.py'"
    (root / CONFIG).write_text(json.dumps(config))
    (root / "csrc/print.py").write_text("print('// sources')\n")
    return root


def test_what_the_jit_looks_away_from_is_seen(root, tools):
    with_generator(root)
    spoilt = Tree(root, {"csrc/print.py": b"raise SystemExit(3)\n"})
    said = answer(root, Tree(root), spoilt)
    assert (said.verdict, said.detail) == (
        Verdict.FAIL,
        "the JIT went on after a failure that the old version does not have",
    )
    assert said.evidence[0].startswith("exit code 3: ") and "csrc/print.py" in said.evidence[0]
    both = answer(root, spoilt, spoilt)
    assert both.verdict is Verdict.PASS
    assert both.unseen[0].startswith("the JIT went on without: exit code 3: ")
    gone = Tree(root, {}, frozenset({SOURCES[1]}))
    said = answer(root, Tree(root), gone)
    assert (said.verdict, said.evidence) == (Verdict.FAIL, (f"no such source: {SOURCES[1]}",))
    assert answer(root, Tree(root), Tree(root)).unseen == ()


def test_what_a_gen_func_builds_is_not_claimed(root, tools):
    ops = root / "aiter/ops/one.py"
    ops.write_text(
        ops.read_text() + "@compile_ops('module_one', gen_func=more)\ndef one_more(x: Tensor) -> None: ...\n"
    )
    said = answer(root, Tree(root), Tree(root))
    assert said.verdict is Verdict.PASS
    assert said.unseen == ("one_more: built under names of their own when they are first called",)


def test_symbols_of_torch_are_counted_where_they_can_be_read():
    before = [Rebuilt("m", 12.0, torch_symbols=40)]
    said = judge_rebuild(before, [Rebuilt("m", 5.0, torch_symbols=0)], "gfx942")
    assert said.evidence == ("symbols of torch in the new library: 0, 40 before",)
    assert said.detail == "builds for gfx942: 12.0 s before, 5.0 s after"


def test_the_command_writes_a_result_to_attach(root, tools, monkeypatch, capfd):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "start"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    (root / SOURCES[0]).write_text('#include "shared.h"\nint new_one;\n')
    monkeypatch.chdir(root)
    assert cli.main(["verify", "--rungs", "rebuild,tests", "-o", "result.json"]) == 0
    assert capfd.readouterr() == ("", "")
    result = json.loads((root / "result.json").read_text())
    (module,) = result["modules"]
    built, tested = module["rungs"]
    assert (module["module"], built["rung"], built["verdict"]) == ("module_one", "rebuild", "pass")
    assert built["figures"]["seconds_before"] and built["figures"]["seconds_after"]
    assert (tested["rung"], tested["verdict"]) == ("tests", "not run")
    (root / SOURCES[0]).write_bytes(BROKEN)
    assert cli.main(["verify", "--rungs", "rebuild"]) == 3
    assert "rebuild  FAIL" in capfd.readouterr().out
