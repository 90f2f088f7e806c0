"""What a place belongs to: the innermost function, macro or type, else the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.facts.model import FileFacts, FunctionFact
from torchless.facts.typing import make_view
from torchless.text.source import SourceFile
from torchless.units.entities import Entity, EntityIndex, entities_of

TEXT = """\
#include "x.h"
#define ONE_LINE(x) one(x)
#define LONG(x)   \\
    do            \\
    {             \\
        long_(x); \\
    } while(0)
#define EMPTY
struct Params : Base<int>
{
    Tensor field;
    void method(Tensor t)
    {
        in_method;
    }
};
using Alias = Tensor;
typedef void (*callback_t)(Tensor&);
typedef struct
{
    Tensor first;
    int second;
} Pair;
void f(int n)
{
    struct Local { int in_local; };
    using Short = Tensor*;
    in_function;
}
at_file_level;
"""


def function(name: str, start: str, end: str) -> FunctionFact:
    first, last = TEXT.index(start), TEXT.index(end) + len(end)
    return FunctionFact(
        "a.h", first, last, name, first + 5, TEXT.index("{", first), last, (), "", "void", *(False,) * 4
    )


FUNCTIONS = (
    function("ns::Params::method", "void method", "in_method;\n    }"),
    function("ns::f", "void f(int", "in_function;\n}"),
)
VIEW = make_view(SourceFile("a.h", TEXT.encode()), [FileFacts("a.h", (), FUNCTIONS)])
INDEX = EntityIndex(entities_of(VIEW))


def at(word: str) -> Entity:
    found = INDEX.at("a.h", TEXT.index(word))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("word", "kind", "name"),
    [
        ("#include", "file", ""),
        ("one(x)", "macro", "ONE_LINE"),
        ("do ", "macro", "LONG"),
        ("long_(x)", "macro", "LONG"),
        ("while(0)", "macro", "LONG"),
        ("EMPTY", "macro", "EMPTY"),
        ("struct Params", "type", "Params"),
        ("Tensor field", "type", "Params"),
        ("void method", "function", "ns::Params::method"),
        ("in_method", "function", "ns::Params::method"),
        ("Alias", "type", "Alias"),
        ("Tensor;\ntypedef", "type", "Alias"),
        ("(Tensor&)", "type", "callback_t"),
        ("Tensor first", "type", "Pair"),
        ("int second", "type", "Pair"),
        ("in_local", "function", "ns::f"),  # what moves is the function
        ("Short", "function", "ns::f"),
        ("Tensor*", "function", "ns::f"),
        ("in_function", "function", "ns::f"),
        ("at_file_level", "file", ""),
    ],
)
def test_the_innermost_entity_counts(word: str, kind: str, name: str) -> None:
    assert (at(word).kind, at(word).name) == (kind, name)


def test_ranges() -> None:
    assert TEXT[at("do ").start : at("do ").end].startswith("#define LONG(x)")
    assert TEXT[at("do ").start : at("do ").end].endswith("while(0)")
    assert TEXT[at("Tensor field").start : at("Tensor field").end].endswith("}\n}")
    assert TEXT[at("Tensor first").start : at("Tensor first").end].endswith("} Pair;")
    assert at("in_method").last_name == "method"
    assert at("in_method").defines


def test_an_unknown_file_has_none() -> None:
    assert INDEX.at("b.h", 0) is None
    assert INDEX.of_file("b.h") == []


def test_a_declaration_defines_nothing() -> None:
    text = b"void f(int);\n"
    fact = FunctionFact("a.h", 0, 11, "f", 5, -1, -1, (), "", "void", False, False, False, False)
    entities = entities_of(make_view(SourceFile("a.h", text), [FileFacts("a.h", (), (fact,))]))
    assert [(e.kind, e.defines) for e in entities] == [("file", True), ("function", False)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("struct __attribute__((packed)) alignas(16) A { int x; };", ["A"]),
        ("class API A final : public B<C>, D { };", ["A"]),
        ("template <> struct element<c10::Half> { };", ["element"]),
        ("enum class E : int { a };", ["E"]),
        ("template <class T, class U = Tensor> struct A { T t; };", ["A"]),
        ("template <class... Ts> void f() { }", []),
        ("template <class T> constexpr int width{3};", []),
        ("struct A;\nstruct A* f(struct A a) { }\nfriend class B;", []),
        ("struct A\n#if X\n  : Base\n#endif\n{ };", ["A"]),
        ("using A = Tensor; using ns::name; using namespace at;", ["A"]),
        ("typedef Tensor A, *B;", ["B"]),
        ("typedef int (*table_t)[3]; typedef void (&ref_t)(Tensor);", ["table_t", "ref_t"]),
        ("typedef struct { struct { int a; } b; } A;", ["A"]),
        ("typedef", []),
        ("typedef \n#define ; struct struct", []),
        ("typedef Tensor\n#define X ;\nA;", ["A"]),
        ("using A =", []),
        ("struct A {", []),
        ("struct", []),
        ("typedef struct {", []),
        ("#define STRUCT(x) struct x { int y; }", []),
    ],
)
def test_types_by_shape(text: str, names: list[str]) -> None:
    entities = entities_of(make_view(SourceFile("a.h", text.encode())))
    assert [e.name for e in entities if e.kind == "type"] == names


WORDS = ["struct", "class", "A", "{", "}", "(", ")", "<", ">", ";", "using", "typedef", "=", ":", "\n#define", "\n"]


@given(st.lists(st.sampled_from(WORDS)))
def test_every_byte_belongs_to_something(words: list[str]) -> None:
    data = " ".join(words).encode()
    entities = entities_of(make_view(SourceFile("a.h", data)))
    index = EntityIndex(entities)
    for offset in range(len(data)):
        found = index.at("a.h", offset)
        assert found is not None and found.start <= offset < found.end
        inside = [e.end - e.start for e in entities if e.start <= offset < e.end]
        assert found.end - found.start == min(inside)
    assert index.of_file("a.h") == entities
