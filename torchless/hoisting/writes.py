"""Where a variable may be written to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchless.hoisting.spelling import is_builtin
from torchless.rewrites.scopes import BlockKind, Scopes
from torchless.text.lexer import Kind, Token, match_angle

TakesValues = Callable[[str], bool | None]
"""Does a function or macro of that name leave its arguments alone? None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Write:
    """A place where a variable may be written to. ``how``: assign, step, element, mutate, passed, address, alias."""

    index: int
    how: str


_ASSIGNMENTS = frozenset({b"=", b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"<<="})
_MUTATORS = frozenset(
    b"push_back emplace_back pop_back insert erase clear resize assign append swap reset emplace resize_ resize_as_"
    b" set_ squeeze_ unsqueeze_ transpose_ t_ swapdims_ swapaxes_ as_strided_ set_data merge".split()
)
# What takes a plain variable and leaves it alone, whoever wrote it: words of the language, and names whose meaning is
# the same everywhere.
_HARMLESS = frozenset(
    b"sizeof decltype alignof noexcept if while switch for return throw case and or not catch assert dim3 min max abs"
    b" ceil floor printf fprintf device_of value_or size stride sizes strides select slice narrow transpose unsqueeze"
    b" size_to_dim_ size_from_dim_ data_ptr push_back emplace_back at reserve resize view reshape expand".split()
)
_HARMFUL_STD = frozenset({b"tie", b"swap", b"exchange", b"ref", b"iota", b"sort", b"fill", b"getline", b"advance"})
_STD_LIKE = frozenset({b"std", b"torch", b"at", b"c10"})


def writes(
    scopes: Scopes, name: str, first: int, last: int, takes_values: TakesValues, *, is_tensor: bool = False
) -> list[Write]:
    """Every place in the token range first..last where the variable ``name`` may be written to.

    A tensor that is handed on may get other contents, but stays the same tensor unless the function's name says
    otherwise.
    """
    word = name.encode("latin-1")
    found = []
    for i in range(first, last + 1):
        if scopes.tokens[i].text == word and scopes.tokens[i].kind is Kind.NAME:
            how = _how(scopes, i, takes_values, is_tensor)
            if how:
                found.append(Write(i, how))
    return found


def in_lambda(scopes: Scopes, index: int, since: int) -> bool:
    """True when a lambda that starts behind the token ``since`` holds the one at ``index``."""
    return any(b.kind is BlockKind.LAMBDA and b.open > since for b in scopes.around(index))


def _text(tokens: list[Token], index: int) -> bytes:
    return tokens[index].text if 0 <= index < len(tokens) else b""


def _how(scopes: Scopes, i: int, takes_values: TakesValues, is_tensor: bool) -> str:
    tokens = scopes.tokens
    before, after = _text(tokens, i - 1), _text(tokens, i + 1)
    if before in (b".", b"->", b"::") or after == b"::":
        return ""
    if _assigns(tokens, i + 1):
        return "assign"
    if after in (b"++", b"--") or before in (b"++", b"--"):
        return "step"
    if after == b"[" and i + 1 in scopes.pair and _assigns(tokens, scopes.pair[i + 1] + 1):
        return "element"
    if after in (b".", b"->"):
        opener = i + 3
        called = _text(tokens, opener) == b"(" and opener in scopes.pair
        if _text(tokens, i + 2) in _MUTATORS:
            return "mutate"
        return "element" if called and _assigns(tokens, scopes.pair[opener] + 1) else ""
    if before == b"&" and _is_prefix(tokens, i - 1):
        return "" if _is_capture(scopes, i) else "address"
    if before in (b"=", b"{", b"(") and after in (b";", b",", b"}", b")") and _binds_reference(tokens, i):
        return "alias"
    if before in (b"(", b",") and after in (b")", b","):
        return "passed" if _may_change(scopes, i, takes_values, is_tensor) else ""
    streamed = before == b">" and _text(tokens, i - 2) == b">" and after in (b";", b">") and not is_tensor
    return "passed" if streamed and _reads_stream(tokens, i) else ""


def _assigns(tokens: list[Token], i: int) -> bool:
    """Does an assignment operator stand at ``i``? >>= comes as > and >=."""
    if _text(tokens, i) in _ASSIGNMENTS:
        return True
    return _text(tokens, i) == b">" and _text(tokens, i + 1) == b">=" and tokens[i].end == tokens[i + 1].start


def _is_prefix(tokens: list[Token], index: int) -> bool:
    """True for an operator with nothing on its left that it could join."""
    if index < 1:
        return True
    before = tokens[index - 1]
    if before.kind in (Kind.NAME, Kind.NUMBER):
        return before.text in (b"return", b"case")
    return before.text not in (b")", b"]", b"}", b">")


def _is_capture(scopes: Scopes, index: int) -> bool:
    """True within the capture list of a lambda: what its body does to the variable is seen there."""
    opener = scopes.enclosing(index)
    if opener < 0 or scopes.tokens[opener].text != b"[":
        return False
    before = scopes.tokens[opener - 1]
    return before.kind is not Kind.NAME and before.text not in (b")", b"]")


def _binds_reference(tokens: list[Token], i: int) -> bool:
    """``T& r = x``, ``T& r{x}``, ``T& r(x)``, not const."""
    if _text(tokens, i - 3) not in (b"&", b"&&") or tokens[i - 2].kind is not Kind.NAME:
        return False
    if _is_prefix(tokens, i - 3):
        return False
    start = i - 4
    while start >= 0 and tokens[start].text not in (b";", b"{", b"}", b"(", b","):
        if tokens[start].text == b"const":
            return False
        start -= 1
    return True


def _reads_stream(tokens: list[Token], i: int) -> bool:
    """``stream >> x``, not a shift."""
    if _text(tokens, i - 3) == b">":
        return False  # kernel<<<...>>>
    j = i
    while j >= 0 and tokens[j].text not in (b";", b"{", b"}"):
        if tokens[j].text in (b"=", b"return", b"("):
            return False
        j -= 1
    return True


def _may_change(scopes: Scopes, i: int, takes_values: TakesValues, is_tensor: bool) -> bool:
    """Could the call that gets the variable at ``i`` as an argument write to it?"""
    tokens = scopes.tokens
    opener = scopes.enclosing(i)
    if opener < 1 or tokens[opener].text != b"(":
        return False
    index = opener - 1
    if tokens[index].text == b">":
        if _text(tokens, index - 1) == b">" and _text(tokens, index - 2) == b">":
            return False  # kernel<<<...>>>(x): kernels take no references
        index = _before_template(tokens, index)
        if index < 0:
            return True
    if tokens[index].text in (b"]", b"}"):
        return True  # an object or a lambda is called
    if tokens[index].text == b")":
        return not _is_type(scopes, index)
    if tokens[index].kind is not Kind.NAME:
        return False
    word = tokens[index].text
    if word in _HARMFUL_STD or word.endswith(b"_out"):
        return True
    known = takes_values(word.decode("latin-1"))
    if known is not None and not is_tensor:
        return not known
    if is_tensor or word in _HARMLESS or is_builtin(word.decode("latin-1")) or _text(tokens, index - 1) == b"dim3":
        return False
    if word.replace(b"_", b"").isupper():  # a macro from elsewhere: checks and dispatches write to nothing
        return False
    root = index
    while root >= 2 and tokens[root - 1].text == b"::" and tokens[root - 2].kind is Kind.NAME:
        root -= 2
    return root == index or tokens[root].text not in _STD_LIKE


def _before_template(tokens: list[Token], close: int) -> int:
    """Index of the name whose template arguments end at ``close``, or -1."""
    for j in range(close - 1, max(0, close - 80), -1):
        if tokens[j].text == b"<" and match_angle(tokens, j) == close:
            return j - 1
    return -1


def _is_type(scopes: Scopes, close: int) -> bool:
    """Do the parentheses that end at ``close`` hold a type, as in a cast?"""
    start = scopes.pair.get(close, -1)
    inner = scopes.tokens[start + 1 : close]
    return start >= 0 and all(t.kind is Kind.NAME or t.text in (b"::", b"*") for t in inner)
