"""`torchless migrate --verify`: units that fail a rung stay as they are, the others go ahead, and both are said."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from torchless.report.json import schema
from torchless.verify.answer import Answer, Verdict, Verified

NORM = "csrc/kernels/norm_kernels.cu"
SCALE = "csrc/kernels/scale_kernels.cu"
SHARED = "csrc/include/scale.h"
RULE = """
[[rule]]
code = "XY{number}"
name = "planted-{number}"
summary = "a fault, planted by a test"
what = "It is wrong."
why = "To be found."
tier_reason = "None."
[[rule.pattern]]
match = "{match}"
replace = "{replace}"
[[rule.example]]
before = "{match};"
after = "{replace};"
"""
KERNEL_FAULT = ("partial[0] / columns + epsilon", "partial[0] / columns - epsilon")
LAUNCH_FAULT = ("input.numel() / columns", "input.numel() / columns + 1")
SCALE_FAULT = ("value += static_cast<float>(bias[i])", "value -= static_cast<float>(bias[i])")


@pytest.fixture
def two(mini_aiter: Path) -> Path:
    """The example with two modules that migrate, whose declarations stand in one header, committed."""
    for path, pattern in (
        (NORM, r"\nvoid rms_norm_split\(.*?\n}\n"),
        ("csrc/include/norm.h", r"void rms_norm_split\(.*?;\n"),
        ("csrc/include/rocm_ops.hpp", r' *\\\n    m\.def\("rms_norm_split".*?= 4\);'),
        ("aiter/ops/norm.py", r'\n\n@compile_ops\("module_norm"\)\ndef rms_norm_split\(.*?\.\.\.\n'),
    ):
        text = (mini_aiter / path).read_text()
        without = re.sub(pattern, "", text, count=1, flags=re.S)
        assert without != text, path
        (mini_aiter / path).write_text(without)
    norm = mini_aiter / "csrc/include/norm.h"
    declared = re.search(r"void rms_norm\(.*?;\n", norm.read_text(), re.S)
    assert declared is not None
    shared = mini_aiter / SHARED
    shared.write_text(shared.read_text().replace("} // namespace aiter", f"{declared.group()}\n}} // namespace aiter"))
    norm.write_text('#pragma once\n#include "scale.h"\n')
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "start"]):
        subprocess.run(["git", "-C", str(mini_aiter), *command], check=True)
    return mini_aiter


def planted(folder: Path, *faults: tuple[str, str]) -> tuple[str, str]:
    """Arguments that make a migration plant ``faults``."""
    rules = [RULE.format(number=100 + n, match=old, replace=new) for n, (old, new) in enumerate(faults)]
    (folder / "planted.toml").write_text("".join(rules))
    return "--rules", str(folder / "planted.toml")


def report(run, root: Path, *arguments: str, code: int):
    done = run("migrate", "csrc", *arguments, "--output-format", "json", cwd=root)
    assert done.code == code, done.err
    found = json.loads(done.out)
    Draft202012Validator(schema()).validate(found)
    return found


def statuses(found) -> dict[str, str]:
    return {unit["name"]: unit["status"] for unit in found["units"]}


@pytest.mark.clang
def test_the_unit_with_the_fault_stays_and_the_other_is_written(run, two, tmp_path):
    old = {path: (two / path).read_bytes() for path in (NORM, SCALE, "aiter/ops/norm.py", "aiter/ops/scale.py")}
    fault = planted(tmp_path, KERNEL_FAULT)
    done = run("migrate", "csrc", "--write", "--verify=types,device", *fault, cwd=two)
    assert done.code == 3
    assert "backed out  module_norm" in done.err
    assert "TL901 with the edits, module_norm fails the rung device: " in done.err
    assert "aiter::rms_norm_kernel" in done.err
    assert "A rung of the ladder backed 1 unit out, untouched; the differences are above." in done.err
    assert "verified, with the changes made\n  module_norm\n" in done.err  # it reads the header that changes
    assert "\n  module_scale\n    types    pass " in done.err
    kept = {path for path in old if (two / path).read_bytes() == old[path]}
    assert kept == {NORM, "aiter/ops/norm.py"}
    shared = (two / SHARED).read_text()
    assert "scale_rows(aiter_tensor_t& out," in shared and "void rms_norm(torch::Tensor& out" in shared
    again = run("verify", "--rungs", "device", cwd=two)  # and what was written does pass
    assert (again.code, again.out.count(b"device   pass")) == (0, 2)


@pytest.mark.clang
def test_a_dry_run_says_the_same_and_writes_nothing(run, two, tmp_path):
    fault = planted(tmp_path, KERNEL_FAULT)
    found = report(run, two, "--verify=device", *fault, code=3)
    assert statuses(found) == {"module_norm": "backed out", "module_scale": "migrated"}
    (norm,) = [unit for unit in found["units"] if unit["name"] == "module_norm"]
    (told,) = [f for f in norm["findings"] if f["code"] == "TL901"]
    assert told["blocks"] and told["unit"] == "module_norm"
    assert {change["path"] for change in found["changes"]}.isdisjoint({NORM, "aiter/ops/norm.py"})
    assert all("rms_norm" not in line for c in found["changes"] for line in c["diff"].splitlines() if line[:1] in "+-")
    told = {m["module"]: [r["verdict"] for r in m["rungs"]] for m in found["verified"]}
    assert told == {"module_norm": ["pass"], "module_scale": ["pass"]}  # both read the header that changes
    status = subprocess.run(["git", "-C", str(two), "status", "--porcelain"], capture_output=True, check=True)
    assert status.stdout == b""


@pytest.mark.clang
def test_the_launch_trace_backs_out_what_types_and_device_code_cannot_see(run, two, tmp_path):
    fault = planted(tmp_path, LAUNCH_FAULT)
    found = report(run, two, "--verify=types,device,trace", *fault, code=3)
    assert statuses(found) == {"module_norm": "backed out", "module_scale": "migrated"}
    (message,) = [f["message"] for u in found["units"] for f in u["findings"] if f["code"] == "TL901"]
    assert "module_norm fails the rung trace: 0 of 1 functions alike" in message and "grid" in message
    told = {m["module"]: {r["rung"]: r["verdict"] for r in m["rungs"]} for m in found["verified"]}
    assert told["module_scale"] == {"types": "pass", "device": "pass", "trace": "pass"}


@pytest.mark.clang
def test_without_a_fault_everything_passes(run, two):
    found = report(run, two, "--write", "--verify=types,closure,device", code=0)
    assert found["written"] and set(statuses(found).values()) == {"migrated"}
    assert [m["module"] for m in found["verified"]] == ["module_norm", "module_scale"]
    assert {r["verdict"] for m in found["verified"] for r in m["rungs"]} == {"pass"}


@pytest.mark.clang
def test_a_unit_that_stays_can_keep_another_from_what_it_claims(run, two, tmp_path):
    fault = planted(tmp_path, KERNEL_FAULT)
    found = report(run, two, "--verify=closure,device", *fault, code=3)
    # the declaration that stays keeps torch in the header that both read: module_scale would not be free of it
    assert statuses(found) == {"module_norm": "backed out", "module_scale": "backed out"}
    told = {u["name"]: [f["message"] for f in u["findings"] if f["code"] == "TL901"] for u in found["units"]}
    assert any("module_norm fails the rung device" in message for message in told["module_norm"])
    assert "module_scale fails the rung closure" in told["module_scale"][0] and SHARED in told["module_scale"][0]


@pytest.mark.clang
def test_faults_in_both_leave_nothing_to_write(run, two, tmp_path):
    fault = planted(tmp_path, KERNEL_FAULT, SCALE_FAULT)
    found = report(run, two, "--write", "--verify=device", *fault, code=3)
    assert statuses(found) == {"module_norm": "backed out", "module_scale": "backed out"}
    assert (found["changes"], found["verified"], found["written"]) == ([], [], False)


def test_a_rung_that_cannot_run_is_said_and_claims_nothing(run, two, tmp_path, monkeypatch):
    monkeypatch.setattr("torchless.verification.find_compiler", lambda: None)
    fault = planted(tmp_path, KERNEL_FAULT)
    done = run("migrate", "csrc", "--verify", "device,rebuild", *fault, cwd=two)
    assert done.code == 1  # the diff is pending, as it would be without the rung
    assert "device   not run  no clang that knows AMDGPU on this machine" in done.err
    assert "rebuild  not run  no hipcc" in done.err
    assert "pass" not in done.err.partition("verified, with the changes made")[2].partition("units ")[0]


@pytest.mark.parametrize("rungs", ["device,guess", "", ","])
def test_a_rung_that_is_none_is_one_line_and_nothing_is_done(run, two, rungs):
    done = run("migrate", "csrc", "--write", f"--verify={rungs}", cwd=two)
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("torchless: error: no rung named ") and done.err.count("\n") == 1
    assert "choose from types, closure, device, trace, rebuild, tests" in done.err


def test_what_forbids_the_write_is_said_before_any_rung_is_asked(run, two, monkeypatch):
    monkeypatch.setattr("torchless.backing_out.compare", lambda *_: pytest.fail("a rung was asked"))
    (two / SCALE).write_bytes((two / SCALE).read_bytes() + b"\n")
    done = run("migrate", "csrc", "--write", "--verify=device", cwd=two)
    assert done.code == 2
    assert f"uncommitted changes in {SCALE}" in done.err


FAILS = (Verified("m", (Answer("device", Verdict.FAIL, "d"),)),)


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ([{"c"}], {"c"}),
        ([{"a"}, {"e"}], {"a", "e"}),
        ([{"a", "d"}], {"d"}),  # each alone passes: the later of the two stays behind
        ([{"a"}, {"b"}, {"c"}, {"d"}, {"e"}], {"a", "b", "c", "d", "e"}),
        ([], set()),
    ],
)
def test_bisection(bad, expected):
    from torchless.backing_out import bisect

    asked = []

    def fails(chosen):
        asked.append(tuple(chosen))
        return FAILS if any(group <= set(chosen) for group in bad) else ()

    assert set(bisect("abcde", fails, FAILS)) == expected
    if len(expected) == 1:
        assert len(asked) <= 6  # halves, not one by one
