"""The #include lines of a file: where they are, under which conditions, and where a new one may go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from torchless.facts.typing import FileView
from torchless.model import Edit
from torchless.rewrites.scopes import Scopes
from torchless.text.dead import split_dead
from torchless.text.lexer import Kind, Token, code_tokens, lex
from torchless.text.source import SourceFile

_LICENCE = re.compile(rb"(?i)SPDX-|copyright|licen[sc]e")


@dataclass(frozen=True, slots=True)
class IncludeLine:
    """An #include by byte offsets.

    ``header`` is spelled with its quotes or brackets, at header_start..header_end. start is the start of the line, end
    the start of the next one. ``conditions`` are the texts of the #if arms around it, outermost first, the include
    guard of the file left out. ``in_code`` says that it stands inside braces.
    """

    header: str
    start: int
    end: int
    header_start: int
    header_end: int
    conditions: tuple[str, ...]
    in_code: bool

    @property
    def name(self) -> str:
        """The header without quotes or brackets."""
        return self.header[1:-1]

    @property
    def quoted(self) -> bool:
        """True for "x.h"."""
        return self.header.startswith('"')

    @property
    def movable(self) -> bool:
        """True when a line next to it is always compiled, at file scope."""
        return not self.conditions and not self.in_code


@dataclass(frozen=True, slots=True)
class Conditional:
    """A whole #if ... #endif by byte offsets, line start to start of the line behind; nesting depth from 0."""

    start: int
    end: int


def include_lines(view: FileView, scopes: Scopes) -> list[IncludeLine]:
    """Every #include of the file with a literal header, in file order."""
    source, tokens = view.source, view.tokens
    braces = [(tokens[b.open].start, tokens[b.close].end) for b in scopes.blocks if not tokens[b.open].directive]
    guard = guard_conditions(tokens)
    out: list[IncludeLine] = []
    stack: list[tuple[int, str]] = []
    for i, keyword in directives(tokens):
        if keyword in ("if", "ifdef", "ifndef"):
            stack.append((i, f"{keyword} {_rest(tokens, i)}"))
        elif keyword in ("else", "elif", "elifdef", "elifndef") and stack:
            stack[-1] = (stack[-1][0], f"{stack[-1][1]} {keyword} {_rest(tokens, i)}".strip())
        elif keyword == "endif" and stack:
            stack.pop()
        elif keyword in ("include", "include_next") and i + 2 < len(tokens) and tokens[i + 2].kind is Kind.HEADER:
            token = tokens[i + 2]
            start, end = _line_bounds(source, tokens[i].start, token.end)
            conditions = tuple(text for opener, text in stack if opener != guard)
            in_code = any(o < token.start < c for o, c in braces)
            out.append(
                IncludeLine(token.text.decode("latin-1"), start, end, token.start, token.end, conditions, in_code)
            )
    return out


def removal(source: SourceFile, line: IncludeLine, code: str) -> Edit:
    """The edit that takes ``line`` out: the whole line, with a comment that trails it.

    Only the directive goes where a comment stands before it on the line, or runs on into the next line.
    """
    text = source.data[line.start : line.end]
    for token in lex(source.data, line.header_end, line.end):
        if token.text.startswith(b"/*") and not token.text.endswith(b"*/"):
            return Edit(source.path, line.start, token.start, b"", code)
    if not text.lstrip().startswith(b"#"):
        hash_at = source.data.index(b"#", line.start)
        return Edit(source.path, hash_at, line.header_end, b"", code)
    return Edit(source.path, line.start, line.end, b"", code)


def _line_bounds(source: SourceFile, start: int, end: int) -> tuple[int, int]:
    first = source.line_start(source.line_of(start))
    line = source.line_of(end)
    after = source.line_start(line + 1) if line < source.line_count else len(source.data)
    return first + (3 if first == 0 and source.has_bom else 0), after


def directives(tokens: list[Token]) -> Iterator[tuple[int, str]]:
    """(index of the #, keyword) of every preprocessor directive, in file order."""
    for i, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE and i + 1 < len(tokens) and tokens[i + 1].directive:
            yield i, tokens[i + 1].text.decode("latin-1")


def _rest(tokens: list[Token], index: int) -> str:
    out = []
    i = index + 2
    while i < len(tokens) and tokens[i].directive and tokens[i].kind is not Kind.DIRECTIVE:
        out.append(tokens[i].text.decode("latin-1"))
        i += 1
    return " ".join(out)


def guard_conditions(tokens: list[Token]) -> int:
    """Index of the # of the file's include guard (``#ifndef X`` / ``#define X`` ... ``#endif`` around all), or -1."""
    found = list(directives(tokens))
    if len(found) < 3 or found[0][1] != "ifndef" or found[1][1] != "define" or found[0][0] != 0:
        return -1
    first, second = found[0][0], found[1][0]
    if second + 2 >= len(tokens) or tokens[first + 2].text != tokens[second + 2].text:
        return -1
    depth = 0
    for i, keyword in found:
        if keyword in ("if", "ifdef", "ifndef"):
            depth += 1
        elif keyword == "endif":
            depth -= 1
            if depth == 0:
                behind = i + 2
                return first if behind >= len(tokens) else -1
    return -1


def emptied_conditionals(source: SourceFile, removed: Iterable[IncludeLine], tokens: list[Token]) -> list[Conditional]:
    """The outermost #if ... #endif that hold nothing but ``removed`` lines, blanks and their own directives."""
    gone = {line.header_start for line in removed}
    stack: list[tuple[int, bool]] = []
    found: list[tuple[int, int]] = []
    known = dict(directives(tokens))
    for i, token in enumerate(tokens):
        keyword = known.get(i, "")
        if keyword in ("if", "ifdef", "ifndef"):
            stack.append((i, True))
        elif keyword == "endif" and stack:
            opener, empty = stack.pop()
            if empty and any(tokens[opener].start < g < token.start for g in gone):
                found.append((tokens[opener].start, tokens[i + 1].end))
            elif stack and not empty:
                stack[-1] = (stack[-1][0], False)
        elif keyword in ("else", "elif"):
            continue
        elif stack and not token.directive:
            stack[-1] = (stack[-1][0], False)
        elif stack and token.kind is Kind.DIRECTIVE and keyword in ("include", "include_next"):
            header = tokens[i + 2].start if i + 2 < len(tokens) else -1
            if header not in gone:
                stack[-1] = (stack[-1][0], False)
        elif stack and token.kind is Kind.DIRECTIVE:
            stack[-1] = (stack[-1][0], False)
    regions = [Conditional(*_line_bounds(source, start, end)) for start, end in found]
    everything = lex(source.data)
    comments = [t for t in everything if t.kind is Kind.COMMENT and not _trails(source, t, removed)]
    kept = [t.start for t in (*comments, *split_dead(code_tokens(everything))[1])]
    bare = [r for r in regions if not any(r.start <= start < r.end for start in kept)]
    return [r for r in bare if not any(o.start <= r.start and r.end <= o.end and o != r for o in bare)]


def _trails(source: SourceFile, comment: Token, removed: Iterable[IncludeLine]) -> bool:
    """True for a comment behind a removed include, which goes with it, or behind a directive."""
    line = source.line_bytes(source.line_of(comment.start)).lstrip()
    return line.startswith(b"#") or any(r.start <= comment.start < r.end for r in removed)


def file_start(view: FileView) -> int:
    """Where a first #include may go: behind #pragma once or the include guard's two lines, and the leading comment.

    The comment may stand on either side; behind the others it is one that speaks of a licence.
    """
    source, tokens = view.source, view.tokens
    guard = guard_conditions(tokens)
    known = list(directives(tokens))
    if guard >= 0:
        return _behind_licence(source, _line_bounds(source, tokens[known[1][0]].start, tokens[known[1][0]].end)[1])
    if known and known[0][1] == "pragma" and known[0][0] == 0:
        return _behind_licence(source, _line_bounds(source, tokens[0].start, tokens[0].end)[1])
    offset = 3 if source.has_bom else 0
    for token in lex(source.data):
        if token.kind > Kind.COMMENT:
            break
        if token.kind is Kind.COMMENT:
            offset = _line_bounds(source, token.start, token.end)[1]
        elif offset and source.data[offset : token.end].count(b"\n") > 1:
            break
    return offset


def _behind_licence(source: SourceFile, offset: int) -> int:
    """The start of the line behind the comment that begins at ``offset`` or a blank line later; ``offset`` itself else.

    The comment goes on until a line that is none, and names a licence or a copyright.
    """
    end = offset
    for token in lex(source.data, offset):
        if token.kind > Kind.COMMENT:
            break
        if token.kind is Kind.COMMENT:
            if source.data[end : token.start].count(b"\n") > (end == offset):
                break
            end = _line_bounds(source, token.start, token.end)[1]
    return end if _LICENCE.search(source.data, offset, end) else offset


def contiguous(lines: list[IncludeLine], line: IncludeLine, same: Callable[[IncludeLine], bool]) -> list[IncludeLine]:
    """The unbroken run of lines around ``line`` that satisfy ``same`` and follow each other without a gap."""
    at = lines.index(line)
    first = last = at
    while first > 0 and lines[first - 1].end == lines[first].start and same(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and lines[last].end == lines[last + 1].start and same(lines[last + 1]):
        last += 1
    return lines[first : last + 1]
