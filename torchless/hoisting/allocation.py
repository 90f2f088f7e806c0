"""Reads the allocations of C++ functions as Python.

``open_source`` once per file (or sources.gather, which finds the headers); ``find_allocations`` and ``read`` per
function; ``read_expression`` and ``read_condition`` for what stands around them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from torchless.facts.flags import STUB_PREFIX, STUBS
from torchless.facts.typing import FileView, canonical, postfix_start, qualified_start
from torchless.hoisting import factories
from torchless.hoisting.conditions import condition_at
from torchless.hoisting.definitions import Definitions, File
from torchless.hoisting.frames import Frame
from torchless.hoisting.number_types import LONG
from torchless.hoisting.python import Text
from torchless.hoisting.sizes import shape_text
from torchless.hoisting.terms import (
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
)
from torchless.rewrites.heads import split_arguments
from torchless.text.lexer import Kind, match_angle
from torchless.text.source import SourceFile


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

    ``kind`` is the function of Python's torch, ``arguments`` its arguments in order, as text. What they say by itself:
    ``shape`` (a tuple, or the shape of another tensor; "" for a ``_like``), ``like``, ``dtype`` and ``device`` ("":
    nothing says one), ``fill``. The rest is as in Translation.
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
        """Is it filled with zeros?"""
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


def open_source(view: FileView, others: Sequence[FileView | SourceFile | File] = ()) -> Source:
    """``view``, with ``others`` (headers of its closure) to look up constants, aliases and functions in.

    How the functions of libraries take their arguments is known from the stubs that stand in for those libraries.
    """
    own = File(view.source, view)
    files = [own]
    for other in others:
        if isinstance(other, FileView):
            other = File(other.source, other)
        elif isinstance(other, SourceFile):
            other = File(other)
        if other.source.path != own.source.path:
            files.append(other)
    return Source(own, Definitions(files, _declaring_stubs()))


@cache
def _declaring_stubs() -> tuple[File, ...]:
    """The stubs of Composable Kernel: their signatures are the library's, their values are not."""
    found = sorted(p for p in (STUBS / "ck").rglob("*") if p.is_file())
    return tuple(File(SourceFile(f"{STUB_PREFIX}{p.relative_to(STUBS).as_posix()}", p.read_bytes())) for p in found)


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
        is_member = view.tokens[i - 1].text in (b".", b"->")
        if (is_member and word in factories.MEMBERS) or (word in _FREE and canonical(view, i) == f"at::{word}"):
            out.append(i)
    return out


def read(
    source: Source, index: int, names: Mapping[str, str] | None = None, *, size: str = ""
) -> Allocation | Untranslatable:
    """The allocation whose factory's name is the token ``index``.

    ``names`` maps C++ names of parameters to what the Python wrapper calls them; missing ones are called the same.
    ``size`` is a name that stands in for a shape of one dimension, which then is not looked at.
    """
    view = source.view
    tokens = view.tokens
    offset = tokens[index].start
    opener = index + 1
    if tokens[opener].text == b"<":
        opener = match_angle(tokens, opener) + 1
    close = source.file.scopes.pair.get(opener, -1)
    is_member = tokens[index - 1].text in (b".", b"->")
    start = postfix_start(view, index) if is_member else qualified_start(view, index)
    if close < 0 or tokens[index].directive:
        return Untranslatable("it stands in a macro", offset)
    try:
        frame = _frame(source, index, names)
        made = _made(frame, index, opener, start if is_member else -1, size)
        kind, words, uses = factories.words(made, offset)
        _check_hidden(uses, names, offset)
    except Refused as refused:
        return Untranslatable(refused.reason, refused.offset)
    said = dict(w.split("=", 1) for w in words if w.startswith(("dtype=", "device=")))
    return Allocation(
        kind=kind,
        start=tokens[start].start,
        end=tokens[close].end,
        arguments=tuple(words),
        shape=words[0] if kind not in factories.LIKE else "",
        like=words[0] if kind in factories.LIKE else "",
        dtype=said.get("dtype", ""),
        device=said.get("device", ""),
        fill=made.fill.text.text if made.fill is not None else "",
        parameters=uses.parameters,
        helpers=uses.helpers,
        imports=uses.imports,
        builtins=uses.builtins,
        assumptions=_worth_saying(uses),
    )


def read_expression(
    source: Source, first: int, last: int, names: Mapping[str, str] | None = None
) -> Translation | Untranslatable:
    """The value of the tokens first..last: a number, a truth value, a text, a dtype, a device, sizes or a tensor."""
    offset = source.view.tokens[first].start
    try:
        text, uses = _said(_frame(source, first, names).evaluate(first, last), offset)
        return _translation(text, uses, names, offset)
    except Refused as refused:
        return Untranslatable(refused.reason, refused.offset)


def read_condition(source: Source, index: int, names: Mapping[str, str] | None = None) -> Translation | Untranslatable:
    """The condition under which the token ``index`` is reached within its function; text "True" when it always is.

    Counted are the ``if`` statements and conditional expressions around it, and ``x.value_or(...)``, whose argument is
    of use only where x holds nothing. What returns early before it counts where Python would raise otherwise: where the
    allocation divides by a parameter, or reads one that may be missing, and the early return is about that parameter.
    """
    offset = source.view.tokens[index].start
    try:
        frame = _frame(source, index, names)
        condition = condition_at(frame, index, _fragile(frame, source, index))
        return _translation(condition.text.text, condition.uses, names, offset)
    except Refused as refused:
        return Untranslatable(refused.reason, refused.offset)


def _frame(source: Source, index: int, names: Mapping[str, str] | None) -> Frame:
    function = source.file.scopes.function_of(index)
    if function is None:
        raise Refused("it stands outside of any function", source.view.tokens[index].start)
    return Frame(source.file, function, source.definitions, names=names or {})


def _made(frame: Frame, index: int, opener: int, owner_first: int, size: str) -> factories.Made:
    """What the factory at ``index`` is told; ``owner_first`` is where the tensor starts whose member it is, or -1.

    ``size`` is what its one dimension is called when the shape is not looked at, else "".
    """
    word, offset = frame.file.tokens[index].text.decode("latin-1"), frame.file.tokens[index].start
    if word in factories.FOREIGN:
        raise Refused(f"{word} makes a tensor out of more than a shape", offset)
    owner: Tensor | None = None
    if owner_first >= 0:
        found = frame.evaluate(owner_first, index - 2)
        found = found.held if isinstance(found, Optional) else found
        if not isinstance(found, Tensor):
            raise Refused("the tensor that this one is made from is not known", offset)
        owner = found
    spans = split_arguments(frame.file.scopes, opener)
    arguments: list[Term] = [frame.evaluate(a, b) for a, b in (spans[1:] if size else spans)]
    if size:
        arguments.insert(0, Array((Scalar(Text(size), LONG, LONG.low, LONG.high),)))
    return factories.made_by(word, arguments, frame, offset, owner)


def _fragile(frame: Frame, source: Source, index: int) -> frozenset[str]:
    """Parameters for some values of which the allocation at ``index``, or what else stands there, raises in Python."""
    opener = index + 1
    if opener not in source.file.scopes.pair:
        return frozenset()
    try:
        made = _made(frame, index, opener, _owner_start(source, index), "")
        return factories.words(made, source.view.tokens[index].start)[2].fragile
    except Refused:
        return frozenset()


def _owner_start(source: Source, index: int) -> int:
    """Where the tensor starts whose member the factory at ``index`` is, -1 for a free function."""
    is_member = source.view.tokens[index - 1].text in (b".", b"->")
    return postfix_start(source.view, index) if is_member else -1


def _said(term: Term, offset: int) -> tuple[str, Uses]:
    if isinstance(term, Scalar | DType | Device):
        return term.text.text, term.uses
    if isinstance(term, Tensor) and term.text is not None:
        return term.text.text, term.uses
    if isinstance(term, Array | Group):
        array = factories.as_array(term, offset)
        return shape_text(array).text, array.uses
    if isinstance(term, Optional):
        return _said(term.held, offset)
    raise Refused("its value has no Python of its own", offset)


def _translation(text: str, uses: Uses, names: Mapping[str, str] | None, offset: int) -> Translation:
    _check_hidden(uses, names, offset)
    return Translation(text, uses.parameters, uses.helpers, uses.imports, uses.builtins, _worth_saying(uses))


def _worth_saying(uses: Uses) -> tuple[Assumption, ...]:
    said = (a for a in uses.assumptions if a.low != a.high and a.high < (1 << 63) - 1)
    return tuple(sorted(said))


def _check_hidden(uses: Uses, names: Mapping[str, str] | None, offset: int) -> None:
    """Refuse what a parameter of the same name would change the meaning of."""
    taken = uses.builtins | uses.imports
    for parameter in sorted(uses.parameters):
        python = (names or {}).get(parameter, parameter)
        if python in taken:
            raise Refused(f"the parameter `{python}` hides Python's `{python}`", offset)
