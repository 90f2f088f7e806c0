"""The command line in this process or in another, and results that no engine had to compute."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_samples import OLD

from torchless import api


@dataclass(frozen=True)
class Ran:
    """What a run left: exit code, stdout as bytes, stderr as text."""

    code: int
    out: bytes
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, in folder ``cwd``."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)

    from torchless import cli

    def go(*arguments: str, cwd: Path) -> Ran:
        monkeypatch.chdir(cwd)
        capfdbinary.readouterr()
        code = cli.main(arguments)
        captured = capfdbinary.readouterr()
        return Ran(code, captured.out, captured.err.decode())

    return go


@pytest.fixture
def spawn() -> Run:
    """Run the command line as a process of its own; ``stdout`` goes where it says."""

    def go(*arguments: str, cwd: Path, stdout: object = subprocess.PIPE) -> Ran:
        command = [sys.executable, "-m", "torchless", *arguments]
        done = subprocess.run(command, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, check=False)  # type: ignore[call-overload]
        return Ran(done.returncode, done.stdout or b"", done.stderr.decode())

    return go


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[api.MigrateResult | BaseException], list[api.MigrateOptions]]:
    """Make api.migrate() give (or raise) something; the list that comes back collects the options it was given."""

    def install(outcome: api.MigrateResult | BaseException) -> list[api.MigrateOptions]:
        asked: list[api.MigrateOptions] = []

        def migrate(
            options: api.MigrateOptions, start: Path, progress: api.Progress, *, recalled: bool
        ) -> api.MigrateResult:
            asked.append(options)
            progress("parse", 1, 2)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        monkeypatch.setattr(api, "migrate", migrate)
        return asked

    return install


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the one file that results change, outside of any git tree."""
    root = tmp_path / "checkout"
    (root / "csrc").mkdir(parents=True)
    (root / "csrc" / "scale.cu").write_bytes(OLD)
    return root


@pytest.fixture
def repository(checkout: Path) -> Path:
    """The same folder as a git tree in which everything is committed."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "start"]):
        subprocess.run(["git", *command], cwd=checkout, check=True)
    return checkout
