"""The compiler's own headers, the prelude, and the shape of the stubs as a set."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.stubs.conftest import PASSES, compiler_flags, errors
from torchless.facts import stubs

STANDARD = """\
#include <limits.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdbool.h>
#include <float.h>
#include <inttypes.h>
#include <climits>
#include <cfloat>
#include <cstdarg>
#include <filesystem>
#include <regex>
#include <random>
#include <chrono>
#include <future>
#include <complex>
#include <bit>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
char path[PATH_MAX];
static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && LLONG_MIN < 0 && CHAR_BIT == 8 && SHRT_MIN == -32768 && UCHAR_MAX == 255);
static_assert(FLT_MAX > 1e38f && DBL_DIG == 15 && FLT_EPSILON < 1e-6f && INT64_MAX > 0 && UINT32_MAX == 4294967295u && offsetof(max_align_t, __max_align_ll) == 0);
int sum(int n, ...) { va_list args; va_start(args, n); int v = va_arg(args, int); va_end(args); return v; }
std::nullptr_t nothing; ptrdiff_t distance; size_t size; wchar_t wide; uint8_t byte; FILE* file;
"""


@PASSES
def test_standard_headers_parse(device: bool) -> None:
    assert errors(STANDARD.replace("__max_align_ll", "__a"), device=device) == ()


@PASSES
@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_all_stub_headers_go_together(device: bool, order: int) -> None:
    """No header depends on another that happens to stand before it, and none says something twice."""
    headers = [
        path.relative_to(folder).as_posix()
        for folder in stubs.stub_dirs()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".h", ".hpp", ".cuh")
    ]
    assert len(headers) > 100
    source = "".join(f"#include <{header}>\n" for header in headers[::order])
    assert errors(source, device=device) == ()


@PASSES
def test_the_prelude_alone_makes_device_code(device: bool) -> None:
    """As with clang's own wrapper. __noinline__ is the compiler's, also as the attribute that libstdc++ spells so."""
    source = '__global__ void k(float* p) { p[0] = expf(p[1]) + rsqrtf(p[2]); printf("x"); }\n__noinline__ void f();\n__attribute__((__noinline__)) void g();\n'
    assert errors(source, device=device) == ()


def test_every_header_is_guarded() -> None:
    """Guarded, save limits.h and stddef.h, which the C library enters again for more."""
    every = [p for p in Path(stubs.__file__).parent.rglob("*") if p.suffix in (".h", ".hpp", ".cuh")]
    bare = {p.name for p in every if "#pragma once" not in p.read_text(encoding="ascii")}
    assert bare == {"limits.h", "stddef.h", "stdarg.h"}


def test_only_the_torch_folder_names_torch() -> None:
    for folder in stubs.stub_dirs(torch=False):
        for path in folder.rglob("*.h*"):
            assert not re.search(r"\b(at|c10|torch)::|include <(torch|ATen|c10)/", path.read_text(encoding="ascii")), (
                path
            )


LAUNCHER = """\
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
template <typename T> __global__ void scale(T* p, float x) { p[threadIdx.x] = T(float(p[threadIdx.x]) * expf(x) + __shfl_xor(x, 1)); __syncthreads(); }
extern "C" void launch(__half* p, hipStream_t s) { scale<__half><<<dim3(2), dim3(64), 0, s>>>(p, 2.f); }
"""


@pytest.mark.clang
@PASSES
def test_the_stubs_compile(device: bool, tmp_path: Path) -> None:
    """They are good enough for code: the host pass launches the kernel, the device pass has it."""
    (tmp_path / "unit.cu").write_text(LAUNCHER)
    command = ["clang++-19", *compiler_flags(device=device), "-O2", "-S", "unit.cu", "-o", "unit.s"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "unit.s").read_text()
    assert ("amdhsa_kernel _Z5scaleI6__halfEvPT_f" in text) if device else ("__hipPushCallConfiguration" in text)


@pytest.mark.clang
@PASSES
def test_clang_checks_torch_code(device: bool, tmp_path: Path) -> None:
    (tmp_path / "unit.cu").write_text(
        "#include <torch/extension.h>\nint64_t f(const at::Tensor& t) { TORCH_CHECK(t.dim() == 1); return t.size(0); }\n"
    )
    done = subprocess.run(
        ["clang++-19", *compiler_flags(device=device), "-fsyntax-only", "unit.cu"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
