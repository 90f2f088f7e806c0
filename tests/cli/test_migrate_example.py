"""The command line over the real engine and the bundled example."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from torchless.report.json import schema

ROOT = Path(__file__).resolve().parents[2]
SCALE = {
    "aiter/ops/scale.py",
    "csrc/include/rocm_ops.hpp",
    "csrc/include/scale.h",
    "csrc/kernels/scale_kernels.cu",
    "csrc/pybind/scale_pybind.cu",
}


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file below ``root`` but the journal's, by relative path."""
    files = (path for path in root.rglob("*") if path.is_file() and ".torchless" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


@pytest.fixture(scope="module")
def pending(tmp_path_factory):
    """One dry run over the example: (code, diff, report, JSON object)."""
    root = shutil.copytree(ROOT / "examples" / "mini-aiter", tmp_path_factory.mktemp("engine") / "mini-aiter")
    runs = []
    for flags in ([], ["--output-format", "json"]):
        command = [sys.executable, "-m", "torchless", "migrate", "csrc", *flags]
        runs.append(subprocess.run(command, cwd=root, capture_output=True, check=False))
    assert snapshot(root) == snapshot(ROOT / "examples" / "mini-aiter")
    return runs[0].returncode, runs[0].stdout, runs[0].stderr.decode(), json.loads(runs[1].stdout)


def test_one_module_migrates_and_one_is_blocked(pending):
    code, diff, report, described = pending
    assert code == 1 == described["exit_code"]
    status = {unit["modules"][0]: unit["status"] for unit in described["units"] if unit["modules"]}
    assert status == {"module_scale": "migrated", "module_norm": "blocked"}
    assert set(re.findall(rb"^\+\+\+ b/(.+)$", diff, re.M)) == {path.encode() for path in SCALE}
    assert {change["path"] for change in described["changes"]} == SCALE
    assert re.search(r"^  csrc/kernels/norm_kernels\.cu:\d+:\d+ TL294 ", report, re.M)
    assert "TL301" in described["summary"]["findings"]


def test_the_json_follows_the_schema(pending):
    jsonschema.validate(pending[3], schema(), cls=jsonschema.Draft202012Validator)


def test_the_blocked_unit_names_every_blocker_and_has_no_edits_in_the_diff(pending):
    blocked = next(unit for unit in pending[3]["units"] if unit["status"] == "blocked")
    assert {finding["code"] for finding in blocked["findings"] if finding["blocks"]} >= {"TL294"}
    assert b"norm" not in b"\n".join(line for line in pending[1].splitlines() if line.startswith((b"+", b"-")))


def test_the_ledger_says_what_the_caller_will_notice(pending):
    migrated = next(unit for unit in pending[3]["units"] if unit["status"] == "migrated")
    assert migrated["ledger"]
    assert "for the caller:" in pending[2]


def test_git_applies_the_diff_and_a_second_run_changes_nothing(pending, mini_aiter, run):
    before = snapshot(mini_aiter)
    subprocess.run(["git", "apply"], cwd=mini_aiter, input=pending[1], check=True)
    assert changed(before, snapshot(mini_aiter)) == SCALE
    ran = run("migrate", "csrc", cwd=mini_aiter)
    assert ran.out == b""
    assert ran.code == 1  # module_norm is still blocked


def test_write_gives_the_same_bytes_as_the_diff_and_undo_takes_them_back(pending, mini_aiter, run, tmp_path):
    before = snapshot(mini_aiter)
    patched = shutil.copytree(mini_aiter, tmp_path / "patched")
    subprocess.run(["git", "apply"], cwd=patched, input=pending[1], check=True)
    ran = run("migrate", "csrc", "--write", cwd=mini_aiter)
    assert (ran.code, ran.out) == (1, b"")
    assert "Wrote 5 files" in ran.err
    assert snapshot(mini_aiter) == snapshot(patched)
    assert run("undo", cwd=mini_aiter).code == 0
    assert snapshot(mini_aiter) == before


def test_a_module_alone_is_done_when_it_is_written(mini_aiter, run):
    assert run("migrate", "--module", "module_scale", "--write", cwd=mini_aiter).code == 0
    assert "develop=True" in (mini_aiter / "aiter/ops/scale.py").read_text()
    assert "develop=True" not in (mini_aiter / "aiter/ops/norm.py").read_text()


def test_the_readme_shows_what_really_comes_out(pending):
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```diff\n(.*?)```", readme, re.S)[1]
    assert shown.encode() in pending[1]
    blocked = re.search(r"```text\n(.*?)```", readme, re.S)[1].splitlines()
    assert [line for line in pending[2].splitlines() if line in blocked] == blocked


def test_the_output_does_not_depend_on_order_or_workers(pending, mini_aiter, run):
    paths = ["csrc/kernels/scale_kernels.cu", "csrc/kernels/norm_kernels.cu"]
    for jobs, order in (("1", paths), ("2", paths[::-1])):
        assert run("migrate", "-j", jobs, "--no-cache", *order, cwd=mini_aiter).out == pending[1]


def test_why_joined(mini_aiter, run):
    run("migrate", "csrc", cwd=mini_aiter)  # so that there is a result to remember, which does not know why
    ran = run("migrate", "csrc", "--why-joined", "scale_rows", "clamp_rows", cwd=mini_aiter)
    assert ran.code == 0
    assert b"scale_rows" in ran.out and b"clamp_rows" in ran.out
    assert run("migrate", "csrc", "--why-joined", "scale_rows", "nothing", cwd=mini_aiter).code == 2


def make_fifo(root: Path) -> str:
    os.mkfifo(root / "csrc" / "pipe.cu")
    return "csrc/pipe.cu"


def make_dangling(root: Path) -> str:
    (root / "csrc" / "gone.cu").symlink_to("nowhere.cu")
    return "csrc/gone.cu"


def make_text(root: Path) -> str:
    (root / "notes.txt").write_text("not C++")
    return "notes.txt"


def make_binary(root: Path) -> str:
    (root / "csrc" / "object.cu").write_bytes(b"\x7fELF\0\0\0")
    return "csrc/object.cu"


BAD_PATHS = [
    make_fifo,
    make_dangling,
    make_text,
    make_binary,
    lambda root: "csrc/none.cu",
    lambda root: "nowhere/at/all",
]


@pytest.mark.parametrize(
    "make", BAD_PATHS, ids=["fifo", "dangling link", "not C++", "binary", "missing", "missing folder"]
)
@pytest.mark.parametrize("write", [False, True], ids=["dry", "write"])
def test_a_bad_path_is_one_line(make, write, mini_aiter, run):
    path = make(mini_aiter)
    before = snapshot(mini_aiter)
    ran = run("migrate", path, *(["--write"] if write else []), cwd=mini_aiter)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith(f"torchless: error: {path}: ") and ran.err.count("\n") == 1
    assert snapshot(mini_aiter) == before


def test_an_unknown_module_is_one_line(mini_aiter, run):
    ran = run("migrate", "--module", "module_scael", cwd=mini_aiter)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert "module_scael" in ran.err


def test_a_checkout_without_the_target_is_refused_and_can_be_tried(mini_aiter, run):
    (mini_aiter / "csrc/include/aiter_tensor.h").unlink()
    before = snapshot(mini_aiter)
    ran = run("migrate", "csrc/kernels", "--write", cwd=mini_aiter)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert "aiter_tensor.h" in ran.err and "--assume-target" in ran.err
    tried = run("migrate", "csrc/kernels", "--assume-target", cwd=mini_aiter)
    assert tried.code in (1, 3)
    assert "cannot be merged here" in tried.err
    refused = run("migrate", "csrc/kernels", "--assume-target", "--write", cwd=mini_aiter)
    assert refused.code == 2
    assert snapshot(mini_aiter) == before


def test_broken_cpp_is_not_touched_and_does_not_stop_the_others(mini_aiter, run):
    broken = mini_aiter / "csrc/kernels/norm_kernels.cu"
    broken.write_text(broken.read_text().replace("void rms_norm(", "void rms_norm(((", 1) + "}}} struct {\n")
    before = snapshot(mini_aiter)
    ran = run("migrate", "csrc", "--write", cwd=mini_aiter)
    assert ran.code in (1, 2)
    assert "csrc/kernels/norm_kernels.cu" in ran.err
    assert "Traceback" not in ran.err
    assert changed(before, snapshot(mini_aiter)) == SCALE


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def interrupted(arguments: list[str], cwd: Path, ready) -> subprocess.CompletedProcess[bytes]:
    """Start the command line and interrupt it as a terminal does, the whole group at once, when ``ready(pid)``."""
    command = [sys.executable, "-m", "torchless", *arguments]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while not ready(process.pid):
        assert process.poll() is None, "over before it could be interrupted"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):  # no worker stays: one that was just being started ends by itself
        for _ in range(300):
            os.killpg(process.pid, 0)
            time.sleep(0.1)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("flags", [[], ["--write"]], ids=["dry", "write"])
@pytest.mark.parametrize("delay", [0.0, 0.4, 1.2])
def test_ctrl_c_is_one_line_and_leaves_no_worker(flags, delay, mini_aiter):
    before = snapshot(mini_aiter)

    def ready(pid: int) -> bool:
        if not children(pid):
            return False
        time.sleep(delay)
        return True

    ended = interrupted(["migrate", "csrc", "--no-cache", *flags], mini_aiter, ready)
    assert (ended.returncode, ended.stdout) == (2, b""), ended.stderr
    assert ended.stderr.startswith(b"torchless: error: interrupted") and ended.stderr.count(b"\n") == 1, ended.stderr
    assert snapshot(mini_aiter) == before


def test_every_rule_has_a_page(run, tmp_path):
    listed = json.loads(run("rules", "--output-format", "json", cwd=tmp_path).out)
    codes = [rule["code"] for rule in listed]
    assert codes == sorted(set(codes)) and len(codes) > 50
    for code in ("TL001", "TL301", "TL490", "TL701"):
        ran = run("explain", code.lower(), cwd=tmp_path)
        assert ran.code == 0
        assert code.encode() in ran.out.splitlines()[0]
