"""Random numbers: seed and offset come from Python as integers, which reads and advances the generator.

A launcher took a generator, asked it for the Philox state of a launch under its lock, and handed the state to a kernel.
Afterwards Python asks how far the launch counts (a small function in C++ tells: the formula stays where it was),
advances the generator by that much, and passes the two numbers. A graph that is captured keeps those of its capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.facts.typing import canonical
from torchless.hoisting.allocation import Source, Untranslatable, read_expression
from torchless.hoisting.locals import read_locals
from torchless.model import Edit
from torchless.rewrites.heads import parameters
from torchless.rewrites.returns.asking import CannotAsk, Query, ask
from torchless.rewrites.returns.lifted import CannotLift, Expression
from torchless.rewrites.returns.lifting import statement_of
from torchless.rewrites.returns.reading import Giver, Reading, in_own_names, name_of, placeholders
from torchless.rewrites.returns.text import only_lines
from torchless.rewrites.scopes import Block, BlockKind
from torchless.rewrites.statements import Statement, block_statements
from torchless.text.lexer import Kind

CODE = "TL283"
SEED, OFFSET = "philox_seed", "philox_offset"
_STATES = frozenset({"at::PhiloxCudaState", "at::PhiloxXpuState"})


@dataclass(frozen=True, slots=True)
class Philox:
    """The generator at ``position``: ``query`` tells how far a launch counts, ``tensor`` is where it happens.

    ``unless``: conditions under which the function leaves before it asks the generator.
    """

    position: int
    tensor: int
    query: Query
    unless: tuple[Expression, ...]


def takes_generator(reading: Reading, giver: Giver) -> int:
    """The position of the parameter that is a generator, optional or not; -1 for none."""
    tokens = reading.view.tokens
    for position, parameter in enumerate(giver.parameters):
        for i in range(parameter.first, parameter.last + 1):
            if tokens[i].text == b"Generator" and canonical(reading.view, i) == "at::Generator":
                return position
    return -1


def lift_generator(reading: Reading, giver: Giver, source: Source) -> tuple[Philox, tuple[Edit, ...]] | None:
    """What a definition with a generator becomes; None for one without. Raises CannotLift."""
    position = takes_generator(reading, giver)
    if position < 0:
        return None
    tokens, scopes = reading.view.tokens, reading.scopes
    assert giver.body is not None
    name = name_of(giver, tokens, position)
    calls = [
        i for i in _inside(giver.body) if tokens[i].text == b"philox_cuda_state" and tokens[i - 1].text in (b"->", b".")
    ]
    if len(calls) != 1 or not name:
        raise CannotLift("a generator is asked for something else than one Philox state")
    call = calls[0]
    opener = call + 1
    span = (opener + 1, scopes.pair[opener] - 1)
    taking = statement_of(scopes, call)
    if taking is None or tokens[taking.first + 1].text != b"=" or span[0] > span[1]:
        raise CannotLift("the Philox state has no name")
    state, generator = tokens[taking.first].text, tokens[call - 2].text
    gone: list[Statement | None] = [
        _made(reading, giver.body, generator, name),
        _declared(reading, giver.body, state),
        _held(reading, taking),
    ]
    try:
        query = ask(reading, giver, source, span, "philox")
    except CannotAsk as reason:
        raise CannotLift(f"how far a launch counts cannot be told: {reason}") from None
    query = Query(f"{query.name.removesuffix('_size')}_increment", query.expression, query.parameters, query.arguments,
                  "philox_increment")  # fmt: skip
    if span[0] == span[1]:
        gone.append(_only_for(reading, giver.body, tokens[span[0]].text, span[0]))
    edits = [Edit(giver.path, *only_lines(reading.view, s.first, s.last), b"", CODE) for s in gone if s is not None]
    left = [(e.start, e.end) for e in edits]
    for i in _inside(giver.body):
        if tokens[i].text not in (state, generator, name.encode()) or tokens[i].kind is not Kind.NAME:
            continue
        if any(a <= tokens[i].start < b for a, b in left) or tokens[i - 1].text in (b".", b"->", b"::"):
            continue
        is_argument = tokens[i - 1].text in (b",", b"(") and tokens[i + 1].text in (b",", b")")
        if tokens[i].text != state or not is_argument:
            raise CannotLift("the generator, or the Philox state, is used for something else as well")
        text = f"static_cast<uint64_t>({SEED}){_comma(reading, i)}static_cast<uint64_t>({OFFSET})".encode()
        edits.append(Edit(giver.path, tokens[i].start, tokens[i].end, text, CODE))
    tensor = next((i for i, kind in enumerate(giver.tensors) if kind == "tensor"), -1)
    if tensor < 0:
        raise CannotLift("which device the numbers are for is not to be seen")
    return Philox(position, tensor, query, tuple(_leaving(reading, giver, source, call))), tuple(edits)


def _inside(body: Block) -> range:
    return range(body.open + 1, body.close)


def _made(reading: Reading, body: Block, generator: bytes, name: str) -> Statement:
    """``auto gen = get_generator_or_default<...>(generator, ...);``"""
    tokens = reading.view.tokens
    for statement in block_statements(reading.scopes, body):
        found = read_locals(reading.scopes, statement.first, statement.last)
        if len(found) == 1 and tokens[found[0].name].text == generator:
            inside = {t.text for t in tokens[found[0].init[0] : found[0].init[1] + 1]}
            if b"get_generator_or_default" in inside and name.encode() in inside:
                return statement
    raise CannotLift("where the generator comes from is not to be seen")


def _declared(reading: Reading, body: Block, state: bytes) -> Statement:
    tokens = reading.view.tokens
    for statement in block_statements(reading.scopes, body):
        found = read_locals(reading.scopes, statement.first, statement.last)
        if len(found) == 1 and tokens[found[0].name].text == state and found[0].init[0] > found[0].init[1]:
            return statement
    raise CannotLift("the Philox state is not declared by itself")


def _held(reading: Reading, taking: Statement) -> Statement:
    """The block that takes the state under the generator's lock; the statement alone where there is no such block."""
    scopes, tokens = reading.scopes, reading.view.tokens
    block = scopes.at(taking.first)
    if block is None or block.kind is not BlockKind.STATEMENT or tokens[block.open - 1].text not in (b";", b"}"):
        return taking
    rest = [s for s in block_statements(scopes, block) if s.first != taking.first]
    words = [{t.text for t in tokens[s.first : s.last + 1]} for s in rest]
    if not all(b"lock_guard" in w and b"mutex_" in w for w in words):
        raise CannotLift("more than the Philox state is taken under the generator's lock")
    return Statement(block.open, block.close)


def _only_for(reading: Reading, body: Block, word: bytes, use: int) -> Statement | None:
    """The declaration of a local that is used at the token ``use`` alone."""
    tokens = reading.view.tokens
    for statement in block_statements(reading.scopes, body):
        found = read_locals(reading.scopes, statement.first, statement.last)
        if len(found) == 1 and tokens[found[0].name].text == word:
            others = [i for i in _inside(body) if tokens[i].text == word and i not in (use, found[0].name)]
            return statement if not others else None
    return None


def _leaving(reading: Reading, giver: Giver, source: Source, call: int) -> Iterator[Expression]:
    """The conditions of the ``if(...) { return; }`` that stand before the generator is asked."""
    tokens = reading.view.tokens
    assert giver.body is not None
    names = placeholders(giver, tokens)
    # one that gives something is that of a lambda: a launcher returns nothing
    returns = {r.keyword for r in giver.returns if r.keyword < call and r.first > r.last}
    for statement in block_statements(reading.scopes, giver.body):
        inside = {r for r in returns if statement.first <= r <= statement.last}
        if not inside:
            continue
        first, last = statement.branches[0] if statement.branches else (0, -1)
        words = [t.text for t in tokens[first : last + 1]]
        if (
            statement.word != "if"
            or statement.complete
            or words not in ([b"return", b";"], [b"{", b"return", b";", b"}"])
        ):
            raise CannotLift("the function may leave before it asks the generator")
        close = reading.scopes.pair[statement.condition]
        found = read_expression(source, statement.condition + 1, close - 1, names)
        if isinstance(found, Untranslatable):
            why = in_own_names(giver, tokens, found.reason)
            raise CannotLift(f"when the function leaves before it asks the generator: {why}")
        yield Expression(found.text, found.helpers, found.imports, found.builtins, found.assumptions)


def parameter_edit(reading: Reading, giver: Giver, position: int) -> Edit:
    """Two integers in place of the generator, with defaults of 0 where it had one."""
    tokens = reading.view.tokens
    parameter = giver.parameters[position]
    default = " = 0" if parameter.default_first >= 0 else ""
    text = f"int64_t {SEED}{default}{_between(reading, giver.opener, position)}int64_t {OFFSET}{default}"
    return Edit(giver.path, tokens[parameter.first].start, tokens[parameter.last].end, text.encode(), CODE)


def _between(reading: Reading, opener: int, position: int) -> str:
    """What separates two parameters where the one at ``position`` stands."""
    return _comma(reading, parameters(reading.scopes, opener)[position].first)


def _comma(reading: Reading, index: int) -> str:
    """What separates two elements of a list where the one that starts at the token ``index`` stands."""
    return "," + (_new_line(reading, index) or " ")


def _new_line(reading: Reading, index: int) -> str:
    """A line end and the blanks in front of the token ``index``; "" where it does not start its line, or in a macro."""
    source, token = reading.view.source, reading.view.tokens[index]
    indent = source.data[source.line_start(source.line_of(token.start)) : token.start]
    return "" if indent.strip() or token.directive else source.eol_at(token.start).decode() + indent.decode("latin-1")


def kernel_edits(reading: Reading) -> list[Edit]:
    """The functions of the file that take a Philox state take two integers, pass them on and unpack nothing."""
    tokens, scopes, path = reading.view.tokens, reading.scopes, reading.view.source.path
    out: list[Edit] = []
    for block in scopes.blocks:
        if block.kind is not BlockKind.FUNCTION or block.params < 1:
            continue
        for position, parameter in enumerate(parameters(scopes, block.params)):
            if parameter.name < 0 or not _is_state(reading, parameter.first, parameter.last):
                continue
            text = f"uint64_t {SEED}{_between(reading, block.params, position)}uint64_t {OFFSET}".encode()
            out.append(Edit(path, tokens[parameter.first].start, tokens[parameter.last].end, text, CODE))
            for i in _inside(block):
                if tokens[i].text == tokens[parameter.name].text and tokens[i].kind is Kind.NAME:
                    out.append(_in_kernel(reading, i))
    return out


def _is_state(reading: Reading, first: int, last: int) -> bool:
    return any(canonical(reading.view, i) in _STATES for i in range(first, last + 1))


def _in_kernel(reading: Reading, index: int) -> Edit:
    """One use of the state: an argument, or ``auto [seed, offset] = at::cuda::philox::unpack(state);``."""
    tokens, path = reading.view.tokens, reading.view.source.path
    statement = statement_of(reading.scopes, index)
    if statement is not None and tokens[index - 2].text == b"unpack" and tokens[statement.first + 1].text == b"[":
        seed, offset = tokens[statement.first + 2], tokens[statement.first + 4]
        words = f"uint64_t {seed.text.decode()} = {SEED};", f"uint64_t {offset.text.decode()} = {OFFSET};"
        text = (_new_line(reading, statement.first) or " ").join(words).encode()
        return Edit(path, tokens[statement.first].start, tokens[statement.last].end, text, CODE)
    text = f"{SEED}{_comma(reading, index)}{OFFSET}".encode()
    return Edit(path, tokens[index].start, tokens[index].end, text, CODE)
