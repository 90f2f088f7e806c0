"""The C++ side: functions that gave tensors back return nothing, and get what Python makes as parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.insertion import COLUMNS, comment_above
from torchless.rewrites.returns.dtype_numbers import CODE as NUMBERS
from torchless.rewrites.returns.dtype_numbers import number_types
from torchless.rewrites.returns.falling_back import result_token
from torchless.rewrites.returns.instantiations import rewrite_instantiations
from torchless.rewrites.returns.lifting import CODE as LIFTED
from torchless.rewrites.returns.lists import CODE as ADDRESSES
from torchless.rewrites.returns.lists import type_edits
from torchless.rewrites.returns.model import Contract, Contracts, New
from torchless.rewrites.returns.philox import CODE as PHILOX
from torchless.rewrites.returns.philox import kernel_edits, parameter_edit
from torchless.rewrites.returns.reading import Giver, Reading, Returning, Shape, elements, name_of
from torchless.rewrites.returns.text import last_lines, unused_locals
from torchless.rewrites.returns.undefined import CODE as ABSENT
from torchless.rewrites.returns.undefined import optional_edits
from torchless.rewrites.scopes import Scopes, statement_start
from torchless.rewrites.tensor_types import Role, TensorUse, tensor_uses
from torchless.text.lexer import Kind, code_tokens, lex, match_forward

CODE = "TL280"


def rewrite_returns(reading: Reading, contracts: Contracts) -> list[Finding]:
    """TL280 and TL281 for the functions of the file that change, and for types of such functions, with the edits."""
    out: list[Finding] = []
    for giver in reading.givers:
        place = (giver.path, giver.fact.start)
        contract = contracts.by_key.get(giver.key)
        body = contracts.edits.get(place, ()) if giver.body is not None and contract is not None else ()
        if giver.body is not None:
            unused = unused_locals(reading, giver.body, body, LIFTED)
            kept = (e for e in body if not any(u.start <= e.start and e.end <= u.end for u in unused))
            body = (*kept, *unused)
        if place in contracts.gone:
            out.append(_gone(reading, giver))
        elif contract is not None:
            out += _of_giver(reading, giver, contract, body)
        elif body:
            start = giver.fact.name_start
            text = f"{giver.fact.name} describes allocations that it does not make"
            out.append(Finding(LIFTED, text, giver.path, start, start, edits=tuple(body)))
    if any(c.philox for g in reading.givers if g.body is not None and (c := contracts.by_key.get(g.key)) is not None):
        out += _kernels(reading)
    out += [_of_type(reading, use) for use in function_types(reading.view, reading.scopes)]
    out += rewrite_instantiations(reading, lambda name, count: _is_void(contracts.of(name, count)))
    return out


def _is_void(contract: Contract | None) -> bool:
    """Whether a function becomes void and keeps its parameters."""
    return contract is not None and not contract.added and contract.fallback is None


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


def _kernels(reading: Reading) -> list[Finding]:
    """TL283 for each edit of the functions that took a Philox state."""
    text = "a kernel takes seed and offset instead of a Philox state"
    edits = kernel_edits(reading)
    return [Finding(PHILOX, text, e.path, e.start, e.end, Tier.UNSAFE, (e,)) for e in edits]


def _gone(reading: Reading, giver: Giver) -> Finding:
    """TL281 for a function that says what torch does where a kernel does nothing: Python says it."""
    assert giver.body is not None
    start, end = last_lines(reading.view, reading.view.index_at[giver.fact.start], giver.body.close)
    text = f"{giver.fact.name} is what torch does: Python does it"
    edit = Edit(giver.path, start, end, b"", LIFTED)
    return Finding(LIFTED, text, giver.path, giver.fact.start, giver.fact.end, edits=(edit,))


def _of_giver(reading: Reading, giver: Giver, contract: Contract, body: Sequence[Edit]) -> Iterator[Finding]:
    path, tokens = giver.path, reading.view.tokens
    name = giver.fact.name
    if contract.twin and giver.body is not None:
        start, end = last_lines(reading.view, reading.view.index_at[giver.fact.start], giver.body.close)
        text = f"{name} allocates its result and calls its twin: the twin is what is left"
        yield Finding(
            LIFTED, text, path, giver.fact.start, giver.fact.end, edits=(Edit(path, start, end, b"", LIFTED),)
        )
        return
    returns = giver.shape is not Shape.NONE
    if returns:
        start, end = tokens[giver.type_first].start, tokens[giver.type_last].end
        edits = [Edit(path, start, end, b"bool" if contract.fallback else b"void", CODE)]
        for returning in giver.returns:
            edits += _of_return(reading, giver, returning, contract.fallback is not None)
        text = f"{name} returns {_names(reading, giver, contract)}, which its caller has: it becomes void"
        yield Finding(CODE, text, path, start, end, edits=tuple(edits))
    if contract.philox is not None:
        at = giver.fact.name_start
        text = f"{name} takes seed and offset instead of a generator, which Python reads and advances"
        change = parameter_edit(reading, giver, contract.philox.position)
        yield Finding(PHILOX, text, path, at, at, Tier.UNSAFE, (change,))
    if contract.addresses:
        edits = type_edits(reading, giver)
        text = f"{name} takes lists of tensors, of which it only wants the addresses: Python passes those"
        yield Finding(ADDRESSES, text, path, giver.fact.name_start, giver.fact.name_start, Tier.UNSAFE, tuple(edits))
    if contract.numbers:
        edits = number_types(reading, giver)
        text = f"{name} takes dtypes: Python passes the numbers that the target has for them"
        yield Finding(NUMBERS, text, path, giver.fact.name_start, giver.fact.name_start, edits=tuple(edits))
    if contract.undefined:
        edits = optional_edits(reading, giver, contract.undefined)
        text = f"{name} asks whether there are tensors at all: they become optional"
        yield Finding(ABSENT, text, path, giver.fact.name_start, giver.fact.name_start, edits=tuple(edits))
    if not contract.added and not body and not contract.fallback and not contract.queries:
        return
    if returns:
        body = _without_results(reading, giver, contract, body)
    start = giver.fact.name_start
    edits = [*_parameter_edits(reading, giver, contract), *_query_edits(reading, giver, contract), *body]
    if contract.fallback and not returns:
        result = tokens[result_token(reading, giver)]
        edits.append(Edit(path, result.start, result.end, b"bool", LIFTED))
    reads = any(a.type for a in contract.added)
    yield Finding(
        LIFTED,
        _said(name, contract),
        path,
        start,
        start,
        Tier.UNSAFE if reads else Tier.SAFE,
        tuple(edits),
        requires=("aiter_tensor.h",),
    )


def _without_results(reading: Reading, giver: Giver, contract: Contract, body: Sequence[Edit]) -> list[Edit]:
    """``body`` less the names that stand for what is allocated in a return statement, which goes or says ``true``."""
    tokens = reading.view.tokens
    spans = {(tokens[r.first].start, tokens[r.last].end) for r in giver.returns}
    names = {a.name.encode() for a in contract.outputs}
    results = [e for e in body if (e.start, e.end) in spans and e.new in names]
    answers = [replace(e, new=b"true") for e in results] if contract.fallback is not None else []
    return [*(e for e in body if e not in results), *answers]


def _said(name: str, contract: Contract) -> str:
    outputs = ", ".join(a.name for a in contract.outputs)
    scratch = ", ".join(a.name for a in contract.scratch if not a.type)
    read = ", ".join(a.name for a in contract.scratch if a.type)
    parts = [f"the output {outputs}"] if outputs else []
    parts += [f"the scratch {scratch}"] if scratch else []
    parts += ["an optional output where none is given"] if contract.fills else []
    if read and not parts:
        return f"{name} reads elements of tensors: Python reads {read}"
    if not parts and contract.fallback is None:
        return f"{name} works on addresses, numbers or seeds, or describes allocations that it does not make"
    if not parts:
        return f"{name} leaves some of its work to torch: it says so, and Python calls torch"
    cleared = "".join(
        f"; {a.name} is zeroed, since {a.cleared} updates it atomically" for a in contract.added if a.cleared
    )
    reads = f"; Python reads {read}" if read else ""
    return f"{name} allocates in C++: Python makes {' and '.join(parts)}{cleared}{reads}"


def _names(reading: Reading, giver: Giver, contract: Contract) -> str:
    tokens = reading.view.tokens
    return ", ".join(
        part.name if isinstance(part, New) else name_of(giver, tokens, part.position) or "an argument"
        for part in contract.gives
    )


def _parameter_edits(reading: Reading, giver: Giver, contract: Contract) -> list[Edit]:
    """The added parameters: outputs in front of all, scratch before the first parameter that has a default."""
    out = []
    if contract.outputs:
        out.append(_insertion(reading, giver, 0, [a.declared for a in contract.outputs]))
    if contract.scratch:
        out.append(_insertion(reading, giver, contract.at, [a.declared for a in contract.scratch]))
    return out


def _query_edits(reading: Reading, giver: Giver, contract: Contract) -> list[Edit]:
    """The functions that tell sizes: in front of the definition, and declared behind each declaration."""
    view, source = reading.view, reading.view.source
    if not contract.queries:
        return []
    if giver.body is None:
        close = reading.scopes.pair[giver.opener]
        end = next((i for i in range(close, len(view.tokens)) if view.tokens[i].text == b";"), -1)
        if end < 0:
            return []
        at, eol = view.tokens[end].end, source.eol_at(giver.fact.start)
        text = b"".join(eol + q.declared.encode() + b";" for q in contract.queries)
        return [Edit(giver.path, at, at, text, LIFTED)]
    start = source.line_start(source.line_of(giver.fact.start))
    indent = source.data[start : giver.fact.start]
    if indent.strip():
        return []
    eol = source.eol_at(start)
    lines: list[str] = []
    for query in contract.queries:
        lines += [
            "// Python asks for this before it calls the function below.",
            query.declared,
            "{",
            f"    return {_bare(query.expression)};",
            "}",
            "",
        ]
    text = b"".join((indent + line.encode() if line else b"") + eol for line in lines)
    at = comment_above(view, start)
    return [Edit(giver.path, at, at, text, LIFTED, 2)]


def _bare(expression: str) -> str:
    """``expression`` without brackets around all of it."""
    tokens = code_tokens(lex(expression.encode()))
    is_wrapped = tokens and tokens[0].text == b"(" and match_forward(tokens, 0) == len(tokens) - 1
    return _bare(expression.strip()[1:-1]) if is_wrapped else expression


def _insertion(reading: Reading, giver: Giver, position: int, declared: Sequence[str]) -> Edit:
    view = reading.view
    tokens, source = view.tokens, view.source
    spans = giver.parameters
    if not spans:
        at = tokens[giver.opener].end
        return Edit(giver.path, at, at, ", ".join(declared).encode(), LIFTED)
    lines = [source.line_of(tokens[p.first].start) for p in spans]
    one_per_line = len(spans) > 1 and len(set(lines)) == len(lines)
    column = source.column_of(tokens[spans[min(1, len(spans) - 1)].first].start) - 1
    new_line = source.eol_at(tokens[spans[0].first].start) + b" " * column
    separator = b"," + (new_line if one_per_line else b" ")
    text = separator.join(d.encode() for d in declared)
    is_last = position >= len(spans)
    at = tokens[spans[-1].last].end if is_last else tokens[spans[position].first].start
    line = source.line_bytes(source.line_of(at)).rstrip()
    several = len(set(lines)) > 1 and not one_per_line
    if several and len(line) + len(text) + 2 > COLUMNS:  # what is added has a line of its own
        beside = lines[-1] if is_last else lines[position]
        first = tokens[spans[lines.index(beside)].first].start
        separator = b"," + source.eol_at(at) + b" " * (source.column_of(first) - 1)
    return Edit(giver.path, at, at, separator + text if is_last else text + separator, LIFTED)


def _of_return(reading: Reading, giver: Giver, returning: Returning, answers: bool) -> list[Edit]:
    """``return y;`` goes, or loses its y where more statements follow; ``return f(y);`` stays: f is void as well.

    A function that ``answers`` whether it did the work says so instead.
    """
    tokens, path = reading.view.tokens, reading.view.source.path
    if answers:
        if tokens[returning.last].text == b")":
            return []  # what it calls answers, or torch does it and the body's edits say so
        return [Edit(path, tokens[returning.first].start, tokens[returning.last].end, b"true", CODE)]
    assert giver.body is not None
    is_last = returning.end + 1 == giver.body.close
    parts = None if giver.shape is Shape.TENSOR else elements(reading.scopes, returning.first, returning.last)
    is_call = tokens[returning.last].text == b")" and tokens[returning.first].kind is Kind.NAME and parts is None
    if is_call and not _allocates(tokens[returning.first].text, tokens[returning.first + 1].text):
        if not is_last:
            return []
        return [Edit(path, tokens[returning.keyword].start, tokens[returning.first].start, b"", CODE)]
    if not is_last:
        return [Edit(path, tokens[returning.keyword].end, tokens[returning.last].end, b"", CODE)]
    start, end = last_lines(reading.view, returning.keyword, returning.end)
    return [Edit(path, start, end, b"", CODE)]


def _allocates(root: bytes, after: bytes) -> bool:
    """Whether a returned call makes a tensor itself: ``torch::zeros(...)``."""
    return root in (b"torch", b"at") and after == b"::"
