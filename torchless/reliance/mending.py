"""The edit that takes an include directive out and brings in what came with it and is needed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from torchless.closure.model import Edge
from torchless.facts.typing import FileView
from torchless.lints.context import Context
from torchless.model import Edit
from torchless.reliance import families
from torchless.reliance.facts import Facts, View
from torchless.reliance.vestige import Verdict
from torchless.rewrites.include_lines import IncludeLine, contiguous, include_lines, removal
from torchless.rewrites.scopes import find_scopes
from torchless.rewrites.std_headers import is_given
from torchless.text.lexer import Kind, Token, code_tokens, lex
from torchless.text.source import SourceFile

_ROWS_VERSION = 2
_INCLUDE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*(?:#|%:|/\*)[^\n]*\binclude\b[^\n]*\n?", re.M)
_DIRECTIVE = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*#[ \t]*(\w+)", re.M)
_PRAGMA = re.compile(rb"IWYU\s+pragma:\s*(\w+)")


@dataclass(frozen=True, slots=True)
class Line:
    """The include line that an edge stands on. why_not: what forbids to touch it, "" where nothing does."""

    row: IncludeLine | None
    why_not: str


def include_rows(context: Context, path: str) -> list[IncludeLine]:
    """The includes of the file at ``path`` with a literal header, in file order."""
    try:
        rows = context.remembered(path, "include lines", _ROWS_VERSION, _rows)
    except OSError:
        return []
    return [IncludeLine(*row) for row in cast("tuple[Any, ...]", rows)]


def line_of(context: Context, edge: Edge) -> Line:
    """The line of ``edge``, and whether it may be taken out: not below an #if, not in braces, not where a comment says.

    Respected are the comments "IWYU pragma: keep" and "export", of a line or of lines between begin_ and end_.
    """
    row = next((r for r in include_rows(context, edge.includer) if r.start <= edge.offset < r.header_start), None)
    if row is None:
        return Line(None, "its header is named by a macro")
    data = context.source(edge.includer).data
    word = _pragma(data, row)
    if word:
        return Line(row, f"a comment says IWYU pragma: {word}")
    if row.conditions:
        return Line(row, f"it stands below #{row.conditions[-1]}")
    return Line(row, "it stands inside braces" if row.in_code else "")


def _pragma(data: bytes, row: IncludeLine) -> str:
    """The word of the IWYU pragma that keeps ``row``, "" for none."""
    open_blocks: set[str] = set()
    for match in _PRAGMA.finditer(data, 0, row.start):
        word = match[1].decode()
        if word.startswith("begin_"):
            open_blocks.add(word.removeprefix("begin_").removesuffix("s"))
        elif word.startswith("end_"):
            open_blocks.discard(word.removeprefix("end_").removesuffix("s"))
    own = [match[1].decode() for match in _PRAGMA.finditer(data, row.header_end, row.end)]
    return next((word for word in (*own, *sorted(open_blocks)) if word in ("keep", "export", "always_keep")), "")


def edits_for(facts: Facts, edge: Edge, verdict: Verdict, code: str) -> tuple[Edit, ...] | str:
    """The edits that take the line of ``edge`` out and bring in what ``verdict`` says is needed.

    A phrase that says why there are none, where that cannot be written.
    """
    context = facts.context
    line = line_of(context, edge)
    if line.row is None or line.why_not:
        return line.why_not
    rows = include_rows(context, edge.includer)
    views = facts.views_of.get(edge.includer, ())
    quoted = []
    for path in covering(verdict.needed, views):
        spelled = spelling(facts, edge.includer, path, views)
        if not spelled:
            return f"{path} cannot be spelled from there"
        quoted.append(f'"{spelled}"')
    there = {row.name.rpartition("/")[2] for row in rows if row.movable and row is not line.row}
    angled = _beside(facts, verdict, views)
    late = next((h for h in (*quoted, *angled) if h[1:-1].rpartition("/")[2] in there), "")
    if late:
        return f"{late} would have to be included earlier"
    return _edits(context.source(edge.includer), rows, line.row, quoted, angled, code)


def _beside(facts: Facts, verdict: Verdict, views: Sequence[View]) -> list[str]:
    """The headers outside of the checkout that are needed, and that those of the checkout do not bring, spelled <>."""
    brought: frozenset[str] | None = None
    for view in views:
        reached = [view.below(path) for path in verdict.needed if path in view.reading.entered]
        if reached:
            found = frozenset().union(*reached) & view.closure.outside
            brought = found if brought is None else brought & found
    given = families.standard_in(brought or ())
    has_hip = any(map(families.brings_hip, brought or ()))
    outside = {h for h in verdict.outside if h[1:-1] not in (brought or ())}
    if has_hip:
        outside.discard("<hip/hip_runtime.h>")
    return sorted({*outside, *(h for h in verdict.standard if not is_given(h, given))})


def covering(needed: Iterable[str], views: Sequence[View]) -> list[str]:
    """Of the headers ``needed`` those that no other one of them includes, sorted."""
    wanted = set(needed)
    below = {path: [view.below(path) for view in views if path in view.reading.entered] for path in wanted}

    def brings(other: str, path: str) -> bool:
        return bool(below[other]) and all(path in reached for reached in below[other])

    first: list[str] = []
    for path in sorted(wanted):
        mutual = [o for o in first if brings(o, path)]
        if not mutual and not any(o != path and brings(o, path) and not brings(path, o) for o in wanted):
            first.append(path)
    return first


def spelling(facts: Facts, includer: str, header: str, views: Sequence[View]) -> str:
    """The shortest way in which every build of ``includer`` finds ``header``; "" when there is none."""
    project = facts.context.project
    known = {*project.headers, *project.sources}
    found: set[str] | None = None
    for folders in {(posixpath.dirname(includer), *view.closure.spec.include_dirs) for view in views}:
        ways = set()
        for folder in folders:
            prefix = f"{folder}/" if folder not in ("", ".") else ""
            spelled = header[len(prefix) :] if header.startswith(prefix) else ""
            if spelled and _first(spelled, folders, known) == header:
                ways.add(spelled)
        found = ways if found is None else found & ways
    return min(found or (), key=lambda s: (len(s), s), default="")


def _first(spelled: str, folders: Sequence[str], known: set[str]) -> str:
    paths = (posixpath.normpath(posixpath.join(folder, spelled)) for folder in folders)
    return next((path for path in paths if path in known), "")


def _rows(data: bytes) -> tuple[tuple[object, ...], ...]:
    """The fields of every IncludeLine. Only the text up to the last include is looked at, unless an #if comes first."""
    last = max((match.end() for match in _INCLUDE.finditer(data)), default=0)
    first = _DIRECTIVE.search(data)
    end = len(data) if first is not None and first[1].startswith(b"if") else last
    view = FileView(SourceFile("", data), code_tokens(lex(data, 0, end)), {})
    within = _in_braces(view.tokens)
    return tuple(
        (r.header, r.start, r.end, r.header_start, r.header_end, r.conditions, r.in_code or r.header_start in within)
        for r in include_lines(view, find_scopes(view.tokens))
    )


def _in_braces(tokens: Iterable[Token]) -> set[int]:
    """Where headers are named within braces, those included that nothing of ``tokens`` closes any more."""
    depth = 0
    found = set()
    for token in tokens:
        if token.kind is Kind.HEADER and depth > 0:
            found.add(token.start)
        elif not token.directive and token.text in (b"{", b"}"):
            depth += 1 if token.text == b"{" else -1
    return found


def _edits(
    source: SourceFile,
    rows: Sequence[IncludeLine],
    line: IncludeLine,
    quoted: Sequence[str],
    angled: Sequence[str],
    code: str,
) -> tuple[Edit, ...]:
    """``line`` out, ``quoted`` headers in its place, ``angled`` ones behind the last angled include, else there too."""
    stays = [row for row in rows if row.movable and row is not line]
    behind = [row for row in stays if not row.quoted]
    here = list(quoted)
    if angled and (not behind or (not line.quoted and not quoted)):
        here += angled
        angled = ()
    edits: list[Edit] = []
    if here:
        edits.append(Edit(source.path, line.header_start, line.header_end, here[0].encode(), code))
        edits += _inserted(source, line, here[1:], code)
    else:
        edits.append(removal(source, line, code))
    if angled:
        run = contiguous(list(rows), behind[-1], lambda row: not row.quoted and row.movable)
        edits += _inserted(source, run[-1] if run[-1] is not line else behind[-1], angled, code)
    return tuple(edits)


def _inserted(source: SourceFile, line: IncludeLine, headers: Sequence[str], code: str) -> list[Edit]:
    """Insertions of an include line for each header behind ``line``."""
    eol = source.eol_at(line.start)
    is_last = not source.data[line.start : line.end].endswith((b"\n", b"\r"))
    out = []
    for rank, header in enumerate(headers):
        text = f"#include {header}".encode()
        new = eol + text if is_last else text + eol
        out.append(Edit(source.path, line.end, line.end, new, code, rank))
    return out
