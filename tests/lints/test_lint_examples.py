"""Every example of a rule that `torchless check` looks for is a test; see lay_out() for the checkout around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lints.conftest import CONFIG, EXCERPT, findings_in, lay_out, mend, texts_in
from torchless.rules.load import load_rules
from torchless.rules.model import Example, Rule

RULES = [rule for rule in load_rules().rules if rule.lint]
CASES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, example in enumerate(rule.examples, 1)
]


def as_is(path: str, text: str) -> bytes:
    return text.encode()


def with_crlf(path: str, text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def with_bom(path: str, text: str) -> bytes:
    return (b"" if path == CONFIG else b"\xef\xbb\xbf") + text.encode()


def on_disk(texts: Mapping[str, str], lang: str, form: Callable[[str, str], bytes] = as_is) -> dict[str, bytes]:
    """The files of an example: a checkout's, or one source."""
    paths = {path if lang == "checkout" else EXCERPT: text for path, text in texts.items()}
    return {path: form(path, text) for path, text in paths.items()}


@pytest.mark.parametrize("form", [as_is, with_crlf, with_bom])
@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(rule: Rule, example: Example, form: Callable[[str, str], bytes], tmp_path: Path) -> None:
    before, after = (on_disk(texts, example.lang, form) for texts in (example.before, example.after))
    lay_out(tmp_path, before)
    found = findings_in(tmp_path, {rule.code, *example.finds})
    codes = {f.code for f in found}
    assert set(example.finds) <= codes
    if example.keeps and not example.finds:
        assert rule.code not in codes
    mend(tmp_path, [f for f in found if f.code == rule.code], example.unsafe)
    assert texts_in(tmp_path, before) == after
    if not example.keeps:
        assert rule.code not in {f.code for f in findings_in(tmp_path, {rule.code}) if f.edits}
        assert rule.code in codes


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_every_finding_says_where_and_what(rule: Rule, example: Example, tmp_path: Path) -> None:
    lay_out(tmp_path, on_disk(example.before, example.lang))
    for finding in findings_in(tmp_path, {rule.code, *example.finds}):
        size = (tmp_path / finding.path).stat().st_size
        assert 0 <= finding.start <= finding.end <= size
        assert finding.line and finding.column
        assert finding.message and "\n" not in finding.message
        assert finding.edits or finding.help
        assert all(edit.code == finding.code for edit in finding.edits)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_lint_speaks_and_is_silent(rule: Rule) -> None:
    assert any(not e.keeps or rule.code in e.finds for e in rule.examples), "an example that is reported"
    assert any(e.keeps and not e.finds for e in rule.examples), "an example that is not"
