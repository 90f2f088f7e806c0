"""The backslashes of a macro stay in their column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.model import Edit
from torchless.plan.continuations import keep_columns
from torchless.text.edits import apply
from torchless.text.source import SourceFile

PATH = "a.h"
MACRO = b"""\
#define CHECK(x)          \\
    do                    \\
    {                     \\
        if(!(x)) fail(x); \\
    } while(0)
int after;
"""


def edited(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    """``data`` with the first of each old text replaced by the new one, and what keep_columns() adds to that."""
    edits = [Edit(PATH, data.index(old), data.index(old) + len(old), new, "TL301") for old, new in changes]
    return apply(data, [*edits, *keep_columns(SourceFile(PATH, data), edits)])


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("changes", "line", "want"),
    [
        ([(b"do ", b"once ")], 1, b"    once                  \\"),
        ([(b"do", b"")], 1, b"                          \\"),
        ([(b"fail", b"f")], 3, b"        if(!(x)) f(x);    \\"),
        ([(b"fail", b"f"), (b"!(x)", b"not_(x)")], 3, b"        if(not_(x)) f(x); \\"),
        # no room: one blank stays and the backslash moves
        ([(b"fail", b"failing")], 3, b"        if(!(x)) failing(x); \\"),
        ([(b"CHECK", b"CHECK_RM_TORCH_XX")], 0, b"#define CHECK_RM_TORCH_XX(x) \\"),
        # as much room as there is
        ([(b"CHECK", b"CHECK_RM_TORCH")], 0, b"#define CHECK_RM_TORCH(x) \\"),
        # some of the blanks, or all of them, go with what is replaced
        ([(b"do    ", b"once ")], 1, b"    once                  \\"),
        ([(b"do                    ", b"do ")], 1, b"    do                    \\"),
        # the last line has no backslash
        ([(b"while", b"as long as")], 4, b"    } as long as(0)"),
    ],
)
def test_columns(changes: list[tuple[bytes, bytes]], line: int, want: bytes, eol: bytes) -> None:
    before = MACRO.replace(b"\n", eol)
    after = edited(before, *changes).split(eol)
    assert after[line] == want
    assert [text for i, text in enumerate(after) if i != line] == [
        text for i, text in enumerate(before.split(eol)) if i != line
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"#define A(x) \\\n    one(x);   \\\n    two(x)\n",  # never was a column
        b"#define A(x)     \\\n    one(x);\t     \\\n    two(x)       \\\n",  # tabs
        b"int one(x);\n",  # no macro
        b"// one(x);   \\\n",  # alone
    ],
)
def test_where_there_is_no_column_nothing_is_done(text: bytes) -> None:
    assert edited(text, (b"one", b"o")) == text.replace(b"one", b"o")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"do                    \\\n    {", b"while(1) {"),  # joins lines
        (b"do", b"do // once\n"),  # makes lines
        (b"do                    \\", b"do"),  # takes the backslash itself
    ],
)
def test_edits_that_are_about_the_line_end_are_left_alone(old: bytes, new: bytes) -> None:
    assert edited(MACRO, (old, new)) == MACRO.replace(old, new)
    # in whatever order the edits of the line come
    assert edited(MACRO, (old, new), (b"CHECK", b"C")) == edited(MACRO, (b"CHECK", b"C"), (old, new))


def test_an_edit_that_ends_on_another_line_spoils_both() -> None:
    text = b"#define A    \\\n  x + y      \\\n  z + y      \\\n  w\n"
    spanning, within = (b"y      \\\n  z", b"y * z"), (b"+ y      \\\n  w", b"+ y      \\\n  ww")
    assert edited(text, spanning) == b"#define A    \\\n  x + y * z + y      \\\n  w\n"
    assert edited(text, spanning, within) == edited(text, within, spanning)


def test_the_edits_carry_the_code_of_what_made_them_necessary() -> None:
    edit = Edit(PATH, MACRO.index(b"do"), MACRO.index(b"do") + 2, b"", "TL502")
    assert [e.code for e in keep_columns(SourceFile(PATH, MACRO), [edit])] == ["TL502"]


@given(st.data())
def test_the_column_is_kept_whenever_there_is_room(data: st.DataObject) -> None:
    eol = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    words = data.draw(st.lists(st.binary(min_size=1, max_size=12).map(bytes.hex), min_size=2, max_size=6))
    column = max(map(len, words)) + data.draw(st.integers(1, 9))
    lines = [word.encode().ljust(column) + b"\\" for word in words]
    text = eol.join([*lines, b"end", b""])
    edits = []
    for i, word in enumerate(words):
        start = sum(len(line) + len(eol) for line in lines[:i])
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(word))] * 2)))
        new = data.draw(st.text("xyz", max_size=14)).encode()
        edits.append(Edit(PATH, start + first, start + last, new))
    after = apply(text, [*edits, *keep_columns(SourceFile(PATH, text), edits)]).split(eol)
    for i, (word, edit) in enumerate(zip(words, edits, strict=True)):
        length = len(word) + len(edit.new) - (edit.end - edit.start)
        assert after[i].endswith(b" \\")
        assert after[i].find(b"\\") == max(column, length + 1)
