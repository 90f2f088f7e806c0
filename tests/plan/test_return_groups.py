"""Functions of one name in two modules that have nothing to do with each other are settled each on its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, Ran, add, add_module, run
from torchless.model import UnitStatus

# Each module has a function ``launch`` behind its entry point; only what it gives back differs.
NEW = """#include <torch/extension.h>
static torch::Tensor launch(torch::Tensor& x, torch::Tensor& y) { return torch::empty_like(x); }
torch::Tensor {name}(torch::Tensor& x, torch::Tensor& y) {{ return launch(x, y); }}
"""
OWN = NEW.replace("torch::empty_like(x)", "y")
BOUND = """#include "rocm_ops.hpp"
#include <torch/extension.h>
torch::Tensor {name}(torch::Tensor& x, torch::Tensor& y);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("{name}", &{name}); }}
"""
OP = """from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_{name}")
def {name}(x: Tensor, y: Tensor) -> Tensor: ...
"""
SHARED = """#pragma once
#include <torch/extension.h>
torch::Tensor shared_launch(torch::Tensor& x, torch::Tensor& y);
"""


def _module(root: Path, name: str, source: str) -> None:
    source = source.replace("{{", "{").replace("}}", "}").replace("{name}", name)
    add(root, {f"csrc/kernels/{name}.cu": source, f"csrc/pybind/{name}_pybind.cu": BOUND.format(name=name)})
    add(root, {f"aiter/ops/{name}.py": OP.format(name=name)})
    add_module(root, f"module_{name}", f"kernels/{name}.cu", f"pybind/{name}_pybind.cu")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("groups") / "mini-aiter"))
    _module(root, "fresh", NEW)
    _module(root, "own", OWN)
    # the same two definitions of a function that a common header declares: whose is meant, nobody knows
    include = '#include "shared.h"\n'
    add(root, {"csrc/include/shared.h": SHARED})
    for name, source in (("left", NEW), ("right", OWN)):
        _module(root, name, include + source.replace("static ", "").replace("launch(", "shared_launch("))
    return run(root)


def test_each_module_has_its_own_answer(ran: Ran) -> None:
    assert ran.status("csrc/kernels/fresh.cu") is UnitStatus.MIGRATED
    assert ran.status("csrc/kernels/own.cu") is UnitStatus.MIGRATED
    assert "torch.empty_like(x)" in ran.after["aiter/ops/fresh.py"].decode()
    assert "return y" in ran.after["aiter/ops/own.py"].decode()


def test_a_header_that_declares_the_function_ties_its_modules_together(ran: Ran) -> None:
    for name in ("left", "right"):
        assert ran.status(f"csrc/kernels/{name}.cu") is UnitStatus.BLOCKED
        assert ran.before[f"csrc/kernels/{name}.cu"] == ran.after[f"csrc/kernels/{name}.cu"]
    reasons = [f.message for f in ran.findings("csrc/kernels/left.cu", "TL290")]
    assert any("its definitions give different things back" in reason for reason in reasons)
