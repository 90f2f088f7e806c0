"""The typed accessors of a file: ``x.data_ptr<T>()`` and its const and mutable forms, with what they are read as."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchless.facts.typing import FileView, canonical, object_class, postfix_start
from torchless.rewrites.dtypes import OF_CPP_TYPE
from torchless.rewrites.heads import function_name
from torchless.rewrites.scopes import Scopes
from torchless.text.lexer import Kind, Token, match_angle

_LONGEST = 48  # characters
_ACCESSORS = frozenset({b"data_ptr", b"const_data_ptr", b"mutable_data_ptr"})


@dataclass(frozen=True, slots=True)
class TypedAccess:
    """``object.data_ptr<type>()``: the indexes of the first token and of the member's name, and the texts.

    ``name`` is the variable, "" for what is none; ``shown`` is what stands before the accessor, for people.
    ``optional`` says that it is an optional's value, ``dtype`` is the target's dtype of a concrete type, else "".
    ``type`` is "" where an #if cuts it in two. ``condition`` is the text of a ?: condition that guards the access, else
    "".
    """

    first: int
    member: int
    name: str
    optional: bool
    type: str
    dtype: str
    condition: str
    shown: str


def typed_accesses(view: FileView, scopes: Scopes) -> Iterator[TypedAccess]:
    """Every typed accessor on a tensor in ``view``, in file order, macro bodies included."""
    tokens = view.tokens
    for i, token in enumerate(tokens):
        if token.text not in _ACCESSORS or token.kind is not Kind.NAME or i < 2 or i + 2 >= len(tokens):
            continue
        if tokens[i - 1].text not in (b".", b"->") or tokens[i + 1].text != b"<":
            continue
        close = match_angle(tokens, i + 1)
        if close < 0 or tokens[close + 1].text != b"(":
            continue
        answer = object_class(view, i)
        if answer is not None and not answer.only("tensor", "optional_tensor"):
            continue
        # the token before the . may belong to the #endif of an arm that the object stands in
        first = postfix_start(view, i - 2) if tokens[i - 2].directive == token.directive else i - 1
        name, optional = _variable(tokens, first, i)
        type_name = _type_text(view, i + 2, close - 1)
        dtype = OF_CPP_TYPE.get(type_name, "")
        shown = name or _shown(view, first, i - 2)
        yield TypedAccess(first, i, name, optional, type_name, dtype, _condition(view, scopes, first), shown)


def _shown(view: FileView, first: int, last: int) -> str:
    """The expression on one line, cut to a readable length; "a tensor" where an #if cuts it in two."""
    tokens = view.tokens[first : last + 1]
    if not tokens or any(t.directive != tokens[0].directive for t in tokens):
        return "a tensor"
    data = view.source.data[tokens[0].start : tokens[-1].end]
    text = " ".join(data.replace(b"\\", b" ").decode("utf-8", "replace").split())
    text = re.sub(r"(?<=[(\[]) | (?=[)\]])", "", text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _variable(tokens: list[Token], first: int, member: int) -> tuple[str, bool]:
    """(name, is the value of an optional) of ``x.``, ``x->``, ``x.value().`` and ``(*x).``; ("", False) for others."""
    words = [t.text for t in tokens[first:member]]
    name = words[0].decode("latin-1")
    if tokens[first].kind is Kind.NAME:
        if words[1:] == [b"."]:
            return name, False
        if words[1:] == [b"->"] or words[1:] == [b".", b"value", b"(", b")", b"."]:
            return name, True
    if words[:2] == [b"(", b"*"] and words[3:] == [b")", b"."] and tokens[first + 2].kind is Kind.NAME:
        return words[2].decode("latin-1"), True
    return "", False


def _type_text(view: FileView, first: int, last: int) -> str:
    """The element type without const and std::, torch's own as ``at::Half``; "" where an #if cuts it in two."""
    tokens = [i for i in range(first, last + 1) if view.tokens[i].text != b"const"]
    if not tokens or any(view.tokens[i].directive != view.tokens[first - 1].directive for i in tokens):
        return ""
    if view.tokens[tokens[-1]].kind is Kind.NAME:
        name = canonical(view, tokens[-1])
        if name:
            return name
    if all(view.tokens[i].kind is Kind.NAME for i in tokens):
        return " ".join(view.tokens[i].text.decode("latin-1") for i in tokens)
    return "".join(view.tokens[i].text.decode("latin-1") for i in tokens).removeprefix("::").removeprefix("std::")


def _condition(view: FileView, scopes: Scopes, index: int) -> str:
    """The text of C when the access at ``index`` is the whole, or the start, of X in ``C ? X : nullptr``."""
    tokens = view.tokens
    i = _before_casts(scopes, index - 1)
    if i < 0 or tokens[i].text != b"?":
        return ""
    last = i - 1
    first = last
    while first >= 0:
        text = tokens[first].text
        if text in (b")", b"]") and first in scopes.pair:
            first = scopes.pair[first]
        elif (
            text in (b"(", b",", b"=", b";", b"{", b"}", b"return", b"?", b":")
            or tokens[first].directive != tokens[last].directive
        ):
            break
        first -= 1
    first += 1
    if first > last:
        return ""
    while tokens[first].text == b"(" and scopes.pair.get(first) == last:
        first, last = first + 1, last - 1
    if any(t.kind is Kind.PUNCT and t.text in (b"=", b"++", b"--", b"[") for t in tokens[first : last + 1]):
        return ""
    return b" ".join(view.source.data[tokens[first].start : tokens[last].end].split()).decode("latin-1")


def _before_casts(scopes: Scopes, index: int) -> int:
    """The index before ``(T*)`` and ``static_cast<T*>(`` that end at ``index``, any number of them."""
    tokens = scopes.tokens
    i = index
    while i > 0:
        if tokens[i].text == b")" and i in scopes.pair:
            i = scopes.pair[i] - 1
        elif tokens[i].text == b"(" and tokens[i - 1].text == b">":
            name = function_name(scopes, i)
            if name < 0 or not tokens[name].text.endswith(b"_cast"):
                return i
            i = name - 1
        else:
            return i
    return i
