"""Lines that go on with a list stay below its first element."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.model import Edit
from torchless.plan.alignment import keep_alignment
from torchless.text.edits import apply
from torchless.text.source import SourceFile

PATH = "a.h"


def edited(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    """``data`` with the first of each old text replaced by the new one, and what keep_alignment() adds to that."""
    edits = [Edit(PATH, data.index(old), data.index(old) + len(old), new, "TL201") for old, new in changes]
    return apply(data, keep_alignment(SourceFile(PATH, data), edits))


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        pytest.param(
            b"torch::Tensor f(int a,\n                int b);\nint c;\n",
            [(b"torch::Tensor", b"void")],
            b"void f(int a,\n       int b);\nint c;\n",
            id="shorter",
        ),
        pytest.param(
            b"int f(int a,\n      // why\n      int b);\n",
            [(b"int", b"int64_t")],
            b"int64_t f(int a,\n          // why\n          int b);\n",
            id="longer, a comment too",
        ),
        pytest.param(
            b"    run(at(a,\n           b),\n        c);\n",
            [(b"run", b"launch")],
            b"    launch(at(a,\n              b),\n           c);\n",
            id="a list in a list",
        ),
        pytest.param(
            b"f(a,\n  g(b,\n    c));\n",
            [(b"f", b"ff"), (b"g", b"gg")],
            b"ff(a,\n   gg(b,\n      c));\n",
            id="a line that moved and whose own bracket moves",
        ),
        pytest.param(
            b"int x[] = { 1,\n            2 };\n",
            [(b"int", b"long")],
            b"long x[] = { 1,\n             2 };\n",
            id="a blank behind",
        ),
        pytest.param(
            b"int f(T a,\n      T b);\n",
            [(b"int", b"void"), (b"T a", b"U a"), (b"T b", b"U b")],
            b"void f(U a,\n       U b);\n",
            id="with edits of the elements",
        ),
        pytest.param(
            b"long f(T a, // one\n            // two\n            // three\n       T b);\n",
            [(b"long", b"int"), (b"T a", b"TTT a")],
            b"int f(TTT a, // one\n             // two\n             // three\n      T b);\n",
            id="comments that go on",
        ),
        pytest.param(
            b"int f(T a,\n      T b);\n",
            [(b"int", b"void"), (b"T a", b"U x,\n      T a"), (b"T b", b"T b,\n      U y")],
            b"void f(U x,\n       T a,\n       T b,\n       U y);\n",
            id="with new lines in it",
        ),
        pytest.param(
            b"int f(T a,\n      T b);\n",
            [(b"int f", b"// x\nint f")],
            b"// x\nint f(T a,\n      T b);\n",
            id="a line in front",
        ),
    ],
)
def test_moves(before: bytes, changes: list[tuple[bytes, bytes]], after: bytes, eol: bytes) -> None:
    changes = [(old.replace(b"\n", eol), new.replace(b"\n", eol)) for old, new in changes]
    assert edited(before.replace(b"\n", eol), *changes) == after.replace(b"\n", eol)


@pytest.mark.parametrize(
    ("before", "changes"),
    [
        pytest.param(b"int f(int a,\n    int b);\n", [(b"int", b"int64_t")], id="was not aligned"),
        pytest.param(b"int f(\n    int a,\n    int b);\n", [(b"int", b"int64_t")], id="begins on a line of its own"),
        pytest.param(b"int f(int a,\n\t\t\tint b);\n", [(b"int", b"int64_t")], id="tabs"),
        pytest.param(b"int f(int a,\n      int b);\n", [(b"int a", b"long a")], id="behind the bracket"),
        pytest.param(b"int f(int a,\n      int b);\n", [(b"int f(", b"F(")], id="the bracket goes"),
        pytest.param(b"int f(int a,\n      int b);\n", [(b"int f", b"int\nf")], id="a line end is made"),
        pytest.param(b"int\nf(int a,\n  int b);\n", [(b"int\nf", b"int f")], id="a line end is taken"),
        pytest.param(
            b"int f(int a,\n      int b);\n",
            [(b"int f", b"int ff"), (b"\n      int b", b" int b")],
            id="the start of the line goes",
        ),
        pytest.param(b'f(R"(a\n  b)");\n', [(b"f", b"ff")], id="within a literal"),
        pytest.param(b"f(/* a\n  b */ c);\n", [(b"f", b"ff")], id="within a comment"),
        pytest.param(b"abc(a);\n    b;\n", [(b"abc", b"x")], id="behind the closing bracket"),
    ],
)
def test_left_alone(before: bytes, changes: list[tuple[bytes, bytes]]) -> None:
    edits = [Edit(PATH, before.index(old), before.index(old) + len(old), new) for old, new in changes]
    assert sorted(keep_alignment(SourceFile(PATH, before), edits)) == sorted(edits)


def test_the_code_is_that_of_the_edit() -> None:
    before = b"f(a,\n  g(b,\n    c));\n"
    made = keep_alignment(SourceFile(PATH, before), [Edit(PATH, 0, 1, b"ff", "TL201")])
    assert [e.code for e in made] == ["TL201"] * 3


_WORDS = st.sampled_from(
    [b"f(", b"g[", b"{", b")", b"]", b"}", b",\n", b"\n  ", b" ", b"a", b"bb", b'"s"', b"// c\n", b"\\\n"]
)


@given(st.lists(_WORDS, max_size=30).map(b"".join), st.data())
def test_blanks_are_all_that_changes(text: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 4)))
    edit = Edit(PATH, start, end, data.draw(st.sampled_from([b"", b"x", b"long_name", b"\n"])), "TL201")
    made = keep_alignment(SourceFile(PATH, text), [edit])
    plain, moved = apply(text, [edit]), apply(text, made)
    assert [line.lstrip(b" ") for line in plain.split(b"\n")] == [line.lstrip(b" ") for line in moved.split(b"\n")]
