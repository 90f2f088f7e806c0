"""`torchless check`: formats, streams, exit codes, and where the output goes, over results that no lint had to make."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.report.report_samples import ALL, CHAIN, LAUNCH, UNUSED, WHOLE, result, root_with_files
from torchless.cli import check as module
from torchless.errors import UsageError
from torchless.model import CheckResult
from torchless.options import CheckOptions
from torchless.rules.catalogue import entries
from torchless.text import disk

FORMATS = ("text", "concise", "json", "sarif", "github", "junit")
ESCAPE = b"\x1b["


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[CheckOptions]]:
    """Make check() give a result (over files on disk, in tmp_path) or raise; the list collects what it was asked."""
    root_with_files(tmp_path)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)

    def install(outcome: CheckResult | BaseException) -> list[CheckOptions]:
        asked: list[CheckOptions] = []

        def check(options: CheckOptions, start: Path, progress: object) -> CheckResult:
            asked.append(options)
            if isinstance(outcome, BaseException):
                raise outcome
            return replace(outcome, root=str(tmp_path))

        monkeypatch.setattr(module, "run_check", check)
        return asked

    return install


def codes_in(output_format: str, data: bytes) -> list[str]:
    """The codes that some output speaks of, one for each finding."""
    if output_format == "json":
        return [f["code"] for f in json.loads(data)["findings"]]
    if output_format == "sarif":
        return [f["ruleId"] for f in json.loads(data)["runs"][0]["results"]]
    if output_format == "junit":
        return [node.get("type", "") for node in ET.fromstring(data).iter("failure")]
    pattern = {"github": rb"title=torchless (TL\d+)"}.get(output_format, rb"(?m)^\S+:\d+:\d+: (TL\d+)")
    return [code.decode() for code in re.findall(pattern, data)]


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_has_every_finding_alone_on_stdout(run, faked, tmp_path, output_format):
    faked(result(*ALL))
    ran = run("check", "--output-format", output_format, cwd=tmp_path)
    assert ran.code == 1
    assert sorted(codes_in(output_format, ran.out)) == sorted(f.code for f in ALL)
    assert ran.err.splitlines()[0].startswith("Found 5 findings in 2 files.")


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize("flags", [["-q"], ["-v"], ["--statistics"], ["--color", "always"], ["--exit-zero"]])
def test_no_flag_hides_a_finding_and_only_exit_zero_changes_the_exit_code(run, faked, tmp_path, output_format, flags):
    faked(result(*ALL))
    ran = run("check", "--output-format", output_format, *flags, cwd=tmp_path)
    plain = re.sub(rb"\x1b\[[\d;]*m", b"", ran.out)
    assert len(codes_in(output_format, plain)) == len(ALL)
    assert ran.code == (0 if flags == ["--exit-zero"] else 1)


@pytest.mark.parametrize("output_format", FORMATS)
def test_nothing_found_is_zero(run, faked, tmp_path, output_format):
    faked(result())
    ran = run("check", "--output-format", output_format, cwd=tmp_path)
    assert (ran.code, codes_in(output_format, ran.out)) == (0, [])
    assert ran.err.startswith("No finding. Looked at 14 files")


@pytest.mark.parametrize("flags", [[], ["--exit-zero"]])
def test_a_file_that_failed_is_two_whatever_was_asked(run, faked, tmp_path, flags):
    faked(result(replace(WHOLE, code="TL006"), files_failed=("csrc/include/norm.h",)))
    assert run("check", *flags, cwd=tmp_path).code == 2


def test_known_findings_do_not_fail_and_are_listed_with_v(run, faked, tmp_path):
    faked(result(known=(LAUNCH, CHAIN)))
    ran = run("check", "--baseline", "b.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, b"")
    assert "2 findings known from b.json." in ran.err
    ran = run("check", "--baseline", "b.json", "-v", cwd=tmp_path)
    assert (ran.code, ran.out.count(b"(known)")) == (0, 2)


def test_quiet_prints_findings_only(run, faked, tmp_path):
    faked(result(*ALL))
    ran = run("check", "-q", cwd=tmp_path)
    assert ran.err == ""
    assert len(codes_in("text", ran.out)) == 5


def test_options_reach_the_check(run, faked, tmp_path):
    asked = faked(result())
    (tmp_path / "inc").mkdir()
    arguments = ["--select", "tl1,TL410", "--ignore", "TL111", "--since", "HEAD", "--baseline", "b.json", "-I", "inc"]
    run("check", *arguments, "--module", "m", "--heavy", "x/*=x", "--no-cache", "csrc", cwd=tmp_path)
    (options,) = asked
    assert options == CheckOptions(
        paths=("csrc",),
        modules=("m",),
        select=("TL1", "TL410"),
        ignore=("TL111",),
        cache=False,
        include_dirs=(str(tmp_path / "inc"),),
        heavy=("x/*=x",),
        since="HEAD",
        baseline="b.json",
    )


def test_settings_hold_for_a_check_and_those_of_a_migration_do_not_matter(run, faked, tmp_path):
    (tmp_path / "torchless.toml").write_text('heavy = ["a=b"]\nbaseline = "known.json"\njobs = 3\nunsafe = true\n')
    (tmp_path / "sub").mkdir()
    asked = faked(result())
    ran = run("check", cwd=tmp_path / "sub")
    assert (asked[0].heavy, asked[0].baseline) == (("a=b",), str(tmp_path / "known.json"))
    assert f"known from {tmp_path / 'known.json'}" in ran.err


def test_color_follows_the_flag_and_not_the_pipe(run, faked, tmp_path):
    faked(result(*ALL))
    plain = run("check", cwd=tmp_path)
    colored = run("check", "--color", "always", cwd=tmp_path)
    assert ESCAPE not in plain.out + plain.err.encode()
    assert ESCAPE in colored.out and ESCAPE in colored.err.encode()
    assert re.sub(rb"\x1b\[[\d;]*m", b"", colored.out) == plain.out
    for output_format in ("json", "sarif", "github", "junit"):
        assert ESCAPE not in run("check", "--color", "always", "--output-format", output_format, cwd=tmp_path).out


@pytest.mark.parametrize("output_format", ["text", "concise"])
def test_statistics_follow_the_findings(run, faked, tmp_path, output_format):
    faked(result(*ALL))
    ran = run("check", "--output-format", output_format, "--statistics", cwd=tmp_path)
    names = {rule.code: rule.name for rule in entries()}
    wanted = {"TL113": "2  TL113 [!]", "TL410": "2  TL410 [ ]", "TL111": "1  TL111 [*]"}
    lines = [f"{line} {names.get(code, '')}".rstrip() for code, line in wanted.items()]
    assert ran.out.decode().splitlines()[-3:] == lines


@pytest.mark.parametrize("output_format", ["sarif", "github", "junit"])
def test_statistics_leave_data_alone(run, faked, tmp_path, output_format):
    faked(result(*ALL))
    plain = run("check", "--output-format", output_format, cwd=tmp_path)
    counted = run("check", "--output-format", output_format, "--statistics", "-q", cwd=tmp_path)
    assert plain.out == counted.out
    assert "TL111 [*]" in counted.err


def test_the_command_that_mends_names_what_was_asked_about(run, faked, tmp_path):
    faked(result(UNUSED))
    assert "`torchless migrate --select TL111 --write`" in run("check", cwd=tmp_path).err
    ran = run("check", "a b.cu", "--module", "m", cwd=tmp_path)
    assert "`torchless migrate 'a b.cu' --module m --select TL111 --write`" in ran.err
    assert "`torchless migrate PATHS --select" in run("check", *"abcdef", cwd=tmp_path).err


def test_output_goes_into_a_file_and_the_summary_to_stderr(run, faked, tmp_path):
    faked(result(*ALL))
    whole = run("check", "--output-format", "json", cwd=tmp_path).out
    ran = run("check", "--output-format", "json", "-o", "out.json", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, b"")
    assert (tmp_path / "out.json").read_bytes() == whole
    assert ran.err.startswith("Found 5 findings")
    assert run("check", "--output-format", "json", "-o", "-", cwd=tmp_path).out == whole


def test_a_file_is_replaced_as_a_whole_with_its_permissions_and_behind_its_link(run, faked, tmp_path):
    faked(result(*ALL))
    real = tmp_path / "real.txt"
    real.write_text("old " * 5000)
    real.chmod(0o640)
    (tmp_path / "out.txt").symlink_to("real.txt")
    run("check", "--output-format", "concise", "-o", "out.txt", cwd=tmp_path)
    assert (tmp_path / "out.txt").is_symlink()
    assert len(real.read_bytes().splitlines()) == 5
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_new_file_has_the_usual_permissions(run, faked, tmp_path):
    faked(result())
    mask = os.umask(0o027)
    try:
        run("check", "-o", "out.txt", cwd=tmp_path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o640


def test_color_in_a_file_only_on_request(run, faked, tmp_path):
    faked(result(*ALL))
    run("check", "-o", "out.txt", cwd=tmp_path)
    assert ESCAPE not in (tmp_path / "out.txt").read_bytes()
    run("check", "-o", "out.txt", "--color", "always", cwd=tmp_path)
    assert ESCAPE in (tmp_path / "out.txt").read_bytes()


def assert_refused(ran, *words: str) -> None:
    assert ran.code == 2
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.startswith("torchless: error: ")
    for word in words:
        assert word in ran.err


def test_output_that_cannot_be_written(run, faked, tmp_path):
    faked(result(*ALL))
    (tmp_path / "folder").mkdir()
    assert_refused(run("check", "-o", "folder", cwd=tmp_path), "folder: cannot be written", "a folder")
    assert_refused(run("check", "-o", "none/out.txt", cwd=tmp_path), "none/out.txt", "No such file or directory")
    assert_refused(run("check", "-o", "csrc/kernels/scale.cu/x", cwd=tmp_path), "Not a directory")
    assert_refused(run("check", "-o", "x" * 300, cwd=tmp_path), "File name too long")
    (tmp_path / "loop").symlink_to("loop")
    assert_refused(run("check", "-o", "loop", cwd=tmp_path), "loop: cannot be written")


def test_output_into_a_folder_without_permission(run, faked, tmp_path, monkeypatch):
    def denied(*arguments: object) -> None:  # root, who runs many tests, may write anywhere
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    faked(result(*ALL))
    monkeypatch.setattr(disk, "create", denied)
    assert_refused(run("check", "-o", "out.txt", cwd=tmp_path), "out.txt", "Permission denied")


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_as_it_was(run, faked, tmp_path, monkeypatch, call):
    faked(result(*ALL))
    (tmp_path / "out.txt").write_text("old")

    def full(*arguments: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        assert_refused(run("check", "-o", "out.txt", cwd=tmp_path), "out.txt", "No space left on device")
    assert (tmp_path / "out.txt").read_text() == "old"
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_written_to_as_it_is(run, faked, tmp_path):
    faked(result(*ALL))
    assert_refused(run("check", "-o", "/dev/full", cwd=tmp_path), "/dev/full", "No space left on device")
    assert run("check", "-o", "/dev/null", cwd=tmp_path).code == 1


def test_a_reader_that_stops_early_changes_nothing(mini_aiter):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "torchless", "check", "-q", "--select", "TL410", "--output-format", "json"]
    done = subprocess.run(command, cwd=mini_aiter, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


def test_usage_errors_are_one_line(run, faked, tmp_path):
    faked(UsageError("csrc/none: no such file or folder"))
    assert_refused(run("check", "csrc/none", cwd=tmp_path), "no such file or folder")
    faked(result())
    assert_refused(run("check", "--select", "TL1000", cwd=tmp_path), "unknown code 'TL1000'")
    assert_refused(run("check", "--output-format", "xml", cwd=tmp_path), "xml")
    assert_refused(run("check", "--arch", "sm_90", cwd=tmp_path), "sm_90")
    assert_refused(run("check", "--write-baseline", "--since", "HEAD", cwd=tmp_path), "--write-baseline", "--since")


def test_a_failed_check_writes_no_output(run, faked, tmp_path):
    faked(RuntimeError("the sky\nfell"))
    assert_refused(run("check", "-o", "out.txt", cwd=tmp_path), "internal error: RuntimeError: the sky fell")
    assert not (tmp_path / "out.txt").exists()


def test_more_results_than_github_shows_are_told(run, faked, tmp_path, monkeypatch):
    faked(result(*ALL))
    assert "GitHub" not in run("check", "--output-format", "sarif", cwd=tmp_path).err
    monkeypatch.setattr("torchless.report.sarif.SHOWN", 4)
    ran = run("check", "--output-format", "sarif", cwd=tmp_path)
    assert ran.err.startswith("note: GitHub's code scanning shows 4 results of a run")
    assert len(codes_in("sarif", ran.out)) == len(ALL)


def test_the_job_summary_is_appended(run, faked, tmp_path, monkeypatch):
    faked(result(*ALL))
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    run("check", cwd=tmp_path)
    assert file.read_text() == "before\n"
    ran = run("check", "--output-format", "github", cwd=tmp_path)
    assert file.read_text().startswith("before\n### torchless check\n")
    assert ran.out.count(b"::warning ") == 5
    file.write_bytes(b"x" * ((1 << 20) - 100))
    run("check", "--output-format", "github", cwd=tmp_path)
    assert file.stat().st_size <= 1 << 20


def test_a_job_summary_that_cannot_be_written_is_said(run, faked, tmp_path, monkeypatch):
    faked(result(*ALL))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    ran = run("check", "--output-format", "github", cwd=tmp_path)
    assert_refused(ran, "GITHUB_STEP_SUMMARY", "Is a directory")
    assert ran.out.count(b"::warning ") == 5


def test_annotations_are_relative_to_what_github_checked_out(run, faked, tmp_path, monkeypatch):
    faked(result(UNUSED))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    assert f"file={tmp_path.name}/csrc/".encode() in run("check", "--output-format", "github", cwd=tmp_path).out
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "elsewhere"))
    assert b"file=csrc/" in run("check", "--output-format", "github", cwd=tmp_path).out


def test_help_names_every_flag(run, tmp_path):
    text = run("check", "--help", cwd=tmp_path).out.decode()
    flags = """
        --module --select --ignore --since --baseline --write-baseline --no-cache -I -D --arch --exclude --force-exclude
        --heavy --rules --output-format --output-file -o --color --statistics --exit-zero --quiet --verbose
    """
    for flag in flags.split():
        assert flag in text


def test_printers_that_were_not_asked_for_are_not_imported(tmp_path, mini_aiter):
    program = (
        "import sys; from torchless.cli import main; main(sys.argv[1:]); "
        "print(*sorted({'rich', 'jsonschema', 'xml', 'pathspec', 'importlib.metadata', 'subprocess'}"
        " & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "check", "-q", "--select", "TL410", "--output-format", "concise"]
    done = subprocess.run(command, cwd=mini_aiter, capture_output=True, text=True, check=True)
    assert done.stderr == "\n"
