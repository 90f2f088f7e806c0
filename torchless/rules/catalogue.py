"""Which rules there are, told without what it takes to apply them.

A check looks for what its lints find and needs no patterns; compiling those would take longer than the check. So the
codes, names and lints of the tool's own rule files are kept in an index. Those files are ours and tested with us; files
of others are read in full by rules/load.py, which says what is wrong with them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from torchless.index import open_index

_VERSION = 1  # of what is stored for a rule file


class Entry(NamedTuple):
    """A rule in short; the fields are those of rules.model.Rule."""

    code: str
    name: str
    lint: str


def rules_dir(target: str = "aiter") -> Path:
    """The folder of the rule files of ``target``: in the wheel, or in a source checkout. Raises RuleError."""
    here = Path(__file__).resolve().parent
    for base in (here / "data", here.parents[1] / "rules"):
        if (base / target).is_dir():
            return base / target
    from torchless.rules.model import RuleError

    raise RuleError(f"no rules for target {target!r} are installed")


def entries(extra: tuple[str, ...] = (), target: str = "aiter", stored: bool = True) -> tuple[Entry, ...]:
    """The rules that load_rules() gives for the same arguments, in its order. Raises RuleError.

    The index of the rule files is kept in the cache folder when ``stored``.
    """
    if extra:
        from torchless.rules.load import load_rules

        return tuple(Entry(rule.code, rule.name, rule.lint) for rule in load_rules(extra, target).rules)
    folder = rules_dir(target)
    index = open_index(folder, stored)
    try:
        found = [row for path in folder.glob("*.toml") for row in index.get(path.name, "rules", _VERSION, _scan)]
    except OSError as error:
        from torchless.rules.model import RuleError

        raise RuleError(f"{error.filename}: {error.strerror}") from None
    index.save()
    return tuple(sorted(Entry(*row) for row in found))


def _scan(data: bytes) -> list[tuple[str, str, str]]:
    """The fields of an Entry for each rule in a rule file of our own."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    sections = tomllib.loads(data.decode()).get("rule", [])
    return [(section["code"], section["name"], section.get("lint", "")) for section in sections]
