"""What names refer to, at the byte where they are spelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Parse = Callable[..., Any]

TENSOR = ("value", "", "tensor")


def test_uses_and_declarations_of_tensors(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        struct Args { torch::Tensor weight; };
        long f(const torch::Tensor& in, at::Tensor& out, Args args) {
          at::Tensor local = in;
          return local.size(0) + args.weight.stride(1);
        }
    """)
    assert p.at("f(const", "Tensor") == {("type", "at::Tensor", "tensor")}
    assert p.at("f(const", "in,") == {("param", "", "tensor")}
    assert p.at("struct Args", "weight") == {("field", "", "tensor")}
    assert p.at("at::Tensor local", "local") == {("var", "", "tensor")}
    assert p.at("local = in", "in;") == {TENSOR}
    assert p.at("return local", "local") == {TENSOR}
    assert p.at("return local", "size") == {("member", "at::Tensor::size", "tensor")}
    assert p.at("args.weight", "args") == set()
    assert p.at("args.weight", "weight") == {("member", "Args::weight", ""), TENSOR}
    assert p.at("args.weight", "stride") == {("member", "at::Tensor::stride", "tensor")}


def test_what_a_call_gives_is_noted_at_the_callee(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        void f(torch::Tensor x) {
          auto y = torch::empty({1}, x.options());
          auto t = x.scalar_type();
        }
    """)
    assert p.at("auto y", "y") == {("var", "", "tensor")}
    assert p.at("auto y", "empty") == {("value", "at::empty", ""), ("call", "at::empty", "tensor")}
    assert p.at("auto y", "options") == {
        ("member", "at::Tensor::options", "tensor"),
        ("call", "at::Tensor::options", "options"),
    }
    assert p.at("auto t", "t =") == {("var", "", "dtype")}
    assert ("call", "at::Tensor::scalar_type", "dtype") in p.at("auto t", "scalar_type")


def test_names_of_dtypes(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        bool f(torch::Tensor x, at::ScalarType want) {
          switch (want) { case at::ScalarType::Half: return true; default: break; }
          c10::Half h; at::BFloat16 b;
          return x.scalar_type() == torch::kFloat16 || want == at::kBFloat16;
        }
    """)
    assert p.at("f(torch", "want") == {("param", "", "dtype")}
    assert p.at("case at", "ScalarType") == {("type", "at::ScalarType", "dtype")}
    assert p.at("case at", "Half") == {("value", "at::ScalarType::Half", "dtype")}
    assert p.at("c10::Half h", "Half") == {("type", "at::Half", "half")}
    assert p.at("at::BFloat16 b", "BFloat16") == {("type", "at::BFloat16", "bfloat16")}
    assert p.at("return x", "kFloat16") == {("value", "at::kFloat16", "dtype")}
    assert p.at("return x", "kBFloat16") == {("value", "at::kBFloat16", "dtype")}


def test_optionals(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        #include <optional>
        long f(std::optional<torch::Tensor> a, const c10::optional<at::Tensor>& b) {
          if (a.has_value()) return a.value().size(0) + a->size(1) + (*b).size(2);
          return b ? b.value().numel() : 0;
        }
    """)
    assert p.at("f(std", "a,") == {("param", "", "optional_tensor")}
    assert p.at("f(std", "b)") == {("param", "", "optional_tensor")}
    assert p.at("if (a", "a.") == {("value", "", "optional_tensor")}
    assert p.at("if (a", "has_value") == {("member", "std::optional::has_value", "optional_tensor")}
    assert p.at("return a", "value") == {
        ("member", "std::optional::value", "optional_tensor"),
        ("call", "std::optional::value", "tensor"),
    }
    for nth in range(3):
        assert p.at("return a", "size", nth=nth) == {("member", "at::Tensor::size", "tensor")}
    assert p.at("return b", "b ?") == {("value", "", "optional_tensor")}
    assert p.at("return b", "numel") == {("member", "at::Tensor::numel", "tensor")}


def test_aliases_of_every_kind(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        using at::Tensor;
        namespace th = torch;
        typedef at::Tensor Old;
        using New = th::Tensor;
        template <typename T> using Always = at::Tensor;
        using namespace at;
        long f(Tensor a, th::Tensor b, Old c, New d, Always<int> e) {
          ScalarType t = kHalf;
          return a.size(0) + b.size(0) + c.size(0) + d.size(0) + e.size(0);
        }
    """)
    assert p.at("using at::", "Tensor") == {("type", "at::Tensor", "tensor")}
    assert p.at("f(Tensor", "Tensor") == {("type", "at::Tensor", "tensor")}
    assert p.at("th::Tensor b", "Tensor") == {("type", "at::Tensor", "tensor")}
    assert p.at("Old c", "Old") == {("type", "Old", "tensor")}
    assert p.at("New d", "New") == {("type", "New", "tensor")}
    assert p.at("ScalarType t", "ScalarType") == {("type", "at::ScalarType", "dtype")}
    assert p.at("ScalarType t", "kHalf") == {("value", "at::kHalf", "dtype")}
    for letter in "abcde":
        assert p.at("f(Tensor", f"{letter}{')' if letter == 'e' else ','}") == {("param", "", "tensor")}
        assert p.at("return a", f"{letter}.size") == {TENSOR}
    for nth in range(5):
        assert p.at("return a", "size", nth=nth) == {("member", "at::Tensor::size", "tensor")}


def test_captures_and_lambdas(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        void f(torch::Tensor a, torch::Tensor b) {
          auto g = [a, &b, c = a](long i) { return a.size(i) + b.size(i) + c.size(i); };
        }
    """)
    capture = ("capture", "", "tensor")
    assert p.at("auto g", "a,") == {capture, TENSOR}  # a copy also reads what it captures
    assert capture in p.at("auto g", "b,") <= {capture, TENSOR}
    assert p.at("auto g", "c =") == {capture}
    for use in ("a.size", "b.size", "c.size"):
        assert p.at("return a", use) == {TENSOR}


def test_macro_arguments(parsed: Parse) -> None:
    """A token in an argument is found where it is spelled, be the macro nested or expanded several times."""
    p = parsed("""
        #include <torch/all.h>
        #define TWICE(...) { { __VA_ARGS__ } { __VA_ARGS__ } }
        #define CASE(T, ...) if (true) { using scalar_t = T; [&] { __VA_ARGS__ }(); }
        #define DISPATCH(...) do { CASE(float, __VA_ARGS__) CASE(c10::Half, __VA_ARGS__) } while (0)
        template <typename A, typename B> long pick(at::Tensor t) { return t.size(0); }
        void f(torch::Tensor x, std::optional<torch::Tensor> y) {
          DISPATCH(TWICE(x.size(0); DISPATCH({ auto z = x; pick<scalar_t, int>(z); y.value().size(1); });));
          TORCH_CHECK(x.dtype() == torch::kFloat, "dtype ", x.dtype());
        }
    """)
    assert p.at("DISPATCH(TWICE", "x.size") == {TENSOR}
    assert p.at("DISPATCH(TWICE", "size") == {("member", "at::Tensor::size", "tensor")}
    assert p.at("auto z", "z =") == {("var", "", "tensor")}
    assert p.at("auto z", "x;") == {TENSOR}
    assert p.at("pick<scalar_t, int>", "pick") == {("value", "pick", "")}
    assert p.at("pick<scalar_t, int>", "scalar_t") == {("type", "", "half")}  # float is of no interest
    assert p.at("pick<scalar_t, int>", "z)") == {TENSOR}
    assert p.at("y.value", "y") == {("value", "", "optional_tensor")}
    assert p.at("y.value", "size") == {("member", "at::Tensor::size", "tensor")}
    assert p.at("TORCH_CHECK(x", "x") == {TENSOR}
    assert ("member", "at::Tensor::dtype", "tensor") in p.at("TORCH_CHECK(x", "dtype")
    assert p.at("TORCH_CHECK(x", "kFloat") == {("value", "at::kFloat", "dtype")}
    assert p.at('dtype ", x', "x") == {TENSOR}


def test_macro_bodies(parsed: Parse) -> None:
    """A token of a body is found in the body, also when macros nest and the macro comes from a header."""
    header = """
        #pragma once
        #include <torch/all.h>
        #define INNER(t) t.size(0) + input.size(1)
        #define OUTER(a) do { INNER(a); \\
          if (input.scalar_type() == at::ScalarType::Half) { other##_x.size(2); } } while (0)
        #define UNUSED(t) t.size(3) + input.size(4)
    """
    p = parsed(
        '#include "m.h"\nvoid f(at::Tensor input, at::Tensor mine) { at::Tensor other_x = input; OUTER(mine); }\n',
        {"m.h": header},
    )
    body = "#define INNER"
    assert p.at(body, "size(0)", "m.h") == {("member", "at::Tensor::size", "tensor")}
    assert p.at(body, "input", "m.h") == {TENSOR}
    assert p.at(body, "size(1)", "m.h") == {("member", "at::Tensor::size", "tensor")}
    assert p.at("#define OUTER", "input", "m.h") == {TENSOR}
    assert p.at("#define OUTER", "ScalarType", "m.h") == {("type", "at::ScalarType", "dtype")}
    assert p.at("#define OUTER", "Half", "m.h") == {("value", "at::ScalarType::Half", "dtype")}
    # a pasted token is spelled nowhere; what stands beside it is
    assert p.at("#define OUTER", "other##", "m.h") == set()
    assert p.at("#define OUTER", "size(2)", "m.h") == {("member", "at::Tensor::size", "tensor")}
    # parameters stand for arguments, which are found where they are written
    assert p.at("#define INNER", "t)", "m.h") == set()
    assert p.at("OUTER(mine)", "mine") == {TENSOR}
    # nothing is known about a macro that nobody expands
    unused = p.texts["m.h"].index(b"#define UNUSED")
    assert [n for n in p.names("m.h") if n.offset > unused] == []
    assert {n.offset for n in p.names() if n.offset > p.texts["a.cu"].index(b"OUTER")} == {
        p.texts["a.cu"].index(b"mine);")
    }


def test_one_place_may_have_several_types(parsed: Parse) -> None:
    """A macro body that is expanded with different types keeps them all."""
    p = parsed("""
        #include <torch/all.h>
        #define ROWS(t) local = t; local.size(0)
        #define WITH(T, t) { T local = t; local.size(0); }
        struct Mine { long size(long); };
        void f(at::Tensor x, Mine m) { WITH(at::Tensor, x) WITH(Mine, m) }
    """)
    assert p.at("#define WITH", "size") == {("member", "at::Tensor::size", "tensor")}
    assert p.at("#define WITH", "local.") == {TENSOR}
    assert p.at("void f", "WITH(at") == set()


def test_templates(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        template <typename T, int N = 2> void launch(at::Tensor& out, T* p) {
          p = out.data_ptr<T>();
          auto y = out;
          auto z = at::empty_like(y);
          [&](auto any) { any.size(1); out.size(2); }(out);
        }
        template <typename TensorLike> void generic(TensorLike t) { t.size(0); }
        void use(at::Tensor x) { float f; launch<float>(x, &f); generic(x); }
    """)
    assert p.at("launch(at", "out") == {("param", "", "tensor")}
    assert p.at("p = out", "out") == {TENSOR}
    assert p.at("p = out", "data_ptr") == {("member", "at::Tensor::data_ptr", "tensor")}
    assert p.at("auto y", "y") == {("var", "", "tensor")}
    assert p.at("auto z", "z") == {("var", "", "tensor")}
    assert p.at("auto z", "empty_like") == {("value", "at::empty_like", ""), ("call", "at::empty_like", "tensor")}
    assert p.at("any.size", "size") == set()
    assert p.at("out.size", "size") == {("member", "at::Tensor::size", "tensor")}
    # patterns only: nothing is said about t in generic(), which is not a tensor as written
    assert p.at("generic(TensorLike", "t)") == set()
    assert p.at("{ t.size", "size") == set()


def test_inactive_arms_have_no_facts_and_passes_differ(parsed: Parse) -> None:
    text = """
        #include <torch/all.h>
        #if 0
        void never(torch::Tensor never_x);
        #endif
        #ifdef __HIP_DEVICE_COMPILE__
        void dev(torch::Tensor dev_x);
        #else
        void host(torch::Tensor host_x);
        #endif
    """
    host, device = parsed(text), parsed(text, device=True)
    assert host.at("never(", "never_x") == device.at("never(", "never_x") == set()
    assert host.at("dev(", "dev_x") == set()
    assert device.at("dev(", "dev_x") == {("param", "", "tensor")}
    assert device.at("host(", "host_x") == set()
    assert host.at("host(", "host_x") == {("param", "", "tensor")}


def test_lists_pointers_arrays_and_the_rest(parsed: Parse) -> None:
    p = parsed("""
        #include <torch/all.h>
        #include <vector>
        void f(std::vector<at::Tensor> many, at::Tensor* one, at::IntArrayRef sizes, at::TensorOptions opts,
               c10::Device dev, at::ScalarType* not_classed, std::optional<at::ScalarType> maybe) {
          many.size(); one->numel(); auto dt = one->dtype();
          auto idx = dev.index();
        }
    """)
    found = {p.text(n.offset, n.offset + 3): n.type for n in p.names() if n.kind == "param"}
    assert found == {
        "man": "tensor_list",
        "one": "tensor_pointer",
        "siz": "int_array",
        "opt": "options",
        "dev": "device",
        "may": "optional_dtype",
    }
    assert p.at("many.size", "size") == {("member", "std::vector::size", "tensor_list")}
    assert p.at("one->numel", "numel") == {("member", "at::Tensor::numel", "tensor")}
    assert p.at("auto dt", "dt =") == {("var", "", "typemeta")}
    assert p.at("auto idx", "index") == {("member", "at::Device::index", "device")}


def test_the_targets_own_tensor(parsed: Parse) -> None:
    p = parsed("""
        struct aiter_tensor_t { long size(int) const; void* ptr; };
        void f(aiter_tensor_t& a, aiter_tensor_t* b) { a.size(0); b->ptr; }
    """)
    assert p.at("f(aiter", "a,") == {("param", "", "target_tensor")}
    assert p.at("a.size", "size") == {("member", "aiter_tensor_t::size", "target_tensor")}
    assert p.at("b->ptr", "ptr") == {("member", "aiter_tensor_t::ptr", "target_tensor")}


def test_uses_of_the_projects_own_functions(parsed: Parse) -> None:
    """Only functions with a classed type in their signature are named: they are what signatures are about."""
    p = parsed("""
        #include <torch/all.h>
        namespace ns { void shared(at::Tensor&); void plain(int); at::Tensor make(); }
        void f(at::Tensor x) { ns::shared(x); ns::plain(1); auto p = &ns::shared; auto y = ns::make(); }
    """)
    assert p.at("{ ns::shared", "shared") == {("value", "ns::shared", "")}
    assert p.at("ns::plain(1)", "plain") == set()
    assert p.at("&ns::shared", "shared") == {("value", "ns::shared", "")}
    assert p.at("ns::make()", "make") == {("value", "ns::make", ""), ("call", "ns::make", "tensor")}


@pytest.mark.parametrize(
    ("prefix", "newline"), [(b"", b"\n"), (b"", b"\r\n"), (b"\xef\xbb\xbf", b"\n"), (b"// \xe9\xff\n", b"\n")]
)
def test_offsets_are_bytes_of_the_file(parsed: Parse, prefix: bytes, newline: bytes) -> None:
    text = (
        b"#include <torch/all.h>\n/* \xe4\xb8\xad\xe6\x96\x87 */ long f(at::Tensor input) { return input.size(0); }\n"
    )
    data = prefix + text.replace(b"\n", newline)
    p = parsed(data)
    at = data.index(b"input.size")
    assert [(n.offset, n.kind) for n in p.names() if n.offset >= at] == [(at, "value"), (at + 6, "member")]
    assert p.function("f").name_start == data.index(b"f(")


def test_a_name_split_by_a_line_splice_yields_no_fact(parsed: Parse) -> None:
    p = parsed("#include <torch/all.h>\nlong f(at::Tensor in) { return i\\\nn.size(0) + in.size(1); }\n")
    uses = [n.offset for n in p.names() if n.kind == "value"]
    assert uses == [p.texts["a.cu"].index(b"in.size(1)")]


def test_errors_nearby_cost_only_their_own_statement(parsed: Parse) -> None:
    p = parsed(
        """
        #include <torch/all.h>
        #include "not_there.h"
        void f(torch::Tensor x) {
          undeclared(x);
          missing::type y = x;
          x.size(0);
        }
    """,
        allow_errors=True,
    )
    assert p.at("x.size", "size") == {("member", "at::Tensor::size", "tensor")}
    messages = [d.message for d in p.facts.diagnostics]
    assert "use of undeclared identifier 'undeclared'" in messages
    assert not [m for m in messages if "not_there" in m]
