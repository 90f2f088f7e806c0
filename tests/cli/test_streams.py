"""stdout holds data and nothing else; stderr what is said to a person."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from cli_samples import BLOCKED, CLEAN, MIGRATED, NEW, result

from torchless import __version__

ESCAPE = "\x1b["


def test_stdout_is_a_diff_that_git_applies(run, fake, repository):
    fake(result(MIGRATED, BLOCKED, root=repository))
    ran = run("migrate", cwd=repository)
    done = subprocess.run(["git", "apply"], cwd=repository, input=ran.out, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (repository / "csrc/scale.cu").read_bytes() == NEW
    assert {line[:1] for line in ran.out.splitlines()} <= {b"-", b"+", b"@", b" ", b"\\"}


def test_git_applies_the_diff_below_the_top_of_a_larger_tree(run, fake, repository):
    inner = repository / "vendored"
    (inner / "csrc").mkdir(parents=True)
    shutil.copy(repository / "csrc/scale.cu", inner / "csrc/scale.cu")
    fake(result(MIGRATED, root=inner))
    subprocess.run(["git", "apply"], cwd=inner, input=run("migrate", cwd=inner).out, check=True)
    assert (inner / "csrc/scale.cu").read_bytes() == NEW


def test_a_dry_run_writes_nothing(run, fake, checkout):
    before = (checkout / "csrc/scale.cu").read_bytes()
    fake(result(MIGRATED, root=checkout))
    assert run("migrate", cwd=checkout).out
    assert (checkout / "csrc/scale.cu").read_bytes() == before
    assert [path.name for path in checkout.iterdir()] == ["csrc"]


def test_stderr_says_first_what_was_found_and_last_what_to_do(run, fake, checkout):
    fake(result(MIGRATED, root=checkout, found="12 units in 3 modules"))
    lines = run("migrate", cwd=checkout).err.splitlines()
    assert lines[0] == "12 units in 3 modules"
    assert lines[-1].startswith("Next: ")
    assert "--write" in lines[-1]


def test_nothing_to_do_is_said(run, fake, checkout):
    fake(result(CLEAN, root=checkout))
    ran = run("migrate", cwd=checkout)
    assert ran.out == b""
    assert ran.err.splitlines()[-1] == "Next: Nothing to do."


def test_quiet_prints_only_data(run, fake, checkout):
    fake(result(MIGRATED, BLOCKED, root=checkout))
    ran = run("migrate", "-q", cwd=checkout)
    assert ran.err == ""
    assert b"aiter_tensor_t" in ran.out


def test_json_is_alone_on_stdout(run, fake, checkout):
    fake(result(MIGRATED, BLOCKED, root=checkout))
    ran = run("migrate", "--output-format", "json", cwd=checkout)
    assert json.loads(ran.out)["exit_code"] == 1 == ran.code
    assert "2 units in 3 modules" in ran.err


def test_piped_output_is_plain(run, fake, checkout):
    fake(result(MIGRATED, BLOCKED, root=checkout))
    ran = run("migrate", "-v", cwd=checkout)
    assert ESCAPE not in ran.err + ran.out.decode()


def test_color_always_colors_both_and_keeps_the_bytes(run, fake, checkout):
    fake(result(MIGRATED, root=checkout))
    plain = run("migrate", cwd=checkout)
    colored = run("migrate", "--color", "always", cwd=checkout)
    assert ESCAPE in colored.err
    assert b"\x1b[32m+void" in colored.out
    assert re.sub(rb"\x1b\[\d*m", b"", colored.out) == plain.out


@pytest.mark.parametrize(
    ("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_is_colored_unless_it_says_no(tmp_path, environment, colored):
    program = "import sys; from torchless.report.color import wants_color as w; print(w('auto', sys.stdout))"
    inside = f"import pty, sys; sys.exit(pty.spawn([sys.executable, '-c', {program!r}]))"
    env = {**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **environment}
    done = subprocess.run([sys.executable, "-c", inside], env=env, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.stdout.strip() == str(colored).encode()


def test_a_reader_that_stops_early_is_no_error(tmp_path):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "torchless", "rules"], cwd=tmp_path, stdout=write, stderr=subprocess.PIPE
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_version_and_help(run, tmp_path):
    assert run("--version", cwd=tmp_path).out == f"torchless {__version__}\n".encode()
    ran = run("migrate", "--help", cwd=tmp_path)
    assert ran.code == 0
    flags = """
        --write --module --select --ignore --unsafe --jobs --no-cache --headers -I -D --arch --output-format --exclude
        --force-exclude --allow-dirty --checks --assume-target --why-joined --rules --color --quiet --verbose
    """
    for flag in flags.split():
        assert flag in ran.out.decode()


def test_no_command_is_a_usage_error_that_helps(run, tmp_path):
    ran = run(cwd=tmp_path)
    assert (ran.code, ran.out) == (2, b"")
    assert "migrate" in ran.err and "undo" in ran.err
