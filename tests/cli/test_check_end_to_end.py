"""`torchless check` as a process over the bundled example: formats, baseline, --since, what paths select."""

from __future__ import annotations

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from torchless.report.check_json import schema

SARIF = Path(__file__).parents[1] / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
SCALE, NORM = "csrc/kernels/scale_kernels.cu", "csrc/kernels/norm_kernels.cu"
LAUNCH = "    fill_rows_kernel<<<1, 64>>>(rows);\n"
LAUNCHER = f"\n__global__ void fill_rows_kernel(int* rows);\n\nvoid fill_rows(int* rows)\n{{\n{LAUNCH}}}\n"
"""Text with one TL410."""
LAUNCHES = ("--select", "TL410")

Check = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def check(run, mini_aiter: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """check(*arguments) gives exit code, the findings' lines and stderr of a concise check of the bundled example."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def go(*arguments: str, cwd: Path = mini_aiter) -> tuple[int, list[str], str]:
        ran = run("check", "--output-format", "concise", *arguments, cwd=cwd)
        return ran.code, ran.out.decode().splitlines(), ran.err

    return go


def add(root: Path, path: str, text: str = LAUNCHER, before: str = "") -> None:
    file = root / path
    old = file.read_text() if file.exists() else ""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before + old + text)


def commit_all(root: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    if not (root / ".git").exists():
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *who, "commit", "-qm", "work"], cwd=root, check=True)


@pytest.mark.parametrize("output_format", ["text", "concise", "json", "sarif", "github", "junit"])
def test_every_format(spawn, mini_aiter, output_format):
    add(mini_aiter, SCALE)
    ran = spawn("check", "--output-format", output_format, *LAUNCHES, cwd=mini_aiter)
    assert ran.code == 1
    assert ran.err.startswith("Found 1 finding in 1 file. Looked at ")
    text = ran.out.decode()
    assert "TL410" in text and SCALE in text
    if output_format == "json":
        Draft202012Validator(schema()).validate(json.loads(text))
        assert json.loads(text)["summary"]["units"] == 4
    if output_format == "sarif":
        Draft7Validator(json.loads(SARIF.read_bytes())).validate(json.loads(text))
        assert json.loads(text)["runs"][0]["tool"]["driver"]["rules"][0]["help"]["markdown"].startswith("# TL410 ")
    if output_format == "junit":
        assert [node.get("type") for node in ET.fromstring(text).iter("failure")] == ["TL410"]
    if output_format == "text":
        assert LAUNCH.strip() in text and "^~~~" in text and "  help: " in text


def test_two_runs_print_the_same(spawn, mini_aiter):
    add(mini_aiter, SCALE)
    first, second = (spawn("check", "--output-format", "sarif", cwd=mini_aiter).out for _ in range(2))
    assert first == second


def test_a_baseline_knows_what_is_there_and_fails_on_what_is_new(check, mini_aiter):
    add(mini_aiter, SCALE)
    code, old, _ = check(*LAUNCHES)
    assert (code, len(old)) == (1, 1)
    code, lines, err = check("--write-baseline", *LAUNCHES)
    assert (code, lines) == (0, [])
    assert err.startswith("Wrote 1 finding to .torchless-baseline.json: 1 new, 0 gone.\nNo new finding.")
    base = ("--baseline", ".torchless-baseline.json", *LAUNCHES)
    assert check(*base)[:2] == (0, [])
    assert check(*base, "-v")[1] == [f"{old[0]} (known)"]
    assert check(*LAUNCHES)[0] == 1  # nothing is known that nobody names

    add(mini_aiter, SCALE, text="", before="// moved\n" * 7)
    assert check(*base)[0] == 0
    add(mini_aiter, NORM)
    code, lines, _ = check(*base)
    assert (code, [line.split(":")[0] for line in lines]) == (1, [NORM])


def test_a_renamed_file_stays_known(check, mini_aiter):
    add(mini_aiter, SCALE)
    check("--write-baseline", "--baseline", "known.json", *LAUNCHES)
    shutil.move(mini_aiter / SCALE, mini_aiter / "csrc/kernels/renamed.cu")
    code, lines, err = check("--baseline", "known.json", *LAUNCHES)
    assert (code, lines) == (0, [])
    assert "1 finding known from known.json." in err
    assert check("csrc/kernels/renamed.cu", "--baseline", "known.json", *LAUNCHES)[0] == 0


def test_what_is_mended_is_told_and_shrinks_the_baseline(check, mini_aiter):
    add(mini_aiter, SCALE)
    add(mini_aiter, NORM)
    check("--write-baseline", "--baseline", "known.json", *LAUNCHES)
    base = ("--baseline", "known.json", *LAUNCHES)
    file = mini_aiter / SCALE
    file.write_text(file.read_text().replace(LAUNCH, ""))
    code, lines, err = check(*base)
    assert (code, lines) == (0, [])
    assert "1 finding known from known.json; 1 entry is gone: run --write-baseline." in err
    assert "0 new, 1 gone." in check("--write-baseline", *base)[2]
    assert [row["path"] for row in json.loads((mini_aiter / "known.json").read_text())["findings"]] == [NORM]
    add(mini_aiter, SCALE)
    assert check(*base)[0] == 1


@pytest.mark.parametrize("partly", [[NORM], ["--select", "TL61"], ["--ignore", "TL410"], ["csrc/include"]])
def test_a_run_over_a_part_says_nothing_of_the_rest(check, mini_aiter, partly):
    add(mini_aiter, SCALE)
    check("--write-baseline", "--baseline", "known.json", *LAUNCHES)
    file = mini_aiter / SCALE
    file.write_text(file.read_text().replace(LAUNCH, ""))
    rows = json.loads((mini_aiter / "known.json").read_text())["findings"]
    assert "gone" not in check("--baseline", "known.json", *partly)[2]
    check("--baseline", "known.json", "--write-baseline", *partly)
    kept = json.loads((mini_aiter / "known.json").read_text())["findings"]
    assert [row for row in kept if row["code"] == "TL410"] == rows


def test_a_deleted_file_is_gone_from_the_baseline(check, mini_aiter):
    add(mini_aiter, "csrc/kernels/extra.cu")
    check("--write-baseline", "--baseline", "known.json", *LAUNCHES)
    (mini_aiter / "csrc/kernels/extra.cu").unlink()
    assert "1 entry is gone" in check("--baseline", "known.json", *LAUNCHES)[2]
    assert "gone" not in check("--baseline", "known.json", *LAUNCHES, NORM)[2]


def test_a_baseline_from_the_settings_is_found_from_below_and_written_there(check, mini_aiter):
    add(mini_aiter, SCALE)
    (mini_aiter / "torchless.toml").write_text('baseline = "tools/known.json"\n')
    (mini_aiter / "tools").mkdir()
    code, _, err = check(*LAUNCHES, cwd=mini_aiter / "csrc")
    assert (code, err.count("\n")) == (2, 1)
    assert "no such baseline: make it with --write-baseline" in err
    assert check("--write-baseline", *LAUNCHES, cwd=mini_aiter / "csrc")[0] == 0
    assert (mini_aiter / "tools" / "known.json").exists()
    assert check(*LAUNCHES, cwd=mini_aiter / "csrc")[0] == 0


@pytest.mark.parametrize("content", ['{"torchless_baseline": 7, "findings": []}', "<<<<<<< HEAD"])
@pytest.mark.parametrize("write", [[], ["--write-baseline"]])
def test_a_baseline_that_cannot_be_used_is_an_error_and_stays(check, mini_aiter, content, write):
    (mini_aiter / "known.json").write_text(content)
    code, lines, err = check("--baseline", "known.json", *write, *LAUNCHES)
    assert (code, lines, err.count("\n")) == (2, [], 1)
    assert "known.json" in err and ("version 7" in err or "damaged" in err)
    assert (mini_aiter / "known.json").read_text() == content


def test_a_baseline_that_cannot_be_written(check, mini_aiter):
    add(mini_aiter, SCALE)
    code, _, err = check("--write-baseline", "--baseline", "none/known.json", *LAUNCHES)
    assert (code, err.count("\n")) == (2, 1)
    assert "No such file or directory" in err


def test_since_shows_what_the_change_touches(check, mini_aiter):
    add(mini_aiter, SCALE)
    commit_all(mini_aiter)
    code, lines, err = check("--since", "HEAD", *LAUNCHES)
    assert (code, lines) == (0, [])
    assert "1 finding outside of the change." in err
    add(mini_aiter, NORM)
    assert [line.split(":")[0] for line in check("--since", "HEAD", *LAUNCHES)[1]] == [NORM]
    add(mini_aiter, "csrc/kernels/new.cu")
    assert len(check("--since", "HEAD", *LAUNCHES)[1]) == 2
    commit_all(mini_aiter)
    assert check("--since", "HEAD", *LAUNCHES)[0] == 0
    assert len(check("--since", "HEAD~1", *LAUNCHES)[1]) == 2
    add(mini_aiter, SCALE, text="// touched\n")
    assert check("--since", "HEAD", *LAUNCHES)[0] == 0


def test_since_and_a_baseline_together(check, mini_aiter):
    add(mini_aiter, SCALE)
    check("--write-baseline", *LAUNCHES)
    commit_all(mini_aiter)
    add(mini_aiter, NORM)
    add(mini_aiter, SCALE, text="", before="\n\n")
    base = ("--baseline", ".torchless-baseline.json", "--since", "HEAD", *LAUNCHES)
    assert [line.split(":")[0] for line in check(*base)[1]] == [NORM]


def test_since_without_git_or_with_a_revision_that_is_none(check, mini_aiter):
    code, lines, err = check("--since", "HEAD", *LAUNCHES)
    assert (code, lines, err.count("\n")) == (2, [], 1)
    assert "is not in a git tree" in err
    commit_all(mini_aiter)
    code, lines, err = check("--since", "nosuch", *LAUNCHES)
    assert (code, lines, err.count("\n")) == (2, [], 1)
    assert "--since nosuch: no such revision" in err


def test_a_registration_header_is_looked_at_when_it_is_named(check, mini_aiter):
    add(mini_aiter, "csrc/include/rocm_ops.hpp")
    code, lines, err = check("csrc/include/rocm_ops.hpp", *LAUNCHES)
    assert (code, len(lines)) == (1, 1)
    assert "selects no unit" not in err


def test_excludes_hold_for_folders_and_when_forced_for_files(check, mini_aiter):
    add(mini_aiter, "csrc/include/scale.h")
    exclude = ("--exclude", "scale.h", *LAUNCHES)
    assert check(*LAUNCHES)[0] == 1
    assert check(*exclude)[0] == 0
    assert check("csrc/include/scale.h", *exclude)[0] == 1
    assert check("csrc/include/scale.h", "--force-exclude", *exclude)[0] == 0


def test_an_excluded_file_is_not_gone_from_the_baseline(check, mini_aiter):
    add(mini_aiter, "csrc/include/scale.h")
    check("--write-baseline", "--baseline", "known.json", *LAUNCHES)
    assert "gone" not in check("--baseline", "known.json", "--exclude", "scale.h", *LAUNCHES)[2]


def test_a_selection_of_nothing_is_said(check, mini_aiter):
    (mini_aiter / "docs").mkdir()
    code, lines, err = check("docs", *LAUNCHES)
    assert (code, lines) == (0, [])
    assert "No finding. Looked at 0 files and 0 translation units" in err
    code, lines, err = check(SCALE, "--exclude", "csrc", "--force-exclude", *LAUNCHES)
    assert (code, lines) == (0, [])
    assert "0 files" in err


@pytest.mark.parametrize("path", ["nowhere", "README.md", "../outside.cu"])
def test_paths_that_cannot_be_looked_at(check, mini_aiter, path):
    (mini_aiter.parent / "outside.cu").write_text("int x;\n")
    code, lines, err = check(SCALE, path, *LAUNCHES)
    assert (code, lines, err.count("\n")) == (2, [], 1)
    assert Path(path).name in err
