from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchless.closure.conditions import (
    AS_TEXT,
    FUNCTION,
    MAYBE,
    OPAQUE,
    UNDEFINED,
    ConditionError,
    Value,
    evaluate,
    implied,
    unsettled,
)
from torchless.closure.expressions import parse

MACROS: Mapping[str, Value] = {
    "ONE": "1",
    "TWO": "2",
    "SUM": "ONE + TWO",
    "PAREN": "(ONE + TWO)",
    "ALIAS": "SUM",
    "SELF": "SELF",
    "PING": "PONG",
    "PONG": "PING",
    "EMPTY": "",
    "TEXT": '"x"',
    "HAS_ONE": "defined(ONE)",
    "PLUS_EMPTY": "+ 0",
    "CALLS": "F(1)",
    "F": FUNCTION,
    "OPAQUE": OPAQUE,
    "MAYBE": MAYBE,
    "MAYBE_TOO": MAYBE,
    "USES_MAYBE": "MAYBE",
}


def look(name: str) -> Value:
    return MACROS.get(name, UNDEFINED)


def has(header: str, angled: bool) -> bool | None:
    return {"there.h": True, "gone.h": False}.get(header)


def value(text: str) -> int | None:
    return evaluate((parse(text), text), look, has)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1), ("0", 0), ("0x10", 16), ("0b11", 3), ("017", 15), ("1'000", 1000), ("10uLL", 10), ("3z", 3),
        ("'a'", 97), ("'\\n'", 10), ("u8'a' == 97", 1), ("true", 1), ("false", 0),
        ("defined ONE", 1), ("defined(ONE)", 1), ("defined ( X )", 0), ("!defined X && !X", 1),
        ("defined F", 1), ("defined OPAQUE", 1), ("F == 0", 1),
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("10 - 4 - 3", 3), ("-7 / 2", -3), ("-7 % 2", -1), ("1 << 4 >> 2", 4),
        ("6 & 3 | 8 ^ 1", 11), ("~0 == -1", 1), ("1 < 2 == 1", 1), ("0 ? 1 : 2", 2), ("1 ? 0 ? 3 : 4 : 5", 4),
        ("not 0 and 1", 1), ("1 xor 1", 0), ("3 not_eq 4", 1), ("compl 0", -1),
        ("-1 < 0u", 0), ("-1 > 0u", 1), ("-1 < 0", 1), ("0u - 1 == 18446744073709551615u", 1),
        ("9223372036854775807 + 1 < 0", 1), ("0xFFFFFFFFFFFFFFFF > 0", 1),
        ("TWO * SUM", 4), ("TWO * PAREN", 6), ("SUM", 3), ("ALIAS * TWO", 5), ("SELF", None), ("PING", None),
        ("TWO - SELF - SUM", 3), ("HAS_ONE", 1), ("HAS_ONE + HAS_ONE", 2), ("EMPTY + 0", 0),
        ("__has_include(<there.h>)", 1), ('__has_include("gone.h")', 0), ("__has_include( <what.h> )", None),
        ("__has_include(NAME)", None),
    ],
)  # fmt: skip
def test_values(text: str, expected: int | None) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MAYBE", None), ("OPAQUE", None), ("defined MAYBE", None), ("!defined MAYBE", None), ("F(1)", None),
        ("MAYBE && 0", 0), ("0 && MAYBE", 0), ("MAYBE && 1", None), ("MAYBE || 1", 1), ("1 || MAYBE", 1),
        ("MAYBE || 0", None), ("MAYBE + 1", None), ("MAYBE ? 1 : 1", 1), ("MAYBE ? 1 : 2", None), ("USES_MAYBE", None),
        ("F(1) && X", 0), ("CALLS", None), ("CALLS || 1", 1), ("TWO * CALLS", None), ("UNDEFINED(1)", None),
        ("1 / 0", None), ("0 && 1 / 0", 0), ("1 << 64", None), ("1 << -1", None), ("EMPTY", None), ("TEXT", None),
        ("MAYBE * TWO - SUM", None), ("'ab'", None), ("F(a, (b), \")\") || X", None),
    ],
)  # fmt: skip
def test_what_cannot_be_decided(text: str, expected: int | None) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "1)", "1 2", "defined", "defined(", "defined(A", "1.5", "1_km", "@", '"x"', "A B", "? 1 : 2",
     "1 ? 2", "F(", "1uu", "09", "(" * 500 + "1" + ")" * 500, "+".join("1" * 500), "! " * 500 + "1"],
)  # fmt: skip
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(ConditionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("MAYBE && defined OPAQUE && ONE", ["MAYBE"]),
        ("OPAQUE > 2 || F(x)", ["F", "OPAQUE"]),
        ("USES_MAYBE", ["MAYBE"]),
        ("__has_include(<what.h>)", ["__has_include"]),
        ("EMPTY && SELF", ["EMPTY"]),
    ],
)
def test_what_a_condition_hangs_on(text: str, names: list[str]) -> None:
    assert unsettled((parse(text), text), look) == names


@pytest.mark.parametrize(
    ("text", "holds", "expected"),
    [
        ("defined A", True, [("A", True)]),
        ("!defined A", True, [("A", False)]),
        ("defined A && !defined B", True, [("A", True), ("B", False)]),
        ("defined A && !defined B", False, []),
        ("defined A || defined B", False, [("A", False), ("B", False)]),
        ("A", True, []),
    ],
)
def test_what_follows_from_a_condition(text: str, holds: bool, expected: list[tuple[str, bool]]) -> None:
    assert list(implied(parse(text), holds)) == expected


def test_macros_may_make_a_condition_of_what_is_none() -> None:
    assert evaluate((AS_TEXT, "1 PLUS_EMPTY"), look, has) == 1
    assert evaluate((AS_TEXT, "1 EMPTY 2"), look, has) is None
    assert evaluate((AS_TEXT, "u8'a' PLUS_EMPTY"), look, has) == 97


def test_expansion_that_grows_without_end_is_not_decided() -> None:
    macros = {f"M{n}": f"M{n + 1} + M{n + 1}" for n in range(40)}
    text = "2 * M0"
    assert evaluate((parse(text), text), lambda name: macros.get(name, UNDEFINED), has) is None


ATOMS = st.sampled_from(["0", "1", "2", "3u", "A", "B", "C", "D", "defined A", "defined C"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["!", "-", "~"]), inner).map(lambda t: f"{t[0]} {t[1]}"),
        st.tuples(inner, st.sampled_from("+ - * & | ^ < > == != <= >= && ||".split()), inner).map(  # noqa: SIM905
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) ? ({t[1]}) : ({t[2]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, st.sampled_from(["0", "1"]), st.sampled_from(["0", "1"]))
def test_what_is_decided_holds_for_every_value_of_the_unknown(text: str, c: str, d: str) -> None:
    """A and B are known. Whatever C and D are, a decided condition has the value that it has with them."""
    known: dict[str, Value] = {"A": "1", "B": "2"}
    condition = (parse(text), text)
    partly = evaluate(condition, lambda name: known.get(name, MAYBE), has)
    for unknown in ({}, {"C": c}, {"D": d}, {"C": c, "D": d}):
        values: dict[str, Value] = {**known, **unknown}
        whole = evaluate(condition, lambda name, values=values: values.get(name, UNDEFINED), has)  # type: ignore[misc]
        assert whole is not None
        assert partly is None or partly == whole
