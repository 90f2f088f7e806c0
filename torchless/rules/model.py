"""What a rule is. Frozen data: everything the engine, the documentation and the tests read from a rule file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torchless.errors import ToolError
from torchless.model import Tier
from torchless.rules.pattern import Pattern, Template


class RuleError(ToolError):
    """A rule file cannot be used; the message is one line that names the file and the section."""


@dataclass(frozen=True, slots=True)
class PatternRule:
    """One pattern of a rule and what to do where it matches; see pattern.py for the notation.

    ``where`` maps a metavariable to the constraints on what it binds, ``within``/``not_within`` are contexts of the
    match (match.py names both). ``replace`` None makes a finding without edits. ``blocks`` keeps the unit from being
    migrated. ``yields`` names the rule that handles such a match instead: nothing inside it is reported here.
    ``additive``: the edits only insert, so the match stands beside others over the same tokens. ``needs`` are names
    that the target must offer (``@set`` stands for what the set's table maps the matched name to).
    """

    pattern: Pattern
    replace: Template | None
    tier: Tier
    message: str
    help: str
    blocks: bool
    where: Mapping[str, tuple[str, ...]]
    within: tuple[str, ...]
    not_within: tuple[str, ...]
    requires: tuple[str, ...]
    needs: tuple[str, ...]
    yields: str
    additive: bool
    priority: int


@dataclass(frozen=True, slots=True)
class Example:
    """Text before and after, run as a test. ``lang``: "cpp", "python" or "checkout" (then texts by path).

    ``given`` tells the types and names that the excerpt leaves out: "x: tensor", "kHalf = at::kHalf". ``before`` equal
    to ``after`` means that nothing may change; ``note`` says why, or what the example shows. ``finds`` are the codes
    that must be reported, where the edits do not say it.
    """

    lang: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    given: tuple[str, ...] = ()
    note: str = ""
    finds: tuple[str, ...] = ()
    unsafe: bool = False

    @property
    def keeps(self) -> bool:
        """True when the example shows text that must stay as it is."""
        return dict(self.before) == dict(self.after)


@dataclass(frozen=True, slots=True)
class Rule:
    """A section of a rule file: documentation, behaviour and tests of one code.

    ``rewrite`` names the module of torchless/rewrites/ that implements what no pattern can say ("" when patterns do it
    all). ``lint`` names the module of torchless/lints/ that looks for it instead, in `torchless check`; a migration
    leaves such a rule alone unless it is selected, as it does one that is ``opt_in``: a rewrite that has nothing to do
    with torch.
    """

    code: str
    name: str
    summary: str
    what: str
    why: str
    tier: Tier
    tier_reason: str
    safety: str
    blocks: bool
    help: str
    rewrite: str
    lint: str
    patterns: tuple[PatternRule, ...]
    examples: tuple[Example, ...]
    origin: str  # "dtypes.toml [TL210]", for messages
    opt_in: bool = False


@dataclass(frozen=True)
class Ruleset:
    """The rules of all loaded files, by code, and the named sets of names that their patterns share.

    ``sets`` maps a set's name to {canonical or macro name: replacement text, "" where the set maps to nothing}.
    ``specific_members`` are member names that nothing but the framework has: on an object of unknown type they are
    worth a finding.
    """

    rules: tuple[Rule, ...]
    sets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    specific_members: frozenset[str] = frozenset()

    def rule(self, code: str) -> Rule | None:
        """The rule with ``code``, or None."""
        return next((r for r in self.rules if r.code == code), None)

    def without(self, codes: frozenset[str]) -> Ruleset:
        """The same set, less the rules whose code is in ``codes``."""
        return Ruleset(tuple(r for r in self.rules if r.code not in codes), self.sets, self.specific_members)
