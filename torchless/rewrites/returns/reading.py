"""The functions of a file that return tensors, and what their return statements say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView
from torchless.rewrites.heads import Parameter, function_name, parameters, split_arguments
from torchless.rewrites.scopes import Block, BlockKind, Scopes, statement_start
from torchless.rewrites.tensor_types import Role, TensorUse, qualified_first, tensor_uses
from torchless.text.lexer import Kind, Token, match_angle

Key = tuple[str, int]  # qualified name and number of parameters


TENSOR_LIST = "tensor_list"


class Shape(str, Enum):
    """What a function's result is made of."""

    NONE = "none"  # no tensor
    TENSOR = "tensor"
    TUPLE = "tuple"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Returning:
    """A return statement by token index: its keyword, its expression first..last, and its semicolon."""

    keyword: int
    first: int
    last: int
    end: int


@dataclass(frozen=True, slots=True)
class Giver:
    """A declaration or definition of a function that returns tensors by value, or works on tensors.

    ``type_first``..``type_last`` is its return type (-1 where that is no tensor), ``opener`` the ( of its parameters.
    ``tensors`` tells of each parameter whether it is a tensor ("tensor"), an optional one ("optional_tensor"), a vector
    of tensors ("tensor_list") or neither (""). ``body`` is None for a declaration, and then ``returns`` is empty.
    """

    path: str
    fact: FunctionFact
    shape: Shape
    type_first: int
    type_last: int
    opener: int
    parameters: tuple[Parameter, ...]
    tensors: tuple[str, ...]
    body: Block | None = None
    returns: tuple[Returning, ...] = ()

    @property
    def key(self) -> Key:
        """What its declarations and its definition have in common."""
        return self.fact.name, len(self.parameters)


@dataclass(frozen=True, slots=True)
class Reading:
    """A file with its scopes and its functions that have to do with tensors."""

    view: FileView
    scopes: Scopes
    givers: tuple[Giver, ...]


_SHAPES = {b"vector": Shape.LIST, b"tuple": Shape.TUPLE}


def givers_of(view: FileView, scopes: Scopes) -> list[Giver]:
    """Every function of ``view`` that takes tensors, or returns one, a tuple or a vector of them, in file order."""
    uses = tensor_uses(view, scopes)
    types = {last: (first, shape) for first, last, shape in _result_types(view, uses)}
    bodies = {b.params: b for b in scopes.blocks if b.params >= 0 and b.kind is BlockKind.FUNCTION}
    kinds: dict[int, dict[int, str]] = {}
    for use in uses:
        if use.role is Role.PARAMETER and use.sign != "*":
            kinds.setdefault(use.parameters, {})[use.name] = "tensor" if use.optional is None else "optional_tensor"
    listed = [u.first for u in uses if u.role is Role.LIST and view.tokens[u.container].text == b"vector"]
    out: dict[int, Giver] = {}
    for fact in view.functions:
        name = view.index_at.get(fact.name_start, -1)
        if name < 0 or fact.name_start in out or fact.path not in ("", view.source.path):
            continue
        last = scopes.previous(qualified_first(view.tokens, name))
        opener = name + 1
        if view.tokens[opener].text == b"<":  # a specialisation
            opener = match_angle(view.tokens, opener) + 1
        if opener not in scopes.pair or view.tokens[opener].text != b"(":
            continue
        first, shape = types.get(last, (-1, Shape.NONE))
        lists = [i for i in listed if opener < i < scopes.pair[opener]]
        if shape is Shape.NONE and opener not in kinds and not lists:
            continue
        last = last if first >= 0 else -1
        found = tuple(parameters(scopes, opener))
        for parameter in found:
            if any(parameter.first <= i <= parameter.last for i in lists):
                kinds.setdefault(opener, {})[parameter.name] = TENSOR_LIST
        tensors = tuple(kinds.get(opener, {}).get(p.name, "") if p.name >= 0 else "" for p in found)
        body = bodies.get(opener)
        returns = returns_of(scopes, body) if body is not None else ()
        path = view.source.path
        out[fact.name_start] = Giver(path, fact, shape, first, last, opener, found, tensors, body, tuple(returns))
    return [out[start] for start in sorted(out)]


def instantiations_of(view: FileView, scopes: Scopes) -> Iterator[tuple[TensorUse, int, int]]:
    """The tensor results of explicit instantiations, ``template torch::Tensor f<int>(torch::Tensor&);``.

    Each with the token index of the function's name and of the ( of its parameters.
    """
    tokens = view.tokens
    for use in tensor_uses(view, scopes):
        if use.role is not Role.RETURN or use.sign or use.optional is not None or use.keeps or use.name < 0:
            continue
        start = statement_start(scopes, use.first)
        if tokens[start].text not in (b"template", b"extern") or tokens[start + 1].text == b"<":
            continue
        opener = use.name + 1
        while tokens[opener].text in (b"::", b"<") and opener + 1 < len(tokens):
            opener = opener + 2 if tokens[opener].text == b"::" else match_angle(tokens, opener) + 1
        if tokens[opener].text == b"(" and opener in scopes.pair:
            name = function_name(scopes, opener)
            if name > 0:
                yield use, name, opener


def _result_types(view: FileView, uses: Sequence[TensorUse]) -> Iterator[tuple[int, int, Shape]]:
    """First and last token of everything that spells a tensor, or a tuple or vector of nothing but tensors."""
    tokens = view.tokens
    by_container: dict[int, list[TensorUse]] = {}
    for use in uses:
        if use.role is Role.RETURN and not use.sign and use.optional is None:
            if use.const_before < 0 and use.const_after < 0:
                yield use.outer_first, use.outer_last, Shape.TENSOR
        elif use.role is Role.LIST:
            by_container.setdefault(use.container, []).append(use)
    for container, inside in by_container.items():
        shape = _SHAPES.get(tokens[container].text)
        close = match_angle(tokens, container + 1)
        if shape is None or close < 0 or any(u.optional is not None or u.sign for u in inside):
            continue
        spelled = {i for u in inside for i in range(u.first, u.last + 1)}
        rest = [i for i in range(container + 2, close) if i not in spelled and tokens[i].text != b","]
        if not rest:
            yield qualified_first(tokens, container), close, shape


def returns_of(scopes: Scopes, body: Block) -> list[Returning]:
    """The return statements of a function's own body; those of lambdas and classes inside it are theirs."""
    tokens = scopes.tokens
    out = []
    for i in range(body.open + 1, body.close):
        if tokens[i].text != b"return" or tokens[i].kind is not Kind.NAME or tokens[i].directive:
            continue
        if scopes.function_of(i) is not body or _in_lambda(scopes, i, body):
            continue
        end = _semicolon(scopes, i, body.close)
        if end > 0:
            out.append(Returning(i, i + 1, end - 1, end))
    return out


def _in_lambda(scopes: Scopes, index: int, body: Block) -> bool:
    for block in scopes.around(index):
        if block is body:
            return False
        if block.kind in (BlockKind.LAMBDA, BlockKind.CLASS, BlockKind.FUNCTION):
            return True
    return False


def _semicolon(scopes: Scopes, start: int, limit: int) -> int:
    i = start
    while i < limit:
        if scopes.tokens[i].text == b";":
            return i
        i = scopes.pair.get(i, i) + 1 if scopes.tokens[i].text in (b"(", b"[", b"{") else i + 1
    return -1


def elements(scopes: Scopes, first: int, last: int) -> list[tuple[int, int]] | None:
    """The parts of ``{a, b}``, ``std::make_tuple(a, b)`` or ``std::vector<T>{a, b}``; None for anything else."""
    tokens = scopes.tokens
    opener = scopes.pair.get(last, -1)
    if opener < first or tokens[last].text not in (b"}", b")"):
        return None
    if opener == first:
        return split_arguments(scopes, opener) if tokens[opener].text == b"{" else None
    name = opener - 1
    if tokens[name].text == b">":
        name = next((i for i in range(name, first, -1) if match_angle(tokens, i) == opener - 1), first) - 1
    makers = (b"make_tuple", b"tuple", b"vector", b"tie", b"forward_as_tuple")
    if name < first or qualified_first(tokens, name) != first or tokens[name].text not in makers:
        return None
    return split_arguments(scopes, opener)


def name_of(giver: Giver, tokens: Sequence[Token], position: int) -> str:
    """The name of a parameter as this declaration or definition spells it, "" when it has none."""
    index = giver.parameters[position].name
    return tokens[index].text.decode("latin-1") if index >= 0 else ""


def positions(giver: Giver, tokens: Sequence[Token]) -> Mapping[str, int]:
    """Parameter name -> its position."""
    return {name_of(giver, tokens, i): i for i in range(len(giver.parameters)) if giver.parameters[i].name >= 0}


PLACE = re.compile(r"\b_arg(\d+)_\b")
"""What stands in Python for the parameter at a position, until it is known what Python calls it."""


def placeholder(position: int) -> str:
    """What stands for the parameter at ``position``."""
    return f"_arg{position}_"


def placeholders(giver: Giver, tokens: Sequence[Token]) -> dict[str, str]:
    """Parameter name -> what stands for it."""
    return {name: placeholder(i) for name, i in positions(giver, tokens).items()}


def in_own_names(giver: Giver, tokens: Sequence[Token], text: str) -> str:
    """``text`` with the parameters' names in C++ in the place of what stands for them."""
    return PLACE.sub(lambda found: name_of(giver, tokens, int(found[1])) or found[0], text)
