"""JUnit: well-formed XML whatever a finding says, in the shape that CI servers read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from tests.report.report_samples import ALL, CHAIN, LAUNCH, UNUSED, checked, hostile
from torchless.report.junit import junit


def suites(*findings, **more) -> ET.Element:
    """The report, read back, with the counts of every level checked against what is there."""
    text = junit(checked(*findings, **more)).encode("utf-8")
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    for node in (root, *root):
        cases = list(node.iter("testcase"))
        assert int(node.get("tests")) == len(cases)
        assert int(node.get("failures")) == len(list(node.iter("failure")))
        assert int(node.get("skipped")) == len(list(node.iter("skipped")))
        assert node.get("errors") == "0"
        assert all(len(case) <= 1 and case.get("name") and case.get("classname") for case in cases)
    assert {child.tag for child in root} == {"testsuite"}
    return root


def test_a_suite_per_file_and_a_failure_per_finding():
    root = suites(*ALL)
    assert [suite.get("name") for suite in root] == ["csrc/include/norm.h", "csrc/kernels/scale.cu"]
    failure = root[1][0].find("failure")
    assert root[1][0].attrib == {
        "classname": "csrc/kernels/scale.cu",
        "name": "TL111 2:1",
        "file": "csrc/kernels/scale.cu",
        "line": "2",
        "time": "0",
    }
    assert failure.attrib == {"message": "nothing of torch/extension.h is used", "type": "TL111"}
    assert failure.text == "csrc/kernels/scale.cu:2:1: TL111 [*] nothing of torch/extension.h is used"


def test_the_chain_and_the_help_are_in_the_failure():
    assert suites(CHAIN)[0][0].find("failure").text.split("\n")[1:] == [
        "via csrc/include/scale.h:3: includes norm.h",
        "via csrc/include/norm.h:1: includes torch/all.h",
        "help: include what is used",
    ]


def test_known_findings_are_skipped_tests():
    root = suites(UNUSED, known=(LAUNCH,), baseline="b.json")
    assert [[child.tag for child in case] for case in root[0]] == [["failure"], ["skipped"]]
    assert root[0][1][0].get("message") == f"known: {LAUNCH.message}"


def test_a_report_without_findings_has_a_test_that_passed():
    root = suites()
    assert root.get("tests") == "1"
    assert len(root[0][0]) == 0


def test_nothing_in_a_finding_breaks_the_xml():
    finding = hostile(UNUSED)
    root = suites(finding)
    clean = re.sub("[\x00\x1b\udce4]", "\ufffd", finding.message)
    assert root[0][0].find("failure").get("message") == clean
    assert root[0].get("name") == re.sub("[\x1b\udce4]", "\ufffd", finding.path)
    assert "]]>" in root[0][0].find("failure").text


@pytest.mark.parametrize("code", [*range(0x20), 0x7F, 0x85, 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x10FFFF, 0x1F600])
def test_every_character_is_read_back_or_replaced(code):
    message = suites(replace(UNUSED, message=f"a{chr(code)}b"))[0][0].find("failure").get("message")
    allowed = code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
    assert message == f"a{chr(code) if allowed else chr(0xFFFD)}b"
