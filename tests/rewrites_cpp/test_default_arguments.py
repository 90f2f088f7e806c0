from __future__ import annotations

from torchless.facts.typing import FileView
from torchless.model import Finding
from torchless.rewrites.default_arguments import declared_defaults, drop_repeated_defaults


def dropping(header: str, view) -> object:
    declared = declared_defaults([view(header, "x.h")])
    return lambda v: drop_repeated_defaults(v, declared)


def test_the_default_stays_in_the_header_only(view, rewrites) -> None:
    header = "namespace a { void f(int x, int group   = 0, std::optional<T> y = c10::nullopt); }\n"
    rewrites(
        dropping(header, view),
        "namespace a {\nvoid f(int x,\n       int group     = 0, // size\n"
        "       std::optional<T> y = std::nullopt)\n{\n}\n}\n",
        "namespace a {\nvoid f(int x,\n       int group, // size\n       std::optional<T> y)\n{\n}\n}\n",
    )


def test_qualified_definitions_and_repeated_declarations(view, rewrites) -> None:
    header = "namespace a { void f(int x = 1); }\nvoid g(int y = 2);\n"
    rewrites(
        dropping(header, view),
        "void a::f(int x = 1) {}\nvoid g(int y = 2);\nvoid g(int y) {}\n",
        "void a::f(int x) {}\nvoid g(int y);\nvoid g(int y) {}\n",
    )


def test_must_not_change(view, keeps) -> None:
    header = "namespace a { void f(int x = 1); }\n"
    for text in (
        "void f(int x = 1) {}\n",  # another function: a different namespace
        "namespace a { void f(int x = 1, int y = 2) {} }\n",  # another overload
        "namespace a { struct S { void f(int x = 1) {} }; }\n",  # a member
        "namespace a { void g() { auto f = [](int x = 1) {}; } }\n",
        "// void a::f(int x = 1)\n",
    ):
        assert keeps(dropping(header, view), text) == []


def test_different_defaults_are_for_a_person(view, keeps) -> None:
    found: list[Finding] = keeps(dropping("void f(int x = 1);\n", view), "void f(int x = 2) {}\n")
    assert [(f.code, f.blocks) for f in found] == [("TL207", True)]
    assert "(2, 1)" in found[0].message


def test_only_namespace_scope_counts(view) -> None:
    header: FileView = view("struct S { void m(int x = 1); };\nvoid g(int y, int z = 3);\n", "x.h")
    assert declared_defaults([header]) == {("g", 2, 1): "3"}
