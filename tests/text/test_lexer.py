"""The lexer covers every byte, and knows what is code, what is text and what a directive holds."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torchless.text.lexer import (
    Kind,
    code_tokens,
    lex,
    match_angle,
    match_backward,
    match_forward,
)

# Pieces that switch the lexer's state, so that random text gets into trouble soon.
LITERALS = (b'"', b"'", b'R"(', b'R"x(', b')x"', b')"', b"0x1'0", b"1e+", b"u8", b"L", b"\xe9", b"\x00")
LINES = (b"//", b"/*", b"*/", b"\\", b"\n", b"\r\n", b"\r", b"\\\r\n", b"\\ \n", b" ", b"\xef\xbb\xbf")
DIRECTIVES = (b"#", b"include", b"<a>", b"define", b"<<<")
PIECES = st.sampled_from((*LITERALS, *LINES, *DIRECTIVES))
SOURCES = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=30).map(b"".join))
EOLS = pytest.mark.parametrize("eol", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])


def code(data: bytes) -> list[bytes]:
    return [t.text for t in code_tokens(lex(data))]


def names(data: bytes) -> list[bytes]:
    return [t.text for t in lex(data) if t.kind is Kind.NAME]


@given(SOURCES)
@example(b'"\\')
@example(b'"' + b"\\\n" * 200 + b"\\")
def test_tokens_concatenate_to_the_input(data: bytes) -> None:
    tokens = lex(data)
    assert b"".join(t.text for t in tokens) == data
    assert all(t.text == data[t.start : t.end] and t.start < t.end for t in tokens)
    assert [t.start for t in tokens] == [0, *(t.end for t in tokens)][: len(tokens)]


@given(SOURCES, st.data())
def test_a_slice_is_covered_too(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    tokens = lex(data, start, end)
    assert b"".join(t.text for t in tokens) == data[start:end]
    assert all(data[t.start : t.end] == t.text for t in tokens)


WHOLE = st.sampled_from(
    [
        (Kind.NAME, b"at"),
        (Kind.NAME, b"\xe9t\xe9"),
        (Kind.NUMBER, b"0x1'0p-3f"),
        (Kind.NUMBER, b".5e+1"),
        (Kind.STRING, b'"a\\"b"'),
        (Kind.STRING, b'u8"//"'),
        (Kind.STRING, b'LR"--(/* " )- )" )--"'),
        (Kind.STRING, b'R"(\n#include <x>\n)"'),
        (Kind.CHAR, b"'\\''"),
        (Kind.CHAR, b"L'\"'"),
        (Kind.PUNCT, b"<<<"),
        (Kind.PUNCT, b"->*"),
        (Kind.PUNCT, b">"),
        (Kind.COMMENT, b"/* \" ' // */"),
        (Kind.COMMENT, b"// it's \\\n more\n"),
    ]
)


@given(st.lists(WHOLE, max_size=20), st.sampled_from([b" ", b"\n", b"\r\n", b"\t\\\n", b" \\ \r\n "]))
def test_tokens_separated_by_blanks_come_back(tokens: list[tuple[Kind, bytes]], blank: bytes) -> None:
    found = [(t.kind, t.text) for t in lex(blank.join(text for _, text in tokens)) if t.kind is not Kind.BLANK]
    assert found == [(kind, text.rstrip(b"\n") if text.startswith(b"//") else text) for kind, text in tokens]


def test_p26_raw_string_with_the_longest_delimiter() -> None:
    raw = b'R"0123456789abcdef(")" )0123456789abcde" // )0123456789abcdef"'
    assert [t.kind for t in code_tokens(lex(raw + b";"))] == [Kind.STRING, Kind.PUNCT]
    too_long = b'R"0123456789abcdefg(x)0123456789abcdefg"'
    assert code(too_long)[0] == b"R"


@pytest.mark.parametrize("prefix", [b"", b"u8", b"u", b"U", b"L"])
def test_p26_include_inside_a_raw_string_is_no_directive(prefix: bytes) -> None:
    data = b"auto s = " + prefix + b'R"(\n#include <torch/all.h>\n#define A \\\n)";\nint x;\n'
    assert not [t for t in lex(data) if t.kind in (Kind.DIRECTIVE, Kind.HEADER) or t.directive]
    assert names(data) == [b"auto", b"s", b"int", b"x"]


def test_p26_a_name_that_ends_in_r_is_no_raw_prefix() -> None:
    assert code(b'FOR"(a)" b') == [b"FOR", b'"(a)"', b"b"]


@EOLS
def test_p26_unterminated_literals_end_with_the_line(eol: bytes) -> None:
    data = b"#error don't\"" + eol + b"int x" + eol + b'"open' + eol + b"int y"
    assert names(data) == [b"error", b"don", b"int", b"x", b"int", b"y"]


@EOLS
def test_p20_a_spliced_directive_goes_on(eol: bytes) -> None:
    data = b"#define A(x) \\" + eol + b"  f(x) \\ \t" + eol + b"  g" + eol + b"h" + eol + b"#undef A"
    directives = {t.text: t.directive for t in code_tokens(lex(data))}
    assert directives[b"f"] == directives[b"g"] == "define"
    assert directives[b"h"] == ""
    assert directives[b"A"] == "undef"


@EOLS
def test_p20_a_spliced_directive_ends_at_a_blank_line(eol: bytes) -> None:
    data = b"#define A a \\" + eol + eol + b"h"
    assert [(t.text, t.directive) for t in code_tokens(lex(data))][-2:] == [(b"a", "define"), (b"h", "")]


@EOLS
def test_p20_a_spliced_line_comment_goes_on(eol: bytes) -> None:
    data = b"// a \\" + eol + b"torch::Tensor" + eol + b"code"
    assert code(data) == [b"code"]


def test_p20_comment_marks_may_be_spliced() -> None:
    assert code(b"/\\\n/ a\nb /\\\r\n* c *\\\n/ d") == [b"b", b"d"]


def test_p20_long_macro_keeps_its_directive_and_backslashes() -> None:
    data = b"#define BIG(x) \\\r\n" + b"  call(x); \\\r\n" * 200 + b"  last(x)\r\nafter;\r\n"
    tokens = lex(data)
    assert {t.directive for t in tokens if t.text == b"call"} == {"define"}
    assert [t.directive for t in tokens if t.text == b"after"] == [""]
    assert all(t.kind is Kind.BLANK for t in tokens if b"\\" in t.text)


@EOLS
def test_p06_a_comment_does_not_swallow_its_line_end(eol: bytes) -> None:
    assert [t.text for t in lex(b"// a" + eol + b"b") if t.kind is Kind.COMMENT] == [b"// a"]


def test_p07_bom_is_blank_and_counts() -> None:
    data = "\ufeff#include <a.h> // 漢字\nint x;".encode()
    tokens = lex(data)
    assert tokens[0].kind is Kind.BLANK and tokens[0].end == 3
    assert [t.text for t in tokens if t.kind is Kind.HEADER] == [b"<a.h>"]
    assert next(t for t in tokens if t.text == b"int").start == data.index(b"int")


def test_p08_latin1_bytes_pass_through() -> None:
    data = b"// caf\xe9 \xff\nf(\"\xe9\", '\xe9', \xe9t\xe9);"
    assert b"".join(t.text for t in lex(data)) == data
    assert code(data) == [b"f", b"(", b'"\xe9"', b",", b"'\xe9'", b",", b"\xe9t\xe9", b")", b";"]


def test_p27_comments_and_strings_hold_no_names() -> None:
    data = b'"torch::Tensor expected" /* torch::Tensor */ // torch::Tensor\n R"(torch::Tensor)" \'torch\''
    assert names(data) == []


@pytest.mark.parametrize(
    ("data", "headers"),
    [
        (b"#include <a/b.h>", [b"<a/b.h>"]),
        (b' # /* x */ include /* y */ "a.h" // <b.h>', [b'"a.h"']),
        (b"#include \\\n <a//b.h>", [b"<a//b.h>"]),
        (b"#include MACRO(<a.h>)", []),
        (b"#define X <a.h>", []),
        (b"x # include <a.h>", []),
        (b"#\ninclude <a.h>", []),
        (b"/* */ #include <a.h>", [b"<a.h>"]),
        (b"a /*\n*/ #include <a.h>", []),
        (b"#include <a.h\r\n>", []),
        (b"int a;\r#include <a.h>\rint b;", [b"<a.h>"]),
    ],
)
def test_headers(data: bytes, headers: list[bytes]) -> None:
    assert [t.text for t in lex(data) if t.kind is Kind.HEADER] == headers


def test_closing_angles_come_one_by_one() -> None:
    assert b" ".join(code(b"a<b<c>> d<<<e>>>(f)")) == b"a < b < c > > d <<< e > > > ( f )"


def test_matching_brackets() -> None:
    tokens = code_tokens(lex(b"f(a[1], {x}) g)"))
    assert match_forward(tokens, 1) == 10
    assert match_backward(tokens, 10) == 1
    assert match_forward(tokens, 12) == -1
    assert match_forward(code_tokens(lex(b"(a")), 0) == -1


def test_crossing_brackets_match_nothing() -> None:
    tokens = code_tokens(lex(b"( [ ) ]"))
    assert match_forward(tokens, 0) == match_forward(tokens, 1) == -1
    assert match_backward(tokens, 3) == match_backward(tokens, 2) == -1


@pytest.mark.parametrize(
    ("data", "close"),
    [
        (b"<a, b<c>>", 7),
        (b"<(a > b)>", 6),
        (b"<a; b>", -1),
        (b"<a && b>", -1),
        (b"<a", -1),
        (b"<f(]>", -1),
    ],
)
def test_template_arguments(data: bytes, close: int) -> None:
    assert match_angle(code_tokens(lex(data)), 0) == close


@pytest.mark.parametrize(
    "data",
    [
        b'"' + b"\\\n" * 100_000 + b"\\",
        b"/" * 200_000,
        b"/*" * 100_000,
        b'R"(' + b')x"' * 70_000,
        b"\\ " * 100_000,
        b"'" * 200_000,
        b"# \\\n" * 50_000,
    ],
    ids=["splices", "slashes", "openers", "raw", "backslashes", "quotes", "directives"],
)
def test_time_is_linear(data: bytes) -> None:
    begin = time.process_time()
    lex(data)
    assert time.process_time() - begin < 5
