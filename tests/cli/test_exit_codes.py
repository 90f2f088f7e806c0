"""0 nothing to do or all written; 1 pending or left behind; 2 failed; 3 the check backed a unit out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cli_samples import BACKED_OUT, BLOCKED, CLEAN, MIGRATED, UNCHECKED, result

from torchless.model import UnitStatus
from torchless.report.outcome import judge

TABLE = [
    ("nothing found", result(), False, 0),
    ("clean only", result(CLEAN), False, 0),
    ("pending", result(MIGRATED, CLEAN), False, 1),
    ("written", result(MIGRATED, CLEAN), True, 0),
    ("written, one blocked", result(MIGRATED, BLOCKED), True, 1),
    ("blocked only", result(BLOCKED), False, 1),
    ("unchecked and held back", result(UNCHECKED), True, 1),
    ("backed out", result(MIGRATED, BACKED_OUT, BLOCKED), True, 3),
    ("a file failed", result(MIGRATED, files_failed=("csrc/x.cu",)), True, 2),
    ("a file failed and a unit was backed out", result(BACKED_OUT, files_failed=("csrc/x.cu",)), False, 2),
]


@pytest.mark.parametrize(("outcome", "written", "code"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_table(outcome, written, code):
    assert judge(outcome, written).exit_code == code


def test_an_unchecked_unit_whose_edits_are_applied_leaves_nothing_behind():
    applied = replace(MIGRATED, status=UnitStatus.UNCHECKED)
    everything = replace(result(MIGRATED), units=(applied,))
    assert judge(everything, written=True).exit_code == 0
    assert judge(everything, written=False).exit_code == 1


@pytest.mark.parametrize(("units", "code"), [((CLEAN,), 0), ((MIGRATED,), 1), ((BLOCKED,), 1), ((BACKED_OUT,), 3)])
def test_the_process_exits_with_it(run, fake, checkout, units, code):
    fake(result(*units, root=checkout))
    assert run("migrate", cwd=checkout).code == code


def test_quiet_and_json_do_not_change_it(run, fake, checkout):
    fake(result(MIGRATED, BACKED_OUT, root=checkout))
    codes = {run("migrate", *flags, cwd=checkout).code for flags in ((), ("-q",), ("--output-format", "json"), ("-v",))}
    assert codes == {3}
