"""What the two printers say."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import jsonschema
import pytest
from cli_samples import BACKED_OUT, BLOCKED, BLOCKER, CLEAN, EDIT, MIGRATED, UNCHECKED, UNSAFE, finding, result
from rich.console import Console

from torchless.model import Edit, Tier, UnitStatus
from torchless.report.json import schema, to_json
from torchless.report.outcome import code_counts, held_back, judge, next_steps
from torchless.report.terminal import progress_bar
from torchless.report.text import colored_diff, print_report

NAMES = {"TL201": "tensor-reference", "TL490": "allocation"}
EVERYTHING = result(
    MIGRATED, BLOCKED, BACKED_OUT, UNCHECKED, CLEAN, findings=(finding("TL002", "csrc/a.h"),), notes=("a note",)
)


def text(outcome, verbose=False):
    out = io.StringIO()
    print_report(Console(file=out, width=120, highlight=False), outcome, NAMES, verbose)
    return out.getvalue()


def test_each_unit_is_listed_with_its_status_and_clean_ones_are_counted():
    said = text(judge(EVERYTHING, False))
    for unit in (MIGRATED, BLOCKED, BACKED_OUT, UNCHECKED):
        assert f"{unit.status.value:<12}{unit.name}  (module_{unit.name})" in said
    assert "module_gate" not in said
    assert "module_gate" in text(judge(EVERYTHING, False), verbose=True)


def test_a_blocker_has_code_place_message_and_help():
    lines = text(judge(EVERYTHING, False)).splitlines()
    at = lines.index("  csrc/scale.cu:3:7 TL490 torch::empty allocates")
    assert lines[at + 1] == "    help: Allocate in Python."


def test_the_diagnostic_of_a_unit_that_was_backed_out_is_shown():
    assert "csrc/scale.cu:3:7 TL008 no member named 'sizes'" in text(judge(EVERYTHING, False))


def test_what_the_diff_shows_is_not_repeated():
    assert "about TL201" not in text(judge(EVERYTHING, False))
    assert "about TL201" in text(judge(EVERYTHING, False), verbose=True)


def test_in_a_unit_that_stays_everything_else_waits_for_the_blockers():
    waiting = tuple(finding(line=n, edits=(EDIT,)) for n in (1, 2))
    blocked = replace(BLOCKED, findings=(*waiting, BLOCKER), ledger=MIGRATED.ledger)
    said = text(judge(result(blocked), False))
    assert "about TL201" not in said and "for the caller" not in said
    assert "  2 more findings would be mended with it (-v lists them)" in said
    assert text(judge(result(blocked), False), verbose=True).count("about TL201") == 2


def test_what_is_only_shown_is_shown_in_a_unit_that_goes_ahead():
    kept = finding("TL213", tier=Tier.DISPLAY, message="two flavours become one")
    same = finding("TL210", message="keeps its name")
    said = text(judge(result(replace(MIGRATED, findings=(kept, same))), False))
    assert "two flavours become one" in said and "keeps its name" not in said


def test_the_ledger_is_folded_and_unfolded():
    folded = text(judge(EVERYTHING, False))
    assert "    abort: a failing check ends the process (2 places)\n" in folded
    assert "    guard: clamp_rows sets the device\n" in folded
    assert "abort: a failing check ends the process (csrc/scale.cu:12)" in text(judge(EVERYTHING, False), verbose=True)


def test_leaks_are_said_once_and_many_are_counted():
    leak = finding("TL009", message="still reaches torch", tier=Tier.DISPLAY)
    leaking = replace(MIGRATED, findings=(leak,), leaks=("a.cu -> a.h -> torch/all.h",))
    said = text(judge(result(leaking), False))
    assert "  not yet torch-free: leaks via a.cu -> a.h -> torch/all.h\n" in said
    assert "still reaches torch" not in said
    many = text(judge(result(replace(leaking, leaks=tuple(f"{n}.h" for n in range(9)))), False))
    assert many.count("leaks via") == 3 and "  6 more leaks (-v lists them)" in many


def test_many_findings_of_one_code_are_cut_and_counted():
    many = tuple(finding("TL490", blocks=True, line=n, help="Allocate in Python.") for n in range(1, 21))
    blocked = replace(BLOCKED, findings=many)
    said = text(judge(result(blocked), False))
    assert said.count(" TL490 ") - said.count("TL490  allocation") == 3
    assert "TL490: 17 more places (-v lists them)" in said
    assert said.count("help: Allocate in Python.") == 1
    assert text(judge(result(blocked), False), verbose=True).count("csrc/scale.cu:") == 20


def test_the_summary_counts():
    said = text(judge(EVERYTHING, False))
    for line in ("migrated    1", "blocked     1", "backed out  1", "unchecked   1", "clean       1"):
        assert line in said
    assert "TL201     tensor-reference  1" in said
    assert "4 findings, 1 edit in 1 file, 1.2 s" in said


def test_markup_in_messages_is_text():
    odd = replace(BLOCKED, findings=(finding("TL490", message="x[i] [bold]y[/bold] [/]", blocks=True),))
    assert "TL490 x[i] [bold]y[/bold] [/]" in text(judge(result(odd), False))


def test_counts_take_each_finding_once():
    twice = result(MIGRATED, replace(MIGRATED, name="other"))
    assert code_counts(twice) == {"TL201": 1}


def test_held_back_fixes_are_announced():
    held = result(replace(MIGRATED, findings=(*MIGRATED.findings, UNSAFE)))
    assert held_back(held) == 1
    assert any("--unsafe" in step for step in next_steps(judge(held, False)))
    applied = replace(held, edits=(*held.edits, *UNSAFE.edits))
    assert held_back(applied) == 0
    assert "[!]" in text(judge(held, False))


def test_fixes_that_wait_for_a_blocker_do_not_wait_for_unsafe():
    waiting = replace(UNSAFE, unit="norm", blocks=True)
    blocked = result(replace(BLOCKED, findings=(waiting,)))
    assert held_back(blocked) == 1
    both = result(replace(BLOCKED, findings=(replace(BLOCKER, unit="norm"), waiting)))
    assert held_back(both) == 0
    assert not any("--unsafe" in step for step in next_steps(judge(both, False)))


@pytest.mark.parametrize(
    ("outcome", "written", "word"),
    [
        (result(MIGRATED), False, "--write"),
        (result(MIGRATED), True, "torchless undo"),
        (result(MIGRATED, mergeable=False), False, "cannot be merged"),
        (result(BLOCKED), False, "torchless explain TL490"),
        (result(BACKED_OUT), False, "backed 1 unit out"),
        (result(files_failed=("a.cu",)), False, "1 file could not be analysed"),
        (result(CLEAN), False, "Nothing to do."),
    ],
)
def test_next_steps(outcome, written, word):
    assert word in " ".join(next_steps(judge(outcome, written)))


DIFFS = {"csrc/scale.cu": b"--- a/csrc/scale.cu\n+++ b/csrc/scale.cu\n"}


@pytest.mark.parametrize("written", [False, True])
def test_json_follows_its_schema(written):
    report = json.loads(to_json(judge(EVERYTHING, written), DIFFS))
    jsonschema.validate(report, schema(), cls=jsonschema.Draft202012Validator)
    assert [unit["status"] for unit in report["units"]] == [unit.status.value for unit in EVERYTHING.units]
    assert report["changes"] == [{"path": "csrc/scale.cu", "edits": 1, "diff": DIFFS["csrc/scale.cu"].decode()}]
    assert report["units"][0]["findings"][0]["edits"][0]["new"] == "aiter_tensor_t"
    assert report["units"][0]["joined_by"] == [{"a": "scale_rows", "b": "clamp_rows", "why": "the same module"}]
    assert report["units"][0]["ledger"][2] == {
        "kind": "guard", "message": "clamp_rows sets the device", "path": "csrc/scale.cu", "line": 30,
    }  # fmt: skip
    assert report["summary"]["units"] == {status.value: 1 for status in UnitStatus}


def test_the_schema_is_a_schema_and_forbids_what_it_does_not_name():
    jsonschema.Draft202012Validator.check_schema(schema())
    report = json.loads(to_json(judge(EVERYTHING, False), DIFFS))
    report["units"][0]["status"] = "done"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema())


def test_bytes_that_are_not_utf8_are_base64():
    latin = replace(MIGRATED, findings=(finding(edits=(Edit("csrc/scale.cu", 1, 2, b"\xe9"),)),))
    report = json.loads(to_json(judge(result(latin), False), {"csrc/scale.cu": b"+\xe9\n"}))
    jsonschema.validate(report, schema())
    assert report["units"][0]["findings"][0]["edits"][0]["new_base64"] == "6Q=="
    assert report["changes"][0]["diff_base64"] == "K+kK"


def test_a_colored_diff_keeps_line_ends():
    diff = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\rd\n\\ No newline at end of file\n"
    assert colored_diff(diff).splitlines(keepends=True)[3] == b"\x1b[31m-a\x1b[0m\r\n"
    assert b" c\rd\n" in colored_diff(diff)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "drawn"), [(Terminal, False, True), (Terminal, True, False), (io.StringIO, False, False)]
)
def test_progress_is_drawn_on_terminals_only(stream, quiet, drawn, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    out = stream()
    with progress_bar("auto", out, quiet) as progress:
        progress("parse", 0, 0)
        progress("parse", 1, 7)
    assert ("1/7" in out.getvalue()) is drawn
    assert drawn or not out.getvalue()
