from __future__ import annotations

import subprocess

import pytest

from torchless.closure.conditions import FUNCTION, MAYBE, OPAQUE, UNDEFINED
from torchless.closure.predefined import is_known_header, is_standard, macros_of, outside
from torchless.facts.spec import TuSpec

# What the build defines on the command line.
_OURS = {
    "AITER_ENABLE_CLUSTER_LAUNCH",
    "CUDA_HAS_FP16",
    "ENABLE_CK",
    "ENABLE_ROPE_POSITIONS_INT32",
    "HIPBLAS_V2",
    "LEGACY_HIPBLAS_DIRECT",
    "TORCH_EXTENSION_NAME",
    "TORCH_Float4_e2m1fn_x2",
    "USE_PROF_API",
    "USE_ROCM",
    "WITH_HIP",
    "_GLIBCXX_USE_CXX11_ABI",
    "__Float4_e2m1fn_x2",
    "__HIP_PLATFORM_AMD__",
    "__HIP_PLATFORM_HCC__",
}
_NOT_LISTED = {  # macros that -dM leaves out
    "__BASE_FILE__",
    "__COUNTER__",
    "__DATE__",
    "__FILE_NAME__",
    "__FILE__",
    "__INCLUDE_LEVEL__",
    "__LINE__",
    "__TIMESTAMP__",
    "__TIME__",
}


@pytest.mark.clang
@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("arch", ["gfx942", "gfx90a", "gfx1201"])
def test_the_compilers_macros_are_clangs(device: bool, arch: str) -> None:
    which = "--cuda-device-only" if device else "--cuda-host-only"
    command = ["clang++-19", "-x", "hip", "-nogpuinc", "-nogpulib", "-std=c++20", which, f"--offload-arch={arch}"]
    listed = subprocess.run([*command, "-dM", "-E", "/dev/null"], capture_output=True, text=True, check=True).stdout
    clang = {name: body for _, name, body in (f"{line} ".split(" ", 2) for line in listed.splitlines())}
    ours = macros_of(TuSpec("a.cu", device=device, arch=arch))
    for name, value in ours.items():
        if name in _OURS | _NOT_LISTED or value == FUNCTION:
            continue
        if value == UNDEFINED:
            assert name not in clang
        else:
            assert name in clang, name
        if isinstance(value, str):
            body = clang[name].strip()
            assert value == clang.get(body, body).strip(), name
    for name in clang:
        assert ours.get(name) is not None or outside(name) != UNDEFINED or name == "____", name


def test_what_flags_define() -> None:
    spec = TuSpec("a.cu", defines=("A", "B=2", "C=", "F(x)=x", 'S=\\"a b.h\\"', "__HIPCC_RTC__", "USE_ROCM=0", "-odd"))
    macros = macros_of(spec)
    assert [macros[name] for name in ("A", "B", "C", "F", "S", "__HIPCC_RTC__", "USE_ROCM")] == [
        "1", "2", "", FUNCTION, '"a b.h"', "1", "0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_FLAG", UNDEFINED),
        ("ENABLE_FP8", UNDEFINED),
        ("NDEBUG", UNDEFINED),
        ("_MSC_VER", UNDEFINED),
        ("__CUDA_ARCH__", UNDEFINED),
        ("__CUDA_ARCH_LIST__", UNDEFINED),
        ("__CUDACC__", UNDEFINED),
        ("__NVCC__", UNDEFINED),
        ("__APPLE__", UNDEFINED),
        ("__AVX512F__", UNDEFINED),
        ("__gfx1100__", UNDEFINED),
        ("__GFX11__", UNDEFINED),
        ("__gfx9_4_generic__", UNDEFINED),
        ("__HIP_PLATFORM_NVIDIA__", UNDEFINED),
        ("__HIPCC_RTC__", UNDEFINED),
        ("HIP_VERSION", MAYBE),
        ("hipLaunchKernelGGL", MAYBE),
        ("ROCM_VERSION_MAJOR", MAYBE),
        ("CK_TILE_USE_X", MAYBE),
        ("TORCH_VERSION_MAJOR", MAYBE),
        ("AT_CHECK", MAYBE),
        ("PYBIND11_MODULE", MAYBE),
        ("INT_MAX", MAYBE),
        ("UINT64_C", MAYBE),
        ("M_PI", MAYBE),
        ("PRIu64", MAYBE),
        ("__cpp_lib_span", OPAQUE),
        ("__forceinline__", OPAQUE),
        ("_GLIBCXX_RELEASE", OPAQUE),
        ("INTERLEAVE", UNDEFINED),
        ("LONG_CONTEXT", UNDEFINED),
        ("M_TILE", MAYBE),
    ],
)
def test_names_that_nobody_in_the_checkout_defines(name: str, value: int) -> None:
    assert outside(name) == value


@pytest.mark.parametrize(
    ("spelled", "angled", "known"),
    [
        ("vector", True, True),
        ("sys/stat.h", True, True),
        ("torch/all.h", True, True),
        ("torch/all.h", False, True),
        ("ck_tile/core.hpp", False, True),
        ("Python.h", True, True),
        ("gemm_lookup.h", False, False),
        ("opus_build_archs.h", False, False),
        ("mylib/x.h", True, False),
    ],
)
def test_headers_whose_macros_are_known(spelled: str, angled: bool, known: bool) -> None:
    assert is_known_header(spelled, angled) is known


def test_standard_headers() -> None:
    assert is_standard("vector") and is_standard("stdint.h")
    assert not is_standard("format") and not is_standard("torch/all.h")
