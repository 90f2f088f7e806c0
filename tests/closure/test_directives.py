from __future__ import annotations

import itertools
import marshal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.closure.directives import (
    ANGLED,
    COMPUTED,
    DEFINE,
    ELIF,
    ELSE,
    END,
    ENDIF,
    IF,
    INCLUDE,
    ONCE,
    QUOTED,
    scan_directives,
)
from torchless.facts.includes import scan_includes
from torchless.text.lexer import Kind, code_tokens, lex


def kinds(text: str) -> list[int]:
    return [operation[0] for operation in scan_directives(text.encode())[0]]


def includes(data: str | bytes) -> list[tuple[str, int]]:
    operations = scan_directives(data if isinstance(data, bytes) else data.encode())[0]
    return [(operation[4], operation[5]) for operation in operations if operation[0] == INCLUDE]


def defines(text: str) -> list[tuple[str, object]]:
    return [pair for operation in scan_directives(text.encode())[0] if operation[0] == DEFINE for pair in operation[2]]


@pytest.mark.parametrize(
    "directive",
    [
        '#include "a.h"',
        '  #  include\t"a.h" // why',
        '/* x */ #include "a.h"',
        '/* x\n y */ /**/ #include "a.h"',
        '#/**/include "a.h"',
        '# \\\n include "a.h"',
        '#include \\\n "a.h"',
        '\\\n#include "a.h"',
        '%:include "a.h"',
        '\ufeff#include "a.h"',
        '#define X don\'t\n#include "a.h"',
        '#define X /* one\n two */ 1\n#include "a.h"',
        '#define X R"(one\n#include "b.h"\n)"\n#include "a.h"',
        '#error "\n#include "a.h"',
        'int x = 1\'000; char c = L\'"\'; auto s = "\\"/*";\n#include "a.h"',
        'auto s = R"x( )" /* )x";\n#include "a.h"',
        'auto s = "R\\"("; // R"(\n#include "a.h"',
        'int fooR"(";\n#include "a.h"',
        'auto s = "x"; // it\'s /* not\n#include "a.h"',
        "int f(); /* a */ // b /*\n#include \"a.h\"",
    ],
)  # fmt: skip
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_what_is_a_directive(directive: str, eol: str) -> None:
    assert includes((directive + "\nint last;\n").replace("\n", eol)) == [("a.h", QUOTED)]


@pytest.mark.parametrize(
    "text",
    [
        '// #include "a.h"\n',
        '// x \\\n#include "a.h"\n',
        '/*\n#include "a.h"\n*/\n',
        '/* // */ /*\n#include "a.h"\n*/\n',
        'int x; /*\n*/ int y; /*\n#include "a.h"\n*/\n',
        'auto s = R"(\n#include "a.h"\n)";\n',
        'auto s = u8R"d(\n#include "a.h"\n)" )d";\n',
        '#define S(x) \\\n#include "a.h"\n',
        'f(#include "a.h"\n',
        "int included; #\n",
        '#includes "a.h"\n',
        "#include\n",
        '/* unclosed\n#include "a.h"\n',
        'auto s = "one \\\n#include "; \n',
    ],
)
def test_what_only_looks_like_a_directive(text: str) -> None:
    assert includes(text) == []


def test_forms_of_includes() -> None:
    text = '#include <x/y.h>\n#include_next <z.h>\n#import "w.h"\n#include  NAME // c\n#include STR(a/**/b)\n'
    assert includes(text) == [
        ("x/y.h", ANGLED),
        ("z.h", ANGLED),
        ("w.h", QUOTED),
        ("NAME", COMPUTED),
        ("STR(a b)", COMPUTED),
    ]  # fmt: skip


def test_macros() -> None:
    text = "#define A\n#define B 1 // one\n#define C(x) x\n#define D (x)\n#undef A\n#define E do { } while (0)\n"
    assert defines(text) == [("A", ""), ("B", "1"), ("C", 3), ("D", "(x)"), ("A", 0), ("E", 2)]
    long = "x" * 500
    text = f"#define A 1 /* {long} */ + 1\n#define B(x) {long}\n#define C {long}\n#define D 1\n"
    assert defines(text) == [("A", 2), ("B", 3), ("C", 2), ("D", "1")]
    assert defines('# define \\\n F \\\n 12\n#define\n#pragma pop_macro("G")\n') == [("F", "12"), ("G", 1)]


def test_arms_know_each_other() -> None:
    text = '#if A\n#elifdef B\n#elifndef C\n#else\n#ifdef D\n#include "x"\n#endif\n#endif\n#pragma once\n'
    operations, _, problems = scan_directives(text.encode())
    assert not problems
    kinds = [IF, ELIF, ELIF, ELSE, IF, INCLUDE, ENDIF, ENDIF, ONCE, END]
    assert [operation[0] for operation in operations] == kinds
    assert [operation[5:] for operation in operations[:5]] == [
        (1, 7, 2), (2, 7, 2), (3, 7, 2), (7, 7, 2), (6, 6, 2),
    ]  # fmt: skip
    assert [operation[4][1] for operation in operations[:3]] == ["A", "defined(B)", "!defined(C)"]


@pytest.mark.parametrize(
    ("inner", "effect"), [("int x;", 0), ("#define X", 1), ("#pragma once", 1), ("#define X\n#include <x>", 2)]
)
def test_effect_of_a_condition(inner: str, effect: int) -> None:
    operations = scan_directives(f"#if A\n#else\n#if B\n{inner}\n#endif\n#endif\n".encode())[0]
    assert operations[0][7] == operations[2][7] == effect


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("#if A\n#if B\n#endif\nint x;\n", ["this condition has no #endif"]),
        ("#endif\n#else\n", ["#endif without an #if", "#else without an #if"]),
        ("#if A\n#else\n#else\n#elif B\n#endif\n", ["#else after #else", "#elif after #else"]),
        ("#ifdef\n#endif\n#ifdef 1\n#endif\n", ["a macro's name is missing"] * 2),
        ("#if\n#elif 1 +\n#endif\n", ["the condition cannot be read: a value is missing"] * 2),
        ("#include // nothing\n", ["the include names nothing"]),
    ],
)
def test_what_is_wrong(text: str, messages: list[str]) -> None:
    operations, _, problems = scan_directives(text.encode())
    assert [message for _, _, message in problems] == messages
    assert all(text.encode()[offset : offset + 1] == b"#" for offset, _, _ in problems)
    depth = 0
    for operation in operations:  # closed all the same
        depth += (operation[0] == IF) - (operation[0] == ENDIF)
        assert depth >= 0
    assert depth == 0


def test_an_arm_after_else_is_never_active() -> None:
    operations = scan_directives(b"#if A\n#else\n#else\n#include <x>\n#endif\n")[0]
    assert operations[2][0] == ELIF and operations[2][4][0] == ("number", 0, False)


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("#ifndef A_H\n#define A_H\nint x;\n#endif\n", "A_H"),
        ("// c\n#pragma once\n#if !defined(A_H)\n#define A_H 1\n#undef B\n#if C\n#endif\n#endif // A_H\n", "A_H"),
        ("#ifndef A_H\n#define A_H\n#else\n#endif\n", ""),
        ("#ifndef A_H\n#define B_H\n#endif\n", ""),
        ("#ifndef A_H\n#define A_H\n#endif\n#include <x>\n", ""),
        ("#include <x>\n#ifndef A_H\n#define A_H\n#endif\n", ""),
        ("#ifndef A_H\n#endif\n", ""),
        ("", ""),
    ],
)
def test_include_guards(text: str, guard: str) -> None:
    assert scan_directives(text.encode())[1] == guard


def test_lines_of_operations_add_up() -> None:
    text = "int a;\n#if A /* x\n*/\n\nint b;\n#else\n#define B \\\n 1\n#define C\n#endif\nint c;\nint d;"
    operations = scan_directives(text.encode())[0]
    assert [operation[1] for operation in operations] == [3, 3, 3, 1, 2]
    assert [operation[3] for operation in operations[:2]] == [2, 6]


PIECES = [
    "#if A\n", "#ifdef B\n", "#elif 1\n", "#else\n", "#endif\n", '#include "a.h"\n', "#define X 1\n", "#", "#undef",
    "/*", "*/", "//", "/", "*", '"', "'", 'R"(', ')"', "\\\n", "\\", "\n", "\r", "\r\n", " ", "x", "1", "%:", "\0", "é",
    "defined(",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_text_gives_a_scan_that_can_be_stored(text: str) -> None:
    data = text.encode()
    scan = scan_directives(data)
    assert marshal.loads(marshal.dumps(scan)) == scan
    lines = len(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").splitlines()) if data else 0
    assert sum(operation[1] for operation in scan[0]) == lines
    for place, operation in enumerate(scan[0]):
        if operation[0] in (IF, ELIF, ELSE):
            assert place < operation[5] <= operation[6] and scan[0][operation[6]][0] == ENDIF


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_includes_are_those_that_the_include_scanner_finds(text: str) -> None:
    data = text.replace("\r", "").encode()  # a lone return ends no line there
    found = [(o[2], o[4]) for o in scan_directives(data)[0] if o[0] == INCLUDE and o[5] != COMPUTED]
    assert found == [(i.offset, i.spelled) for i in scan_includes(data) if not i.computed]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_conditions_are_those_that_the_lexer_finds(text: str) -> None:
    data = text.replace("\r", "").replace("%:", "").replace("\\\n", " \\\n ").encode()  # nobody splits tokens
    words = {b"if", b"ifdef", b"elif", b"else"}
    pairs = itertools.pairwise(code_tokens(lex(data)))
    expected = [s.start for s, keyword in pairs if s.kind is Kind.DIRECTIVE and keyword.text in words]
    program = scan_directives(b"#if 0\n" * 99 + data)[0]  # no stray arms
    found = [operation[2] - 99 * 6 for operation in program if operation[0] in (IF, ELIF, ELSE)]
    assert [offset for offset in found if offset >= 0] == expected


@given(st.binary(max_size=60))
def test_any_bytes_give_a_scan(data: bytes) -> None:
    assert scan_directives(data)[0][-1][0] == END
