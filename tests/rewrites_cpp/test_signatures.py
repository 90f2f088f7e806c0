from __future__ import annotations

import pytest

from torchless.facts.model import NameFact
from torchless.facts.typing import FileView
from torchless.model import Confidence, Finding
from torchless.rewrites.passing import Passing, merge_passing, passing_of
from torchless.rewrites.signatures import rewrite_signatures
from torchless.text.edits import apply


def alone(view: FileView) -> list[Finding]:
    """The rewrite with what the file's own definitions ask for."""
    return rewrite_signatures(view, passing_of(view))


def codes(findings: list[Finding]) -> list[str]:
    return [f.code for f in findings]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("void f(torch::Tensor& x);\n", "void f(aiter_tensor_t& x);\n"),
        ("void f(torch::Tensor &x, at::Tensor  & y);\n", "void f(aiter_tensor_t &x, aiter_tensor_t  & y);\n"),
        ("void f(::at::Tensor& x);\n", "void f(aiter_tensor_t& x);\n"),
        ("void f(const torch::Tensor& x);\n", "void f(const aiter_tensor_t& x);\n"),
        ("void f(torch::Tensor const& x);\n", "void f(const aiter_tensor_t& x);\n"),
        ("void f(at::Tensor* x);\n", "void f(aiter_tensor_t* x);\n"),
        ("template <typename T>\nvoid f(torch::Tensor& x);\n", "template <typename T>\nvoid f(aiter_tensor_t& x);\n"),
        (
            "void f(torch::Tensor& out,   // [m, n]\n       /* in */ torch::Tensor const& x);  // torch::Tensor\n",
            "void f(aiter_tensor_t& out,   // [m, n]\n       /* in */ const aiter_tensor_t& x);  // torch::Tensor\n",
        ),
        ("struct S { friend void f(at::Tensor& x); };\n", "struct S { friend void f(aiter_tensor_t& x); };\n"),
        (
            "void f(torch::Tensor& a,\n#ifdef WIDE\n       torch::Tensor& b,\n#else\n       at::Tensor& c,\n#endif\n"
            "       int n);\n",
            "void f(aiter_tensor_t& a,\n#ifdef WIDE\n       aiter_tensor_t& b,\n#else\n"
            "       aiter_tensor_t& c,\n#endif\n       int n);\n",
        ),
        (
            "#define DECLARE(name) \\\n    void name(torch::Tensor& x,   \\\n              const at::Tensor& y)\n",
            "#define DECLARE(name) \\\n    void name(aiter_tensor_t& x,   \\\n              const aiter_tensor_t& y)\n",
        ),
        ("auto f = [&](const torch::Tensor& t, int n) {};\n", "auto f = [&](const aiter_tensor_t& t, int n) {};\n"),
        ("auto y = static_cast<const at::Tensor&>(x);\n", "auto y = static_cast<const aiter_tensor_t&>(x);\n"),
    ],
)
def test_references(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("void f(std::optional<torch::Tensor> x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(c10::optional<at::Tensor> x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(const std::optional<at::Tensor>& x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(const torch::optional<at::Tensor> &x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(std::optional<torch::Tensor> const& x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(std::optional<torch::Tensor> const &x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(const std::optional<torch::Tensor>&x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(const std::optional<torch::Tensor> & x);\n", "void f(std::optional<aiter_tensor_t> x);\n"),
        ("void f(const std::optional<torch::Tensor>&);\n", "void f(std::optional<aiter_tensor_t>);\n"),
        (
            "void f(std::optional<at::Tensor> x = c10::nullopt, c10::optional<double> y = at::nullopt);\n",
            "void f(std::optional<aiter_tensor_t> x = std::nullopt, std::optional<double> y = std::nullopt);\n",
        ),
        ("void f(std::optional<at::Tensor> x = {});\n", "void f(std::optional<aiter_tensor_t> x = {});\n"),
        # a reference that is written back stays one, one that is only read goes by value
        (
            "void f(std::optional<at::Tensor>& x) { x = y; }\n",
            "void f(std::optional<aiter_tensor_t>& x) { x = y; }\n",
        ),
        (
            "void f(std::optional<at::Tensor>& x) { g(x.value().size(0)); }\n",
            "void f(std::optional<aiter_tensor_t> x) { g(x.value().size(0)); }\n",
        ),
    ],
)
def test_optionals_go_by_value(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


def test_a_bound_function_takes_optionals_by_value(view) -> None:
    before = view("void f(std::optional<at::Tensor>& x) { x = y; }\n")
    edits = [e for f in rewrite_signatures(before, {}, bound={"f"}) for e in f.edits]
    assert apply(before.source.data, edits) == b"void f(std::optional<aiter_tensor_t> x) { x = y; }\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("void f(at::Tensor x) { g(x.size(0)); }\n", "void f(const aiter_tensor_t& x) { g(x.size(0)); }\n"),
        ("void f(const at::Tensor x) { h(x); }\n", "void f(const aiter_tensor_t& x) { h(x); }\n"),
        ("void f(at::Tensor const x) { h(x); }\n", "void f(const aiter_tensor_t& x) { h(x); }\n"),
        ("void f(at::Tensor x) { x = y; }\n", "void f(aiter_tensor_t x) { x = y; }\n"),
        ("void f(at::Tensor x) { at::Tensor& y = x; }\n", "void f(aiter_tensor_t x) { aiter_tensor_t& y = x; }\n"),
        ("void f(at::Tensor x) { g(&x); }\n", "void f(aiter_tensor_t x) { g(&x); }\n"),
        # nobody knows what unknown() does with it
        ("void f(at::Tensor x) { unknown(x); }\n", "void f(aiter_tensor_t x) { unknown(x); }\n"),
        (
            "void g(const at::Tensor& y, int n);\nvoid f(at::Tensor x) { g(x, 1); }\n",
            "void g(const aiter_tensor_t& y, int n);\nvoid f(const aiter_tensor_t& x) { g(x, 1); }\n",
        ),
        (
            "void g(at::Tensor& y, int n);\nvoid f(at::Tensor x) { g(x, 1); }\n",
            "void g(aiter_tensor_t& y, int n);\nvoid f(aiter_tensor_t x) { g(x, 1); }\n",
        ),
        (
            "#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x)\nvoid f(at::Tensor x) { CHECK_INPUT(x); }\n",
            "#define CHECK_INPUT(x) TORCH_CHECK(x.is_cuda(), #x)\n"
            "void f(const aiter_tensor_t& x) { CHECK_INPUT(x); }\n",
        ),
        (
            "#define RUN() x = y\nvoid f(at::Tensor x) { RUN(); }\n",
            "#define RUN() x = y\nvoid f(aiter_tensor_t x) { RUN(); }\n",
        ),
        (
            "auto l = [](at::Tensor t) { return t.size(0); };\n",
            "auto l = [](const aiter_tensor_t& t) { return t.size(0); };\n",
        ),
        # a constructor has no name to find it by: it keeps the meaning exactly
        ("struct S { S(at::Tensor x) {} };\n", "struct S { S(aiter_tensor_t x) {} };\n"),
        # a declaration whose definition nobody has seen
        ("void f(at::Tensor x);\n", "void f(aiter_tensor_t x);\n"),
    ],
)
def test_by_value(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


def test_declaration_follows_the_definition_in_another_file(view) -> None:
    header = view("namespace a { void f(at::Tensor x, int n); }\n", "x.h")
    reads = view("namespace a { void f(at::Tensor x, int n) { g(x.size(n)); } }\n")
    changes = view("void a::f(at::Tensor x, int n) { x = y; }\n")
    assert passing_of(reads) == {("a::f", 2, 0): Passing.CONST_REFERENCE}
    assert passing_of(changes) == {("a::f", 2, 0): Passing.VALUE}
    for sources, want in (([reads], b"const aiter_tensor_t& x"), ([reads, changes], b"(aiter_tensor_t x")):
        passing = merge_passing(passing_of(v) for v in sources)
        edits = [e for f in rewrite_signatures(header, passing) for e in f.edits]
        assert want in apply(header.source.data, edits)


def test_a_pointer_to_function_keeps_its_functions_by_value(rewrites) -> None:
    rewrites(
        alone,
        "using F = void (*)(at::Tensor, int);\nvoid f(at::Tensor x, int n) { g(x.size(n)); }\nF table[] = {f};\n",
        "using F = void (*)(aiter_tensor_t, int);\n"
        "void f(aiter_tensor_t x, int n) { g(x.size(n)); }\nF table[] = {f};\n",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "using F = void (*)(torch::Tensor&, const std::optional<at::Tensor>&);\n",
            "using F = void (*)(aiter_tensor_t&, std::optional<aiter_tensor_t>);\n",
        ),
        ("typedef void (*F)(at::Tensor&, int);\n", "typedef void (*F)(aiter_tensor_t&, int);\n"),
        ("std::function<void(torch::Tensor&, int)> f;\n", "std::function<void(aiter_tensor_t&, int)> f;\n"),
        ("using F = void(const at::Tensor&);\n", "using F = void(const aiter_tensor_t&);\n"),
    ],
)
def test_types_of_functions(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


def test_types_of_functions_have_their_own_code(view) -> None:
    assert codes(alone(view("std::function<void(torch::Tensor&)> f;\n"))) == ["TL205"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("void f() { torch::Tensor t = o.value(); }\n", "void f() { aiter_tensor_t t = o.value(); }\n"),
        ("void f() { torch::Tensor& q = o.value(); }\n", "void f() { aiter_tensor_t& q = o.value(); }\n"),
        ("void f() { const torch::Tensor q(x); }\n", "void f() { const aiter_tensor_t q(x); }\n"),
        ("void f() { for(at::Tensor& t : list) g(t); }\n", "void f() { for(aiter_tensor_t& t : list) g(t); }\n"),
        # undefined becomes all zeroes, not garbage
        ("void f() { at::Tensor a, b = x, c; }\n", "void f() { aiter_tensor_t a{}, b = x, c{}; }\n"),
        ("void f() { std::optional<at::Tensor> a; }\n", "void f() { std::optional<aiter_tensor_t> a; }\n"),
        (
            "void f() { const std::optional<at::Tensor>& a = o; }\n",
            "void f() { const std::optional<aiter_tensor_t>& a = o; }\n",
        ),
        (
            "void f() { if(std::is_same_v<T, at::Tensor>) g<at::Tensor>(); }\n",
            "void f() { if(std::is_same_v<T, aiter_tensor_t>) g<aiter_tensor_t>(); }\n",
        ),
    ],
)
def test_locals(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("using at::Tensor;\nvoid f(Tensor& x);\n", "using at::Tensor;\nvoid f(aiter_tensor_t& x);\n"),
        ("using namespace at;\nvoid f(Tensor& x);\n", "using namespace at;\nvoid f(aiter_tensor_t& x);\n"),
        ("namespace th = torch;\nvoid f(th::Tensor& x);\n", "namespace th = torch;\nvoid f(aiter_tensor_t& x);\n"),
        # a type alias of the file's own goes on, over the other type
        ("using Tensor = at::Tensor;\nvoid f(Tensor& x);\n", "using Tensor = aiter_tensor_t;\nvoid f(Tensor& x);\n"),
        ("typedef at::Tensor T;\nvoid f(T x) {}\n", "typedef aiter_tensor_t T;\nvoid f(T x) {}\n"),
        ("#define TENSOR torch::Tensor\nvoid f(TENSOR x) {}\n", "#define TENSOR aiter_tensor_t\nvoid f(TENSOR x) {}\n"),
    ],
)
def test_aliases(rewrites, before: str, after: str) -> None:
    rewrites(alone, before, after)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("torch::Tensor f(int n);\n", "TL290"),
        ("torch::Tensor\nf(int n) { return g(n); }\n", "TL290"),
        ("auto l = [](int n) -> at::Tensor { return g(n); };\n", "TL290"),
        ("using F = torch::Tensor (*)(int);\n", "TL290"),
        ("std::function<torch::Tensor(int)> f;\n", "TL290"),
        ("std::optional<at::Tensor> f();\n", "TL290"),
        ("void f(std::vector<torch::Tensor> xs);\n", "TL291"),
        ("void f(const std::vector<std::optional<at::Tensor>>& xs);\n", "TL291"),
        ("std::tuple<at::Tensor, int> f();\n", "TL291"),
        ("void f() { auto t = std::make_shared<at::Tensor>(x); }\n", "TL291"),
        ("struct S { torch::Tensor kept; };\n", "TL294"),
        ("struct S { std::optional<at::Tensor> kept; };\n", "TL294"),
        ("void f() { static at::Tensor cache; }\n", "TL294"),
        ("at::Tensor global;\n", "TL294"),
        ("void f(torch::Tensor x = torch::Tensor());\n", "TL207"),
        ("void f(const at::Tensor& x = {});\n", "TL207"),
        ("void f(std::optional<at::Tensor> x = at::Tensor());\n", "TL207"),
        ("void f() { g(torch::Tensor()); }\n", "TL292"),
    ],
)
def test_blockers(keeps, text: str, code: str) -> None:
    found = keeps(alone, text)
    assert codes(found) == [code]
    assert found[0].blocks and found[0].help


@pytest.mark.parametrize(
    "text",
    [
        "// torch::Tensor& x\n",
        'TORCH_CHECK(ok, "torch::Tensor expected");\n',
        'const char* s = R"(void f(at::Tensor& x);)";\n',
        "namespace mine { class Tensor; void f(Tensor& x); }\n",
        "template <class Tensor> void f(Tensor& x);\n",
        "void f(int Tensor) { g(Tensor); }\n",
        "void f(aiter_tensor_t& x);\n",
        "void f(std::optional<int> x = std::nullopt);\n",
        "auto n = x.Tensor;\n",
        "auto n = nn::Tensor{};\n",
        "using at::Tensor;\n",
    ],
)
def test_must_not_change(keeps, text: str) -> None:
    assert keeps(alone, text) == []


def test_members_by_reference_do_not_own(rewrites) -> None:
    rewrites(
        alone, "struct S { at::Tensor& x; at::Tensor* y; };\n", "struct S { aiter_tensor_t& x; aiter_tensor_t* y; };\n"
    )


def test_a_returned_reference_is_fine_inside_but_not_for_python(view, rewrites) -> None:
    text = "torch::Tensor& f(torch::Tensor& y);\n"
    rewrites(alone, text, "aiter_tensor_t& f(aiter_tensor_t& y);\n")
    assert codes(rewrite_signatures(view(text), {}, bound={"f"})) == ["TL290", "TL201"]


def test_py_arg_defaults_are_the_bindings_business(keeps) -> None:
    text = '#define X_PYBIND m.def("f", &f, py::arg("x") = torch::Tensor())\n'
    assert keeps(alone, text) == []


def test_edits_touch_only_what_changes(view) -> None:
    before = view("void f(const   std::optional< torch::Tensor >  &   x /* c */ , at::Tensor const & y);\n")
    edits = [e for f in alone(before) for e in f.edits]
    assert apply(before.source.data, edits) == (
        b"void f(std::optional< aiter_tensor_t >   x /* c */ , const aiter_tensor_t & y);\n"
    )
    assert all(b"c */" not in before.source.data[e.start : e.end] for e in edits)


def test_a_comment_between_type_and_const_stays(rewrites) -> None:
    rewrites(alone, "void f(at::Tensor /* in */ const& x);\n", "void f(aiter_tensor_t /* in */ const& x);\n")


def test_facts_make_it_semantic(view) -> None:
    plain = view("void f(torch::Tensor& x);\n")
    offset = plain.source.data.index(b"Tensor")
    known = FileView(plain.source, plain.tokens, {offset: (NameFact(offset, "type", "at::Tensor", "tensor"),)})
    assert [f.confidence for f in alone(plain)] == [Confidence.SYNTACTIC]
    assert [f.confidence for f in alone(known)] == [Confidence.SEMANTIC]


def test_findings_ask_for_the_tensor_header(view) -> None:
    assert alone(view("void f(torch::Tensor& x);\n"))[0].requires == ("aiter_tensor.h",)
