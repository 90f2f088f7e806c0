"""What people read: one line a finding, or a paragraph with the source, the chain and the fix."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report.report_samples import ALL, CHAIN, LAUNCH, SPREAD, UNUSED, WHOLE, checked, finding, hostile
from torchless.model import Edit, Finding, Related, Tier
from torchless.report.checked import Checked, summary
from torchless.report.color import painter
from torchless.report.concise import concise
from torchless.report.full import MOST_CHANGES, WIDTH, full
from torchless.report.statistics import statistics
from torchless.text.source import SourceFile

PLAIN = painter(False)


def paragraph(finding: Finding) -> list[str]:
    return full(checked(finding), PLAIN, False).splitlines()


def over(data: bytes, start: int, end: int, *edits: Edit) -> list[str]:
    """The paragraph of a finding at bytes [start, end) of a file of ``data``."""
    text = SourceFile("a.cu", data)
    line, column = text.line_of(start), text.column_of(start)
    found = Finding("TL410", "m", "a.cu", start, end, Tier.SAFE, edits=edits, line=line, column=column)
    return full(replace(checked(found), source=lambda path: text), PLAIN, False).splitlines()[1:]


def test_concise_is_a_line_for_each_finding():
    assert concise(checked(*ALL), PLAIN, False).splitlines() == [
        "csrc/include/norm.h:1:1: TL113 150,000 lines",
        "csrc/include/norm.h:3:6: TL410 two lines",
        "csrc/kernels/scale.cu:2:1: TL111 [*] nothing of torch/extension.h is used",
        "csrc/kernels/scale.cu:3:1: TL113 [!] scale.h brings torch",
        "csrc/kernels/scale.cu:7:2: TL410 no stream: {0} of 100%, a|b <c>",
    ]


def test_a_paragraph_shows_place_chain_help_and_fix():
    assert paragraph(CHAIN) == [
        "csrc/kernels/scale.cu:3:1: TL113 [!] scale.h brings torch",
        '    3 | #include "scale.h"',
        "      | ^~~~~~~~~~~~~~~~~~",
        "  via csrc/include/scale.h:3: includes norm.h",
        "  via csrc/include/norm.h:1: includes torch/all.h",
        "  help: include what is used",
        "  fix (unsafe):",
        "    in csrc/include/norm.h:",
        '    1 - #include "norm.h"',
        "    1 +",
        "    in csrc/kernels/scale.cu:",
        "    1 + // \ufffd",
        "",
    ]


def test_a_place_that_is_no_include_is_something_to_see():
    bound = replace(LAUNCH, related=(Related("csrc/include/norm.h", 2, "bound here"),))
    assert "  see csrc/include/norm.h:2: bound here" in paragraph(bound)


def test_a_fix_in_the_finding_s_own_file_names_no_file():
    assert paragraph(UNUSED)[3:] == [
        "  fix:",
        "    2 - #include <torch/extension.h>",
        "    2 + #include <vector>",
        "",
    ]


def test_a_finding_about_a_file_has_no_excerpt():
    assert paragraph(WHOLE) == ["csrc/include/norm.h:1:1: TL113 150,000 lines", ""]


def test_a_range_over_lines_is_marked_to_the_end_of_the_first():
    assert paragraph(SPREAD)[1:4] == [
        "    3 | void norm(int rows,",
        "      |      ^~~~~~~~~~~~~~",
        "      | ... and 1 more line",
    ]


@pytest.mark.parametrize(
    ("data", "what", "shown", "under"),
    [
        (b"\tf(x);\t// y", b"f(x)", "    f(x);   // y", "    ^~~~"),
        (b"a\tf(x);", b"f(x)", "a   f(x);", "    ^~~~"),
        ("é f(x);".encode(), b"f(x)", "é f(x);", "  ^~~~"),
        ("漢字 f(x);".encode(), b"f(x)", "漢字 f(x);", "     ^~~~"),
        ("f(漢);".encode(), "f(漢)".encode(), "f(漢);", "^~~~~"),
        (b"\xe4\xff f(x);", b"f(x)", "\ufffd\ufffd f(x);", "   ^~~~"),
        (b"\xef\xbb\xbff(x);", b"f(x)", "f(x);", "^~~~"),
        (b"f(x);\r\n", b"f(x)", "f(x);", "^~~~"),
        (b"a\x1b[31m f(x);", b"f(x)", r"a\x1b[31m f(x);", "          ^~~~"),
        (b"f(x);", b";", "f(x);", "    ^"),
    ],
)
def test_the_mark_is_below_what_is_meant(data, what, shown, under):
    at = data.index(what)
    text, mark = over(data, at, at + len(what))[:2]
    assert (text, mark) == (f"    1 | {shown}", f"      | {under}")


def test_a_place_without_extent_is_one_mark():
    assert over(b"int x\nint y;\n", 5, 5)[:2] == ["    1 | int x", "      |      ^"]


@pytest.mark.parametrize("at", [0, 100, 400, 990])
@pytest.mark.parametrize("length", [1, 10, 300])
def test_a_long_line_is_shown_around_the_mark(at, length):
    data = b"x" * at + b"f" * length + b"y" * 1000
    text, mark = over(data, at, at + length)[:2]
    text, mark = text[8:], mark[8:]
    assert len(text) <= WIDTH
    column = len(mark) - len(mark.lstrip())
    assert set(text[column : column + len(mark.strip())]) <= set("f.")
    assert text[column] == "f"
    assert "x" not in text[column:]


def test_a_place_beyond_the_end_of_a_file_that_changed_shows_nothing_wrong():
    assert over(b"int x;\n", 90, 99, Edit("a.cu", 90, 99, b"")) == [
        "  fix:",
        "    in a.cu, which changed meanwhile",
        "",
    ]


def test_a_long_fix_is_cut_and_counted():
    edits = [Edit("a.cu", at, at, b"// new\n") for at in range(0, 60, 2)]
    lines = over(b"x\n" * 40, 0, 1, *edits)
    assert [line for line in lines if "new" in line] == [f"{n:>5} + // new" for n in range(1, 2 * MOST_CHANGES, 2)]
    assert lines[-2] == "    ... and 18 more lines (`torchless migrate` prints the diff)"


def test_a_fix_for_a_person_says_so():
    assert "  fix (for a person to make):" in paragraph(replace(UNUSED, tier=Tier.DISPLAY))


@pytest.mark.parametrize("printer", [full, concise])
def test_nothing_in_a_finding_reaches_the_terminal_as_a_command(printer):
    text = printer(checked(hostile(UNUSED), replace(CHAIN, help="\x1b[5m", related=())), PLAIN, False)
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", text)
    assert not any(line.startswith("::") for line in text.splitlines())


@pytest.mark.parametrize("printer", [full, concise])
def test_color_adds_nothing_but_color(printer):
    plain, colored = (printer(checked(*ALL, known=(LAUNCH,)), painter(on), True) for on in (False, True))
    assert "\x1b[1;31mTL111\x1b[0m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


@pytest.mark.parametrize("printer", [full, concise])
def test_known_findings_are_listed_on_request(printer):
    some = checked(UNUSED, known=(LAUNCH,), baseline="b.json")
    line = "csrc/kernels/scale.cu:7:2: TL410 no stream: {0} of 100%, a|b <c> (known)\n"
    assert line in printer(some, PLAIN, True)
    assert "TL410" not in printer(some, PLAIN, False)


@pytest.mark.parametrize("printer", [full, concise])
def test_nothing_found_prints_nothing(printer):
    assert printer(checked(), PLAIN, True) == ""


def summed(some: Checked) -> list[str]:
    return list(summary(some, PLAIN))


def test_the_summary_says_what_can_be_mended_and_how():
    assert summed(checked(*ALL)) == [
        "Found 5 findings in 2 files. Looked at 14 files and 4 translation units in 0.2 s.",
        "[*] 1 can be mended with `torchless migrate csrc --select TL111 --write`, [!] 1 more (TL113) with --unsafe, "
        "3 need a person.",
    ]
    assert summed(checked(CHAIN, LAUNCH))[1] == (
        "[!] 1 can be mended with `torchless migrate csrc --select TL113 --unsafe --write`, 1 needs a person."
    )
    assert summed(checked(LAUNCH))[1] == "1 needs a person."


def test_the_summary_of_nothing():
    assert summed(checked()) == ["No finding. Looked at 14 files and 4 translation units in 0.2 s."]


def test_the_summary_counts_what_is_not_listed():
    some = checked(UNUSED, known=(LAUNCH, CHAIN), baseline="b.json", gone=3, untouched=1, suppressed=2, notes=("odd",))
    assert summed(some)[2:] == [
        "2 findings known from b.json; 3 entries are gone: run --write-baseline.",
        "1 finding outside of the change.",
        "2 findings suppressed by comments.",
        "note: odd",
    ]
    assert summed(some)[0].startswith("Found 1 new finding in 1 file.")
    assert summed(checked(known=(LAUNCH,), baseline="b.json"))[0].startswith("No new finding.")


def test_an_edit_of_a_finding_that_only_a_person_makes_is_no_promise():
    shown = replace(UNUSED, tier=Tier.DISPLAY)
    assert summed(checked(shown))[1] == "1 needs a person."
    assert "[*]" not in concise(checked(shown), PLAIN, False)


def test_statistics_are_sorted_by_count_then_code():
    more = tuple(finding("TL410", "csrc/kernels/scale.cu", what) for what in (b"launch", b"void"))
    assert statistics(checked(*ALL, *more), PLAIN).splitlines() == [
        "4  TL410 [ ] launch-without-stream",
        "2  TL113 [!] heavy-include-chain",
        "1  TL111 [*] unused-heavy-include",
    ]


def test_statistics_tell_known_from_new_and_some_from_all():
    person = replace(UNUSED, edits=(), tier=Tier.DISPLAY)
    text = statistics(checked(UNUSED, person, known=(LAUNCH,), baseline="b.json"), PLAIN)
    assert text.splitlines() == [
        "2  TL111 [-] unused-heavy-include (0 known)",
        "0  TL410 [ ] launch-without-stream (1 known)",
    ]
    assert statistics(checked(), PLAIN) == ""
