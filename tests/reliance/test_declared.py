"""What a header declares, read off its text, and compared with clang's view of it."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchless.reliance.declared import Declared, scan


def declared(text: str | bytes) -> Declared:
    names, effects, once = scan(text if isinstance(text, bytes) else text.encode())
    assert isinstance(names, frozenset) and isinstance(effects, tuple) and isinstance(once, bool)
    return Declared(names, effects, once)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("#define ONE 1\n#define TWO(x) x\n#define GONE\n#undef GONE\n", {"ONE", "TWO"}),
        ("#ifndef GUARD_H\n#define GUARD_H\nint f();\n#endif\n", {"GUARD_H", "f"}),
        ("namespace a::b { int f(int x, int y = g()); } namespace c { namespace { void h(); } }", {"f", "h"}),
        ("struct [[nodiscard]] A : B<C> { int member; void method(); }; class D; union E { int e; };", {"A", "D", "E"}),
        ("struct __attribute__((packed)) A { int a; };", {"A"}),
        ("enum Kind : int { One = f(2), Two }; enum class Other { Three }; enum { Four, Five };",
         {"Kind", "One", "Two", "Other", "Four", "Five"}),
        ("typedef struct { int x; } Pair, *PairPtr; typedef int (*Callback)(int); typedef int Row[4];",
         {"Pair", "PairPtr", "Callback", "Row"}),
        ("using Vec = std::vector<int>; using std::string; template <typename T> using Ptr = T*;",
         {"Vec", "string", "Ptr"}),
        ("template <typename T, int N = (1 > 0)> struct Array { T data[N]; }; template <> struct hash<A<int>> {};",
         {"Array", "hash"}),
        ("template <typename T> __global__ void __launch_bounds__(256, 2) kernel(T* p) { int local; }", {"kernel"}),
        ("static const int a = 1, b[2] = {1, 2}; constexpr int c{3}; extern int d; inline auto e = [](int x) {};",
         {"a", "b", "c", "d", "e"}),
        ('extern "C" { int plain(void); } extern "C" int other();', {"plain", "other"}),
        ("A::A(int x) : one(x), two{x} { body(); } void B::run() const { }", {"A", "run"}),
        ("template <class T> concept Small = sizeof(T) < 4; auto f() -> decltype(g());", {"Small", "f"}),
        ("int (*table[3])(int); std::map<int, int> m; std::function<void(int)> call;", {"table", "m", "call"}),
        ("template <typename T> requires Small<T> T twice(T x);", {"twice"}),
    ],
)  # fmt: skip
def test_names(text: str, names: set[str]) -> None:
    assert declared(text).names == names


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("int f() { return 1; }", ("defines f",)),
        ("inline int f() { return 1; } static int g() {} template <class T> T h() {} __device__ int d() {}", ()),
        ("template struct A<int>; extern template struct B<int>;", ("instantiates struct A<int>",)),
        ("REGISTER(scale);", ("expands REGISTER",)),
        ("static Registrar r(f(1)); static const int n = f(2);", ("sets r up when the program starts",)),
        ("using namespace at;", ("has using namespace at",)),
        ("#undef NDEBUG\n", ("undefines NDEBUG",)),
        ("#pragma once\n#pragma pack(push, 1)\n#pragma clang diagnostic push\n", ("has #pragma pack(push, 1)",)),
        ("inline P operator+(P a, P b) { return a; } struct Q { Q operator-(); };", ("declares operator+",)),
        ("static_assert(sizeof(int) == 4);", ()),
    ],
)
def test_effects(text: str, effects: tuple[str, ...]) -> None:
    assert declared(text).effects == effects


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("#pragma once\nint f();", True),
        (b"\xef\xbb\xbf#pragma once\r\nint f();", True),
        ("// comment\n#ifndef X_H\n#define X_H\n#endif\n", True),
        ("#if !defined(X_H)\n#define X_H\n#endif\n", True),
        ("int f();", False),
        ("#ifndef X_H\n#define Y_H\n#endif\n", False),
    ],
)
def test_once(text: str | bytes, once: bool) -> None:
    assert declared(text).once is once


def test_arms_that_open_one_brace_twice() -> None:
    text = "#ifdef A\nvoid f(int x) {\n#else\nvoid f(long x) {\n#endif\n  g(); }\nint h();\n"
    assert {"f", "h"} <= declared(text).names


def test_text_without_any_order_gives_every_name() -> None:
    found = declared("struct A {{{ int f(); ")
    assert {"A", "f"} <= found.names
    assert found.effects == ("has braces that do not pair up",)


HEADER = """
#pragma once
#include <vector>
#define MACRO_ONE 1
namespace outer {
struct Forward;
struct alignas(16) Base { int a = 1; virtual ~Base() = default; };
class Derived final : public Base { public: Derived(int x) : n(x), v{1, 2} {} int n; std::vector<int> v; };
enum Plain { First = 1, Second = First << 2 };
enum class Scoped : unsigned { Inside };
union Both { int i; float f; };
typedef int (*Callback)(int, float);
typedef unsigned Word, *WordPtr;
using List = std::vector<Derived>;
template <typename T, typename U = std::vector<T>> struct Box { T t; template <class V> void put(V v) {} };
template <> struct Box<int> { int x; };
template <typename T> inline constexpr bool is_small_v = sizeof(T) < 4;
template <typename T> T twice(T x) { if(x > 0) { return x + x; } return x; }
static inline int add(int a, int b = 3) { return a + b; }
constexpr int table[2] = {1, 2};
inline thread_local int counter = 0;
extern int elsewhere;
namespace { inline int hidden() { return 1; } }
namespace inner::deep { inline auto lambda = [](int q) { return q; }; }
inline Base make(const Derived& d) noexcept(true);
[[maybe_unused]] static const char* const text = "struct Fake { int g(); };";
auto trailing(int k) -> std::vector<int>;
template <typename T> concept Tiny = sizeof(T) == 1;
}
extern "C" { int c_function(int); }
"""
VECTOR = "namespace std { template <class T> struct vector { template <class... A> vector(A...) {} }; }"
_KINDS = {"FunctionDecl", "VarDecl", "CXXRecordDecl", "EnumDecl", "TypedefDecl", "TypeAliasDecl", "EnumConstantDecl"}
_KINDS |= {"ClassTemplateDecl", "FunctionTemplateDecl", "VarTemplateDecl", "ConceptDecl"}
_KINDS |= {"ClassTemplateSpecializationDecl"}


def declarations(node: dict[str, Any], path: str) -> Iterator[str]:
    """The names that clang sees declared in namespaces and unscoped enumerations of the file at ``path``."""
    for child in node.get("inner", []):
        kind = child.get("kind", "")
        if kind in ("NamespaceDecl", "LinkageSpecDecl"):
            yield from declarations(child, path)
        elif kind in _KINDS and child.get("name") and not child.get("isImplicit"):
            yield child["name"]
            if kind == "EnumDecl" and "scopedEnumTag" not in child:
                yield from declarations(child, path)


@pytest.mark.clang
def test_clang_sees_no_other_names(tmp_path: Path) -> None:
    path = tmp_path / "sample.h"
    path.write_text(HEADER.replace("#include <vector>", VECTOR))
    command = ["clang++-19", "-std=c++20", "-x", "c++", "-fsyntax-only", "-Xclang", "-ast-dump=json", str(path)]
    tree = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    seen = {name for name in declarations(tree, str(path)) if not name.startswith("__")} - {"vector"}
    assert len(seen) > 25
    found = declared(HEADER).names
    assert seen <= found
    assert found - seen == {"MACRO_ONE"}


@pytest.mark.parametrize("text", ["x {} ", "a<", "int a = f(1);\n", "template <", "alignas(", "f(", "} ", ",b<c"])
def test_long_input_takes_no_longer_than_its_length_asks_for(text: str) -> None:
    seconds = []
    for times in (2_000, 16_000):
        began = time.process_time()
        declared(text * times)
        seconds.append(time.process_time() - began)
    assert seconds[1] < 40 * max(seconds[0], 0.02)
