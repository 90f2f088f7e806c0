"""C++ launchers compiled against torch's own headers, asked over a pipe what they allocate."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from wrapper_harness import Made

# torch:: as launchers spell it, over ATen alone: torch's own headers take four times as long to compile.
PRELUDE = """\
#include <ATen/ATen.h>
#include <iostream>
#include <sstream>
static std::ostringstream told;
static at::Tensor note(at::Tensor t, bool filled)
{
    told << filled << ";" << at::toString(t.scalar_type()) << ";" << t.device().type() << ";";
    for (auto s : t.sizes()) told << s << ",";
    told << ";";
    for (auto s : t.strides()) told << s << ",";
    told << "|";
    return t;
}
namespace torch {
using namespace at;
using at::Tensor; using at::TensorOptions; using at::ScalarType; using at::Device; using at::dtype; using at::device;
constexpr auto kFloat32 = at::kFloat; constexpr auto kInt32 = at::kInt; constexpr auto kInt64 = at::kLong;
constexpr auto kUInt8 = at::kByte; constexpr auto kBFloat16 = at::kBFloat16; constexpr auto kFloat16 = at::kHalf;
inline Tensor empty(at::IntArrayRef s, TensorOptions o = {}) { return note(at::empty(s, o), false); }
inline Tensor zeros(at::IntArrayRef s, TensorOptions o = {}) { return note(at::zeros(s, o), true); }
inline Tensor ones(at::IntArrayRef s, TensorOptions o = {}) { return note(at::ones(s, o), true); }
inline Tensor full(at::IntArrayRef s, at::Scalar v, TensorOptions o) { return note(at::full(s, v, o), true); }
inline Tensor empty_like(const Tensor& t, TensorOptions o = {}) { return note(at::empty_like(t, o), false); }
inline Tensor zeros_like(const Tensor& t, TensorOptions o = {}) { return note(at::zeros_like(t, o), true); }
}
template <typename T = void, typename... A> void run(A&&...) {}
"""
READING = """\
template <typename T> T get();
template <> int64_t get() { int64_t v; std::cin >> v; return v; }
template <> int get() { return get<int64_t>(); }
template <> bool get() { return get<int64_t>(); }
template <> double get() { double v; std::cin >> v; return v; }
template <> at::ScalarType get() { return static_cast<at::ScalarType>(get<int64_t>()); }
template <> at::Tensor get()
{
    auto dtype = get<at::ScalarType>();
    std::vector<int64_t> sizes(get<int64_t>());
    for (auto& s : sizes) s = get<int64_t>();
    return at::empty(sizes, at::dtype(dtype).device(at::kMeta));
}
template <> std::optional<at::Tensor> get()
{
    if (!get<bool>()) return std::nullopt;
    return get<at::Tensor>();
}
template <> std::optional<at::ScalarType> get()
{
    if (!get<bool>()) return std::nullopt;
    return get<at::ScalarType>();
}
template <typename R, typename... P> void call(R (*f)(P...))
{
    std::tuple<std::remove_cvref_t<P>...> values{get<std::remove_cvref_t<P>>()...};
    told.str("");
    std::apply([&](auto&... v) { f(v...); }, values);
    std::cout << told.str() << std::endl;
}
int main()
{
    for (std::string name; std::cin >> name;) {
"""
_CODES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int32: 3,
    torch.int64: 4,
    torch.half: 5,
    torch.float: 6,
    torch.bfloat16: 15,
}
_NAMES = {"Byte": "uint8", "Int": "int32", "Long": "int64", "Half": "float16", "Float": "float32", "Char": "int8",
          "BFloat16": "bfloat16"}  # fmt: skip


class Program:
    """The launchers of ``text`` (without includes), called by their names."""

    def __init__(self, text: str, names: Sequence[str], folder: Path) -> None:
        body = "".join(f'        if (name == "{name}") call(&{name});\n' for name in names)
        place = folder / "launchers.cpp"
        place.write_text(f"{PRELUDE}{text}\n{READING}{body}    }}\n}}\n", "utf-8")
        root = Path(torch.__file__).parent
        libs = [f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root / 'lib'}"]
        compiler = shutil.which("clang++-19")
        command = [
            compiler,
            "-std=c++20",
            "-w",
            "-O0",
            f"-I{root / 'include'}",
            place,
            "-o",
            folder / "launchers",
            *libs,
        ]
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr[:3000]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([folder / "launchers"], stdin=pipe, stdout=pipe, text=True)

    def allocated(self, name: str, *args: Any) -> list[Made]:
        """What the launcher ``name`` allocates for these arguments (tensors on meta, numbers, None, dtypes)."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{name} {' '.join(map(_sent, args))}\n")
        stdin.flush()
        return sorted(_received(one) for one in stdout.readline().strip().split("|") if one)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=20)


@dataclass(frozen=True)
class Maybe:
    """An argument of an optional parameter."""

    value: Any


def _sent(value: Any) -> str:
    if isinstance(value, Maybe):
        return "0" if value.value is None else f"1 {_sent(value.value)}"
    if isinstance(value, torch.Tensor):
        return f"{_CODES[value.dtype]} {value.dim()} {' '.join(map(str, value.shape))}"
    if isinstance(value, torch.dtype):
        return str(_CODES[value])
    return str(int(value)) if isinstance(value, bool | int) else repr(value)


def _received(text: str) -> Made:
    filled, dtype, device, sizes, strides = text.split(";")
    numbers = [tuple(int(n) for n in part.split(",") if n) for part in (sizes, strides)]
    return Made(numbers[0], numbers[1], f"torch.{_NAMES[dtype]}", device.lower(), filled == "1")
