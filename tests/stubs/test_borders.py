"""What the stubs must not do: let torch through where it is left out, or lend standard headers that nobody brings."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.stubs.conftest import PASSES, errors

STANDARD = """\
std::optional<int> a;
std::variant<int, float> b;
std::map<int, int> c;
std::set<int> d;
std::function<void()> e;
std::vector<int> f;
std::ostringstream g;
std::mutex h;
int i = std::accumulate((int*)0, (int*)0, 0);
"""


def lines_with_errors(source: str, *, device: bool = False, torch: bool = True) -> list[int]:
    return sorted({line for line, _ in errors(dedent(source), device=device, torch=torch)})


@pytest.mark.parametrize("header", ["torch/extension.h", "torch/all.h", "ATen/hip/HIPContext.h"])
def test_torch_brings_standard_headers(header: str) -> None:
    assert lines_with_errors(f"#include <{header}>\n{STANDARD}") == []


def test_taking_torch_out_loses_standard_headers() -> None:
    """The loss that torchless must see: HIP alone does not bring these."""
    assert {2, 3, 4, 5} <= set(lines_with_errors(f"#include <hip/hip_runtime.h>\n{STANDARD}"))


def test_a_check_is_a_bare_if() -> None:
    """As in torch: the semicolon may be missing, and an else after it belongs to nothing."""
    source = """\
        #include <torch/all.h>
        void f(int n) { TORCH_CHECK(n) }
        void g(int n) { if (n) TORCH_CHECK(n); else n = 1; }
    """
    assert lines_with_errors(source) == [3]


@PASSES
def test_without_torch_nothing_of_it_resolves(device: bool) -> None:
    source = """\
        #include <hip/hip_runtime.h>
        #include <torch/extension.h>
        int64_t f(at::Tensor& t) { return t.size(0); }
        void g(int n) { TORCH_CHECK(n); }
        c10::Half h;
    """
    assert lines_with_errors(source, device=device, torch=False) == [2, 3, 4, 5]


@PASSES
def test_element_types_come_without_tensors(device: bool) -> None:
    """c10/util/Half.h is included by torch-free headers too: it must not bring at::Tensor along."""
    source = """\
        #include <c10/util/Half.h>
        #include <c10/util/BFloat16.h>
        c10::Half a;
        c10::BFloat16 b;
        hip_bfloat16 c;
        __half d;
        at::Tensor e;
    """
    assert lines_with_errors(source, device=device) == [7]


@PASSES
def test_hip_brings_no_torch(device: bool) -> None:
    source = """\
        #include <hip/hip_runtime.h>
        #include <hip/hip_bf16.h>
        at::Tensor a;
        c10::Half b;
    """
    assert lines_with_errors(source, device=device) == [3, 4]


@PASSES
def test_lanes_exchange_what_hip_knows(device: bool) -> None:
    """An overload that only torch's types would need is missed."""
    source = """\
        #include <hip/hip_runtime.h>
        struct Other { int a, b, c; };
        __device__ float f(float x) { return __shfl(x, 1); }
        __device__ Other g(Other x) { return __shfl(x, 1); }
        __device__ float h(float4 v) { return v.q; }
    """
    assert lines_with_errors(source, device=device) == [4, 5]
