"""The notation: what patterns match, what they leave alone, what is no pattern at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.conftest import Migrate, view_of
from torchless.rules.engine import examine
from torchless.rules.load import read_rules
from torchless.rules.model import Ruleset
from torchless.rules.pattern import Pattern, PatternError, compile_pattern, compile_template

HEAD = """
[sets]
halves = {"at::kHalf" = "F16", "at::ScalarType::Half" = "F16"}
members = ["alpha", "beta"]
macros = {CHECK = "VERIFY"}
messages = {CHECK = "1"}
[[rule]]
code = "TL999"
name = "test"
summary = "test"
what = "test"
why = "test"
tier_reason = "test"
[[rule.example]]
keep = ""
note = "none"
"""


@pytest.fixture
def one(tmp_path: Path):
    """one(match, replace, more TOML) -> a ruleset of that pattern alone."""

    def make(match: str, replace: str, more: str = "") -> Ruleset:
        path = tmp_path / "one.toml"
        path.write_text(f"{HEAD}\n[[rule.pattern]]\nmatch = {match!r}\nreplace = {replace!r}\n{more}\n")
        return read_rules([path])

    return make


@pytest.mark.parametrize(
    ("match", "replace", "before", "after"),
    [
        # a leading metavariable is the whole postfix expression on the left
        ("$x.size()", "count($x)", "n = a.size();", "n = count(a);"),
        ("$x.size()", "count($x)", "n = 2 + a.b(1, 2).c[i].size();", "n = 2 + count(a.b(1, 2).c[i]);"),
        (
            "$x.size()",
            "count($x)",
            "return (*p).size() - f<A, B>(q).size();",
            "return count((*p)) - count(f<A, B>(q));",
        ),
        ("$x.size()", "count($x)", "n = ns::v.size() + T{1}.size();", "n = count(ns::v) + count(T{1});"),
        ("$x.size()", "count($x)", "if (a) b.size(); else c->size();", "if (a) count(b); else count(c);"),
        # -> and . are one, and the source's spelling stays
        ("$x.size()", "$x.dim()", "p->size() + q.size()", "p->dim() + q.dim()"),
        # a run inside brackets: balanced, without commas at its top level
        ("f($a)", "g($a)", "f(x + h(1, 2)[3]); f(x, y); f(f(z));", "g(x + h(1, 2)[3]); f(x, y); g(g(z));"),
        ("f($a, $b)", "f($b, $a)", "f(std::pair<int, int>(1, 2), c);", "f(c, std::pair<int, int>(1, 2));"),
        # the rest of the arguments takes its comma with it
        ("f($a, $*r)", "g($a, $*r)", "f(1); f(1, 2, 3); f();", "g(1); g(1, 2, 3); f();"),
        ("f($*r)", "g(0, $*r)", "f(); f(1, 2);", "g(0); g(0, 1, 2);"),
        # template arguments
        ("get<$T>()", "as($T)", "get<std::map<int, V<8>>>() + get<a>()", "as(std::map<int, V<8>>) + as(a)"),
        # the same name twice is the same tokens twice
        ("$a == 1 || $a == 2", "$a < 3", "x.y == 1 || x . y == 2; x == 1 || z == 2;", "x.y < 3; x == 1 || z == 2;"),
        # optional tokens
        ("$?const Guard $g;", "const Lock $g;", "const Guard a; Guard b;", "const Lock a; const Lock b;"),
        # parentheses only where they are needed
        (
            "eq($a, $b)",
            "$(a) == $(b)",
            "eq(n, 2 * n); eq(f(x), (y)); eq(-1, (T)z)",
            "n == (2 * n); f(x) == (y); (-1) == ((T)z)",
        ),
        # a set of members, a set of macros
        ("$x.@members($*r)", "$x.gamma($*r)", "a.alpha(1); a->beta(); alpha(2);", "a.gamma(1); a->gamma(); alpha(2);"),
        (
            "@macros($*r)",
            "@macros($*r)",
            "CHECK(a); own::CHECK(b); x.CHECK(c);",
            "VERIFY(a); own::CHECK(b); x.CHECK(c);",
        ),
        # the last metavariable is one operand
        ("<< $x", "<< str($x)", "out << a.b(1) << c + d;", "out << str(a.b(1)) << str(c) + d;"),
    ],
)
def test_what_matches(one, migrate: Migrate, match: str, replace: str, before: str, after: str) -> None:
    assert migrate(before, ruleset=one(match, replace)) == after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch::kHalf", "F16"),
        ("::at::kHalf", "F16"),
        ("c10::ScalarType::Half", "F16"),
        ("at :: ScalarType\n :: Half", "F16"),
        ("own::kHalf", "own::kHalf"),
        ("own::torch::kHalf", "own::torch::kHalf"),
        ("Kind::kHalf", "Kind::kHalf"),
        ("x.kHalf", "x.kHalf"),
        ("kHalf", "kHalf"),
        ("at::kHalf::x", "at::kHalf::x"),
        ("at::kHalfway", "at::kHalfway"),
        ('"at::kHalf" /* at::kHalf */', '"at::kHalf" /* at::kHalf */'),
        ("namespace t = torch; auto a = t::kHalf;", "namespace t = torch; auto a = F16;"),
        ("using at::kHalf; using namespace at; auto a = kHalf;", "using at::kHalf; using namespace at; auto a = F16;"),
        ("#include <at::kHalf>\n#if at::kHalf\n#endif\nat::kHalf", "#include <at::kHalf>\n#if at::kHalf\n#endif\nF16"),
        ("#define H at::kHalf\nauto a = H;", "#define H F16\nauto a = H;"),
        (
            "#define at_kHalf(x) x\n#define HALF(T) \\\n  f(T, \\\n    at::kHalf)\n",
            "#define at_kHalf(x) x\n#define HALF(T) \\\n  f(T, \\\n    F16)\n",
        ),
        ("#ifdef X\na(at::kHalf)\n#else\nb(at::kHalf)\n#endif", "#ifdef X\na(F16)\n#else\nb(F16)\n#endif"),
        ('R"x(at::kHalf)x" at::kHalf', 'R"x(at::kHalf)x" F16'),
    ],
)
def test_qualified_names_are_compared_by_meaning(one, migrate: Migrate, text: str, expected: str) -> None:
    assert migrate(text, ruleset=one("@halves", "@halves")) == expected


def test_facts_tell_what_a_bare_name_means(one, migrate: Migrate) -> None:
    ruleset = one("@halves", "@halves")
    assert migrate("f(kHalf);", "kHalf = at::kHalf", ruleset=ruleset) == "f(F16);"
    assert migrate("f(kHalf);", "kHalf = own::kHalf", ruleset=ruleset) == "f(kHalf);"
    assert migrate("f(kHalf);", "kHalf: dtype", ruleset=ruleset) == "f(kHalf);"


def test_a_macro_for_a_type_is_edited_where_it_is_defined(one, migrate: Migrate) -> None:
    text = "#define TENSOR torch::Tensor\nvoid f(TENSOR& x, at::Tensor y);\n"
    ruleset = one("at::Tensor", "aiter_tensor_t")
    assert migrate(text, ruleset=ruleset) == "#define TENSOR aiter_tensor_t\nvoid f(TENSOR& x, aiter_tensor_t y);\n"


def test_the_head_of_a_macro_is_not_its_body(one, migrate: Migrate) -> None:
    text = "#define CHECK(CHECK, y) CHECK(y)\n#define CHECK2 (CHECK)\n"
    assert (
        migrate(text, ruleset=one("@macros", "@macros"))
        == "#define CHECK(CHECK, y) VERIFY(y)\n#define CHECK2 (VERIFY)\n"
    )


def test_a_match_stays_in_its_text(one, migrate: Migrate) -> None:
    text = "f(\n#define A f(1)\n2);\n#define B f(\n3)\n"
    assert migrate(text, ruleset=one("f($a)", "g($a)")) == "g(\n#define A g(1)\n2);\n#define B f(\n3)\n"


def test_matches_nest_and_compose(one, migrate: Migrate) -> None:
    ruleset = one("at($x)", "get<0>($x)", '[[rule.pattern]]\nmatch = "$o.up()"\nreplace = "up($o)"')
    assert migrate("at(a.up().up()) + at(at(b).up())", ruleset=ruleset) == "get<0>(up(up(a))) + get<0>(up(get<0>(b)))"


def test_moved_text_carries_its_own_edits(one, migrate: Migrate) -> None:
    ruleset = one("swap($a, $b)", "swap($b, $a, $b)", '[[rule.pattern]]\nmatch = "$o.up()"\nreplace = "up($o)"')
    assert migrate("swap(x.up(), y.up())", ruleset=ruleset) == "swap(up(y), up(x), up(y))"


def test_comments_inside_stay(one, migrate: Migrate) -> None:
    ruleset = one("$x.a().b()", "$x.c()")
    assert migrate("v /*1*/ . /*2*/ a() /*3*/ .b /*4*/ () // 5", ruleset=ruleset).count("/*") == 4
    ruleset = one("f($a, $b)", "g($b)")
    assert migrate("f(a, // why\n  b);", ruleset=ruleset) == "g( // why\n  b);"


def test_text_with_a_line_comment_is_not_moved(one, codes) -> None:
    ruleset = one("f($a, $b)", "g($b, $a)")
    text = "f(a + // why\n  1, b);"
    found = examine(view_of(text), ruleset).findings
    assert [(f.blocks, f.edits) for f in found] == [(True, ())]
    assert "line comment" in found[0].message


def test_an_if_that_cuts_an_expression_refuses_the_edit(one, migrate: Migrate) -> None:
    ruleset = one("f($a, $b)", "g($b, $a)")
    cut = "f(a,\n#if X\n b)\n#else\n c)\n#endif\n;\nf(1, 2);"
    found = examine(view_of(cut), ruleset).findings
    assert [f.blocks for f in found] == [True, False]
    assert migrate(cut, ruleset=ruleset).endswith("g(2, 1);")
    whole = "f(a, [&] {\n#if X\n b();\n#else\n c();\n#endif\n});"
    assert migrate(whole, ruleset=one("f($a, $b)", "g($a, $b)")) == "g" + whole[1:]


def test_the_more_specific_pattern_wins(one, migrate: Migrate) -> None:
    longer = '[[rule.pattern]]\nmatch = "$x.a().b()"\nreplace = "$x.ab()"\n'
    other = '[[rule.pattern]]\nmatch = "$x.b()"\nreplace = "$x.B()"'
    ruleset = one("$x.a()", "$x.A()", longer + other)
    assert migrate("x.a(); x.a().b(); x.b(); x.c().b();", ruleset=ruleset) == "x.A(); x.ab(); x.B(); x.c().B();"


def test_findings_cover_what_they_account_for_and_nothing_else(one) -> None:
    text = b"f(torch::mystery(1), 2)"
    examined = examine(view_of(text), one("f($a, $b)", "g($b, $a)"))
    assert [text[start:end] for start, end in examined.covered] == [b"f(", b",", b")"]


@pytest.mark.parametrize(
    "text",
    ["", "$x", "$x $y", "f($*a $b)", "$*a f()", "($x)", "f($", "$x - 1"],
)
def test_what_is_no_pattern(text: str) -> None:
    if text in ("$x", "($x)", "$x - 1"):
        assert isinstance(compile_pattern(text), Pattern)  # odd, but they say what they mean
        return
    with pytest.raises(PatternError):
        compile_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ("f($x)", "g($y)", "does not bind"),
        ("f($x)", "g($*x)", "not of one kind"),
        ("f($x)", "$x.g()", "before a member access"),
        ("f($x, $*r)", "g($*r)", "takes its comma"),
        ("f($x)", "g(@dtypes)", "does not bind"),
        ("@empty", "@empty", "maps to nothing"),
    ],
)
def test_what_is_no_replacement(pattern: str, replacement: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        compile_template(replacement, compile_pattern(pattern), {"empty": {"a": ""}})
