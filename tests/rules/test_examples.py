"""Every example in the rule files is a test: as it stands, once more over its own result, and with CRLF line ends."""

from __future__ import annotations

import pytest

from tests.rules.conftest import edits_of, view_of
from torchless.facts.typing import FileView
from torchless.model import Tier
from torchless.rules.engine import examine
from torchless.rules.load import load_rules
from torchless.rules.model import Example, Rule, Ruleset
from torchless.text.edits import apply

CASES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in load_rules().rules
    for number, example in enumerate(rule.examples, 1)
    if example.lang == "cpp" and rule.patterns
]
# What a variable is after the migration.
AFTERWARDS = {"tensor": "target_tensor", "optional_tensor": "", "dtype": "", "typemeta": "", "stream": ""}


def result_of(view: FileView, ruleset: Ruleset, unsafe: bool) -> str:
    """The text after the edits; as in a unit, a blocker keeps everything as it is."""
    found = examine(view, ruleset).findings
    edits = [] if any(f.blocks for f in found) else edits_of(found, unsafe)
    return apply(view.source.data, edits).decode()


def migrated(given: tuple[str, ...]) -> list[str]:
    """The types of ``given`` as they are once everything is migrated; names of torch's are gone."""
    out = []
    for word in given:
        name, colon, kind = word.partition(": ")
        if colon:
            out.append(f"{name}: {AFTERWARDS.get(kind, kind)}")
    return out


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_example(rule: Rule, example: Example, rules: Ruleset) -> None:
    view = view_of(example.before[""], example.given)
    found = examine(view, rules).findings
    assert result_of(view, rules, example.unsafe) == example.after[""]
    assert set(example.finds) <= {f.code for f in found}
    if example.keeps and not example.finds:
        assert [f for f in found if f.tier is not Tier.DISPLAY] == []
    if example.finds:
        assert any(f.blocks and f.help for f in found if f.code in example.finds)


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_twice_is_once(rule: Rule, example: Example, rules: Ruleset) -> None:
    view = view_of(example.after[""], migrated(example.given))
    assert result_of(view, rules, unsafe=True) == example.after[""]


@pytest.mark.parametrize(("rule", "example"), CASES)
def test_line_ends_stay(rule: Rule, example: Example, rules: Ruleset) -> None:
    view = view_of(example.before[""].replace("\n", "\r\n"), example.given)
    assert result_of(view, rules, example.unsafe) == example.after[""].replace("\n", "\r\n")


@pytest.mark.parametrize("rule", [r for r in load_rules().rules if r.patterns], ids=lambda r: r.code)
def test_every_rule_speaks_in_its_examples(rule: Rule, rules: Ruleset) -> None:
    spoken = {
        f.code
        for example in rule.examples
        if example.lang == "cpp"
        for f in examine(view_of(example.before[""], example.given), rules).findings
    }
    assert rule.code in spoken
