"""Where a pattern matches, and whether what it bound is what the rule asks for.

Matching works on the code tokens of a file and never leaves the text it started in: the plain text of the file, or the
body of one ``#define``. Other directives are looked over: a bound run of tokens may hold an ``#if``, a fixed token may
not stand behind one (what such a match may still do is the engine's business).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torchless.facts.typing import FileView, canonical, postfix_start, qualified_start, spelled
from torchless.rules.pattern import Lit, NameIs, Pattern, Rest, Var
from torchless.text.lexer import CLOSERS, OPENERS, Kind, Token, match_angle, match_forward

Sets = Mapping[str, Mapping[str, str]]

PROJECT_CHECKS = "project_checks"
"""The set that stands for the project's own macros that end in a check; the engine's options fill it."""

_ROOT = re.compile(r"(?:torch|c10)::")
_BINARY = frozenset(
    {b"==", b"!=", b"<=", b">=", b"<", b">", b"&&", b"||", b"+", b"-", b"*", b"/", b"%", b"^", b"|", b"&", b"?", b":",
     b"=", b"+=", b"-=", b"*=", b"/=", b"<<=", b"<<", b"<<<", b"<=>"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """What one element bound: code tokens ``first`` .. ``last`` (nothing when last < first), and in a set, the name."""

    first: int
    last: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A pattern found at code tokens ``first`` .. ``last``; ``bounds`` has one entry per element of the pattern."""

    first: int
    last: int
    bounds: tuple[Bound, ...]

    def fixed(self, pattern: Pattern) -> Iterator[int]:
        """The code tokens that the pattern's own tokens and names matched."""
        for element, bound in zip(pattern.elements, self.bounds, strict=True):
            if isinstance(element, Lit | NameIs):
                yield from range(bound.first, bound.last + 1)


@dataclass(frozen=True)
class Calls:
    """The calls of a set of macros in a file: argument ranges, 0-based argument number and the macro's name."""

    arguments: tuple[tuple[int, int, int, str], ...]

    @cached_property
    def exact(self) -> dict[tuple[int, int], tuple[int, str]]:
        """(first, last) of an argument -> its number and the macro."""
        return {(first, last): (number, name) for first, last, number, name in self.arguments}


@dataclass(frozen=True)
class Site:
    """A file and the sets of names in force: what matching asks about its surroundings."""

    view: FileView
    sets: Sets
    _calls: dict[str, Calls] = field(default_factory=dict, repr=False)

    def calls(self, key: str) -> Calls:
        """The calls in this file of the macros in set ``key``."""
        found = self._calls.get(key)
        if found is None:
            found = self._calls[key] = _find_calls(self.view.tokens, frozenset(n.encode() for n in self.sets[key]))
        return found

    @cached_property
    def macro_heads(self) -> frozenset[int]:
        """Indexes of the tokens from # to the end of the parameter list of every #define."""
        tokens = self.view.tokens
        out: set[int] = set()
        for i in self._defines:
            end = i + 2
            after = end + 1
            if after < len(tokens) and tokens[after].text == b"(" and tokens[after].start == tokens[end].end:
                close = match_forward(tokens, after)
                end = close if close > 0 else end
            out.update(range(i, end + 1))
        return frozenset(out)

    def macro_bodies(self, names: frozenset[str] | None = None) -> list[tuple[int, int]]:
        """Code token ranges [start, end) of the #defines of ``names`` (of all, when None), from # to the last token."""
        tokens = self.view.tokens
        out = []
        for i in self._defines:
            if names is None or tokens[i + 2].text.decode("latin-1") in names:
                end = i + 2
                while (
                    end < len(tokens) and tokens[end].directive == "define" and tokens[end].kind is not Kind.DIRECTIVE
                ):
                    end += 1
                out.append((i, end))
        return out

    @cached_property
    def _defines(self) -> list[int]:
        tokens = self.view.tokens
        starts = [i for i, t in enumerate(tokens) if t.kind is Kind.DIRECTIVE]
        return [i for i in starts if i + 2 < len(tokens) and tokens[i + 1].text == b"define"]


def match_at(site: Site, pattern: Pattern, at: int) -> Match | None:
    """The match of ``pattern`` whose anchor is the code token ``at``, or None. Constraints are not looked at."""
    return _Attempt(site, pattern, at).run()


class _Attempt:
    """One attempt: backward over what stands before the anchor, then forward with backtracking."""

    def __init__(self, site: Site, pattern: Pattern, at: int) -> None:
        self.site, self.pattern, self.at = site, pattern, at
        self.tokens = site.view.tokens
        self.directive = self.tokens[at].directive
        self.bounds: list[Bound | None] = [None] * len(pattern.elements)

    def run(self) -> Match | None:
        elements = self.pattern.elements
        anchor = elements[self.pattern.anchor]
        first = self.at
        if isinstance(anchor, NameIs):
            bound = self._name(anchor, self.at)
            if bound is None:
                return None
            first = bound.first
            self.bounds[self.pattern.anchor] = bound
        else:
            self.bounds[self.pattern.anchor] = Bound(self.at, self.at)
        before = self._backward(self.pattern.anchor - 1, first - 1)
        if before is None:
            return None
        last = self._forward(self.pattern.anchor + 1, self.at + 1)
        if last is None:
            return None
        return Match(before, last, tuple(b for b in self.bounds if b is not None))

    def _inside(self, i: int) -> bool:
        """Whether token ``i`` stands in the same text as the anchor."""
        if not 0 <= i < len(self.tokens):
            return False
        token = self.tokens[i]
        return token.directive == self.directive and token.kind is not Kind.DIRECTIVE

    def _name(self, element: NameIs, i: int) -> Bound | None:
        """The name that ends at token ``i``, when it is one of the set."""
        tokens, view = self.tokens, self.site.view
        if tokens[i].kind is not Kind.NAME:
            return None
        members = self.site.sets.get(element.key, {element.key: ""})
        before = tokens[i - 1].text if i else b""
        text = tokens[i].text.decode("latin-1")
        if element.member:
            return Bound(i, i, text) if text in members else None
        if before in (b".", b"->") or (i + 1 < len(tokens) and tokens[i + 1].text == b"::"):
            return None
        if before == b"::":
            name = spelled(view, i)
            name = _ROOT.sub("at::", name, count=1) if _ROOT.match(name) else name
            if name not in members:
                name = canonical(view, i)
            first = qualified_start(view, i)
        elif text in members:
            name, first = text, i
        else:
            name, first = canonical(view, i), i
        if name not in members or not self._inside(first):
            return None
        if first and tokens[first - 1].text in (b"using", b"namespace"):
            return None  # using-declarations and -directives follow from what is left of their names
        return Bound(first, i, name)

    def _backward(self, element: int, i: int) -> int | None:
        """Bind elements ``element`` .. 0 to what ends at token ``i``; gives the first token of the match."""
        while element >= 0:
            wanted = self.pattern.elements[element]
            inside = self._inside(i)
            if isinstance(wanted, Lit):
                hit = inside and _is(wanted, self.tokens[i])
                if not hit and not wanted.optional:
                    return None
                self.bounds[element] = Bound(i, i) if hit else Bound(i + 1, i)
                i -= hit
            elif isinstance(wanted, NameIs):
                bound = self._name(wanted, i) if inside else None
                if bound is None:
                    return None
                self.bounds[element] = bound
                i = bound.first - 1
            else:
                first = postfix_start(self.site.view, i) if inside else i + 1
                if first > i or not self._inside(first) or not _is_operand(self.tokens, first, i):
                    return None
                self.bounds[element] = Bound(first, i)
                i = first - 1
            element -= 1
        return i + 1

    def _forward(self, element: int, i: int) -> int | None:
        """Bind elements ``element`` .. to what starts at token ``i``; gives the last token of the match."""
        elements = self.pattern.elements
        if element == len(elements):
            return i - 1
        wanted = elements[element]
        if isinstance(wanted, Lit):
            if self._inside(i) and _is(wanted, self.tokens[i]):
                self.bounds[element] = Bound(i, i)
                return self._forward(element + 1, i + 1)
            if wanted.optional:
                self.bounds[element] = Bound(i, i - 1)
                return self._forward(element + 1, i)
            return None
        if isinstance(wanted, NameIs):
            end = self._qualified_end(i)
            bound = self._name(wanted, end) if end >= 0 else None
            if bound is None or bound.first != i:
                return None
            self.bounds[element] = bound
            return self._forward(element + 1, end + 1)
        for last in self._runs(wanted, i, element + 1 == len(elements)):
            if isinstance(wanted, Var) and not self._agrees(wanted, element, i, last):
                continue
            self.bounds[element] = Bound(i, last)
            end_of_match = self._forward(element + 1, last + 1)
            if end_of_match is not None:
                return end_of_match
        return None

    def _qualified_end(self, i: int) -> int:
        """Index of the last name of the qualified name that starts at ``i``, or -1."""
        tokens = self.tokens
        if self._inside(i) and tokens[i].text == b"::":
            i += 1
        if not self._inside(i) or tokens[i].kind is not Kind.NAME:
            return -1
        while self._inside(i + 2) and tokens[i + 1].text == b"::" and tokens[i + 2].kind is Kind.NAME:
            i += 2
        return i

    def _agrees(self, var: Var, element: int, first: int, last: int) -> bool:
        """A postfix expression where one is asked for, and the same tokens as an earlier binding of the name."""
        if last < first:
            return False
        if var.postfix and (postfix_start(self.site.view, last) != first or not _is_operand(self.tokens, first, last)):
            return False
        for k, other in enumerate(self.pattern.elements):
            bound = self.bounds[k]
            if k != element and bound and isinstance(other, Var) and other.name == var.name and k < element:
                mine = [t.text for t in self.tokens[first : last + 1]]
                if [t.text for t in self.tokens[bound.first : bound.last + 1]] != mine:
                    return False
        return True

    def _runs(self, wanted: Var | Rest, i: int, is_last: bool) -> Iterator[int]:
        """Ends of the token runs from ``i`` that ``wanted`` may bind, shortest first; i - 1 is the empty run."""
        rest = isinstance(wanted, Rest)
        if isinstance(wanted, Rest):
            yield i - 1
            if wanted.comma and not (self._inside(i) and self.tokens[i].text == b","):
                return
        angle = isinstance(wanted, Var) and wanted.angle
        first = i
        while i < len(self.tokens):
            token = self.tokens[i]
            if token.directive != self.directive or token.kind is Kind.DIRECTIVE:
                if self.directive:
                    return  # the end of the macro's body
                i += 1
                continue
            text = token.text
            if token.kind is Kind.PUNCT:
                if text in OPENERS:
                    close = match_forward(self.tokens, i)
                    if close < 0:
                        return
                    i = close
                elif text in CLOSERS or text == b";" or (text == b"," and not rest):
                    break
                elif text == b"<" and angle:
                    close = match_angle(self.tokens, i)
                    if close < 0:
                        return
                    i = close
                elif text == b">" and angle:
                    break
                elif text == b"<" and i > first and self.tokens[i - 1].kind is Kind.NAME:
                    close = match_angle(self.tokens, i)
                    if close > 0 and self._inside(close + 1) and self.tokens[close + 1].text in (b"(", b"::", b"{"):
                        i = close  # a template-id: its commas are none of the call's
                    elif is_last and not rest:
                        break
                elif is_last and not rest and i > first and text in _BINARY:
                    break
            if not is_last:
                yield i
            i += 1
        if is_last and i > first:
            yield i - 1


def _is(wanted: Lit, token: Token) -> bool:
    return token.text == wanted.text or (wanted.access and token.text == b"->")


def _is_operand(tokens: list[Token], first: int, last: int) -> bool:
    """Whether the run looks like an expression: it starts with a name, a literal or a bracket and is no keyword."""
    head, tail = tokens[first], tokens[last]
    if head.kind is Kind.PUNCT and head.text not in (b"(", b"::"):
        return False
    return tail.kind is not Kind.PUNCT or tail.text in CLOSERS


def _find_calls(tokens: list[Token], names: frozenset[bytes]) -> Calls:
    out: list[tuple[int, int, int, str]] = []
    for i, token in enumerate(tokens):
        if token.text not in names or token.kind is not Kind.NAME:
            continue
        if i + 1 >= len(tokens) or tokens[i + 1].text != b"(" or (i and tokens[i - 1].text == b"define"):
            continue
        close = match_forward(tokens, i + 1)
        if close < 0:
            continue
        name = token.text.decode("latin-1")
        number, first, k = 0, i + 2, i + 2
        while k < close:
            if tokens[k].kind is Kind.PUNCT and tokens[k].text in OPENERS:
                k = max(k, match_forward(tokens, k))
            elif tokens[k].text == b",":
                out.append((first, k - 1, number, name))
                number, first = number + 1, k + 1
            k += 1
        if close > i + 2:
            out.append((first, close - 1, number, name))
    return Calls(tuple(out))
