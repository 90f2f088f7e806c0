"""What the checkout offers of the target: its headers and the names that they declare.

The target's headers are those of the ``aiter_`` family and the registration header; a rule whose replacement uses a
macro or function that is not among the names cannot be applied in this checkout.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path

from torchless.index import Index
from torchless.text.lexer import CLOSERS, Kind, Token, code_tokens, lex, match_forward

_VERSION = 1  # of what declared_names() gives for the same bytes
FAMILY = "aiter_"
REGISTRATION = "rocm_ops.hpp"
# Headers that a migration includes, or stops including, but does not rewrite: they tie nothing together.
CORE_HEADERS = frozenset(
    {"aiter_tensor.h", "aiter_stream.h", "aiter_dispatch.h", "aiter_enum.h", "aiter_hip_common.h", "aiter_opus_plus.h"}
    | {"aiter_ctypes_error.h", "aiter_logger.h", "dispatch_utils.h", "py_itfs_common.h", REGISTRATION}
)
# What stands before a parenthesis without being declared there.
_NOT_NAMES = frozenset({b"decltype", b"alignas", b"__attribute__", b"sizeof", b"noexcept", b"requires", b"operator"})
_NOT_NAMES |= {b"bool", b"char", b"short", b"int", b"unsigned", b"long", b"float", b"double", b"void", b"auto"}
_TYPE_KEYWORDS = (b"struct", b"class", b"enum", b"union")


def read_target(
    root: Path, headers: Iterable[str], index: Index | None = None
) -> tuple[frozenset[str], frozenset[str]]:
    """(header names, declared names) of the target, found among ``headers`` (root-relative).

    Header names are as an include spells them: "aiter_tensor.h". The registration header counts as a header, but its
    names are the binding macros, which ``project.bindings`` reads. Unreadable headers are skipped.
    """
    index = index or Index(root)
    found: set[str] = set()
    names: set[str] = set()
    for path in headers:
        name = posixpath.basename(path)
        if name.startswith(FAMILY):
            try:
                names |= index.get(path, "declared names", _VERSION, declared_names)
            except OSError:
                continue
            found.add(name)
        elif name == REGISTRATION:
            found.add(name)
    return frozenset(found), frozenset(names)


def declared_names(data: bytes) -> set[str]:
    """Macros, types, enumerators, aliases and functions declared in ``data`` outside of function bodies.

    A superset by shape: constructors and variables with a parenthesised initialiser come along, calls do not.
    """
    everything = code_tokens(lex(data))
    names = {
        name.text.decode("utf-8", "replace")
        for sharp, keyword, name in zip(everything, everything[1:], everything[2:], strict=False)
        if sharp.kind is Kind.DIRECTIVE and keyword.text == b"define"
    }
    tokens = [t for t in everything if not t.directive]
    statement = 0  # where the current declaration starts
    i = 0
    while i < len(tokens):
        text = tokens[i].text
        if text == b"{":
            head = [t.text for t in tokens[statement:i]]
            close = match_forward(tokens, i)
            if close < 0:
                break
            names |= _declared(tokens[statement:i])
            if b"enum" in head:
                body = tokens[i + 1 : close]
                names |= {
                    t.text.decode("utf-8", "replace")
                    for before, t in zip([tokens[i], *body], body, strict=False)
                    if t.kind is Kind.NAME and before.text in (b"{", b",")
                }
                i = close
            elif not _opens_scope(head):
                i = close  # a function body or an initialiser: nothing inside is offered to others
            statement = i + 1
        elif text == b";":
            names |= _declared(tokens[statement:i])
            statement = i + 1
        elif text in CLOSERS:
            statement = i + 1
        elif text in (b"(", b"["):
            i = max(i, match_forward(tokens, i))
        i += 1
    return names


def _opens_scope(head: list[bytes]) -> bool:
    if b"namespace" in head or (b"extern" in head and b"(" not in head):
        return True
    return any(word in head for word in _TYPE_KEYWORDS) and head[-1:] != [b")"]


def _declared(tokens: list[Token]) -> set[str]:
    """The name that one declaration without its body declares."""
    texts = [t.text for t in tokens]
    if b"using" in texts[:1] and b"=" in texts:
        return {texts[1].decode("utf-8", "replace")}
    if b"(" in texts:
        at = texts.index(b"(") - 1
        named = at > 0 and tokens[at].kind is Kind.NAME and texts[at] not in _NOT_NAMES
        if named and texts[at - 1] not in (b"=", b"return", b"."):
            return {texts[at].decode("utf-8", "replace")}
        return set()
    for i, text in enumerate(texts[:-1]):
        if text in _TYPE_KEYWORDS and texts[i - 1 : i] not in ([b"<"], [b","]):
            j = i + 2 if texts[i + 1] in (b"class", b"struct") else i + 1
            return {texts[j].decode("utf-8", "replace")} if j < len(texts) and tokens[j].kind is Kind.NAME else set()
    return set()
