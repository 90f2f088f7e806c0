"""Literals taken apart stand for what Python makes of them, and what is spelled into one comes out again."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchless.printed.literals import Literal, Unit, formatted, interpolated, spell, units_of

QUOTES = st.sampled_from(['"', "'", '"""', "'''"])
TEXT = st.text(alphabet="ab {}\\\"'%\n\u00e9::;(x)", max_size=30)


def text_of(units: list[Unit] | None) -> str:
    assert units is not None
    return "".join(u.text for u in units)


@pytest.mark.parametrize(
    ("spelled", "text"),
    [
        ('"a\\n\\x41\\u00e9\\q\\\n"', "a\nA\u00e9\\q"),
        ('r"a\\n\\""', 'a\\n\\"'),
        ("'''it's\n'''", "it's\n"),
        ('"a" "b"\n  \'c\'', "abc"),
        ('("a"\n "b")', "ab"),
        ('f"{{x}} {y!r:>{w}} z"', "{x} y z"),
        ('"a" f"{b}" "c{d}"', "abc{d}"),
        ('""', ""),
    ],
)
def test_units_stand_for_the_text(spelled: str, text: str) -> None:
    assert text_of(units_of(spelled, 0, "\n")) == text


def test_bytes_are_no_text() -> None:
    assert units_of('b"torch::Tensor"', 0, "\n") is None


def test_units_know_the_bytes_that_spell_them() -> None:
    spelled = '"\u00e9" f"{{{name}\\n"'
    units = units_of(spelled, 100, "\n")
    assert units is not None
    data = b"." * 100 + spelled.encode()
    assert [(u.text, data[u.start : u.end].decode(), u.is_hole) for u in units] == [
        ("\u00e9", "\u00e9", False),
        ("{", "{{", False),
        ("name", "{name}", True),
        ("\n", "\\n", False),
    ]


def test_a_template_of_format() -> None:
    units = units_of('"void {name}() {{ return {0.x}; }}"', 0, "\n")
    assert units is not None
    made = formatted(units)
    assert text_of(made) == "void name() { return 0; }"
    assert [u.text for u in made or () if u.is_hole] == ["name", "0"]


def test_an_f_string_that_is_formatted_later() -> None:
    units = units_of('f"{{{{ {k.name} {{body}} }}}}"', 0, "\n")
    assert units is not None
    made = formatted(units)
    assert text_of(made) == "{ k.name body }"
    assert {u.literal.braces for u in made or ()} == {2}


@pytest.mark.parametrize("spelled", ['"{"', '"} x"', '"{a"'])
def test_what_format_refuses_is_no_template(spelled: str) -> None:
    units = units_of(spelled, 0, "\n")
    assert units is not None
    assert formatted(units) is None


def test_percent() -> None:
    units = units_of('"int %(name)s = %d %% 3;"', 0, "\n")
    assert units is not None
    assert text_of(interpolated(units)) == "int name =  % 3;"
    unclear = units_of('"a %; b"', 0, "\n")
    assert unclear is not None
    assert interpolated(unclear) is None


@given(TEXT, QUOTES, st.sampled_from(["", "r", "f", "rf"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_is_spelled_reads_the_same(text: str, quotes: str, prefix: str, newline: str, is_template: bool) -> None:
    literal = Literal(prefix, quotes, newline, braces=("f" in prefix) + is_template)
    spelled = spell(text, literal)
    if spelled is None:
        assert literal.is_raw
        return
    whole = f"{prefix}{quotes}{spelled}{quotes}"
    value = ast.literal_eval(whole) if "f" not in prefix else eval(whole)
    assert (value.format() if is_template else value) == text
    units = units_of(whole, 0, newline)
    assert units is not None
    assert text_of(formatted(units) if is_template else units) == text


@given(TEXT, QUOTES)
def test_percent_signs_are_doubled(text: str, quotes: str) -> None:
    spelled = spell(text, Literal("", quotes, "\n", percent=True))
    assert spelled is not None
    assert ast.literal_eval(f"{quotes}{spelled}{quotes}") % () == text
