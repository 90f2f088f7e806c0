"""Where lines go, one blank line stays of two."""

from __future__ import annotations

import pytest

from torchless.model import Edit
from torchless.plan.blank_lines import join_blank_lines
from torchless.text.edits import apply
from torchless.text.source import SourceFile

PATH = "a.cu"


def edited(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    """``data`` with the first of each old text replaced by the new one, and what join_blank_lines() adds to that."""
    edits = [Edit(PATH, data.index(old), data.index(old) + len(old), new, "TL283") for old, new in changes]
    return apply(data, [*edits, *join_blank_lines(SourceFile(PATH, data), edits)])


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        pytest.param(b"a;\n\ngone;\n\nb;\n", [(b"gone;\n", b"")], b"a;\n\nb;\n", id="between two"),
        pytest.param(b"a;\n\nx;\ny;\n\nb;\n", [(b"x;\n", b""), (b"y;\n", b"")], b"a;\n\nb;\n", id="a run of two"),
        pytest.param(
            b"a;\n\nx;\n\ny;\n\nb;\n", [(b"x;\n\n", b""), (b"y;\n", b"")], b"a;\n\nb;\n", id="with a blank line"
        ),
        pytest.param(b"{\nx;\n\nb;\n}\n", [(b"x;\n", b"")], b"{\nb;\n}\n", id="at the start of a block"),
        # twins that stay as they are
        pytest.param(b"a;\nx;\n\nb;\n", [(b"x;\n", b"")], b"a;\n\nb;\n", id="none above"),
        pytest.param(b"a;\n\nx;\nb;\n", [(b"x;\n", b"")], b"a;\n\nb;\n", id="none below"),
        pytest.param(b"a;\n\nx;\n\nb;\n", [(b"x;", b"y;")], b"a;\n\ny;\n\nb;\n", id="the line stays"),
        pytest.param(b"a;\n\n\nb;\n", [(b"a", b"c")], b"c;\n\n\nb;\n", id="two that were there"),
        pytest.param(b"\nx;\n\nb;\n", [(b"\nx;\n", b"")], b"\nb;\n", id="from the first line on"),
        pytest.param(b"a;\n\nx;\n", [(b"x;\n", b"")], b"a;\n\n", id="to the end"),
    ],
)
def test_joins(before: bytes, changes: list[tuple[bytes, bytes]], after: bytes, eol: bytes) -> None:
    changes = [(old.replace(b"\n", eol), new.replace(b"\n", eol)) for old, new in changes]
    assert edited(before.replace(b"\n", eol), *changes) == after.replace(b"\n", eol)


@pytest.mark.parametrize("at", [b"x;\n\nb", b"\nb"], ids=["in front of the run", "at its end"])
def test_what_is_put_there_keeps_both(at: bytes) -> None:
    text = b"a;\n\nx;\n\nb;\n"
    place = text.index(at)
    edits = [Edit(PATH, 4, 7, b"", "TL283"), Edit(PATH, place, place, b"new;\n", "TL310")]
    assert join_blank_lines(SourceFile(PATH, text), edits) == []
