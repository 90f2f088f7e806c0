"""Code that no configuration compiles: the arm of an ``#if 0``, and what stands behind the arm of an ``#if 1``."""

from __future__ import annotations

from collections.abc import Sequence

from torchless.text.lexer import Kind, Token

_OPENING = frozenset({b"if", b"ifdef", b"ifndef"})
_DIVIDING = frozenset({b"elif", b"else", b"elifdef", b"elifndef"})


def split_dead(tokens: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    """(live, dead) of a file's code tokens (blanks and comments out), each in order.

    Dead is what stands in an arm whose condition is the literal 0, or behind an arm of the same #if whose condition is
    the literal 1, directives within included. The directives that begin and end such an arm are live. An #if that
    nothing closes ends with the file. Macros are not looked up: a build may define the NEVER of ``#if NEVER``.
    """
    live: list[Token] = []
    dead: list[Token] = []
    taken: list[bool] = []  # of each #if around the place, outside of dead code: has an arm a condition of 1?
    nested = 0  # how many #ifs are open within dead code
    in_dead = False  # of the tokens behind the directive at hand
    to_dead = False  # of the tokens of the directive itself
    for i, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            keyword = tokens[i + 1].text if i + 1 < len(tokens) and tokens[i + 1].directive else b""
            to_dead = in_dead
            if in_dead and (nested or keyword in _OPENING):
                nested += (keyword in _OPENING) - (keyword == b"endif")
            elif keyword in _OPENING:
                condition = _literal(tokens, i) if keyword == b"if" else b""
                taken.append(condition == b"1")
                in_dead = condition == b"0"
            elif keyword in _DIVIDING and taken:
                condition = _literal(tokens, i) if keyword == b"elif" else b""
                to_dead, in_dead = False, taken[-1] or condition == b"0"
                taken[-1] |= condition == b"1"
            elif keyword == b"endif" and taken:
                taken.pop()
                to_dead = in_dead = False
        (dead if (to_dead if token.directive else in_dead) else live).append(token)
    return live, dead


def live_tokens(tokens: Sequence[Token]) -> list[Token]:
    """The tokens that some configuration may compile, see split_dead."""
    return split_dead(tokens)[0]


def _literal(tokens: Sequence[Token], sharp: int) -> bytes:
    """The condition of the directive whose # is at ``sharp`` when it is one token, else b""."""
    if sharp + 2 >= len(tokens) or not tokens[sharp + 2].directive or tokens[sharp + 2].kind is Kind.DIRECTIVE:
        return b""
    behind = tokens[sharp + 3] if sharp + 3 < len(tokens) else None
    alone = behind is None or not behind.directive or behind.kind is Kind.DIRECTIVE
    return tokens[sharp + 2].text if alone else b""
