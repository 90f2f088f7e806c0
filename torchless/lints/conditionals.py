"""Tokens that no preprocessor condition within a stretch of text can take out."""

from __future__ import annotations

from collections.abc import Iterable

from torchless.text.lexer import Kind, Token

_OPENING = (b"if", b"ifdef", b"ifndef")


def outside_of_conditionals(tokens: Iterable[Token]) -> list[Token]:
    """Those of the code tokens ``tokens`` that stand in no directive and in no #if that opens among them."""
    depth = 0
    kept: list[Token] = []
    awaiting = False
    for token in tokens:
        if token.kind is Kind.DIRECTIVE:
            awaiting = True
        elif awaiting:
            awaiting = False
            depth += (token.text in _OPENING) - (token.text == b"endif")
        elif not depth and not token.directive:
            kept.append(token)
    return kept
