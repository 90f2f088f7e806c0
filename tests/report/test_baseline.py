"""The baseline: what is known stays known when it moves, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.baseline import VERSION, BaselineError, debts_of, fingerprints, read, render, split
from torchless.model import Debt, Finding
from torchless.text.source import SourceFile

HEADER = b"#include <torch/extension.h>"


def findings(files: dict[str, bytes], what: bytes = HEADER, code: str = "TL111") -> list[Finding]:
    """A finding wherever ``what`` stands in ``files``, in order."""
    return [
        Finding(code, "m", path, match.start(), match.end())
        for path in sorted(files)
        for match in re.finditer(re.escape(what), files[path])
    ]


def compare(before: dict[str, bytes], after: dict[str, bytes], *whats: bytes):
    """How a baseline of ``before`` splits what is found in ``after``."""
    whats = whats or (HEADER,)
    old = [f for what in whats for f in findings(before, what)]
    debts = debts_of(old, lambda path: SourceFile(path, before[path]))
    now = [f for what in whats for f in findings(after, what)]
    return split(now, debts, lambda path: SourceFile(path, after[path]), after.__contains__)


def numbers(after: dict[str, bytes], some: tuple[Finding, ...]) -> list[int]:
    return [SourceFile(f.path, after[f.path]).line_of(f.start) for f in some]


BLOCK = b'#include "a.h"\n\n' + HEADER + b'\n#include "b.h"\n'


def test_what_was_there_is_known_and_what_was_not_is_new():
    before = {"a.cu": BLOCK}
    after = {"a.cu": BLOCK + b"\nint x;\n" + HEADER + b"\nint y;\n"}
    parts = compare(before, after)
    assert (numbers(after, parts.known), numbers(after, parts.new), parts.left) == ([3], [7], ())


@pytest.mark.parametrize(
    "after",
    [
        b"// one\n// two\n\n" + BLOCK,
        b"int x;\n" * 50 + BLOCK + b"int y;\n" * 50,
        BLOCK.replace(b"\n\n", b"\n\n\n\n"),
        BLOCK.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + BLOCK,
        BLOCK.replace(HEADER, b"   " + HEADER + b"\t "),
        BLOCK.replace(b"a.h", b"other.h"),
        BLOCK.replace(b"b.h", b"other.h"),
        HEADER,
        b"int x;\n" + HEADER + b"\nint y;\n",
    ],
)
def test_moving_it_or_changing_its_neighbours_makes_nothing_new(after):
    parts = compare({"a.cu": BLOCK}, {"a.cu": after})
    assert (len(parts.known), parts.new, parts.left) == (1, (), ())


def test_the_neighbours_tell_which_of_two_is_new():
    after = {"a.cu": b"int x;\n" + HEADER + b"\nint y;\n" + BLOCK}
    parts = compare({"a.cu": BLOCK}, after)
    assert (numbers(after, parts.known), numbers(after, parts.new)) == ([6], [2])


def test_a_copy_of_a_block_is_new():
    parts = compare({"a.cu": BLOCK}, {"a.cu": BLOCK + BLOCK})
    assert (len(parts.known), len(parts.new)) == (1, 1)


def test_fixing_one_of_two_neighbours_leaves_the_other_known():
    other = b"#include <ATen/ATen.h>"
    before = {"a.cu": HEADER + b"\n" + other + b"\n"}
    parts = compare(before, {"a.cu": other + b"\n"}, HEADER, other)
    assert (len(parts.known), parts.new) == (1, ())
    assert [debt.line for debt in parts.left] == [HEADER.decode()]


def test_another_code_or_another_file_is_new():
    text = lambda path: SourceFile(path, BLOCK)  # noqa: E731
    debts = debts_of(findings({"a.cu": BLOCK}), text)
    others = findings({"a.cu": BLOCK}, code="TL113") + findings({"b.cu": BLOCK})
    assert split(others, debts, text, lambda path: True).known == ()


def test_a_renamed_file_is_known_but_a_copied_one_is_new():
    assert len(compare({"a.cu": BLOCK}, {"b.cu": BLOCK}).known) == 1
    copied = compare({"a.cu": BLOCK}, {"a.cu": BLOCK, "b.cu": BLOCK})
    assert ([f.path for f in copied.known], [f.path for f in copied.new]) == (["a.cu"], ["b.cu"])


def test_a_renamed_file_with_other_neighbours_is_new():
    parts = compare({"a.cu": BLOCK}, {"b.cu": b"int x;\n" + HEADER + b"\nint y;\n"})
    assert (len(parts.known), len(parts.new), len(parts.left)) == (0, 1, 1)


def test_a_file_that_cannot_be_read_is_never_known():
    found = [Finding("TL006", "m", "a.cu", 0, 0)]
    text = lambda path: SourceFile(path, b"")  # noqa: E731
    assert debts_of(found, text) == ()
    assert split(found, [Debt("a.cu", "TL006", "", "")], text, lambda path: True).new == tuple(found)


lines = st.lists(st.sampled_from([HEADER, b"int x;", b"", b"}"]), max_size=8).map(lambda some: b"\n".join(some))
checkouts = st.dictionaries(st.sampled_from(["a.cu", "b.cu", "c.cu"]), lines, max_size=3)


@given(checkouts, checkouts)
def test_no_file_and_no_checkout_may_have_more_than_the_baseline_says(before, after):
    parts = compare(before, after)
    known, new = len(parts.known), len(parts.new)
    old = len(findings(before))
    assert known + new == len(findings(after))
    assert known + sum(debt.count for debt in parts.left) == old
    for path in set(before) & set(after):
        there, was = after[path].count(HEADER), before[path].count(HEADER)
        gone = sum(before[p].count(HEADER) for p in set(before) - set(after))
        assert sum(f.path == path for f in parts.new) >= there - was - gone
        assert sum(f.path == path for f in parts.known) >= min(there, was)


@given(checkouts)
def test_a_baseline_of_today_knows_everything(tmp_path_factory, files):
    found = findings(files)
    file = tmp_path_factory.mktemp("baseline") / "b.json"
    file.write_bytes(render(debts_of(found, lambda path: SourceFile(path, files[path]))))
    parts = split(found, read(file), lambda path: SourceFile(path, files[path]), files.__contains__)
    assert (parts.new, parts.left) == ((), ())


def test_the_file_is_sorted_with_one_row_a_line(tmp_path):
    debts = [Debt("b.cu", "TL2", "x", "c"), Debt("a.cu", "TL2", "é", "c"), Debt("a.cu", "TL1", "x", "c")]
    text = render([*debts, debts[1]])
    assert text == render([debts[1], *reversed(debts)])
    assert text.decode().splitlines() == [
        "{",
        ' "torchless_baseline": 1,',
        ' "findings": [',
        '  {"path": "a.cu", "code": "TL1", "line": "x", "context": "c", "count": 1},',
        '  {"path": "a.cu", "code": "TL2", "line": "é", "context": "c", "count": 2},',
        '  {"path": "b.cu", "code": "TL2", "line": "x", "context": "c", "count": 1}',
        " ]",
        "}",
    ]
    (tmp_path / "b.json").write_bytes(text)
    assert read(tmp_path / "b.json") == (
        Debt("a.cu", "TL1", "x", "c"),
        Debt("a.cu", "TL2", "é", "c", 2),
        Debt("b.cu", "TL2", "x", "c"),
    )


@pytest.mark.parametrize(
    "debt",
    [
        Debt("a\udce4.cu", "TL1", "x", "c"),
        Debt('a"\\\n.cu', "TL1", '"\x00\u2028', "c"),
    ],
)
def test_odd_names_survive(tmp_path, debt):
    (tmp_path / "b.json").write_bytes(render([debt]))
    assert read(tmp_path / "b.json") == (debt,)
    assert json.loads((tmp_path / "b.json").read_text("utf-8"))


def test_an_empty_baseline(tmp_path):
    (tmp_path / "b.json").write_bytes(render([]))
    assert read(tmp_path / "b.json") == ()


def test_long_lines_are_cut_but_told_apart():
    line = b"x" * 500
    found = findings({"a.cu": line}, line)
    one, two = (debts_of(found, lambda path, data=data: SourceFile(path, data))[0] for data in (line, line[:-1] + b"y"))
    assert len(one.line) == 160
    assert one.context != two.context


def test_text_that_is_not_utf8(tmp_path):
    data = b"// \xe4\xff\n"
    debts = debts_of(findings({"a.cu": data}, b"\xe4"), lambda path: SourceFile(path, data))
    (tmp_path / "b.json").write_bytes(render(debts))
    assert read(tmp_path / "b.json") == debts
    assert debts[0].line == r"// \xe4\xff"


def test_fingerprints_are_numbered_where_nothing_tells_them_apart():
    files = {"a.cu": BLOCK + BLOCK}
    names = fingerprints(findings(files), lambda path: SourceFile(path, files[path]))
    first, second = names.values()
    assert first.endswith(":1") and second == first[:-1] + "2"


GOOD = {"path": "a.cu", "code": "TL1", "line": "x", "context": "c", "count": 1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["no such baseline", "--write-baseline"]),
        (b"", ["damaged", "delete it", "--write-baseline"]),
        (b"\xff\xfe{}", ["damaged"]),
        (b"<<<<<<< HEAD\n{}", ["damaged"]),
        (b"[" * 100_000, ["damaged"]),
        (b"[]", ["not a baseline of torchless"]),
        (b"{}", ["not a baseline of torchless"]),
        (b'{"torchless_baseline": "1"}', ["not a baseline of torchless"]),
        (b'{"torchless_baseline": true, "findings": []}', ["not a baseline of torchless"]),
        (b'{"torchless_baseline": 2, "findings": []}', ["version 2", f"knows {VERSION}", "update torchless"]),
        (b'{"torchless_baseline": 0, "findings": []}', ["version 0", "delete it"]),
        (b'{"torchless_baseline": 1}', ["row 1", "damaged"]),
        (b'{"torchless_baseline": 1, "findings": {}}', ["row 1"]),
        (json.dumps({"torchless_baseline": 1, "findings": [GOOD, {**GOOD, "count": 0}]}).encode(), ["row 2"]),
        (json.dumps({"torchless_baseline": 1, "findings": [{**GOOD, "more": 1}]}).encode(), ["row 1"]),
        (json.dumps({"torchless_baseline": 1, "findings": [{**GOOD, "line": None}]}).encode(), ["row 1"]),
        (json.dumps({"torchless_baseline": 1, "findings": [{**GOOD, "count": True}]}).encode(), ["row 1"]),
        (json.dumps({"torchless_baseline": 1, "findings": ["x"]}).encode(), ["row 1"]),
    ],
)
def test_a_baseline_that_cannot_be_used_is_an_error_that_helps(tmp_path: Path, content, words):
    file = tmp_path / "b.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BaselineError) as caught:
        read(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_folder_is_no_baseline(tmp_path):
    with pytest.raises(BaselineError, match="cannot be read: Is a directory"):
        read(tmp_path)
