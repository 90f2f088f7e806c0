"""A workspace that the caller gives: C++, its binding and its op change together, or the reason is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.model import UnitStatus

KERNELS = """#include "reduce.h"
#include "aiter_stream.h"

namespace aiter {

__global__ void partial(float* sums, int blocks) { sums[0] = blocks; }

// Sums of rows.
void reduce_rows(aiter_tensor_t& out,
                 const aiter_tensor_t& input,
                 int splits)
{
    const HipDeviceGuard device_guard(input.device_id);
    const hipStream_t stream = aiter::getCurrentHIPStream();
    const int blocks         = (splits + 3) / 4;
    float* sums              = nullptr;
    HIP_CALL(hipMalloc(&sums, blocks * input.size(-1) * sizeof(float)));
    partial<<<blocks, 64, 0, stream>>>(sums, blocks);
    HIP_CALL(hipFree(sums));
}

} // namespace aiter
"""
HEADER = """#pragma once
#include "aiter_tensor.h"

namespace aiter {
void reduce_rows(aiter_tensor_t& out,
                 const aiter_tensor_t& input,
                 int splits);
} // namespace aiter
"""
BINDING = """#include "rocm_ops.hpp"
#include "aiter_stream.h"
#include "reduce.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    AITER_SET_STREAM_PYBIND;
    m.def("reduce_rows", &aiter::reduce_rows, py::arg("out"), py::arg("input"), py::arg("splits"));
}
"""
OPS = '''"""Sums of rows."""

from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_reduce", develop=True)
def reduce_rows(out: Tensor, input: Tensor, splits: int) -> None:
    """Sums of the rows of ``input``."""
    ...
'''
CU, PYBIND = "csrc/kernels/reduce_kernels.cu", "csrc/pybind/reduce_pybind.cu"
FILES = {
    CU: KERNELS,
    "csrc/include/reduce.h": HEADER,
    PYBIND: BINDING,
    "aiter/ops/reduce.py": OPS,
}


def checkout(root: Path, **more: str) -> Path:
    config = root / "aiter/jit/optCompilerConfig.json"
    entries = json.loads(config.read_text())
    sources = [path for path in FILES if path.endswith(".cu")]
    entries["module_reduce"] = {"srcs": [f"f'{{AITER_CSRC_DIR}}/{path[5:]}'" for path in sources]}
    config.write_text(json.dumps(entries, indent=4))
    for path, text in FILES.items():
        (root / path).write_text(text)
    return root


def run(root: Path, unsafe: bool = True, select: tuple[str, ...] = ("TL43",)) -> MigrateResult:
    options = MigrateOptions((), ("module_reduce",), select=select, unsafe=unsafe, jobs=1, cache=False)
    return migrate(options, root, lambda stage, done, total: None)


def test_the_whole_unit_changes_together(mini_aiter: Path) -> None:
    root = checkout(mini_aiter)
    assert run(root, unsafe=False).changes == {}
    result = run(root)
    assert [u.status for u in result.units] == [UnitStatus.MIGRATED], result.findings
    new = {path: change.new.decode() for path, change in result.changes.items()}
    assert set(new) == set(FILES)
    kernels = new["csrc/kernels/reduce_kernels.cu"]
    assert (
        """// The bytes that reduce_rows needs as its workspace.
int64_t reduce_rows_workspace_size(int64_t input_size_last1, int splits)
{
    const int blocks = (splits + 3) / 4;
    return blocks * input_size_last1 * sizeof(float);
}

// Sums of rows.
void reduce_rows(aiter_tensor_t& out,
                 const aiter_tensor_t& input,
                 int splits,
                 aiter_tensor_t& workspace)
{"""
        in kernels
    )
    assert (
        """    float* sums              = nullptr;
    AITER_CHECK(static_cast<size_t>(workspace.numel() * workspace.element_size()) >=
                    static_cast<size_t>(blocks * input.size(-1) * sizeof(float)),
                "reduce_rows: the workspace is too small");
    sums = static_cast<float*>(workspace.data_ptr());
    partial<<<blocks, 64, 0, stream>>>(sums, blocks);
}
"""
        in kernels
    )
    assert new["csrc/include/reduce.h"] == HEADER.replace(
        "int splits);",
        "int splits,\n                 aiter_tensor_t& workspace);\n"
        "int64_t reduce_rows_workspace_size(int64_t input_size_last1, int splits);",
    )
    assert new["csrc/pybind/reduce_pybind.cu"] == BINDING.replace(
        '    m.def("reduce_rows"',
        '    m.def("reduce_rows_workspace_size", &aiter::reduce_rows_workspace_size, py::arg("input_size_last1"),'
        ' py::arg("splits"));\n    m.def("reduce_rows"',
    ).replace('py::arg("splits"));\n}', 'py::arg("splits"), py::arg("workspace"));\n}')
    ops = new["aiter/ops/reduce.py"]
    query = "def reduce_rows_workspace_size(input_size_last1: int, splits: int) -> int:"
    assert f'@compile_ops("module_reduce")\n{query}' in ops
    assert "def _reduce_rows(" in ops and "workspace: Tensor" in ops
    assert "torch.empty(" in ops and "reduce_rows_workspace_size(input.size(-1), splits)" in ops
    for path, change in result.changes.items():
        (root / path).write_bytes(change.new)
    again = run(root)
    assert again.changes == {} and again.units == () and again.findings == ()


@pytest.mark.parametrize(
    ("path", "old", "new", "reason"),
    [
        (
            "csrc/kernels/reduce_kernels.cu",
            "} // namespace",
            "void twice() { reduce_rows; }\n} // namespace",
            "as well",
        ),
        (CU, "void reduce_rows", "AITER_C_ITFS void reduce_rows", "32 bits"),
        (CU, "aiter::getCurrentHIPStream()", "side_stream()", "another stream"),
        (
            "csrc/kernels/reduce_kernels.cu",
            "    const int blocks ",
            "    int blocks = 1;\n    blocks ",
            "statements set",
        ),
        (
            "csrc/kernels/reduce_kernels.cu",
            "    float* sums  ",
            "    splits += 1;\n    float* sums  ",
            "statements set",
        ),
        (CU, "input.size(-1)", "input.size(splits)", "more of input than a number"),
        (CU, "input.size(-1)", "*(int*)input.data_ptr()", "more of input than a number"),
        (PYBIND, 'py::arg("out"), ', "", "names 2 of the 3 arguments"),
        (PYBIND, "    m.def", "    // m.def", "0 rows bind"),
        ("aiter/ops/reduce.py", ", develop=True", "", "not called with develop=True"),
        ("aiter/ops/reduce.py", "    ...\n", "    out.zero_()\n", "body of its own"),
        ("aiter/ops/reduce.py", "splits: int", "workspace: int", "a parameter workspace"),
    ],
)
def test_what_python_cannot_give_stays(mini_aiter: Path, path: str, old: str, new: str, reason: str) -> None:
    root = checkout(mini_aiter)
    text = FILES[path]
    assert old in text
    (root / path).write_text(text.replace(old, new))
    result = run(root)
    assert result.changes == {} and result.units == ()
    (found,) = [f for f in result.findings if f.code == "TL431"]
    assert reason in found.message


def test_it_comes_before_a_cache_and_with_the_main_job(mini_aiter: Path) -> None:
    root = checkout(mini_aiter)
    other = """#include "reduce.h"
__global__ void clear(float* sums) { sums[0] = 0; }
void clear_all(int rows, hipStream_t stream)
{
    float* sums = nullptr;
    HIP_CALL(hipMalloc(&sums, rows * sizeof(float)));
    clear<<<rows, 64, 0, stream>>>(sums);
    HIP_CALL(hipFree(sums));
}
"""
    kernels = root / "csrc/kernels/reduce_kernels.cu"
    kernels.write_text(other + KERNELS)
    select = ("TL1", "TL2", "TL3", "TL40", "TL42", "TL43", "TL49", "TL5", "TL7")
    options = MigrateOptions((".",), select=select, unsafe=True, jobs=2, cache=False)
    result = migrate(options, root, lambda stage, done, total: None)
    new = result.changes["csrc/kernels/reduce_kernels.cu"].new.decode()
    assert "sums_cache.get(rows * sizeof(float), stream)" in new
    assert "static_cast<float*>(workspace.data_ptr())" in new and "hipFree(sums)" not in new
    assert "csrc/kernels/scale_kernels.cu" in result.changes
    for path, change in result.changes.items():
        (root / path).write_bytes(change.new)
    assert migrate(options, root, lambda stage, done, total: None).changes == {}


def test_the_python_function_asks_allocates_and_calls(mini_aiter: Path) -> None:
    torch = pytest.importorskip("torch")
    from tests.hoisting.wrapper_harness import imported

    root = checkout(mini_aiter)
    for path, change in run(root).changes.items():
        (root / path).write_bytes(change.new)
    with imported(root, "ops.reduce") as (jit, (ops,)):
        out, rows = torch.zeros(3), torch.zeros(3, 8)
        assert ops.reduce_rows(out, rows, 5) is None
    (asked, numbers), (called, given) = jit.calls
    assert (asked, numbers) == ("reduce_rows_workspace_size", {"input_size_last1": 8, "splits": 5})
    assert called == "reduce_rows" and given["workspace"].dtype is torch.uint8
    assert given["out"] is out and given["input"] is rows and given["splits"] == 5
    assert jit.options["reduce_rows"]["develop"] is True
