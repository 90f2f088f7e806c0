"""The command line in this process, and a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Said:
    """What a run left: exit code, stdout as bytes, stderr as text."""

    code: int
    out: bytes
    err: str


@pytest.fixture
def torchless(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Run the command line in this process, in folder ``cwd``."""
    from torchless import cli

    def go(*arguments: str, cwd: Path) -> Said:
        monkeypatch.chdir(cwd)
        capfdbinary.readouterr()
        code = cli.main(arguments)
        captured = capfdbinary.readouterr()
        return Said(code, captured.out, captured.err.decode())

    return go


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., bytes]:
    """Run a headless browser that reaches no network: TORCHLESS_CHROMIUM, or one on the path; what it prints."""
    names = (os.environ.get("TORCHLESS_CHROMIUM", ""), *BROWSERS)
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine: the page cannot be looked at")

    def run(*arguments: str) -> bytes:
        command = [found, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={tmp_path / 'browser'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
        command += ["--no-first-run", "--disable-background-networking", "--disable-component-update"]
        command += ["--hide-scrollbars", "--window-size=1280,1600"]
        return subprocess.run([*command, *arguments], capture_output=True, timeout=240, check=True, cwd=tmp_path).stdout

    return run
