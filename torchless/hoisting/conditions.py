"""The condition under which a place in a function is reached."""

from __future__ import annotations

from torchless.facts.typing import postfix_start
from torchless.hoisting.arithmetic import unary
from torchless.hoisting.following import inside
from torchless.hoisting.frames import Frame
from torchless.hoisting.terms import TRUE, Optional, Refused, Scalar, both
from torchless.hoisting.writes import in_lambda
from torchless.rewrites.scopes import Block, BlockKind
from torchless.rewrites.statements import Statement, statements


def condition_at(frame: Frame, index: int, fragile: frozenset[str] = frozenset()) -> Scalar:
    """What the ``if`` statements, conditional expressions and ``value_or`` around the token ``index`` ask for.

    What returns early before it counts where its condition reads a parameter out of ``fragile``. Raises Refused for
    loops, lambdas, && and ||, and what cannot be said.
    """
    scopes, function = frame.file.scopes, frame.function
    assert function is not None
    blocks: list[Block] = []
    for block in scopes.around(index):
        blocks.append(block)
        if block.open == function.open:
            break
    out = TRUE
    offset = scopes.tokens[index].start
    if frame.file.arms.get(index, ()) != frame.file.arms.get(function.open, ()):
        raise Refused("it stands under an #if", offset)
    for block, inner in zip(reversed(blocks), [*reversed(blocks[:-1]), None], strict=True):
        if block.kind is BlockKind.LAMBDA:
            raise Refused("it stands in a lambda", offset)
        if block.kind is BlockKind.INITIALIZER:
            if any(t.text == b";" for t in scopes.tokens[block.open : block.close]):
                raise Refused("it stands in a macro or a lambda", offset)
            break
        for statement in statements(scopes, block.open + 1, block.close - 1):
            if statement.last < index and fragile:
                out = both(out, _unless_left(frame, statement, fragile, offset))
            if statement.first <= index <= statement.last:
                within = inner is not None and inner.kind is not BlockKind.INITIALIZER
                out = both(out, _in_statement(frame, statement, index, within=within))
    return out


def _unless_left(frame: Frame, statement: Statement, fragile: frozenset[str], offset: int) -> Scalar:
    """What has to hold for ``statement`` not to return, as far as ``fragile`` parameters have a say in it."""
    scopes = frame.file.scopes
    tokens = scopes.tokens
    returns = [
        i
        for i in range(statement.first, statement.last + 1)
        if tokens[i].text == b"return" and not in_lambda(scopes, i, statement.first)
    ]
    if not returns:
        return TRUE
    ends = []
    for branch in statement.branches if statement.word == "if" else ():
        found = statements(scopes, *inside(tokens, branch))
        ends.append(bool(found) and found[-1].word == "return")
        if ends[-1]:
            returns = [i for i in returns if i != found[-1].first]
    if returns or not any(ends):
        raise Refused("it may raise where the function returns before it, which is not followed", offset)
    condition = frame.condition(statement.condition + 1, scopes.pair[statement.condition] - 1)
    if not condition.uses.parameters & fragile:
        return TRUE
    if all(ends) and len(ends) == 2:
        raise Refused("it is never reached", offset)
    return unary("!", condition, offset) if ends[0] else condition


def _in_statement(frame: Frame, statement: Statement, index: int, *, within: bool) -> Scalar:
    """The condition that ``statement`` puts on ``index``; ``within``: blocks within it are looked at apart."""
    scopes = frame.file.scopes
    offset = scopes.tokens[index].start
    for number, branch in enumerate(statement.branches):
        if not branch[0] <= index <= branch[1]:
            continue
        if statement.word in ("for", "while", "do", "switch"):
            raise Refused(f"it stands in a {statement.word}", offset)
        out = TRUE
        if statement.word == "if":
            out = frame.condition(statement.condition + 1, scopes.pair[statement.condition] - 1)
            out = unary("!", out, offset) if number else out
        if scopes.tokens[branch[0]].text != b"{":
            for inner in statements(scopes, *branch):
                if inner.first <= index <= inner.last:
                    out = both(out, _in_statement(frame, inner, index, within=within))
        return out
    if not within:
        return _in_expression(frame, statement, index)
    if statement.word != "try":
        raise Refused("it stands in a macro or a lambda", offset)
    return TRUE


def _in_expression(frame: Frame, statement: Statement, index: int) -> Scalar:
    """What the ? and the value_or around ``index`` within an expression ask for."""
    scopes, out = frame.file.scopes, TRUE
    tokens = scopes.tokens
    offset = tokens[index].start
    at = index
    while True:
        opener = scopes.enclosing(at)
        first = opener + 1 if opener > statement.first else statement.first
        out = both(_before(frame, first, at, offset), out)
        if opener <= statement.first:
            return out
        if tokens[opener].text == b"(" and tokens[opener - 1].text == b"value_or":
            holder = frame.evaluate(postfix_start(frame.file.view, opener - 3), opener - 3)
            if not isinstance(holder, Optional):
                raise Refused("what it is the alternative of is not known", offset)
            out = both(unary("!", holder.present, offset), out)
        at = opener


def _before(frame: Frame, first: int, at: int, offset: int) -> Scalar:
    """What the operators between ``first`` and ``at`` (one level of brackets) ask for so that ``at`` is evaluated."""
    scopes, out = frame.file.scopes, TRUE
    tokens, pair = scopes.tokens, scopes.pair
    arms = 0  # how many : wait for their ?
    i = at - 1
    while i >= first:
        text = tokens[i].text
        if text in (b")", b"]", b"}") and i in pair:
            i = pair[i]
        elif text in (b"&&", b"||"):
            raise Refused(f"it stands behind {text.decode()}", offset)
        elif text == b":":
            arms += 1
        elif text == b"?":
            condition = frame.condition(_start(frame, i - 1, first), i - 1)
            out = both(unary("!", condition, offset) if arms else condition, out)
            arms = max(arms - 1, 0)
        elif text in (b",", b"=", b"return"):
            break
        i -= 1
    return out


def _start(frame: Frame, last: int, first: int) -> int:
    """Index where the condition of a ? that ends at ``last`` starts: behind a ?, a :, a comma, an = or a return."""
    tokens, pair = frame.file.tokens, frame.file.scopes.pair
    i = last
    while i >= first:
        text = tokens[i].text
        if text in (b")", b"]", b"}") and i in pair:
            i = pair[i]
        elif text in (b"?", b":", b",", b"=", b"return"):
            return i + 1
        i -= 1
    return first
