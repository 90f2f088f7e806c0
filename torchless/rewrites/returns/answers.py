"""What a definition gives back, read off its return statements, and what it leaves to torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchless.rewrites.heads import function_name, split_arguments
from torchless.rewrites.returns.falling_back import Fallback, only_returns
from torchless.rewrites.returns.lifted import CannotLift, Expression, Lifted
from torchless.rewrites.returns.model import Answer, New, Own, State, means_itself
from torchless.rewrites.returns.passing_on import PassedOn, calls_of, given, put, template_arguments
from torchless.rewrites.returns.reading import PLACE, Giver, Reading, Returning, Shape, elements, positions
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind


@dataclass(frozen=True)
class Scope:
    """A definition, with what leaves it and what it gets for the sake of those that it calls."""

    state: State
    reading: Reading
    giver: Giver
    own: Lifted
    passed: PassedOn


def gives_of(scope: Scope) -> Answer | str | None:
    """The parts of what the definition gives back; why they cannot be told; None to be asked again later."""
    answers: list[Answer | str | None] = []
    indirect: list[Returning] = []
    sites = {s.first for s in scope.state.sites.get((scope.giver.path, scope.giver.fact.start), ())}
    for returning in scope.giver.returns:
        if returning.keyword in sites:
            continue
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


def fallback_of(scope: Scope) -> Fallback | str | None:
    """What Python does where the function does nothing: its own answer, or that of the function it returns."""
    state, reading, giver = scope.state, scope.reading, scope.giver
    found = {site.fallback for site in state.sites.get((giver.path, giver.fact.start), ())}
    for name, opener in calls_of(reading, giver, state.adding):
        arguments = split_arguments(reading.scopes, opener)
        contract = state.contracts.of(name, len(arguments))
        if contract is None or contract.fallback is None or means_itself(giver, name, len(arguments)):
            continue
        if not any(r.first <= opener and reading.scopes.pair[opener] == r.last for r in giver.returns):
            return f"{name} may leave the work to torch, and its caller goes on"
        try:
            inner = contract.fallback
            value = put(inner.value, given(reading, giver, arguments))
        except CannotLift as reason:
            return str(reason)
        if inner.member:
            told = _of_member(scope, inner, value, opener)
            if isinstance(told, str):
                return told
            value = told
        found.add(Fallback(value))
    if len(found) > 1:
        return "it leaves this to torch here and that there"
    return found.pop() if found else None


def _of_member(scope: Scope, inner: Fallback, arguments: Expression, opener: int) -> Expression | str:
    """What the static function of a template argument makes of ``arguments``."""
    tokens = scope.reading.view.tokens
    spelled = template_arguments(scope.reading, opener)
    if inner.argument >= len(spelled):
        return "which type says what torch does is not written down"
    first, last = spelled[inner.argument]
    owner = "".join(t.text.decode("latin-1") for t in tokens[first : last + 1]).rsplit("::", 1)[-1]
    wanted = f"{owner}::{inner.member}"
    for key, found in scope.state.definitions.items():
        if key[0] != wanted and not key[0].endswith(f"::{wanted}"):
            continue
        for reading, giver in found:
            value = only_returns(reading, giver, lambda reading=reading: scope.state.around.source(reading))  # type: ignore[misc]
            if value is not None:
                scope.state.gone.add((giver.path, giver.fact.start))
                return replace(value, text=_with(value.text, arguments.text.split(", ")))
    return f"what {wanted} does was not seen"


def _with(text: str, arguments: Sequence[str]) -> str:
    return PLACE.sub(lambda match: arguments[int(match.group(1))], text)


def _of_return(scope: Scope, returning: Returning) -> Answer | str | None:
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


def _of_expression(scope: Scope, first: int, last: int) -> Answer | str | None:
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


def _of_name(scope: Scope, name: str) -> Answer | str:
    value = dict(scope.own.values).get(name)
    if isinstance(value, int):
        return (Own(value),)
    if value is not None:
        return (New(value),)
    position = positions(scope.giver, scope.reading.view.tokens).get(name, -1)
    if position < 0:
        other = _stands_for(scope, name)
        return _of_name(scope, other) if other else f"{name} is made inside the function"
    if scope.giver.tensors[position] != "tensor":
        return f"{name} is no tensor parameter"
    if _is_assigned(scope.reading, scope.giver, name.encode("latin-1")):
        return f"{name} is made to stand for another tensor before it is returned"
    return (Own(position),)


def _stands_for(scope: Scope, name: str) -> str:
    """The parameter that the local ``name`` is another name of: ``auto y = out;``; "" for any other local."""
    tokens = scope.reading.view.tokens
    body = scope.giver.body
    assert body is not None
    own = positions(scope.giver, tokens)
    word = name.encode("latin-1")
    set_at = [
        i
        for i in range(body.open + 1, body.close)
        if tokens[i].text == word and tokens[i + 1].text == b"=" and tokens[i - 1].text not in (b".", b"->", b"::")
    ]
    if len(set_at) != 1 or tokens[set_at[0] + 3].text != b";":
        return ""
    if tokens[set_at[0] - 1].kind is not Kind.NAME and tokens[set_at[0] - 1].text != b"&":
        return ""
    other = tokens[set_at[0] + 2].text.decode("latin-1")
    return other if other in own else ""


def _of_call(scope: Scope, name: str, opener: int) -> Answer | str | None:
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


def _passes(scope: Scope, returning: Returning, gives: Answer) -> bool:
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
