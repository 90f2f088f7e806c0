"""Taking statements away: their lines, and the locals that nothing uses afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchless.facts.typing import FileView
from torchless.hoisting.locals import Local, read_locals
from torchless.model import Edit
from torchless.rewrites.returns.reading import Reading
from torchless.rewrites.scopes import Block, Scopes
from torchless.rewrites.statements import Statement, block_statements, statements
from torchless.text.lexer import Kind

_FRAMEWORK = frozenset({"options", "dtype", "typemeta", "device", "optional_dtype", "int_array"})


def _own_lines(view: FileView, first: int, last: int) -> tuple[int, int] | None:
    """The byte range of the lines that the tokens first..last have to themselves; None when they share one."""
    source, tokens = view.source, view.tokens
    start, end = tokens[first].start, tokens[last].end
    line_start = source.line_start(source.line_of(start))
    line = source.line_of(end)
    line_end = source.line_start(line) + len(source.line_bytes(line))
    alone = not source.data[line_start:start].strip(b" \t") and not source.data[end:line_end].strip()
    return (line_start, line_end) if alone else None


def last_lines(view: FileView, first: int, last: int) -> tuple[int, int]:
    """The byte range of the last statement of a block, with its line and the blank lines before it."""
    source = view.source
    found = _own_lines(view, first, last)
    if found is None:
        return view.tokens[first].start, view.tokens[last].end
    start, end = found
    while start > 0:
        before = source.line_of(start - 1)
        if source.line_bytes(before).strip():
            break
        start = source.line_start(before)
    return start, end


def only_lines(view: FileView, first: int, last: int) -> tuple[int, int]:
    """The byte range of a statement, with its lines; where it stood between two blank lines, one of them goes too."""
    source = view.source
    found = _own_lines(view, first, last)
    if found is None:
        return view.tokens[first].start, view.tokens[last].end
    start, end = found
    above = source.line_of(start) - 1
    below = source.line_of(end) if end < len(source.data) else 0
    blank_above = above >= 1 and not source.line_bytes(above).strip()
    opens = above >= 1 and source.line_bytes(above).rstrip().endswith(b"{")
    if (blank_above or opens) and below and not source.line_bytes(below).strip():
        end += len(source.line_bytes(below))
    return start, end


def unused_locals(reading: Reading, body: Block, edits: Sequence[Edit], code: str) -> list[Edit]:
    """The declarations of framework values (options, dtypes, devices, sizes) that only what ``edits`` replace used.

    So are numbers that are written out. Options that nothing uses count too: making them does nothing.
    """
    out: list[Edit] = []
    while True:
        more = [e for local in _candidates(reading, body) if (e := _if_unused(reading, body, local, edits, code))]
        more = [e for e in more if e not in out]
        if not more:
            return out
        out += more
        edits = [*edits, *more]


def _candidates(reading: Reading, body: Block) -> list[tuple[Statement, Local]]:
    view = reading.view
    out = []
    for statement in _simple(reading.scopes, block_statements(reading.scopes, body)):
        found = read_locals(reading.scopes, statement.first, statement.last)
        if len(found) != 1 or found[0].static or found[0].part >= 0:
            continue
        kinds = {f.type for f in view.facts.get(view.tokens[found[0].name].start, ())}
        options = found[0].type in ("torch::TensorOptions", "at::TensorOptions", "c10::TensorOptions")
        if kinds & _FRAMEWORK or options or _is_written_out(view, found[0]):
            out.append((statement, found[0]))
    return out


def _is_written_out(view: FileView, local: Local) -> bool:
    """Whether the local is begun with a number that stands there."""
    first, last = local.init
    return first == last and view.tokens[first].kind is Kind.NUMBER and not local.reference


def _simple(scopes: Scopes, found: Sequence[Statement]) -> Iterator[Statement]:
    """The statements among ``found``, and in the branches of those that have some, that are no more than one."""
    for statement in found:
        if not statement.branches:
            yield statement
        for first, last in statement.branches:
            inside = (first + 1, last - 1) if scopes.tokens[first].text == b"{" else (first, last)
            yield from _simple(scopes, statements(scopes, *inside))


def _if_unused(
    reading: Reading, body: Block, candidate: tuple[Statement, Local], edits: Sequence[Edit], code: str
) -> Edit | None:
    statement, local = candidate
    tokens = reading.view.tokens
    uses = [
        tokens[i].start
        for i in range(body.open + 1, body.close)
        if tokens[i].kind is Kind.NAME and tokens[i].text == tokens[local.name].text and i != local.name
        if tokens[i - 1].text not in (b".", b"->", b"::")
    ]
    kinds = {f.type for f in reading.view.facts.get(tokens[local.name].start, ())}
    if not uses and "options" not in kinds and not local.type.endswith("TensorOptions"):
        return None
    if not all(any(e.start <= use < e.end for e in edits) for use in uses):
        return None
    name = tokens[local.name].text
    if any(token.directive == "define" and token.text == name for token in tokens):  # a macro may put it anywhere
        return None
    start, end = only_lines(reading.view, statement.first, statement.last)
    return Edit(reading.view.source.path, start, end, b"", code)
