"""The short form of the rule set says what the long one does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from torchless.rules.catalogue import entries
from torchless.rules.load import load_rules
from torchless.rules.model import RuleError

OWN = """
[[rule]]
code = "MY1"
name = "own-rule"
"""


def test_the_short_form_is_that_of_the_rules(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [(rule.code, rule.name, rule.lint) for rule in load_rules().rules]
    assert len(expected) > 50
    assert list(entries()) == list(entries(stored=False)) == expected
    if sys.version_info >= (3, 11):
        monkeypatch.setattr("tomllib.loads", lambda text: pytest.fail("was read again"))
        assert list(entries()) == expected


def test_rules_of_others_are_read_in_full(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    with pytest.raises(RuleError, match=r"own\.toml \[MY1\]"):
        entries((str(tmp_path / "own.toml"),))
    with pytest.raises(RuleError, match="moon"):
        entries(target="moon")
