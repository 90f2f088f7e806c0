"""Units, through the whole engine: what moves together, what stays together, and what a comment keeps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, Ran, add, add_module, run
from torchless.model import UnitStatus

# One header, one text, two types: what a source defines before it includes the header decides.
TWO_TYPES = """#pragma once
#if P03_OWN
struct p03_t
{
    int scalar_type() const { return 0; }
};
#else
#include <torch/extension.h>
using p03_t = at::Tensor;
#endif
inline bool same(const p03_t& x, const p03_t& y) { return x.scalar_type() == y.scalar_type(); }
"""
DECLARED = """#pragma once
#include <torch/extension.h>

void p30(torch::Tensor& x,
         const std::optional<torch::Tensor>& bias = c10::nullopt,
         std::optional<at::Tensor> scale          = std::nullopt,
         int64_t splits                           = 4);
"""
DECLARED_AFTER = """#pragma once
#include "aiter_tensor.h"
#include <cstdint>
#include <optional>

void p30(aiter_tensor_t& x,
         std::optional<aiter_tensor_t> bias = std::nullopt,
         std::optional<aiter_tensor_t> scale          = std::nullopt,
         int64_t splits                           = 4);
"""
DEFINED = """#include <torch/extension.h>

void p30(torch::Tensor& x,
         const std::optional<torch::Tensor>& bias,
         std::optional<at::Tensor> scale,
         int64_t splits = 4)
{
    if(bias && scale)
        TORCH_CHECK(bias->dim() == scale.value().dim() && splits > 0);
}
void p30_own(torch::Tensor& x, std::optional<torch::Tensor> bias = std::nullopt)
{
    p30(x, bias, std::nullopt);
}
"""
DEFINED_AFTER = """#include "p30.h"

void p30(aiter_tensor_t& x,
         std::optional<aiter_tensor_t> bias,
         std::optional<aiter_tensor_t> scale,
         int64_t splits)
{
    if(bias && scale)
        AITER_CHECK(bias->dim() == scale.value().dim() && splits > 0);
}
void p30_own(aiter_tensor_t& x, std::optional<aiter_tensor_t> bias = std::nullopt)
{
    p30(x, bias, std::nullopt);
}
"""
BOUND = """#include "rocm_ops.hpp"
#include "p30.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("p30", &p30, py::arg("x"), py::arg("bias") = c10::nullopt, py::arg("scale") = py::none(), py::arg("n") = 4);
}
"""
OP = """from typing import Optional

from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_p30")
def p30(
    x: Tensor, bias: Optional[Tensor] = None, scale: Optional[Tensor] = None, splits: int = 4
) -> None: ...
"""
PASTED = """#include <torch/all.h>
#include "p24.h"
#define P24_GLUE(a, b) a##b
#define P24_ROW(name) name,
enum p24_kinds
{
#include "p24_rows.inc"
    last_kind
};
void pasted(torch::Tensor& x)
{
    P24_GLUE(P24_, CHECK)(x);
    std::vector<int> kinds(x.dim(), last_kind);
}
"""
ODR = {
    "csrc/include/p42.h": '#pragma once\n#define P42_CHECK(x) TORCH_CHECK((x).is_cuda(), "on the GPU")\n',
    "csrc/kernels/p42_a.cu": '#include <torch/extension.h>\n#include "p42.h"\n'
    "void a(torch::Tensor& x) { P42_CHECK(x); }\n",
    "csrc/kernels/p42_b.cu": '#include <torch/extension.h>\n#include "p42.h"\n'
    "torch::Tensor b(torch::Tensor& x)\n{\n    P42_CHECK(x);\n    return torch::cat({x, x});\n}\n",
}
KEPT = """#include <torch/extension.h>
void kept(torch::Tensor& x) // torchless: ignore[TL201] others call it
{
    TORCH_CHECK(x.dim() == 2);
}
"""
STALE = """#include <torch/extension.h>
void stale(torch::Tensor& x)
{
    TORCH_CHECK(x.dim() == 2); // torchless: ignore[TL490] allocates nothing
}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("units") / "mini-aiter"))
    own = '#define P03_OWN 1\n#include "p03.h"\nbool own(p03_t& x) { return same(x, x); }\n'
    other = '#include "p03.h"\nbool other(torch::Tensor& x) { return same(x, x); }\n'
    add(root, {"csrc/include/p03.h": TWO_TYPES, "csrc/kernels/p03_own.cu": own, "csrc/kernels/p03_other.cu": other})
    add(root, {"csrc/include/p30.h": DECLARED, "csrc/kernels/p30.cu": DEFINED})
    add(root, {"csrc/pybind/p30_pybind.cu": BOUND, "aiter/ops/p30.py": OP})
    add_module(root, "module_p30", "kernels/p30.cu", "pybind/p30_pybind.cu")
    check = '#pragma once\n#define P24_CHECK(x) TORCH_CHECK((x).is_cuda(), "on the GPU")\n'
    rows = "P24_ROW(one)\nP24_ROW(two)\n"
    add(root, {"csrc/kernels/pasted.cu": PASTED, "csrc/include/p24.h": check, "csrc/kernels/p24_rows.inc": rows})
    add(root, {**ODR, "csrc/kernels/kept.cu": KEPT, "csrc/kernels/stale.cu": STALE})
    norm = root / "aiter/ops/norm.py"
    norm.write_text(norm.read_text().replace('_norm")\n', '_norm")  # torchless: ignore[TL701] not yet\n', 1))
    return run(root)


NORM = {"csrc/include/norm.h", "csrc/kernels/norm_kernels.cu", "csrc/pybind/norm_pybind.cu", "aiter/ops/norm.py"}


def test_p03_a_text_that_means_two_things_is_left(ran: Ran) -> None:
    assert ran.status("csrc/include/p03.h") is UnitStatus.BACKED_OUT
    assert any("'dtype' in 'p03_t'" in f.message for f in ran.findings("csrc/include/p03.h", "TL008"))
    assert not [path for path in ran.changed if "p03" in path]


def test_p24_a_use_that_only_the_preprocessor_spells_is_seen_by_the_check(ran: Ran) -> None:
    assert ran.status("csrc/kernels/pasted.cu") is UnitStatus.BACKED_OUT
    assert any("'is_cuda'" in f.message for f in ran.findings("csrc/kernels/pasted.cu", "TL008"))
    assert not [path for path in ran.changed if "p24" in path or "pasted" in path]


def test_p30_a_default_stays_in_one_place(ran: Ran) -> None:
    assert ran.after["csrc/include/p30.h"].decode() == DECLARED_AFTER
    assert ran.after["csrc/kernels/p30.cu"].decode() == DEFINED_AFTER
    bound = ran.after["csrc/pybind/p30_pybind.cu"].decode()
    assert 'py::arg("bias") = std::nullopt, py::arg("scale") = py::none(), py::arg("n") = 4' in bound


def test_p31_declaration_definition_binding_and_op_change_together(ran: Ran) -> None:
    unit = ran.unit("csrc/kernels/scale_kernels.cu")
    assert unit.status is UnitStatus.MIGRATED and unit.modules == ("module_scale",)
    assert {e.path for e in unit.edits} == {
        "aiter/ops/scale.py",
        "csrc/include/rocm_ops.hpp",
        "csrc/include/scale.h",
        "csrc/kernels/scale_kernels.cu",
        "csrc/pybind/scale_pybind.cu",
    }
    assert ran.after["aiter/ops/scale.py"].count(b"develop=True") == 2
    assert ran.after["csrc/include/rocm_ops.hpp"].count(b"AITER_SET_STREAM_PYBIND") == 2  # defined, used once


def test_p39_half_a_module_is_never_written(ran: Ran) -> None:
    assert ran.status("csrc/kernels/norm_kernels.cu") is UnitStatus.BLOCKED
    assert not NORM & ran.changed
    before, after = (t["csrc/include/rocm_ops.hpp"].partition(b"#define SCALE_PYBIND") for t in (ran.before, ran.after))
    assert before[0] == after[0] and before[2] != after[2]
    assert ran.unit("csrc/kernels/norm_kernels.cu").edits == ()


def test_p42_a_check_macro_changes_for_all_of_its_users_or_none(ran: Ran) -> None:
    units = {path: ran.unit(path).name for path in ODR}
    assert len(set(units.values())) == 1
    assert ran.blockers("csrc/include/p42.h") >= {"TL290"}
    assert not ODR.keys() & ran.changed


def test_a_comment_keeps_its_unit(ran: Ran) -> None:
    path = "csrc/kernels/kept.cu"
    assert ran.status(path) is UnitStatus.BLOCKED
    assert [f.message for f in ran.unit(path).findings if f.blocks] == [
        "left alone on request (others call it): a tensor reference becomes aiter_tensor_t&"
    ]
    assert path not in ran.changed
    assert [f.message for f in ran.findings("aiter/ops/norm.py", "TL701") if f.blocks] == [
        "left alone on request (not yet): rms_norm takes torch tensors in C++ until it is a develop op"
    ]


def test_a_comment_that_keeps_nothing_is_said(ran: Ran) -> None:
    path = "csrc/kernels/stale.cu"
    assert [(f.line, f.message) for f in ran.findings(path, "TL001")] == [(4, "ignore[TL490] suppresses nothing")]
    assert ran.status(path) is UnitStatus.MIGRATED
    assert b"torchless: ignore[TL490]" in ran.after[path]
    assert not ran.findings("csrc/kernels/kept.cu", "TL001")


def test_the_output_does_not_depend_on_order_workers_or_hashes(tmp_path: Path) -> None:
    root = Path(shutil.copytree(EXAMPLE, tmp_path / "mini-aiter"))
    add(root, {**ODR, "csrc/kernels/stale.cu": STALE})
    paths = ["csrc/kernels/stale.cu", "csrc/kernels/p42_a.cu"]
    told = []
    for seed, jobs, order in (("1", "1", paths), ("77", "3", paths[::-1])):
        words = ["migrate", "--no-cache", "--output-format", "json", "-q", "-j", jobs, *order]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "torchless", *words]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
        told.append(json.loads(done.stdout))
        del told[-1]["summary"]["seconds"]
    assert told[0] == told[1]
    assert {unit["status"] for unit in told[0]["units"]} >= {"migrated", "blocked"}
