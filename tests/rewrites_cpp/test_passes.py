"""What of a source only the host pass needs, by the names in it: what is guarded, and what has to stay visible."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from torchless.rewrites.passes.guard import guard_edits, instantiations
from torchless.rewrites.passes.items import UnreadableError, What, device_macros, items_of
from torchless.rewrites.passes.need import Reach, Split, host_names, split_of
from torchless.text.edits import apply
from torchless.text.source import SourceFile

HOST = b"#if !defined(__HIP_DEVICE_COMPILE__) && !defined(__HIPCC_RTC__)\n"
HEADERS = {
    "tensor.h": b"#pragma once\n#include <hip/hip_runtime.h>\nstruct Tensor { void* data; int size; };\n",
    "math.h": b"#pragma once\n__device__ inline float twice(float x) { return 2 * x; }\n",
    "both.h": b"#pragma once\n#include <torch/all.h>\nstruct Shape { int rows; };\n",
}


def reach(includes: Mapping[str, tuple[str, ...]]) -> Reach:
    reached = {spelled: frozenset(files) for spelled, files in includes.items()}
    return Reach(lambda path: HEADERS.get(path, b""), reached, HEADERS.__contains__)


INCLUDES = {
    '"tensor.h"': ("tensor.h", "hip/hip_runtime.h"),
    '"math.h"': ("math.h",),
    '"both.h"': ("both.h", "torch/all.h"),
    "<torch/all.h>": ("torch/all.h",),
}


def split(text: bytes) -> Split:
    found = split_of(text, reach(INCLUDES))
    assert isinstance(found, Split), found
    return found


def guarded(text: bytes, kernels: tuple[str, ...] = ()) -> bytes:
    source = SourceFile("a.cu", text)
    return apply(text, guard_edits(source, split(text), kernels, "TL620"))


KERNEL = b"""// A licence.
#include "tensor.h"
#include "math.h"

namespace n {
constexpr int kWidth = 64;
constexpr int kHostOnly = 3;
__global__ void scale(float* out) { out[0] = twice(out[0]) * kWidth; }

// Starts it.
void launch(Tensor& out) { scale<<<kHostOnly, 1>>>((float*)out.data); }
} // namespace n
"""


def test_what_device_code_names_stays_and_the_rest_is_guarded() -> None:
    assert (
        guarded(KERNEL)
        == b"""// A licence.
#include <hip/hip_runtime.h>
"""
        + HOST
        + b"""#include "tensor.h"
#endif // host pass
#include "math.h"

namespace n {
constexpr int kWidth = 64;
"""
        + HOST
        + b"""constexpr int kHostOnly = 3;
#endif // host pass
__global__ void scale(float* out) { out[0] = twice(out[0]) * kWidth; }

"""
        + HOST
        + b"""// Starts it.
void launch(Tensor& out) { scale<<<kHostOnly, 1>>>((float*)out.data); }
#endif // host pass
} // namespace n
"""
    )


def test_a_second_time_there_is_nothing_but_what_the_guards_hold() -> None:
    again = split_of(guarded(KERNEL), reach(INCLUDES))
    assert again is None


def test_a_source_without_device_code_is_guarded_as_a_whole() -> None:
    text = b'// A licence.\n#include "tensor.h"\nusing namespace n;\nvoid run(Tensor& t) { load(t); }\n'
    assert split(text).whole
    assert guarded(text) == text.replace(b"#include", HOST + b"#include") + b"#endif // host pass\n"


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (
            b"struct Args { Tensor* t; int n; };\n__global__ void k(Args a) {}\nvoid f() { k<<<1, 1>>>({}); }\n",
            "tensor.h",
        ),
        (b"#define SIZE sizeof(Tensor)\n__global__ void k(int* o) { o[0] = SIZE; }\nvoid f() {}\n", "tensor.h"),
        (b"__global__ void k(float* o) { o[0] = twice(1); }\nvoid f() {}\n", "math.h"),
        (b"#if 1\nint x = twice(1);\n#endif\n__global__ void k() {}\nvoid f() {}\n", "math.h"),
    ],
)
def test_a_header_that_device_code_needs_is_not_guarded(text: bytes, stays: str) -> None:
    found = split(b'#include "tensor.h"\n#include "math.h"\n' + text)
    hidden = {item.spelled for item in found.hidden if item.what is What.INCLUDE}
    assert hidden == {'"tensor.h"', '"math.h"'} - {f'"{stays}"'}


def test_a_type_of_an_instance_keeps_the_header_that_brings_it() -> None:
    text = b'#include "both.h"\ntemplate <typename T> __global__ void k(T* o) {}\nvoid f() {}\n'
    without, with_type = (
        split_of(text, reach(INCLUDES), wanted) for wanted in (frozenset[bytes](), frozenset({b"Shape"}))
    )
    assert isinstance(without, Split) and isinstance(with_type, Split)
    assert [item.spelled for item in without.hidden if item.spelled] == ['"both.h"']
    assert [item.spelled for item in with_type.hidden if item.spelled] == []


def test_functions_that_device_code_may_call_stay() -> None:
    text = b"constexpr int up(int x) { return x + 1; }\n__global__ void k(int* o) { o[0] = up(1); }\nvoid f() {}\n"
    (item,) = split(text).hidden
    assert text[item.start : item.end] == b"void f() {}"


def test_a_macro_for_a_device_attribute_is_followed() -> None:
    assert device_macros([b"#define HD __host__ __device__\n#define FAST HD inline\n#define N 4\n"]) == {b"HD", b"FAST"}
    text = b"#define HD __device__\nHD int up(int x) { return x; }\nvoid f() {}\n"
    assert [item.what for item in items_of(text, {b"HD"})] == [What.DEFINE, What.DEVICE, What.FUNCTION]


def test_include_lines_keep_their_order() -> None:
    text = b'#include "both.h"\n#include "math.h"\n#include <torch/all.h>\n'
    text += b"__global__ void k(float* o) { o[0] = twice(1); }\nvoid f() {}\n"
    order = [line for line in guarded(text).split(b"\n") if line.startswith(b"#include") and b"hip" not in line]
    assert order == text.split(b"\n")[:3]


@pytest.mark.parametrize(
    "text", [b"#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n", b"void f( {}\n", b"#if A\nint x;\n"]
)
def test_what_does_not_pair_up_is_left_alone(text: bytes) -> None:
    with pytest.raises(UnreadableError):
        items_of(text)
    assert isinstance(split_of(text, reach({})), str)


def test_host_names_reach_through_headers_but_not_through_device_code() -> None:
    HEADERS["sort.h"] = (
        b"inline void sorted(int* x) { hipcub::DeviceRadixSort(x); }\n__device__ void warp() { rocprim::shuffle(); }\n"
    )
    includes = {'"sort.h"': ("sort.h",)}
    for body, expected in ((b"sorted(x);", {b"hipcub"}), (b"other(x);", set())):
        text = b'#include "sort.h"\n__global__ void k() { warp(); }\nvoid f(int* x) { ' + body + b" }\n"
        found = split_of(text, reach(includes))
        assert isinstance(found, Split)
        assert host_names(found, reach(includes)) & {b"hipcub", b"rocprim"} == expected


def test_kernels_are_listed_for_the_device_pass() -> None:
    kernels = instantiations(
        ["void n::k<float, 4>(float*, long)", "void (anonymous namespace)::j<_Float16>(_Float16*)"]
    )
    assert kernels == ["__global__ void j<_Float16>(_Float16*)", "__global__ void n::k<float, 4>(float*, long)"]
    text = guarded(KERNEL, tuple(kernels))
    assert text.endswith(
        b"""
#if defined(__HIP_DEVICE_COMPILE__) || defined(__HIPCC_RTC__)
// The kernels that the launchers start, which the device pass does not see. Keep the list complete.
template __global__ void j<_Float16>(_Float16*);
template __global__ void n::k<float, 4>(float*, long);
#endif // device pass
"""
    )


@pytest.mark.parametrize(
    "name", ["void k<main::{lambda()#1}>(int)", "void k<f(int)::Local>(f(int)::Local)", "plain(int*)"]
)
def test_a_kernel_that_cannot_be_named_is_no_instance(name: str) -> None:
    assert isinstance(instantiations([name]), str)
