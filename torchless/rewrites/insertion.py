"""New statements: on a line of their own, before a statement, indented and ended as it is."""

from __future__ import annotations

from torchless.facts.typing import FileView
from torchless.rewrites.include_lines import directives
from torchless.rewrites.scopes import Block
from torchless.text.lexer import Kind, lex

COLUMNS = 100  # of a line that is written anew; source: the target's .clang-format


def line_before(view: FileView, block: Block, index: int, *, above_comment: bool = False) -> tuple[int, bytes] | None:
    """(offset of a line start, indentation) for a new statement before the one whose first token is ``index``.

    It goes in front of every #if that was opened inside ``block`` and is still open there, and with ``above_comment``
    in front of the comment lines right above. None when the statement does not start its line.
    """
    source, tokens = view.source, view.tokens
    offset = tokens[index].start
    indent = _indentation(view, offset)
    if indent is None:
        return None
    open_ifs: list[int] = []
    for i, keyword in directives(tokens):
        if tokens[i].start > offset:
            break
        if tokens[i].start < tokens[block.open].start:
            continue
        if keyword in ("if", "ifdef", "ifndef"):
            open_ifs.append(i)
        elif keyword == "endif" and open_ifs:
            open_ifs.pop()
    if open_ifs:
        offset = tokens[open_ifs[0]].start
    start = source.line_start(source.line_of(offset))
    if start <= tokens[block.open].start:
        return None
    return (comment_above(view, start) if above_comment else start), indent


def _indentation(view: FileView, offset: int) -> bytes | None:
    start = view.source.line_start(view.source.line_of(offset))
    text = view.source.data[start:offset]
    return text if not text.strip(b" \t") else None


def comment_above(view: FileView, start: int) -> int:
    """The start of the comment lines that end right above the line at ``start``; ``start`` when there are none."""
    source = view.source
    for comment in reversed([t for t in lex(source.data, 0, start) if t.kind is Kind.COMMENT]):
        line_start = source.line_start(source.line_of(comment.start))
        alone = not source.data[line_start : comment.start].strip(b" \t\xef\xbb\xbf")
        touches = source.data[comment.end : start].strip(b" \t") in (b"\n", b"\r\n")
        if not alone or not touches:
            break
        start = line_start + (3 if line_start == 0 and source.has_bom else 0)
    return start


def is_blank_line_before(view: FileView, offset: int) -> bool:
    """True when the line above the line start ``offset`` is blank."""
    line = view.source.line_of(offset)
    return line > 1 and not view.source.line_bytes(line - 1).strip()
