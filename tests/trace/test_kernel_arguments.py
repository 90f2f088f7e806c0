"""Where the arguments of kernels lie, read from the compiler's intermediate code."""

from __future__ import annotations

import pytest

from torchless.verify.trace.ir import (
    MAX_LEAVES,
    Kernel,
    KernelParam,
    LayoutError,
    layout,
    read_kernels,
    read_parameter_names,
    undefined_offload_symbols,
)

TYPES = {"%struct.In": "{ i16, ptr }", '%"struct.(anonymous namespace)::P"': "<{ i8, i32 }>", "%union.U": "{ i64 }"}
TEXT = """\
%struct.Shape = type { i32, i64, [2 x float] }
@__hip_fatbin_abc = external constant i8, section ".hip_fatbin"
@__hip_gpubin_handle_abc = external hidden global ptr, align 8
define dso_local void @_Z6launchRiN5Shape(ptr noundef nonnull %out, i64 %shape.coerce0, i64 %shape.coerce1) #0 {
entry:
  ret void
}
define dso_local void @_Z6returnv(ptr noalias sret(%struct.Shape) align 8 %agg.result, double %x) #0 {
  ret void
}
define linkonce_odr dso_local void @_Z22__device_stub__kernelIfEvPT_5Shapei(ptr noundef %out, ptr noundef byval(%struct.Shape) align 8 %shape, i32 %0) #5 comdat {
entry:
  %out.addr = alloca ptr, align 8
  %.addr = alloca i32, align 4
  %grid_dim = alloca %struct.dim3, align 8
  store ptr %out, ptr %out.addr, align 8
  %kernel_args = alloca ptr, i64 3, align 16
  %1 = getelementptr ptr, ptr %kernel_args, i32 0
  store ptr %out.addr, ptr %1, align 8
  %2 = getelementptr ptr, ptr %kernel_args, i32 1
  store ptr %shape, ptr %2, align 8
  %3 = getelementptr ptr, ptr %kernel_args, i32 2
  store ptr %.addr, ptr %3, align 8
  %call = call noundef i32 @hipLaunchKernel(ptr noundef @_Z6kernelIfEvPT_5Shapei, i64 %7, i32 %9, i64 %11, i32 %13, ptr noundef %kernel_args, i64 noundef %4, ptr noundef %5)
  ret void
}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("spelled", "leaves"),
    [
        ("i1", [(0, "i1")]),
        ("ptr", [(0, "ptr")]),
        ("{ i8, i64, i8, i16 }", [(0, "i8"), (8, "i64"), (16, "i8"), (18, "i16")]),
        ("[2 x { i8, i32 }]", [(0, "i8"), (4, "i32"), (8, "i8"), (12, "i32")]),
        ("{ i8, <3 x float> }", [(0, "i8"), (16, "float"), (20, "float"), (24, "float")]),
        ("{ i8, %struct.In, double }", [(0, "i8"), (8, "i16"), (16, "ptr"), (24, "double")]),
        ('{ i16, %"struct.(anonymous namespace)::P" }', [(0, "i16"), (2, "i8"), (3, "i32")]),
        ("{ %union.U, half, bfloat }", [(0, "i64"), (8, "half"), (10, "bfloat")]),
        ("{}", []),
    ],
)
def test_the_layout_of_a_type(spelled: str, leaves: list[tuple[int, str]]) -> None:
    assert list(layout(spelled, TYPES)) == leaves


def test_a_large_array_is_read_as_words() -> None:
    assert layout(f"[{MAX_LEAVES * 2} x i32]", {}) == tuple((i * 8, "i64") for i in range(MAX_LEAVES))


@pytest.mark.parametrize("spelled", ["label", "%unknown", "[2 x token]"])
def test_an_unknown_type_is_refused(spelled: str) -> None:
    with pytest.raises((LayoutError, KeyError)):
        layout(spelled, {})


def test_kernels_of_a_unit() -> None:
    shape = ((0, "i32"), (8, "i64"), (16, "float"), (20, "float"))
    params = (KernelParam("out", ((0, "ptr"),)), KernelParam("shape", shape), KernelParam("", ((0, "i32"),)))
    assert read_kernels(TEXT) == (Kernel("_Z6kernelIfEvPT_5Shapei", params),)


def test_names_of_parameters() -> None:
    names = read_parameter_names(TEXT)
    assert names["_Z6launchRiN5Shape"] == ("out", "shape")
    assert names["_Z6returnv"] == ("x",)


def test_device_code_that_was_not_built() -> None:
    assert undefined_offload_symbols(TEXT) == ("__hip_fatbin_abc", "__hip_gpubin_handle_abc")
