"""The statements of a block, and which of them always run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from torchless.rewrites.scopes import Block, BlockKind, Scopes
from torchless.text.lexer import OPENERS, Kind


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement by the indexes of its first and last token.

    For ``if``, ``branches`` are the token ranges of what it chooses between and ``complete`` says that there is an
    else; for a loop or a switch there is one branch; for anything else none.
    """

    first: int
    last: int
    word: str = ""
    condition: int = -1  # index of the ( behind if, for, while, switch
    branches: tuple[tuple[int, int], ...] = ()
    complete: bool = False


def block_statements(scopes: Scopes, block: Block) -> list[Statement]:
    """The statements directly inside the braces of ``block``."""
    return statements(scopes, block.open + 1, block.close - 1)


def statements(scopes: Scopes, first: int, last: int) -> list[Statement]:
    """The statements in the token range first..last. Directives between them are passed over."""
    out = []
    while first <= last and scopes.tokens[first].directive not in ("", "define"):
        first += 1
    i = first
    while i <= last:
        if scopes.tokens[i].directive != scopes.tokens[first].directive and scopes.tokens[i].directive:
            i += 1
            continue
        statement = _statement(scopes, i, last)
        out.append(statement)
        i = statement.last + 1
    return out


def _statement(scopes: Scopes, first: int, last: int) -> Statement:
    tokens, pair = scopes.tokens, scopes.pair
    word = tokens[first].text
    if word == b"{" and first in pair:
        return Statement(first, min(pair[first], last), "{", branches=((first, pair[first]),))
    if word in (b"if", b"for", b"while", b"switch"):
        i = _next(scopes, first, last)
        if tokens[i].text == b"constexpr":
            i = _next(scopes, i, last)
        if tokens[i].text == b"(" and i in pair:
            return _controlled(scopes, first, i, last)
    if word == b"do":
        body = _statement(scopes, _next(scopes, first, last), last)
        end = _to_semicolon(scopes, min(body.last + 1, last), last)
        return Statement(first, end, "do", branches=((body.first, body.last),))
    return Statement(first, _to_semicolon(scopes, first, last), word.decode("latin-1"))


def _controlled(scopes: Scopes, first: int, condition: int, last: int) -> Statement:
    tokens, pair = scopes.tokens, scopes.pair
    word = tokens[first].text.decode("latin-1")
    body = _statement(scopes, _next(scopes, pair[condition], last), last)
    branches = [(body.first, body.last)]
    end = body.last
    complete = False
    after = _next(scopes, end, last)
    if word == "if" and after <= last and after > end and tokens[after].text == b"else":
        other = _statement(scopes, _next(scopes, after, last), last)
        branches.append((other.first, other.last))
        end, complete = other.last, True
    return Statement(first, end, word, condition, tuple(branches), complete)


def _next(scopes: Scopes, index: int, last: int) -> int:
    """The next token of the same stream; ``last`` at the end."""
    i = index + 1
    while i < last and scopes.tokens[i].directive and not scopes.tokens[index].directive:
        i += 1
    return min(i, last)


def _to_semicolon(scopes: Scopes, first: int, last: int) -> int:
    tokens, pair = scopes.tokens, scopes.pair
    i = first
    while i <= last:
        token = tokens[i]
        if token.directive and not tokens[first].directive:
            i += 1
            continue
        if token.kind is Kind.PUNCT:
            if token.text == b";":
                return i
            if token.text in OPENERS and i in pair:
                close = pair[i]
                number = scopes.block_at.get(i, -1)
                i = close
                if number >= 0 and scopes.blocks[number].kind is BlockKind.STATEMENT:
                    return close  # a macro that takes a block
        i += 1
    return last


_CHECKS = frozenset({b"TORCH_CHECK", b"AITER_CHECK", b"TORCH_INTERNAL_ASSERT"})
RunsBody = Callable[[str], bool]


def always_runs(scopes: Scopes, first: int, last: int, wanted: Collection[int], runs_body: RunsBody) -> bool:
    """Does every way from ``first`` on, to ``last`` or out of the function, come by one of the ``wanted`` tokens?

    A way that ends in a failed check counts too. ``runs_body(name)`` says that a function or macro of that name runs
    the lambda it is given, once.
    """
    for statement in statements(scopes, first, last):
        if _fails(scopes, statement) or _statement_runs(scopes, statement, wanted, runs_body):
            return True
        if returns_between(scopes, statement.first, statement.last):
            # if(c) { ...; return; } and what follows are the two arms of one choice
            leaves = statement.word == "if" and not statement.complete and _leaves(scopes, statement.branches[0])
            arm = _inner(scopes, statement.branches[0]) if leaves else (0, -1)
            if not leaves or not always_runs(scopes, *arm, wanted, runs_body):
                return False
    return False


def _leaves(scopes: Scopes, branch: tuple[int, int]) -> bool:
    """True when the branch ends with a return."""
    found = statements(scopes, *_inner(scopes, branch))
    return bool(found) and found[-1].word == "return"


def _fails(scopes: Scopes, statement: Statement) -> bool:
    """True for a statement that never goes on: throw, a check of false, AT_ERROR."""
    tokens = scopes.tokens
    word = tokens[statement.first].text
    if word in (b"throw", b"AT_ERROR"):
        return True
    checked = statement.first + 2
    return (
        word in _CHECKS
        and checked < statement.last
        and tokens[checked].text == b"false"
        and (tokens[checked + 1].text in (b",", b")"))
    )


def _statement_runs(scopes: Scopes, statement: Statement, wanted: Collection[int], runs_body: RunsBody) -> bool:
    inside = [w for w in wanted if statement.first <= w <= statement.last]
    if not inside:  # nothing to come by; a statement that only fails is _fails' business
        return False
    if statement.condition >= 0:
        close = scopes.pair[statement.condition]
        if any(statement.condition < w < close and not _is_conditional(scopes, w, statement.condition) for w in inside):
            return True
    if statement.word == "if":
        return statement.complete and all(
            always_runs(scopes, *_inner(scopes, b), inside, runs_body) for b in statement.branches
        )
    if statement.word in ("{", "do"):
        return always_runs(scopes, *_inner(scopes, statement.branches[0]), inside, runs_body)
    if statement.word in ("for", "while", "switch"):
        return False
    return any(_runs_in_expression(scopes, statement, w, inside, runs_body) for w in inside)


def _inner(scopes: Scopes, branch: tuple[int, int]) -> tuple[int, int]:
    first, last = branch
    if scopes.tokens[first].text == b"{" and scopes.pair.get(first) == last:
        return first + 1, last - 1
    return first, last


def _runs_in_expression(
    scopes: Scopes, statement: Statement, index: int, wanted: Collection[int], runs_body: RunsBody
) -> bool:
    lambdas = [
        b for b in scopes.around(index) if b.kind is BlockKind.LAMBDA and statement.first <= b.open <= statement.last
    ]
    if not lambdas:
        return not _is_conditional(scopes, index, statement.first)
    outer = lambdas[-1]
    opener = enclosing_call(scopes, outer.open)
    if opener < 1 or scopes.tokens[opener - 1].kind is not Kind.NAME:
        return False
    if not runs_body(scopes.tokens[opener - 1].text.decode("latin-1")):
        return False
    inside = [w for w in wanted if outer.open < w < outer.close]
    return not _is_conditional(scopes, outer.open, statement.first) and always_runs(
        scopes, outer.open + 1, outer.close - 1, inside, runs_body
    )


def enclosing_call(scopes: Scopes, index: int) -> int:
    """Index of the ( of the call whose argument the token at ``index`` is in, or -1."""
    opener = scopes.enclosing(index)
    return opener if opener >= 0 and scopes.tokens[opener].text == b"(" else -1


def _is_conditional(scopes: Scopes, index: int, limit: int) -> bool:
    """True when the expression at ``index`` is behind a ?, && or || of the statement that starts at ``limit``."""
    tokens, pair = scopes.tokens, scopes.pair
    i = index - 1
    while i >= limit:
        text = tokens[i].text
        if tokens[i].kind is Kind.PUNCT:
            if text in (b")", b"]", b"}"):
                i = pair.get(i, i)
            elif text in (b"?", b"&&", b"||"):
                return True
            elif text in (b",", b"(", b"[", b"{"):
                # the operators in front of an earlier argument do not concern this one; go out one level
                opener = scopes.enclosing(i) if text == b"," else i
                if opener < limit:
                    return False
                i = opener
        i -= 1
    return False


def returns_between(scopes: Scopes, first: int, last: int) -> bool:
    """Could the function be left between the tokens first and last (outside lambdas)?"""
    for i in range(first, last):
        token = scopes.tokens[i]
        if (
            token.text in (b"return", b"throw", b"goto")
            and token.kind is Kind.NAME
            and not _in_lambda(scopes, i, first)
        ):
            return True
    return False


def _in_lambda(scopes: Scopes, index: int, first: int) -> bool:
    return any(b.kind is BlockKind.LAMBDA and b.open >= first for b in scopes.around(index))


def nested_blocks(scopes: Scopes, statement: Statement) -> Iterator[tuple[int, int]]:
    """The token ranges of the braced branches of ``statement``, without the braces."""
    for branch in statement.branches:
        if scopes.tokens[branch[0]].text == b"{":
            yield _inner(scopes, branch)
