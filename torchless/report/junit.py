"""A check as a JUnit report, for CI servers that show tests: a suite per file, a failed test per finding.

What the baseline knows is a skipped test. There is no official schema; this keeps to what Jenkins, GitLab and Azure
read: testsuites > testsuite > testcase > failure | skipped. Written by hand: xml.etree would take longer to import than
this takes to run, and would let through characters that XML 1.0 has no way to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchless.model import Finding
from torchless.report.checked import Checked, led_by, mark
from torchless.report.wording import place

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_SPECIAL = re.compile(r'[&<>"\n\r\t]')
_NO_CHARACTER = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2


def junit(checked: Checked) -> str:
    """The report as XML, with a final newline."""
    result = checked.result
    known = set(result.known)
    by_path: dict[str, list[Finding]] = {}
    for finding in (*result.findings, *result.known):
        by_path.setdefault(finding.path, []).append(finding)
    tests = len(result.findings) + len(result.known)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    attributes = _attributes(
        name="torchless check",
        tests=str(tests or 1),
        failures=str(len(result.findings)),
        skipped=str(len(known)),
        errors="0",
        time=f"{result.seconds:.3f}",
    )
    lines.append(f"<testsuites{attributes}>")
    for path in sorted(by_path):
        lines += _suite(path, sorted(by_path[path], key=lambda f: (f.start, f.code)), known)
    if not tests:  # a report without a test is a failure to some servers
        lines.append('  <testsuite name="torchless check" tests="1" failures="0" skipped="0" errors="0">')
        lines.append('    <testcase classname="torchless" name="no finding" time="0"/>')
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines) + "\n"


def _suite(path: str, findings: list[Finding], known: set[Finding]) -> Iterator[str]:
    skipped = sum(1 for finding in findings if finding in known)
    counts = {"tests": len(findings), "failures": len(findings) - skipped, "skipped": skipped, "errors": 0}
    yield f"  <testsuite{_attributes(name=path, **{name: str(count) for name, count in counts.items()})}>"
    for finding in findings:
        name = f"{finding.code} {place('', finding.line, finding.column).lstrip(':')}"
        attributes = _attributes(classname=path, name=name, file=path, line=str(finding.line), time="0")
        yield f"    <testcase{attributes}>"
        if finding in known:
            yield f"      <skipped{_attributes(message=f'known: {finding.message}')}/>"
        else:
            body = _text("\n".join(_body(finding)))
            yield f"      <failure{_attributes(message=finding.message, type=finding.code)}>{body}</failure>"
        yield "    </testcase>"
    yield "  </testsuite>"


def _body(finding: Finding) -> Iterator[str]:
    fix = f"{mark(finding)} " if mark(finding) else ""
    yield f"{place(finding.path, finding.line, finding.column)}: {finding.code} {fix}{finding.message}"
    for step in finding.related:
        yield f"{led_by(step)} {place(step.path, step.line)}: {step.message}"
    if finding.help:
        yield f"help: {' '.join(finding.help.split())}"


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_attribute(value)}"' for name, value in values.items())


def _attribute(value: str) -> str:
    """``value`` as an attribute: line ends as references, or a parser would make blanks of them."""
    return _SPECIAL.sub(lambda m: _ENTITIES[m.group()], _NO_CHARACTER.sub("\ufffd", value))


def _text(value: str) -> str:
    return re.sub("[&<>]", lambda m: _ENTITIES[m.group()], _NO_CHARACTER.sub("\ufffd", value).replace("\r", "\n"))
