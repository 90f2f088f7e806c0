"""Allocations of a C++ function that Python can make instead, and what becomes of the statements around them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from torchless.hoisting.allocation import (
    Allocation,
    Source,
    Translation,
    Untranslatable,
    find_allocations,
    read,
    read_condition,
    read_expression,
)
from torchless.hoisting.locals import Local, read_locals
from torchless.model import Edit
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.asking import CannotAsk, Query, ask, compared
from torchless.rewrites.returns.atomics import updated_by
from torchless.rewrites.returns.items import Item, items_of
from torchless.rewrites.returns.lifted import Added, CannotLift, Expression, Fill, Lifted
from torchless.rewrites.returns.reading import (
    Giver,
    Reading,
    Shape,
    in_own_names,
    name_of,
    placeholder,
    placeholders,
    positions,
)
from torchless.rewrites.returns.text import only_lines
from torchless.rewrites.scopes import BlockKind, Scopes
from torchless.rewrites.statements import Statement, block_statements, statements
from torchless.text.lexer import Kind

CODE = "TL281"


@dataclass
class _Work:
    reading: Reading
    giver: Giver
    source: Source
    placeholders: Collection[tuple[int, int]]
    falls_back: bool = False
    added: list[Added] = field(default_factory=list)
    fills: dict[int, Expression] = field(default_factory=dict)
    values: dict[str, str | int] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    queries: dict[str, Query] = field(default_factory=dict)  # by what is allocated
    sizes: dict[str, str] = field(default_factory=dict)  # C++ locals that are such sizes, and what Python calls them

    @property
    def scopes(self) -> Scopes:
        return self.reading.scopes


def lift(
    reading: Reading,
    giver: Giver,
    source: Source,
    placeholders: Collection[tuple[int, int]] = (),
    falls_back: bool = False,
) -> Lifted | None:
    """What of the definition ``giver`` moves to Python; None where it allocates nothing and reads no elements.

    ``placeholders`` are byte ranges of tensors without elements, which stay in C++ unless they are returned. In a
    function that ``falls_back`` a result is allocated in any case. Raises CannotLift.
    """
    assert giver.body is not None
    sites = find_allocations(source, giver.body.open + 1, giver.body.close - 1)
    items = list(items_of(reading, giver))
    if not sites and not items:
        return None
    work = _Work(reading, giver, source, placeholders, falls_back)
    for site in sites:
        if site not in work.done:
            _lift_site(work, site, sites)
    for item in items:
        _lift_item(work, item)
    if not work.added and not work.fills:
        return None
    fills = tuple(Fill(position, value) for position, value in sorted(work.fills.items()))
    return Lifted(
        tuple(work.added), fills, tuple(sorted(work.values.items())), tuple(work.edits), tuple(work.queries.values())
    )


def _lift_item(work: _Work, item: Item) -> None:
    """``x.item<float>()`` becomes the name of a number, under the conditions on which it is read."""
    tokens = work.scopes.tokens
    if statement_of(work.scopes, item.first) is None:
        raise CannotLift("an element is read where no statement was found")
    condition = _condition(work, item.first)
    value = Expression(item.python)
    if condition is not None:
        value = replace(condition, text=f"{item.python} if {condition.text} else {_NOTHING.get(item.type, '0')}")
    parameter = name_of(work.giver, tokens, item.position)
    known = next((a for a in work.added if a.type == item.type and a.value == value), None)
    if known is None:
        known = Added(_free(work, f"{parameter}_value"), value, type=item.type)
        work.added.append(known)
    start, end = tokens[item.first].start, tokens[item.last].end
    work.edits.append(Edit(work.giver.path, start, end, known.name.encode(), CODE))


_NOTHING = {"bool": "False", "float": "0.0", "double": "0.0"}


def _names(work: _Work) -> dict[str, str]:
    return placeholders(work.giver, work.scopes.tokens)


def _reason(work: _Work, found: Untranslatable) -> str:
    return in_own_names(work.giver, work.scopes.tokens, found.reason)


def _expression(found: Allocation | Translation) -> Expression:
    text = found.python if isinstance(found, Allocation) else found.text
    imports = found.imports | ({"torch"} if isinstance(found, Allocation) else set())
    return Expression(text, found.helpers, imports, found.builtins | imports, found.assumptions)


def _read(work: _Work, site: int) -> tuple[Expression, int, int]:
    """The allocation at ``site`` in Python, and its first and last token."""
    found = read(work.source, site, _names(work))
    if isinstance(found, Untranslatable):
        found = _asked(work, site) or found
    word = work.scopes.tokens[site].text.decode("latin-1")
    if isinstance(found, Untranslatable):
        line = work.reading.view.source.line_of(work.scopes.tokens[site].start)
        raise CannotLift(f"Python cannot make what {word} makes in line {line}: {_reason(work, found)}")
    first = work.reading.view.index_at[found.start]
    last = next(i for i in range(site, len(work.scopes.tokens)) if work.scopes.tokens[i].end == found.end)
    return _expression(found), first, last


def _asked(work: _Work, site: int) -> Allocation | None:
    """The allocation at ``site`` with a size that C++ is asked for; None where that does not help."""
    tokens, scopes = work.scopes.tokens, work.scopes
    spans = split_arguments(scopes, site + 1) if tokens[site + 1].text == b"(" else []
    if not spans or tokens[site - 1].text in (b".", b"->"):
        return None
    first, last = spans[0]
    if tokens[first].text == b"{" and scopes.pair.get(first) == last:
        inner = split_arguments(scopes, first)
        if len(inner) != 1:
            return None
        first, last = inner[0]
    statement = statement_of(scopes, site)
    if statement is None:
        return None
    assigns = tokens[statement.first + 1].text == b"="
    declared = read_locals(scopes, statement.first, statement.last)
    local = tokens[statement.first].text.decode("latin-1") if assigns else declared[0].text if declared else "buffer"
    try:
        query = ask(work.reading, work.giver, work.source, (first, last), local)
    except CannotAsk:
        return None
    found = read(work.source, site, _names(work), size=query.variable)
    if isinstance(found, Untranslatable):
        return None
    work.queries[local] = query
    if first == last:
        work.sizes[tokens[first].text.decode("latin-1")] = query.variable
    return found


def _condition(work: _Work, site: int) -> Expression | None:
    """When the allocation is made; None for always."""
    found = read_condition(work.source, site, _names(work))
    statement = _around(work, site) if isinstance(found, Untranslatable) else None
    if isinstance(found, Untranslatable) and statement is not None:
        span = (statement.condition + 1, work.scopes.pair[statement.condition] - 1)
        said = compared(work.reading, span, work.sizes)
        if said is not None:
            return Expression(said)
    if isinstance(found, Untranslatable):
        line = work.reading.view.source.line_of(work.scopes.tokens[site].start)
        raise CannotLift(f"Python cannot tell when line {line} allocates: {_reason(work, found)}")
    return None if found.text == "True" else _expression(found)


def _around(work: _Work, site: int) -> Statement | None:
    """The one ``if`` that the token ``site`` is in, when it is in nothing else, and in what it does when it holds."""
    body = work.giver.body
    assert body is not None
    holding = [s for s in block_statements(work.scopes, body) if s.first <= site <= s.last]
    if len(holding) != 1 or holding[0].word != "if":
        return None
    first, last = holding[0].branches[0]
    inside = [b for b in work.scopes.around(site) if b is not body and b.open > body.open]
    alone = len([b for b in inside if b.kind is BlockKind.STATEMENT]) == 1
    return holding[0] if first <= site <= last and alone else None


def _lift_site(work: _Work, site: int, sites: Sequence[int]) -> None:
    tokens = work.scopes.tokens
    statement = statement_of(work.scopes, site)
    if statement is None:
        raise CannotLift("an allocation stands where no statement was found")
    value, first, last = _read(work, site)
    local = _declared(work, statement, site)
    if local is not None:
        if local.static or local.reference or local.pointer:
            raise CannotLift(f"{local.text} outlives the call, or refers to what the expression makes")
        if (first, last) == local.init:
            _declaration(work, statement, local, site, value)
            return
        if tokens[first - 1].text == b"(" and tokens[first - 2].text == b"value_or":
            _alternative(work, local.text, site, value, first - 1)
            return
        if _is_choice(work, local, first, last):
            _choice(work, statement, local, sites)
            return
        raise CannotLift(f"{local.text} is computed from what is allocated")
    assigns = tokens[statement.first].kind is Kind.NAME and tokens[statement.first + 1].text == b"="
    if assigns and (first, last) == (statement.first + 2, statement.last - 1):
        _assignment(work, statement, site, value, first, last)
        return
    if tokens[statement.first].text == b"return" and (first, last) == (statement.first + 1, statement.last - 1):
        _direct(work, site, value, first, last)
        return
    line = work.reading.view.source.line_of(tokens[site].start)
    raise CannotLift(f"what is allocated in line {line} has no name")


def statement_of(scopes: Scopes, index: int) -> Statement | None:
    """The innermost statement that holds the token ``index``; None outside of blocks and inside lambdas."""
    block = scopes.at(index)
    if block is None or block.kind not in (BlockKind.FUNCTION, BlockKind.STATEMENT):
        if block is None or block.kind is not BlockKind.INITIALIZER:
            return None
        return statement_of(scopes, block.open)
    return _within(scopes, statements(scopes, block.open + 1, block.close - 1), index)


def _within(scopes: Scopes, found: Sequence[Statement], index: int) -> Statement | None:
    for statement in found:
        if statement.first <= index <= statement.last:
            for branch in statement.branches:
                if branch[0] <= index <= branch[1]:
                    return _within(scopes, statements(scopes, *branch), index)
            return statement
    return None


def _declared(work: _Work, statement: Statement, site: int) -> Local | None:
    found = read_locals(work.scopes, statement.first, statement.last)
    here = [local for local in found if local.init[0] <= site <= local.init[1]]
    if here and len(found) > 1:
        raise CannotLift(f"{here[0].text} is declared together with others")
    return here[0] if here else None


def _declaration(work: _Work, statement: Statement, local: Local, site: int, value: Expression) -> None:
    """``T x = torch::empty(...);``: x becomes a parameter, or is what a parameter holds that is not always there."""
    start, end = work.scopes.tokens[local.init[0]].start, work.scopes.tokens[local.init[1]].end
    returned = local.text in _returned(work)
    if not returned and any(a <= start and end <= b for a, b in work.placeholders):
        return
    condition = None if returned and work.falls_back else _condition(work, site)
    _check_kept(work, local.text)
    if condition is None and local.text not in _taken(work):
        _add(work, local.text, Added(local.text, value, None, returned))
        work.edits.append(_gone(work, statement))
        return
    if condition is not None and returned:
        raise CannotLift(f"{local.text} is returned and not always allocated")
    name = _free(work, f"{local.text}_buffer")
    _add(work, local.text, Added(name, value, condition, returned))
    new = name if condition is None else f"{name}.value()"
    work.edits.append(Edit(work.giver.path, start, end, new.encode(), CODE))


def _alternative(work: _Work, local: str, site: int, value: Expression, opener: int) -> None:
    """``p.value_or(torch::empty(...))``: Python fills p in."""
    tokens = work.scopes.tokens
    position = _optional_at(work, opener - 3)
    if position is None or tokens[opener - 2].text not in (b".", b"->"):
        raise CannotLift("what value_or is asked of is no optional parameter")
    _fill(work, position, value, site)
    start, end = tokens[opener - 1].start, tokens[work.scopes.pair[opener]].end
    work.edits.append(Edit(work.giver.path, start, end, b"value()", CODE))
    _check_kept(work, local)
    work.values[local] = position


def _fill(work: _Work, position: int, value: Expression, site: int) -> None:
    condition = _condition(work, site)
    name = placeholder(position)
    if condition is None or condition.text != f"{name} is None":
        raise CannotLift("what an optional parameter is replaced by depends on more than its absence")
    if position in work.fills and work.fills[position] != value:
        raise CannotLift("an optional parameter is replaced by this here and by that there")
    work.fills[position] = value


def _optional_at(work: _Work, index: int) -> int | None:
    """The position of the optional tensor parameter that the token ``index`` names."""
    token = work.scopes.tokens[index]
    position = positions(work.giver, work.scopes.tokens).get(token.text.decode("latin-1"), -1)
    is_whole = work.scopes.tokens[index - 1].text not in (b".", b"->", b"::")
    return position if is_whole and position >= 0 and work.giver.tensors[position] == "optional_tensor" else None


def _is_choice(work: _Work, local: Local, first: int, last: int) -> bool:
    tokens = work.scopes.tokens
    return tokens[first - 1].text in (b"?", b":") and (
        tokens[last + 1].text == b":" or last == local.init[1] or last + 1 > local.init[1]
    )


def _choice(work: _Work, statement: Statement, local: Local, sites: Sequence[int]) -> None:
    """``T x = c ? torch::empty(a) : torch::empty(b);`` and ``T x = p.has_value() ? p.value() : torch::empty(a);``."""
    tokens = work.scopes.tokens
    first, last = local.init
    mark = next((i for i in range(first, last) if tokens[i].text == b"?"), -1)
    colon = next((i for i in range(mark, last) if tokens[i].text == b":"), -1)
    if mark < 0 or colon < 0 or sum(t.text == b"?" for t in tokens[first:last]) > 1:
        raise CannotLift(f"{local.text} is one of several tensors")
    arms = [(mark + 1, colon - 1), (colon + 1, last)]
    made = [next((s for s in sites if a <= s <= b), -1) for a, b in arms]
    work.done.update(s for s in made if s >= 0)
    _check_kept(work, local.text)
    if min(made) >= 0:
        read_arms = [_read(work, s) for s in made]
        if [(a, b) for _, a, b in read_arms] != arms or local.text in _taken(work):
            raise CannotLift(f"{local.text} is computed from what is allocated")
        around = _condition(work, local.name)
        condition = read_expression(work.source, first, mark - 1, _names(work))
        if isinstance(condition, Untranslatable) or around is not None:
            raise CannotLift(f"Python cannot tell how {local.text} is allocated")
        value = _either(_expression(condition), read_arms[0][0], read_arms[1][0])
        _add(work, local.text, Added(local.text, value, None, local.text in _returned(work)))
        work.edits.append(_gone(work, statement))
        return
    number = 0 if made[0] >= 0 else 1
    position = _held(work, *arms[1 - number])
    if position is None:
        raise CannotLift(f"{local.text} is one of several tensors")
    value, a, b = _read(work, made[number])
    if (a, b) != arms[number]:
        raise CannotLift(f"{local.text} is computed from what is allocated")
    _fill(work, position, value, made[number])
    start, end = tokens[first].start, tokens[last].end
    held = work.reading.view.source.data[tokens[arms[1 - number][0]].start : tokens[arms[1 - number][1]].end]
    work.edits.append(Edit(work.giver.path, start, end, held, CODE))
    work.values[local.text] = position


def _either(condition: Expression, then: Expression, other: Expression) -> Expression:
    return Expression(
        f"{then.text} if {condition.text} else {other.text}",
        condition.helpers | then.helpers | other.helpers,
        condition.imports | then.imports | other.imports,
        condition.words | then.words | other.words,
        tuple(sorted({*condition.assumptions, *then.assumptions, *other.assumptions})),
    )


def _held(work: _Work, first: int, last: int) -> int | None:
    """The position of the optional parameter whose tensor the tokens first..last are: ``p.value()``, ``*p``."""
    tokens = work.scopes.tokens
    if last == first + 1 and tokens[first].text == b"*":
        return _optional_at(work, last)
    texts = [t.text for t in tokens[first + 1 : last + 1]]
    return _optional_at(work, first) if texts == [b".", b"value", b"(", b")"] else None


def _assignment(work: _Work, statement: Statement, site: int, value: Expression, first: int, last: int) -> None:
    """``o = torch::empty(...);`` for an o that was declared before."""
    tokens = work.scopes.tokens
    name = tokens[statement.first].text.decode("latin-1")
    sources = list(_sources(work, name, statement))
    held = {_held(work, a, b) for a, b in sources}
    condition = _condition(work, site)
    start, end = tokens[first].start, tokens[last].end
    if sources and None not in held and len(held) == 1:
        (position,) = held
        assert position is not None
        _fill(work, position, value, site)
        text = f'AITER_CHECK(false, "{name_of(work.giver, tokens, position)} is missing, which Python allocates")'
        statement_end = tokens[statement.last - 1].end
        work.edits.append(Edit(work.giver.path, tokens[statement.first].start, statement_end, text.encode(), CODE))
        work.values[name] = position
        return
    if sources or positions(work.giver, tokens).get(name, -1) >= 0:
        raise CannotLift(f"{name} is one of several tensors")
    if condition is not None and name in _returned(work):
        raise CannotLift(f"{name} is returned and not always allocated")
    parameter = _free(work, f"{name}_buffer")
    _add(work, name, Added(parameter, value, condition, name in _returned(work)))
    new = parameter if condition is None else f"{parameter}.value()"
    work.edits.append(Edit(work.giver.path, start, end, new.encode(), CODE))


def _sources(work: _Work, name: str, but: Statement) -> Iterator[tuple[int, int]]:
    """The token ranges of all that is assigned to ``name`` elsewhere than in the statement ``but``."""
    tokens = work.scopes.tokens
    body = work.giver.body
    assert body is not None
    for i in range(body.open + 1, body.close):
        if tokens[i].text.decode("latin-1") != name or tokens[i].kind is not Kind.NAME or i == but.first:
            continue
        if tokens[i + 1].text == b"=" and tokens[i - 1].text not in (b".", b"->", b"::"):
            end = i + 2
            while end < body.close and tokens[end].text != b";":
                end = work.scopes.pair.get(end, end) + 1 if tokens[end].text in (b"(", b"{", b"[") else end + 1
            yield i + 2, end - 1


def _direct(work: _Work, site: int, value: Expression, first: int, last: int) -> None:
    """``return torch::zeros(...);``: Python makes it, and returns it."""
    if _condition(work, site) is not None or len(work.giver.returns) > 1:
        raise CannotLift("what is returned is not always allocated")
    name = _free(work, "out")
    _add(work, name, Added(name, value, None, True))
    tokens = work.scopes.tokens
    work.edits.append(Edit(work.giver.path, tokens[first].start, tokens[last].end, name.encode(), CODE))


def _add(work: _Work, local: str, added: Added) -> None:
    kernel = updated_by(work.reading, work.giver, local) if added.value.text.startswith("torch.empty") else ""
    if kernel:
        value = replace(added.value, text=added.value.text.replace("torch.empty", "torch.zeros", 1))
        added = replace(added, value=value, cleared=kernel)
    work.added.append(added)
    work.values[local] = added.name


def _returned(work: _Work) -> set[str]:
    if work.giver.shape is Shape.NONE:
        return set()  # what is returned is made of it, but it is no result
    tokens = work.scopes.tokens
    return {
        t.text.decode("latin-1")
        for r in work.giver.returns
        for t in tokens[r.first : r.last + 1]
        if t.kind is Kind.NAME
    }


def _taken(work: _Work) -> set[str]:
    return {*positions(work.giver, work.scopes.tokens), *(a.name for a in work.added)}


def _free(work: _Work, name: str) -> str:
    body = work.giver.body
    assert body is not None
    words = {t.text.decode("latin-1") for t in work.scopes.tokens[work.giver.opener : body.close]} | _taken(work)
    return next(n for n in (name, *(f"{name}{i}" for i in range(2, len(words) + 3))) if n not in words)


def _check_kept(work: _Work, name: str) -> None:
    """Refuse a local that is assigned again: it would stand for something else from there on."""
    tokens = work.scopes.tokens
    body = work.giver.body
    assert body is not None
    for i in range(body.open + 1, body.close):
        if tokens[i].text.decode("latin-1") != name or tokens[i].kind is not Kind.NAME:
            continue
        own = tokens[i - 1].text not in (b".", b"->", b"::")
        before = tokens[i - 1]
        is_declared = before.kind is Kind.NAME or before.text in (b"&", b">")
        if own and tokens[i + 1].text == b"=" and not is_declared:
            raise CannotLift(f"{name} is made to stand for another tensor")


def _gone(work: _Work, statement: Statement) -> Edit:
    start, end = only_lines(work.reading.view, statement.first, statement.last)
    return Edit(work.giver.path, start, end, b"", CODE)
