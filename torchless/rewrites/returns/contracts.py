"""What each function gives back and what Python makes for it, decided over all files.

A function may hand on what another one gives it, and pass on what Python makes for another one, so the answers are
found in rounds, from the functions that call none of the others to those that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchless.hoisting import factories
from torchless.hoisting.allocation import Source
from torchless.model import Edit
from torchless.rewrites.heads import function_name, split_arguments
from torchless.rewrites.returns.lifting import Added, CannotLift, Fill, Lifted, lift
from torchless.rewrites.returns.passing_on import PassedOn, calls_of, pass_on
from torchless.rewrites.returns.reading import Giver, Key, Reading, Returning, Shape, elements, positions
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind


@dataclass(frozen=True, slots=True)
class Own:
    """The caller's own argument at ``position`` comes back."""

    position: int


@dataclass(frozen=True, slots=True)
class New:
    """What Python makes for the added parameter ``name`` comes back."""

    name: str


@dataclass(frozen=True, slots=True)
class Contract:
    """What the function ``key`` gives back once it returns nothing: ``gives``, part by part of its result.

    ``added``: the parameters that it gets, ``fills``: the optional ones that Python fills in. ``at`` is the position
    before which scratch goes; outputs go in front of all. ``twin``: a function with just these parameters is there.
    """

    key: Key
    shape: Shape
    gives: tuple[Own | New, ...]
    added: tuple[Added, ...] = ()
    fills: tuple[Fill, ...] = ()
    at: int = 0
    twin: bool = False

    @property
    def outputs(self) -> tuple[Added, ...]:
        """The added parameters that go in front."""
        return tuple(a for a in self.added if a.output)

    @property
    def scratch(self) -> tuple[Added, ...]:
        """The added parameters that go before position ``at``."""
        return tuple(a for a in self.added if not a.output)


@dataclass(frozen=True)
class Contracts:
    """``by_key``: the functions that change. ``refused``: why others that ought to cannot, for people.

    ``edits``: what changes in the body of a definition, by its file and the offset where it starts.
    """

    by_key: Mapping[Key, Contract] = field(default_factory=dict)
    refused: Mapping[Key, str] = field(default_factory=dict)
    edits: Mapping[tuple[str, int], tuple[Edit, ...]] = field(default_factory=dict)

    def of(self, name: str, arguments: int) -> Contract | None:
        """The one contract of the functions that a call of ``name`` (unqualified) with so many arguments may mean."""
        found = {(c.gives, c.added, c.fills): c for k, c in self.by_key.items() if _may_be(k, name, arguments)}
        if len(found) != 1 or any(_may_be(k, name, arguments) for k in self.refused):
            return None
        return next(iter(found.values()))


def _may_be(key: Key, name: str, arguments: int) -> bool:
    return key[0].rsplit("::", 1)[-1] == name and key[1] >= arguments


Answer = tuple[Own | New, ...]
_PENDING = "it hands on what a function gives that this tool cannot follow"
_UNCALLED = "nothing that Python calls would pass what it allocates"


@dataclass(frozen=True)
class Surroundings:
    """``source``: a file as the translation of expressions wants it; ``bound``: names of functions that Python calls.

    ``placeholders``: the byte ranges of a file's tensors without elements, which need no allocation.
    """

    source: Callable[[Reading], Source]
    bound: Collection[str]
    placeholders: Callable[[Reading], Collection[tuple[int, int]]]


@dataclass
class _State:
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]]
    lifted: Mapping[tuple[str, int], Lifted]
    around: Surroundings
    adding: Collection[str]  # unqualified names of functions that may get parameters
    concerned: set[Key] = field(default_factory=set)  # the others are settled: there is nothing to decide
    known: dict[Key, Contract] = field(default_factory=dict)
    refused: dict[Key, str] = field(default_factory=dict)
    edits: dict[tuple[str, int], tuple[Edit, ...]] = field(default_factory=dict)

    @property
    def contracts(self) -> Contracts:
        return Contracts(self.known, self.refused, self.edits)


def settle(readings: Sequence[Reading], around: Surroundings) -> Contracts:
    """Decide for every function of ``readings`` what it gives back and what Python makes for it."""
    definitions: dict[Key, list[tuple[Reading, Giver]]] = {}
    for reading in readings:
        for giver in reading.givers:
            if giver.body is not None:
                definitions.setdefault(giver.key, []).append((reading, giver))
    lifted, stuck = _lift_all(definitions, around)
    banned: dict[Key, str] = {}
    while True:
        state = _rounds(readings, definitions, lifted, {**stuck, **banned}, around)
        more = {key: reason for key, reason in _unreached(state, readings) if key not in banned}
        if not more:
            return state.contracts
        banned.update(more)


def _lift_all(
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]], around: Surroundings
) -> tuple[dict[tuple[str, int], Lifted], dict[Key, str]]:
    lifted: dict[tuple[str, int], Lifted] = {}
    stuck: dict[Key, str] = {}
    for key, found in definitions.items():
        for reading, giver in found:
            if not _may_allocate(reading, giver):
                continue
            try:
                result = lift(reading, giver, around.source(reading), around.placeholders(reading))
            except CannotLift as reason:
                stuck[key] = str(reason)
                continue
            if result is not None:
                lifted[(giver.path, giver.fact.start)] = result
    return lifted, stuck


_FACTORIES = {name.encode() for name in factories.FRESH | factories.LIKE | factories.FOREIGN | factories.MEMBERS}


def _may_allocate(reading: Reading, giver: Giver) -> bool:
    assert giver.body is not None
    return any(t.text in _FACTORIES for t in reading.view.tokens[giver.body.open + 1 : giver.body.close])


def _rounds(
    readings: Iterable[Reading],
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]],
    lifted: Mapping[tuple[str, int], Lifted],
    refused: Mapping[Key, str],
    around: Surroundings,
) -> _State:
    declared = {g.key for r in readings for g in r.givers if g.shape is not Shape.NONE}
    adding = {
        _last(key) for key, found in definitions.items() if any((g.path, g.fact.start) in lifted for _, g in found)
    }
    state = _State(definitions, lifted, around, adding)
    state.refused.update(dict.fromkeys(declared - definitions.keys(), "its definition was not seen"))
    state.refused.update(refused)
    state.concerned = {k for k in definitions if _concerns(state, k)}
    pending = sorted(state.concerned - state.refused.keys())
    while True:
        left = [key for key in pending if not _decide(state, key)]
        if len(left) == len(pending):
            break
        pending = left
    state.refused.update(dict.fromkeys(left, _PENDING))
    return state


def _adding(
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]], lifted: Mapping[tuple[str, int], Lifted]
) -> frozenset[str]:
    """The names of the functions that allocate, and of those that call them, over any number of steps."""
    names = {
        _last(key) for key, found in definitions.items() if any((g.path, g.fact.start) in lifted for _, g in found)
    }
    while True:
        more = {
            _last(key)
            for key, found in definitions.items()
            if _last(key) not in names and any(True for r, g in found for _ in calls_of(r, g, names))
        }
        if not more:
            return frozenset(names)
        names |= more


def _last(key: Key) -> str:
    return key[0].rsplit("::", 1)[-1]


def _concerns(state: _State, key: Key) -> bool:
    """Whether there is anything to decide about ``key``: it returns tensors, allocates, or calls what allocates."""
    found = state.definitions[key]
    return any(
        giver.shape is not Shape.NONE
        or (giver.path, giver.fact.start) in state.lifted
        or any(True for _ in calls_of(reading, giver, state.adding))
        for reading, giver in found
    )


def _decide(state: _State, key: Key) -> bool:
    """Settle ``key`` if all that it calls is settled; False where something is not."""
    answers: list[tuple[Answer, tuple[Added, ...], tuple[Fill, ...], bool]] = []
    edits: dict[tuple[str, int], tuple[Edit, ...]] = {}
    shape = state.definitions[key][0][1].shape
    for reading, giver in state.definitions[key]:
        place = (giver.path, giver.fact.start)
        own = state.lifted.get(place, Lifted())
        passed = _passed_on(state, reading, giver, own)
        if passed is None:
            return False
        if isinstance(passed, str):
            state.refused[key] = passed
            return True
        scope = _Scope(state, reading, giver, own, passed)
        gives = () if shape is Shape.NONE else _gives(scope)
        if gives is None:
            return False
        if isinstance(gives, str):
            state.refused[key] = gives
            return True
        twin = _is_twin(state, reading, giver, own)
        answers.append((gives, (*own.added, *passed.added), own.fills, twin))
        edits[place] = (*own.edits, *passed.edits)
    gives, added, fills, twin = answers[0]
    if any(answer != answers[0] for answer in answers):
        state.refused[key] = "its definitions give different things back"
    elif added or fills or shape is not Shape.NONE:
        state.known[key] = Contract(key, shape, gives, added, fills, _scratch_position(state, key), twin)
        state.edits.update(edits)
    return True


def _passed_on(state: _State, reading: Reading, giver: Giver, own: Lifted) -> PassedOn | str | None:
    """What calls inside the definition need; None while a function that it calls is not settled."""
    needs: dict[int, Contract] = {}
    for name, opener in calls_of(reading, giver, state.adding):
        arguments = split_arguments(reading.scopes, opener)
        if _means_itself(giver, name, len(arguments)):
            continue
        contract = state.contracts.of(name, len(arguments))
        if contract is None:
            open_keys = [k for k in state.definitions if _may_be(k, name, len(arguments))]
            if any(k not in state.refused and k not in state.known and k in state.concerned for k in open_keys):
                return None
            continue
        if contract.added:
            needs[opener] = contract
    taken = {a.name for a in own.added}
    try:
        return pass_on(
            reading,
            giver,
            state.around.source(reading),
            {o: (c.outputs, c.scratch, c.at) for o, c in needs.items()},
            taken,
        )
    except CannotLift as reason:
        return str(reason)


def _means_itself(giver: Giver, name: str, arguments: int) -> bool:
    return _may_be(giver.key, name, arguments) and arguments != giver.key[1]


def _scratch_position(state: _State, key: Key) -> int:
    found = [
        next((i for i, p in enumerate(giver.parameters) if p.default_first >= 0), len(giver.parameters))
        for _, giver in state.definitions[key]
    ]
    return min(found)


def _is_twin(state: _State, reading: Reading, giver: Giver, own: Lifted) -> bool:
    """Whether the function only allocates its result and calls another one of its name with it in front.

    That other function is then what is left of the two.
    """
    twin = (giver.key[0], giver.key[1] + 1)
    if twin not in state.definitions or len(own.added) != 1 or own.fills or not own.added[0].output:
        return False
    tokens = reading.view.tokens
    assert giver.body is not None
    names = [own.added[0].name, *positions(giver, tokens)]
    call = [_last(giver.key), "(", *[w for n in names for w in (n, ",")][:-1], ")", ";"]
    rest = ["return", own.added[0].name, ";"]
    texts = [t.text.decode("latin-1") for t in tokens[giver.body.open + 1 : giver.body.close]]
    return texts[-len(call) - len(rest) :] == call + rest


@dataclass(frozen=True)
class _Scope:
    state: _State
    reading: Reading
    giver: Giver
    own: Lifted
    passed: PassedOn


def _gives(scope: _Scope) -> Answer | str | None:
    answers: list[Answer | str | None] = []
    indirect: list[Returning] = []
    for returning in scope.giver.returns:
        if _through_pointer(scope.reading, returning):
            indirect.append(returning)
        else:
            answers.append(_of_return(scope, returning))
    reasons = [a for a in answers if isinstance(a, str)]
    if reasons:
        return reasons[0]
    told = {a for a in answers if a is not None and not isinstance(a, str)}
    if None in answers:
        return None
    if len(told) > 1:
        return "it returns this argument here and another one there"
    if told:
        (gives,) = told
        if all(_passes(scope, returning, gives) for returning in indirect):
            return gives
    return "it returns what a function gives that is only known at run time" if indirect else "it returns nothing"


def _of_return(scope: _Scope, returning: Returning) -> Answer | str | None:
    parts = None
    if scope.giver.shape is not Shape.TENSOR:
        parts = elements(scope.reading.scopes, returning.first, returning.last)
    if parts is None:
        return _of_expression(scope, returning.first, returning.last)
    out: list[Own | New] = []
    for first, last in parts:
        if first != last:
            return "a part of what it returns is made in the return statement"
        answer = _of_name(scope, scope.reading.view.tokens[first].text.decode("latin-1"))
        if isinstance(answer, str):
            return answer
        out += answer
    return tuple(out)


def _of_expression(scope: _Scope, first: int, last: int) -> Answer | str | None:
    scopes, tokens = scope.reading.scopes, scope.reading.view.tokens
    while first < last and tokens[first].text == b"(" and scopes.pair.get(first) == last:
        first, last = first + 1, last - 1
    if first == last and tokens[first].kind is Kind.NAME:
        return _of_name(scope, tokens[first].text.decode("latin-1"))
    made = [e.new.decode() for e in scope.own.edits if e.start == tokens[first].start and e.end == tokens[last].end]
    if made and made[0] in {a.name for a in scope.own.added}:
        return (New(made[0]),)
    opener = scopes.pair.get(last, -1)
    name = function_name(scopes, opener) if opener > first and tokens[last].text == b")" else -1
    if name < 0 or qualified_first(tokens, name) != first:
        return "what it returns is made in the return statement"
    return _of_call(scope, tokens[name].text.decode("latin-1"), opener)


def _of_name(scope: _Scope, name: str) -> Answer | str:
    value = dict(scope.own.values).get(name)
    if isinstance(value, int):
        return (Own(value),)
    if value is not None:
        return (New(value),)
    position = positions(scope.giver, scope.reading.view.tokens).get(name, -1)
    if position < 0:
        return f"{name} is made inside the function"
    if scope.giver.tensors[position] != "tensor":
        return f"{name} is no tensor parameter"
    if _is_assigned(scope.reading, scope.giver, name.encode("latin-1")):
        return f"{name} is made to stand for another tensor before it is returned"
    return (Own(position),)


def _of_call(scope: _Scope, name: str, opener: int) -> Answer | str | None:
    arguments = split_arguments(scope.reading.scopes, opener)
    contract = scope.state.contracts.of(name, len(arguments))
    if contract is None:
        return None
    renamed = scope.passed.names.get(opener, {})
    out: list[Own | New] = []
    for part in contract.gives:
        if isinstance(part, New):
            out.append(New(renamed.get(part.name, part.name)))
            continue
        if part.position >= len(arguments):
            return f"{name} gives back an argument that is not passed"
        first, last = arguments[part.position]
        if first != last:
            return f"{name} gives back an argument that is made in the call"
        answer = _of_name(scope, scope.reading.view.tokens[first].text.decode("latin-1"))
        if isinstance(answer, str):
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


def _passes(scope: _Scope, returning: Returning, gives: Answer) -> bool:
    """Whether the call that is returned takes, as they are, the arguments that the function gives back elsewhere."""
    tokens = scope.reading.view.tokens
    spans = split_arguments(scope.reading.scopes, scope.reading.scopes.pair[returning.last])
    passed = {tokens[first].text.decode("latin-1") for first, last in spans if first == last}
    names = {i: name for name, i in positions(scope.giver, tokens).items()}
    return all(isinstance(part, Own) and names.get(part.position) in passed for part in gives)


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


def _unreached(state: _State, readings: Iterable[Reading]) -> Iterable[tuple[Key, str]]:
    """The functions that need something of Python's and that neither Python calls nor anybody who passes it on."""
    reached = {_last(key) for key, c in state.known.items() if c.added or c.fills} & set(state.around.bound)
    inside = {
        (name, giver.path, opener)
        for key in state.known
        for reading, giver in state.definitions[key]
        for name, opener in calls_of(reading, giver, state.adding)
    }
    everywhere = [(r, name, opener) for r in readings for name, opener in calls_of(r, None, state.adding)]
    for key, contract in sorted(state.known.items()):
        if not (contract.added or contract.fills):
            continue
        name = _last(key)
        calls = [(r, o) for r, n, o in everywhere if n == name and len(split_arguments(r.scopes, o)) <= key[1]]
        strangers = [r for r, o in calls if (name, r.view.source.path, o) not in inside]
        if strangers and not contract.twin:
            yield key, f"{strangers[0].view.source.path} calls it, and would have to pass what it allocates"
        elif name not in reached and not calls:
            yield key, _UNCALLED
