"""What stands at namespace scope of a C++ file, in order: includes, functions, kernels, types, directives."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from torchless.text.lexer import Kind, Token, code_tokens, lex, match_forward

DEVICE_WORDS = frozenset({b"__global__", b"__device__", b"__constant__", b"__shared__", b"__managed__"})
_TYPES = frozenset({b"struct", b"class", b"union", b"enum"})
_WORDS = frozenset(
    b"alignas auto bool char class const constexpr consteval constinit double enum explicit extern float inline int"
    b" long mutable namespace noexcept operator private protected public register short signed sizeof static struct"
    b" template this thread_local typedef typename union unsigned using virtual void volatile static_assert decltype"
    b" requires concept if else for while do switch case return true false nullptr new delete".split()
)


class What(Enum):
    """What an item is. ARMS is all from a #if to its #endif; OPEN and CLOSE are the braces of a namespace."""

    INCLUDE = "include"
    DEFINE = "define"
    DIRECTIVE = "directive"
    ARMS = "arms"
    OPEN = "open"
    CLOSE = "close"
    USING = "using"
    DEVICE = "device"
    FUNCTION = "function"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing at namespace scope: its byte range, what it declares and what it names.

    ``spelled`` is the header of an include, with its quotes or brackets.
    """

    what: What
    start: int
    end: int
    declares: frozenset[bytes] = frozenset()
    mentions: frozenset[bytes] = frozenset()
    spelled: str = ""


class UnreadableError(ValueError):
    """The file's brackets or conditionals do not pair up."""


def items_of(data: bytes, device_macros: Collection[bytes] = ()) -> list[Item]:
    """The items of a file, in order. ``device_macros`` are names that stand for device attributes.

    Raises UnreadableError.
    """
    tokens = code_tokens(lex(data))
    marks = DEVICE_WORDS | set(device_macros)
    out: list[Item] = []
    i = 0
    while i < len(tokens):
        if tokens[i].kind is Kind.DIRECTIVE:
            end = _directive_end(tokens, i)
            keyword = _keyword(tokens, i)
            if keyword.startswith("if"):
                end = _arms_end(tokens, i)
                out.append(_item(What.ARMS, tokens[i:end]))
            else:
                out.append(_directive(tokens[i:end], keyword))
            i = end
            continue
        end, what = _statement(tokens, i)
        part = [t for t in tokens[i:end] if not t.directive]
        if what in (What.FUNCTION, What.OTHER) and any(t.text in marks for t in part):
            what = What.DEVICE
        out.append(_item(what, tokens[i:end]))
        i = end
    return out


def device_macros(texts: Collection[bytes]) -> frozenset[bytes]:
    """The names of the macros among ``texts`` (files) that stand for a device attribute, also through one another."""
    bodies: dict[bytes, set[bytes]] = {}
    for data in texts:
        for name, body in re.findall(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\r?\n)*[^\n]*)", data, re.M):
            bodies.setdefault(name, set()).update(re.findall(rb"\w+", body))
    found: set[bytes] = set()
    while True:
        more = {name for name, words in bodies.items() if words & (DEVICE_WORDS | found)} - found
        if not more:
            return frozenset(found)
        found |= more


def _keyword(tokens: list[Token], mark: int) -> str:
    """The keyword of the directive whose # is at ``mark``."""
    return tokens[mark + 1].directive if mark + 1 < len(tokens) else ""


def _directive_end(tokens: list[Token], start: int) -> int:
    end = start + 1
    while end < len(tokens) and tokens[end].directive and tokens[end].kind is not Kind.DIRECTIVE:
        end += 1
    return end


def _arms_end(tokens: list[Token], start: int) -> int:
    """The index behind the #endif of the #if at ``start``. Braces in between must pair up."""
    depth, i, braces = 0, start, 0
    while i < len(tokens):
        token = tokens[i]
        if token.kind is Kind.DIRECTIVE:
            keyword = _keyword(tokens, i)
            depth += keyword.startswith("if")
            depth -= keyword == "endif"
            if depth == 0:
                if braces:
                    raise UnreadableError("a brace opens in one arm of a conditional and closes elsewhere")
                return _directive_end(tokens, i)
        elif not token.directive:
            braces += (token.text == b"{") - (token.text == b"}")
        i += 1
    raise UnreadableError("a conditional is not closed")


def _directive(part: list[Token], keyword: str) -> Item:
    start, end = part[0].start, part[-1].end
    if keyword.startswith("include"):
        spelled = part[2].text.decode("utf-8", "replace") if len(part) > 2 else ""
        return Item(What.INCLUDE, start, end, spelled=spelled)
    names = frozenset(t.text for t in part[2:] if t.kind is Kind.NAME)
    if keyword == "define" and len(part) > 2:
        return Item(What.DEFINE, start, end, frozenset({part[2].text}), names)
    return Item(What.DIRECTIVE, start, end, mentions=names)


def _item(what: What, part: list[Token]) -> Item:
    plain = [t for t in part if not t.directive]
    names = frozenset(t.text for t in part if t.kind is Kind.NAME and t.text not in _WORDS)
    declares = frozenset(_declared(what, plain))
    return Item(what, part[0].start, part[-1].end, declares, names)


def _declared(what: What, part: list[Token]) -> Iterator[bytes]:
    """The names that an item may bring in: of a function its own, of anything else all but what braces hold."""
    if what in (What.FUNCTION, What.DEVICE):
        opening = _parameters(part)
        if opening > 0:
            yield part[opening - 1].text
            return
    if what in (What.OPEN, What.CLOSE):
        return
    is_enum = any(t.text == b"enum" for t in part[:3])
    i = 0
    while i < len(part):
        token = part[i]
        if what is not What.ARMS and (token.text == b"(" or (token.text == b"{" and not is_enum)):
            close = match_forward(part, i)
            i = close if close > 0 else i
        elif token.kind is Kind.NAME and token.text not in _WORDS:
            yield token.text
        i += 1


def _statement(tokens: list[Token], start: int) -> tuple[int, What]:
    """(the index behind what starts at ``start``, what it is)."""
    first = tokens[start].text
    if first == b"}":
        return start + 1, What.CLOSE
    if first == b";":
        return start + 1, What.USING
    i = start
    while i < len(tokens):
        token = tokens[i]
        if token.directive:
            i += 1
            continue
        if token.text == b";":
            head = [t.text for t in tokens[start:i]]
            is_import = head[:1] == [b"using"] and b"=" not in head and b"namespace" in head
            is_alias = head[:1] == [b"namespace"]
            return i + 1, What.USING if is_import or is_alias else What.OTHER
        if token.text in (b"(", b"["):
            i = _closing(tokens, i) + 1
            continue
        if token.text == b"{":
            head = [t.text for t in tokens[start:i] if not t.directive]
            if b"namespace" in head or (head[:1] == [b"extern"] and len(head) == 2):
                return i + 1, What.OPEN
            close = _closing(tokens, i)
            if _is_function(head):
                return close + 1, What.FUNCTION
            i = close + 1
            continue
        if token.text == b"}":
            return i, What.OTHER  # a macro that ends its own declaration
        i += 1
    return len(tokens), What.OTHER


def _closing(tokens: list[Token], opening: int) -> int:
    close = match_forward(tokens, opening)
    if close < 0:
        raise UnreadableError("a bracket is not closed")
    return close


def _is_function(head: list[bytes]) -> bool:
    """Whether a brace behind ``head`` opens the body of a function."""
    depth, i, params = 0, 0, False
    if head[:1] == [b"template"]:
        i = _behind_template(head)
    if head[i : i + 1] and head[i] in _TYPES and b"(" not in head[i:]:
        return False
    while i < len(head):
        text = head[i]
        if text == b"=" and depth == 0 and (i == 0 or head[i - 1] != b"operator"):
            return False
        if text == b"(":
            params = params or depth == 0
            depth += 1
        elif text == b")":
            depth -= 1
        i += 1
    return params


def _behind_template(head: list[bytes]) -> int:
    depth = 0
    for i, text in enumerate(head):
        depth += (text == b"<") - (text == b">")
        if text == b">" and depth == 0 and head[i + 1 : i + 2] != [b"template"]:
            return i + 1
    return 0


def _parameters(part: list[Token]) -> int:
    """The index of the bracket that opens the parameters of the function ``part`` declares; -1 for none."""
    i = 0
    if part and part[0].text == b"template":
        i = _behind_template([t.text for t in part])
    while i < len(part):
        token = part[i]
        if token.text in (b"{", b";", b"="):
            return -1
        if token.text == b"(":
            before = part[i - 1] if i else None
            close = match_forward(part, i)
            if before is not None and before.kind is Kind.NAME and not _is_attribute(before.text):
                return i
            if close < 0:
                return -1
            i = close
        i += 1
    return -1


def _is_attribute(name: bytes) -> bool:
    return name in (b"__launch_bounds__", b"__attribute__", b"alignas", b"decltype", b"noexcept", b"explicit")
