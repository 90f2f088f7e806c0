"""TL112 to TL114 and TL116: lines that lead to torch, and what they cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, findings_in, lay_out, mend, texts_in
from torchless.check import check
from torchless.model import Finding, Tier
from torchless.options import CheckOptions

OPUS = """#pragma once
#ifndef AITER_NO_TORCH_TYPES
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#endif
template <typename T> struct t2opus { using type = T; };
#ifndef AITER_NO_TORCH_TYPES
template <> struct t2opus<c10::Half> { using type = float; };
#endif
template <typename T> void store_vector(T* p, T v) { *p = v; }
"""
OPUS_PATH = "csrc/include/aiter_opus_plus.h"


def test_a_used_include_says_by_whom_and_at_what_cost(found: Found) -> None:
    header = "#pragma once\n#include <torch/extension.h>\ntorch::Tensor scale(torch::Tensor& x, at::ScalarType t);\n"
    body = '#include "scale.h"\nint n;\n'
    files = {"csrc/include/scale.h": header, "csrc/kernels/a.cu": body, "csrc/kernels/b.cu": body}
    (finding,) = found(files, "TL112")
    assert (finding.path, finding.line, finding.tier) == ("csrc/include/scale.h", 2, Tier.DISPLAY)
    assert "is used (at::ScalarType, torch::Tensor): 2 translation units, " in finding.message
    assert finding.help.endswith("read by csrc/kernels/a.cu; csrc/kernels/b.cu")


def test_a_category_of_the_users_own(tmp_path: Path) -> None:
    lay_out(tmp_path, {"csrc/kernels/a.cu": "#include <rocblas/rocblas.h>\nint n;\n"})

    def run(*heavy: str) -> list[tuple[str, str]]:
        options = CheckOptions(paths=(".",), select=("TL112",), cache=False, heavy=heavy)
        return [(f.path, f.message) for f in check(options, tmp_path, lambda *_: None).findings]

    assert not run()
    assert [path for path, _ in run("rocblas/*=rocblas")] == ["csrc/kernels/a.cu"]


def test_the_chain_to_torch_and_the_line_to_change(found: Found) -> None:
    files = {
        "csrc/include/deep.h": "#pragma once\n#include <torch/all.h>\nvoid deep(at::Tensor& x);\n",
        "csrc/include/mid.h": '#pragma once\n\n#include "deep.h"\ninline void mid(at::Tensor& x) { deep(x); }\n',
        "csrc/include/top.h": '#pragma once\n#include "mid.h"\n#define TOP(x) mid(x)\n#define OTHER 1\n',
        "csrc/kernels/a.cu": '#include "top.h"\nint n = OTHER;\n',
    }
    findings = [f for f in found(files, "TL113") if f.path == "csrc/kernels/a.cu"]
    (finding,) = findings
    assert [(r.path, r.line, r.message) for r in finding.related] == [
        ("csrc/include/top.h", 2, "includes mid.h"),
        ("csrc/include/mid.h", 3, "includes deep.h"),
        ("csrc/include/deep.h", 2, "includes torch/all.h"),
    ]
    assert finding.message == "top.h brings torch/all.h, of which nothing is used here"
    assert finding.help == "the line to change is csrc/include/deep.h:2, once what that file declares is migrated"


def test_each_line_that_leads_to_torch_is_told(found: Found) -> None:
    files: dict[str, str | bytes] = {"csrc/kernels/a.cu": '#include "x.h"\n#include "y.h"\nint n = x(1) + y(1);\n'}
    for name in "xy":
        files[f"csrc/include/{name}.h"] = f"#pragma once\n#include <torch/all.h>\nint {name}(int); at::Half h{name};\n"
    assert [f.line for f in found(files, "TL113") if f.path.endswith(".cu")] == [1, 2]


LIGHT = "#pragma once\n#define VLLM_SIZE(N, F) F(N)\n"
HEAVY = "#pragma once\n#include <torch/extension.h>\n#define VLLM_SIZE(N, F) F(N)\n#define VLLM_TORCH(T) torch::T\n"


@pytest.mark.parametrize(
    ("light", "body", "why"),
    [
        (LIGHT, "int n = VLLM_SIZE(1, g) + VLLM_TORCH2;\n", ""),
        (LIGHT, "#define X VLLM_TORCH(x)\nint n = VLLM_SIZE(1, g);\n", "it lacks VLLM_TORCH"),
        (LIGHT.replace("#pragma", "#include <c10/util/Half.h>\n#pragma"), "int n = VLLM_SIZE(1, g);\n", None),
    ],
)
def test_a_lighter_header_is_written_where_it_has_every_name(
    tmp_path: Path, light: str, body: str, why: str | None
) -> None:
    files = {
        "csrc/include/dispatch_utils.h": HEAVY,
        "csrc/include/aiter_dispatch.h": light,
        "csrc/kernels/other.cu": '#include "aiter_dispatch.h"\nint m = VLLM_SIZE(1, g);\n',
        "csrc/kernels/a.cu": f'#include "dispatch_utils.h" // macros\n{body}',
    }
    lay_out(tmp_path, files)
    findings = [f for f in findings_in(tmp_path, ["TL113"]) if f.path == "csrc/kernels/a.cu"]
    (finding,) = findings
    if why == "":
        assert finding.tier is Tier.SAFE
        mend(tmp_path, findings)
        assert texts_in(tmp_path, ["csrc/kernels/a.cu"]) == {
            "csrc/kernels/a.cu": f'#include "aiter_dispatch.h" // macros\n{body}'.encode()
        }
    else:
        assert finding.tier is Tier.DISPLAY and not finding.edits
        assert (f"aiter_dispatch.h is free of it, but {why}" in finding.help) is (why is not None)


def passes(findings: list[Finding]) -> dict[str, str]:
    return {f.path: f.message.partition("although nothing of torch is used")[2] for f in findings}


def test_the_opt_out_is_defined_before_the_first_include(tmp_path: Path) -> None:
    chain = '#pragma once\n#include "aiter_opus_plus.h"\ntemplate <class T> void gate(T* p) { store_vector(p, T{}); }\n'
    direct = (
        '/* Cache. */\n\n#include <cstdint>\n#include "aiter_opus_plus.h"\nvoid f(int* p) { store_vector(p, 1); }\n'
    )
    device = '// D.\n\n#ifdef __HIP_DEVICE_COMPILE__\n#include "aiter_opus_plus.h"\n#endif\n#include "aiter_enum.h"\n'
    files = {
        OPUS_PATH: OPUS,
        "csrc/include/gate.cuh": chain,
        "csrc/kernels/direct.cu": direct,
        "csrc/kernels/gated.cu": '#include "gate.cuh"\nvoid g(int* p) { gate(p); }\n',
        "csrc/kernels/device.cu": device,
    }
    lay_out(tmp_path, files)
    findings = findings_in(tmp_path, ["TL114"])
    assert passes(findings) == {
        "csrc/kernels/device.cu": " (in the device pass)",
        "csrc/kernels/direct.cu": "",
        "csrc/kernels/gated.cu": "",
    }
    assert all(f.tier is Tier.SAFE for f in findings)
    gated = next(f for f in findings if f.path == "csrc/kernels/gated.cu")
    assert [r.message for r in gated.related] == ["includes aiter_opus_plus.h", "includes c10/util/BFloat16.h"]
    mend(tmp_path, findings)
    assert (tmp_path / "csrc/kernels/direct.cu").read_text() == direct.replace(
        "#include <cst", "#define AITER_NO_TORCH_TYPES\n#include <cst"
    )
    assert (tmp_path / "csrc/kernels/device.cu").read_text().startswith("// D.\n#define AITER_NO_TORCH_TYPES\n")
    assert not findings_in(tmp_path, ["TL114"])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("template <class T> auto f() { return typename t2opus<T>::type{}; }\n", "may use torch's types with t2opus"),
        ("#ifdef X\n#define AITER_NO_TORCH_TYPES\n#endif\nint n;\n", "names AITER_NO_TORCH_TYPES"),
        ("auto f() { return t2opus<c10::Half>::type{}; }\n", ""),
        ("void f(at::Tensor& x);\n", ""),
    ],
)
def test_where_the_opt_out_is_not_written(found: Found, body: str, told: str) -> None:
    findings = found({OPUS_PATH: OPUS, "csrc/kernels/a.cu": f'#include "aiter_opus_plus.h"\n{body}'}, "TL114")
    assert [f.edits for f in findings] == ([()] if told else [])
    assert all(told in f.help for f in findings)


def test_torch_behind_a_guard_is_not_told_twice(found: Found) -> None:
    files = {
        OPUS_PATH: OPUS,
        "csrc/kernels/a.cu": '#include "aiter_opus_plus.h"\nvoid f(int* p) { store_vector(p, 1); }\n',
    }
    assert [f.code for f in found(files, "TL111", "TL113", "TL114") if f.path.endswith(".cu")] == ["TL114"]


def test_the_heaviest_includes_of_a_dispatcher(found: Found) -> None:
    files = {
        "csrc/include/common.cuh": "#pragma once\n#include <torch/extension.h>\nvoid run(torch::Tensor& x);\n",
        "csrc/kernels/a.cu": '#include <string>\n#include "common.cuh"\n#include <cmath>\nvoid a(at::Tensor& x) {}\n',
    }
    (finding,) = found(files, "TL116")
    assert finding.line == 2
    assert "common.cuh (through it <torch/extension.h>) " in finding.help
    order = [finding.help.index(header) for header in ("common.cuh", "<string>", "<cmath>")]
    assert order == sorted(order)
    assert finding.help.count(" inclusive, ") == finding.help.count(" exclusive") == 3
