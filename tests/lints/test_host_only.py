from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, configuration, findings_in, mend
from torchless.model import Tier

TU = "csrc/pybind/a_pybind.cu"
HEADER = "csrc/include/a.h"
INCLUDES = '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n#include "a.h"\n'
BLOCK = 'PYBIND11_MODULE(N, m)\n{\n    AITER_SET_STREAM_PYBIND;\n    m.def("f", &f);\n}\n'
OPEN, CLOSE = "#ifndef __HIP_DEVICE_COMPILE__\n\n", "\n#endif // !__HIP_DEVICE_COMPILE__\n"
DECLARED = '#pragma once\n#include "aiter_tensor.h"\nvoid f(aiter_tensor_t& x);\n'


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (INCLUDES + BLOCK, OPEN + INCLUDES + BLOCK + CLOSE),
        ("// licence\n" + INCLUDES + BLOCK, "// licence\n\n" + OPEN + INCLUDES + BLOCK + CLOSE),
        ("// licence\n// more\n\n\n" + INCLUDES + BLOCK, "// licence\n// more\n\n\n" + OPEN + INCLUDES + BLOCK + CLOSE),
        ("/* licence\n */\n" + INCLUDES + BLOCK, "/* licence\n */\n\n" + OPEN + INCLUDES + BLOCK + CLOSE),
        (
            "// licence\n\n// about it\n" + INCLUDES + BLOCK,
            "// licence\n\n" + OPEN + "// about it\n" + INCLUDES + BLOCK + CLOSE,
        ),
        ("/* a */ " + INCLUDES + BLOCK, OPEN + "/* a */ " + INCLUDES + BLOCK + CLOSE),
        ("\n\n" + INCLUDES + BLOCK, OPEN + "\n\n" + INCLUDES + BLOCK + CLOSE),
        (INCLUDES + BLOCK + "// end\n", OPEN + INCLUDES + BLOCK + "// end\n" + CLOSE),
        (INCLUDES + BLOCK + "\n\n", OPEN + INCLUDES + BLOCK + CLOSE + "\n\n"),
        (INCLUDES + BLOCK.rstrip(), OPEN + INCLUDES + BLOCK + CLOSE.rstrip("\n")),
        (
            '// licence\n  #include "a.h"\n' + INCLUDES + BLOCK,
            "// licence\n\n" + OPEN + '  #include "a.h"\n' + INCLUDES + BLOCK + CLOSE,
        ),
    ],
)
def test_where_the_guard_goes(tmp_path: Path, found: Found, before: str, after: str, eol: str, bom: bytes) -> None:
    files = {TU: bom + before.replace("\n", eol).encode(), HEADER: DECLARED}
    (finding,) = found(files, "TL610")
    assert finding.tier is Tier.SAFE
    mend(tmp_path, [finding])
    assert (tmp_path / TU).read_bytes() == bom + after.replace("\n", eol).encode()
    assert findings_in(tmp_path, ["TL610"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k() {}\n" + INCLUDES + BLOCK,
        INCLUDES + "__device__ int x;\n" + BLOCK,
        INCLUDES + BLOCK.replace("&f", "[] { k<<<1, 1>>>(); }"),
        INCLUDES + BLOCK.replace("&f", "[] { ck_tile::launch_kernel(s, k); }"),
        OPEN + INCLUDES + BLOCK + CLOSE,
        "#if !defined(__HIP_DEVICE_COMPILE__)\n" + INCLUDES + BLOCK + "#endif\n",
        "#if !__HIP_DEVICE_COMPILE__\n" + INCLUDES + BLOCK + "#endif\n",
        "#ifdef __HIP_DEVICE_COMPILE__\n#else\n" + INCLUDES + BLOCK + "#endif\n",
    ],
)
def test_what_has_device_code_or_a_guard(found: Found, text: str) -> None:
    assert found({TU: text, HEADER: DECLARED}, "TL610") == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (INCLUDES + "void g() {}\n" + BLOCK, "defines functions"),
        (INCLUDES + "static int g = f({1, 2});\n" + BLOCK, ""),
        (INCLUDES + "static std::map<int, int> g{{1, 2}};\n" + BLOCK, "defines functions"),
        (INCLUDES + "namespace py = pybind11;\nusing namespace aiter;\n" + BLOCK, ""),
        (INCLUDES + "namespace aiter { void g(); struct A { int b; }; enum C { D }; }\n" + BLOCK, ""),
        (INCLUDES + 'extern "C" { void g(); }\n' + BLOCK, ""),
        (INCLUDES + "struct A { int b() { return 1; } };\n" + BLOCK, ""),
        (INCLUDES + "#ifndef __HIP_DEVICE_COMPILE__\nint x;\n#endif\n" + BLOCK, "tells the passes apart"),
        (INCLUDES + BLOCK + BLOCK.replace("f", "g"), ""),
    ],
)
def test_what_is_only_shown(found: Found, text: str, reason: str) -> None:
    (finding,) = found({TU: text, HEADER: DECLARED}, "TL610")
    assert bool(finding.edits) is not bool(reason)
    assert reason in finding.message


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("template <int N> __global__ void k(int* out);\n", ""),
        ("template <int N> void run() { k<N><<<1, 1>>>(); }\n", ""),
        ("static __global__ void k() {}\n", ""),
        ("__global__ void k();\n", ""),
        ("inline __device__ int g() { return 1; }\n", ""),
        ("struct A { __host__ __device__ A() = default; __device__ float operator()(int i) const; };\n", ""),
        ("__global__ void k() {}\n", "every pass has to see"),
        ("__constant__ int table[4];\n", "every pass has to see"),
        ("static __device__ int counter = 0;\n", "every pass has to see"),
        ("__managed__ int counter;\n", "every pass has to see"),
        ("// __constant__ int table[4];\n", ""),
    ],
)
def test_headers_with_device_code(found: Found, header: str, reason: str) -> None:
    (finding,) = found({TU: INCLUDES + BLOCK, HEADER: DECLARED + header}, "TL610")
    assert bool(finding.edits) is not bool(reason)
    assert reason in finding.message


@pytest.mark.parametrize(
    ("row", "function", "edited"),
    [
        ("&f", "void f(aiter_tensor_t& x);", True),
        ("&f", "inline void f(aiter_tensor_t& x) { k<1><<<1, 1>>>(); }", False),
        ("&f", "void f(aiter_tensor_t& x);\ninline void f(aiter_tensor_t& x) {}", False),
        ("&unseen", "void f(aiter_tensor_t& x);", False),
        ("[](int n) { run(n); }", "void f(aiter_tensor_t& x);", False),
    ],
)
def test_bindings_beside_kernels(found: Found, row: str, function: str, edited: bool) -> None:
    kernel = "template <int N> __global__ void k(int* out) { out[0] = N; }\n"
    header = f'#pragma once\n#include "aiter_tensor.h"\n{kernel}{function}\n'
    (finding,) = found({TU: INCLUDES + BLOCK.replace("&f", row), HEADER: header}, "TL610")
    assert bool(finding.edits) is edited
    assert edited or f"may use a kernel of {HEADER}" in finding.message


def test_only_sources_that_were_asked_about(tmp_path: Path, found: Found) -> None:
    other = "csrc/kernels/a.cu"
    files = {TU: INCLUDES + BLOCK, HEADER: DECLARED, other: '#include "a.h"\n'}
    config = {"aiter/jit/optCompilerConfig.json": configuration({"module_a": [TU, other]})}
    assert found({**files, **config}, "TL610", paths=[other]) == []
    assert [f.path for f in findings_in(tmp_path, ["TL610"], [TU])] == [TU]
