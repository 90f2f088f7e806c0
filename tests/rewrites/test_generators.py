"""Generators that print torch keep their modules as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from torchless.model import Finding
from torchless.project.model import Module
from torchless.rewrites.generators import generated_torch
from torchless.text.source import SourceFile, read_source

SCRIPT = "csrc/gemm/gen_instances.py"


def found(root: Path, files: Mapping[str, str], *scripts: str) -> list[Finding]:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    module = Module("module_gemm", (), generators=scripts or (SCRIPT,))
    return generated_torch(root, [module], lambda path: read_source(root, path))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('BODY = "void f(torch::Tensor& x);"', "torch::Tensor"),
        ("BODY = '''#include <ATen/ATen.h>\n'''", "#include <ATen/ATen.h>"),
        ('BODY = f"TORCH_CHECK({x});"', "TORCH_CHECK"),
        ('print("c10::Half")', "c10::Half"),
        ('x = (  # not Python\nBODY = "at::Half"', "at::Half"),
    ],
)
def test_a_script_that_prints_torch_blocks(tmp_path: Path, text: str, what: str) -> None:
    (finding,) = found(tmp_path, {SCRIPT: text})
    assert (finding.code, finding.path, finding.blocks, finding.edits) == ("TL801", SCRIPT, True, ())
    assert text.encode()[finding.start : finding.end] == what.encode()
    assert finding.message == f"the generator of module_gemm prints C++ with {what}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch\nx = torch.empty(1)  # torch::empty in C++\n",
        "\ufeff# Größe: torch::Tensor\n'#include <torch' # TORCH_CHECK\r\n",
        'BODY = "aiter_tensor_t& x; flat::x; TORCH_CHECKED"',
    ],
)
def test_other_scripts_do_not(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, {SCRIPT: text}) == []


def test_scripts_beside_it_count_where_it_names_them_except_those_for_tuning(tmp_path: Path) -> None:
    torch = 'BODY = "torch::Tensor"\n'
    files = {
        SCRIPT: "from second import BODY\nimport gemm_tune, gen\n",
        "csrc/gemm/second.py": "import common\n",
        "csrc/gemm/gemm_tune.py": torch,
        "csrc/other/gen.py": torch,
        "csrc/gemm/notes.txt": torch,
    }
    assert found(tmp_path, files) == []
    further = {"csrc/gemm/common.py": torch, "csrc/gemm/alone.py": torch}
    assert [f.path for f in found(tmp_path, {**files, **further})] == ["csrc/gemm/common.py"]


def test_the_script_that_a_module_runs_counts_whatever_its_name(tmp_path: Path) -> None:
    for path in ("csrc/gemm_tune/gen.py", "csrc/gemm/gen_tune.py"):
        assert [f.path for f in found(tmp_path, {path: 'B = "torch::Tensor"'}, path)] == [path]


def test_each_script_is_told_once(tmp_path: Path) -> None:
    files = {SCRIPT: 'B = "torch::x"', "csrc/gemm/second.py": 'B = "torch::y"'}
    assert len(found(tmp_path, files, SCRIPT, "csrc/gemm/second.py")) == 2


def test_what_cannot_be_read_blocks(tmp_path: Path) -> None:
    def read(path: str) -> SourceFile:
        raise PermissionError(13, "Permission denied")

    module = Module("module_gemm", (), generators=(SCRIPT,))
    (finding,) = generated_torch(tmp_path, [module], read)
    assert finding.blocks and f"{SCRIPT} cannot be read (Permission denied)" in finding.message


def test_modules_without_generators_have_none(tmp_path: Path) -> None:
    assert generated_torch(tmp_path, [Module("m", ("a.cu",), has_generator=True)], lambda p: SourceFile(p, b"")) == []
