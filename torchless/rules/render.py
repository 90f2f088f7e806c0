"""From a match to edits: only the text between what keeps its place is touched, and of that only what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchless.model import Edit
from torchless.rules.match import Bound, Match, Site
from torchless.rules.pattern import Lit, Mapped, NameIs, Pattern, Rest, Slot, Template, Text, Var
from torchless.text.lexer import CLOSERS, OPENERS, Kind, Token, lex

# inner(start, end): the bytes of that range with the edits of the matches inside it applied
Inner = Callable[[int, int], bytes]

_CLOSING = frozenset({b")", b"]", b"}", b";", b","})
_CONDITIONALS = ("if", "ifdef", "ifndef")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The edits of one match, and the byte ranges whose inner edits they take up (or that go away)."""

    edits: tuple[Edit, ...]
    absorbed: tuple[tuple[int, int], ...] = ()


class Refusal(Exception):
    """The match cannot be edited safely; the message says why, for the person who reads the finding."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A token or bound run of the source that may go; ``key`` is what a replacement token must equal to keep it."""

    key: bytes | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Gap:
    """Source and replacement between two runs that stay; -1 where the match's border is, not a kept run.

    ``space`` is the blank that the replacement has before the run on the right.
    """

    source: tuple[_Piece, ...]
    new: tuple[Text, ...]
    left: int
    right: int
    space: bytes = b""


def render(
    site: Site, pattern: Pattern, template: Template, match: Match, inner: Inner, code: str, depth: int
) -> Rendered:
    """The edits that turn ``match`` into ``template``. Raises Refusal.

    ``depth`` counts the matches around this one: it orders insertions that fall on one place.
    """
    tokens = site.view.tokens
    if not _arms_balance(tokens, match.first, match.last):
        raise Refusal("an #if cuts the expression")
    holes = _holes(pattern, template, match)
    gaps = _gaps(site, pattern, template, match, holes, inner)
    edits = [e for gap in gaps if (e := _edit(site, gap, code, depth))]
    absorbed = []
    for k, element in enumerate(pattern.elements):
        bound = match.bounds[k]
        if isinstance(element, Var | Rest) and k not in holes and bound.last >= bound.first:
            absorbed.append((tokens[bound.first].start, tokens[bound.last].end))
    for edit in edits:
        if _crosses_directive(tokens, match, edit):
            raise Refusal("a preprocessor directive stands inside")
    return Rendered(tuple(edits), tuple(absorbed))


def _holes(pattern: Pattern, template: Template, match: Match) -> dict[int, int]:
    """Element index -> slot index of the metavariables that keep their place."""
    slots = {}
    for index in template.kept:
        part = template.parts[index]
        assert isinstance(part, Slot)
        slots[part.name] = index
    out: dict[int, int] = {}
    for k, element in enumerate(pattern.elements):
        if isinstance(element, Var | Rest) and element.name in slots:
            out[k] = slots.pop(element.name)
    return out


def _gaps(
    site: Site, pattern: Pattern, template: Template, match: Match, holes: dict[int, int], inner: Inner
) -> list[_Gap]:
    tokens = site.view.tokens
    gaps: list[_Gap] = []
    source: list[_Piece] = []
    left = -1
    at = 0  # next part of the template
    opened = b""
    for k, element in enumerate(pattern.elements):
        bound = match.bounds[k]
        if k in holes:
            slot = template.parts[holes[k]]
            assert isinstance(slot, Slot)
            wrap = slot.parens and not _is_primary(tokens, bound)
            new = _new_text(site, pattern, template, match, at, holes[k], inner, opened)
            space = slot.space
            if bound.last < bound.first and new and new[-1].text == b"," and not slot.comma:
                new.pop()  # nothing follows the comma
                space = b""
            if wrap:
                new.append(Text(b"(", slot.space))
            empty = tokens[bound.first - 1].end
            start = tokens[bound.first].start if bound.last >= bound.first else empty
            gaps.append(_Gap(tuple(source), tuple(new), left, start, b"" if wrap else space))
            source, at, opened = [], holes[k] + 1, b")" if wrap else b""
            left = tokens[bound.last].end if bound.last >= bound.first else empty
        elif bound.last >= bound.first:
            source.append(_piece(tokens, element, bound))
    rest = _new_text(site, pattern, template, match, at, len(template.parts), inner, opened)
    gaps.append(_Gap(tuple(source), tuple(rest), left, -1))
    return gaps


def _piece(tokens: list[Token], element: object, bound: Bound) -> _Piece:
    key: bytes | None = None
    if isinstance(element, Lit):
        key = element.text
    elif isinstance(element, NameIs) and bound.first == bound.last:
        key = tokens[bound.first].text
    return _Piece(key, tokens[bound.first].start, tokens[bound.last].end)


def _new_text(
    site: Site, pattern: Pattern, template: Template, match: Match, start: int, end: int, inner: Inner, opened: bytes
) -> list[Text]:
    """The replacement's text for parts ``start`` .. ``end`` - 1, with what moves or repeats written out."""
    tokens = site.view.tokens
    out = [Text(opened, b"")] if opened else []
    for part in template.parts[start:end]:
        if isinstance(part, Text):
            out.append(part)
        elif isinstance(part, Mapped):
            k = next(k for k, e in enumerate(pattern.elements) if isinstance(e, NameIs) and e.key == part.key)
            out.append(Text(site.sets[part.key][match.bounds[k].name].encode(), part.space))
        else:
            k = next(k for k, e in enumerate(pattern.elements) if isinstance(e, Var | Rest) and e.name == part.name)
            bound = match.bounds[k]
            if bound.last < bound.first:
                if out and out[-1].text == b"," and not part.comma:
                    out.pop()
                continue
            first, last = tokens[bound.first].start, tokens[bound.last].end
            if any(t.text.startswith(b"//") for t in _comments(site, first, last)):
                raise Refusal("a line comment stands in text that moves")
            text = inner(first, last)
            if part.parens and not _is_primary(tokens, bound):
                text = b"(" + text + b")"
            out.append(Text(text, part.space))
    return out


def _edit(site: Site, gap: _Gap, code: str, depth: int) -> Edit | None:
    """What differs between the two sides of a gap, as one edit; None when nothing does."""
    source, new = list(gap.source), list(gap.new)
    left, right = gap.left, gap.right
    while source and new and source[0].key == new[0].text:
        left = source.pop(0).end
        new.pop(0)
    following = gap.space
    while source and new and source[-1].key == new[-1].text:
        right = source.pop().start
        following = new.pop().space
    if not source and not new:
        return None
    path, data = site.view.source.path, site.view.source.data
    if not source:
        text = b"".join(t.space + t.text for t in new)
        closes = right < 0 or following or new[0].text in _CLOSING
        if left >= 0 and closes:  # goes with what stands before; of insertions at one place the inner ones come first
            return Edit(path, left, left, text + following if left == right else text, code, -1 - depth)
        return Edit(path, right, right, text.lstrip(b" ") + following, code, depth)
    start, end = source[0].start, source[-1].end
    text = b"".join(t.space + t.text for t in new)
    if left >= 0 and data[left:start].strip(b" ") == b"":
        start = left  # on one line the blanks are those of the replacement; a line break stays where it is
    else:
        text = text.lstrip(b" ")
    if right >= 0 and data[end:right].strip(b" ") == b"":
        end, text = right, text + following
    kept = _kept_comments(site, start, end)
    return Edit(path, start, end, text + kept, code)


def _kept_comments(site: Site, start: int, end: int) -> bytes:
    """The comments in a range that is replaced, to be put behind the new text."""
    data = site.view.source.data
    out = b""
    for comment in _comments(site, start, end):
        out += b" " + comment.text
        if comment.text.startswith(b"//"):
            newline = data.find(b"\n", comment.end)
            tail = data[comment.end : newline + 1] if newline >= 0 else b"\n"
            line = data[newline + 1 : newline + 1 + 200]
            out += tail + line[: len(line) - len(line.lstrip(b" \t"))]
    return out


def _comments(site: Site, start: int, end: int) -> list[Token]:
    data = site.view.source.data
    if b"/" not in data[start:end]:
        return []
    return [t for t in lex(data, start, end) if t.kind is Kind.COMMENT]


def _is_primary(tokens: list[Token], bound: Bound) -> bool:
    """Whether what is bound needs no parentheses before a member access or beside any operator."""
    depth = 0
    for i in range(bound.first, bound.last + 1):
        token = tokens[i]
        if token.kind is Kind.PUNCT:
            if token.text in OPENERS:
                depth += 1
            elif token.text in CLOSERS:
                depth -= 1
            elif depth == 0 and token.text not in (b".", b"->", b"::"):
                return False
        elif depth == 0 and i > bound.first and tokens[i - 1].kind in (Kind.NAME, Kind.NUMBER):
            return False
    # (a)(b) and (T)x are more than one primary; a single bracket pair or a name with calls behind it is fine
    return tokens[bound.first].text != b"(" or _closes_at(tokens, bound)


def _closes_at(tokens: list[Token], bound: Bound) -> bool:
    depth = 0
    for i in range(bound.first, bound.last + 1):
        if tokens[i].text in OPENERS:
            depth += 1
        elif tokens[i].text in CLOSERS:
            depth -= 1
            if depth == 0:
                return i == bound.last or tokens[i + 1].text in (b".", b"->", b"[")
    return False


def _arms_balance(tokens: list[Token], first: int, last: int) -> bool:
    """Whether every #if that the run meets lies within it whole, with balanced brackets in each of its arms."""
    depth = 0
    opened: list[int] = []
    directive = tokens[first].directive
    for i in range(first, last + 1):
        token = tokens[i]
        if token.kind is Kind.DIRECTIVE and i + 1 < len(tokens):
            word = tokens[i + 1].directive
            if word in _CONDITIONALS:
                opened.append(depth)
            elif word in ("elif", "elifdef", "elifndef", "else", "endif"):
                if not opened or opened[-1] != depth:
                    return False
                if word == "endif":
                    opened.pop()
        elif token.directive == directive:
            depth += (token.text in OPENERS) - (token.text in CLOSERS)
            if opened and depth < opened[-1]:
                return False
    return not opened


def _crosses_directive(tokens: list[Token], match: Match, edit: Edit) -> bool:
    directive = tokens[match.first].directive
    return any(
        edit.start < tokens[i].end and tokens[i].start < edit.end
        for i in range(match.first, match.last + 1)
        if tokens[i].directive != directive
    )
