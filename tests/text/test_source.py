"""Lines, columns and line ends of a source file are those of its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.text.source import SourceFile

DATA = st.lists(st.sampled_from([b"a", b"\xe9", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf"]), max_size=12).map(b"".join)


@given(DATA)
def test_p06_lines_concatenate_to_the_file(data: bytes) -> None:
    source = SourceFile("a.cu", data)
    lines = [source.line_bytes(i) for i in range(1, source.line_count + 1)]
    assert b"".join(lines) == data
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines[:-1])
    assert b"\n" not in lines[-1]


@given(DATA, st.data())
def test_line_and_column_name_an_offset(data: bytes, draw: st.DataObject) -> None:
    source = SourceFile("a.cu", data)
    offset = draw.draw(st.integers(0, len(data)))
    line, column = source.line_of(offset), source.column_of(offset)
    assert source.line_start(line) + column - 1 == offset
    assert data[:offset].count(b"\n") + 1 == line


@pytest.mark.parametrize(
    ("data", "offset", "eol"),
    [
        (b"a\r\nb\nc", 0, b"\r\n"),
        (b"a\r\nb\nc", 3, b"\n"),
        (b"a\nb\r\nc", 5, b"\r\n"),
        (b"a\nb\r\nc", 6, b"\r\n"),
        (b"a\r\n", 3, b"\r\n"),
        (b"a", 1, b"\n"),
        (b"", 0, b"\n"),
    ],
)
def test_p06_a_new_line_ends_like_its_neighbour(data: bytes, offset: int, eol: bytes) -> None:
    assert SourceFile("a.cu", data).eol_at(offset) == eol


def test_p07_bom_is_seen() -> None:
    assert SourceFile("a", b"\xef\xbb\xbfint").has_bom
    assert not SourceFile("a", b"int\xef\xbb\xbf").has_bom
