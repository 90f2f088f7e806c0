"""TL111: what makes an include vestigial, and what keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, findings_in, lay_out, mend, texts_in
from torchless.model import Finding, Tier

CODE = "TL111"
ITFS = "csrc/include/py_itfs_common.h"
HELPERS = """#pragma once
#include "aiter_hip_common.h"
#include <torch/all.h>
namespace aiter {
enum Kind { KIND_FP8, KIND_FP4 };
template <typename T> struct t2ck;
inline bool isGPUArch(const char* name) { return name != nullptr; }
const constexpr auto torch_fp4x2 = at::ScalarType::Byte;
typedef int itfs_index;
}
#define torch_fp8 get_torch_fp8()
#define TYPE_MAP(F) F("fp32", torch::kFloat)
"""
SOURCE = "csrc/kernels/scale.cu"


def only(findings: list[Finding], path: str = SOURCE) -> Finding:
    (finding,) = [f for f in findings if f.path == path]
    return finding


@pytest.mark.parametrize(
    "use",
    [
        "auto k = aiter::KIND_FP8;",
        "template <> struct aiter::t2ck<int> {};",
        "bool b = aiter::isGPUArch(nullptr);",
        "auto t = aiter::torch_fp4x2;",
        "aiter::itfs_index i;",
        "auto t = torch_fp8;",
        "#ifdef TYPE_MAP\n#endif",
        "#define LIST TYPE_MAP(CASE)",
        "#if 0\nauto t = torch_fp8;\n#endif",
        "#define CAT(a, b) a##b\nauto t = CAT(torch_, fp8); int torch_, fp8;",
    ],
)
def test_every_kind_of_name_keeps_the_line(found: Found, use: str) -> None:
    findings = found({ITFS: HELPERS, SOURCE: f'#include "py_itfs_common.h"\n{use}\n'}, CODE)
    assert not any(f.edits for f in findings if f.path == SOURCE)


def test_what_only_looks_like_a_use_does_not(found: Found) -> None:
    text = '#include "py_itfs_common.h"\n// torch_fp8\nconst char* s = "isGPUArch"; // t2ck\nint my_torch_fp8_x;\n'
    finding = only(found({ITFS: HELPERS, SOURCE: text}, CODE))
    assert finding.tier is Tier.SAFE
    assert [(e.start, e.end, e.new) for e in finding.edits] == [(0, text.index("//"), b"")]
    assert [(r.path, r.line, r.message) for r in finding.related] == [(ITFS, 3, "includes torch/all.h")]
    assert (finding.line, finding.column) == (1, 10)


def test_torch_that_stays_another_way_does_not_keep_the_line(found: Found) -> None:
    text = (
        '#include <torch/all.h>\n#include "py_itfs_common.h"\nvoid scale(torch::Tensor& x) { TORCH_CHECK(x.dim()); }\n'
    )
    assert only(found({ITFS: HELPERS, SOURCE: text}, CODE)).edits


def test_torch_that_comes_from_there_does(found: Found) -> None:
    text = '#include "py_itfs_common.h"\nvoid scale(torch::Tensor& x) { TORCH_CHECK(x.dim()); }\n'
    assert not found({ITFS: HELPERS, SOURCE: text}, CODE)


def test_a_header_read_later_may_live_on_it(found: Found) -> None:
    later = "#pragma once\ninline bool later(const char* n) { return aiter::isGPUArch(n); }\n"
    text = '#include "py_itfs_common.h"\n#include "later.h"\nbool b = later("x");\n'
    assert not found({ITFS: HELPERS, "csrc/include/later.h": later, SOURCE: text}, CODE)


def test_a_header_that_includes_it_itself_does_not(found: Found) -> None:
    later = (
        '#pragma once\n#include "py_itfs_common.h"\ninline bool later(const char* n) { return aiter::isGPUArch(n); }\n'
    )
    text = '#include "py_itfs_common.h"\n#include "later.h"\nbool b = later("x");\n'
    assert only(found({ITFS: HELPERS, "csrc/include/later.h": later, SOURCE: text}, CODE)).edits


def test_what_was_read_before_cannot_live_on_it_but_its_macros_can(found: Found) -> None:
    early = "#pragma once\ninline std::vector<int> early() { return {}; }\n#define EARLY(n) aiter::isGPUArch(n)\n"
    files = {ITFS: HELPERS, "csrc/include/early.h": early}
    plain = '#include "early.h"\n#include "py_itfs_common.h"\nauto v = early();\n'
    expanded = '#include "early.h"\n#include "py_itfs_common.h"\nbool b = EARLY("x");\n'
    findings = found({**files, SOURCE: plain, "csrc/kernels/b.cu": expanded}, CODE)
    assert [f.path for f in findings if f.edits] == [SOURCE]


def test_what_came_with_it_is_included_instead(tmp_path: Path) -> None:
    text = (
        '// Scales.\n#include "py_itfs_common.h"\n#include <cstdio>\nstd::optional<int> n; void f() { HIP_CALL(1); }\n'
    )
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: text})
    findings = findings_in(tmp_path, [CODE])
    assert "aiter_hip_common.h (HIP_CALL in scale.cu)" in only(findings).help
    mend(tmp_path, findings)
    assert texts_in(tmp_path, [SOURCE])[SOURCE].decode() == text.replace(
        '"py_itfs_common.h"\n#include <cstdio>\n', '"aiter_hip_common.h"\n#include <cstdio>\n#include <optional>\n'
    )
    assert not findings_in(tmp_path, [CODE])


def test_a_header_that_brings_all_that_is_needed_is_enough(tmp_path: Path) -> None:
    umbrella = '#pragma once\n#include "aiter_tensor.h"\n#include "py_itfs_common.h"\ninline void umbrella() {}\n'
    text = (
        '#include "umbrella.h"\nvoid f(aiter_tensor_t& x) { HIP_CALL(1); AITER_CHECK(x.dim() == AITER_DTYPE_fp16); }\n'
    )
    lay_out(tmp_path, {ITFS: HELPERS, "csrc/include/umbrella.h": umbrella, SOURCE: text})
    mend(tmp_path, [f for f in findings_in(tmp_path, [CODE]) if f.path == SOURCE])
    assert texts_in(tmp_path, [SOURCE])[SOURCE].startswith(b'#include "aiter_tensor.h"\nvoid f')


def test_two_lines_that_could_go_one_at_a_time_do_not_both_go(tmp_path: Path) -> None:
    text = '#include "first.h"\n#include "second.h"\nvoid f() { first(); second(); bool b = aiter::isGPUArch("x"); }\n'
    files: dict[str, str | bytes] = {ITFS: HELPERS, SOURCE: text}
    for name in ("first", "second"):
        body = f'#pragma once\n#include "py_itfs_common.h"\ninline void {name}() {{}}\n'
        files[f"csrc/include/{name}.h"] = body
    lay_out(tmp_path, files)
    findings = findings_in(tmp_path, [CODE])
    assert {f.path: bool(f.edits) for f in findings} == {"csrc/include/first.h": True, "csrc/include/second.h": False}
    assert "scale.cu has it from here" in findings[1].help


def test_a_header_of_which_others_alone_live_is_shown(found: Found) -> None:
    header = '#pragma once\n#include "py_itfs_common.h"\nvoid scale(int n);\n'
    text = '#include "scale.h"\nvoid scale(int n) { aiter::isGPUArch("x"); }\n'
    finding = only(found({ITFS: HELPERS, "csrc/include/scale.h": header, SOURCE: text}, CODE), "csrc/include/scale.h")
    assert finding.tier is Tier.DISPLAY and not finding.edits
    assert finding.help == "include it where it is used: scale.cu (isGPUArch)"


@pytest.mark.parametrize(
    ("header", "source", "why"),
    [
        (HELPERS.replace("#pragma once\n", ""), "", "py_itfs_common.h has no include guard"),
        (HELPERS + "#pragma pack(1)\n", "", "py_itfs_common.h has #pragma pack(1)"),
        (HELPERS + "#undef NDEBUG\n", "", "py_itfs_common.h undefines NDEBUG"),
        (HELPERS + "REGISTER(scale);\n", "", "py_itfs_common.h expands REGISTER"),
        (HELPERS + "using namespace aiter;\n", "", "py_itfs_common.h has using namespace aiter"),
        (HELPERS, '#include "scale_manifest.h"\n', "scale_manifest.h is not in the checkout and may need it"),
        (HELPERS, "#define T(n) torch_##n\n", "scale.cu may make torch_fp4x2 with ##"),
    ],
)
def test_doubts(found: Found, header: str, source: str, why: str) -> None:
    finding = only(found({ITFS: header, SOURCE: f'#include "py_itfs_common.h"\n{source}int f();\n'}, CODE))
    assert finding.tier is Tier.DISPLAY and not finding.edits
    assert why in finding.help


def test_a_header_that_defines_functions_is_there_to_be_included(found: Found) -> None:
    header = "#pragma once\n#include <torch/all.h>\nint definition(at::Tensor& x) { return 1; }\n"
    assert not found({"csrc/include/impl.h": header, SOURCE: '#include "impl.h"\nint f();\n'}, CODE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('#ifdef USE_ROCM\n#include "py_itfs_common.h"\n#endif\n', "it stands below #ifdef USE_ROCM"),
        ('namespace x {\n#include "py_itfs_common.h"\n}\n', "it stands inside braces"),
        ('#define H "py_itfs_common.h"\n#include H\n', "its header is named by a macro"),
        ('#include "py_itfs_common.h" // IWYU pragma: keep\n', "a comment says IWYU pragma: keep"),
        ('// IWYU pragma: begin_exports\n#include "py_itfs_common.h"\n// IWYU pragma: end_exports\n', "pragma: export"),
    ],
)
def test_lines_that_are_not_touched(found: Found, text: str, why: str) -> None:
    finding = only(found({ITFS: HELPERS, SOURCE: text + "int f();\n"}, CODE))
    assert not finding.edits
    assert why in finding.help


def test_a_pragma_elsewhere_keeps_nothing(found: Found) -> None:
    kept = "// IWYU pragma: begin_keep\n#include <cstdio>\n// IWYU pragma: end_keep\n"
    text = kept + '#include "py_itfs_common.h"\nint f();\n'
    assert only(found({ITFS: HELPERS, SOURCE: text}, CODE)).edits


def test_sources_that_a_script_writes(found: Found) -> None:
    config = """{"module_scale": {
        "srcs": ["f'{AITER_CSRC_DIR}/scale/scale.cu'"],
        "extra_include": ["f'{AITER_CSRC_DIR}/scale/include'"],
        "blob_gen_cmd": "f'{AITER_CSRC_DIR}/scale/gen_instances.py --out {{}}'"
    }}"""
    header = '#pragma once\n#include "py_itfs_common.h"\nvoid scale(int n);\n'
    files = {
        ITFS: HELPERS,
        "aiter/jit/optCompilerConfig.json": config,
        "csrc/scale/include/scale.h": header,
        "csrc/scale/scale.cu": '#include "scale.h"\nvoid scale(int n) {}\n',
        "csrc/scale/gen_instances.py": "print('#include \"scale.h\"')\n",
    }
    finding = only(found(files, CODE), "csrc/scale/include/scale.h")
    assert not finding.edits
    assert "csrc/scale/gen_instances.py writes sources that include scale.h" in finding.help


@pytest.mark.parametrize(
    ("includes", "tier"),
    [
        (["ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h", "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h"], Tier.SAFE),
        (["torch/all.h", "ATen/hip/impl/HIPStreamMasqueradingAsCUDA.h"], Tier.UNSAFE),
        (["torch/all.h", "c10/util/irange.h"], Tier.SAFE),
    ],
)
def test_narrow_headers_of_torch(found: Found, includes: list[str], tier: Tier) -> None:
    lines = "".join(f"#include <{header}>\n" for header in ["torch/python.h", *includes])
    body = "void f(torch::Tensor& x) { at::hip::OptionalHIPGuardMasqueradingAsCUDA g(0); }\n"
    findings = [f for f in found({SOURCE: lines + body}, CODE) if f"<{includes[1]}>" in f.message]
    assert [f.tier for f in findings] == [tier]
    assert findings[0].edits


def test_a_narrow_header_whose_name_is_the_checkouts_own(found: Found) -> None:
    text = (
        '#include "aiter_hip_common.h"\n#include <torch/all.h>\n'
        "#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>\n"
        "void f(torch::Tensor& x) { HipDeviceGuard guard(0); }\n"
    )
    own = "#pragma once\nstruct HipDeviceGuard { HipDeviceGuard(int) {} };\n"
    findings = found({"csrc/include/aiter_hip_common.h": own, SOURCE: text}, CODE)
    assert [f.tier for f in findings if "HIPGuardImpl" in f.message] == [Tier.UNSAFE]


def test_a_narrow_header_that_another_brings_is_shown(found: Found) -> None:
    text = "#include <torch/all.h>\n#include <c10/core/ScalarType.h>\nat::ScalarType f(torch::Tensor& x);\n"
    finding = only(found({SOURCE: text}, CODE))
    assert finding.tier is Tier.DISPLAY
    assert finding.message == "<c10/core/ScalarType.h> brings nothing that <torch/all.h> does not"


def test_bindings_need_torchs_casters(found: Found) -> None:
    header = "#pragma once\n#include <torch/all.h>\nvoid scale(torch::Tensor& x);\n"
    bound = '#include "rocm_ops.hpp"\n#include "scale.h"\n#include <torch/extension.h>\n' + (
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }\n'
    )
    files = {"csrc/include/scale.h": header, "csrc/pybind/scale_pybind.cu": bound}
    assert not [f for f in found(files, CODE) if "extension.h" in f.message]


def test_other_categories_want_a_gain_and_no_line_in_place(found: Found) -> None:
    common = '#pragma once\n#include "ck_tile/core.hpp"\n#define HIP_CALL(x) (x)\n'
    helper = '#pragma once\n#include "aiter_hip_common.h"\ninline void helper() {}\n'
    files = {
        "csrc/include/aiter_hip_common.h": common,
        "csrc/include/helper.h": helper,
        "csrc/kernels/alone.cu": '#include "helper.h"\nint f();\n',
        "csrc/kernels/twice.cu": '#include "aiter_hip_common.h"\n#include "helper.h"\nint n = HIP_CALL(1);\n',
        "csrc/kernels/needs.cu": '#include "helper.h"\nint n = HIP_CALL(1);\n',
        "csrc/kernels/ck.cu": '#include "aiter_hip_common.h"\nck_tile::index_t n = HIP_CALL(1);\n',
    }
    findings = found(files, CODE)
    assert {f.path for f in findings if f.path in files} == {"csrc/kernels/alone.cu"}
    assert only(findings, "csrc/kernels/alone.cu").message.endswith("it brings ck_tile/core.hpp")


def test_a_file_that_no_module_builds_is_shown_only(found: Found) -> None:
    files = {ITFS: HELPERS, SOURCE: '#include "py_itfs_common.h"\nint f();\n', "csrc/kernels/b.cu": "int g();\n"}
    finding = only(found(files, CODE, modules={"module_b": ["csrc/kernels/b.cu"]}))
    assert finding.help.endswith("no module builds scale.cu") and not finding.edits


def test_a_comment_suppresses_it(found: Found) -> None:
    text = '#include "py_itfs_common.h" // torchless: ignore[TL111] wanted\nint f();\n'
    assert not found({ITFS: HELPERS, SOURCE: text}, CODE)


def test_odd_files_do_no_harm(found: Found) -> None:
    files: dict[str, str | bytes] = {
        ITFS: HELPERS,
        "csrc/include/loop_a.h": '#pragma once\n#include "loop_b.h"\n#include "py_itfs_common.h"\n',
        "csrc/include/loop_b.h": '#pragma once\n#include "loop_a.h"\n',
        "csrc/kernels/loop.cu": '#include "loop_a.h"\nint f();\n',
        "csrc/kernels/bytes.cu": b'#include "py_itfs_common.h"\nint gr\xfc\xdfe; // \xff\n',
        "csrc/kernels/open.cu": '#include "py_itfs_common.h"\n/* never closed "\n',
        "csrc/kernels/last.cu": '#include "py_itfs_common.h"',
        "csrc/kernels/empty.cu": "",
    }
    findings = found(files, CODE)
    assert {"csrc/kernels/bytes.cu", "csrc/kernels/last.cu", "csrc/kernels/open.cu"} <= {f.path for f in findings}


def test_the_same_answers_from_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchless.check import check
    from torchless.options import CheckOptions

    monkeypatch.setenv("TORCHLESS_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "checkout"
    lay_out(root, {ITFS: HELPERS, SOURCE: '#include "py_itfs_common.h"\nint f();\n'})

    def run() -> tuple[Finding, ...]:
        return check(CheckOptions(paths=(".",), select=(CODE,)), root, lambda stage, done, total: None).findings

    first = run()
    assert only(list(first)).edits
    assert run() == first
    (root / SOURCE).write_text('#include "py_itfs_common.h"\nauto t = torch_fp8;\n')
    assert not run()
    (root / ITFS).write_text(HELPERS.replace("torch_fp8", "torch_fp9"))
    assert [f.path for f in run()] == [SOURCE]
