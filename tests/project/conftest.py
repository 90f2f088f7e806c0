"""Small checkouts, written from a dict of files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

WriteTree = Callable[[Mapping[str, str | bytes]], Path]


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
