"""The packaged hooks in a real git repository, run by the real pre-commit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "mini-aiter"
LEAK = b"#include <torch/all.h>\n"
# Three headers deep, below a source of a module of its own that has nothing to do with torch.
DEPTH = {
    "csrc/include/deep/first.h": b'#pragma once\n#include "second.h"\ninline int first() { return second(); }\n',
    "csrc/include/deep/second.h": b'#pragma once\n#include "third.h"\ninline int second() { return third(); }\n',
    "csrc/include/deep/third.h": b"#pragma once\ninline int third() { return 3; }\n",
    "csrc/kernels/clean.cu": b'#include "deep/first.h"\nint clean() { return first(); }\n',
}


@dataclass(frozen=True)
class Done:
    """How a process ended; ``text`` is everything that it printed."""

    code: int
    text: str


@dataclass(frozen=True)
class Repository:
    """A git repository whose commits run the hooks."""

    root: Path
    environment: Mapping[str, str]

    def run(self, *command: str) -> Done:
        done = subprocess.run(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        return Done(done.returncode, done.stdout.decode("utf-8", "replace"))

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def hook(self, name: str, *arguments: str) -> Done:
        return self.run(sys.executable, "-m", "pre_commit", "run", name, *arguments)

    def commit(self, message: str) -> Done:
        self.run("git", "add", "-A")
        return self.run("git", "commit", "-m", message)

    def write(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()


def git_environment(home: Path) -> dict[str, str]:
    """An environment in which git and pre-commit see no settings but the test's own."""
    who = {
        f"GIT_{role}_{field}": f"{role}@example.invalid"
        for role in ("AUTHOR", "COMMITTER")
        for field in ("NAME", "EMAIL")
    }
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}
    return {**kept, **who, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "PRE_COMMIT_COLOR": "never", "NO_COLOR": "1"}


@pytest.fixture(scope="session")
def packaged_hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """This project as a repository that pre-commit can install from, and its only revision."""
    folder = tmp_path_factory.mktemp("packaged")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    environment = git_environment(folder)
    for command in ("init -q", "add -A -f", "commit -q -m packaged --no-verify"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environment, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, env=environment, capture_output=True, check=True)
    return folder, head.stdout.decode().strip()


@pytest.fixture(scope="session")
def hook_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environment of the hooks: made once, used by all tests here."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def repository(tmp_path: Path, packaged_hooks: tuple[Path, str], hook_home: Path, cache_folder: Path) -> Repository:
    """The bundled example with a torch-free module beside it, a baseline, and the hooks installed."""
    root = Path(shutil.copytree(EXAMPLE, tmp_path / "checkout"))
    environment = {
        **git_environment(tmp_path),
        "PRE_COMMIT_HOME": str(hook_home),
        "TORCHLESS_CACHE_DIR": str(cache_folder),
    }
    made = Repository(root, environment)
    for path, data in DEPTH.items():
        made.write(path, data)
    configuration = root / "aiter" / "jit" / "optCompilerConfig.json"
    modules = json.loads(configuration.read_text())
    model = next(iter(modules.values()))
    modules["module_clean"] = {**model, "srcs": ["f'{AITER_CSRC_DIR}/kernels/clean.cu'"]}
    configuration.write_text(json.dumps(modules, indent=4))
    folder, revision = packaged_hooks
    ids = "".join(f"      - id: {name}\n" for name in ("torchless-check", "torchless-fix"))
    manual = "        stages: [manual]\n"
    made.write(
        ".pre-commit-config.yaml",
        f"repos:\n  - repo: {folder}\n    rev: {revision}\n    hooks:\n{ids}{manual}".encode(),
    )
    made.write("torchless.toml", b'baseline = ".torchless-baseline.json"\n')
    made.run("git", "init", "-q")
    known = made.run(sys.executable, "-m", "torchless", "check", "csrc", "--write-baseline")
    assert known.code == 0, known.text
    assert made.commit("Start").code == 0
    installed = made.run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    assert installed.code == 0, installed.text
    return made
