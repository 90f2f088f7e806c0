"""Small trees of files, and closures over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from torchless.closure.directives import Scan, scan_directives
from torchless.closure.model import Closure
from torchless.closure.walk import Checkout, closure_of
from torchless.closure.weights import Weights
from torchless.facts.includes import Include, IncludeGraph
from torchless.facts.model import TuSpec

Files = Mapping[str, "str | bytes"]


def write(root: Path, files: Files) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def checkout_at(root: Path, weights: Weights | None = None) -> Checkout:
    graph = IncludeGraph(root)

    def scan(path: str) -> Scan:
        return scan_directives((root / path).read_bytes())

    def resolve(includer: str, spelled: str, angled: bool, folders: Sequence[str]) -> str:
        return graph.resolve(includer, Include(0, spelled, angled), folders)

    return Checkout(scan, resolve, weights or Weights())


@pytest.fixture
def follow(tmp_path: Path) -> Callable[..., Closure]:
    """Writes files and follows one of them, by default a.cu, as `TuSpec` says with the keywords given."""

    def run(files: Files, source: str = "a.cu", weights: Weights | None = None, **how: object) -> Closure:
        write(tmp_path, files)
        spec = TuSpec(source, **{"include_dirs": (".",), "enable_ck": True, **how})  # type: ignore[arg-type]
        return closure_of(checkout_at(tmp_path, weights), spec)

    return run
