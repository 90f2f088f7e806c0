"""The public amd-aiter wheel: real C++ from before the target existed. Refused by default, a dry run on request."""

from __future__ import annotations

import json

import jsonschema
import pytest

from torchless.report.json import schema

pytestmark = pytest.mark.corpus


def test_a_wheel_without_the_target_is_refused(corpus, run):
    ran = run("migrate", "aiter_meta/csrc", cwd=corpus)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert "aiter_tensor.h" in ran.err and "--assume-target" in ran.err


def test_a_dry_run_over_all_of_it_ends_with_a_reason_for_every_unit(corpus, run):
    ran = run("migrate", "aiter_meta/csrc", "--assume-target", "--output-format", "json", cwd=corpus)
    report = json.loads(ran.out)
    jsonschema.validate(report, schema(), cls=jsonschema.Draft202012Validator)
    assert ran.code == report["exit_code"] in (1, 3)
    assert report["summary"]["files_failed"] == []
    assert report["mergeable"] is False
    assert "cannot be merged here" in ran.err
    assert len(report["units"]) >= 40
    for unit in report["units"]:
        if unit["status"] == "blocked":
            assert any(finding["blocks"] for finding in unit["findings"]), unit["name"]
        if unit["status"] == "backed out":
            assert any(finding["code"] == "TL008" for finding in unit["findings"]), unit["name"]
        if unit["status"] == "unchecked":
            assert any(finding["code"] == "TL007" for finding in unit["findings"]), unit["name"]
