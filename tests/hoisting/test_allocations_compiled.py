"""Allocations give the tensors that torch's own C++ gives: sizes, strides, dtype, device and contents."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hoisting_samples import allocations, function

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.clang, pytest.mark.filterwarnings("ignore")]

PARAMS = "at::Tensor x, std::optional<at::Tensor> y, int n, int64_t m, std::optional<at::ScalarType> dt, bool f"
BODIES = [
    "return at::empty_like(x);",
    "return at::zeros_like(x, x.options().dtype(at::kFloat));",
    "return at::full_like(x, 3);",
    "return at::empty({x.size(0), n}, x.options());",
    "return at::zeros({m}, at::TensorOptions().dtype(at::kInt).device(x.device()));",
    "return at::ones({}, x.options().dtype(at::kHalf));",
    "return at::empty(x.sizes(), at::kByte);",
    "return at::empty(m, at::dtype(at::kLong));",
    "return at::full({n}, -1, at::dtype(at::kShort).device(at::kCPU));",
    "return at::full({n}, true);",
    "return at::full({n}, 2.5);",
    "return at::full({n, 1}, 7, at::TensorOptions());",
    "return x.new_empty({n, m});",
    "return x.new_zeros({n}, at::kFloat);",
    "return x.new_full({2, n}, 5);",
    "return x.new_ones({2, n}, at::TensorOptions().dtype(at::kBFloat16));",
    "return at::empty_strided({n, m}, {m, 1}, x.options());",
    "return at::empty_strided({2, 3}, {x.stride(0), x.stride(1)}, x.options());",
    "return at::empty({2, 3, 4, 5}, x.options().memory_format(at::MemoryFormat::ChannelsLast));",
    "return at::empty({2, 3, 4, 5}, x.options(), at::MemoryFormat::ChannelsLast);",
    "return at::empty_like(x.contiguous());",
    "return at::empty_like(x, x.options(), at::MemoryFormat::Contiguous);",
    "return at::zeros(x.transpose(0, 1).sizes(), x.options());",
    "auto s = x.sizes().vec(); s.back() = n; return at::empty(s, x.options());",
    "auto s = x.sizes().vec(); s[0] = n; s.push_back(2); return at::empty(s, x.options());",
    "auto s = x.sizes().vec(); s.pop_back(); return at::empty(s, x.options());",
    "std::vector<int64_t> s{n, 2}; s.push_back(m); return at::empty(s, x.options());",
    "std::vector<int64_t> s(3, n); return at::empty(s, x.options());",
    "const int b = x.size(0), k = (b + 127) / 128; return at::empty({k}, x.options());",
    "return at::empty({x.numel() / x.size(-1), x.size(-1)}, x.options().dtype(dt.value_or(at::kDouble)));",
    "auto t = f ? at::kInt : x.scalar_type(); return at::empty({n}, x.options().dtype(t));",
    "at::ScalarType t = at::kFloat; if (dt.has_value()) { t = *dt; } return at::zeros({n}, at::dtype(t));",
    "int64_t r = m; if (y) r = y->size(0); else if (f) { r *= 2; } return at::empty({r}, x.options());",
    "return at::empty({y.has_value() ? y.value().size(1) : m}, at::TensorOptions());",
    "auto o = x.options(); auto p = o.dtype(at::kFloat); return at::empty({std::max<int64_t>(n, m)}, f ? o : p);",
    "auto b = at::empty({n, 2}, x.options()); return at::empty_like(b, at::kFloat);",
    "return at::empty({(int64_t)x.nbytes()}, x.options().dtype(at::kByte));",
    "return at::empty({(int64_t)(x.element_size() * n)}, x.options());",
    "auto t = at::promote_types(x.scalar_type(), at::kFloat); return at::empty({n}, x.options().dtype(t));",
    "return at::empty({x.dim(), x.sizes()[0], x.stride(0)}, x.options().dtype<float>());",
]
PRELUDE = """\
#include <ATen/ATen.h>
#include <iostream>
static void show(const at::Tensor& t)
{
    std::cout << t.sizes() << t.strides() << " " << at::toString(t.scalar_type()) << " " << t.device() << "\\n";
}
"""
MAIN = """\
int main()
{
    std::vector<at::Tensor> xs{at::zeros({3, 4}, at::kFloat), at::zeros({5, 2, 3}, at::kHalf).transpose(0, 2),
                               at::zeros({2, 7}, at::kInt).t()};
    std::vector<std::optional<at::Tensor>> ys{std::nullopt, at::zeros({4, 6})};
    std::vector<std::optional<at::ScalarType>> ts{std::nullopt, at::kHalf};
    for (auto& x : xs) for (auto& y : ys) for (auto& dt : ts) for (int n : {1, 6}) for (bool f : {false, true})
"""


def _inputs() -> list[dict[str, Any]]:
    """The same, in the same order, for Python."""
    xs = [torch.zeros(3, 4), torch.zeros(5, 2, 3, dtype=torch.half).transpose(0, 2), torch.zeros(2, 7).int().t()]
    ys = [None, torch.zeros(4, 6)]
    names = ("x", "y", "dt", "n", "f")
    product = itertools.product(xs, ys, (None, torch.half), (1, 6), (False, True))
    return [{**dict(zip(names, values, strict=True)), "m": 9} for values in product]


def _shown(tensor: Any) -> str:
    """As the C++ prints it."""
    names = {v: k for k, v in (("Float", torch.float), ("Half", torch.half), ("Int", torch.int), ("Byte", torch.uint8),
             ("Long", torch.long), ("Short", torch.short), ("Bool", torch.bool), ("BFloat16", torch.bfloat16),
             ("Double", torch.double))}  # fmt: skip
    sizes, strides = (", ".join(map(str, v)) for v in (tensor.shape, tensor.stride()))
    return f"[{sizes}][{strides}] {names[tensor.dtype]} {tensor.device}"


def _python() -> list[str]:
    """The translation of every body."""
    out = []
    for body in BODIES:
        text = function(body, params=PARAMS)
        found = allocations(text)[-1]
        out.append(getattr(found, "python", "") or f"refused: {getattr(found, 'reason', '')}")
    return out


def test_every_allocation_is_translated() -> None:
    assert [p for p in _python() if p.startswith("refused")] == []


def test_tensors_are_those_of_torch(tmp_path: Path) -> None:
    text = PRELUDE
    for i, body in enumerate(BODIES):
        text += f"static at::Tensor f{i}({PARAMS})\n{{\n{body}\n}}\n"
    calls = "\n".join(f"        show(f{i}(x, y, n, 9, dt, f));" for i in range(len(BODIES)))
    text += f"{MAIN}    {{\n{calls}\n    }}\n}}\n"
    (tmp_path / "a.cpp").write_text(text, "utf-8")
    root = Path(torch.__file__).parent
    flags = [f"-I{root / 'include'}", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    libs = [f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root / 'lib'}"]
    compiler = shutil.which("clang++-19")
    command = [compiler, "-std=c++20", "-w", "-O0", *flags, tmp_path / "a.cpp", "-o", tmp_path / "a", *libs]
    built = subprocess.run(command, capture_output=True)
    assert built.returncode == 0, built.stderr.decode()[:3000]
    shown = subprocess.run([tmp_path / "a"], capture_output=True, check=True).stdout.decode().splitlines()
    rows = iter(shown)
    translations = _python()
    for values in _inputs():
        for body, python in zip(BODIES, translations, strict=True):
            assert _shown(eval(python, {"torch": torch, **values})) == next(rows), f"{body}\n{python}\n{values}"
    assert next(rows, None) is None
