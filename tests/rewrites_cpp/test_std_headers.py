from __future__ import annotations

import pytest

from torchless.rewrites.std_headers import lost_headers, used_headers
from torchless.text.lexer import code_tokens, lex


def used(text: str) -> list[str]:
    return [u.header for u in used_headers(code_tokens(lex(text.encode())))]


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("std::optional<int> x = std::nullopt;", ["<optional>"]),
        ("auto x = ::std::min<int64_t>(a, b);", ["<algorithm>", "<cstdint>"]),
        ("float m = -FLT_MAX;", ["<cfloat>"]),
        ("float m = INFINITY;", ["<cmath>"]),
        ("memcpy(a, b, 4);", ["<cstring>"]),
        ("std::memcpy(a, b, 4);", ["<cstring>"]),
        ("std::accumulate(a, b, 0); std::ostringstream s; s << std::endl;", ["<numeric>", "<ostream>", "<sstream>"]),
        ("#define M(x) std::numeric_limits<x>::max()", ["<limits>"]),
        ("assert(x); fprintf(stderr, x);", ["<cassert>", "<cstdio>"]),
        ("std::variant<int> v;", ["<variant>"]),
    ],
)
def test_name_to_header(text: str, headers: list[str]) -> None:
    assert used(text) == headers


@pytest.mark.parametrize(
    "text",
    [
        "// std::optional<int>",
        '"std::optional"',
        "mine::optional<int> x;",
        "other::std::optional x;",
        "a.memcpy(b); c->assert(d);",
        "void memcpy(int a);",  # the file's own
        "auto f = &assert_ok;",
        '#include "memcpy(x).h"',
        "std::unknown_name x;",
    ],
)
def test_must_not_match(text: str) -> None:
    assert used(text) == []


def test_what_another_header_implies_is_not_lost() -> None:
    tokens = code_tokens(lex(b"std::string s = std::to_string(1); uint8_t b; std::move(s);"))
    assert [u.header for u in lost_headers(tokens, lambda h: False)] == ["<cstdint>", "<string>", "<utility>"]
    given = {"<sstream>", "<hip/hip_runtime.h>", "<algorithm>"}
    assert lost_headers(tokens, given.__contains__) == []


def test_names_are_listed() -> None:
    tokens = code_tokens(lex(b"std::max(std::min(a, b), std::max(c, d));"))
    assert [u.names for u in used_headers(tokens)] == [("max", "min")]
