"""Lints are asked once: the same files and settings give the same findings without asking again, in any process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchless.check import check
from torchless.lints import heavy_include
from torchless.options import CheckOptions

SOURCE = "csrc/kernels/norm_kernels.cu"
PROGRAM = """
import sys
from pathlib import Path
from torchless.check import check
from torchless.options import CheckOptions
result = check(CheckOptions(("csrc",)), Path(sys.argv[1]), lambda stage, done, total: None)
print([(f.path, f.line, f.column, f.code, f.message, f.edits, f.related) for f in result.findings])
print(sorted(name for name in sys.modules if name.startswith("torchless.lints.")))
"""


def asked(root: Path, seed: str) -> list[str]:
    """What a process of its own finds, and which lints it had to import."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", PROGRAM, str(root)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_another_process_finds_the_same_without_looking(mini_aiter: Path) -> None:
    first, second = asked(mini_aiter, "1"), asked(mini_aiter, "2")
    assert first[0] == second[0]
    assert "torchless.lints.heavy_include" in first[1]
    assert "torchless.lints.heavy_include" not in second[1]


@pytest.mark.parametrize("path", [SOURCE, "aiter/ops/norm.py", "aiter/jit/optCompilerConfig.json"])
def test_a_changed_file_is_looked_at_again(mini_aiter: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = heavy_include.findings
    monkeypatch.setattr(heavy_include, "findings", lambda context: (seen.append("asked"), real(context))[1])

    def run() -> None:
        check(CheckOptions(("csrc",)), mini_aiter, lambda stage, done, total: None)

    run()
    run()
    assert seen == ["asked"]
    data = (mini_aiter / path).read_bytes()
    (mini_aiter / path).write_bytes(b"# a line more\n" + data if path.endswith(".py") else data + b"\n")
    run()
    run()
    assert seen == ["asked", "asked"]


def test_other_settings_are_another_question(mini_aiter: Path) -> None:
    def found(**settings: object) -> int:
        options = CheckOptions(("csrc",), select=("TL112",), **settings)  # type: ignore[arg-type]
        return len(check(options, mini_aiter, lambda stage, done, total: None).findings)

    usual = found()
    assert found(heavy=("aiter_tensor.h=mine",)) >= usual
    assert found() == usual


def test_a_vendored_header_that_changes_is_noticed(mini_aiter: Path) -> None:
    vendored = mini_aiter / "3rdparty/composable_kernel/include/ck_tile/core.hpp"
    vendored.parent.mkdir(parents=True)
    vendored.write_text("#pragma once\n")
    source = mini_aiter / "csrc/kernels/norm_kernels.cu"
    source.write_text('#include "../../3rdparty/composable_kernel/include/ck_tile/core.hpp"\n' + source.read_text())

    def lines() -> list[str]:
        result = check(CheckOptions(("csrc",)), mini_aiter, lambda stage, done, total: None)
        return [f.message for f in result.findings if "core.hpp" in f.message]

    before = lines()
    assert lines() == before
    vendored.write_text("#pragma once\n#include <torch/all.h>\n" + "int filler;\n" * 9)
    fresh = check(CheckOptions(("csrc",), cache=False), mini_aiter, lambda stage, done, total: None)
    assert lines() == [f.message for f in fresh.findings if "core.hpp" in f.message] != before
