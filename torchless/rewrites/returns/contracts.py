"""What each function gives back and what Python makes for it, decided over all files.

A function may hand on what another one gives it, and pass on what Python makes for another one, so the answers are
found in rounds, from the functions that call none of the others to those that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from torchless.hoisting import factories
from torchless.hoisting.allocation import Source
from torchless.model import Edit
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.answers import Scope, fallback_of, gives_of
from torchless.rewrites.returns.dtype_numbers import dtypes_again, numbered
from torchless.rewrites.returns.falling_back import Fallback, Site, body_edits, sites_of
from torchless.rewrites.returns.groups import grouped, names_changing, with_callers
from torchless.rewrites.returns.lifted import Added, CannotLift, Fill, Lifted
from torchless.rewrites.returns.lifting import lift
from torchless.rewrites.returns.lists import addressed
from torchless.rewrites.returns.model import (
    Answer,
    Contract,
    Contracts,
    State,
    Surroundings,
    last_name,
    may_be,
    means_itself,
)
from torchless.rewrites.returns.passing_on import PassedOn, calls_of, pass_on
from torchless.rewrites.returns.philox import Philox, lift_generator, takes_generator
from torchless.rewrites.returns.reading import TENSOR_LIST, Giver, Key, Reading, Shape, positions
from torchless.rewrites.returns.undefined import asked

Place = tuple[str, int]  # of a definition: its file, and the byte offset where it starts
_FACTORIES = {name.encode() for name in factories.FRESH | factories.LIKE | factories.FOREIGN | factories.MEMBERS}
_PENDING = "it hands on what a function gives that this tool cannot follow"
_UNCALLED = "nothing that Python calls would pass what it allocates"


def settle_all(
    readings: Sequence[Reading],
    libraries: Mapping[str, Sequence[str]],
    closures: Mapping[str, Collection[str]],
    around: Callable[[Collection[str]], Surroundings],
) -> dict[str, Contracts]:
    """The contracts that hold in each file of ``readings``, by path: decided among the files that can call one another.

    ``libraries`` are the sources of each module, ``closures`` the files that a source reads, ``around`` tells of some
    modules what they ask for.
    """
    source = around(()).source
    changing = names_changing(readings, lambda reading, giver: _may_change(reading, giver, source))
    linked = [sources for sources in libraries.values() if sources]
    while True:
        out: dict[str, Contracts] = {}
        for group in grouped(readings, linked, closures, changing):
            paths = {reading.view.source.path for reading in group}
            modules = [name for name, sources in libraries.items() if not paths.isdisjoint(sources)]
            out.update(dict.fromkeys(paths, settle(group, around(modules))))
        more = {last_name(key) for contracts in out.values() for key in contracts.by_key} - changing
        if not more:
            return out
        changing |= more  # a header that only declares them has to belong to the group


def settle(readings: Sequence[Reading], around: Surroundings) -> Contracts:
    """Decide for every function of ``readings`` what it gives back and what Python makes for it."""
    definitions: dict[Key, list[tuple[Reading, Giver]]] = {}
    for reading in readings:
        for giver in reading.givers:
            if giver.body is not None:
                definitions.setdefault(giver.key, []).append((reading, giver))
    lifted, sites, stuck = _lift_all(definitions, around)
    philox, more_stuck = _generators(definitions, around)
    stuck = {**stuck, **more_stuck}
    banned: dict[Key, str] = {}
    while True:
        state = _rounds(readings, definitions, (lifted, sites, philox), {**stuck, **banned}, around)
        more = {key: reason for key, reason in _unreached(state, readings) if key not in banned}
        if not more:
            return state.contracts
        banned.update(more)


def _lift_all(
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]], around: Surroundings
) -> tuple[dict[tuple[str, int], Lifted], dict[tuple[str, int], Sequence[Site]], dict[Key, str]]:
    lifted: dict[tuple[str, int], Lifted] = {}
    sites: dict[tuple[str, int], Sequence[Site]] = {}
    stuck: dict[Key, str] = {}
    for key, found in definitions.items():
        for reading, giver in found:
            place = (giver.path, giver.fact.start)
            found_sites = sites_of(reading, giver, lambda reading=reading: around.source(reading))  # type: ignore[misc]
            if found_sites:
                sites[place] = found_sites
            if not _may_allocate(reading, giver):
                continue
            try:
                placeholders = around.placeholders(reading)
                result = lift(reading, giver, around.source(reading), placeholders, bool(found_sites))
            except CannotLift as reason:
                stuck[key] = str(reason)
                continue
            if result is not None and result.queries and last_name(key) not in around.bound:
                stuck[key] = "how much it needs only C++ knows, and Python does not call it"
            elif result is not None:
                lifted[place] = result
    return lifted, sites, stuck


def _generators(
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]], around: Surroundings
) -> tuple[dict[Place, tuple[Philox, tuple[Edit, ...]]], dict[Key, str]]:
    """The launchers that take a generator and can take a seed and an offset, and why others cannot."""
    philox: dict[Place, tuple[Philox, tuple[Edit, ...]]] = {}
    stuck: dict[Key, str] = {}
    for key, found in definitions.items():
        for reading, giver in found:
            if takes_generator(reading, giver) < 0:
                continue
            try:
                result = lift_generator(reading, giver, around.source(reading))
            except CannotLift as reason:
                stuck[key] = str(reason)
                continue
            if result is not None and len(found) == 1 and last_name(key) in around.bound:
                philox[(giver.path, giver.fact.start)] = result
            else:
                stuck[key] = "Python does not call it, so it cannot pass a seed"
    return philox, stuck


def _may_change(reading: Reading, giver: Giver, source: Callable[[Reading], Source]) -> bool:
    if giver.body is None:
        return False
    allocates = _may_allocate(reading, giver) or takes_generator(reading, giver) >= 0
    return allocates or _asks_for_more(reading, giver) or bool(sites_of(reading, giver, lambda: source(reading)))


def _may_allocate(reading: Reading, giver: Giver) -> bool:
    assert giver.body is not None
    words = (t.text for t in reading.view.tokens[giver.body.open + 1 : giver.body.close])
    return any(word in _FACTORIES or word == b"item" for word in words)


def _rounds(
    readings: Iterable[Reading],
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]],
    found: tuple[
        Mapping[Place, Lifted], Mapping[Place, Sequence[Site]], Mapping[Place, tuple[Philox, tuple[Edit, ...]]]
    ],
    refused: Mapping[Key, str],
    around: Surroundings,
) -> State:
    lifted, sites, philox = found
    declared = {g.key for r in readings for g in r.givers if g.shape is not Shape.NONE}
    state = State(definitions, lifted, sites, around, _adding(definitions, {*lifted, *sites}))
    state.philox = philox
    state.first_defaults = _first_defaults(readings)
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
    definitions: Mapping[Key, Sequence[tuple[Reading, Giver]]], changing: Collection[tuple[str, int]]
) -> frozenset[str]:
    """The names of the functions at the places ``changing``, and of those that call them, over any number of steps."""
    places = {key: {(g.path, g.fact.start) for _, g in found} for key, found in definitions.items()}
    names = {last_name(key) for key, found in places.items() if not found.isdisjoint(changing)}
    return with_callers(names, [pair for found in definitions.values() for pair in found])


def _concerns(state: State, key: Key) -> bool:
    """Whether there is anything to decide about ``key``: it returns tensors, allocates, or calls what allocates."""
    found = state.definitions[key]
    return any(
        giver.shape is not Shape.NONE
        or (giver.path, giver.fact.start) in state.lifted
        or (giver.path, giver.fact.start) in state.sites
        or (giver.path, giver.fact.start) in state.philox
        or (last_name(key) in state.around.bound and _asks_for_more(reading, giver))
        or any(True for _ in calls_of(reading, giver, state.adding))
        for reading, giver in found
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """What one definition says about its function: the fields of a Contract that all definitions must agree on."""

    gives: Answer
    added: tuple[Added, ...]
    fills: tuple[Fill, ...]
    twin: bool
    fallback: Fallback | None
    addresses: tuple[int, ...]
    numbers: tuple[tuple[int, bool], ...]
    undefined: tuple[int, ...]

    @property
    def changes(self) -> bool:
        """Whether the function's head changes."""
        own = self.addresses or self.numbers or self.undefined
        return bool(self.added or self.fills or self.fallback or own)


def _asks_for_more(reading: Reading, giver: Giver) -> bool:
    return TENSOR_LIST in giver.tensors or bool(numbered(reading, giver) or asked(reading, giver))


def _decide(state: State, key: Key) -> bool:
    """Settle ``key`` if all that it calls is settled; False where something is not."""
    told: list[_Told] = []
    edits: dict[Place, tuple[Edit, ...]] = {}
    shape = state.definitions[key][0][1].shape
    for reading, giver in state.definitions[key]:
        place = (giver.path, giver.fact.start)
        own = state.lifted.get(place, Lifted())
        passed = _passed_on(state, reading, giver, own)
        if passed is None:
            return False
        found = passed if isinstance(passed, str) else _tell(Scope(state, reading, giver, own, passed), shape)
        if found is None:
            return False
        if isinstance(found, str):
            state.refused[key] = found
            return True
        told.append(found[0])
        edits[place] = found[1]
    first = told[0]
    if any(other != first for other in told):
        state.refused[key] = "its definitions give different things back"
    elif first.changes or edits.keys() & state.philox.keys() or shape is not Shape.NONE:
        at = state.first_defaults.get(key, key[1])
        asked = [state.lifted[place].queries for place in edits if place in state.lifted]
        queries = asked[0] if asked else ()
        generators = [state.philox[place] for place in edits if place in state.philox]
        philox = generators[0][0] if generators else None
        if philox is not None:
            queries = (*queries, philox.query)
            edits = {place: (*found, *state.philox[place][1]) for place, found in edits.items()}
        state.known[key] = Contract(
            key,
            shape,
            first.gives,
            first.added,
            first.fills,
            at,
            first.twin,
            first.fallback,
            queries,
            first.addresses,
            philox,
            first.numbers,
            first.undefined,
        )
        state.edits.update(edits)
    return True


def _tell(scope: Scope, shape: Shape) -> tuple[_Told, tuple[Edit, ...]] | str | None:
    """What a definition says and the edits of its body; why it cannot change; None to be asked again later."""
    state, reading, giver = scope.state, scope.reading, scope.giver
    gives = () if shape is Shape.NONE else gives_of(scope)
    if gives is None or isinstance(gives, str):
        return gives
    fallback = fallback_of(scope)
    if isinstance(fallback, str):
        return fallback
    if fallback is not None and shape is Shape.NONE and giver.fact.returns_spelled not in ("void", ""):
        return "it leaves some of its work to torch, and gives something else back"
    lists = addressed(reading, giver)
    if isinstance(lists, str):
        return lists
    is_bound = last_name(giver.key) in state.around.bound
    numbers = tuple((n.position, n.optional) for n in numbered(reading, giver)) if is_bound else ()
    again = dtypes_again(reading, giver) if numbers else []
    if isinstance(again, str):
        return again
    added = (*scope.own.added, *scope.passed.added)
    twin = _is_twin(state, reading, giver, scope.own)
    sites = state.sites.get((giver.path, giver.fact.start), ())
    edits = (*scope.own.edits, *scope.passed.edits, *lists.edits, *again)
    edits = (*edits, *(body_edits(reading, giver, sites) if sites else ()))
    absent = asked(reading, giver) if is_bound else ()
    return _Told(gives, added, scope.own.fills, twin, fallback, lists.positions, numbers, absent), edits


def _passed_on(state: State, reading: Reading, giver: Giver, own: Lifted) -> PassedOn | str | None:
    """What calls inside the definition need; None while a function that it calls is not settled."""
    needs: dict[int, Contract] = {}
    for name, opener in calls_of(reading, giver, state.adding):
        arguments = split_arguments(reading.scopes, opener)
        if means_itself(giver, name, len(arguments)):
            continue
        contract = state.contracts.of(name, len(arguments))
        if contract is None:
            open_keys = [k for k in state.definitions if may_be(k, name, len(arguments))]
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


def _first_defaults(readings: Iterable[Reading]) -> dict[Key, int]:
    """Where the parameters with defaults start, over all declarations and definitions of each function."""
    out: dict[Key, int] = {}
    for giver in (giver for reading in readings for giver in reading.givers):
        first = next((i for i, p in enumerate(giver.parameters) if p.default_first >= 0), len(giver.parameters))
        out[giver.key] = min(first, out.get(giver.key, first))
    return out


def _is_twin(state: State, reading: Reading, giver: Giver, own: Lifted) -> bool:
    """Whether the function only allocates its result and calls another one of its name with it in front.

    That other function is then what is left of the two.
    """
    twin = (giver.key[0], giver.key[1] + 1)
    if twin not in state.definitions or len(own.added) != 1 or own.fills or not own.added[0].output:
        return False
    tokens = reading.view.tokens
    assert giver.body is not None
    names = [own.added[0].name, *positions(giver, tokens)]
    call = [last_name(giver.key), "(", *[w for n in names for w in (n, ",")][:-1], ")", ";"]
    rest = ["return", own.added[0].name, ";"]
    texts = [t.text.decode("latin-1") for t in tokens[giver.body.open + 1 : giver.body.close]]
    return texts[-len(call) - len(rest) :] == call + rest


def _required(readings: Iterable[Reading], key: Key) -> int:
    """How many arguments a call of ``key`` has at least."""
    given = [
        sum(p.default_first < 0 for p in giver.parameters)
        for reading in readings
        for giver in reading.givers
        if giver.key == key
    ]
    return min(given, default=0)


def _unreached(state: State, readings: Sequence[Reading]) -> Iterable[tuple[Key, str]]:
    """The functions that need something of Python's and that neither Python calls nor anybody who passes it on."""
    reached = {last_name(key) for key, c in state.known.items() if c.added or c.fills or c.fallback} & set(
        state.around.bound
    )
    inside = {
        (name, giver.path, opener)
        for key in state.known
        for reading, giver in state.definitions[key]
        for name, opener in calls_of(reading, giver, state.adding)
    }
    everywhere = [(r, name, opener) for r in readings for name, opener in calls_of(r, None, state.adding)]
    for key, contract in sorted(state.known.items()):
        if not (contract.added or contract.fills or contract.fallback):
            continue
        name = last_name(key)
        counts = range(_required(readings, key), key[1] + 1)
        calls = [(r, o) for r, n, o in everywhere if n == name and len(split_arguments(r.scopes, o)) in counts]
        strangers = [r for r, o in calls if (name, r.view.source.path, o) not in inside]
        if strangers and not contract.twin:
            yield key, f"{strangers[0].view.source.path} calls it, and would have to pass what it allocates"
        elif name not in reached and not calls:
            yield key, _UNCALLED
