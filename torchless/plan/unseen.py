"""Edited code of which the parser reported nothing: where else an error must be planted to know what the check sees.

The compiler's facts show what it read. Where edits stand and facts are missing, either nobody compiles that text (an
arm of an #if) or the parser lost its way (a function behind a macro that it does not know). Planting tells.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torchless.facts.typing import FileView
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.plan.decide import Draft
from torchless.rewrites.scopes import BlockKind, Scopes, scopes_of
from torchless.text.lexer import Kind, Token
from torchless.verify.planted import Place

_CODE = frozenset({BlockKind.FUNCTION, BlockKind.LAMBDA, BlockKind.STATEMENT})
_OPENING = frozenset({b"if", b"ifdef", b"ifndef"})
_DIVIDING = frozenset({b"elif", b"else", b"elifdef", b"elifndef"})


@dataclass(frozen=True, slots=True, order=True)
class Arm:
    """The bytes [start, end) from the # of an #if, #elif or #else to that of the next one at its level."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A place to plant an error in, the unit whose edits stand there, and the first of those edits.

    ``arm`` is the place that stands for the arm of an #if around it, where that is in doubt as well.
    """

    place: Place
    unit: str
    first: int
    arm: Place | None = None


def suspects(drafts: Sequence[Draft], views: Mapping[str, FileView]) -> list[Suspect]:
    """Where the edits of ``drafts`` stand in code without facts: an arm of an #if, or the body of a function."""
    out: dict[Place, Suspect] = {}
    for draft in drafts:
        by_path: dict[str, list[Edit]] = {}
        for edit in draft.edits:
            by_path.setdefault(edit.path, []).append(edit)
        for path, edits in sorted(by_path.items()):
            if path in views:
                for suspect in _of_file(views[path], sorted(edits), draft.name):
                    out.setdefault(suspect.place, suspect)
    return [out[place] for place in sorted(out)]


def never_compiled(suspect: Suspect) -> Finding:
    """The TL011 for edits in an arm in which no planted error was reported."""
    return Finding(
        "TL011",
        "no pass that was parsed compiles this arm of the #if: the edits in it rest on the text alone",
        suspect.place.path,
        suspect.first,
        suspect.first,
        tier=Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        help="compile that configuration before you merge; -D selects it",
        unit=suspect.unit,
    )


def _of_file(view: FileView, edits: Sequence[Edit], unit: str) -> Iterator[Suspect]:
    tokens = view.tokens
    starts = [t.start for t in tokens]
    facts = sorted({*view.facts, *(f.name_start for f in view.functions)})
    bodies = {f.body_start for f in view.functions}
    arms = conditional_arms(tokens, len(view.source.data))
    scopes = scopes_of(view)
    for edit in edits:
        i = bisect_left(starts, edit.start)
        if i == len(tokens) or tokens[i].directive:
            continue  # a macro's body is seen where it is expanded; include lines follow from the rest
        arm = next((a for a in reversed(arms) if a.start <= edit.start < a.end), None)
        doubt = None
        if arm is not None and not _any_between(facts, arm.start, arm.end):
            doubt = _first_code(view, arm, starts)
            if doubt is not None:
                yield Suspect(doubt, unit, edit.start)
        opener = _body_around(scopes, i)
        if opener >= 0 and tokens[opener].start not in bodies:
            yield Suspect(Place(view.source.path, tokens[opener].start, _line(view, opener)), unit, edit.start, doubt)


def conditional_arms(tokens: Sequence[Token], size: int) -> list[Arm]:
    """The arms of all #if groups by start; one that nothing closes ends with the file."""
    out: list[Arm] = []
    open_at: list[int] = []
    for i, token in enumerate(tokens[:-1]):
        if token.kind is not Kind.DIRECTIVE:
            continue
        word = tokens[i + 1].text
        if open_at and (word in _DIVIDING or word == b"endif"):
            out.append(Arm(open_at.pop(), token.start))
        if word in _OPENING or word in _DIVIDING:
            open_at.append(token.start)
    return sorted([*out, *(Arm(start, size) for start in open_at)])


def _any_between(offsets: Sequence[int], start: int, end: int) -> bool:
    k = bisect_left(offsets, start)
    return k < len(offsets) and offsets[k] < end


def _first_code(view: FileView, arm: Arm, starts: Sequence[int]) -> Place | None:
    """The first token of the arm that is neither part of a directive nor of an arm within."""
    depth = 0
    for i in range(bisect_left(starts, arm.start) + 2, bisect_left(starts, arm.end)):
        token = view.tokens[i]
        if token.kind is Kind.DIRECTIVE and i + 1 < len(view.tokens):
            word = view.tokens[i + 1].text
            depth += (word in _OPENING) - (word == b"endif")
        elif not token.directive and not depth:
            return Place(view.source.path, token.start, _line(view, i), arm=True)
    return None


def _body_around(scopes: Scopes, index: int) -> int:
    """The { of the outermost block of statements that holds the token, -1 when there is none.

    Braces that look like an initialiser hold statements when a ; stands in them: they are the argument of a macro.
    """
    found = -1
    for block in scopes.around(index):
        is_code = block.kind in _CODE
        if block.kind is BlockKind.INITIALIZER:
            number, last = scopes.block_at[block.open], block.close if block.close > 0 else len(scopes.tokens)
            inside = range(block.open + 1, last)
            is_code = any(scopes.tokens[k].text == b";" and scopes.block_of[k] == number for k in inside)
        if is_code:
            found = block.open
    return found


def _line(view: FileView, index: int) -> str:
    return f"line {view.source.line_of(view.tokens[index].start)}"
