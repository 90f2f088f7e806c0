"""What a rule may ask of a match: constraints on what a metavariable binds (where), and contexts (within, not_within).

Constraints, several of which must all hold:

* type classes of facts/model.py, ``|`` between alternatives: ``tensor``, ``dtype | typemeta``
* ``name`` one identifier; ``integer`` an integer literal; ``string`` string literals only; ``path`` names joined by
  ``.``, ``->`` and ``::`` with at most ``.value()`` and integer subscripts: may be written twice without harm
* ``concrete`` a type without template or dispatch parameters in it
* ``/regex/`` the whole text without blanks; ``!`` before any of these negates it

Contexts:

* ``argument SET`` the match is exactly one argument of a call of a macro in SET, at or after the position that the set
  maps the macro to; ``inside SET`` it lies somewhere within such an argument
* ``statement`` it starts a statement; ``unended`` another statement follows without a ``;`` in between
* ``before TOKEN...``, ``after TOKEN...`` the neighbouring token is one of these; ``define`` it stands in the body of a
  ``#define``
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from torchless.facts.model import TYPE_CLASSES
from torchless.facts.typing import FileView, class_of, object_class
from torchless.model import Confidence
from torchless.rules.match import Bound, Match, Site
from torchless.rules.pattern import Lit, Pattern, Var
from torchless.text.lexer import Kind, Token


class Verdict(Enum):
    """Whether a constraint holds. UNKNOWN: nobody knows the type; MIXED: it holds for some of the types only."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on all constraints of a match, the metavariable that decided it, and how sure the types are."""

    verdict: Verdict
    var: str = ""
    confidence: Confidence = Confidence.SEMANTIC


_CONCRETE = frozenset(
    b"const unsigned signed int float double bool char short long void size_t int8_t int16_t int32_t int64_t uint8_t "
    b"uint16_t uint32_t uint64_t __half hip_bfloat16 __hip_bfloat16 half std torch at c10 Half BFloat16".split()
)
_INTEGER = re.compile(rb"-?(?:0[xX][0-9a-fA-F']+|[0-9][0-9']*)[uUlLzZ]*$")
_PATH = re.compile(rb"(?:::)?\w+(?:::\w+)*(?:(?:\.|->)\w+|(?:\.|->)value\(\)|\[\d+\])*$")


def _text(tokens: list[Token], bound: Bound) -> bytes:
    return b"".join(t.text for t in tokens[bound.first : bound.last + 1])


def _is_concrete(tokens: list[Token], bound: Bound) -> bool:
    run = tokens[bound.first : bound.last + 1]
    return all(t.text in _CONCRETE for t in run if t.kind is Kind.NAME)


_SHAPES: dict[str, Callable[[list[Token], Bound], bool]] = {
    "name": lambda ts, b: b.first == b.last and ts[b.first].kind is Kind.NAME,
    "integer": lambda ts, b: bool(_INTEGER.match(_text(ts, b))),
    "string": lambda ts, b: all(t.kind is Kind.STRING for t in ts[b.first : b.last + 1]),
    "path": lambda ts, b: bool(_PATH.match(_text(ts, b))),
    "concrete": _is_concrete,
}
_CONTEXTS = ("argument", "inside", "statement", "unended", "before", "after", "define")


def check_constraint(text: str) -> None:
    """Raise ValueError when ``text`` is no constraint."""
    plain = text.removeprefix("!")
    if plain in _SHAPES:
        return
    if plain.startswith("/") and plain.endswith("/") and len(plain) > 2:
        try:
            re.compile(plain[1:-1])
        except re.error as error:
            raise ValueError(f"bad regular expression {plain}: {error}") from None
        return
    for word in plain.split("|"):
        if word.strip() not in TYPE_CLASSES:
            raise ValueError(f"unknown constraint {text!r}")


def check_context(text: str, names: frozenset[str]) -> None:
    """Raise ValueError when ``text`` is no context, or names a set that is not among ``names``."""
    word, _, rest = text.partition(" ")
    if word not in _CONTEXTS:
        raise ValueError(f"unknown context {text!r}")
    if word in ("argument", "inside") and rest not in names:
        raise ValueError(f"context {text!r} names no set")
    if (word in ("before", "after")) != bool(rest) and word not in ("argument", "inside"):
        raise ValueError(f"context {text!r} is incomplete or has too much")


def judge(site: Site, pattern: Pattern, match: Match, where: Mapping[str, tuple[str, ...]]) -> Answer:
    """Whether what ``match`` bound satisfies ``where``: no constraint may fail; the first type nobody knows decides."""
    confidence = Confidence.SEMANTIC
    open_answer: Answer | None = None
    for k, element in enumerate(pattern.elements):
        if not isinstance(element, Var) or element.name not in where:
            continue
        bound = match.bounds[k]
        following = pattern.elements[k + 1] if k + 1 < len(pattern.elements) else None
        member = match.bounds[k + 1].last + 1 if isinstance(following, Lit) and following.access else -1
        for constraint in where[element.name]:
            verdict, sure = _holds(site.view, bound, member, constraint)
            if verdict is Verdict.NO:
                return Answer(Verdict.NO, element.name)
            if verdict is not Verdict.YES and open_answer is None:
                open_answer = Answer(verdict, element.name)
            if sure is Confidence.SYNTACTIC:
                confidence = sure
    return open_answer or Answer(Verdict.YES, confidence=confidence)


def _holds(view: FileView, bound: Bound, member: int, constraint: str) -> tuple[Verdict, Confidence]:
    plain = constraint.removeprefix("!")
    negated = plain != constraint
    if plain in _SHAPES:
        hit = _SHAPES[plain](view.tokens, bound)
    elif plain.startswith("/"):
        hit = re.fullmatch(plain[1:-1].encode(), _text(view.tokens, bound)) is not None
    else:
        wanted = {word.strip() for word in plain.split("|")}
        answer = object_class(view, member) if member >= 0 else class_of(view, bound.first, bound.last)
        if answer is None or not answer.classes:
            return (Verdict.YES if negated else Verdict.UNKNOWN), Confidence.SYNTACTIC
        common = answer.classes & wanted
        if common and not answer.classes <= wanted:
            return Verdict.MIXED, answer.confidence
        return (Verdict.YES if bool(common) != negated else Verdict.NO), answer.confidence
    return (Verdict.YES if hit != negated else Verdict.NO), Confidence.SEMANTIC


def holds_context(site: Site, match: Match, context: str) -> bool:
    """Whether ``match`` stands in ``context``."""
    word, _, rest = context.partition(" ")
    tokens = site.view.tokens
    directive = tokens[match.first].directive
    if word == "argument":
        found = site.calls(rest).exact.get((match.first, match.last))
        return found is not None and found[0] >= int(site.sets[rest][found[1]] or 0)
    if word == "inside":
        return any(
            first <= match.first and match.last <= last and number >= int(site.sets[rest][name] or 0)
            for first, last, number, name in site.calls(rest).arguments
        )
    if word == "define":
        return directive == "define"
    before = tokens[match.first - 1] if match.first else None
    if before is not None and (before.directive != directive or (directive and match.first - 1 in site.macro_heads)):
        before = None
    if word == "after":
        return before is not None and before.text in rest.encode().split()
    if word == "statement":
        return before is None or before.text in (b";", b"{", b"}", b")", b"else", b"do", b":")
    after = tokens[match.last + 1] if match.last + 1 < len(tokens) else None
    if directive and after is not None and (after.directive != directive or after.kind is Kind.DIRECTIVE):
        after = None
    if not directive:
        k = match.last + 1
        while k < len(tokens) and tokens[k].directive:
            k += 1
        after = tokens[k] if k < len(tokens) else None
    if word == "before":
        return after is not None and after.text in rest.encode().split()
    # unended: a token follows that can only start another statement
    return after is not None and (after.kind is Kind.NAME or after.text in (b"}", b"++", b"--", b"::"))
