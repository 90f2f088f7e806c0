"""Functions that leave what their kernels do not do to torch: they say so, and Python calls torch.

``return torch::tanh(x);`` and ``at::sum_out(out, x, 1);`` as the last thing that a function does become ``return
false;``: the function answers whether it did the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torchless.facts.typing import canonical
from torchless.hoisting.allocation import Source, Untranslatable, read_expression
from torchless.model import Edit
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.lifted import Expression
from torchless.rewrites.returns.lifting import CODE, statement_of
from torchless.rewrites.returns.reading import Giver, Reading, Shape, placeholder, placeholders, positions
from torchless.rewrites.scopes import Scopes
from torchless.rewrites.statements import Statement, block_statements
from torchless.rewrites.tensor_types import qualified_first
from torchless.text.lexer import Kind

# Functions of tensors and numbers that torch calls the same in C++ and Python, with their arguments in the same order.
_FUNCTIONS = frozenset(
    {"sum", "mean", "add", "sub", "mul", "div", "sigmoid", "tanh", "exp", "log", "abs", "neg", "sqrt", "rsqrt", "relu"}
    | {"maximum", "minimum", "softmax", "log_softmax"}
)


@dataclass(frozen=True, slots=True)
class Fallback:
    """What Python does where C++ did not: ``value``, which is returned, or a statement where the function gave nothing.

    ``member``: a static function of the template argument number ``argument`` says what (then ``value`` is a call of
    nothing, and has the arguments only).
    """

    value: Expression
    member: str = ""
    argument: int = -1


@dataclass(frozen=True, slots=True)
class Site:
    """A place that falls back, as a token range first..last that ``return false`` replaces."""

    first: int
    last: int
    fallback: Fallback


def sites_of(reading: Reading, giver: Giver, source: Callable[[], Source]) -> list[Site]:
    """The places of a definition where torch does the work, in order."""
    assert giver.body is not None
    out: list[Site] = []
    if giver.shape is Shape.TENSOR:
        for returning in giver.returns:
            found = _call(reading, giver, source, returning.first, returning.last)
            if found is not None:
                out.append(Site(returning.keyword, returning.last, found))
        # a function that does nothing else has nothing to fall back from
        return out if len(out) < len(giver.returns) else []
    if giver.shape is not Shape.NONE or _result(reading, giver) != b"void":
        return []
    tokens = reading.view.tokens
    for i in range(giver.body.open + 1, giver.body.close):
        if tokens[i].kind is not Kind.NAME or not tokens[i].text.endswith(b"_out") or tokens[i + 1].text != b"(":
            continue
        name = canonical(reading.view, i).removeprefix("at::").removesuffix("_out")
        statement = statement_of(reading.scopes, i)
        if name not in _FUNCTIONS or statement is None or qualified_first(tokens, i) != _start(reading, statement):
            continue
        if not _is_tail(reading.scopes, giver, statement):
            continue
        value = _out_call(reading, giver, source, name, i + 1)
        if value is not None:
            out.append(Site(qualified_first(tokens, i), statement.last - 1, Fallback(value)))
    return out


def _start(reading: Reading, statement: Statement) -> int:
    """The first token of a statement behind its label: ``default:``, ``case 3:``."""
    tokens = reading.view.tokens
    i = statement.first
    while tokens[i].text in (b"default", b"case"):
        while tokens[i].text != b":":
            i += 1
        i += 1
    return i


def _result(reading: Reading, giver: Giver) -> bytes:
    """The last token of what stands before the function's name."""
    name = reading.view.index_at[giver.fact.name_start]
    before = reading.scopes.previous(qualified_first(reading.view.tokens, name))
    return reading.view.tokens[before].text if before >= 0 else b""


def result_token(reading: Reading, giver: Giver) -> int:
    """Index of the token ``void`` that is the function's result."""
    name = reading.view.index_at[giver.fact.name_start]
    return reading.scopes.previous(qualified_first(reading.view.tokens, name))


def _is_tail(scopes: Scopes, giver: Giver, statement: Statement) -> bool:
    """Whether nothing more happens in the function after ``statement``, but for leaving a switch."""
    assert giver.body is not None
    found = block_statements(scopes, giver.body)
    last = found[-1] if found else None
    following = scopes.tokens[statement.last + 1].text
    if following == b"return":
        return True
    if last is None or not last.first <= statement.first <= last.last:
        return False
    if last.word == "switch":
        return following == b"break" or statement.last + 1 == last.last
    return last == statement or (last.word == "if" and following == b"}")


def _call(reading: Reading, giver: Giver, source: Callable[[], Source], first: int, last: int) -> Fallback | None:
    """``torch::tanh(x)`` or, for a template parameter, ``Operation::compute(x)``."""
    tokens, scopes = reading.view.tokens, reading.scopes
    opener = scopes.pair.get(last, -1)
    name = opener - 1
    if tokens[last].text != b")" or name < first or tokens[name].kind is not Kind.NAME:
        return None
    if qualified_first(tokens, name) != first:
        return None
    word = canonical(reading.view, name).removeprefix("at::")
    texts = _arguments(reading, giver, source, opener)
    if texts is None:
        return None
    if word in _FUNCTIONS:
        return Fallback(_joined(f"torch.{word}({', '.join(t.text for t in texts)})", texts))
    parameter = template_parameters(reading, giver)
    root = tokens[first].text.decode("latin-1")
    if name == first + 2 and root in parameter:
        member = tokens[name].text.decode("latin-1")
        return Fallback(_joined(", ".join(t.text for t in texts), texts), member, parameter.index(root))
    return None


def _out_call(
    reading: Reading, giver: Giver, source: Callable[[], Source], name: str, opener: int
) -> Expression | None:
    texts = _arguments(reading, giver, source, opener)
    if texts is None or len(texts) < 2:
        return None
    return _joined(f"torch.{name}({', '.join([t.text for t in texts[1:]])}, out={texts[0].text})", texts)


def _arguments(reading: Reading, giver: Giver, source: Callable[[], Source], opener: int) -> list[Expression] | None:
    names = placeholders(giver, reading.view.tokens)
    out = []
    own = positions(giver, reading.view.tokens)
    for first, last in split_arguments(reading.scopes, opener):
        position = own.get(reading.view.tokens[first].text.decode("latin-1"), -1) if first == last else -1
        if position >= 0 and giver.tensors[position] == "tensor" and not _is_set(reading, giver, first):
            out.append(Expression(placeholder(position)))
            continue
        found = read_expression(source(), first, last, names)
        if isinstance(found, Untranslatable):
            return None
        out.append(Expression(found.text, found.helpers, found.imports, found.builtins, found.assumptions))
    return out


def _is_set(reading: Reading, giver: Giver, name: int) -> bool:
    """Whether the body assigns to the parameter that the token ``name`` names."""
    tokens = reading.view.tokens
    assert giver.body is not None
    return any(
        tokens[i].text == tokens[name].text and tokens[i + 1].text == b"="
        for i in range(giver.body.open + 1, giver.body.close)
        if tokens[i - 1].text not in (b".", b"->", b"::")
    )


def _joined(text: str, parts: Sequence[Expression]) -> Expression:
    return Expression(
        text,
        frozenset().union(*(p.helpers for p in parts)),
        frozenset({"torch"}).union(*(p.imports for p in parts)),
        frozenset({"torch"}).union(*(p.words for p in parts)),
        tuple(a for p in parts for a in p.assumptions),
    )


def template_parameters(reading: Reading, giver: Giver) -> list[str]:
    """The names of the type parameters of a function template, in order; "" for one that is no type."""
    tokens = reading.view.tokens
    first = reading.view.index_at.get(giver.fact.start, -1)
    if first < 0 or tokens[first].text != b"template":
        return []
    out = []
    depth = 0
    for i in range(first + 1, giver.opener):
        text = tokens[i].text
        depth += (text == b"<") - (text == b">")
        if depth == 0:
            break
        if depth == 1 and text in (b"typename", b"class") and tokens[i + 1].kind is Kind.NAME:
            out.append(tokens[i + 1].text.decode("latin-1"))
        elif depth == 1 and text in (b"<", b",") and tokens[i + 1].text not in (b"typename", b"class"):
            out.append("")
    return out


def only_returns(reading: Reading, giver: Giver, source: Callable[[], Source]) -> Expression | None:
    """What a function returns that does nothing but return what torch computes of its arguments."""
    if giver.body is None or giver.shape is not Shape.TENSOR or len(giver.returns) != 1:
        return None
    returning = giver.returns[0]
    if returning.keyword != giver.body.open + 1 or returning.end + 1 != giver.body.close:
        return None
    found = _call(reading, giver, source, returning.first, returning.last)
    return found.value if found is not None and not found.member else None


def body_edits(reading: Reading, giver: Giver, sites: Sequence[Site]) -> list[Edit]:
    """``return false;`` at the sites, and ``return true;`` where a function that returned nothing ends."""
    tokens, path = reading.view.tokens, giver.path
    assert giver.body is not None
    out = []
    for site in sites:
        end = tokens[site.last].end
        if tokens[site.last + 1].text == b";" and tokens[site.last + 2].text in (b"break", b"return"):
            end = tokens[site.last + 2].end
        out.append(Edit(path, tokens[site.first].start, end, b"return false", CODE))
    if giver.shape is Shape.NONE:
        replaced = [(s.first, s.last + 2) for s in sites]
        for returning in giver.returns:
            if not any(a <= returning.keyword <= b for a, b in replaced):
                at = tokens[returning.keyword].end
                out.append(Edit(path, at, at, b" true", CODE))
        source = reading.view.source
        close = tokens[giver.body.close]
        line = source.line_start(source.line_of(close.start))
        if source.data[line : close.start].strip():
            out.append(Edit(path, close.start, close.start, b"return true; ", CODE))
        else:
            first = tokens[giver.body.open + 1].start
            indent = source.data[source.line_start(source.line_of(first)) : first]
            indent = indent if not indent.strip() else b"    "
            out.append(Edit(path, line, line, indent + b"return true;" + source.eol_at(line), CODE))
    return out
