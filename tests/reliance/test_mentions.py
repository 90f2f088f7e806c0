"""What a file mentions: names, qualified names, macros' bodies, and what ## may make."""

from __future__ import annotations

import pytest

from torchless.reliance.mentions import Mentions, mentions_of, scan


def mentioned(text: str | bytes) -> Mentions:
    return mentions_of(scan(text if isinstance(text, bytes) else text.encode()))


def test_comments_literals_and_angled_includes_are_no_mentions() -> None:
    text = (
        '#include <torch/all.h>\n#include "scale.h"\n// one two\n/* three\n four */\n'
        'int five = "six" "se\\"ven" \'8\'; auto nine = R"x(ten " eleven)x"; // twelve \\\n thirteen\nint fourteen;\n'
    )
    assert mentioned(text).names == {"include", "int", "five", "auto", "nine", "fourteen"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_ends_a_comment(end: str) -> None:
    assert mentioned(f"// one{end}two{end}#define three four{end}").names == {"two", "define", "three", "four"}


def test_an_apostrophe_in_a_number_or_an_error_hides_nothing() -> None:
    assert {"after", "more"} <= mentioned("int x = 1'000'000; after\n#error it's not \"closed\nmore\n").names


def test_names_may_hold_any_byte_above_ascii() -> None:
    assert "gr\xf6\xdfe" in mentioned(b"int gr\xf6\xdfe;").names
    assert mentioned(b"\xef\xbb\xbf#pragma once\n").names == {"pragma", "once"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("at::Tensor x;", {"at::Tensor"}),
        ("::at::Tensor x; return ::torch::empty();", {"at::Tensor", "torch::empty"}),
        ("std :: vector<at\n::Half> v;", {"std::vector", "at::Half"}),
        ("mine::at::Tensor x; map.at::y; p->at::z;", set()),
        ("chat::Room r; int at; at.ptr = at{};", set()),
        ("vector<at::Half>::type", {"at::Half"}),
    ],
)
def test_qualified_names(text: str, found: set[str]) -> None:
    assert mentioned(text).qualified == found


def test_namespaces() -> None:
    found = mentioned("using namespace a::b;\nnamespace c::d { }\nnamespace e = c; inline namespace v1 {}\n")
    assert found.using == {"a::b"}
    assert found.opened == {"c", "d", "c::d", "v1"}


def test_a_macro_counts_where_it_is_expanded() -> None:
    text = "#define USED(x) at::Half(x), \\\n    inner\n#define UNUSED std::vector\nint outer = USED(1);\n"
    found = mentioned(text)
    assert {"inner", "Half", "vector", "outer"} <= found.names
    assert "inner" not in found.code and "outer" in found.code and "USED" in found.code
    seen = found.expanding({"USED"}, later=False)
    assert {"inner", "outer"} <= seen.names and "vector" not in seen.names
    assert seen.qualified == {"at::Half"}
    later = found.expanding({"USED"}, later=True)
    assert "inner" in later.names and "outer" not in later.names


@pytest.mark.parametrize(
    ("macro", "name", "words", "made"),
    [
        ("#define T(n) torch_##n##_t", "torch_half_t", (), True),
        ("#define T(n) torch_##n##_t", "torch_half", (), False),
        ("#define T(n) torch_##n##_t", "my_torch_half_t", (), False),
        ("#define V(n) n##32", "vec32", (), True),
        ("#define CAT(a, b) a##b", "get_fp8", ("get", "_fp8"), True),
        ("#define CAT(a, b) a##b", "get_fp8", ("get", "fp8"), False),
        ("#define LOG(f, ...) print(f, ##__VA_ARGS__)", "anything", ("any", "thing"), False),
        ("#define N(n) \\\n    f(a_ ## n)", "a_1", (), True),
    ],
)
def test_pasted_names(macro: str, name: str, words: tuple[str, ...], made: bool) -> None:
    assert mentioned(macro + "\n").makes(name, words) is made
