"""Functions: their ranges in bytes, parameters, linkage and launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Parse = Callable[..., Any]


def test_ranges_and_parameters(parsed: Parse) -> None:
    p = parsed("""
#include <torch/all.h>
int twice(int, int);
namespace aiter { namespace {
[[maybe_unused]] static inline long
    first(const torch::Tensor& in, std::optional<at::Tensor> bias = std::nullopt, /* the bias */
          void (*done)(int, long) = nullptr, int n = twice(1, 2), float list[2] = {}) noexcept
{ return in.size(0); }
}}
""")
    fn = p.function("aiter::first")
    assert p.text(fn.name_start, fn.name_start + 5) == "first"
    assert p.text(fn.start, fn.end).startswith("[[maybe_unused]] static inline long")
    assert p.text(fn.body_start, fn.body_end) == "{ return in.size(0); }"
    assert fn.end == fn.body_end
    assert [p.text(a.start, a.end) for a in fn.params] == [
        "const torch::Tensor& in",
        "std::optional<at::Tensor> bias = std::nullopt",
        "void (*done)(int, long) = nullptr",
        "int n = twice(1, 2)",
        "float list[2] = {}",
    ]
    assert [(a.name, a.type) for a in fn.params] == [
        ("in", "tensor"),
        ("bias", "optional_tensor"),
        ("done", ""),
        ("n", ""),
        ("list", ""),
    ]
    assert fn.params[0].spelled == "const torch::Tensor &"
    assert (fn.returns, fn.returns_spelled) == ("", "long")
    assert not (fn.is_template or fn.is_extern_c or fn.is_kernel or fn.launches)


def test_declarations(parsed: Parse) -> None:
    p = parsed("""
#include <torch/all.h>
torch::Tensor declared(at::Tensor a, int) /* why */ ;
at::Tensor one(at::Tensor), *two(int);
""")
    fn = p.function("declared")
    assert p.text(fn.start, fn.end) == "torch::Tensor declared(at::Tensor a, int) /* why */ ;"
    assert (fn.body_start, fn.body_end) == (-1, -1)
    assert [(a.name, p.text(a.start, a.end)) for a in fn.params] == [("a", "at::Tensor a"), ("", "int")]
    assert (fn.returns, fn.returns_spelled) == ("tensor", "torch::Tensor")
    assert p.function("two").returns == "tensor_pointer"


def test_c_linkage(parsed: Parse) -> None:
    p = parsed("""
#define ENTRY extern "C" __attribute__((visibility("default")))
extern "C" void alone(int x);
ENTRY void by_macro(int x) { }
extern "C" { void in_block(int x) { } }
extern "C" void later(int x);
void later(int x) { }
extern "C++" void other(int x) { }
namespace n { extern "C" int named(void) { return 0; } }
void plain(int x) { }
""")
    assert p.text(p.function("alone").start, p.function("alone").end) == 'extern "C" void alone(int x);'
    assert p.text(p.function("by_macro").start, p.function("by_macro").end) == "ENTRY void by_macro(int x) { }"
    assert p.text(p.function("in_block").start, p.function("in_block").end) == "void in_block(int x) { }"
    assert p.text(p.function("later").start, p.function("later").end) == "void later(int x) { }"
    linkage = {name: p.function(name).is_extern_c for name in ("alone", "by_macro", "in_block", "later", "n::named")}
    assert linkage == dict.fromkeys(linkage, True)
    assert not p.function("other").is_extern_c
    assert not p.function("plain").is_extern_c


def test_templates_members_and_special_members(parsed: Parse) -> None:
    p = parsed("""
#include <torch/all.h>
template <typename T, int N>
__global__ void kernel(T* out, int n) { }
struct Op {
  explicit Op(at::Tensor t) : t_(t) { }
  ~Op() { }
  operator bool() const { return true; }
  template <typename T> at::Tensor& run(T x) { return t_; }
  long operator()(long i) { return t_.size(i); }
  at::Tensor t_;
};
inline namespace v1 { void versioned() { } }
""")
    kernel = p.function("kernel")
    assert kernel.is_template and kernel.is_kernel and not kernel.launches
    assert p.text(kernel.start, kernel.end).startswith("template <typename T, int N>\n__global__ void kernel")
    assert [a.spelled for a in kernel.params] == ["T *", "int"]
    init = p.function("Op::Op")
    assert [a.type for a in init.params] == ["tensor"]
    assert p.text(init.body_start, init.body_end) == "{ }"
    run = p.function("Op::run")
    assert (run.is_template, run.returns, run.returns_spelled) == (True, "tensor", "at::Tensor &")
    assert p.function("Op::~Op").body_start > 0
    assert p.function("Op::operator()").params[0].name == "i"
    assert p.function("versioned")


def test_launches(parsed: Parse) -> None:
    text = """
#include <hip/hip_runtime.h>
#define LAUNCH(grid) kernel<<<grid, 1, 0, stream>>>(1)
#define RUN(...) [&] { __VA_ARGS__ }()
__global__ void kernel(int x) { }
template <typename T> __global__ void typed(T x) { }
void direct(hipStream_t stream) { kernel<<<1, 2, 0, stream>>>(3); }
void by_macro(hipStream_t stream) { LAUNCH(4); }
void in_argument(hipStream_t stream) { RUN(RUN(kernel<<<1, 2>>>(3);)); }
template <typename T> void dependent(hipStream_t stream, T x) { typed<T><<<1, 2, 0, stream>>>(x); }
void broken(hipStream_t stream) { undeclared_kernel<float><<<1, 2, 0, stream>>>(3); }
void none(hipStream_t stream) { /* <<<1, 2>>> */ const char* s = "<<<"; int x = 1 << 2; }
void calls(hipStream_t stream) { direct(stream); }
void driver(hipFunction_t f) { hipModuleLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr); }
"""
    for device in (False, True):
        p = parsed(text, device=device, allow_errors=True)
        found = {fn.name: fn.launches for f in p.facts.files for fn in f.functions}
        assert found == {
            "kernel": False,
            "typed": False,
            "direct": True,
            "by_macro": True,
            "in_argument": True,
            "dependent": True,
            "broken": True,
            "none": False,
            "calls": False,
            "driver": True,
        }, f"device={device}"


def test_functions_that_a_macro_writes(parsed: Parse) -> None:
    """A function whose name is written in the file is known; one whose name is pasted, or stands in a macro, is not."""
    p = parsed("""
#define DEFINE(name, params, args) int name##_body params; extern "C" int name params { return name##_body args; } \\
  int name##_body params
#define FIXED void fixed() { }
DEFINE(entry, (int a, float b), (a, b))
{
  return a;
}
FIXED
""")
    entry = p.function("entry")
    assert entry.is_extern_c
    assert p.text(entry.name_start, entry.name_start + 5) == "entry"
    assert [p.text(a.start, a.end) for a in entry.params] == ["int a", "float b"]
    assert entry.body_start == -1
    assert {fn.name for f in p.facts.files for fn in f.functions} == {"entry"}


def test_types_spelled_by_macros(parsed: Parse) -> None:
    p = parsed("""
#include <torch/all.h>
#define TENSOR torch::Tensor&
#define MAYBE(T) std::optional<T>
void f(TENSOR a, MAYBE(at::Tensor) b, const TENSOR c) { a.size(0); }
""")
    fn = p.function("f")
    assert [p.text(a.start, a.end) for a in fn.params] == ["TENSOR a", "MAYBE(at::Tensor) b", "const TENSOR c"]
    assert [a.type for a in fn.params] == ["tensor", "optional_tensor", "tensor"]


def test_functions_of_headers_belong_to_the_header(parsed: Parse) -> None:
    p = parsed(
        '#include "sub/h.h"\nvoid here() { in_header(1); }\n',
        {"sub/h.h": "inline int in_header(int x) { return x; }\n"},
    )
    assert p.function("in_header", "sub/h.h").path == "sub/h.h"
    assert p.function("here").path == "a.cu"


def test_attributes_in_front_are_part_of_the_declaration(parsed: Parse) -> None:
    p = parsed("""
#include <hip/hip_runtime.h>
int before; [[nodiscard]] [[maybe_unused]] int brackets() { return 1; }
__attribute__((noinline)) __device__ int gnu() { return 1; }
__global__ void __launch_bounds__(256) kernel(int x) { }
__device__ __forceinline__ int quick() { return 1; }
""")
    for name, text in {
        "brackets": "[[nodiscard]] [[maybe_unused]] int brackets() { return 1; }",
        "gnu": "__attribute__((noinline)) __device__ int gnu() { return 1; }",
        "kernel": "__global__ void __launch_bounds__(256) kernel(int x) { }",
        "quick": "__device__ __forceinline__ int quick() { return 1; }",
    }.items():
        assert p.text(p.function(name).start, p.function(name).end) == text
    assert p.function("kernel").is_kernel
