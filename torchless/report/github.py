"""Annotations for GitHub Actions, and the Markdown summary of a job.

A workflow command is a line ``::warning file=...::message``; in it %, line ends and, in properties, : and , are escaped
as actions/toolkit does (packages/core/src/command.ts). GitHub shows 10 annotations of a level per step and 50 per job,
so that the summary holds them all, as far as they fit into the 1 MiB that a step may write.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchless.model import Finding
from torchless.report.checked import Checked, counts, led_by, mark, summary
from torchless.report.color import painter
from torchless.report.statistics import fixable
from torchless.report.wording import one_line, place, plural

LIMIT = 1 << 20
"""Bytes that a step may write to its summary."""
_RESERVE = 300  # bytes kept for the line that says how many did not fit


def commands(checked: Checked, known: bool, prefix: str = "") -> str:
    """A warning for every finding, a notice for every one that the baseline knows when ``known``.

    ``prefix`` leads from the top of the repository to the root of the project: "" or a path with a slash at its end.
    """
    result = checked.result
    lines = [_command("warning", finding, checked, prefix) for finding in result.findings]
    lines += [_command("notice", finding, checked, prefix) for finding in result.known if known]
    return "".join(f"{line}\n" for line in lines)


def job_summary(checked: Checked, room: int = LIMIT) -> str:
    """The result as Markdown in at most ``room`` bytes; "" when not even its head fits."""
    findings = checked.result.findings
    head = [*_head(checked), *(["", "| place | code | what |", "|---|---|---|"] if findings else [])]
    out = "".join(f"{line}\n" for line in head)
    used = _size(out) + _RESERVE
    if used > room:
        return ""
    for number, finding in enumerate(findings):
        row = f"{_row(finding)}\n"
        used += _size(row)
        if used > room:
            return f"{out}\n{plural(len(findings) - number, 'more finding')} did not fit here: see the log.\n"
        out += row
    return out


def _command(level: str, finding: Finding, checked: Checked, prefix: str) -> str:
    source = checked.source(finding.path)
    first = max(finding.line, 1)
    last = max(source.line_of(max(min(finding.end, len(source.data)) - 1, 0)), first) if finding.end else first
    properties = {"file": prefix + finding.path, "line": str(first), "endLine": str(last)}
    if first == last and finding.column and finding.end > finding.start:  # columns of several lines are ignored
        properties |= {"col": str(finding.column), "endColumn": str(finding.column + finding.end - finding.start)}
    properties["title"] = f"torchless {finding.code} {checked.name(finding.code)}".rstrip()
    text = "\n".join(_message(finding))
    return f"::{level} {','.join(f'{key}={_property(value)}' for key, value in properties.items())}::{_data(text)}"


def _message(finding: Finding) -> Iterator[str]:
    yield f"{mark(finding)} {finding.message}".lstrip()
    for step in finding.related:
        yield f"{led_by(step)} {place(step.path, step.line)}: {step.message}"
    if finding.help:
        yield f"help: {one_line(finding.help)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _head(checked: Checked) -> Iterator[str]:
    yield "### torchless check"
    yield ""
    for line in summary(checked, painter(False)):
        yield f"{_cell(line.replace('[*]', '`[*]`'))}  "
    rows = counts(checked.result)
    if rows:
        yield ""
        yield "| code | rule | mends | findings | known |"
        yield "|---|---|---|---:|---:|"
    for row in rows:
        yield f"| {row.code} | {_cell(checked.name(row.code))} | `{fixable(row)}` | {row.new:,} | {row.known:,} |"


def _row(finding: Finding) -> str:
    fix = f"`{mark(finding)}` " if mark(finding) else ""
    where = _cell(place(finding.path, finding.line, finding.column))
    return f"| {where} | {finding.code} | {fix}{_cell(finding.message)} |"


def _cell(text: str) -> str:
    """``text`` for a cell of a Markdown table; nothing in it is markup but code spans, which are taken as they are."""
    parts = one_line(text).replace("|", "\\|").split("`")
    spans = len(parts) % 2 == 1  # as many backquotes open as close
    escaped = (p if spans and n % 2 else p.replace("&", "&amp;").replace("<", "&lt;") for n, p in enumerate(parts))
    return "`".join(escaped)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
