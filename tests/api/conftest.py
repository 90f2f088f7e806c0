"""A checkout in aiter's shape, as small as it can be, and migrations of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.model import Finding, Unit

# The target's headers without what only running code would need: a check of every unit parses them.
TARGET = {
    "aiter_enum.h": """\
#pragma once
enum AiterDtype { AITER_DTYPE_fp16, AITER_DTYPE_bf16, AITER_DTYPE_fp32, AITER_DTYPE_i32 };
inline const char* AiterDtype_to_str(int) { return ""; }
""",
    "aiter_hip_common.h": """\
#pragma once
#include "aiter_enum.h"
#include <cstdint>
#include <cstdlib>
#include <hip/hip_runtime.h>
namespace aiter_detail {
inline thread_local bool g_aiter_can_throw = false;
template <typename... Parts>
[[noreturn]] void check_fail(const Parts&...) { std::abort(); }
}
#define AITER_CHECK(condition, ...) \\
    do { if(!(condition)) aiter_detail::check_fail(__VA_ARGS__); } while(0)
struct HipDeviceGuard { explicit HipDeviceGuard(int device); ~HipDeviceGuard(); };
""",
    "aiter_tensor.h": """\
#pragma once
#include "aiter_hip_common.h"
struct aiter_tensor_t
{
    int device_id;
    int64_t size(int i) const;
    size_t numel() const;
    int dim() const;
    void* data_ptr() const;
    AiterDtype dtype() const;
    size_t element_size() const;
    bool is_gpu() const;
};
""",
    "aiter_stream.h": """\
#pragma once
#include <hip/hip_runtime.h>
namespace aiter {
hipStream_t getCurrentHIPStream();
void setCurrentHIPStream(hipStream_t stream);
}
""",
}
CORE = """\
def compile_ops(module, fc_name=None, gen_func=None, gen_fake=None, ffi_type="pybind", develop=False):
    return lambda function: function
"""
SCALE_H = """\
#pragma once
#include <torch/extension.h>
void scale(torch::Tensor& out, const torch::Tensor& input);
"""
SCALE_CU = """\
#include "scale.h"
#include <ATen/hip/HIPContext.h>

__global__ void scale_kernel(float* out, const float* input) { out[threadIdx.x] = input[threadIdx.x]; }

void scale(torch::Tensor& out, const torch::Tensor& input)
{
    TORCH_CHECK(out.numel() == input.numel(), "scale: sizes differ");
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    scale_kernel<<<1, 256, 0, stream>>>(out.data_ptr<float>(), input.data_ptr<float>());
}
"""
SCALE_PY = """\
from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_scale")
def scale(out: Tensor, input: Tensor) -> None: ...
"""
ROCM_OPS = """\
#pragma once
#include "aiter_stream.h"
#include "aiter_tensor.h"
#include <pybind11/pybind11.h>
namespace py = pybind11;
#define AITER_SET_STREAM_PYBIND \\
    m.def("_set_current_hip_stream", \\
          [](int64_t stream) { aiter::setCurrentHIPStream(reinterpret_cast<hipStream_t>(stream)); });
#define SCALE_PYBIND m.def("scale", &scale, py::arg("out"), py::arg("input"));
"""
BIND_CU = """\
#include "rocm_ops.hpp"
#include "scale.h"
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { SCALE_PYBIND; }
"""
SCALE = {
    **{f"csrc/include/{name}": text for name, text in TARGET.items()},
    "csrc/include/rocm_ops.hpp": ROCM_OPS,
    "csrc/include/scale.h": SCALE_H,
    "csrc/kernels/scale.cu": SCALE_CU,
    "csrc/pybind/scale_pybind.cu": BIND_CU,
    "aiter/__init__.py": "",
    "aiter/jit/__init__.py": "",
    "aiter/jit/core.py": CORE,
    "aiter/ops/__init__.py": "",
    "aiter/ops/scale.py": SCALE_PY,
}
MODULES = {"module_scale": ["pybind/scale_pybind.cu", "kernels/scale.cu"]}


def configuration(modules: Mapping[str, list[str]], **more: object) -> str:
    """The JIT configuration of ``modules`` (sources below csrc)."""
    return json.dumps(
        {name: {"srcs": [f"f'{{AITER_CSRC_DIR}}/{s}'" for s in sources], **more} for name, sources in modules.items()}
    )


@dataclass(frozen=True)
class Ran:
    """What a migration of ``root`` gave."""

    root: Path
    result: MigrateResult

    @property
    def new(self) -> dict[str, str]:
        """The new text of each file that changes."""
        return {path: change.new.decode() for path, change in self.result.changes.items()}

    @property
    def statuses(self) -> dict[str, str]:
        """The status of each unit."""
        return {unit.name: unit.status.value for unit in self.result.units}

    def unit(self, name: str) -> Unit:
        return next(unit for unit in self.result.units if unit.name == name)

    def findings(self, name: str, code: str = "") -> list[Finding]:
        """The findings of a unit, those with a code that starts with ``code``."""
        return [f for f in self.unit(name).findings if f.code.startswith(code)]

    def blockers(self, name: str) -> set[str]:
        return {f.code for f in self.unit(name).findings if f.blocks}

    def write(self) -> None:
        """Put the new texts in place."""
        for path, change in self.result.changes.items():
            (self.root / path).write_bytes(change.new)


@dataclass(frozen=True)
class Checkout:
    """A checkout on disk."""

    root: Path

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace the one ``old`` in a file."""
        data = (self.root / path).read_bytes()
        assert data.count(old.encode()) == 1, (path, old)
        (self.root / path).write_bytes(data.replace(old.encode(), new.encode()))

    def migrate(self, *paths: str, **options: object) -> Ran:
        """Migrate ``paths`` (default: csrc) without asking what an earlier run found."""
        wanted = MigrateOptions(paths=paths or ("csrc",), **{"jobs": 1, **options})  # type: ignore[arg-type]
        return Ran(self.root, migrate(wanted, self.root, lambda stage, done, total: None, recalled=False))

    def snapshot(self) -> dict[str, bytes]:
        return {p.relative_to(self.root).as_posix(): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], Checkout]:
    """Writes files below a fresh folder."""

    def run(files: Mapping[str, str]) -> Checkout:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(text.encode())
        return Checkout(tmp_path)

    return run


@pytest.fixture
def scale(write: Callable[[Mapping[str, str]], Checkout]) -> Checkout:
    """One module with one op that migrates whole."""
    return write({**SCALE, "aiter/jit/optCompilerConfig.json": configuration(MODULES)})
