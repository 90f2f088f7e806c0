"""The fake HIP runtime alone: one hand-written call of each kind, through a compiled program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trace.conftest import MakeProgram
from torchless.verify.trace.build import Program
from torchless.verify.trace.model import Call, Parameter, Record, Signature, TensorInput, Value
from torchless.verify.trace.run import describe, run_calls

pytestmark = pytest.mark.clang

SOURCE = """
#include <aiter_tensor.h>
#include <aiter_stream.h>

struct Sizes { int rows; bool wide; const float* scale; short tail[2]; };

template <typename T>
__global__ void fill(T* out, long count, Sizes sizes, double factor, T last) {}

void launch(aiter_tensor_t& out, long count, double factor) {
  const hipStream_t stream = aiter::getCurrentHIPStream();
  Sizes sizes{static_cast<int>(out.size(0)), true, static_cast<const float*>(out.data_ptr()) + 2, {3, -4}};
  fill<float><<<dim3(out.size(0), 2), 64, 16, stream>>>(
      static_cast<float*>(out.data_ptr()) + 4, count, sizes, factor, 0.25f);
}

void errands(aiter_tensor_t& out, int what) {
  hipStream_t stream = aiter::getCurrentHIPStream();
  void* p = nullptr;
  if (what == 0) { HIP_CALL(hipMalloc(&p, 64)); HIP_CALL(hipMemsetAsync(p, 1, 64, stream)); HIP_CALL(hipFree(p)); }
  if (what == 1) HIP_CALL(hipMemcpyAsync(out.data_ptr(), out.data_ptr(), 8, hipMemcpyDeviceToDevice, stream));
  if (what == 2) HIP_CALL(hipDeviceSynchronize());
  if (what == 3) HIP_CALL(hipMemset(out.data_ptr(), 0, 1 << 20));
  if (what == 4) AITER_CHECK(out.size(0) == 1, "one row, not ", out.size(0));
  if (what == 5) HIP_CALL(hipSetDevice(1));
  if (what == 5) fill<float><<<1, 1, 0, stream>>>(nullptr, 0, Sizes{}, 0, 0);
  if (what == 5) HIP_CALL(hipSetDevice(0));
  if (what == 6) { int* nowhere = nullptr; *nowhere = 1; }
  if (what == 7) fill<float><<<0, 1, 0, stream>>>(nullptr, 0, Sizes{}, 0, 0);
  if (what == 8) { static void* kept = nullptr; if (!kept) HIP_CALL(hipMalloc(&kept, 32)); }
}
"""


@pytest.fixture
def program(make_program: MakeProgram) -> Program:
    return make_program(SOURCE, ["launch", "errands"])


SIGNATURES = (
    Signature("launch", (Parameter("out", "tensor"), Parameter("count", "int64"), Parameter("factor", "float"))),
    Signature("errands", (Parameter("out", "tensor"), Parameter("what", "int32"))),
)
OUT = TensorInput("float32", (3, 8), (8, 1), offset=1)


def run(program: Program, *calls: tuple[str, tuple[Value, ...], dict[str, Any]], **kwargs: Any) -> list[Record]:
    made = [Call(name, (OUT, *args), **more) for name, args, more in calls]
    return run_calls(program, made, SIGNATURES, "gfx942", **kwargs)


def errand(what: int, **more: Any) -> tuple[str, tuple[Value, ...], dict[str, Any]]:
    return "errands", (what,), more


def events(record: Record, *kinds: str) -> list[dict[str, Any]]:
    return [dict(e) for e in record.events if e["event"] in kinds]


def test_entry_points_tell_what_they_take(program: Program) -> None:
    assert describe(program) == (
        ("launch", ("tensor", "int64", "float"), ""),
        ("errands", ("tensor", "int32"), ""),
    )


def test_a_launch_is_told_with_every_argument(program: Program) -> None:
    [record] = run(program, ("launch", (-5, 1e-5), {"device": 0}))
    assert record.outcome == "returned"
    [launch] = events(record, "launch")
    assert launch["kernel"] == "void fill<float>(float*, long, Sizes, double, float)"
    assert (launch["grid"], launch["block"], launch["shared"]) == ([3, 2, 1], [64, 1, 1], 16)
    assert (launch["stream"], launch["device"]) == ("device0.current", 0)
    assert "error" not in launch
    assert launch["args"] == [
        ["out", "ptr:out+20"],
        ["count", "i64:-5"],
        ["sizes", "i32:3", "i8:1", "ptr:out+12", "i16:3", "i16:-4"],
        ["factor", f"double:{(1e-5).hex()}"],
        ["last", "float:0x1p-2"],
    ]


def test_memory_calls_are_told_and_carried_out(program: Program) -> None:
    [first, second] = run(program, errand(0), errand(1))
    assert [(e["event"], e.get("bytes"), e.get("as") or e.get("to") or e.get("pointer")) for e in first.events] == [
        ("alloc", 64, "@alloc0"),
        ("memset", 64, "@alloc0"),
        ("free", None, "@alloc0"),
    ]
    [copy] = events(second, "memcpy")
    assert (copy["to"], copy["from"], copy["bytes"], copy["kind"]) == ("out+4", "out+4", 8, 3)


@pytest.mark.parametrize(("what", "name"), [(0, "hipMalloc"), (2, "hipDeviceSynchronize")])
def test_under_capture_allocation_and_waiting_fail(program: Program, what: int, name: str) -> None:
    allowed, refused = run(program, errand(what), errand(what, capture=True))
    assert allowed.outcome == "returned"
    assert refused.outcome == "died"
    assert "hipErrorStreamCaptureUnsupported" in refused.message
    assert [e["name"] for e in refused.events if e.get("error")] == [name]


def test_a_copy_on_the_captured_stream_is_recorded(program: Program) -> None:
    [record] = run(program, errand(1, capture=True))
    assert record.outcome == "returned"


def test_writing_behind_a_tensor_fails(program: Program) -> None:
    [record] = run(program, errand(3))
    [fill] = events(record, "memset")
    assert fill["why"] == "the target ends 1048480 bytes behind out"
    assert "hipErrorInvalidValue" in record.message


def test_a_failing_check_ends_only_its_own_call(program: Program) -> None:
    records = run(program, errand(1), errand(4), errand(1), errand(4), errand(1), isolated=[3])
    assert [r.outcome for r in records] == ["returned", "died", "returned", "died", "returned"]
    for record in (records[1], records[3]):
        assert record.signal == 6
        assert record.message.endswith("one row, not 3")


def test_a_launch_on_the_stream_of_another_device_fails(program: Program) -> None:
    [record] = run(program, errand(5))
    [launch] = events(record, "launch")
    assert launch["error"] == "hipErrorInvalidHandle"
    assert launch["why"] == "a stream of device 0 while device 1 is current"
    assert record.pending == "hipErrorInvalidHandle"


def test_each_device_has_a_current_stream_of_its_own(program: Program) -> None:
    [record] = run(program, ("launch", (1, 0.0), {"device": 1}))
    [launch] = events(record, "launch")
    assert (launch["stream"], launch["device"]) == ("device1.current", 1)


def test_a_crash_is_told(program: Program) -> None:
    crashed, after = run(program, errand(6), errand(1))
    assert (crashed.outcome, crashed.signal, crashed.message) == ("died", 11, "died of SIGSEGV")
    assert after.outcome == "returned"


def test_an_empty_grid_is_an_error_that_stays_pending(program: Program) -> None:
    [record] = run(program, errand(7))
    assert record.outcome == "returned"
    assert record.pending == "hipErrorInvalidConfiguration"


def test_what_a_launcher_keeps_lives_on_until_the_process_ends(program: Program) -> None:
    first, second, died, third = run(program, errand(8), errand(8), errand(4), errand(8))
    assert [len(events(r, "alloc")) for r in (first, second, died, third)] == [1, 0, 0, 1]


def test_what_nobody_defines_is_told_when_it_is_called(make_program: MakeProgram) -> None:
    text = """
#include <aiter_tensor.h>
namespace other { void elsewhere(int); }
void maybe(int what) { if (what) other::elsewhere(what); }
"""
    program = make_program(text, ["maybe"])
    assert program.missing == ("_ZN5other9elsewhereEi",)
    signature = Signature("maybe", (Parameter("what", "int32"),))
    calls = [Call("maybe", (0,)), Call("maybe", (1,))]
    fine, told = run_calls(program, calls, [signature], "gfx942")
    assert fine.outcome == "returned"
    assert (told.outcome, told.message) == ("missing", "other::elsewhere(int)")


def test_a_type_that_cannot_be_made_is_told(make_program: MakeProgram) -> None:
    program = make_program("#include <aiter_tensor.h>\nstruct Odd { int x; };\nvoid odd(Odd&, void*) {}\n", ["odd"])
    assert describe(program) == (("odd", ("unsupported Odd", "unsupported void*"), ""),)


def test_the_same_source_is_compiled_once(make_program: MakeProgram) -> None:
    assert make_program(SOURCE, ["launch"]).path == make_program(SOURCE, ["launch"]).path
    assert make_program(SOURCE, ["launch"]).path != make_program(SOURCE + "// other\n", ["launch"]).path


def test_names_that_an_older_demangler_does_not_know(make_program: MakeProgram) -> None:
    text = """
#include <aiter_stream.h>
#include <hip/hip_fp16.h>
template <typename A, typename B, int N> __global__ void mixed(A* a, const B* b) {}
void go() { mixed<__bf16, unsigned _BitInt(8), 4><<<1, 1, 0, aiter::getCurrentHIPStream()>>>(nullptr, nullptr); }
"""
    program = make_program(text, ["go"])
    [record] = run_calls(program, [Call("go", ())], [Signature("go", ())], "gfx942")
    [launch] = events(record, "launch")
    assert launch["kernel"] == "void mixed<__bf16, unsigned _BitInt(8), 4>(__bf16*, unsigned _BitInt(8) const*)"
