"""A diff shows what the edits change and nothing else, and git and patch make of it what the edits make."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.model import Edit
from torchless.text.diff import diff_from_edits, unified_diff
from torchless.text.edits import EditError, apply, merge
from torchless.text.source import SourceFile

LINE = st.sampled_from(
    [b"", b"a", b"}", b"int f() {", b"caf\xe9", b"\xef\xbb\xbfx", b"@@ -1 +1 @@", b"--- a/x", b"\\ No"]
)
EOL = st.sampled_from([b"\n", b"\r\n"])
FILES = st.builds(
    lambda lines, last: b"".join(line + eol for line, eol in lines) + last,
    st.lists(st.tuples(LINE, EOL), max_size=25),
    LINE,
)


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    data = draw(FILES)
    ranges = st.tuples(st.integers(0, len(data)), st.integers(0, 6))
    text = st.sampled_from([b"", b"x", b"\n", b"new line\n", b"\r\n", b"a\nb\nc"])
    edits = st.builds(lambda r, new: Edit("d/f.cu", r[0], min(r[0] + r[1], len(data)), new), ranges, text)
    return data, list(merge(draw(st.lists(edits, max_size=5))).edits)


@pytest.fixture(scope="module")
def repository() -> Iterator[Path]:
    """An empty git repository that takes every byte as it is."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        yield Path(folder)


def run(root: Path, command: list[str], text: bytes = b"") -> bytes:
    environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=root, input=text, capture_output=True, env=environment)
    assert done.returncode == 0, (done.stdout, done.stderr, text)
    return done.stdout


def check(root: Path, name: str, old: bytes, new: bytes, diff: bytes) -> None:
    """git applies ``diff`` and takes it back, patch applies it; each gives exactly ``new``."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(old)
    run(root, ["git", "apply", "--whitespace=nowarn", "-"], diff)
    assert path.read_bytes() == new
    run(root, ["git", "apply", "--whitespace=nowarn", "-R", "-"], diff)
    assert path.read_bytes() == old
    run(root, ["patch", "-p1", "-s", "--no-backup-if-mismatch"], diff)
    assert path.read_bytes() == new


@settings(max_examples=60, deadline=None)
@given(edited())
def test_p13_git_and_patch_make_what_the_edits_make(repository: Path, case: tuple[bytes, list[Edit]]) -> None:
    data, edits = case
    new = apply(data, edits)
    for diff in (diff_from_edits(SourceFile("d/f.cu", data), edits), unified_diff("d/f.cu", data, new)):
        if new == data:
            assert diff == b""
        else:
            check(repository, "d/f.cu", data, new, diff)


@settings(max_examples=60, deadline=None)
@given(FILES, FILES)
def test_any_two_files(repository: Path, old: bytes, new: bytes) -> None:
    diff = unified_diff("f.cu", old, new)
    assert (diff == b"") == (old == new)
    if diff:
        check(repository, "f.cu", old, new, diff)


def changed_lines(diff: bytes) -> tuple[dict[int, bytes], dict[int, bytes]]:
    """The lines (1-based) that a diff takes away and brings in, read by its hunk headers alone."""
    gone: dict[int, bytes] = {}
    come: dict[int, bytes] = {}
    rows = iter(diff.split(b"\n")[2:])
    for row in rows:
        header = re.match(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", row)
        if not header:
            assert row in (b"", b"\\ No newline at end of file")
            continue
        at, size, new_at, new_size = (int(n) if n else 1 for n in header.groups())
        end, new_end = at + size, new_at + new_size
        while at < end or new_at < new_end:
            row = next(rows)
            if row[:1] == b"-":
                gone[at] = row[1:]
            if row[:1] == b"+":
                come[new_at] = row[1:]
            at += row[:1] in (b" ", b"-")
            new_at += row[:1] in (b" ", b"+")
    return gone, come


@given(st.data(), st.sampled_from([b"\n", b"\r\n"]))
def test_p13_the_hunks_are_the_edits(draw: st.DataObject, eol: bytes) -> None:
    lines = [b"line %d of the file" % i for i in range(60)]
    touched = draw.draw(st.sets(st.integers(0, 59)))
    data = b"".join(line + eol for line in lines)
    size = len(b"line ")
    starts = [data.index(line + eol) for line in lines]
    edits = [Edit("f.cu", starts[i], starts[i] + size, b"LINE ", f"TL{i}") for i in touched]
    gone, come = changed_lines(diff_from_edits(SourceFile("f.cu", data), edits))
    assert gone == {i + 1: lines[i] + eol[:-1] for i in touched}
    assert come == {i + 1: lines[i].replace(b"line ", b"LINE ") + eol[:-1] for i in touched}


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 29)))
def test_p13_whole_lines_come_and_go_alone(inserted: set[int], deleted: set[int]) -> None:
    data = b"".join(b"line %d\n" % i for i in range(30))
    starts = [i for i in range(len(data) + 1) if i in (0, len(data)) or data[i - 1 : i] == b"\n"]
    edits = [Edit("f.cu", starts[i], starts[i], b"new %d\n" % i) for i in inserted]
    edits += [Edit("f.cu", starts[i], starts[i + 1], b"") for i in deleted]
    gone, come = changed_lines(diff_from_edits(SourceFile("f.cu", data), edits))
    assert gone == {i + 1: b"line %d" % i for i in deleted}
    assert list(come.values()) == [b"new %d" % i for i in sorted(inserted)]


@pytest.mark.parametrize("size", [100, 2000])
def test_p13_a_big_replacement_shows_only_the_lines_that_differ(size: int) -> None:
    body = b"".join(b"    statement(%d);\n    }\n" % i for i in range(size))
    edit = Edit("f.cu", 0, len(body), body.replace(b"(50)", b"(fifty)").replace(b"(9", b"(nine "))
    gone, come = changed_lines(diff_from_edits(SourceFile("f.cu", body), [edit]))
    touched = [i for i in range(size) if i == 50 or str(i).startswith("9")]
    assert list(gone) == list(come) == [2 * i + 1 for i in touched]


def test_p13_an_edit_that_changes_nothing_is_not_shown() -> None:
    assert diff_from_edits(SourceFile("f.cu", b"abc\n"), [Edit("f.cu", 1, 2, b"b")]) == b""
    assert diff_from_edits(SourceFile("f.cu", b"abc\n"), []) == b""


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(0, 49), min_size=1), st.booleans(), st.booleans())
def test_the_text_is_what_git_would_print(repository: Path, touched: set[int], crlf: bool, final: bool) -> None:
    eol = b"\r\n" if crlf else b"\n"
    rows = [b"void f%d() {" % i if i % 7 == 0 else b"  g(%d);" % i for i in range(50)]
    old = eol.join(rows) + eol * final
    new = eol.join(b"  changed" if i in touched else row for i, row in enumerate(rows)) + eol * final
    run(repository, ["git", "config", "core.autocrlf", "false"])
    (repository / "g.cu").write_bytes(old)
    run(repository, ["git", "add", "g.cu"])
    (repository / "g.cu").write_bytes(new)
    expected = run(repository, ["git", "diff", "--patience", "g.cu"])
    assert unified_diff("g.cu", old, new) == re.sub(rb"(?m)^(diff --git|index) .*\n", b"", expected)


NAMES = [
    "with space.h",
    "tab\there.h",
    'quo"te.h',
    "back\\slash.h",
    "é/漢字 x.cuh",
    os.fsdecode(b"latin\xe9.h"),
    "a/b c/d.h",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_git_quotes(repository: Path, name: str) -> None:
    old, new = b"one\ntwo\n", b"one\n2\n"
    diff = unified_diff(name, old, new)
    check(repository, name, old, new, diff)
    (repository / name).write_bytes(old)
    run(repository, ["git", "add", "--", name])
    (repository / name).write_bytes(new)
    expected = run(repository, ["git", "diff", "--", name])
    assert diff == re.sub(rb"(?m)^(diff --git|index) .*\n", b"", expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a", b"a\n"),
        (b"a\n", b"a"),
        (b"a", b"b"),
        (b"", b"a"),
        (b"", b"a\n"),
        (b"a\n", b""),
        (b"a", b""),
        (b"a\r\n", b"a\n"),
        (b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"),
        (b"caf\xe9\n", b"th\xe9\n"),
        (b"a\r", b"b\r"),
        (b"a\x00b\n", b"a\x00c\n"),
        (b"a\n" * 10 + b"b", b"z\n" + b"a\n" * 10 + b"b"),
        (b"a\nb", b"a\nb\nc"),
    ],
)
def test_p06_line_ends_and_odd_bytes(repository: Path, old: bytes, new: bytes) -> None:
    diff = unified_diff("o.h", old, new)
    path = repository / "o.h"
    path.write_bytes(old)
    run(repository, ["git", "apply", "--whitespace=nowarn", "-"], diff)
    assert path.read_bytes() == new
    run(repository, ["git", "apply", "--whitespace=nowarn", "-R", "-"], diff)
    assert path.read_bytes() == old
    run(repository, ["patch", "-p1", "-s"], diff)
    assert path.read_bytes() == new


def test_diffs_of_several_files_join(repository: Path) -> None:
    names = ["j1.h", "j 2.h", "é3.h"]
    for name in names:
        (repository / name).write_bytes(b"old")
    run(repository, ["git", "apply"], b"".join(unified_diff(name, b"old", b"new\n") for name in names))
    assert [(repository / name).read_bytes() for name in names] == [b"new\n"] * 3


def test_p18_edits_outside_the_file_are_refused() -> None:
    with pytest.raises(EditError, match="ends after the file's 4 bytes"):
        diff_from_edits(SourceFile("f.cu", b"abc\n"), [Edit("f.cu", 3, 5, b"")])


@pytest.mark.parametrize("inserted", [0, 3])
def test_a_long_repetitive_macro_shows_only_what_changed(repository: Path, inserted: int) -> None:
    arm = [b"case Half: {", b"    if(a)", b"    {", b"        CHECK(false);", b"    }", b"    break;", b"}"] * 120
    old = b"".join(line + b" \\\n" for line in arm)
    new = old.replace(b"case Half", b"case fp16").replace(
        b"    break; \\\n", b"    break; \\\n" + b"    // \\\n" * inserted
    )
    diff = unified_diff("macro.h", old, new)
    gone, come = changed_lines(diff)
    assert (len(gone), len(come)) == (120, 120 * (1 + inserted))
    path = repository / "macro.h"
    path.write_bytes(old)
    run(repository, ["git", "apply", "-"], diff)
    assert path.read_bytes() == new


def similar_lines(count: int) -> list[bytes]:
    """Long lines that differ a little, many of them twice: what makes a similarity search slow."""
    made = random.Random(1)
    return [b"  CASE_%d(%b)" % (made.randrange(count // 3), b"float, " * 30) for i in range(count)]


def test_long_similar_lines_are_quick() -> None:
    lines = similar_lines(5000)
    data = b"\n".join(lines) + b"\n"
    places = [m.start() for m in re.finditer(b"float, \\)", data)][::3]
    edits = [Edit("f.cu", i, i + 5, b"double", "TL211") for i in places]
    begin = time.process_time()
    diff = diff_from_edits(SourceFile("f.cu", data), edits)
    assert len(changed_lines(diff)[0]) == len(places)
    unified_diff("f.cu", data, apply(data, edits))
    unified_diff("f.cu", data, b"\n".join(reversed(lines)))
    unified_diff("f.cu", b"a\nb\n" * 5000, b"b\na\na\n" * 4000)
    assert time.process_time() - begin < 10


def test_a_new_file_comes_from_nowhere(repository: Path) -> None:
    text = unified_diff("d/new.cu", b"", b"a\nb\n", created=True)
    assert text == b"--- /dev/null\n+++ b/d/new.cu\n@@ -0,0 +1,2 @@\n+a\n+b\n"
    subprocess.run(["git", "apply", "-"], input=text, cwd=repository, check=True)
    assert (repository / "d/new.cu").read_bytes() == b"a\nb\n"
    (repository / "d/new.cu").unlink()
