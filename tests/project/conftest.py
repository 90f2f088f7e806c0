"""Small checkouts, written from a dict of files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless import index

WriteTree = Callable[[Mapping[str, str | bytes]], Path]
TICK = 0.03  # seconds; longer than a tick of any clock that a test's file system may have


@pytest.fixture
def write_tree(tmp_path: Path) -> WriteTree:
    """Writes root-relative files below a fresh folder and gives the folder."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


@pytest.fixture
def write_config(write_tree: WriteTree) -> Callable[..., Path]:
    """Writes a checkout with the given module entries and further files."""

    def write(entries: Mapping[str, object], files: Mapping[str, str | bytes] | None = None) -> Path:
        return write_tree({"aiter/jit/optCompilerConfig.json": json.dumps(entries, indent=4), **(files or {})})

    return write


@pytest.fixture
def quick_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Files settle within a tick, as far as an index is concerned; the function waits for that."""
    monkeypatch.setattr(index, "_SETTLED", int(TICK * 1e9))
    return lambda: time.sleep(2 * TICK)
