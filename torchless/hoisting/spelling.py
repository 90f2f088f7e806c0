"""Types as they are spelled: by their tokens, and as one text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from torchless.text.lexer import Kind, Token

BUILTIN_WORDS = frozenset({"bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double"})
_FIXED = re.compile(r"(?:std::)?u?int(?:8|16|32|64)_t|(?:std::)?(?:size_t|ptrdiff_t|u?intptr_t)|ssize_t")
_TYPE_WORDS = frozenset({"const", "volatile", "typename", "struct", "class", "enum"})


def type_text(tokens: Sequence[Token]) -> str:
    """A type as one text: words apart by single blanks, everything else close up, a leading :: out."""
    out = ""
    for token in tokens:
        word = token.text.decode("latin-1")
        glue = out and (out[-1].isalnum() or out[-1] in "_>") and (word[0].isalnum() or word[0] == "_")
        out += f" {word}" if glue else word
    return out.removeprefix("::")


def split_template(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Template arguments (the tokens between < and >) as texts."""
    out: list[str] = []
    depth = start = 0
    for i, token in enumerate(tokens):
        if token.text in (b"<", b"(", b"["):
            depth += 1
        elif token.text in (b">", b")", b"]"):
            depth -= 1
        elif token.text == b"," and depth == 0:
            out.append(type_text(tokens[start:i]))
            start = i + 1
    out.append(type_text(tokens[start:]))
    return tuple(out)


def is_type(tokens: Sequence[Token]) -> bool:
    """Could these tokens be a type: names, ::, template arguments, const, and * or & at the end?"""
    named = False
    for i, token in enumerate(tokens):
        if token.kind is Kind.NAME:
            named = True
        elif token.text in (b"*", b"&"):
            if any(t.text not in (b"*", b"&", b"const") for t in tokens[i:]):
                return False
        elif token.text not in (b"::", b"<", b">", b","):
            return False
    if not named:
        return False
    words = [t.text.decode("latin-1") for t in tokens if t.kind is Kind.NAME]
    adjacent = [
        (a.text.decode("latin-1"), b.text.decode("latin-1"))
        for a, b in pairwise(tokens)
        if a.kind is Kind.NAME and b.kind is Kind.NAME
    ]
    if any(word in ("true", "false") for word in words):
        return False
    return all((a in BUILTIN_WORDS and b in BUILTIN_WORDS) or a in _TYPE_WORDS or b in _TYPE_WORDS for a, b in adjacent)


def is_builtin(text: str) -> bool:
    """True for the spelling of a number type (``unsigned long``, ``std::size_t``, ``const int``), no pointer."""
    words = [w for w in text.split() if w not in ("const", "volatile")]
    if not words:
        return False
    return all(w in BUILTIN_WORDS for w in words) or (len(words) == 1 and _FIXED.fullmatch(words[0]) is not None)
