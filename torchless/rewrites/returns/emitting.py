"""The C++ side: functions that gave tensors back return nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding
from torchless.rewrites.heads import split_arguments
from torchless.rewrites.returns.contracts import Contract, Contracts, Reading
from torchless.rewrites.returns.reading import Giver, Returning, Shape, elements, instantiations_of
from torchless.rewrites.scopes import Scopes, statement_start
from torchless.rewrites.tensor_types import Role, TensorUse, tensor_uses
from torchless.text.lexer import Kind

CODE = "TL280"


def rewrite_returns(reading: Reading, contracts: Contracts) -> list[Finding]:
    """TL280 for every function of the file that can become void, and for types of such functions, with the edits."""
    out: list[Finding] = []
    for giver in reading.givers:
        contract = contracts.by_key.get(giver.key)
        if contract is not None:
            out.append(_of_giver(reading, giver, contract))
    out += [_of_type(reading, use) for use in function_types(reading.view, reading.scopes)]
    for use, name, opener in instantiations_of(reading.view, reading.scopes):
        called = reading.view.tokens[name].text.decode("latin-1")
        if contracts.of(called, len(split_arguments(reading.scopes, opener))) is not None:
            out.append(_of_instantiation(reading, use, called))
    return out


def function_types(view: FileView, scopes: Scopes) -> Iterator[TensorUse]:
    """The tensor results of function types that take a tensor to write to, as the functions do that return it.

    ``using Kernel = torch::Tensor (*)(torch::Tensor&, int);`` and ``std::function<torch::Tensor(torch::Tensor&)>``.
    What such a type points to must agree with it, so the two change together; whoever uses what a call gives does not
    compile any more.
    """
    uses = tensor_uses(view, scopes)
    written = {u.parameters for u in uses if u.role is Role.FUNCTION_TYPE and u.sign == "&" and u.const_before < 0}
    tokens = view.tokens
    for use in uses:
        if use.role is not Role.RETURN or use.sign or use.optional is not None or use.name >= 0 or use.keeps:
            continue
        opener = use.outer_last + 1
        if opener >= len(tokens) or tokens[opener].text != b"(":
            continue
        if tokens[opener + 1].text in (b"*", b"&"):
            opener = scopes.pair.get(opener, -2) + 1
        elif scopes.enclosing(use.outer_first) < 0 and tokens[statement_start(scopes, use.first)].text != b"using":
            continue
        if opener in written:
            yield use


def _of_type(reading: Reading, use: TensorUse) -> Finding:
    tokens, path = reading.view.tokens, reading.view.source.path
    start, end = tokens[use.outer_first].start, tokens[use.outer_last].end
    text = "functions of this type return an argument of their own: they become void, and so does the type"
    return Finding(CODE, text, path, start, end, edits=(Edit(path, start, end, b"void", CODE),))


def _of_instantiation(reading: Reading, use: TensorUse, name: str) -> Finding:
    tokens, path = reading.view.tokens, reading.view.source.path
    start, end = tokens[use.outer_first].start, tokens[use.outer_last].end
    text = f"{name} becomes void, and its instantiation with it"
    return Finding(CODE, text, path, start, end, edits=(Edit(path, start, end, b"void", CODE),))


def _of_giver(reading: Reading, giver: Giver, contract: Contract) -> Finding:
    view, path = reading.view, reading.view.source.path
    start, end = view.tokens[giver.type_first].start, view.tokens[giver.type_last].end
    edits = [Edit(path, start, end, b"void", CODE)]
    for returning in giver.returns:
        edits += _of_return(reading, giver, returning)
    names = _names(reading, giver, contract)
    text = f"{giver.fact.name} returns {names}, which its caller has: it becomes void"
    return Finding(CODE, text, path, start, end, edits=tuple(edits))


def _names(reading: Reading, giver: Giver, contract: Contract) -> str:
    tokens = reading.view.tokens
    found = [giver.parameters[part.position].name for part in contract.gives]
    return ", ".join(tokens[i].text.decode("latin-1") if i >= 0 else "an argument" for i in found)


def _of_return(reading: Reading, giver: Giver, returning: Returning) -> list[Edit]:
    """``return y;`` goes, or loses its y where more statements follow; ``return f(y);`` stays: f is void as well."""
    tokens, path = reading.view.tokens, reading.view.source.path
    assert giver.body is not None
    is_last = returning.end + 1 == giver.body.close
    parts = None if giver.shape is Shape.TENSOR else elements(reading.scopes, returning.first, returning.last)
    is_call = tokens[returning.last].text == b")" and tokens[returning.first].kind is Kind.NAME and parts is None
    if is_call:
        if not is_last:
            return []
        return [Edit(path, tokens[returning.keyword].start, tokens[returning.first].start, b"", CODE)]
    if not is_last:
        return [Edit(path, tokens[returning.keyword].end, tokens[returning.last].end, b"", CODE)]
    start, end = whole_lines(reading.view, returning.keyword, returning.end)
    return [Edit(path, start, end, b"", CODE)]


def whole_lines(view: FileView, first: int, last: int) -> tuple[int, int]:
    """The byte range of a statement, with its line and the blank lines before it where it has the line to itself."""
    source, tokens = view.source, view.tokens
    start, end = tokens[first].start, tokens[last].end
    line_start = source.line_start(source.line_of(start))
    last_line = source.line_of(end)
    line_end = source.line_start(last_line) + len(source.line_bytes(last_line))
    if source.data[line_start:start].strip(b" \t") or source.data[end:line_end].strip():
        return start, end
    while line_start > 0:
        before = source.line_of(line_start - 1)
        if source.line_bytes(before).strip():
            break
        line_start = source.line_start(before)
    return line_start, line_end
