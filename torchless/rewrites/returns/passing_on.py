"""Functions that call what gets new parameters: they get them as well, and pass them on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torchless.hoisting.allocation import Source, Untranslatable, read_condition
from torchless.model import Edit
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.lifted import Added, CannotLift, Expression
from torchless.rewrites.returns.lifting import CODE
from torchless.rewrites.returns.reading import PLACE, Giver, Reading, placeholder, positions
from torchless.text.lexer import Kind, match_angle


@dataclass(frozen=True)
class PassedOn:
    """What a function gets for the sake of those that it calls.

    ``names``: for each call, by the ( of its arguments, what the callee's parameters are called here.
    """

    added: tuple[Added, ...] = ()
    edits: tuple[Edit, ...] = ()
    names: Mapping[int, Mapping[str, str]] = field(default_factory=dict)


def calls_of(reading: Reading, giver: Giver | None, names: Collection[str]) -> Iterator[tuple[str, int]]:
    """(name, index of the () of each call of one of ``names`` in the body of ``giver``, or anywhere in the file."""
    tokens = reading.view.tokens
    heads = {g.opener for g in reading.givers}
    body = giver.body if giver is not None else None
    first, last = (body.open + 1, body.close) if body is not None else (0, len(tokens) - 1)
    wanted = {name.encode("latin-1") for name in names}
    for i in range(first, last):
        if tokens[i].text not in wanted or tokens[i].kind is not Kind.NAME or tokens[i - 1].text in (b".", b"->"):
            continue
        opener = i + 1
        if tokens[opener].text == b"<":
            opener = match_angle(tokens, opener) + 1
        if (
            0 < opener < len(tokens)
            and tokens[opener].text == b"("
            and opener not in heads
            and opener in reading.scopes.pair
        ):
            yield tokens[i].text.decode("latin-1"), opener


def pass_on(
    reading: Reading,
    giver: Giver,
    source: Source,
    needs: Mapping[int, tuple[Sequence[Added], Sequence[Added], int]],
    taken: Collection[str],
) -> PassedOn:
    """New parameters for the calls ``needs``: by the ( of the arguments, outputs, scratch, and where the latter goes.

    Raises CannotLift where what is made depends on more than the function's own parameters.
    """
    added: list[Added] = []
    edits: list[Edit] = []
    names: dict[int, dict[str, str]] = {}
    used = {*positions(giver, reading.view.tokens), *taken}
    for opener, (outputs, scratch, at) in sorted(needs.items()):
        arguments = split_arguments(reading.scopes, opener)
        here = given(reading, giver, arguments)
        _check_always(reading, source, giver, opener)
        for one in (*outputs, *scratch):
            name = next(n for n in (one.name, *(f"{one.name}{i}" for i in range(2, 99))) if n not in used)
            used.add(name)
            names.setdefault(opener, {})[one.name] = name
            condition = put(one.condition, here) if one.condition is not None else None
            returned = one.output and any(r.first <= opener <= r.last for r in giver.returns)
            added.append(replace(one, name=name, value=put(one.value, here), condition=condition, output=returned))
        edits += _argument_edits(reading, giver, opener, [names[opener][o.name] for o in outputs], 0)
        edits += _argument_edits(reading, giver, opener, [names[opener][s.name] for s in scratch], at)
    return PassedOn(tuple(added), tuple(edits), names)


def given(reading: Reading, giver: Giver, arguments: Sequence[tuple[int, int]]) -> list[int]:
    """For each argument, the position of the function's own parameter that it is; -1 for anything else."""
    own = positions(giver, reading.view.tokens)
    return [
        own.get(reading.view.tokens[first].text.decode("latin-1"), -1) if first == last else -1
        for first, last in arguments
    ]


def put(expression: Expression, positions_here: Sequence[int]) -> Expression:
    """``expression`` in the caller's parameters: for each of the callee's, where it is among them, -1 for nowhere.

    Raises CannotLift.
    """

    def place(match: re.Match[str]) -> str:
        position = int(match.group(1))
        here = positions_here[position] if position < len(positions_here) else -1
        if here < 0:
            raise CannotLift("what it allocates depends on what is computed before the call")
        return placeholder(here)

    texts = [replace(a, expression=PLACE.sub(place, a.expression)) for a in expression.assumptions]
    return replace(expression, text=PLACE.sub(place, expression.text), assumptions=tuple(texts))


def _check_always(reading: Reading, source: Source, giver: Giver, opener: int) -> None:
    found = read_condition(source, opener)
    if isinstance(found, Untranslatable) or found.text != "True":
        raise CannotLift("what allocates is called on one way only")


def _argument_edits(reading: Reading, giver: Giver, opener: int, names: Sequence[str], position: int) -> list[Edit]:
    if not names:
        return []
    tokens = reading.view.tokens
    arguments = split_arguments(reading.scopes, opener)
    text = ", ".join(names)
    if position < len(arguments):
        at = tokens[arguments[position][0]].start
        return [Edit(giver.path, at, at, f"{text}, ".encode(), CODE)]
    at = tokens[arguments[-1][1]].end if arguments else tokens[opener].end
    return [Edit(giver.path, at, at, (f", {text}" if arguments else text).encode(), CODE)]


def template_arguments(reading: Reading, opener: int) -> list[tuple[int, int]]:
    """The token ranges of the template arguments of the call whose ( is at ``opener``."""
    tokens = reading.view.tokens
    if tokens[opener - 1].text != b">":
        return []
    start = next((i for i in range(opener - 2, 0, -1) if match_angle(tokens, i) == opener - 1), -1)
    out: list[tuple[int, int]] = []
    first, depth = start + 1, 0
    for i in range(start + 1, opener):
        text = tokens[i].text
        if (text == b"," and depth == 0) or i == opener - 1:
            out.append((first, i - 1))
            first = i + 1
        depth += (text in (b"<", b"(")) - (text in (b">", b")"))
    return out
