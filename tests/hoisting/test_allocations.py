"""Allocations as launchers write them, and the Python that comes out."""

from typing import Any

import pytest
from hoisting_samples import allocation, allocations, condition, expression, function, said, source

from torchless.hoisting.allocation import Allocation, Translation, find_allocations, read
from torchless.hoisting.helpers import SOURCES

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
    ("const auto& s = x.sizes(); auto& t = y; auto o = torch::empty({s[0], t.size(1)}, y.options());",
     "torch.empty((x.shape[0], y.shape[1]), dtype=y.dtype, device=y.device)"),
    ("auto d = x.sizes().slice(0, x.dim() - 1).vec(); d.push_back(n); auto o = torch::empty(d, x.options());",
     "torch.empty((*x.shape[:-1], n), dtype=x.dtype, device=x.device)"),
    ("auto d = x.sizes(); auto o = torch::empty({d[d.size() - 1], at::ceil_div(n, 4)}, x.options());",
     "torch.empty((x.shape[-1], _truncated_quotient(n + 4 - 1, 4)), dtype=x.dtype, device=x.device)"),
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


def test_early_returns_count_where_python_would_raise() -> None:
    params = "torch::Tensor& x, std::optional<torch::Tensor> y, int n, int m"
    body = "if (n == 0) { return; } if (m == 0) { return; } auto o = torch::empty({m / n}, x.options());"
    assert condition(body, params=params) == "n != 0"
    body = "if (!y) return; if (n == 0) return; auto o = torch::empty_like(y.value());"
    assert condition(body, params=params) == "y is not None"
    body = "if (n == 0) return; auto o = torch::empty({m, n}, x.options());"
    assert condition(body, params=params) == "True"
    body = "for (;;) { if (n == 0) return; } auto o = torch::empty({m / n}, x.options());"
    assert "returns before it" in condition(body, params=params)


FOLLOWED = """
template <typename X, typename Y> CK_TILE_HOST_DEVICE constexpr auto divide_ceil(X x, Y y) { return (x + y - 1) / y; }
CK_TILE_DEVICE int on_device(int n) { return n; }
enum { kFirst = 2, kSecond };
namespace a { struct Traits { static constexpr int kHalf = 8; static constexpr int kTile = kHalf * 2; }; }
namespace b { struct Traits { static constexpr int kTile = 32; }; }
using Wide = int64_t;
"""


def test_what_is_followed() -> None:
    assert said("divide_ceil(n, a::Traits::kTile)", before=FOLLOWED) == "_truncated_quotient(n + 16 - 1, 16)"
    assert said("divide_ceil(x.size(0), b::Traits::kTile)", before=FOLLOWED) == "(x.shape[0] + 32 - 1) // 32"
    assert said("Traits::kTile", before=FOLLOWED) == "refused: `Traits::kTile` is not the same everywhere"
    assert said("on_device(n)", before=FOLLOWED) == "refused: `on_device`: it runs on the device"
    assert said("static_cast<Wide>(n) * kSecond", before=FOLLOWED) == "n * 3"


def test_what_libraries_round() -> None:
    assert said("ck_tile::integer_divide_ceil(x.size(0), 16)") == "(x.shape[0] + 16 - 1) // 16"


def test_assumptions_are_told() -> None:
    found = expression("static_cast<int>(x.size(0)) * 2")
    assert isinstance(found, Translation)
    assert found.text == "x.shape[0] * 2"
    assert [(a.expression, a.type) for a in found.assumptions] == [("x.shape[0]", "int"), ("x.shape[0] * 2", "int")]
    assert expression("x.size(0) * y.size(0)").assumptions == ()  # type: ignore[union-attr]


def test_helpers_are_told() -> None:
    found = expression("n / 3 + n % 3")
    assert isinstance(found, Translation)
    assert found.helpers == {"truncated_quotient", "truncated_remainder"}
    names: dict[str, Any] = {}
    for helper in sorted(found.helpers):
        exec(SOURCES[helper], names)
    assert [eval(found.text, {**names, "n": n}) for n in (7, -7)] == [3, -3]


STRINGS = 'std::string s; if (x.dtype() == at::kHalf) s = "fp16"; else if (n > 2) s = "other"; else s = "fp16";'


def test_strings_that_are_chosen() -> None:
    assert said('s == "other" ? 1 : 2', STRINGS) == "1 if x.dtype != torch.float16 and n > 2 else 2"
    assert said('s == "none"', STRINGS) == "False"


def test_names_of_the_wrapper() -> None:
    opened = source(function("auto o = torch::empty({x.size(0), n}, x.options());"))
    (index,) = find_allocations(opened, 0, len(opened.view.tokens) - 1)
    found = read(opened, index, {"x": "input", "n": "rows"})
    assert isinstance(found, Allocation)
    assert found.python == "torch.empty((input.shape[0], rows), dtype=input.dtype, device=input.device)"
    assert found.parameters == {"x", "n"}


def test_headers_are_looked_at() -> None:
    body = "auto o = torch::empty({kRows * n}, x.options());"
    (found,) = allocations(function(body), "#pragma once\nconstexpr int kRows = 1 << 4;\n")
    assert isinstance(found, Allocation)
    assert found.shape == "(16 * n,)"


def test_stubs_of_libraries_tell_signatures_but_no_values() -> None:
    body = 'auto k = mask_info::decode("0", n, n); auto o = torch::empty({n}, x.options());'
    assert allocation(body) == "torch.empty((n,), dtype=x.dtype, device=x.device)"
    assert "depends on the device" in said("ck_tile::get_warp_size()")


def test_nothing_is_folded_that_rests_on_an_assumption() -> None:
    found = expression("(f + ~2147483647) - 1", params="torch::Tensor& x, bool f")
    assert isinstance(found, Translation)
    assert found.text == "f - 2147483648 - 1"
    assert [a.type for a in found.assumptions] == ["int"]
