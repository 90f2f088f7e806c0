"""Rule files: what a mistake in one says, where rules are found, and that users can bring their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.conftest import view_of
from torchless.model import Tier
from torchless.rules.engine import examine
from torchless.rules.load import load_rules, read_rules, rules_dir
from torchless.rules.model import RuleError

GOOD = """
[sets]
two = ["a", "b"]
[[rule]]
code = "XY100"
name = "old-call"
summary = "old() becomes fresh()"
what = "It is renamed."
why = "It is old."
tier_reason = "Same function."
[[rule.pattern]]
match = "old($*args)"
replace = "fresh($*args)"
[[rule.example]]
before = "old(1);"
after = "fresh(1);"
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return path


def test_a_users_file_works_beside_the_built_in_rules(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    ruleset = load_rules((str(path),))
    assert ruleset.rule("XY100") is not None and ruleset.rule("TL301") is not None
    found = examine(view_of("old(2); TORCH_CHECK(ok);"), ruleset).findings
    assert [f.code for f in found] == ["XY100", "TL301"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('code = "XY100"', 'code = "XY100"\ncolour = "red"'), "[XY100]: unknown key 'colour'"),
        (('replace = "fresh', 'replaced = "fresh'), "[XY100] pattern 1: unknown key 'replaced'"),
        (('why = "It is old."', ""), "[XY100]: 'why' is missing"),
        (('"old($*args)"', '"old($*args $x)"'), "side by side"),
        (('"old($*args)"', '"$*args"'), "no token to search for"),
        (('"old($*args)"', '"@three()"'), "there is no set 'three'"),
        (("fresh($*args)", "fresh($other)"), "uses $other, which the pattern does not bind"),
        (('replace = "fresh', 'where.args = "thing"\nreplace = "fresh'), "unknown constraint 'thing'"),
        (('replace = "fresh', 'where.args = "/(/"\nreplace = "fresh'), "bad regular expression"),
        (('replace = "fresh', 'where.z = "name"\nreplace = "fresh'), "'where' names $z"),
        (('replace = "fresh', 'within = "moonlight"\nreplace = "fresh'), "unknown context 'moonlight'"),
        (('replace = "fresh', 'within = "inside nine"\nreplace = "fresh'), "names no set"),
        (('replace = "fresh', 'tier = "sure"\nreplace = "fresh'), "unknown tier 'sure'"),
        (('replace = "fresh', 'blocks = true\nreplace = "fresh'), "either blocks or replaces"),
        (('replace = "fresh($*args)"', "blocks = true"), "a blocker needs 'help'"),
        (('after = "fresh(1);"', ""), "give 'before' and 'after', or 'keep'"),
        (('before = "old(1);"\nafter = "fresh(1);"', 'keep = "x"'), "'keep' needs a 'note'"),
        (("[[rule.example]]\n", '[[rule.example]]\nlang = "cobol"\n'), "unknown lang 'cobol'"),
        (('two = ["a", "b"]', "two = 3"), "must be a table"),
        (('two = ["a", "b"]', "two = [3]"), "must be a string"),
        (('name = "old-call"', "name = 3"), "'name' must be a string"),
        (("[[rule.pattern]]", "[[rule.pattern"), "not a TOML file"),
        (("[sets]", "[moon]\nx = 1\n[sets]"), "unknown key 'moon'"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(RuleError) as error:
        read_rules([write(tmp_path, GOOD.replace(change[0], change[1], 1))])
    assert says in str(error.value)
    assert "own.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_code_used_twice(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"nowhere\.toml: No such file"):
        load_rules((str(tmp_path / "nowhere.toml"),))
    second = tmp_path / "second.toml"
    second.write_text(GOOD.replace("[sets]\ntwo", "[sets]\nthree"))
    with pytest.raises(RuleError, match=r"the code is already used in own\.toml"):
        read_rules([write(tmp_path, GOOD), second])


def test_rules_are_found_and_an_unknown_target_is_said() -> None:
    assert (rules_dir() / "dtypes.toml").is_file()
    with pytest.raises(RuleError, match="no rules for target"):
        rules_dir("moon")


def test_every_shipped_rule_is_well_documented() -> None:
    rules = load_rules().rules
    assert len({r.code for r in rules}) == len(rules)
    assert len({r.name for r in rules}) == len(rules)
    for rule in rules:
        assert rule.code[:2] == "TL" and rule.code[2:].isdigit(), rule.code
        assert rule.name == rule.name.lower().replace(" ", "-"), rule.code
        assert rule.blocks == (rule.tier is Tier.DISPLAY and rule.blocks), rule.code
        assert rule.safety or rule.blocks or rule.tier is Tier.DISPLAY, rule.code
        for pattern in rule.patterns:
            assert pattern.message, rule.code
            assert pattern.help or not pattern.blocks, rule.code
            unsafe = pattern.tier is Tier.UNSAFE and rule.tier is Tier.SAFE
            assert not unsafe or "unsafe" in rule.safety, f"{rule.code}: the page must say what is unsafe"
