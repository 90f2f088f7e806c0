"""Runs C++ function bodies with a real compiler, and the Python that they were translated into beside them."""

from __future__ import annotations

import math
import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hoisting_samples import source

from torchless.hoisting import helpers
from torchless.hoisting.evaluate import evaluate
from torchless.hoisting.frames import Frame
from torchless.hoisting.nodes import NotAnExpression
from torchless.hoisting.parser import parse
from torchless.hoisting.terms import Assumption, Refused, Scalar

# Enough of a tensor to ask for its sizes.
PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>
namespace torch {
struct Tensor {
    std::vector<int64_t> shape;
    int64_t size(int64_t i) const { return shape[i < 0 ? i + shape.size() : i]; }
    int64_t dim() const { return shape.size(); }
    int64_t numel() const { int64_t out = 1; for (auto s : shape) out *= s; return out; }
    const std::vector<int64_t>& sizes() const { return shape; }
    int64_t element_size() const { return 2; }
    bool is_contiguous() const { return true; }
};
}
#define TORCH_CHECK(c, ...) do { if (!(c)) throw 1; } while (0)
#define SHOW(call) try { show(call); } catch (int) { puts("failed"); }
template <typename T> void show(T value)
{
    if constexpr (std::is_floating_point_v<T>) printf("%a\\n", (double)value);
    else if constexpr (std::is_unsigned_v<T>) printf("%llu\\n", (unsigned long long)value);
    else printf("%lld\\n", (long long)value);
}
"""
PARAMS = (
    "const torch::Tensor& x, std::optional<torch::Tensor> y, int n, int64_t m, unsigned u, size_t s, bool f, double d,"
    " std::optional<int> k"
)


@dataclass(frozen=True)
class FakeTensor:
    """What the Python side asks a tensor for."""

    shape: tuple[int, ...]

    def numel(self) -> int:
        return math.prod(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def element_size(self) -> int:
        return 2

    def is_contiguous(self) -> bool:
        return True


@dataclass(frozen=True)
class Inputs:
    """One set of arguments."""

    x: tuple[int, ...]
    y: tuple[int, ...] | None
    n: int
    m: int
    u: int
    s: int
    f: bool
    d: float
    k: int | None

    def cpp(self) -> str:
        """The arguments of the C++ call."""
        y = "std::nullopt" if self.y is None else f"torch::Tensor{{{{{', '.join(f'{v}ll' for v in self.y)}}}}}"
        low = -(1 << 63)
        m = "INT64_MIN" if self.m == low else f"{self.m}ll"
        k = "std::nullopt" if self.k is None else f"(int){self.k}ll"
        x = ", ".join(f"{v}ll" for v in self.x)
        tail = f"(int){self.n}ll, {m}, {self.u}u, {self.s}ull, {int(self.f)}, {self.d!r}, {k}"
        return f"torch::Tensor{{{{{x}}}}}, {y}, {tail}"

    def python(self) -> dict[str, object]:
        """The names of the Python expression."""
        return {
            "x": FakeTensor(self.x),
            "y": None if self.y is None else FakeTensor(self.y),
            **{name: getattr(self, name) for name in "nmusfdk"},
        }


@cache
def global_names() -> dict[str, object]:
    """What the Python expressions may call: math, and the helpers by their own source. Not to be changed."""
    names: dict[str, object] = {"math": math}
    for text in helpers.SOURCES.values():
        exec(text, names)
    return names


@dataclass(frozen=True)
class Translated:
    """A C++ function body whose last statement returns ``scalar``."""

    body: str
    scalar: Scalar


def translate(body: str, before: str = "") -> Translated | str:
    """The translation of what ``body`` returns, or why there is none."""
    text = f"{before}\nauto f({PARAMS})\n{{\n{body}\n}}\n"
    opened = source(text)
    tokens, scopes = opened.view.tokens, opened.file.scopes
    first = max(i for i, t in enumerate(tokens) if t.text == b"return") + 1
    function = scopes.function_of(first)
    try:
        found = evaluate(parse(tokens, first, len(tokens) - 3), Frame(opened.file, function, opened.definitions))
    except (Refused, NotAnExpression) as refused:
        return refused.reason
    return Translated(body, found) if isinstance(found, Scalar) else "no number"


def holds(assumption: Assumption, names: dict[str, object]) -> bool:
    """Is what was assumed true for these inputs?"""
    value = eval(assumption.expression, names)
    if assumption.type == "finite":
        return math.isfinite(value)
    if assumption.type == "nonzero":
        return bool(value != 0)
    if assumption.type == "float":
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    return bool(assumption.low <= value <= assumption.high)


def expected(sample: Translated, inputs: Inputs) -> int | float | bool | None:
    """What the Python gives; None when an assumption does not hold, or where C++ has no meaning either."""
    names = {**global_names(), **inputs.python()}
    if any(not names.get(name, True) for name in sample.scalar.uses.fragile):
        return None  # C++ may divide by it where Python does not look at it
    try:
        if not all(holds(a, names) for a in sample.scalar.uses.assumptions):
            return None
        found = eval(sample.scalar.text.text, names)
    except (ZeroDivisionError, OverflowError, ValueError, AttributeError, TypeError, IndexError, MemoryError):
        return None
    assert isinstance(found, int | float), (sample.body, sample.scalar.text.text, found)
    return found


def compile_and_run(samples: Sequence[tuple[Translated, Sequence[Inputs]]], folder: Path, before: str = "",
                    compiler: str = "clang++-19") -> list[list[str]]:  # fmt: skip
    """What each sample's body gives for each of its inputs, as printed."""
    lines = [PRELUDE, before]
    for i, (sample, _) in enumerate(samples):
        lines.append(f"static auto f{i}({PARAMS})\n{{\n{sample.body}\n}}")
    lines.append("int main()\n{\n    setvbuf(stdout, nullptr, _IONBF, 0);")
    for i, (_, inputs) in enumerate(samples):
        lines.extend(f"    SHOW(f{i}({given.cpp()}))" for given in inputs)
    lines.append("}")
    path = folder / "sample.cpp"
    path.write_text("\n".join(lines), "utf-8")
    built = subprocess.run([compiler, "-std=c++20", "-w", "-O0", "-o", folder / "sample", path], capture_output=True)
    assert built.returncode == 0, built.stderr.decode()[:3000]
    ran = subprocess.run([folder / "sample"], capture_output=True)
    printed = ran.stdout.decode().split()
    calls = [(sample, given) for sample, inputs in samples for given in inputs]
    if ran.returncode:
        sample, given = calls[len(printed)]
        raise AssertionError(f"{sample.body}\nC++ died with {ran.returncode}: {sample.scalar.text.text}\nfor {given}")
    shown = iter(printed)
    return [[next(shown) for _ in inputs] for _, inputs in samples]


def same(printed: str, value: float) -> bool:
    """Is what C++ printed the Python value? A call that a check refuses allocates nothing."""
    if printed == "failed":
        return True
    if re.fullmatch(r"-?\d+", printed):
        return isinstance(value, int) and int(printed) == int(value)
    return float.fromhex(printed) == float(value) or (math.isnan(float.fromhex(printed)) and math.isnan(value))
