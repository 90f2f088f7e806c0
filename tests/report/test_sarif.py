"""SARIF: the schema of the standard, and what GitHub and viewers make of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from tests.report.report_samples import ALL, CHAIN, FILES, LAUNCH, SPREAD, UNUSED, WHOLE, checked, hostile
from torchless.report import sarif as module
from torchless.report.sarif import sarif
from torchless.rules.load import load_rules

SCHEMA = json.loads((Path(__file__).parents[1] / "fixtures" / "sarif" / "sarif-2.1.0.schema.json").read_bytes())
VALID = Draft7Validator(SCHEMA)
RULES = {rule.code: rule for rule in load_rules().rules}


def log(*findings, rules=RULES, pages="", **more):
    text = sarif(checked(*findings, **more), rules, pages)
    assert text.isascii()
    data = json.loads(text)
    VALID.validate(data)
    for region in regions(data):
        # errata 01: a region has a place, and its ends are not before its starts
        assert {"startLine", "charOffset", "byteOffset"} & set(region)
        assert (region["startLine"], region.get("startColumn", 1)) <= (
            region.get("endLine", region["startLine"]),
            region.get("endColumn", 1 << 30),
        )
    return data


def regions(node: object) -> Iterator[Mapping[str, int]]:
    if isinstance(node, dict):
        yield from (node[key] for key in ("region", "deletedRegion") if key in node)
        for value in node.values():
            yield from regions(value)
    elif isinstance(node, list):
        for value in node:
            yield from regions(value)


def results(*findings, **more):
    return log(*findings, **more)["runs"][0]["results"]


def test_the_schema_is_that_of_the_standard():
    Draft7Validator.check_schema(SCHEMA)
    assert not VALID.is_valid({"version": "2.1.0", "runs": [{}]})
    assert not VALID.is_valid({"version": "2.0.0", "runs": []})


@pytest.mark.parametrize("findings", [(), ALL, (hostile(UNUSED), hostile(CHAIN))])
def test_every_log_follows_the_schema(findings):
    data = log(*findings, known=(LAUNCH,), baseline="b.json", files_failed=("x.cu",), notes=("odd",))
    run = data["runs"][0]
    assert len(run["results"]) == len(findings) + 1
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["exitCode"] == 2


def test_real_rules_have_their_page_as_help():
    rule = load_rules().rules[0]
    data = log(replace(UNUSED, code=rule.code), replace(LAUNCH, code=rule.code), pages="https://example.org/rules/")
    (descriptor,) = data["runs"][0]["tool"]["driver"]["rules"]
    assert descriptor["id"] == rule.code
    assert descriptor["helpUri"] == f"https://example.org/rules/{rule.code}.md"
    assert descriptor["help"]["markdown"].startswith(f"# {rule.code} {rule.name}\n")
    assert "helpUri" not in log(replace(UNUSED, code=rule.code))["runs"][0]["tool"]["driver"]["rules"][0]


def test_rules_are_named_by_their_index():
    run = log(*ALL)["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert ids == sorted(set(ids))
    assert all(ids[found["ruleIndex"]] == found["ruleId"] for found in run["results"])


def test_addresses_are_relative_and_escaped():
    text = sarif(checked(hostile(UNUSED), *ALL), RULES)
    assert "/checkout" not in text
    address = json.loads(text)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert address == {"uri": "csrc/a%2Cb%3Ac%25%1B%5B31m%E4%0A%3A%3Aerror%3A%3Ax.cu", "uriBaseId": "SRCROOT"}
    assert json.loads(text)["runs"][0]["originalUriBaseIds"].keys() == {"SRCROOT"}


@pytest.mark.parametrize("finding", [UNUSED, CHAIN, LAUNCH, SPREAD])
def test_a_region_names_the_bytes_in_both_ways(finding):
    region = results(finding)[0]["locations"][0]["physicalLocation"]["region"]
    data = FILES[finding.path]
    assert data[region["byteOffset"] :][: region["byteLength"]] == data[finding.start : finding.end]
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").splitlines(keepends=True)
    first, last = region["startLine"] - 1, region["endLine"] - 1
    text = "".join(lines[first : last + 1])
    end = len("".join(lines[first:last])) + region["endColumn"] - 1
    assert text[region["startColumn"] - 1 : end].encode("utf-8", "replace") == data[finding.start : finding.end]


def test_columns_count_characters_after_the_byte_order_mark():
    include = replace(SPREAD, start=3, end=20, line=1, column=4)
    region = results(include)[0]["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["byteOffset"]) == (1, 1, 3)


def test_a_finding_about_a_file_is_on_its_first_line():
    assert results(WHOLE)[0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_the_chain_is_in_related_locations():
    related = results(CHAIN)[0]["relatedLocations"]
    assert [step["physicalLocation"]["artifactLocation"]["uri"] for step in related] == [
        "csrc/include/scale.h",
        "csrc/include/norm.h",
    ]
    assert [step["message"]["text"] for step in related] == ["includes norm.h", "includes torch/all.h"]
    assert related[0]["physicalLocation"]["region"] == {"startLine": 3}


def test_a_fix_says_what_it_replaces_and_how_far_to_trust_it():
    (fix,) = results(UNUSED)[0]["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    edit = UNUSED.edits[0]
    assert replacement["insertedContent"] == {"text": "#include <vector>"}
    assert replacement["deletedRegion"]["byteOffset"] == edit.start
    assert replacement["deletedRegion"]["byteLength"] == edit.end - edit.start
    assert fix["description"]["text"] == "Safe: torchless migrate --select TL111 --write"
    changes = results(CHAIN)[0]["fixes"][0]["artifactChanges"]
    assert [c["artifactLocation"]["uri"] for c in changes] == ["csrc/include/norm.h", "csrc/kernels/scale.cu"]
    assert changes[1]["replacements"][0]["insertedContent"] == {"binary": "Ly8g5Ao="}
    assert "insertedContent" not in changes[0]["replacements"][0]


def test_what_the_baseline_knows_is_suppressed_and_unchanged():
    new, old = results(UNUSED, known=(LAUNCH,), baseline="b.json")
    assert (new["baselineState"], old["baselineState"]) == ("new", "unchanged")
    assert "suppressions" not in new
    assert old["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "known from the baseline"}
    ]
    assert "baselineState" not in results(UNUSED)[0]


def test_braces_in_a_message_are_no_placeholders():
    assert results(LAUNCH)[0]["message"]["text"] == "no stream: {{0}} of 100%, a|b <c>."


def test_fingerprints_tell_findings_apart():
    names = [found["partialFingerprints"]["torchless/v1"] for found in results(*ALL)]
    assert len(set(names)) == len(ALL)


def test_more_results_than_github_takes_go_into_further_runs(monkeypatch):
    monkeypatch.setattr(module, "MOST_RESULTS", 2)
    runs = log(*ALL)["runs"]
    assert [len(run["results"]) for run in runs] == [2, 2, 1]
    assert [run["automationDetails"]["id"] for run in runs] == [f"torchless/part-{n}/" for n in (1, 2, 3)]
    for run in runs:
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(ids[found["ruleIndex"]] == found["ruleId"] for found in run["results"])
    assert [run["automationDetails"]["id"] for run in log()["runs"]] == ["torchless/"]


def test_a_file_that_cannot_be_read_is_an_error():
    assert results(replace(WHOLE, code="TL006"))[0]["level"] == "error"
    assert results(WHOLE)[0]["level"] == "warning"
