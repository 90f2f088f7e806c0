"""What each function that returns tensors gives back, decided over all files.

A function may hand on what another one gives it, so the answers are found in rounds, from the functions that return
their own arguments to those that call them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchless.facts.typing import FileView
from torchless.rewrites.heads import function_name, split_arguments
from torchless.rewrites.returns.reading import Giver, Key, Returning, Shape, elements, positions
from torchless.rewrites.scopes import Scopes
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind


@dataclass(frozen=True, slots=True)
class Own:
    """The caller's own argument at ``position`` comes back."""

    position: int


@dataclass(frozen=True, slots=True)
class Contract:
    """What the function ``key`` gives back once it returns nothing: ``gives``, part by part of its result."""

    key: Key
    shape: Shape
    gives: tuple[Own, ...]


@dataclass(frozen=True)
class Contracts:
    """``by_key``: the functions that can become void. ``refused``: why the others cannot, for people."""

    by_key: Mapping[Key, Contract] = field(default_factory=dict)
    refused: Mapping[Key, str] = field(default_factory=dict)

    def of(self, name: str, arguments: int) -> Contract | None:
        """The one contract of the functions that a call of ``name`` (unqualified) with so many arguments may mean."""
        found = {c.gives: c for k, c in self.by_key.items() if _may_be(k, name, arguments)}
        if len(found) != 1 or any(_may_be(k, name, arguments) for k in self.refused):
            return None
        return next(iter(found.values()))


def _may_be(key: Key, name: str, arguments: int) -> bool:
    return key[0].rsplit("::", 1)[-1] == name and key[1] >= arguments


@dataclass(frozen=True, slots=True)
class Reading:
    """A file with its scopes and what of it returns tensors."""

    view: FileView
    scopes: Scopes
    givers: tuple[Giver, ...]


# What a return statement says: the parts of the result, the reason why it cannot be told, or None: ask again later.
_Answer = tuple[Own, ...] | str | None
_PENDING = "it hands on what a function gives that this tool cannot follow"


def settle(readings: Iterable[Reading]) -> Contracts:
    """Decide for every function of ``readings`` what it gives back."""
    declared: set[Key] = set()
    definitions: dict[Key, list[tuple[Reading, Giver]]] = {}
    for reading in readings:
        for giver in reading.givers:
            declared.add(giver.key)
            if giver.body is not None:
                definitions.setdefault(giver.key, []).append((reading, giver))
    known: dict[Key, Contract] = {}
    refused = dict.fromkeys(declared - definitions.keys(), "its definition was not seen")
    while True:
        contracts = Contracts(known, refused)
        before = len(known) + len(refused)
        for key in sorted(definitions.keys() - known.keys() - refused.keys()):
            answers = {_of_definition(reading, giver, contracts) for reading, giver in definitions[key]}
            reasons = sorted(a for a in answers if isinstance(a, str))
            if reasons:
                refused[key] = reasons[0]
            elif None not in answers and len(answers) == 1:
                (gives,) = answers
                assert gives is not None and not isinstance(gives, str)
                known[key] = Contract(key, definitions[key][0][1].shape, gives)
            elif len(answers - {None}) > 1:
                refused[key] = "its definitions give different things back"
        if len(known) + len(refused) == before:
            break
    refused.update(dict.fromkeys(definitions.keys() - known.keys() - refused.keys(), _PENDING))
    return Contracts(known, refused)


def _of_definition(reading: Reading, giver: Giver, contracts: Contracts) -> _Answer:
    answers: list[_Answer] = []
    indirect: list[Returning] = []
    for returning in giver.returns:
        if _through_pointer(reading, returning):
            indirect.append(returning)
        else:
            answers.append(_of_return(reading, giver, returning, contracts))
    reasons = [a for a in answers if isinstance(a, str)]
    if reasons:
        return reasons[0]
    if None in answers:
        return None
    told = set(answers)
    if len(told) > 1:
        return "it returns this argument here and another one there"
    if not told:
        return "it returns what a function gives that is only known at run time" if indirect else "it returns nothing"
    (gives,) = told
    assert gives is not None and not isinstance(gives, str)
    if all(_passes(reading, giver, returning, gives) for returning in indirect):
        return gives
    return "it returns what a function gives that is only known at run time"


def _of_return(reading: Reading, giver: Giver, returning: Returning, contracts: Contracts) -> _Answer:
    if giver.shape is Shape.TENSOR:
        return _of_expression(reading, giver, returning.first, returning.last, contracts)
    parts = elements(reading.scopes, returning.first, returning.last)
    if parts is None:
        return _of_expression(reading, giver, returning.first, returning.last, contracts)
    out: list[Own] = []
    for first, last in parts:
        if first != last:
            return "a part of what it returns is made in the return statement"
        answer = _of_name(reading, giver, reading.view.tokens[first].text.decode("latin-1"))
        if answer is None or isinstance(answer, str):
            return answer
        out += answer
    return tuple(out)


def _of_expression(reading: Reading, giver: Giver, first: int, last: int, contracts: Contracts) -> _Answer:
    scopes, tokens = reading.scopes, reading.view.tokens
    while first < last and tokens[first].text == b"(" and scopes.pair.get(first) == last:
        first, last = first + 1, last - 1
    if first == last and tokens[first].kind is Kind.NAME:
        return _of_name(reading, giver, tokens[first].text.decode("latin-1"))
    opener = scopes.pair.get(last, -1)
    if opener <= first or tokens[last].text != b")":
        return "what it returns is made in the return statement"
    name = function_name(scopes, opener)
    if name < 0 or qualified_first(tokens, name) != first:
        return "what it returns is made in the return statement"
    return _of_call(reading, giver, tokens[name].text.decode("latin-1"), opener, contracts)


def _of_name(reading: Reading, giver: Giver, name: str) -> _Answer:
    position = positions(giver, reading.view.tokens).get(name, -1)
    if position < 0:
        return f"{name} is made inside the function"
    if giver.tensors[position] != "tensor":
        return f"{name} is no tensor parameter"
    if _is_assigned(reading, giver, name.encode("latin-1")):
        return f"{name} is made to stand for another tensor before it is returned"
    return (Own(position),)


def _of_call(reading: Reading, giver: Giver, name: str, opener: int, contracts: Contracts) -> _Answer:
    arguments = split_arguments(reading.scopes, opener)
    contract = contracts.of(name, len(arguments))
    if contract is None:
        return None
    out: list[Own] = []
    for part in contract.gives:
        if part.position >= len(arguments):
            return f"{name} gives back an argument that is not passed"
        first, last = arguments[part.position]
        if first != last:
            return f"{name} gives back an argument that is made in the call"
        answer = _of_name(reading, giver, reading.view.tokens[first].text.decode("latin-1"))
        if answer is None or isinstance(answer, str):
            return answer
        out += answer
    return tuple(out)


def _through_pointer(reading: Reading, returning: Returning) -> bool:
    """Whether the statement returns what ``f(x)(y)``, ``it->second(y)`` or ``(*f)(y)`` gives."""
    tokens = reading.view.tokens
    opener = reading.scopes.pair.get(returning.last, -1)
    if opener <= returning.first or tokens[returning.last].text != b")":
        return False
    before = tokens[opener - 1].text
    if before == b")":
        return True
    return opener - 2 > returning.first and tokens[opener - 2].text in (b".", b"->") and before in (b"second", b"value")


def _passes(reading: Reading, giver: Giver, returning: Returning, gives: Sequence[Own]) -> bool:
    """Whether the call that is returned takes, as they are, the arguments that the function gives back elsewhere."""
    tokens = reading.view.tokens
    spans = split_arguments(reading.scopes, reading.scopes.pair[returning.last])
    passed = {tokens[first].text.decode("latin-1") for first, last in spans if first == last}
    names = {i: name for name, i in positions(giver, tokens).items()}
    return all(names.get(part.position) in passed for part in gives)


def _is_assigned(reading: Reading, giver: Giver, name: bytes) -> bool:
    """Whether the body makes the parameter ``name`` stand for another tensor."""
    tokens = reading.view.tokens
    assert giver.body is not None
    for i in range(giver.body.open + 1, giver.body.close):
        if tokens[i].text != name or tokens[i].kind is not Kind.NAME or tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        if tokens[i + 1].text == b"=":
            return True
        if tokens[i + 1].text == b"." and tokens[i + 2].text in (b"swap", b"reset", b"set_", b"set_data"):
            return True
    return False
