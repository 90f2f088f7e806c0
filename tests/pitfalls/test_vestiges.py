"""Includes that look unused, and includes that keep torch: what a check says, and what its fixes do."""

from __future__ import annotations

from pathlib import Path

from tests.lints.conftest import findings_in, lay_out
from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.text import writer

FEEDS = """#pragma once
#include <torch/all.h>
#define P24_ROW(name) name,
using p24_half_t = at::Half;
"""
P24 = {
    "csrc/include/p24.h": FEEDS,
    "csrc/kernels/p24_rows.inc": "P24_ROW(one)\nP24_ROW(two)\n",
    # the macro of the header is named in the .inc alone
    "csrc/kernels/table.cu": '#include "p24.h"\nenum kinds {\n#include "p24_rows.inc"\nlast };\nint n = last;\n',
    # ## makes the type's name, through a macro of another header
    "csrc/include/paste.h": "#pragma once\n#define P24_TYPE(name) p24_##name##_t\n",
    "csrc/kernels/pasted.cu": '#include "p24.h"\n#include "paste.h"\nP24_TYPE(half) value;\n',
    # a condition tests the macro
    "csrc/kernels/tested.cu": '#include "p24.h"\n#ifdef P24_ROW\nint m = 1;\n#endif\n',
    # the header is there to be read twice
    "csrc/include/twice.h": "#include <torch/all.h>\nP24_AGAIN(1, at::Half)\n",
    "csrc/kernels/twice.cu": '#define P24_AGAIN(n, T) T again##n;\n#include "twice.h"\n',
    # and this one is for nothing
    "csrc/kernels/unused.cu": '#include "p24.h"\nint k = 1;\n',
}


def mended(root: Path, **options: object) -> MigrateResult:
    """The fixes of TL111 in the whole checkout, every file of it proved."""
    settings = {"paths": (".",), "select": ("TL111",), "cache": False, **options}
    return migrate(MigrateOptions(**settings), root, lambda stage, done, total: None)  # type: ignore[arg-type]


def test_p24_a_header_that_only_the_preprocessor_uses_is_left(tmp_path: Path) -> None:
    lay_out(tmp_path, P24)
    result = mended(tmp_path, unsafe=True)
    assert set(result.changes) == {"csrc/kernels/unused.cu"}
    shown = {finding.path for finding in result.findings}
    assert "csrc/kernels/pasted.cu" in shown  # it is said that ## may need the line
    assert not shown & {"csrc/kernels/table.cu", "csrc/kernels/tested.cu"}  # these do


ITFS = """#pragma once
#include "aiter_hip_common.h"
#include <torch/all.h>
inline at::ScalarType get_torch_fp8() { return at::ScalarType::Float8_e4m3fn; }
"""
P38 = """// Scales.
#include "py_itfs_common.h"
#include <cstdio>
int first(std::optional<int> n, const std::vector<int>& v) { HIP_CALL(hipSuccess); return n.value_or(v[0]); }
"""


def test_p38_what_came_through_a_vestigial_include_is_asked_for(tmp_path: Path) -> None:
    lay_out(tmp_path, {"csrc/include/py_itfs_common.h": ITFS, "csrc/kernels/p38.cu": P38})
    result = mended(tmp_path)
    writer.write_files(tmp_path, result.changes)
    assert (tmp_path / "csrc/kernels/p38.cu").read_text() == P38.replace(
        '"py_itfs_common.h"\n#include <cstdio>',
        '"aiter_hip_common.h"\n#include <cstdio>\n#include <optional>\n#include <vector>',
    )
    assert not mended(tmp_path).changes
    assert not [f for f in findings_in(tmp_path, ["TL111", "TL112", "TL113"]) if f.path == "csrc/kernels/p38.cu"]
