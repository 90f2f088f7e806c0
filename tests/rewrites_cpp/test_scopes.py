from __future__ import annotations

import pytest

from torchless.rewrites.heads import function_name, parameters, qualified_name, split_arguments
from torchless.rewrites.scopes import BlockKind, Scopes, find_scopes
from torchless.rewrites.statements import always_runs, block_statements
from torchless.text.lexer import code_tokens, lex


def scopes_of(text: str) -> Scopes:
    return find_scopes(code_tokens(lex(text.encode())))


def kinds(text: str) -> list[str]:
    return [b.kind.value for b in scopes_of(text).blocks]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("namespace a::b { }", ["namespace"]),
        ("namespace { inline namespace v { } }", ["namespace", "namespace"]),
        ('extern "C" { void f(); }', ["namespace"]),
        ("struct A : B<C> { int x{1}; };", ["class", "initializer"]),
        ("template <class T> struct A { };", ["class"]),
        ("enum class E : int { X };", ["enum"]),
        ("void f() { }", ["function"]),
        ('extern "C" void f() { }', ["function"]),
        ("auto f(int x) -> std::pair<int, int> { }", ["function"]),
        ("A::A(int x) : b(x), c{x} { }", ["initializer", "function"]),
        ("struct A { A() noexcept(true) { } bool operator()(int) const { } };", ["class", "function", "function"]),
        ("__global__ void __launch_bounds__(256) k(int* x) { }", ["function"]),
        ("template <int N = (1 > 0)> void f(int x[N]) { }", ["function"]),
        ("void f() { if(x) { } else { } for(;;) { } do { } while(0); { } }", ["function", *["statement"] * 5]),
        ("void f() { if constexpr(x) { } switch(y) { case 1: { } } }", ["function", *["statement"] * 3]),
        ("void f() { auto l = [&](int x) mutable -> int { }; g([=] { }); }", ["function", "lambda", "lambda"]),
        ("void f() { int x[] = {1, 2}; T y{3}; return {4}; }", ["function", *["initializer"] * 3]),
        ("void f() { FOREACH(x) { } }", ["function", "statement"]),
        ("#define M(x) do { g(x); } while(0)\nvoid f() { }", ["function", "statement"]),
        ("#define M(x) void x() { }\n", ["function"]),
        # two openings of one brace: the first arm counts
        ("#ifdef A\nvoid f(int a) {\n#else\nvoid f() {\n#endif\n  g();\n}\nvoid h() { }", ["function", "function"]),
    ],
)
def test_blocks(text: str, want: list[str]) -> None:
    assert kinds(text) == want


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("namespace a { void f(int x, T<1, 2> y = {3, 4}, int) { } }", "a::f", ["x", "y", ""]),
        ("void a::B::f(void) { }", "a::B::f", []),
        ("namespace { struct S { void f(const T&... rest) { } }; }", "S::f", ["rest"]),
        ("template <> void f<int>(int (&x)[3]) { }", "f", [""]),
        ("inline namespace v { void f(int x[2], unsigned int) { } }", "v::f", ["x", ""]),
    ],
)
def test_heads(text: str, name: str, params: list[str]) -> None:
    scopes = scopes_of(text)
    block = next(b for b in scopes.blocks if b.kind is BlockKind.FUNCTION)
    assert qualified_name(scopes, function_name(scopes, block.params)) == name
    found = parameters(scopes, block.params)
    assert [scopes.tokens[p.name].text.decode() if p.name >= 0 else "" for p in found] == params


def test_arguments_are_split_at_their_own_commas() -> None:
    scopes = scopes_of("f(a<b, c>(d, e), [x, y] { g(1, 2); }, {3, 4}, i < j && k > l);")
    texts = [b"".join(t.text for t in scopes.tokens[a : b + 1]).decode() for a, b in split_arguments(scopes, 1)]
    assert texts == ["a<b,c>(d,e)", "[x,y]{g(1,2);}", "{3,4}", "i<j&&k>l"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("a(); if(b) c(); else if(d) { e(); } else f(); g();", ["a", "if", "g"]),
        ("for(;;) { a(); } while(b) c(); do { d(); } while(e); { f(); }", ["for", "while", "do", "{"]),
        ("auto l = [&] { return 1; }; T x{1}; MACRO(y) { z(); } w();", ["auto", "T", "MACRO", "w"]),
        ("a();\n#if X\nb();\n#else\nc();\n#endif\nd();", ["a", "b", "c", "d"]),
    ],
)
def test_statements(body: str, words: list[str]) -> None:
    scopes = scopes_of(f"void f() {{ {body} }}")
    assert [s.word for s in block_statements(scopes, scopes.blocks[0])] == words


@pytest.mark.parametrize(
    ("body", "runs"),
    [
        ("g(X);", True),
        ("int y = a + X;", True),
        ("if(a) g(X); else h(X);", True),
        ("if(a) g(X);", False),
        ("if(X) g();", True),
        ("if(a && X) g();", False),
        ("g(a ? X : b);", False),
        ("g(a || b, X);", True),
        ("for(;;) g(X);", False),
        ("do { g(X); } while(a);", True),
        ("switch(a) { case 1: g(X); }", False),
        ("RUN(t, [&] { g(X); });", True),
        ("other(t, [&] { g(X); });", False),
        ("if(a) { g(X); return; } h(X);", True),
        ("if(a) return; g(X);", False),
        ('if(a) g(X); else TORCH_CHECK(false, "no");', True),
        ("if(a) g(X); else throw b;", True),
        ("if(a) { g(X); } else { h(); }", False),
        ("{ { g(X); } }", True),
    ],
)
def test_always_runs(body: str, runs: bool) -> None:
    scopes = scopes_of(f"void f() {{ {body} }}")
    wanted = [i for i, t in enumerate(scopes.tokens) if t.text == b"X"]
    block = scopes.blocks[0]
    assert always_runs(scopes, block.open + 1, block.close - 1, wanted, lambda name: name == "RUN") is runs
