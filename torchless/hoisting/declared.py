"""Which declaration a name in a function means."""

from __future__ import annotations

from dataclasses import dataclass

from torchless.hoisting.definitions import File
from torchless.hoisting.locals import Local, read_locals
from torchless.hoisting.spelling import type_text
from torchless.hoisting.terms import Refused
from torchless.rewrites.heads import Parameter, parameters
from torchless.rewrites.scopes import Block, BlockKind, Scopes
from torchless.rewrites.statements import Statement, statements
from torchless.text.lexer import Kind


@dataclass(frozen=True, slots=True)
class Declared:
    """Where a name is declared: a local of a statement of ``block``, or a parameter of its function (local None).

    ``type`` is the type as spelled, ``index`` the token of the declared name.
    """

    block: Block
    type: str
    index: int
    local: Local | None = None
    statement: Statement | None = None


def find_declared(file: File, function: Block, name: str, index: int) -> Declared | None:
    """The declaration that ``name`` means at the token ``index``; None when it is none of the function's.

    Raises Refused for names that a loop, a condition, a lambda or a local class brings along.
    """
    scopes = file.scopes
    word, offset = name.encode("latin-1"), scopes.tokens[index].start
    for block in scopes.around(index):
        if block.kind is BlockKind.CLASS:
            raise Refused("it stands in a class within the function", offset)
        found = statements(scopes, block.open + 1, block.close - 1)
        for statement in reversed([s for s in found if s.first <= index]):
            for local in reversed(read_locals(scopes, statement.first, statement.last)):
                if local.text == name and (local.end < index or local.name == index):
                    return Declared(block, local.type, local.name, local, statement)
            if statement.last >= index:
                _refuse_head(scopes, statement, word, index)
        if block.kind is BlockKind.LAMBDA:
            _refuse_lambda(scopes, block, word, offset)
        elif block.open == function.open:
            return next((_of_parameter(scopes, block, p) for p in parameters(scopes, block.params)
                         if p.name >= 0 and scopes.tokens[p.name].text == word), None)  # fmt: skip
    return None


def declares(scopes: Scopes, index: int) -> bool:
    """Does the name at ``index`` stand where a declaration has it: behind a type, or in a structured binding?"""
    tokens = scopes.tokens
    before, after = tokens[index - 1], tokens[index + 1].text
    if before.kind is Kind.NAME:
        return before.text not in _NOT_TYPES
    if before.text in (b"[", b","):
        opener = scopes.enclosing(index)
        if opener > 0 and tokens[opener].text == b"[":
            owner = tokens[opener - 1].text
            return owner == b"auto" or (owner in (b"&", b"&&") and tokens[opener - 2].text == b"auto")
        return False
    ahead = before.text in (b"&", b"&&", b"*", b">") and after in (b"=", b":", b"{")
    return ahead and tokens[index - 2].kind is Kind.NAME


_NOT_TYPES = frozenset(
    {b"return", b"case", b"else", b"throw", b"not", b"and", b"or", b"delete", b"new", b"sizeof", b"do", b"goto"}
)


def parameter_type(scopes: Scopes, parameter: Parameter) -> str:
    """The type of a parameter as spelled."""
    end = parameter.default_first - 2 if parameter.default_first >= 0 else parameter.last
    return type_text([scopes.tokens[i] for i in range(parameter.first, end + 1) if i != parameter.name])


def _of_parameter(scopes: Scopes, block: Block, parameter: Parameter) -> Declared:
    return Declared(block, parameter_type(scopes, parameter), parameter.name)


def _refuse_head(scopes: Scopes, statement: Statement, word: bytes, index: int) -> None:
    """Refuse a name that the head of the loop or condition around ``index`` declares."""
    if statement.condition < 0:
        return
    close = scopes.pair.get(statement.condition, statement.condition)
    if close < index or statement.condition < index:
        for i in range(statement.condition + 1, close):
            if scopes.tokens[i].text == word and declares(scopes, i):
                text = word.decode("latin-1")
                raise Refused(f"`{text}` is declared in the head of a {statement.word}", scopes.tokens[index].start)
    for branch in statement.branches:
        if branch[0] <= index <= branch[1] and scopes.tokens[branch[0]].text != b"{":
            for inner in statements(scopes, *branch):
                if inner.first <= index <= inner.last:
                    _refuse_head(scopes, inner, word, index)


def _refuse_lambda(scopes: Scopes, block: Block, word: bytes, offset: int) -> None:
    """Refuse a parameter of the lambda, and what its capture list makes."""
    text = word.decode("latin-1")
    if block.params >= 0:
        for parameter in parameters(scopes, block.params):
            if parameter.name >= 0 and scopes.tokens[parameter.name].text == word:
                raise Refused(f"`{text}` is a parameter of a lambda", offset)
    close = (block.params if block.params >= 0 else block.open) - 1
    for i in range(scopes.pair.get(close, close) + 1, close):
        if scopes.tokens[i].text == word and scopes.tokens[i + 1].text in (b"=", b"{", b"("):
            raise Refused(f"`{text}` is made by the capture list of a lambda", offset)
