"""Annotations that the runner reads back as they were meant, and a summary within its limit."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report.report_samples import ALL, CHAIN, LAUNCH, SPREAD, UNUSED, WHOLE, checked, hostile
from torchless.report.github import LIMIT, commands, job_summary


def read(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner reads it: level, properties, message."""
    level, properties, message = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line).groups()
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    for code, char in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        pairs = {key: value.replace(code, char) for key, value in pairs.items()}
        message = message if code in ("%2C", "%3A") else message.replace(code, char)
    return level, pairs, message


def annotation(finding, **more):
    (line,) = commands(checked(finding), False, **more).splitlines()
    return read(line)


def test_an_annotation_has_place_title_and_message():
    assert annotation(UNUSED) == (
        "warning",
        {
            "file": "csrc/kernels/scale.cu",
            "line": "2",
            "endLine": "2",
            "col": "1",
            "endColumn": "29",
            "title": "torchless TL111 unused-heavy-include",
        },
        "[*] nothing of torch/extension.h is used",
    )


def test_the_message_holds_the_chain_and_the_help():
    assert annotation(CHAIN)[2].split("\n") == [
        "[!] scale.h brings torch",
        "via csrc/include/scale.h:3: includes norm.h",
        "via csrc/include/norm.h:1: includes torch/all.h",
        "help: include what is used",
    ]


def test_a_range_over_lines_has_no_columns():
    properties = annotation(SPREAD)[1]
    assert (properties["line"], properties["endLine"]) == ("3", "4")
    assert not {"col", "endColumn"} & set(properties)


def test_a_finding_about_a_file_is_on_its_first_line():
    properties = annotation(WHOLE)[1]
    assert (properties["line"], properties["endLine"]) == ("1", "1")
    assert "col" not in properties


def test_nothing_in_a_finding_ends_its_command():
    finding = hostile(LAUNCH)
    level, properties, message = annotation(finding)
    assert level == "warning"
    assert properties["file"] == finding.path
    assert message == finding.message
    assert len(commands(checked(finding), False).split("\n")) == 2


def test_paths_are_relative_to_the_repository():
    assert annotation(UNUSED, prefix="vendor/aiter/")[1]["file"] == "vendor/aiter/csrc/kernels/scale.cu"


def test_known_findings_are_notices_on_request():
    some = checked(UNUSED, known=(LAUNCH,), baseline="b.json")
    assert [read(line)[0] for line in commands(some, True).splitlines()] == ["warning", "notice"]
    assert [read(line)[0] for line in commands(some, False).splitlines()] == ["warning"]


def test_the_summary_has_counts_and_a_row_for_each_finding():
    lines = job_summary(checked(*ALL)).splitlines()
    assert lines[0] == "### torchless check"
    assert "| TL111 | unused-heavy-include | `[*]` | 1 | 0 |" in lines
    assert "| csrc/kernels/scale.cu:7:2 | TL410 | no stream: {0} of 100%, a\\|b &lt;c> |" in lines
    assert sum(line.startswith("| csrc/") for line in lines) == len(ALL)


def test_code_in_the_summary_stays_as_it_is():
    text = job_summary(checked(replace(LAUNCH, message="`#include <torch/all.h>` for `a && b` < c")))
    assert "| `#include <torch/all.h>` for `a && b` &lt; c |" in text
    assert "| odd ` &lt;b> |" in job_summary(checked(replace(LAUNCH, message="odd ` <b>")))


def test_no_finding_breaks_the_table():
    rows = [line for line in job_summary(checked(hostile(UNUSED))).split("\n") if "TL111" in line and line[0] == "|"]
    assert len(rows) == 2
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (4, 6) for row in rows)


@pytest.mark.parametrize("room", [700, 1000, 1500])
def test_what_does_not_fit_is_counted(room):
    many = tuple(replace(LAUNCH, message=f"finding é {n}") for n in range(100))
    text = job_summary(checked(*many), room)
    assert len(text.encode()) <= room
    left = int(re.search(r"(\d+) more findings did not fit here", text).group(1))
    assert 0 < left == 100 - text.count("finding é ")


def test_no_summary_where_nothing_fits():
    assert job_summary(checked(*ALL), 200) == ""
    assert job_summary(checked(*ALL), -1) == ""


def test_the_limit_holds_for_very_many_findings():
    many = tuple(replace(LAUNCH, message=f"{n} {'x' * 200}") for n in range(6000))
    size = len(job_summary(checked(*many)).encode())
    assert LIMIT - 1000 < size <= LIMIT
