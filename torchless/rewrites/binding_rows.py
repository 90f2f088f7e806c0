"""The pybind11 side of new parameters: one py::arg for each, where the parameter stands."""

from __future__ import annotations

from collections.abc import Sequence

from torchless.model import Edit, Finding, Tier
from torchless.project.bindings import split_arguments
from torchless.project.model import BindingRow
from torchless.rewrites.bindings import blanks_before_backslash, indent_of
from torchless.rewrites.insertion import COLUMNS
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_forward
from torchless.text.source import SourceFile

CODE = "TL721"


def new_arguments(
    source: SourceFile, row: BindingRow, added: Sequence[tuple[int, str, bool]], parameters: int
) -> Finding | None:
    """TL721 for a row that names its arguments; None where it names none (see all_arguments()).

    ``added``: (position among the ``parameters`` of old before which it goes, name, whether it may be None), in
    order. A row that names some of its arguments, or more or fewer than there are parameters, blocks.
    """
    if not row.args:
        return None
    end = row.end
    message = f"{row.name} gets {', '.join(name for _, name, _ in added)}"
    spans = _argument_spans(source, row)
    if len(row.args) != parameters or len(spans) != parameters:
        text = f"{row.name} names {len(row.args)} of the {parameters} arguments of its function"
        advice = "name all of them, or none"
        return Finding(CODE, text, row.path, row.start, end, Tier.DISPLAY, blocks=True, help=advice)
    edits = [
        _edit(source, spans, position, name, optional, rank) for rank, (position, name, optional) in enumerate(added)
    ]
    return Finding(CODE, message, row.path, row.start, end, edits=tuple(edits))


def all_arguments(source: SourceFile, row: BindingRow, names: Sequence[str]) -> Finding | None:
    """TL721 for a row that names no argument and whose function gets parameters: ``names`` are all that it has then.

    None where the row names some, or where its end is not to be seen.
    """
    tokens = _code(source, row)
    opener = next((i for i, t in enumerate(tokens) if t.text == b"(" and t.kind is Kind.PUNCT), -1)
    close = match_forward(tokens, opener) if opener >= 0 else -1
    if row.args or close < 0 or not names:
        return None
    at = tokens[close].start
    line = source.line_of(at)
    start = source.line_start(line)
    words = ", ".join(f'py::arg("{name}")' for name in names).encode()
    blanks, backslash = blanks_before_backslash(source, line)
    code_end = blanks if backslash else start + len(source.line_bytes(line).rstrip())
    message = f"{row.name} names its arguments, of which there are more now"
    edits = [Edit(source.path, at, at, b", " + words, CODE)]
    row_line = source.line_start(source.line_of(row.start))
    alone = not source.data[row_line : row.start].strip()
    if alone and code_end - start + len(words) + 2 > COLUMNS:
        first = tokens[opener + 1].start
        below = source.line_of(first) == source.line_of(tokens[opener].start)
        indent = b" " * (source.column_of(first) - 1 if below else len(indent_of(source.line_bytes(line))))
        edits = _on_a_line_of_its_own(source, at, indent, words)
    return Finding(CODE, message, row.path, row.start, row.end, edits=tuple(edits))


def _on_a_line_of_its_own(source: SourceFile, at: int, indent: bytes, words: bytes) -> list[Edit]:
    """``words`` on a line after the one of ``at``; backslashes keep their column."""
    line = source.line_of(at)
    blanks, backslash = blanks_before_backslash(source, line)
    eol = source.eol_at(at)
    before = source.line_bytes(line - 1).rstrip(b"\r\n") if line > 1 else b""
    text = source.line_bytes(line).rstrip(b"\r\n")
    if not backslash and not before.endswith(b"\\"):
        return [Edit(source.path, at, at, b"," + eol + indent + words, CODE)]
    column = len(text) if backslash else len(before)
    pad = b" " * max(1, column - 1 - (at - source.line_start(line)) - 1)
    edits = [Edit(source.path, at, at, b"," + pad + b"\\" + eol + indent + words, CODE)]
    if backslash:
        rest = len(indent) + len(words) + blanks - at
        edits.append(Edit(source.path, blanks, backslash, b" " * max(1, column - 1 - rest), CODE))
    return edits


def seed_and_offset(source: SourceFile, row: BindingRow, position: int, names: Sequence[str]) -> Finding | None:
    """TL721 for the argument at ``position`` that becomes two integers; None where the row names no arguments."""
    if not row.args:
        return None
    spans = _argument_spans(source, row)
    if position >= len(spans):
        advice = "name all of the row's arguments, or none"
        text = f"{row.name} does not name its generator"
        return Finding(CODE, text, row.path, row.start, row.end, Tier.DISPLAY, blocks=True, help=advice)
    start, end = spans[position]
    new = ", ".join(f'py::arg("{name}") = 0' for name in names).encode()
    edit = Edit(source.path, start, end, new, CODE)
    return Finding(CODE, f"{row.name} gets {' and '.join(names)}", row.path, start, end, edits=(edit,))


def new_rows(source: SourceFile, row: BindingRow, queries: Sequence[tuple[str, Sequence[str]]]) -> Finding:
    """TL721 for functions beside that of ``row``, each (name, its parameters), which get rows in front of it."""
    data = source.data
    variable = data[row.start : data.index(b".", row.start)].decode("utf-8", "replace").strip()
    space = row.target.rpartition("::")[0]
    line = source.line_of(row.start)
    start = source.line_start(line)
    alone = not data[start : row.start].strip()
    text = b""
    for name, parameters in queries:
        target = f"{space}::{name}" if space else name
        arguments = "".join(f', py::arg("{p}")' for p in parameters)
        text += f'{variable}.def("{name}", &{target}{arguments});'.encode()
        if not alone:
            text += b" "
            continue
        continued = source.line_bytes(line - 1).rstrip(b"\r\n").endswith(b"\\") if line > 1 else False
        text += (b" \\" if continued else b"") + source.eol_at(row.start) + data[start : row.start]
    names = ", ".join(name for name, _ in queries)
    edit = Edit(source.path, row.start, row.start, text, CODE)
    message = f"Python asks {names} before it calls {row.name}"
    return Finding(CODE, message, row.path, row.start, row.end, edits=(edit,))


def _argument_spans(source: SourceFile, row: BindingRow) -> list[tuple[int, int]]:
    """The byte ranges of the py::arg arguments of the row."""
    tokens = _code(source, row)
    opener = next((i for i, t in enumerate(tokens) if t.text == b"(" and t.kind is Kind.PUNCT), -1)
    close = match_forward(tokens, opener) if opener >= 0 else -1
    if close < 0:
        return []
    return [
        (tokens[first].start, tokens[last - 1].end)
        for first, last in split_arguments(tokens, opener, close)
        if _names_argument(tokens[first:last])
    ]


def _code(source: SourceFile, row: BindingRow) -> list[Token]:
    """The tokens of the row, without the backslashes that continue a macro."""
    return [t for t in code_tokens(lex(source.data, row.start, row.end)) if t.text != b"\\"]


def _names_argument(tokens: Sequence[Token]) -> bool:
    texts = [t.text for t in tokens]
    return b"arg" in texts[:5] or (len(texts) > 1 and tokens[0].kind is Kind.STRING and texts[1] == b"_a")


def _edit(
    source: SourceFile, spans: Sequence[tuple[int, int]], position: int, name: str, optional: bool, rank: int
) -> Edit:
    text = f'py::arg("{name}")'.encode() + (b" = std::nullopt" if optional else b"")
    anchor = spans[min(position, len(spans) - 1)]
    at, last = (anchor[0], False) if position < len(spans) else (anchor[1], True)
    line = source.line_of(anchor[0])
    start = source.line_start(line)
    alone = not source.data[start : anchor[0]].strip()
    if not alone:
        new = b", " + text if last else text + b", "
        return Edit(source.path, at, at, new, CODE, rank)
    indent = source.data[start : anchor[0]]
    eol = source.eol_at(at)
    before = source.line_bytes(line - 1).rstrip(b"\r\n")
    continued = before.endswith(b"\\")
    if not continued:
        new = b"," + eol + indent + text if last else text + b"," + eol + indent
        return Edit(source.path, at, at, new, CODE, rank)
    column = len(before) - 1
    if last:  # behind the last argument: its line goes on as it did, and a new one follows
        new = b"," + b" " * max(1, column - (at - start) - 1) + b"\\" + eol + indent + text
    else:
        new = text + b"," + b" " * max(1, column - len(indent) - len(text) - 1) + b"\\" + eol + indent
    return Edit(source.path, at, at, new, CODE, rank)
