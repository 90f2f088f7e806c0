"""Allocations as launchers write them, and the Python that comes out."""

import pytest
from hoisting_samples import allocation, condition

CASES = [
    ("auto o = torch::empty_like(x);", "torch.empty_like(x)"),
    ("auto o = at::zeros_like(x, x.options().dtype(at::kFloat));", "torch.zeros_like(x, dtype=torch.float32)"),
    ("auto o = torch::empty({x.size(0), n}, x.options());",
     "torch.empty((x.shape[0], n), dtype=x.dtype, device=x.device)"),
    ("auto o = torch::zeros({m}, torch::TensorOptions().dtype(torch::kInt32).device(x.device()));",
     "torch.zeros((m,), dtype=torch.int32, device=x.device)"),
    ("auto o = torch::empty({}, x.options());", "torch.empty((), dtype=x.dtype, device=x.device)"),
    ("auto o = torch::empty(x.sizes(), x.options().dtype(torch::kHalf));",
     "torch.empty(x.shape, dtype=torch.float16, device=x.device)"),
    ("auto o = torch::empty(m, torch::kUInt8);", 'torch.empty((m,), dtype=torch.uint8, device="cpu")'),
    ("auto o = torch::full({n}, -1, torch::dtype(torch::kLong).device(device_of(y)));",
     "torch.full((n,), -1, dtype=torch.int64, device=y.device)"),
    ("auto o = x.new_empty({n, m});", "torch.empty((n, m), dtype=x.dtype, device=x.device)"),
    ("auto o = x.new_zeros({n}, torch::kFloat);", "torch.zeros((n,), dtype=torch.float32, device=x.device)"),
    ("auto o = torch::empty_strided({n, m}, {m, 1}, x.options());",
     "torch.empty_strided((n, m), (m, 1), dtype=x.dtype, device=x.device)"),
    ("auto s = x.sizes().vec(); s.back() = n; auto o = torch::empty(s, x.options());",
     "torch.empty((*x.shape[:-1], n), dtype=x.dtype, device=x.device)"),
    ("std::vector<int64_t> s{n, 2}; s.push_back(m); auto o = torch::empty(s, x.options());",
     "torch.empty((n, 2, m), dtype=x.dtype, device=x.device)"),
    ("const int b = x.size(0); const int k = (b + 127) / 128; auto o = torch::empty({k}, y.options());",
     "torch.empty(((x.shape[0] + 127) // 128,), dtype=y.dtype, device=y.device)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "python"), CASES, ids=[python for _, python in CASES])
def test_allocation(body: str, python: str) -> None:
    assert allocation(body) == python


def test_condition_of_an_allocation() -> None:
    params = "torch::Tensor& x, std::optional<torch::Tensor> out, bool lse, float p"
    body = "if (out.has_value()) { } else if (lse && p > 0.f) { auto o = torch::empty_like(x); }"
    assert condition(body, params=params) == "out is None and lse and p > 0.0"
    body = "auto o = out.value_or(torch::empty_like(x));"
    assert condition(body, params=params) == "out is None"
    body = "auto o = lse ? torch::empty_like(x) : x;"
    assert condition(body, params=params) == "lse"
