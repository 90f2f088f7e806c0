"""Reads rule files: TOML in, a Ruleset out, or one line that says what is wrong and where.

A file holds named sets of names (``[sets.NAME]``: a list, or a table name = "replacement"), optionally
``specific_members``, and ``[[rule]]`` sections. Keys of a section, patterns and examples are those of model.py; texts
may be left out only where this module says so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from torchless.model import Tier
from torchless.rules.catalogue import rules_dir as rules_dir
from torchless.rules.conditions import check_constraint, check_context
from torchless.rules.match import PROJECT_CHECKS
from torchless.rules.model import Example, PatternRule, Rule, RuleError, Ruleset
from torchless.rules.pattern import Pattern, PatternError, compile_pattern, compile_template

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Tables = dict[str, dict[str, str]]

_RULE_KEYS = {
    "code", "name", "summary", "what", "why", "tier", "tier_reason", "safety", "blocks", "help", "rewrite", "lint",
    "opt_in", "pattern", "example", "where", "within", "not_within", "requires", "needs",
}  # fmt: skip
_DOC_KEYS = ("code", "name", "summary", "what", "why", "tier_reason")
_PATTERN_KEYS = {
    "match", "replace", "tier", "message", "help", "blocks", "where", "within", "not_within", "requires", "needs",
    "yields", "additive", "priority",
}  # fmt: skip
_EXAMPLE_KEYS = {"lang", "before", "after", "keep", "given", "note", "finds", "unsafe"}


@lru_cache(maxsize=8)
def load_rules(extra: tuple[str, ...] = (), target: str = "aiter") -> Ruleset:
    """The target's rules and those of the files ``extra`` (paths, as given to --rules). Raises RuleError."""
    return read_rules([*sorted(rules_dir(target).glob("*.toml")), *(Path(p) for p in extra)])


def read_rules(paths: Iterable[Path]) -> Ruleset:
    """The rules of ``paths`` in order, sharing their sets. Raises RuleError."""
    documents: list[tuple[str, dict[str, Any]]] = []
    for path in paths:
        try:
            documents.append((path.name, tomllib.loads(path.read_text("utf-8"))))
        except OSError as error:
            raise RuleError(f"{path}: {error.strerror or error}") from None
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise RuleError(f"{path.name}: not a TOML file: {error}") from None
    sets: Tables = {PROJECT_CHECKS: {}}
    specific: set[str] = set()
    for name, document in documents:
        _check_keys(document, {"sets", "rule", "specific_members", "include_map"}, name)
        for key, value in _table(document.get("include_map", {}), name, "include_map").items():
            _string(value, name, f"include_map.{key}")
        specific.update(_strings(document.get("specific_members", []), name, "specific_members"))
        for key, value in _table(document.get("sets", {}), name, "sets").items():
            if key in sets:
                raise RuleError(f"{name}: set {key!r} is defined twice")
            sets[key] = _set(value, name, key)
    rules: dict[str, Rule] = {}
    for name, document in documents:
        for number, section in enumerate(_list(document.get("rule", []), name, "rule"), 1):
            rule = _rule(section, name, number, sets)
            if rule.code in rules:
                raise RuleError(f"{rule.origin}: the code is already used in {rules[rule.code].origin}")
            rules[rule.code] = rule
    return Ruleset(tuple(rules[code] for code in sorted(rules)), sets, frozenset(specific))


def _rule(section: Any, file: str, number: int, sets: Tables) -> Rule:
    if not isinstance(section, dict):
        raise RuleError(f"{file} [rule {number}]: not a table")
    code = section.get("code")
    origin = f"{file} [{code}]" if isinstance(code, str) else f"{file} [rule {number}]"
    _check_keys(section, _RULE_KEYS, origin)
    keys = (*_DOC_KEYS, "safety", "help", "rewrite", "lint")
    texts = {key: _string(section.get(key, ""), origin, key).strip() for key in keys}
    for key in _DOC_KEYS:
        if not texts[key]:
            raise RuleError(f"{origin}: {key!r} is missing")
    blocks = _bool(section.get("blocks", False), origin, "blocks")
    if blocks and not texts["help"]:
        raise RuleError(f"{origin}: a blocker needs 'help': what a person would do")
    tier = _tier(section.get("tier", "display" if blocks else "safe"), origin)
    patterns = tuple(
        _pattern(p, section, f"{origin} pattern {k}", sets, texts["summary"], tier, blocks)
        for k, p in enumerate(_list(section.get("pattern", []), origin, "pattern"), 1)
    )
    if sum((bool(patterns or texts["rewrite"]), bool(texts["lint"]))) != 1:
        raise RuleError(f"{origin}: needs patterns or a rewrite, or else a lint")
    examples = tuple(
        _example(e, f"{origin} example {k}")
        for k, e in enumerate(_list(section.get("example", []), origin, "example"), 1)
    )
    if not examples and not texts["rewrite"]:
        raise RuleError(f"{origin}: 'example' is missing: a rule is its own test")
    return Rule(
        texts["code"], texts["name"], texts["summary"], texts["what"], texts["why"], tier, texts["tier_reason"],
        texts["safety"], blocks, texts["help"], texts["rewrite"], texts["lint"], patterns, examples, origin,
        _bool(section.get("opt_in", False), origin, "opt_in"),
    )  # fmt: skip


def _pattern(
    own: Any, rule: Mapping[str, Any], origin: str, sets: Tables, summary: str, tier: Tier, blocks: bool
) -> PatternRule:
    """One [[rule.pattern]]; what it leaves out comes from its rule."""
    if not isinstance(own, dict):
        raise RuleError(f"{origin}: not a table")
    _check_keys(own, _PATTERN_KEYS, origin)
    try:
        pattern = compile_pattern(_string(own.get("match", ""), origin, "match"))
        _check_sets(pattern, sets)
        text = own.get("replace")
        template = None if text is None else compile_template(_string(text, origin, "replace"), pattern, sets)
    except PatternError as error:
        raise RuleError(f"{origin}: {error}") from None
    blocks = _bool(own.get("blocks", blocks), origin, "blocks")
    if blocks and template is not None:
        raise RuleError(f"{origin}: a pattern either blocks or replaces")
    merged = {**_table(rule.get("where", {}), origin, "where"), **_table(own.get("where", {}), origin, "where")}
    where = {}
    for var, constraint in merged.items():
        if var not in pattern.names():
            if var in own.get("where", {}):
                raise RuleError(f"{origin}: 'where' names ${var}, which the pattern does not bind")
            continue
        where[var] = _words(constraint, origin, f"where.{var}")
    inherited = {key: _words(own.get(key, rule.get(key, [])), origin, key) for key in _INHERITED}
    try:
        for constraint in (c for cs in where.values() for c in cs):
            check_constraint(constraint)
        for context in (*inherited["within"], *inherited["not_within"]):
            check_context(context, frozenset(sets))
    except ValueError as error:
        raise RuleError(f"{origin}: {error}") from None
    if pattern.anchor < 0 and not any(c.startswith("argument ") for c in inherited["within"]):
        raise RuleError(f"{origin}: a lone metavariable needs within = 'argument SET'")
    helps = _string(own.get("help", rule.get("help", "")), origin, "help").strip()
    if blocks and not helps:
        raise RuleError(f"{origin}: a blocker needs 'help': what a person would do")
    return PatternRule(
        pattern=pattern,
        replace=template,
        tier=_tier(own["tier"], origin) if "tier" in own else (Tier.DISPLAY if blocks else tier),
        message=_string(own.get("message", summary), origin, "message").strip(),
        help=helps,
        blocks=blocks,
        where=where,
        within=inherited["within"],
        not_within=inherited["not_within"],
        requires=inherited["requires"],
        needs=inherited["needs"],
        yields=_string(own.get("yields", ""), origin, "yields"),
        additive=_bool(own.get("additive", False), origin, "additive"),
        priority=_int(own.get("priority", 0), origin, "priority"),
    )


_INHERITED = ("within", "not_within", "requires", "needs")


def _check_sets(pattern: Pattern, sets: Tables) -> None:
    for key in pattern.sets():
        if "::" not in key and key not in sets:
            raise PatternError(f"there is no set {key!r}")


def _example(section: Any, origin: str) -> Example:
    if not isinstance(section, dict):
        raise RuleError(f"{origin}: not a table")
    _check_keys(section, _EXAMPLE_KEYS, origin)
    lang = _string(section.get("lang", "cpp"), origin, "lang")
    if lang not in ("cpp", "python", "checkout"):
        raise RuleError(f"{origin}: unknown lang {lang!r}")
    if ("keep" in section) == ("before" in section) or ("after" in section) != ("before" in section):
        raise RuleError(f"{origin}: give 'before' and 'after', or 'keep'")
    note = _string(section.get("note", ""), origin, "note").strip()
    if "keep" in section and not note:
        raise RuleError(f"{origin}: 'keep' needs a 'note' that says why")
    before = _texts(section.get("keep", section.get("before")), lang, origin)
    after = _texts(section.get("keep", section.get("after")), lang, origin)
    return Example(
        lang,
        before,
        after,
        _words(section.get("given", []), origin, "given"),
        note,
        _words(section.get("finds", []), origin, "finds"),
        _bool(section.get("unsafe", False), origin, "unsafe"),
    )


def _texts(value: Any, lang: str, origin: str) -> dict[str, str]:
    if lang == "checkout":
        return {path: _string(text, origin, path) for path, text in _table(value, origin, "before/after").items()}
    return {"": _string(value, origin, "before/after/keep")}


def _set(value: Any, file: str, key: str) -> dict[str, str]:
    if isinstance(value, list):
        return dict.fromkeys(_strings(value, file, f"sets.{key}"), "")
    table = _table(value, file, f"sets.{key}")
    return {name: _string(text, file, f"sets.{key}.{name}") for name, text in table.items()}


def _check_keys(section: Mapping[str, Any], known: set[str], origin: str) -> None:
    for key in section:
        if key not in known:
            raise RuleError(f"{origin}: unknown key {key!r}")


def _string(value: Any, origin: str, key: str) -> str:
    if not isinstance(value, str):
        raise RuleError(f"{origin}: {key!r} must be a string")
    return value


def _bool(value: Any, origin: str, key: str) -> bool:
    if not isinstance(value, bool):
        raise RuleError(f"{origin}: {key!r} must be true or false")
    return value


def _int(value: Any, origin: str, key: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise RuleError(f"{origin}: {key!r} must be a whole number")
    return value


def _tier(value: Any, origin: str) -> Tier:
    try:
        return Tier(value)
    except ValueError:
        raise RuleError(f"{origin}: unknown tier {value!r}") from None


def _list(value: Any, origin: str, key: str) -> Sequence[Any]:
    if not isinstance(value, list):
        raise RuleError(f"{origin}: {key!r} must be a list")
    return value


def _table(value: Any, origin: str, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RuleError(f"{origin}: {key!r} must be a table")
    return value


def _strings(value: Any, origin: str, key: str) -> list[str]:
    return [_string(v, origin, key) for v in _list(value, origin, key)]


def _words(value: Any, origin: str, key: str) -> tuple[str, ...]:
    """A string or a list of strings."""
    return (value,) if isinstance(value, str) else tuple(_strings(value, origin, key))
