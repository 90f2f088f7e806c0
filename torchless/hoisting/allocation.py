"""Reads the allocations of a C++ function as Python.

``open_source`` once per file; ``find_allocations`` and ``read`` per function; ``read_expression`` and
``read_condition`` for what stands around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torchless.facts.typing import FileView, canonical, postfix_start, qualified_start
from torchless.hoisting import evaluate as evaluation
from torchless.hoisting import factories
from torchless.hoisting.definitions import Definitions, File, open_file
from torchless.hoisting.expressions import NotAnExpression, parse
from torchless.hoisting.frames import Frame
from torchless.hoisting.members import shape_text
from torchless.hoisting.numbers import unary
from torchless.hoisting.terms import (
    TRUE,
    Array,
    Assumption,
    Device,
    DType,
    Group,
    Optional,
    Refused,
    Scalar,
    Tensor,
    Term,
    Uses,
    both,
)
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.scopes import Block, BlockKind
from torchless.rewrites.statements import Statement, statements
from torchless.text.lexer import Kind, match_angle


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """Why something cannot be said in Python; ``offset`` is the byte of what stands in the way."""

    reason: str
    offset: int


@dataclass(frozen=True, slots=True)
class Translation:
    """An expression in Python.

    ``parameters``: C++ names of the parameters that it reads. ``helpers``: keys of helpers.SOURCES. ``imports``: names
    that the file has to have (``torch``, ``math``, ``dtypes``). ``builtins``: Python's own that no name may hide.
    ``assumptions``: values that have to fit their C++ type; what only a number beyond 64 bits breaks is left out.
    """

    text: str
    parameters: frozenset[str]
    helpers: frozenset[str]
    imports: frozenset[str]
    builtins: frozenset[str]
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation. ``start`` .. ``end`` is the byte range of the C++ call.

    ``kind`` is the function in Python's torch; ``arguments`` are the arguments of the call in order, as text. For
    those that 5b's wrappers look at: ``shape`` (a tuple, or the shape of another tensor; "" for a ``_like``), ``like``,
    ``dtype`` and ``device`` ("" when nothing says one), ``fill``.
    """

    kind: str
    start: int
    end: int
    arguments: tuple[str, ...]
    shape: str
    like: str
    dtype: str
    device: str
    fill: str
    parameters: frozenset[str]
    helpers: frozenset[str]
    imports: frozenset[str]
    builtins: frozenset[str]
    assumptions: tuple[Assumption, ...]

    @property
    def python(self) -> str:
        """The call: ``torch.empty((a, b), dtype=x.dtype, device=x.device)``."""
        return f"torch.{self.kind}({', '.join(self.arguments)})"

    @property
    def zeroed(self) -> bool:
        """Does the kernel find zeros in it?"""
        return self.kind in ("zeros", "zeros_like")


@dataclass(frozen=True)
class Source:
    """A file whose functions are read, with the files that define what it names."""

    file: File
    definitions: Definitions = field(repr=False)

    @property
    def view(self) -> FileView:
        """The file itself."""
        return self.file.view


def open_source(view: FileView, others: Sequence[FileView] = ()) -> Source:
    """``view``, with ``others`` (headers of its closure) to look up constants, aliases and small functions in."""
    file = open_file(view)
    return Source(file, Definitions((file, *(open_file(v) for v in others if v is not view))))


_FREE = factories.FRESH | factories.LIKE | factories.FOREIGN


def find_allocations(source: Source, first: int, last: int) -> list[int]:
    """Indexes of the names of all factory functions that are called in the token range, in order."""
    view = source.view
    out = []
    for i in range(first, last + 1):
        token = view.tokens[i]
        if token.kind is not Kind.NAME or i + 1 >= len(view.tokens) or view.tokens[i + 1].text not in (b"(", b"<"):
            continue
        word = token.text.decode("latin-1")
        if (word in factories.MEMBERS and view.tokens[i - 1].text in (b".", b"->")) or (
            word in _FREE and canonical(view, i) == f"at::{word}"
        ):
            out.append(i)
    return out


def read(source: Source, index: int, names: Mapping[str, str] | None = None) -> Allocation | Untranslatable:
    """The allocation whose factory's name is the token ``index``.

    ``names`` maps C++ names of parameters to what the Python wrapper calls them; missing ones are called the same.
    """
    view = source.view
    tokens = view.tokens
    word = tokens[index].text.decode("latin-1")
    opener = index + 1
    if tokens[opener].text == b"<":
        opener = match_angle(tokens, opener) + 1
    close = source.file.scopes.pair.get(opener, -1)
    start = qualified_start(view, index)
    if tokens[index - 1].text in (b".", b"->"):
        start = postfix_start(view, index)
    if close < 0 or tokens[index].directive:
        return Untranslatable("it stands in a macro", tokens[index].start)
    if word in factories.FOREIGN:
        return Untranslatable(f"{word} makes a tensor out of more than a shape", tokens[index].start)
    try:
        frame = _frame(source, index, names)
        arguments = [frame.evaluate(a, b) for a, b in split_arguments(source.file.scopes, opener)]
        owner = _owner(frame, view, index, start)
        made = factories.made_by(word, arguments, tokens[index].start, owner)
        words, uses = factories.words(made, tokens[index].start)
        _check_hidden(uses, names, tokens[index].start)
    except Refused as refused:
        return Untranslatable(refused.reason, refused.offset)
    keywords = dict(w.split("=", 1) for w in words if w.startswith(("dtype=", "device=")))
    return Allocation(
        kind=made.kind,
        start=tokens[start].start,
        end=tokens[close].end,
        arguments=tuple(words),
        shape=shape_text(made.shape).text if made.shape is not None else "",
        like=made.like.text.text if made.like is not None and made.like.text is not None else "",
        dtype=keywords.get("dtype", ""),
        device=keywords.get("device", ""),
        fill=made.fill.text.text if made.fill is not None else "",
        parameters=uses.parameters,
        helpers=uses.helpers,
        imports=uses.imports,
        builtins=uses.builtins,
        assumptions=_worth_saying(uses),
    )


def _owner(frame: Frame, view: FileView, index: int, start: int) -> Tensor | None:
    if view.tokens[index - 1].text not in (b".", b"->"):
        return None
    owner = frame.evaluate(start, index - 2)
    if isinstance(owner, Optional):
        owner = owner.held
    if not isinstance(owner, Tensor):
        raise Refused("the tensor that this one is made from is not known", view.tokens[index].start)
    return owner


def read_expression(
    source: Source, first: int, last: int, names: Mapping[str, str] | None = None
) -> Translation | Untranslatable:
    """The value of the tokens first..last: a number, a truth value, a text, a dtype, a device, sizes or a tensor."""
    try:
        frame = _frame(source, first, names)
        text, uses = _said(evaluation.evaluate(parse(source.view.tokens, first, last), frame), first, source)
        return _translation(text, uses, names, source.view.tokens[first].start)
    except (Refused, NotAnExpression) as refused:
        return Untranslatable(refused.reason, refused.offset)


def _said(term: Term, first: int, source: Source) -> tuple[str, Uses]:
    if isinstance(term, Scalar | DType | Device):
        return term.text.text, term.uses
    if isinstance(term, Tensor) and term.text is not None:
        return term.text.text, term.uses
    if isinstance(term, Array):
        return shape_text(term).text, term.uses
    if isinstance(term, Group):
        array = factories.as_array(term, source.view.tokens[first].start)
        return shape_text(array).text, array.uses
    if isinstance(term, Optional):
        return _said(term.held, first, source)
    raise Refused("its value has no Python of its own", source.view.tokens[first].start)


def read_condition(source: Source, index: int, names: Mapping[str, str] | None = None) -> Translation | Untranslatable:
    """The condition under which the token ``index`` is reached within its function; text "True" when it always is.

    Counted are the ``if`` statements, conditional expressions, && and || around it, and ``x.value_or(...)``, whose
    argument is of use only where x holds nothing. Not counted is what returns early before it.
    """
    try:
        frame = _frame(source, index, names)
        condition = _condition(frame, index)
        return _translation(condition.text.text, condition.uses, names, source.view.tokens[index].start)
    except (Refused, NotAnExpression) as refused:
        return Untranslatable(refused.reason, refused.offset)


def _translation(text: str, uses: Uses, names: Mapping[str, str] | None, offset: int) -> Translation:
    _check_hidden(uses, names, offset)
    return Translation(text, uses.parameters, uses.helpers, uses.imports, uses.builtins, _worth_saying(uses))


def _worth_saying(uses: Uses) -> tuple[Assumption, ...]:
    return tuple(sorted(a for a in uses.assumptions if a.high < (1 << 63) - 1))


def _check_hidden(uses: Uses, names: Mapping[str, str] | None, offset: int) -> None:
    """Refuse what a parameter of the same name would change the meaning of."""
    taken = uses.builtins | uses.imports
    for parameter in uses.parameters:
        python = (names or {}).get(parameter, parameter)
        if python in taken:
            raise Refused(f"the parameter `{python}` hides Python's `{python}`", offset)


def _frame(source: Source, index: int, names: Mapping[str, str] | None) -> Frame:
    function = source.file.scopes.function_of(index)
    if function is None:
        raise Refused("it stands outside of any function", source.view.tokens[index].start)
    return Frame(source.file, function, source.definitions, names=names or {})


def _condition(frame: Frame, index: int) -> Scalar:
    scopes, out = frame.file.scopes, TRUE
    function = frame.function
    assert function is not None
    blocks: list[Block] = []
    for block in scopes.around(index):
        blocks.append(block)
        if block.open == function.open:
            break
    for block in reversed(blocks):
        if block.kind is BlockKind.LAMBDA:
            raise Refused("it stands in a lambda", scopes.tokens[index].start)
        for statement in statements(scopes, block.open + 1, block.close - 1):
            if statement.first <= index <= statement.last:
                out = both(out, _in_statement(frame, statement, index))
    return out


def _in_statement(frame: Frame, statement: Statement, index: int) -> Scalar:
    """The condition that ``statement`` puts on ``index``; blocks within are somebody else's."""
    scopes = frame.file.scopes
    offset = scopes.tokens[index].start
    for number, branch in enumerate(statement.branches):
        if not branch[0] <= index <= branch[1]:
            continue
        if statement.word in ("for", "while", "do", "switch"):
            raise Refused(f"it stands in a {statement.word}", offset)
        out = TRUE
        if statement.word == "if":
            out = frame.truth(statement.condition + 1, scopes.pair[statement.condition] - 1)
            out = unary("!", out, offset) if number else out
        if scopes.tokens[branch[0]].text != b"{":
            for inner in statements(scopes, *branch):
                if inner.first <= index <= inner.last:
                    out = both(out, _in_statement(frame, inner, index))
        return out
    return _in_expression(frame, statement, index)


def _in_expression(frame: Frame, statement: Statement, index: int) -> Scalar:
    """What the ?, && and || of the expression around ``index`` ask for."""
    scopes, out = frame.file.scopes, TRUE
    tokens = scopes.tokens
    at = index
    while True:
        opener = scopes.enclosing(at)
        first = opener + 1 if opener > statement.first else statement.first
        depth, i = 0, at - 1
        while i >= first:
            text = tokens[i].text
            if text in (b")", b"]", b"}") and i in scopes.pair:
                i = scopes.pair[i]
            elif text in (b"&&", b"||"):
                raise Refused(f"it stands behind {text.decode()}", tokens[index].start)
            elif text == b":":
                depth += 1
            elif text == b"?":
                start = _expression_start(frame, i - 1, first)
                condition = frame.truth(start, i - 1)
                out = both(unary("!", condition, tokens[i].start) if depth else condition, out)
                depth = max(depth - 1, 0)
            elif text in (b",", b"=", b"return"):
                break
            i -= 1
        if opener <= statement.first:
            return out
        if tokens[opener].text == b"(" and tokens[opener - 1].text == b"value_or":
            holder = frame.evaluate(postfix_start(frame.file.view, opener - 3), opener - 3)
            if not isinstance(holder, Optional):
                raise Refused("what it is the alternative of is not known", tokens[index].start)
            out = both(unary("!", holder.present, tokens[index].start), out)
        at = opener


def _expression_start(frame: Frame, last: int, first: int) -> int:
    """Index where the condition that ends at ``last`` starts: behind a ?, a :, a comma, an = or an opening bracket."""
    scopes = frame.file.scopes
    i = last
    while i >= first:
        text = scopes.tokens[i].text
        if text in (b")", b"]", b"}") and i in scopes.pair:
            i = scopes.pair[i]
        elif text in (b"?", b":", b",", b"=", b"return"):
            return i + 1
        i -= 1
    return first
