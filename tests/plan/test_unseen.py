"""Where edits stand in code of which the parser reported nothing."""

from __future__ import annotations

from torchless.facts.model import FileFacts, FunctionFact, NameFact
from torchless.facts.typing import FileView, make_view
from torchless.model import Edit
from torchless.plan.decide import Draft
from torchless.plan.unseen import Arm, conditional_arms, never_compiled, suspects
from torchless.text.lexer import code_tokens, lex
from torchless.text.source import SourceFile
from torchless.units.build import Group
from torchless.verify.planted import Place

TEXT = b"""void f(int n)
{
#if A
    check(n);
#elif B
    check(n, 1);
#  ifdef C
    deep(n);
#  endif
#else
#define ONLY check(n, 2)
#endif
}
UNKNOWN(g) { lost(3); }
DROP(h, (int n), { swallowed(4); })
int table[] = { listed(5) };
"""


def draft(*words: bytes) -> Draft:
    edits = tuple(Edit("a.cu", TEXT.index(w), TEXT.index(w) + len(w), b"new") for w in words)
    return Draft(Group("unit", (), (), ()), (), edits, (), (), False)


def view(*facts: bytes) -> FileView:
    end = TEXT.index(b"UNKNOWN") - 1
    f = FunctionFact("a.cu", 0, end, "f", 5, TEXT.index(b"{"), end, (), "", "void", False, False, False, False)
    names = tuple(NameFact(TEXT.index(w), "value", "", "tensor") for w in facts)
    return make_view(SourceFile("a.cu", TEXT), [FileFacts("a.cu", names, (f,))])


def found(words: tuple[bytes, ...], facts: tuple[bytes, ...] = ()) -> list[Place]:
    return [s.place for s in suspects([draft(*words)], {"a.cu": view(*facts)})]


def arm(word: bytes) -> Place:
    at = TEXT.index(word)
    return Place("a.cu", at, f"line {TEXT[:at].count(10) + 1}", arm=True)


def test_arms() -> None:
    arms = conditional_arms(code_tokens(lex(TEXT)), len(TEXT))
    assert [TEXT[a.start : a.end].split()[0:2] for a in arms] == [
        [b"#if", b"A"],
        [b"#elif", b"B"],
        [b"#", b"ifdef"],
        [b"#else", b"#define"],
    ]
    unclosed = b"#if A\nint x;\n#else\nint y;\n"
    assert conditional_arms(code_tokens(lex(unclosed)), len(unclosed)) == [Arm(0, 13), Arm(13, 26)]
    assert conditional_arms(code_tokens(lex(b"#endif\n#else\n#")), 14) == [Arm(7, 14)]


def test_an_edited_arm_without_facts_is_in_doubt() -> None:
    assert found((b"check(n);", b"check(n, 1)")) == [arm(b"check(n);"), arm(b"check(n, 1)")]
    assert found((b"check(n);", b"check(n, 1)"), (b"n);",)) == [arm(b"check(n, 1)")]


def test_a_fact_in_an_inner_arm_speaks_for_the_outer_one() -> None:
    assert found((b"check(n, 1)",), (b"n);\n#  endif",)) == []
    assert found((b"deep",), (b"n, 1",)) == [arm(b"deep")]


def test_macros_and_compiled_functions_are_not() -> None:
    assert found((b"check(n, 2)", b"int n")) == []


def test_the_body_of_a_function_that_the_parser_lost_is() -> None:
    at = TEXT.index(b"{ lost")
    assert found((b"lost",)) == [Place("a.cu", at, "line 14")]


def test_a_block_that_a_macro_takes_is_but_an_initialiser_is_not() -> None:
    assert found((b"swallowed",)) == [Place("a.cu", TEXT.index(b"{ swallowed"), "line 15")]
    assert found((b"listed",)) == []


def test_the_finding_stands_at_the_first_edit() -> None:
    suspect = suspects([draft(b"check(n, 1)", b"1")], {"a.cu": view()})[0]
    finding = never_compiled(suspect)
    assert (finding.code, finding.start, finding.unit, finding.blocks) == ("TL011", suspect.first, "unit", False)
    assert suspect.first == TEXT.index(b"check(n, 1)")
