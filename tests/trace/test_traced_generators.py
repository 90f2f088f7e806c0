"""An op that took a generator, whose seed and offset Python draws now: the same numbers reach the same kernel."""

from __future__ import annotations

import pytest

from tests.conftest import EXAMPLE, ROOT
from torchless.facts.model import TuSpec
from torchless.verify.trace import EntryPoint, TraceOptions, TreeText, trace_unit
from torchless.verify.trace.library import CORE, build_core, build_library, build_runtime
from torchless.verify.trace.model import EntryResult, Side
from torchless.verify.trace.python_calls import PythonOp, PythonSide, compare_ops

pytestmark = pytest.mark.clang

ROOT_FOLDER = str(ROOT / "tests/fixtures/trace")
SOURCE = "csrc/drawn.cu"
HEADERS = str(EXAMPLE / "csrc/include")
SPEC = TuSpec(SOURCE, include_dirs=(HEADERS,))
POINTS = (EntryPoint("fill", SOURCE), EntryPoint("fill_step", SOURCE))
OPTIONS = TraceOptions(calls=60, explored=200)
OP = PythonOp("pkg.ops.drawn", "fill", "fill", ("out", "generator"), frozenset({"generator"}))
BEFORE = """
#include <torch/extension.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/hip/HIPGraphsUtils.cuh>
#include <mutex>
#include <optional>
template <typename F>
__global__ void fill_kernel(float* out, long n, at::PhiloxCudaState state, F f) {
  auto [seed, offset] = at::cuda::philox::unpack(state);
  out[0] = f(seed + offset);
}
void fill(torch::Tensor& out, std::optional<at::Generator> generator) {
  TORCH_CHECK(out.scalar_type() == at::ScalarType::Float && out.is_contiguous(), "fill: no");
  auto gen = at::get_generator_or_default<at::CUDAGeneratorImpl>(
      generator, at::cuda::detail::getDefaultCUDAGenerator());
  at::PhiloxCudaState state;
  {
    std::lock_guard<std::mutex> lock(gen->mutex_);
    state = gen->philox_cuda_state(out.numel());
  }
  auto f = [] __device__(unsigned long x) -> float { return x; };
  fill_kernel<<<1, 64, 0, at::hip::getCurrentHIPStream()>>>(out.data_ptr<float>(), out.numel(), state, f);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("fill", &fill, py::arg("out"), py::arg("generator") = std::nullopt);
}
"""
AFTER = """
#include <aiter_hip_common.h>
#include <aiter_stream.h>
#include <aiter_tensor.h>
#include <pybind11/pybind11.h>
namespace py = pybind11;
template <typename F>
__global__ void fill_kernel(float* out, long n, unsigned long seed, unsigned long offset, F f) {
  out[0] = f(seed + offset);
}
int64_t fill_step(const aiter_tensor_t& out) { return out.numel(); }
void fill(aiter_tensor_t& out, int64_t seed, int64_t offset) {
  AITER_CHECK(out.dtype() == AITER_DTYPE_fp32 && out.is_contiguous(), "fill: no");
  auto f = [] __device__(unsigned long x) -> float { return x; };
  fill_kernel<<<1, 64, 0, aiter::getCurrentHIPStream()>>>(
      static_cast<float*>(out.data_ptr()), out.numel(), seed, offset, f);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("_set_current_hip_stream", [](int64_t s) { aiter::setCurrentHIPStream(reinterpret_cast<hipStream_t>(s)); });
  m.def("fill_step", &fill_step, py::arg("out"));
  m.def("fill", &fill, py::arg("out"), py::arg("seed"), py::arg("offset"));
}
"""
PYTHON_BEFORE = """
from typing import Optional
from torch import Generator, Tensor
from ..jit.core import compile_ops

@compile_ops("module_drawn")
def fill(out: Tensor, generator: Optional[Generator] = None) -> None: ...
"""
PYTHON_AFTER = """
from typing import Optional
import torch
from torch import Generator, Tensor
from ..jit.core import compile_ops

@compile_ops("module_drawn", develop=True)
def fill_step(out: Tensor) -> int: ...

@compile_ops("module_drawn", fc_name="fill", develop=True)
def _fill(out: Tensor, seed: int, offset: int) -> None: ...

def fill(out: Tensor, generator: Optional[Generator] = None) -> None:
    step = fill_step(out)
    generator = torch.cuda.default_generators[out.device.index]
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + (step + 3) // 4 * 4)
    _fill(out, seed, offset)
"""


def trees(*faults: tuple[str, str]) -> list[TreeText]:
    source, python = AFTER, PYTHON_AFTER
    for old, new in faults:
        assert old in source + python
        source, python = source.replace(old, new), python.replace(old, new)
    versions = ((BEFORE, PYTHON_BEFORE), (source, python))
    return [TreeText(ROOT_FOLDER, {SOURCE: s.encode(), "pkg/ops/drawn.py": p.encode()}) for s, p in versions]


@pytest.fixture(scope="module")
def traced() -> dict[str, EntryResult]:
    """What the trace of C++ says: one function takes other arguments, and one is new."""
    before, after = trees()
    return {entry.entry: entry for entry in trace_unit(before, after, [SPEC], POINTS, OPTIONS).entries}


def called(traced: dict[str, EntryResult], *faults: tuple[str, str]) -> EntryResult:
    sides = []
    for name, tree in zip(("before", "after"), trees(*faults), strict=True):
        points = POINTS[:1] if name == "before" else POINTS
        libraries = {"module_drawn": build_library(Side(name, tree, (SPEC,), points), OPTIONS)}
        if name == "after":
            libraries[CORE] = build_core(tree, (), (HEADERS,), OPTIONS)
        sides.append(PythonSide(tree, libraries))
    entry = traced["fill"]
    assert entry.signature is not None
    examples = {"fill": (entry.signature, entry.examples)}
    [result] = compare_ops(sides[0], sides[1], build_runtime(OPTIONS), [OP], examples, OPTIONS)
    return result


def test_a_function_that_is_new_does_not_keep_others_from_being_compared(traced: dict[str, EntryResult]) -> None:
    assert traced["fill_step"].status == "not run"
    assert traced["fill_step"].why == "it is new: there is nothing to compare it with"
    assert traced["fill"].why == "takes 2 arguments before and 3 after"
    assert [p.kind for p in traced["fill"].signature.params] == ["tensor", "generator?"]  # type: ignore[union-attr]


def test_what_python_draws_is_what_the_launcher_drew(traced: dict[str, EntryResult]) -> None:
    result = called(traced)
    assert (result.status, result.why) == ("pass", ""), [f.reproducer for f in result.findings]
    assert result.launched > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [("generator.initial_seed()", "0"), ("generator.get_offset()", "4"), ("[out.device.index]", "[1]")],
)
def test_another_seed_or_offset_is_found(traced: dict[str, EntryResult], old: str, new: str) -> None:
    result = called(traced, (old, new))
    assert result.status == "fail"
    assert {f.difference.kind for f in result.findings} == {"argument"}, [f.difference for f in result.findings]
