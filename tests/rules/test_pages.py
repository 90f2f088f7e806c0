"""docs/rules/ is what the rule files say, and every page says what it has to."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchless.rules.docs import explain, page, pages, write_pages
from torchless.rules.load import load_rules
from torchless.rules.model import Rule, RuleError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "rules"


def test_the_pages_in_docs_are_fresh() -> None:
    wanted = pages(load_rules().rules)
    found = {path.name: path.read_text("utf-8") for path in DOCS.glob("*.md")}
    assert sorted(found) == sorted(wanted)
    stale = [name for name in wanted if found[name] != wanted[name]]
    assert stale == [], "run make docs"


@pytest.mark.parametrize("rule", load_rules().rules, ids=lambda r: r.code)
def test_a_page_has_all_parts(rule: Rule) -> None:
    text = page(rule)
    assert text.startswith(f"# {rule.code} {rule.name}\n")
    for part in (rule.what, rule.why, rule.tier_reason, rule.safety, rule.help):
        assert " ".join(part.split())[1:60] in " ".join(text.split())
    assert text.count("```") % 2 == 0
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert explain(rule.code) == text


def test_write_pages_removes_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "TL998.md").write_text("old")
    (tmp_path / "keep.txt").write_text("mine")
    written = write_pages(tmp_path)
    assert {p.name for p in written} == set(pages(load_rules().rules))
    assert not (tmp_path / "TL998.md").exists() and (tmp_path / "keep.txt").exists()
    assert (tmp_path / "index.md").read_text().count("](TL") == len(load_rules().rules)


def test_an_unknown_code_is_said() -> None:
    with pytest.raises(RuleError, match="there is no rule TL999"):
        explain("TL999")
