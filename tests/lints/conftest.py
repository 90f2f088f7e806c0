"""Small checkouts for lints: laid out from texts, checked, and mended with what the findings offer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from torchless.check import check
from torchless.model import Finding, Tier
from torchless.options import CheckOptions
from torchless.text.edits import apply

MINI = Path(__file__).resolve().parents[2] / "examples" / "mini-aiter"
CONFIG = "aiter/jit/optCompilerConfig.json"
MODULE = "module_example"
EXCERPT = "csrc/kernels/excerpt.cu"
"""Where the text of an example lies that is no checkout."""
Texts = Mapping[str, "str | bytes"]


def lay_out(root: Path, files: Texts, modules: Mapping[str, Sequence[str]] | None = None) -> None:
    """A checkout at ``root``: the target's headers and JIT of the bundled example, and ``files`` (by path) on top.

    ``modules`` maps names to root-relative sources; None makes one module, module_example, of all sources in ``files``.
    A configuration among ``files`` is taken as it is.
    """
    shutil.copytree(MINI / "aiter" / "jit", root / "aiter" / "jit")
    (root / "csrc" / "include").mkdir(parents=True)
    for header in (*(MINI / "csrc" / "include").glob("aiter_*.h"), MINI / "csrc" / "include" / "rocm_ops.hpp"):
        shutil.copy(header, root / "csrc" / "include")
    if modules is None:
        modules = {MODULE: [path for path in files if path.endswith((".cu", ".cpp"))]}
    standard = {"aiter/__init__.py": "", "aiter/ops/__init__.py": "", CONFIG: configuration(modules)}
    for path, content in {**standard, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())


def configuration(modules: Mapping[str, Sequence[str]]) -> str:
    """A JIT configuration for modules (name -> root-relative sources below csrc)."""

    def entry(sources: Iterable[str]) -> dict[str, object]:
        spelled = [f"f'{{AITER_CSRC_DIR}}/{path.removeprefix('csrc/')}'" for path in sources]
        lists = {key: [] for key in ("flags_extra_cc", "flags_extra_hip", "extra_include")}
        texts = {"extra_ldflags": "None", "verbose": "False", "blob_gen_cmd": "''"}
        return {"srcs": spelled, **lists, **texts}

    return json.dumps({name: entry(sources) for name, sources in modules.items()}, indent=4) + "\n"


def findings_in(root: Path, codes: Iterable[str] = (), paths: Sequence[str] = (".",)) -> list[Finding]:
    """What `torchless check` of ``paths`` finds, with these codes only; all of them when none are given."""
    options = CheckOptions(paths=tuple(paths), select=tuple(codes), cache=False)
    return list(check(options, root, lambda stage, done, total: None).findings)


def mend(root: Path, findings: Iterable[Finding], unsafe: bool = True) -> None:
    """Make the edits of ``findings`` in the files on disk, those of unsafe ones on request."""
    tiers = (Tier.SAFE, Tier.UNSAFE) if unsafe else (Tier.SAFE,)
    edits = [edit for finding in findings if finding.tier in tiers for edit in finding.edits]
    for path in {edit.path for edit in edits}:
        file = root / path
        file.write_bytes(apply(file.read_bytes(), [edit for edit in edits if edit.path == path]))


def texts_in(root: Path, paths: Iterable[str]) -> dict[str, bytes]:
    """The bytes of the files at ``paths``."""
    return {path: (root / path).read_bytes() for path in paths}


Found = Callable[..., list[Finding]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    """found(files, *codes, modules=None, paths=(".",)) lays out a checkout and checks it, once per test."""

    def run(
        files: Texts, *codes: str, modules: Mapping[str, Sequence[str]] | None = None, paths: Sequence[str] = (".",)
    ) -> list[Finding]:
        lay_out(tmp_path, files, modules)
        return findings_in(tmp_path, codes, paths)

    return run
