"""Sources that only instantiate: which are, and what the unit for the host, those for the device and headers become."""

from __future__ import annotations

import pytest

from torchless.rewrites.host_units.instances import Instances, clashing, instances_of
from torchless.rewrites.host_units.texts import device_text, hidden_kernels, host_text, macro_names
from torchless.text.edits import apply
from torchless.text.source import SourceFile

ONE = b"""// A licence.
#include "launch.h"
#include <string>

// The instance.
template bool run<Add, float>(Box&, Box&);
template void stop<float>();
"""


def one(path: str = "csrc/a.cu", text: bytes = ONE) -> Instances:
    found = instances_of(path, text)
    assert found is not None
    return found


def test_includes_and_instantiations_are_read() -> None:
    assert one().includes == ('"launch.h"', "<string>")
    assert one().launchers == (b"template bool run<Add, float>(Box&, Box&);", b"template void stop<float>();")


@pytest.mark.parametrize(
    "text",
    [
        ONE + b"void f() {}\n",
        ONE + b"template <typename T> void g(T);\n",
        ONE + b"template __global__ void k<float>(float*);\n",
        ONE + b"#define N 4\n",
        ONE + b'#include "late.h"\n',
        ONE.replace(b"#include <string>", b"#if A\n#include <string>\n#endif"),
        b"template void stop<float>();\n",
        b'#include "launch.h"\n',
    ],
)
def test_anything_else_is_no_list_of_instances(text: bytes) -> None:
    assert instances_of("csrc/a.cu", text) is None


def test_the_unit_for_the_host_has_all_launchers_and_every_header_once() -> None:
    other = one("csrc/b.cu", ONE.replace(b"<string>", b"<vector>").replace(b"Add", b"Mul"))
    host, _ = macro_names("module_my.run")
    assert (
        host_text(one(), [one(), other], host)
        == b"""// A licence.
#ifndef __HIP_DEVICE_COMPILE__
// All launchers; the kernels are in the other sources of the module.
#define MY_RUN_HOST_TU
#include "launch.h"
#include <string>
#include <vector>

template bool run<Add, float>(Box&, Box&);
template void stop<float>();
template bool run<Mul, float>(Box&, Box&);
#endif // !__HIP_DEVICE_COMPILE__
"""
    )


def test_a_unit_for_the_device_has_kernels_only() -> None:
    text = device_text(one(), ["__global__ void k<float>(float*)"], macro_names("module_run")[1])
    assert (
        text
        == b"""// A licence.
#define RUN_DEVICE_TU
#ifndef __HIPCC_RTC__
#define __HIPCC_RTC__ // no host half of HIP's headers
#endif
#include "launch.h"
#include <string>

template __global__ void k<float>(float*);
"""
    )
    assert instances_of("csrc/a.cu", text) is None


def test_headers_declare_their_kernels_for_the_unit_for_the_host() -> None:
    text = b"""#pragma once
template <typename T>
__global__ void __launch_bounds__(64) k(T* out)
{
    out[0] = 1;
}
template <typename T> __global__ void declared(T* out);
template <typename T> __device__ T helper(T a) { return a; }
__global__ void plain(float* out) { out[0] = 1; }
"""
    assert (
        apply(text, hidden_kernels(SourceFile("k.h", text), b"RUN_HOST_TU", "TL630"))
        == b"""#pragma once
template <typename T>
__global__ void __launch_bounds__(64) k(T* out)
#ifdef RUN_HOST_TU
;
#else
{
    out[0] = 1;
}
#endif
template <typename T> __global__ void declared(T* out);
template <typename T> __device__ T helper(T a) { return a; }
__global__ void plain(float* out) { out[0] = 1; }
"""
    )


def test_functions_of_one_name_in_two_headers_clash_unless_a_source_reads_both() -> None:
    texts = {
        "a.h": b"inline __device__ int lane() { return 1; }\n",
        "b.h": b"static int lane() { return 2; }\n",
        "c.h": b"int other();\n",
    }
    sources = [one("csrc/a.cu"), one("csrc/b.cu")]
    apart = {"csrc/a.cu": ("a.h", "c.h"), "csrc/b.cu": ("b.h", "c.h")}
    together = {"csrc/a.cu": ("a.h", "b.h"), "csrc/b.cu": ("a.h", "b.h")}
    assert clashing(sources, apart, texts.__getitem__) == "a.h and b.h both define lane"
    assert clashing(sources, together, texts.__getitem__) == ""
