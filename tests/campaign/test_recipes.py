"""The recipes for CI: scripts are run, workflows are read, and every torchless command in them is one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from campaign_samples import git, replace_in, repository

from torchless.cli import torchless as commands

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "docs" / "ci"
WORKFLOWS = sorted(CI.glob("github-*.yml"))


def lines_of(file: Path) -> list[str]:
    """The torchless commands in a file."""
    text = re.sub(r"\$\{PLAN:-\}|--(?=\s)", "", file.read_text())
    return re.findall(r"^\s*(?:- run: |run: |left |\$ )?(torchless [^\n#]*)", text, re.M)


@pytest.mark.parametrize("file", [*sorted(CI.iterdir()), ROOT / "docs/campaigns.md"], ids=lambda file: file.name)
def test_every_command_is_one(file: Path) -> None:
    found = lines_of(file)
    assert found or file.name in ("pre-commit-config.yaml", "github-weekly.yml")
    for line in found:
        words = [word.replace("$count", "1") for word in shlex.split(line)[1:]]
        command = commands.get_command(click.Context(commands), words[0])
        assert command is not None, line
        command.make_context(words[0], words[1:], obj={})  # raises for what it does not know


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_are_whole(file: Path) -> None:
    data = yaml.safe_load(file.read_text())
    assert {"name", "jobs", "permissions"} <= set(data) and True in data  # YAML 1.1 reads "on" as true
    for job in data["jobs"].values():
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w/-]+@v\d+", step["uses"])
    text = file.read_text()
    assert "pull_request_target" not in text
    inside = [step["run"] for job in data["jobs"].values() for step in job["steps"] if "run" in step]
    assert not any("${{" in run for run in inside)  # values go through the environment, never into a script


def test_the_hooks_recipe_names_hooks_that_are_there() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repo,) = yaml.safe_load((CI / "pre-commit-config.yaml").read_text())["repos"]
    assert {hook["id"] for hook in repo["hooks"]} <= hooks


def environment(folder: Path) -> dict[str, str]:
    """What a script needs: torchless as this Python has it, and a gh that writes down what it is asked."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "torchless").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m torchless "$@"\n')
    (tools / "gh").write_text(
        f'#!/bin/sh\necho "$@" >> "{folder}/gh.log"\n'
        f'case "$2" in\nlist) grep -qx "$4" "{folder}/open" 2>/dev/null && echo 7; exit 0 ;;\n'
        f'create) echo "$4" >> "{folder}/open"; cat > "{folder}/body-$(echo "$4" | tr / -)" ;;\nesac\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TORCHLESS_JOBS": "1"}


def script(name: str, cwd: Path, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(CI / name)]
    return subprocess.run(
        command, cwd=cwd, env={**environment(folder), **more}, capture_output=True, text=True, check=False
    )


def test_the_plain_check(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    assert script("check.sh", root, tmp_path, BASE="HEAD").returncode == 0
    replace_in(
        root, "csrc/pybind/alpha_pybind.cu", '#include "alpha.h"\n', '#include "alpha.h"\n#include <torch/all.h>\n'
    )
    done = script("check.sh", root, tmp_path, BASE="HEAD", OUT="found")
    assert done.returncode == 1 and "csrc/pybind/alpha_pybind.cu:3" in done.stdout
    assert "<testsuite" in (root / "found/torchless.xml").read_text()
    assert '"version": "2.1.0"' in (root / "found/torchless.sarif").read_text()
    assert script("check.sh", root, tmp_path, BASE="nowhere").returncode == 2


def test_the_weekly_job(tmp_path: Path) -> None:
    """Weeks against a remote in a folder: a batch a week, a merge between, and nothing twice."""
    text = "".join(f"line {n}\n" for n in range(1, 30))
    first = repository(tmp_path / "r", {"csrc/one.txt": text, "csrc/three.txt": text})
    remote = tmp_path / "remote.git"
    git(first, "clone", "-q", "--bare", str(first), str(remote))
    environment(tmp_path)
    here = Path(__file__).parent
    fake = f'#!/bin/sh\nPYTHONPATH="{ROOT}:{here}" exec "{sys.executable}" "{here / "stand_in.py"}" "$@"\n'
    (tmp_path / "bin/torchless").write_text(fake)
    more = {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def week(clone: Path) -> None:
        if not clone.exists():
            git(first, "clone", "-q", str(remote), str(clone))
            for key, value in (("user.name", "CI"), ("user.email", "ci@example.org")):
                git(clone, "config", key, value)
        command = ["sh", str(CI / "weekly.sh")]
        done = subprocess.run(
            command, cwd=clone, env={**os.environ, **more}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def branches() -> list[str]:
        return git(remote, "for-each-ref", "--format=%(refname:short)", "refs/heads/torchless/").split()

    week(tmp_path / "w1")
    assert branches() == ["torchless/one"]
    assert "| batch | preprocessed lines before |" in (tmp_path / "body-torchless-one").read_text()
    assert git(remote, "show", "torchless-campaign:campaign.toml").count('state = "emitted"') == 1
    week(tmp_path / "w1")  # the same clone again
    assert branches() == ["torchless/one", "torchless/two"]
    clone = tmp_path / "w1"
    git(clone, "switch", "-q", "main")
    git(clone, "merge", "-q", "--squash", "torchless/one")
    git(clone, "commit", "-qm", "one (#1)")
    git(clone, "push", "-q", "origin", "main")
    old = git(remote, "rev-parse", "torchless/two")
    week(tmp_path / "w2")  # another clone
    assert branches() == ["torchless/one", "torchless/three", "torchless/two"]
    assert git(remote, "rev-parse", "torchless/two") != old  # it needed the first, and is on main now
    assert git(remote, "rev-parse", "torchless/two^") == git(remote, "rev-parse", "main")
    told = git(remote, "show", "torchless-campaign:campaign.toml")
    assert told.count('state = "merged"') == 1 and told.count('state = "emitted"') == 2
    created = [line for line in (tmp_path / "gh.log").read_text().splitlines() if line.startswith("pr create")]
    assert len(created) == 3 and "[three] Take torch out" in created[2]
    state = git(remote, "rev-parse", "torchless-campaign")
    week(tmp_path / "w3")  # nothing is left to make
    assert git(remote, "rev-parse", "torchless-campaign") == state and len(branches()) == 3
