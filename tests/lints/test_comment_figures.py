from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, configuration, findings_in, lay_out

HEADER = "csrc/include/rows.h"
A, B = "csrc/kernels/a.cu", "csrc/kernels/b.cu"
KERNEL = "template <int N> __global__ void __launch_bounds__(256) sum_rows_kernel(int* out) { out[0] = N; }\n"


def shared(comment: str, used: int = 2, kernel: str = KERNEL) -> dict[str, str]:
    sources = {A: f'#include "rows.h"\n{kernel}', B: '#include "rows.h"\n' if used > 1 else "int b();\n"}
    modules = {"module_a": [A], "module_b": [B]}
    config = {"aiter/jit/optCompilerConfig.json": configuration(modules)}
    return {HEADER: f"#pragma once\n{comment}\nint rows();\n", **sources, **config}


@pytest.mark.parametrize(
    "comment",
    [
        "// 12.3 us",
        "// takes ~4.1-6.0us at T<=256",
        "/* 1210 TFLOPS\n   on 32K */",
        "// 3.2 TB/s of 5.3",
        "// twice as fast: 2.1x faster on MI300",
        "// was 15% faster in isolation",
        "// +18% regression at b=33",
        "// faster by 3%",
        "int x; // 12 \u00b5s",
        "// sum_rows_kernel wants this aligned",
        '// in sum_rows_kernel<4>, see "rows"',
    ],
)
def test_figures_and_names(found: Found, comment: str) -> None:
    (finding,) = found(shared(comment), "TL613")
    assert finding.path == HEADER and "2 modules" in finding.message


@pytest.mark.parametrize(
    "comment",
    [
        "// 64-byte rows, 2x2 tiles, 3 ms_per_row, 16xfloat, gfx942, 4 cycles",
        "// x is 2x larger than 100% of y",
        "// max_diff 35%->0.03% regression test",
        'const char* text = "12.3 us"; // a text',
        "int ms = 3; int limit_us = 12;",
        "int big = 1'000'000; // a number, '2.1x",
        "// my_sum_kernel<<<grid, block>>> is how it is used; other_kernel is nowhere",
        "// see kernels/sum_rows_kernel.cu, sum_rows_kernel.cu",
        "// sum_rows_kernel\nvoid sum_rows_kernel();",
    ],
)
def test_what_is_neither(found: Found, comment: str) -> None:
    assert found(shared(comment), "TL613") == []


def test_only_headers_that_modules_share(tmp_path: Path) -> None:
    lay_out(tmp_path, {**shared("// 12.3 us", used=1), "csrc/kernels/c.cu": "// 12.3 us\n"})
    assert findings_in(tmp_path, ["TL613"]) == []


def test_only_headers_that_were_asked_about(tmp_path: Path, found: Found) -> None:
    assert found(shared("// 12.3 us"), "TL613", paths=[A]) == []
    assert len(findings_in(tmp_path, ["TL613"], [HEADER])) == 1


def test_a_kernel_is_one_that_is_defined(found: Found) -> None:
    assert found(shared("// sum_rows_kernel", kernel="void sum_rows_kernel();\n"), "TL613") == []
