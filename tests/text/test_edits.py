"""Edits merge the same way in any order, conflict exactly when they must, and move offsets where the bytes go."""

import random
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from torchless.model import Edit
from torchless.text.edits import EditError, apply, map_offset, merge, merge_groups, offset_map, unmap_offset

LENGTH = 12


def edits(path: str = "a.cu", length: int = LENGTH) -> st.SearchStrategy[Edit]:
    ranges = st.tuples(st.integers(0, length), st.integers(0, length)).map(sorted)
    text = st.sampled_from([b"", b"x", b"yy", b"\n"])
    return st.builds(
        lambda r, new, code, rank: Edit(path, r[0], r[1], new, code, rank),
        ranges,
        text,
        st.sampled_from(["TL101", "TL203"]),
        st.integers(-1, 1),
    )


def overlap(one: Edit, other: Edit) -> bool:
    """The definition of a conflict, written out for a pair."""
    if one.path != other.path or (one.start, one.end, one.new) == (other.start, other.end, other.new):
        return False
    if one.start == one.end and other.start == other.end:
        return False
    if one.start == one.end or other.start == other.end:
        point, whole = (one, other) if one.start == one.end else (other, one)
        return whole.start < point.start < whole.end
    return max(one.start, other.start) < min(one.end, other.end)


def cells(data: bytes, made: list[Edit]) -> bytes:
    """Apply one by one on a list of cells that never move: slow, and right by its looks."""
    slots = [b""] * (len(data) + 1)  # what is inserted before byte i
    body = [data[i : i + 1] for i in range(len(data))]
    for edit in sorted(set(made), key=lambda e: (e.rank, e.code, e.new)):
        if edit.start == edit.end:
            slots[edit.start] += edit.new
    for edit in made:
        if edit.start < edit.end:
            body[edit.start : edit.end] = [edit.new] + [b""] * (edit.end - edit.start - 1)
    return b"".join(slot + byte for slot, byte in zip(slots, [*body, b""], strict=True))


@given(st.lists(edits(), max_size=8), st.randoms(use_true_random=False))
def test_p04_merge_takes_out_exactly_what_conflicts(given_edits: list[Edit], shuffle: random.Random) -> None:
    result = merge(given_edits)
    lost = {e for e in given_edits if any(overlap(e, other) for other in given_edits)}
    ranges = {(e.start, e.end, e.new) for e in lost}
    assert {(e.start, e.end, e.new) for e in result.edits} == {
        (e.start, e.end, e.new) for e in given_edits if (e.start, e.end, e.new) not in ranges
    }
    assert {(e.start, e.end, e.new) for c in result.conflicts for e in (c.first, c.second)} == ranges
    assert all(overlap(c.first, c.second) for c in result.conflicts)
    shuffle.shuffle(given_edits)
    assert merge(given_edits) == result
    assert merge(given_edits + given_edits) == result


@given(st.binary(min_size=LENGTH, max_size=LENGTH), st.lists(edits(), max_size=8))
def test_apply_is_what_one_by_one_gives(data: bytes, given_edits: list[Edit]) -> None:
    kept = list(merge(given_edits).edits)
    assert apply(data, kept) == cells(data, kept)
    assert apply(data, reversed(kept)) == cells(data, kept)


GROUPS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.lists(st.one_of(edits("x.cu", 4), edits("y.h", 4)), max_size=3),
    max_size=4,
)


@given(GROUPS, st.randoms(use_true_random=False))
def test_p04_groups_apply_whole_or_not_at_all(groups: dict[str, list[Edit]], shuffle: random.Random) -> None:
    result = merge_groups(groups)
    taken: list[Edit] = []
    expected = []
    for name in sorted(groups):
        if not any(overlap(e, other) for e in groups[name] for other in taken + groups[name]):
            expected.append(name)
            taken += groups[name]
    assert list(result.applied) == expected
    assert result.edits == merge(taken).edits
    assert merge(taken).conflicts == ()
    assert {c.group for c in result.conflicts} == set(groups) - set(expected)
    for conflict in result.conflicts:
        assert overlap(conflict.edit, conflict.other)
        assert conflict.edit in groups[conflict.group]
        assert conflict.winner == conflict.group or conflict.winner in result.applied
        assert conflict.other in groups[conflict.winner]
    names = list(groups)
    shuffle.shuffle(names)
    assert merge_groups({name: list(reversed(groups[name])) for name in names}) == result


def test_p04_groups_may_meet_at_a_boundary() -> None:
    middle, before, after = (Edit("a.cu", *r, b"x") for r in ((2, 4), (2, 2), (4, 4)))
    beside = Edit("a.cu", 4, 6, b"y")
    assert merge_groups({"a": [middle], "b": [before, after], "c": [beside]}).conflicts == ()
    assert merge_groups({"a": [before, after], "b": [beside], "c": [middle]}).conflicts == ()
    inside = Edit("a.cu", 3, 3, b"x")
    assert [c.edit for c in merge_groups({"a": [middle], "b": [inside]}).conflicts] == [inside]
    assert [c.edit for c in merge_groups({"b": [middle], "a": [inside]}).conflicts] == [middle]


def test_p04_the_first_group_by_name_wins_and_both_are_named() -> None:
    late = Edit("a.cu", 0, 4, b"x", "TL203")
    early = Edit("a.cu", 2, 6, b"y", "TL301")
    result = merge_groups({"b": [late, Edit("b.h", 0, 1, b"")], "a": [early]})
    assert result.edits == (early,)
    assert [str(c) for c in result.conflicts] == [
        "a.cu: replacement of bytes 0-4 (TL203) of b and replacement of bytes 2-6 (TL301) of a overlap"
    ]


def test_p01_one_edit_from_twelve_tus_is_made_once() -> None:
    edit = Edit("common.h", 3, 3, b'#include "t.h"\n', "TL102")
    assert merge([edit] * 12).edits == (edit,)
    result = merge_groups({f"unit{i}": [edit] for i in range(12)})
    assert result.edits == (edit,) and len(result.applied) == 12


def test_p03_two_texts_for_one_range_are_a_conflict() -> None:
    one, other = Edit("a.h", 1, 2, b"float", "TL211"), Edit("a.h", 1, 2, b"half", "TL211")
    assert merge([one, other]).edits == ()
    assert str(merge([other, one]).conflicts[0]) == (
        "a.h: replacement of bytes 1-2 (TL211) and replacement of bytes 1-2 (TL211) overlap"
    )


def test_two_rules_may_make_one_replacement_but_insert_twice() -> None:
    replaced = merge([Edit("a", 1, 2, b"x", "TL203"), Edit("a", 1, 2, b"x", "TL201")]).edits
    assert replaced == (Edit("a", 1, 2, b"x", "TL201"),)
    closers = [Edit("a", 1, 1, b")", "TL203"), Edit("a", 1, 1, b")", "TL201"), Edit("a", 1, 1, b")", "TL201", rank=1)]
    assert apply(b"--", closers) == b"-)))-"


def test_insertions_at_one_place_go_by_rank_code_text() -> None:
    at = [(1, "TL101", b"d"), (0, "TL203", b"c"), (0, "TL102", b"b"), (0, "TL102", b"a")]
    assert apply(b"", [Edit("a", 0, 0, new, code, rank) for rank, code, new in at]) == b"abcd"


def test_insertions_at_the_edges_of_a_replacement_stay_outside() -> None:
    around = [Edit("a", 1, 3, b"mid"), Edit("a", 1, 1, b"("), Edit("a", 3, 3, b")")]
    assert apply(b"0123", around) == b"0(mid)3"
    assert merge([*around, Edit("a", 2, 2, b"!")]).conflicts


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (2, 5), (5, 5)])
def test_p18_ranges_outside_the_file_are_refused(start: int, end: int) -> None:
    with pytest.raises(EditError, match=r"^a\.cu: ") as caught:
        apply(b"1234", [Edit("a.cu", start, end, b"x", "TL101")])
    assert "TL101" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [merge, lambda e: merge_groups({"u": e}), offset_map])
def test_p18_a_negative_length_is_refused_everywhere(function: object) -> None:
    with pytest.raises(EditError, match="not a range"):
        function([Edit("a.cu", 9, 4, b"")])  # type: ignore[operator]


def test_apply_refuses_conflicts_and_several_files() -> None:
    with pytest.raises(EditError, match="overlap"):
        apply(b"1234", [Edit("a", 0, 2, b""), Edit("a", 1, 3, b"")])
    with pytest.raises(EditError, match="a and b"):
        apply(b"1234", [Edit("a", 0, 1, b""), Edit("b", 2, 3, b"")])


@given(st.lists(edits(), max_size=6), st.integers(0, LENGTH))
def test_offsets_follow_their_bytes(given_edits: list[Edit], offset: int) -> None:
    made = merge(given_edits).edits
    data = bytes(range(100, 100 + LENGTH))  # every byte is told apart from the others and from new text
    after = apply(data, made)
    new = map_offset(made, offset)
    if any(e.start <= offset < e.end for e in made):
        replaced = next(e for e in made if e.start <= offset < e.end)
        assert after[new : new + len(replaced.new)] == replaced.new
    elif offset == LENGTH:
        assert new == len(after)
    else:
        assert after[new] == data[offset]
    if not any(e.start <= offset < e.end for e in made):
        assert unmap_offset(made, new) == offset


@given(st.lists(edits(), max_size=6), st.data())
def test_new_text_has_no_old_offset(given_edits: list[Edit], draw: st.DataObject) -> None:
    made = merge(given_edits).edits
    data = bytes(range(100, 100 + LENGTH))
    after = apply(data, made)
    assume(after)
    new = draw.draw(st.integers(0, len(after) - 1))
    old = unmap_offset(made, new)
    assert old == (data.index(after[new]) if after[new] in data and after[new] < 112 else None)
    if old is not None:
        assert map_offset(made, old) == new


@given(
    st.text(alphabet="é漢a\n\r", max_size=8), st.sampled_from(["\ufeff", ""]), st.sampled_from(["utf-8", "utf-16-le"])
)
def test_p07_offsets_are_bytes_not_characters(comment: str, bom: str, encoding: str) -> None:
    data = (bom + "// " + comment + "\nTENSOR t;").encode(encoding)
    old, new = "TENSOR".encode(encoding), b"aiter"
    at = data.index(old)
    assert apply(data, [Edit("a.cu", at, at + len(old), new)]) == data.replace(old, new)


@pytest.mark.parametrize("eol", [b"\n", b"\r\n"])
def test_p20_an_edit_in_a_long_macro_keeps_its_backslashes(eol: bytes) -> None:
    row = b"    run<TENSOR>(x);        \\" + eol
    data = b"#define BIG(x) \\" + eol + row * 200 + b"    end" + eol
    places = [i for i in range(len(data)) if data.startswith(b"TENSOR", i)]
    after = apply(data, [Edit("a.h", i, i + 6, b"T") for i in places])
    assert after == data.replace(b"TENSOR", b"T")
    assert after.count(b"\\" + eol) == 201


def test_many_edits_are_quick() -> None:
    many = [Edit("a.cu", 4 * i, 4 * i + (i % 3), b"abc", "TL203") for i in range(50_000)]
    random.Random(0).shuffle(many)
    begin = time.process_time()
    result = merge_groups({f"unit{k:03}": many[k::100] for k in range(100)})
    apply(b"-" * 200_000, result.edits)
    moved = offset_map(result.edits)
    assert all(moved.old(moved.new(4 * i + 3)) == 4 * i + 3 for i in range(50_000))
    assert time.process_time() - begin < 10
