"""The edits in C++ that make pointers of std::function, and sorted arrays of maps."""

from __future__ import annotations

from collections.abc import Sequence

from torchless.model import Edit
from torchless.rewrites.dispatch_tables.keys import Key, Struct
from torchless.rewrites.dispatch_tables.rows import in_order, is_list, sorted_text
from torchless.rewrites.dispatch_tables.scan import File, MapType, Table
from torchless.rewrites.dispatch_tables.spelling import Callable
from torchless.rewrites.dispatch_tables.study import Filled
from torchless.rewrites.dispatch_tables.style import Style, key_order
from torchless.rewrites.include_lines import IncludeLine, contiguous, file_start, include_lines
from torchless.rewrites.insertion import COLUMNS
from torchless.rewrites.scopes import BlockKind, statement_start
from torchless.text.lexer import Kind, lex

POINTER, TABLE, ORDER, HASH = "TL511", "TL510", "TL513", "TL514"
UNSORTED = "sort the rows by key, each key once"


def pointer_edits(file: File, found: Callable) -> list[Edit]:
    """std::function<R(A...)> as R (*)(A...)."""
    data, tokens, path = file.view.source.data, file.view.tokens, file.path
    start, inner = tokens[found.first].start, tokens[found.angle + 1].start
    opener = tokens[found.open]
    behind = data[tokens[found.angle].end : inner]
    if b"\n" in behind:  # R stands on a line of its own
        while data[start - 1 : start] in (b" ", b"\t"):
            start -= 1
        inner = tokens[found.angle].end
    blank = opener.start > tokens[found.open - 1].end  # ``R (A)``
    edits = [Edit(path, start, inner, b"", POINTER)]
    edits.append(Edit(path, opener.start, opener.start, b"(*)" if blank else b" (*)", POINTER))
    last = tokens[found.last]
    edits.append(Edit(path, tokens[found.close].end, last.end, b"", POINTER))
    return edits


def pointer_text(file: File, found: Callable) -> bytes:
    """A callable as a pointer type, on as many lines as it has."""
    data, tokens = file.view.source.data, file.view.tokens
    if not found.is_function:
        return data[tokens[found.first].start : tokens[found.last].end]
    returns = data[tokens[found.angle + 1].start : tokens[found.open].start].rstrip()
    return returns + b" (*)" + data[tokens[found.open].start : tokens[found.close].end]


def map_text(file: File, found: MapType, key: Key, key_name: str, table_name: str) -> bytes:
    """The type that stands in for the map ``found``."""
    data, tokens = file.view.source.data, file.view.tokens
    first, last = found.map.arguments[1]
    value = data[tokens[first].start : tokens[last].end]
    if found.value is not None:
        value = pointer_text(file, found.value)
    spelled = key.spelled or key_name
    return b"%b<%b, %b>" % (table_name.encode(), spelled.encode(), value)


def map_edit(file: File, found: MapType, text: bytes) -> Edit:
    """The map type ``found`` replaced by ``text``; it goes on the line of ``using X =``."""
    tokens = file.view.tokens
    start = tokens[found.map.first].start
    if found.alias is not None and tokens[found.map.first - 1].text == b"=":
        start = tokens[found.map.first - 1].end
        text = b" " + text
    return Edit(file.path, start, tokens[found.map.last].end, text, TABLE)


def table_edits(file: File, filled: Filled, type_text: bytes, style: Style) -> list[Edit]:
    """The statement that fills a map as constant rows, a check of their order, and a table over them.

    ``type_text`` is the table's type as it is to be spelled here.
    """
    table, source, tokens = filled.table, file.view.source, file.view.tokens
    data, path = source.data, file.path
    rows, count = _names(file, table)
    eol = source.eol_at(tokens[table.first].start)
    line = source.line_start(source.line_of(tokens[table.first].start))
    indent = data[line : tokens[table.first].start]
    start, end = tokens[table.first].start, tokens[table.last].end
    opened = closed = b""
    if indent.strip():  # the statement shares its line: [] { return M{...}; }
        outer = indent[: len(indent) - len(indent.lstrip())]
        indent = outer + style.step.encode()
        start, opened = tokens[table.first - 1].end, eol + indent
        if table.last + 1 < len(tokens) and b"\n" not in data[end : tokens[table.last + 1].start]:
            end, closed = tokens[table.last + 1].start, eol + outer
    storage = b"static" if table.name == "" or not _is_inline(file, table) else b"inline"
    before = b"%b constexpr %b::value_type %b[] = " % (storage, type_text, rows)
    first, last, opening, closing = _bounds(file, filled)
    kept = opening + data[first:last] + closing + b";"
    if b"\n" not in kept and len(indent + before + kept) > COLUMNS:
        before = before.rstrip() + eol + indent + style.step.encode()
    size_storage = b"" if _in_code(file, table) else storage + b" "
    sizes = b"%bconstexpr std::size_t %b = sizeof(%b) / sizeof(%b[0]);" % (size_storage, count, rows, rows)
    checked = b"static_assert(%b::ascends(%b, %b)," % (type_text, rows, count)
    gap = b" " if len(indent + checked) + len(UNSORTED) + 5 <= COLUMNS else eol + indent + b" " * len("static_assert(")
    check = checked + gap + b'"%b");' % UNSORTED.encode()
    if table.name:
        made = b"%b constexpr %b %b{%b, %b};" % (storage, type_text, table.name.encode("latin-1"), rows, count)
    else:
        made = b"return %b{%b, %b};" % (type_text, rows, count)
    after = b"".join((closing, b";", *(eol + indent + text for text in (sizes, check, made)), closed))
    edits = [
        Edit(path, start, first, opened + before + opening, TABLE),
        Edit(path, last, end, after, TABLE),
    ]
    if filled.rows and not in_order(filled.rows):
        edits.append(Edit(path, *sorted_text(file, filled.rows), TABLE))
    return edits


def _bounds(file: File, filled: Filled) -> tuple[int, int, bytes, bytes]:
    """Byte range of what is kept of the initialiser, and the braces to put around it."""
    table, tokens = filled.table, file.view.tokens
    if filled.macro is not None:
        start, end = tokens[table.first_row].start, tokens[table.last_row].end
        braced = all(printer.braced for printer in filled.printers)
        if braced or not table.braces:
            return start, end, (b"" if braced else b"{"), (b"" if braced else b"}")
        return tokens[table.first_row - 1].start, tokens[table.last_row + 1].end, b"", b""
    if table.first_row > table.last_row:
        return tokens[table.first_row - 1].start, tokens[table.last_row + 1].end, b"", b""
    if table.braces and is_list(file, table):
        return tokens[table.first_row].start, tokens[table.last_row].end, b"", b""
    return tokens[table.first_row - 1].start, tokens[table.last_row + 1].end, b"", b""


def _names(file: File, table: Table) -> tuple[bytes, bytes]:
    """Names for the rows and their number that nothing else has where the table stands."""
    tokens, scopes = file.view.tokens, file.scopes
    around = scopes.function_of(table.first)
    if around is not None:
        used = {t.text for t in tokens[around.head : around.close]}
        if not used & {b"rows", b"count"}:
            return b"rows", b"count"
    name = (table.holder or "table").encode("latin-1")
    return name + b"_rows", name + b"_count"


def _in_code(file: File, table: Table) -> bool:
    return file.scopes.function_of(table.first) is not None or any(
        b.kind is BlockKind.LAMBDA for b in file.scopes.around(table.first)
    )


def _is_inline(file: File, table: Table) -> bool:
    return any(t.text == b"inline" for t in file.view.tokens[table.first : table.type_first])


def order_edit(file: File, struct: Struct, key: Key, style: Style) -> Edit:
    """The < of a struct of the checkout, behind its definition."""
    source, tokens = file.view.source, file.view.tokens
    end = tokens[struct.close + 1].end  # its ;
    eol = source.eol_at(end)
    text = eol.join([b"", b"", *(line.encode() for line in key_order(style, struct.name, key.fields))])
    return Edit(file.path, end, end, text, ORDER)


def removed_struct(file: File, struct: Struct) -> Edit:
    """The definition of ``struct`` taken out, with the comment lines right above it and one empty line."""
    source, tokens = file.view.source, file.view.tokens
    first = source.line_of(tokens[struct.head].start)
    last = source.line_of(tokens[struct.close + 1].end - 1)
    while first > 1 and source.line_bytes(first - 1).lstrip().startswith(b"//"):
        first -= 1
    empty_above = first > 1 and not source.line_bytes(first - 1).strip()
    if last < source.line_count and not source.line_bytes(last + 1).strip() and (empty_above or first == 1):
        last += 1
    end = source.line_start(last + 1) if last < source.line_count else len(source.data)
    while first > 1 and not source.data[end:].strip() and not source.line_bytes(first - 1).strip():
        first -= 1  # at the end of the file
    return Edit(file.path, source.line_start(first), end, b"", HASH)


def anchor(file: File, found: Sequence[MapType]) -> int:
    """The byte offset of the line before which what the maps ``found`` of this file need can be declared.

    That is before the first of them, the comment lines above it included, at namespace level, and where it is compiled
    for all of them.
    """
    tokens, scopes, source = file.view.tokens, file.scopes, file.view.source
    first = min(m.map.first for m in found)
    index = found[0].alias.decl if found[0].alias and found[0].map.first == first else statement_start(scopes, first)
    for block in scopes.around(first):
        if block.kind is not BlockKind.NAMESPACE:
            index = min(index, block.head)
    spaces = [next((b.open for b in scopes.around(m.map.first) if b.kind is BlockKind.NAMESPACE), -1) for m in found]
    if len(set(spaces)) > 1:
        outer = [b for b in scopes.around(first) if b.kind is BlockKind.NAMESPACE]
        index = min([index, *(b.head for b in outer)])
    offset = tokens[index].start
    for start, end in _conditionals(file):
        if start < offset < end and not all(start < tokens[m.map.first].start < end for m in found):
            offset = min(offset, start)
    line = source.line_of(offset)
    while line > 1 and _is_comment(file, line - 1):
        line -= 1
    return source.line_start(line)


def _conditionals(file: File) -> list[tuple[int, int]]:
    """The byte ranges of all #if ... #endif."""
    tokens = file.view.tokens
    stack: list[int] = []
    out: list[tuple[int, int]] = []
    for i, token in enumerate(tokens[:-1]):
        if token.kind is Kind.DIRECTIVE:
            word = tokens[i + 1].text
            if word in (b"if", b"ifdef", b"ifndef"):
                stack.append(token.start)
            elif word == b"endif" and stack:
                out.append((stack.pop(), tokens[i + 1].end))
    return out


def _is_comment(file: File, line: int) -> bool:
    text = file.view.source.line_bytes(line).strip()
    return text.startswith(b"//") or (text.startswith(b"/*") and text.endswith(b"*/"))


def inserted(file: File, offset: int, lines: Sequence[str], code: str, rank: int) -> Edit:
    """``lines`` and an empty line before byte ``offset``, which starts a line; set off from what stands above."""
    source = file.view.source
    eol = source.eol_at(max(offset - 1, 0))
    above = source.line_bytes(source.line_of(offset) - 1).strip() if source.line_of(offset) > 1 else b""
    first = eol if above and not above.endswith(b"{") and rank == 0 else b""
    text = first + b"".join(line.encode() + eol for line in lines) + eol
    return Edit(file.path, offset, offset, text, code, rank)


def include_edits(file: File, headers: Sequence[str]) -> list[Edit]:
    """Edits that include the standard ``headers`` (``<cstddef>``) which the file does not include itself."""
    view, source = file.view, file.view.source
    lines = [line for line in include_lines(view, file.scopes) if line.movable]
    missing = sorted(set(headers) - {line.header for line in lines})
    edits = []
    for rank, header in enumerate(missing):
        offset = _include_place(file, lines, header)
        eol = source.eol_at(max(offset - 1, 0))
        text = b"#include " + header.encode() + eol
        if offset and source.data[offset - 1 : offset] != b"\n":
            text = eol + text.removesuffix(eol)
        edits.append(Edit(file.path, offset, offset, text, TABLE, rank))
    return edits


def _include_place(file: File, lines: Sequence[IncludeLine], header: str) -> int:
    standard = [line for line in lines if not line.quoted and "/" not in line.name and "." not in line.name]
    if standard:
        run = contiguous(list(lines), standard[0], lambda line: line in standard)
        later = [line for line in run if line.header > header]
        return later[0].start if later else run[-1].end
    return lines[-1].end if lines else file_start(file.view)


def starts_with_comment(data: bytes) -> bool:
    """Whether the first thing in ``data`` that is not blank is a comment."""
    return any(t.kind is Kind.COMMENT for t in lex(data)[:2])
