"""The check, through the whole engine: what is wrong is seen, backed out whole and told, at nobody else's cost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, FIXTURES, Command, Ran, add, add_module, look, run, snapshot
from torchless.model import UnitStatus
from torchless.report.outcome import judge

WRONG = str(FIXTURES / "wrong.toml")
DECLARED = """#pragma once
__host__ __device__ void wrong_call(int rank);
void run(void* out);
"""
# Nobody has p33_generated.h: a parser that stops at a fatal error would see nothing from there on.
BEHIND = """#include <torch/extension.h>
#include "p33_generated.h"
#include "wrong.h"
void behind(torch::Tensor& x)
{
    generated(x);
    wrong_call(3);
}
"""
DEVICE = """#include <torch/extension.h>
#include "p33_generated.h"
#include "wrong.h"
__global__ void kernel(float* out)
{
#ifdef __HIP_DEVICE_COMPILE__
    wrong_call(3);
#endif
}
void device(torch::Tensor& x)
{
    kernel<<<1, 64>>>(x.data_ptr<float>());
}
"""
RIGHT = """#include <torch/extension.h>
#include "p33_generated.h"
#include "wrong.h"
void right(torch::Tensor& x)
{
    TORCH_CHECK(x.dim() == 2, "right");
    run(generated(x.data_ptr()));
}
"""
RIVAL = """#include <torch/extension.h>
void r(torch::Tensor& rival)
{
    TORCH_CHECK(rival.dim());
}
"""
HALF_A = """#include <torch/extension.h>
void half_a(torch::Tensor& x)
{
    TORCH_CHECK(x.dim());
}
"""
HALF_B = """#include "wrong.h"
void half_b(int rank)
{
    wrong_call(rank);
    TORCH_CHECK(rank);
}
"""
SOURCES = {
    "csrc/include/wrong.h": DECLARED,
    "csrc/kernels/behind.cu": BEHIND,
    "csrc/kernels/device.cu": DEVICE,
    "csrc/kernels/right.cu": RIGHT,
    "csrc/kernels/rival.cu": RIVAL,
    "csrc/kernels/half_a.cu": HALF_A,
    "csrc/kernels/half_b.cu": HALF_B,
}
DEEP = "int deep = " + "1 + " * 60_000 + "1;\n"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("check") / "mini-aiter"))
    add(root, SOURCES)
    add_module(root, "module_half", "kernels/half_a.cu", "kernels/half_b.cu")
    return run(root, rule_files=(WRONG,))


@pytest.mark.parametrize("path", ["csrc/kernels/behind.cu", "csrc/kernels/device.cu"])
def test_p33_a_missing_header_does_not_blind_the_check(ran: Ran, path: str) -> None:
    assert ran.status(path) is UnitStatus.BACKED_OUT
    assert [f.message for f in ran.findings(path, "TL008") if "'undeclared_call'" in f.message]
    assert [f.line for f in ran.findings(path, "TL002")] == [2]
    assert ran.after[path] == ran.before[path]


def test_p33_what_is_right_behind_a_missing_header_migrates(ran: Ran) -> None:
    path = "csrc/kernels/right.cu"
    assert ran.status(path) is UnitStatus.MIGRATED
    assert [f.line for f in ran.findings(path, "TL002")] == [2]
    assert b'    AITER_CHECK(x.dim() == 2, "right");\n' in ran.after[path]


def test_p04_two_edits_of_one_text_block_the_unit(ran: Ran) -> None:
    path = "csrc/kernels/rival.cu"
    assert ran.status(path) is UnitStatus.BLOCKED
    (conflict,) = ran.findings(path, "TL005")
    assert "TL992" in conflict.message and "TL201" in conflict.message
    assert ran.after[path] == ran.before[path]


def test_a_module_that_fails_in_one_source_is_left_whole(ran: Ran) -> None:
    unit = ran.unit("csrc/kernels/half_b.cu")
    assert (unit.modules, unit.status, unit.edits) == (("module_half",), UnitStatus.BACKED_OUT, ())
    assert unit == ran.unit("csrc/kernels/half_a.cu")
    assert not {"csrc/kernels/half_a.cu", "csrc/kernels/half_b.cu"} & ran.changed


def test_nothing_else_is_lost(ran: Ran, mini_aiter: Path) -> None:
    alone = look(mini_aiter)
    assert alone.changes
    assert {path: ran.after[path] for path in alone.changes} == {p: c.new for p, c in alone.changes.items()}
    assert ran.changed == {*alone.changes, "csrc/kernels/right.cu"}


def test_a_unit_that_was_backed_out_gives_exit_code_3(ran: Ran, tmp_path: Path, command: Command) -> None:
    root = Path(shutil.copytree(ran.root, tmp_path / "mini-aiter"))
    before = snapshot(root)
    code, out, err = command("migrate", "csrc", "--write", "--rules", WRONG, cwd=root)
    assert (code, out) == (3, b"")
    assert "TL008" in err and "undeclared_call" in err
    assert snapshot(root) == before


def test_p36_a_parser_that_dies_costs_one_file(mini_aiter: Path) -> None:
    source = (
        '#include <torch/extension.h>\n#include "deep.inc"\nvoid deadly(torch::Tensor& x) { TORCH_CHECK(x.dim()); }\n'
    )
    path = "csrc/kernels/deadly.cu"
    add(mini_aiter, {path: source, "csrc/kernels/deep.inc": DEEP})
    result = look(mini_aiter)
    assert result.files_failed == (path,)
    assert [f.message for f in result.findings if f.code == "TL003" and f.path == path and "crashed" in f.message]
    assert path not in result.changes and "csrc/kernels/scale_kernels.cu" in result.changes
    assert judge(result, written=False).exit_code == 2
