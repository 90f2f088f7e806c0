"""A view over an excerpt, with the types and names that the excerpt leaves out told in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from torchless.facts.model import FileFacts, NameFact
from torchless.facts.typing import FileView, make_view
from torchless.model import Edit, Finding, Tier
from torchless.rules.engine import Options, examine
from torchless.rules.load import load_rules
from torchless.rules.model import Ruleset
from torchless.text.edits import apply
from torchless.text.lexer import Kind, code_tokens, lex
from torchless.text.source import SourceFile

PATH = "csrc/excerpt.cu"


def view_of(text: str | bytes, given: Iterable[str] = ()) -> FileView:
    """A view of ``text``; ``given`` as in a rule's examples: "x: tensor", "kHalf = at::kHalf"."""
    data = text.encode() if isinstance(text, str) else text
    types: dict[bytes, tuple[str, str]] = {}
    for word in given:
        if "=" in word:
            name, _, meaning = word.partition("=")
            types[name.strip().encode()] = (meaning.strip(), "")
        else:
            name, _, kind = word.partition(":")
            types[name.strip().encode()] = ("", kind.strip())
    tokens = code_tokens(lex(data))
    names = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else b""
        if token.kind is Kind.NAME and token.text in types and before not in (b".", b"->", b"::"):
            meaning, kind = types[token.text]
            names.append(NameFact(token.start, "value", meaning, kind))
    return make_view(SourceFile(PATH, data), [FileFacts(PATH, tuple(names))])


def edits_of(findings: Iterable[Finding], unsafe: bool = False) -> list[Edit]:
    """The edits that would be made, with or without --unsafe."""
    tiers = (Tier.SAFE, Tier.UNSAFE) if unsafe else (Tier.SAFE,)
    return [e for f in findings if f.tier in tiers for e in f.edits]


Migrate = Callable[..., str]


@pytest.fixture(scope="session")
def rules() -> Ruleset:
    return load_rules()


@pytest.fixture
def migrate(rules: Ruleset) -> Migrate:
    """migrate(text, *given, unsafe=False, ruleset=..., options=...) -> the edited text."""

    def run(
        text: str, *given: str, unsafe: bool = True, ruleset: Ruleset = rules, options: Options | None = None
    ) -> str:
        view = view_of(text, given)
        found = examine(view, ruleset, options).findings
        return apply(view.source.data, edits_of(found, unsafe)).decode()

    return run


@pytest.fixture
def codes(rules: Ruleset) -> Callable[..., list[str]]:
    """codes(text, *given, ruleset=..., options=...) -> the codes of the findings, in order of place."""

    def run(text: str, *given: str, ruleset: Ruleset = rules, options: Options | None = None) -> list[str]:
        return [f.code for f in examine(view_of(text, given), ruleset, options).findings]

    return run
