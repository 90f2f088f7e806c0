"""Traps that tools of this kind have fallen into, by their numbers in the list of pitfalls."""

from __future__ import annotations

import pytest

from tests.rules.conftest import Migrate

CASES = {
    "P15 code in a macro's argument": (
        'AITER_CHECK(x.scalar_type() == torch::kFloat, "got ", x.numel(), x.scalar_type());',
        'AITER_CHECK(x.dtype() == AITER_DTYPE_fp32, "got ", x.numel(), AiterDtype_to_str(x.dtype()));',
    ),
    "P15 calls nested in the arguments of macros, both edited": (
        "TORCH_CHECK(f(x.data_ptr<int>(), y.sizes()[0]) == g<A, B>(y.data_ptr<float>()), h(x.device().index()));",
        "AITER_CHECK(f(static_cast<int*>(x.data_ptr()), y.size(0)) == g<A, B>(static_cast<float*>(y.data_ptr())),"
        " h(x.device_id));",
    ),
    "P16 the body is edited, the uses are not": (
        "#define CASE(T) case at::ScalarType::T: return 4;\n#define HALF at::kHalf\nCASE(Float) f(HALF);\n",
        "#define CASE(T) case at::ScalarType::T: return 4;\n#define HALF AITER_DTYPE_fp16\nCASE(Float) f(HALF);\n",
    ),
    "P19 commas of template arguments in a macro's arguments": (
        'VLLM_DISPATCH_FLOATING_TYPES(x.scalar_type(), "n", run<std::pair<int, float>, 3>(x.data_ptr<scalar_t>(), y));',
        'VLLM_DISPATCH_FLOATING_TYPES_rmTorch(x.dtype(), "n", run<std::pair<int, float>, 3>'
        "(static_cast<scalar_t*>(x.data_ptr()), y));",
    ),
    "P20 a match over several continued lines": (
        "#define RUN(x)              \\\n    TORCH_CHECK(x           \\\n        .scalar_type()      \\\n"
        "        == at::kHalf,       \\\n        #x)                 \\\n    go(x)\n",
        "#define RUN(x)              \\\n    AITER_CHECK(x           \\\n        .dtype()      \\\n"
        "        == AITER_DTYPE_fp16,       \\\n        #x);                 \\\n    go(x)\n",
    ),
    "P21 both arms of an #if": (
        "#if NEW\nf(x.scalar_type());\n#else\nf(y.is_cuda(), at::kLong);\n#error at::kLong\n#endif\n",
        "#if NEW\nf(x.dtype());\n#else\nf(y.is_gpu(), AITER_DTYPE_i64);\n#error at::kLong\n#endif\n",
    ),
    "P26 raw strings with odd delimiters": (
        'auto s = R"16_chars_delimit(TORCH_CHECK(a)"; )16_chars_delimit"; TORCH_CHECK(s);',
        'auto s = R"16_chars_delimit(TORCH_CHECK(a)"; )16_chars_delimit"; AITER_CHECK(s);',
    ),
    "P27 text in strings and comments": (
        'TORCH_CHECK(x.is_cuda(), "torch::Tensor x.scalar_type() expected"); // x.is_cuda(), torch::kHalf',
        'AITER_CHECK(x.is_gpu(), "torch::Tensor x.scalar_type() expected"); // x.is_cuda(), torch::kHalf',
    ),
    "P28 auto, and a name that is taken again": (
        "void f(at::Tensor& a) { auto b = a; g(b.scalar_type()); { int a = 1; Own b; h(b.dtype(), a); } }",
        "void f(at::Tensor& a) { auto b = a; g(b.dtype()); { int a = 1; Own b; h(b.dtype(), a); } }",
    ),
    "P29 aliases of namespaces and constants": (
        "namespace tt = torch; using at::kInt; bool f() { return g(tt::kHalf) == kInt; }",
        "namespace tt = torch; using at::kInt; bool f() { return g(AITER_DTYPE_fp16) == AITER_DTYPE_i32; }",
    ),
    "P32 dispatch inside a lambda inside dispatch": (
        'AITER_DISPATCH_FLOATING16_TYPES(x.scalar_type(), "a", [&] { using T = scalar_t; '
        'VLLM_DISPATCH_FLOATING_TYPES(y.scalar_type(), "b", [&] { run<scalar_t>(x.data_ptr<T>()); }) });',
        'AITER_DISPATCH_FLOATING16_TYPES_rmTorch(x.dtype(), "a", [&] { using T = scalar_t; '
        'VLLM_DISPATCH_FLOATING_TYPES_rmTorch(y.dtype(), "b", [&] {'
        " run<scalar_t>(static_cast<T*>(x.data_ptr())); }) });",
    ),
    "P40 the size of a dtype object": (
        "n = sizeof(x.dtype()) + sizeof(float) + sizeof(x);",
        "n = x.element_size() + sizeof(float) + sizeof(x);",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("eol", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("head", ["", "\ufeff", "// caf\u00e9 \u4e2d\n"], ids=["plain", "BOM", "bytes"])
def test_pitfall(migrate: Migrate, before: str, after: str, eol: str, head: str) -> None:
    given = () if before.startswith("void f(at::Tensor& a)") else ("x: tensor", "y: tensor")
    assert migrate((head + before).replace("\n", eol), *given) == (head + after).replace("\n", eol)


def test_p22_an_if_in_the_middle_of_a_call_keeps_that_call_only(migrate: Migrate) -> None:
    cut = "f(x.data_ptr<int>(\n#if A\n), 1);\n#else\n), 2);\n#endif\nf(x.data_ptr<int>(), torch::kHalf);\n"
    assert migrate(cut, "x: tensor").endswith("f(static_cast<int*>(x.data_ptr()), AITER_DTYPE_fp16);\n")
    assert migrate(cut, "x: tensor").startswith("f(x.data_ptr<int>(\n#if A\n")
