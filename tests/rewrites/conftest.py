"""Small checkouts, and what is left of them after the edits of some findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from torchless.model import Finding
from torchless.text.edits import apply

Checkout = Callable[[Mapping[str, "str | bytes"], Mapping[str, Sequence[str]]], Path]
Rewrite = Callable[[Path, Iterable[Finding]], None]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Writes a checkout from files and modules (name -> sources below csrc)."""

    def write(files: Mapping[str, str | bytes], modules: Mapping[str, Sequence[str]]) -> Path:
        config = {
            name: {"srcs": [f"f'{{AITER_CSRC_DIR}}/{source}'" for source in sources]}
            for name, sources in modules.items()
        }
        core = "def compile_ops(_md_name, fc_name=None, *, develop=False): ...\n"
        standard = {"aiter/jit/optCompilerConfig.json": json.dumps(config), "aiter/jit/core.py": core}
        for name, content in {**standard, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


@pytest.fixture
def rewrite() -> Rewrite:
    """Makes the edits of findings in the files on disk."""

    def run(root: Path, findings: Iterable[Finding]) -> None:
        edits = [edit for finding in findings for edit in finding.edits]
        for path in {edit.path for edit in edits}:
            file = root / path
            file.write_bytes(apply(file.read_bytes(), [edit for edit in edits if edit.path == path]))

    return run
