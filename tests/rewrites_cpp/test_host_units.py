"""Sources that only instantiate: which are, and what the unit for the host, those for the device and headers become."""

from __future__ import annotations

import pytest

from torchless.project.model import Module
from torchless.reliance.config_flags import with_source_flags
from torchless.rewrites.host_units.instances import Instances, clashing, instances_of
from torchless.rewrites.host_units.printed import printed_instances
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


SCRIPT = """BASE = '''
#include "launch.h"

{F_instances}
'''


class Traits:
    @property
    def definition(self):
        return f"template bool run<{self.op}, {self.dtype}>(Box&, Box&);"


def write(path, traits):
    path.write_text(BASE.format(F_instances="\\n".join(t.definition for t in traits)))
"""


def test_a_script_that_prints_instances_is_told_why_they_stay_apart() -> None:
    found = printed_instances(SourceFile("gen.py", SCRIPT.encode()))
    assert found is not None
    assert SCRIPT[found[0] :].startswith("template bool run<")
    assert "which kernels each of them starts is only known when it is printed" in found[1]
    of_ck = printed_instances(SourceFile("gen.py", SCRIPT.replace('"launch.h"', '"ck/launch.h"').encode()))
    assert of_ck is not None and "those of CK" in of_ck[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("template bool run<{self.op}, {self.dtype}>(Box&, Box&);", "run<{self.op}>(a, b);"),
        ("template bool run<{self.op}, ", "template <typename {self.op}> void run("),
        ('#include "launch.h"', "#define __HIPCC_RTC__"),
    ],
)
def test_a_script_that_prints_none_is_not_spoken_of(old: str, new: str) -> None:
    assert printed_instances(SourceFile("gen.py", SCRIPT.replace(old, new).encode())) is None


FLAGS = "flags_extra_hip_per_source"
CONFIG = """{
    "module_run": {
        "srcs": [
            "a"
        ]
    }
}
"""


def flagged(text: str) -> str:
    start = text.index('"module_run"')
    entry = Module("module_run", (), entry_start=start, entry_end=text.rindex("}", 0, text.rindex("}")) + 1)
    source = SourceFile("config.json", text.encode())
    return apply(source.data, with_source_flags(source, entry, FLAGS, ["a.cu", "b.cu"], "-DX", "TL630")).decode()


def test_sources_get_flags_in_the_layout_of_the_entry() -> None:
    assert flagged(CONFIG) == CONFIG.replace(
        '        "srcs"',
        f"""        "{FLAGS}": {{
            "a.cu": ["-DX"],
            "b.cu": ["-DX"]
        }},
        "srcs\"""",
    )
    one_line = '{"module_run": {"srcs": ["a"]}}'
    assert flagged(one_line) == one_line.replace(
        '{"srcs"', f'{{"{FLAGS}": {{"a.cu": ["-DX"], "b.cu": ["-DX"]}}, "srcs"'
    )


def test_flags_of_sources_that_are_there_stay_alone() -> None:
    text = CONFIG.replace('"srcs": [', f'"{FLAGS}": {{"*.cu": ["-DY"]}},\n        "srcs": [')
    assert flagged(text) == text
