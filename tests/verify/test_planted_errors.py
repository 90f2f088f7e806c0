"""A check counts only where a planted error is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from torchless.facts import clang, libclang
from torchless.facts.model import Diagnostic, TuSpec
from torchless.model import Edit
from torchless.text.edits import offset_map
from torchless.verify.planted import Place, moved, plant, reported
from torchless.verify.types import CheckJob, check_task

SOURCE = """\
#include "generated/not_there.h"
#include <torch/all.h>
#include <hip/hip_runtime.h>
#define RUN(...) [&] { __VA_ARGS__ }()
#define ROWS(t) do { (void)t.size(0); } while (0)
#define COLUMNS(t) t.size(1)
#define NEVER(t) do { (void)t.size(2); } while (0)
long free_function(at::Tensor x) {
  return broken_before(x) + COLUMNS(x);
}
template <typename T> void uninstantiated(at::Tensor x) {
  T y = x.size(0);
}
template <typename T> __global__ void kernel(T* p) { *p = T(0); }
constexpr int at_compile_time(int n) { return n; }
static_assert(at_compile_time(2) == 2);
struct Op {
  Op(at::Tensor t) : t_(t) { }
  long member() const { return t_.size(0); }
  template <typename T> long generic() { return t_.size(1); }
  at::Tensor t_;
};
auto deduced(at::Tensor x) { ROWS(x); return RUN(RUN(return x.size(0);)); }
#if 0
void inactive(at::Tensor x) { }
#endif
#ifdef __HIP_DEVICE_COMPILE__
__device__ void only_device(int x) { }
#else
void only_host(int x) { }
#endif
"""
SEEN = ("free_function", "uninstantiated", "kernel", "at_compile_time", "Op(at", "member()", "generic()", "deduced")


@pytest.mark.parametrize("device", [False, True])
def test_every_kind_of_function_is_seen(bench: Any, device: bool) -> None:
    bench.write(a_cu=SOURCE)
    places = tuple(bench.place("a.cu", mark) for mark in SEEN)
    here, elsewhere = ("only_device", "only_host") if device else ("only_host", "only_device")
    hidden = (bench.place("a.cu", "inactive("), bench.place("a.cu", elsewhere))
    edit = Edit("a.cu", 0, 0, b"// an edit in front moves everything\n")
    result = bench.check(edit, places=(*places, bench.place("a.cu", here), *hidden), device=device)
    assert result.new_diagnostics == ()
    assert set(result.blind_places) == set(hidden)
    assert result.blind


def test_macros_are_seen_where_they_are_expanded(bench: Any) -> None:
    bench.write(a_cu=SOURCE)
    rows, columns, never = (
        bench.place("a.cu", mark, macro=True) for mark in ("define ROWS(t)", "define COLUMNS(t)", "define NEVER(t)")
    )
    function = bench.place("a.cu", "deduced")
    result = bench.check(places=(rows, columns, never, function))
    assert result.blind_places == (never,)


def test_a_macro_at_file_scope_is_seen(bench: Any) -> None:
    bench.write(a_cu="#define MAKE(name) int name() { return 1; }\nMAKE(f)\n#define CALL(m) m.def(1);\n"
                     "struct M { void def(int); }; void g(M m) { CALL(m) }\n")  # fmt: skip
    places = (bench.place("a.cu", "MAKE(name)", macro=True), bench.place("a.cu", "CALL(m)", macro=True))
    assert bench.check(places=places).blind_places == ()


def test_without_keep_going_the_check_is_blind_and_says_so(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the planted errors are for: after a missing header, errors in templates go unreported."""
    bench.write(a_cu=SOURCE)
    places = tuple(bench.place("a.cu", mark) for mark in SEEN)
    monkeypatch.setattr(clang, "_OPTIONS", clang._OPTIONS & ~libclang.KEEP_GOING)
    job = CheckJob(TuSpec("a.cu"), (), (), places)
    assert check_task(bench.root, "stubs", None, job).blind


def test_same_answer_with_and_without_precompiled_header(bench: Any) -> None:
    bench.write(a_cu=SOURCE)
    marks = (*SEEN, "only_host", "only_device", "inactive(")
    for device in (False, True):
        job = CheckJob(TuSpec("a.cu", device=device), (), (), tuple(bench.place("a.cu", m) for m in marks))
        quick = check_task(bench.root, "stubs", bench.pch, job)
        plain = check_task(bench.root, "stubs", None, job)
        assert quick.blind_places == plain.blind_places != ()


def test_a_place_that_is_replaced_is_blind(bench: Any) -> None:
    bench.write(a_cu="int f() { return 1; }\n")
    place = bench.place("a.cu", "f()")
    assert bench.check(bench.edit("a.cu", "() { ", "(){"), places=(place,)).blind_places == (place,)
    assert bench.check(bench.edit("a.cu", " { return", "\n{ return"), places=(place,)).blind_places == (place,)
    assert bench.check(bench.edit("a.cu", " return", " (void)0; return"), places=(place,)).blind_places == ()
    assert bench.check(bench.edit("a.cu", "int", "long"), places=(place,)).blind_places == ()


def test_planting_adds_no_line() -> None:
    data = b"void f()\r\n{\r\n}\r\n#define M(x) x\nvoid g(){}"
    places = [(7, Place("a", 28, "M", True)), (3, Place("a", 10, "f")), (4, Place("a", len(data) - 2, "g"))]
    planted, impossible = plant(data, places)
    assert planted == (
        b"void f()\r\n{ torchless_planted_3;\r\n}\r\n#define M(x)"
        b" torchless_planted_7 torchless_declared;  x\nvoid g(){ torchless_planted_4;}"
    )
    assert impossible == frozenset()
    assert plant(data, [(1, Place("a", 0, "none"))]) == (data, frozenset({1}))
    assert plant(data, []) == (data, frozenset())


def test_places_move_with_the_edits() -> None:
    place = Place("a", 20, "f")
    assert moved(place, None) == place
    assert moved(place, offset_map([Edit("a", 0, 4, b"")])) == replace(place, offset=16)


def test_reports_are_read_off_the_messages() -> None:
    messages = [
        "use of undeclared identifier 'torchless_planted_12'",
        "unknown type name 'torchless_planted_3'; did you mean 'x'?",
        "use of undeclared identifier 'torchless_planted_'",
        "torchless_planted_9",
    ]
    assert reported(Diagnostic("a", 0, 1, 3, 2, m) for m in messages) == {12, 3}
