"""The JSON of a check: one object that follows the schema that comes with it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from jsonschema import Draft202012Validator, ValidationError

from tests.report.report_samples import ALL, CHAIN, LAUNCH, UNUSED, checked, hostile
from torchless.report.check_json import schema, to_json
from torchless.text.edits import apply
from torchless.text.source import SourceFile

VALID = Draft202012Validator(schema())


def report(*findings, **more):
    data = json.loads(to_json(checked(*findings, **more)))
    VALID.validate(data)
    return data


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("findings", [(), ALL, (hostile(UNUSED),)])
def test_every_report_follows_the_schema(findings):
    report(*findings, known=(LAUNCH,), baseline="b.json", files_failed=("x.cu",), notes=("odd",), gone=2, untouched=1)


@pytest.mark.parametrize("change", [{"exit_code": 3}, {"extra": 1}, {"findings": [{}]}, {"schema_version": 2}])
def test_the_schema_refuses_what_is_not_a_report(change):
    data = report(*ALL)
    with pytest.raises(ValidationError):
        VALID.validate({**data, **change})


def test_it_says_all_about_a_finding():
    found = report(CHAIN)["findings"][0]
    assert {key: found[key] for key in ("code", "name", "path", "line", "column", "end_line", "end_column")} == {
        "code": "TL113",
        "name": "heavy-include-chain",
        "path": "csrc/kernels/scale.cu",
        "line": 3,
        "column": 1,
        "end_line": 3,
        "end_column": 19,
    }
    assert (found["tier"], found["confidence"], found["blocks"]) == ("unsafe", "semantic", False)
    assert found["related"][1] == {"path": "csrc/include/norm.h", "line": 1, "message": "includes torch/all.h"}
    assert found["edits"][1]["new_base64"] == "Ly8g5Ao="
    assert found["edits"][0]["new"] == ""


def test_its_edits_are_those_of_the_finding(tmp_path):
    edit = report(UNUSED)["findings"][0]["edits"][0]
    data = checked().source(edit["path"]).data
    assert data[: edit["start"]] + edit["new"].encode() + data[edit["end"] :] == apply(data, UNUSED.edits)


def test_counts_agree_with_the_lists():
    data = report(*ALL, known=(LAUNCH,), baseline="b.json", suppressed=2)
    assert data["summary"]["findings"] == len(data["findings"]) == 5
    assert data["summary"]["known"] == len(data["known"]) == 1
    assert (data["summary"]["safe"], data["summary"]["unsafe"], data["summary"]["suppressed"]) == (1, 1, 2)
    assert sum(row["new"] for row in data["statistics"]) == 5
    assert [row["code"] for row in data["statistics"]] == ["TL410", "TL113", "TL111"]
    assert data["exit_code"] == 1


def test_fingerprints_are_all_different_and_stay_when_lines_move():
    some = checked(*ALL)
    before = {f["start"]: f["fingerprint"] for f in json.loads(to_json(some))["findings"]}
    assert len(set(before.values())) == len(ALL)
    shift = b"\n\n// more\n\n"

    def moved(path):
        text = some.source(path)
        return SourceFile(path, shift + text.data)

    inner = [f for f in ALL if f.line > 2]  # the first lines have a new neighbour
    after = [replace(f, start=f.start + len(shift), end=f.end + len(shift), line=f.line + 4) for f in inner]
    names = [f["fingerprint"] for f in json.loads(to_json(replace(checked(*after), source=moved)))["findings"]]
    assert names == [before[f.start] for f in inner]


def test_it_is_ascii_with_a_final_newline():
    text = to_json(checked(hostile(UNUSED), CHAIN))
    assert text.isascii() and text.endswith("}\n")
