r"""The notation of patterns and replacements, compiled.

A pattern is C++ tokens. Blanks and line breaks in it mean nothing; comments, strings and preprocessor directives of the
source are never matched into (the body of a ``#define`` is matched like any other text). Besides plain tokens:

``at::kHalf``
    a qualified name is compared by what it means: ``torch::kHalf``, ``::at::kHalf``, ``t::kHalf`` after
    ``namespace t = torch`` and a bare ``kHalf`` that resolves to it match; a project's own ``own::kHalf``, a local
    ``kHalf`` and a field do not. It binds the whole qualified name, never a part of one; using-declarations are left
    alone.
``TORCH_CHECK``, ``value``
    a plain name matches that very name (macros, members, keywords).
``$x``
    an expression. Before ``.`` or another operator at the start of a pattern it is the whole postfix expression on the
    left: ``a``, ``a.b()``, ``(*p)``, ``v[i]``, ``opt.value()``. Before ``.`` elsewhere it must be a postfix expression.
    Otherwise it is a run of tokens with balanced brackets and no ``,`` or ``;`` at its top level. As the last element
    it is one operand: up to the next ``,``, ``;``, ``<<``, closing bracket or binary operator of the same level.
    The same name twice must bind the same tokens. Between ``<`` and ``>`` of the pattern it is a template argument.
``$*args``
    the rest of an argument list, possibly empty. ``, $*args`` takes its comma with it, so that ``f($a, $*args)``
    matches ``f(x)`` too.
``.``
    after a metavariable or a ``)`` it matches ``->`` as well; the source's spelling stays.
``@set``
    any name of that set (see the rule files): qualified names as above, plain ones literally; after ``.`` a member.
``$?const``
    that token, or nothing.

A replacement is text with ``$x``, ``$*args`` and ``@set`` (what the set maps the matched name to). ``$(x)`` puts
parentheses around what is bound unless it is a postfix expression or a literal. Metavariables that keep their order
are not rewritten: the edits cover only the text between them, so that matches inside them compose. The tokens that
pattern and replacement share at either end of such a gap stay untouched, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torchless.text.lexer import Kind, Token, lex


class PatternError(ValueError):
    """The text is not a pattern or a replacement; the message says why."""


@dataclass(frozen=True, slots=True)
class Lit:
    """One token, compared by its bytes. ``optional`` ones may be missing; ``access`` is a ``.`` that takes ``->``."""

    text: bytes
    optional: bool = False
    access: bool = False


@dataclass(frozen=True, slots=True)
class NameIs:
    """A name out of a set. ``key`` is the set's name, or the qualified name itself. ``member``: after ``.``."""

    key: str
    member: bool = False


@dataclass(frozen=True, slots=True)
class Var:
    """A metavariable. ``postfix``: it must be a postfix expression; ``angle``: it is a template argument."""

    name: str
    postfix: bool = False
    angle: bool = False


@dataclass(frozen=True, slots=True)
class Rest:
    """``$*name``; with ``comma`` the comma before it belongs to it."""

    name: str
    comma: bool = False


Element = Lit | NameIs | Var | Rest


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. ``anchor`` indexes the element that the search starts from, -1 for a lone metavariable."""

    text: str
    elements: tuple[Element, ...]
    anchor: int
    literals: int  # how many elements are fixed: the measure of being specific

    def names(self) -> set[str]:
        """The metavariables."""
        return {e.name for e in self.elements if isinstance(e, Var | Rest)}

    def sets(self) -> set[str]:
        """The keys of the sets and qualified names."""
        return {e.key for e in self.elements if isinstance(e, NameIs)}


@dataclass(frozen=True, slots=True)
class Text:
    """A token of a replacement; ``space`` is the blank before it."""

    text: bytes
    space: bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a metavariable. ``rest``: of the ``$*`` kind; ``comma``: with its comma; ``parens``: ``$(x)``."""

    name: str
    space: bytes
    rest: bool = False
    comma: bool = False
    parens: bool = False


@dataclass(frozen=True, slots=True)
class Mapped:
    """``@set`` in a replacement."""

    key: str
    space: bytes


Part = Text | Slot | Mapped


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled replacement. ``kept``: indexes of the slots whose metavariable keeps its place."""

    text: str
    parts: tuple[Part, ...]
    kept: frozenset[int]


_OPERATORS = frozenset({b"==", b"!=", b"<<", b"+", b"-", b"||", b"&&", b"[", b"<", b">", b"<=", b">="})


def compile_pattern(text: str) -> Pattern:
    """Compile ``text``. Raises PatternError."""
    tokens = _code(text)
    elements: list[Element] = []
    angle = 0
    i = 0
    while i < len(tokens):
        here, at = tokens[i].text, i
        after = tokens[i + 1].text if i + 1 < len(tokens) else b""
        if here == b"$" and after in (b"*", b"?") and i + 2 < len(tokens):
            name = tokens[i + 2].text
            i += 3
            if after == b"?":
                elements.append(Lit(name, optional=True))
                continue
            comma = bool(elements) and elements[-1] == Lit(b",")
            if comma:
                elements.pop()
            elements.append(Rest(name.decode(), comma))
        elif here.startswith(b"$") and len(here) > 1:
            elements.append(Var(here[1:].decode(), angle=angle > 0))
            i += 1
        elif here == b"@" and after:
            member = bool(elements) and isinstance(elements[-1], Lit) and elements[-1].access
            elements.append(NameIs(tokens[i + 1].text.decode(), member))
            i += 2
        elif b"$" in here or here == b"@":
            raise PatternError(f"cannot read {here.decode('utf-8', 'replace')!r}")
        elif tokens[i].kind is Kind.NAME and after == b"::":
            parts = [here]
            i += 1
            while i + 1 < len(tokens) and tokens[i].text == b"::" and tokens[i + 1].kind is Kind.NAME:
                parts.append(tokens[i + 1].text)
                i += 2
            elements.append(NameIs(b"::".join(parts).decode()))
        else:
            if here == b"<" and at and tokens[at - 1].kind is Kind.NAME:
                angle += 1
            elif here == b">" and angle:
                angle -= 1
            access = here == b"." and bool(elements) and _ends_operand(elements[-1])
            elements.append(Lit(here, access=access))
            i += 1
    return _finish(text, elements)


def compile_template(text: str, pattern: Pattern, tables: Mapping[str, Mapping[str, str]]) -> Template:
    """Compile the replacement ``text`` of ``pattern``. Raises PatternError for a name that it does not bind."""
    data = text.encode()
    tokens = [t for t in lex(data) if t.kind > Kind.COMMENT]
    comma_rests = {e.name for e in pattern.elements if isinstance(e, Rest) and e.comma}
    parts: list[Part] = []
    done = 0
    i = 0
    while i < len(tokens):
        here = tokens[i].text
        space = data[done : tokens[i].start]
        after = tokens[i + 1].text if i + 1 < len(tokens) else b""
        width = 1
        if here == b"$" and after == b"*" and i + 2 < len(tokens):
            name = tokens[i + 2].text.decode()
            comma = name in comma_rests
            if comma:
                if not parts or not isinstance(parts[-1], Text) or parts[-1].text != b",":
                    raise PatternError(f"$*{name} takes its comma with it: write ', $*{name}'")
                space = parts.pop().space
            parts.append(Slot(name, space, rest=True, comma=comma))
            width = 3
        elif here == b"$" and after == b"(" and i + 3 < len(tokens):
            parts.append(Slot(tokens[i + 2].text.decode(), space, parens=True))
            width = 4
        elif here.startswith(b"$") and len(here) > 1:
            parts.append(Slot(here[1:].decode(), space))
        elif here == b"@" and after:
            parts.append(Mapped(tokens[i + 1].text.decode(), space))
            width = 2
        elif b"$" in here:
            raise PatternError(f"cannot read {here.decode('utf-8', 'replace')!r}")
        else:
            parts.append(Text(here, space))
        done = tokens[i + width - 1].end
        i += width
    _check_template(parts, pattern, tables)
    return Template(text, tuple(parts), _kept(parts, pattern))


def _code(text: str) -> list[Token]:
    tokens = [t for t in lex(text.encode()) if t.kind > Kind.COMMENT]
    if not tokens:
        raise PatternError("a pattern needs at least one token")
    return tokens


def _ends_operand(element: Element) -> bool:
    return isinstance(element, Var) or (isinstance(element, Lit) and element.text in (b")", b"]"))


def _finish(text: str, elements: list[Element]) -> Pattern:
    """Decide which way each metavariable is bound, and where the search starts."""
    for i, element in enumerate(elements[:-1]):
        following = elements[i + 1]
        if isinstance(element, Var) and isinstance(following, Lit) and following.access:
            elements[i] = Var(element.name, postfix=True, angle=element.angle)
        unbordered = isinstance(following, Var) or (isinstance(following, Rest) and not following.comma)
        if isinstance(element, Var | Rest) and unbordered:
            raise PatternError("two metavariables side by side have no border between them")
    if len(elements) == 1 and isinstance(elements[0], Var):
        return Pattern(text, tuple(elements), -1, 0)
    anchor = _anchor(elements)
    if anchor < 0:
        raise PatternError("no token to search for: a pattern needs a name or another fixed token")
    for i, element in enumerate(elements[:anchor]):
        if isinstance(element, Var):
            following = elements[i + 1]
            if not (isinstance(following, Lit) and (following.access or following.text in _OPERATORS)):
                raise PatternError(f"${element.name} before the first name must stand before an operator")
            elements[i] = Var(element.name, postfix=True)
        elif isinstance(element, Rest):
            raise PatternError("$* cannot stand before the first name")
    fixed = sum(isinstance(e, NameIs) or (isinstance(e, Lit) and not e.optional) for e in elements)
    return Pattern(text, tuple(elements), anchor, fixed)


def _anchor(elements: list[Element]) -> int:
    """The first name; where there is none, the first other token that must be there."""
    for i, element in enumerate(elements):
        if isinstance(element, NameIs):
            return i
        if isinstance(element, Lit) and not element.optional and re.match(rb"[A-Za-z_]", element.text):
            return i
    return next((i for i, e in enumerate(elements) if isinstance(e, Lit) and not e.optional), -1)


def _check_template(parts: list[Part], pattern: Pattern, tables: Mapping[str, Mapping[str, str]]) -> None:
    bound = {e.name: e for e in pattern.elements if isinstance(e, Var | Rest)}
    postfix = {e.name for e in pattern.elements if isinstance(e, Var) and e.postfix}
    for i, part in enumerate(parts):
        if isinstance(part, Slot):
            if part.name not in bound:
                raise PatternError(f"the replacement uses ${part.name}, which the pattern does not bind")
            if part.rest != isinstance(bound[part.name], Rest):
                raise PatternError(f"${part.name} is not of one kind in pattern and replacement")
            following = parts[i + 1] if i + 1 < len(parts) else None
            member = isinstance(following, Text) and following.text in (b".", b"->", b"[")
            if member and not part.parens and part.name not in postfix:
                raise PatternError(f"write $({part.name}) before a member access: it may bind any expression")
        elif isinstance(part, Mapped):
            if part.key not in pattern.sets():
                raise PatternError(f"the replacement uses @{part.key}, which the pattern does not bind")
            if not all(tables.get(part.key, {"": ""}).values()):
                raise PatternError(f"@{part.key} maps to nothing")


def _kept(parts: list[Part], pattern: Pattern) -> frozenset[int]:
    """The slots that stay: the heaviest choice in which the pattern's order is kept (expressions before types)."""
    place: dict[str, int] = {}
    weight: dict[str, int] = {}
    for i, element in enumerate(pattern.elements):
        if isinstance(element, Var | Rest) and element.name not in place:
            place[element.name] = i
            weight[element.name] = 1 if isinstance(element, Var) and element.angle else 2
    best: list[tuple[int, tuple[int, ...]]] = []  # per slot: weight and indexes of the best chain that ends there
    slots = [(i, part.name) for i, part in enumerate(parts) if isinstance(part, Slot)]
    for k, (index, name) in enumerate(slots):
        chains = [best[j] for j in range(k) if place[slots[j][1]] < place[name]]
        total, chain = max(chains, key=lambda c: c[0], default=(0, ()))
        best.append((total + weight[name], (*chain, index)))
    return frozenset(max(best, key=lambda c: c[0], default=(0, ()))[1])
