"""The prelude, the shape of the stubs as a set, and what a real compiler makes of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.stubs.conftest import PASSES, SNIPPETS, compiler_flags, errors
from torchless.facts import stubs

SUFFIXES = (".h", ".hpp", ".cuh")


@PASSES
@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_all_stub_headers_go_together(device: bool, order: int) -> None:
    """No header depends on another that happens to stand before it, and none says something twice."""
    headers = [
        path.relative_to(folder).as_posix()
        for folder in stubs.stub_dirs()
        for path in sorted(folder.rglob("*"))
        if path.suffix in SUFFIXES
    ]
    assert len(headers) > 100
    source = "".join(f"#include <{header}>\n" for header in headers[::order])
    assert errors(source, device=device) == ()


@PASSES
def test_the_prelude_alone_makes_device_code(device: bool) -> None:
    """As with clang's own wrapper. __noinline__ is the compiler's, also as the attribute that libstdc++ spells so."""
    source = """
__global__ void k(float* p) { p[0] = expf(p[1]) + rsqrtf(p[2]); printf("x"); }
template <typename T>
__device__ bool odd(T x) { return isnan(x) || isinf(x) || !isfinite(x) || signbit(x) || ::isnan(x) || std::isinf(x); }
__device__ bool both() { return odd(1.f) || odd(2.0); }
__noinline__ void f();
__attribute__((__noinline__)) void g();
"""
    assert errors(source, device=device) == ()


def test_every_header_is_guarded() -> None:
    """Save those that the C library enters again for more."""
    every = [path for path in Path(stubs.__file__).parent.rglob("*") if path.suffix in SUFFIXES]
    bare = {path.name for path in every if "#pragma once" not in path.read_text(encoding="ascii")}
    assert bare == {"limits.h", "stddef.h", "stdarg.h"}


def test_only_the_torch_folder_names_torch() -> None:
    for folder in stubs.stub_dirs(torch=False):
        for path in folder.rglob("*.h*"):
            assert not re.search(r"\b(at|c10|torch)::|include <(torch|ATen|c10)/", path.read_text(encoding="ascii")), (
                path
            )


@pytest.mark.clang
@PASSES
def test_the_stubs_compile(device: bool, tmp_path: Path) -> None:
    """They are good enough for code: the host pass launches the kernel, the device pass has it."""
    output = tmp_path / "launcher.s"
    unit = [str(SNIPPETS / "launcher.cu"), "-o", str(output)]
    done = subprocess.run(
        ["clang++-19", *compiler_flags(device=device), "-O2", "-S", *unit], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    sought = "amdhsa_kernel _Z5scaleI6__halfEvPT_f" if device else "__hipPushCallConfiguration"
    assert sought in output.read_text()


@pytest.mark.clang
@PASSES
def test_clang_checks_torch_code(device: bool) -> None:
    unit = str(SNIPPETS / "launcher_torch.cu")
    done = subprocess.run(
        ["clang++-19", *compiler_flags(device=device), "-fsyntax-only", unit], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
