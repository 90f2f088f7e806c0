"""pybind11 side of a migration: the stream setter, its header, and defaults that name torch.

A migrated op is called with the current stream handed over first, so each shared object must define
``_set_current_hip_stream``, exactly once: the stream is kept per shared object, and a second definition would become an
overload.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from torchless.facts.includes import IncludeGraph
from torchless.model import Edit, Finding, Tier
from torchless.project.bindings import SETTER_MACRO
from torchless.project.model import BindingMacro, BindingRow, BindingTu, Module, Project
from torchless.text.lexer import Kind, code_tokens, lex
from torchless.text.source import BOM, SourceFile

STREAM_HEADER = "aiter_stream.h"  # declares what the setter macro calls; the registration header does not include it
Read = Callable[[str], SourceFile]

_CONTINUED = re.compile(rb"([ \t]*)\\\r?\n?\Z")
_SETTER = SETTER_MACRO.encode()


def stream_setters(
    project: Project,
    modules: Sequence[Module],
    read: Read,
    graph: IncludeGraph,
    dropped: frozenset[str] = frozenset(),
    edited: Collection[str] = (),
) -> list[Finding]:
    """Give every module of one unit its stream setter and the header that the setter needs.

    ``modules`` are all modules that migrate together, ``dropped`` the headers (root-relative) that their sources stop
    including, ``edited`` those that change with the unit anyway: one that several binding sources include brings them
    what the setter calls, so that each need not ask for it. The setter goes into a registration macro that only these
    modules expand, else into the body of PYBIND11_MODULE. A module that has a setter, or no PYBIND11_MODULE, gives
    nothing. Findings: TL702, TL704, and the blocker TL590 where the checkout has no setter macro.
    """
    macros = macros_by_name(project)
    tus = {m.name: tu for m in project.modules if (tu := binding_tu(project, m)) is not None}
    expanded = {name: expanded_macros(tu, macros) for name, tu in tus.items()}
    covered = {
        name
        for name, tu in tus.items()
        if tu.has_stream_setter or any(d.has_stream_setter for macro in expanded[name] for d in macros[macro])
    }
    unit = {module.name for module in modules}
    findings: list[Finding] = []
    binding: list[str] = []  # the sources in which a setter appears
    for module in modules:
        tu = tus.get(module.name)
        if tu is None or module.name in covered:
            continue
        blocker = _setter_blocker(project, tu, module)
        if blocker is not None:
            findings.append(blocker)
            continue
        users: set[str] = set()
        for macro in expanded[module.name]:
            users = {name for name, names in expanded.items() if macro in names}
            if any(d.rows for d in macros[macro]) and users <= unit and not users & covered:
                findings += [setter_in_macro(read(d.path), d) for d in macros[macro]]
                break
        else:
            findings.append(setter_in_body(read(tu.path), tu))
            users = {name for name, other in tus.items() if other.path == tu.path}
        binding += [tus[name].path for name in sorted(users & unit)]
        covered |= users
    findings += _includes_of_setters(project, list(dict.fromkeys(binding)), read, graph, dropped, edited)
    return list(dict.fromkeys(findings))


def macros_by_name(project: Project) -> dict[str, list[BindingMacro]]:
    """Macro name -> its definitions: there may be several, in different #if arms."""
    macros: dict[str, list[BindingMacro]] = {}
    for macro in project.binding_macros:
        if macro.name != SETTER_MACRO:
            macros.setdefault(macro.name, []).append(macro)
    return macros


def binding_tu(project: Project, module: Module) -> BindingTu | None:
    """The PYBIND11_MODULE block of a module, None for a module without one (a ctypes module, say)."""
    return next((tu for tu in project.binding_tus if tu.path in module.sources), None)


def expanded_macros(tu: BindingTu, macros: Mapping[str, Sequence[BindingMacro]]) -> list[str]:
    """The known registration macros that a module expands, those inside other macros included, in order."""
    found: list[str] = []
    pending = list(tu.macros)
    while pending:
        name = pending.pop(0)
        if name in macros and name not in found:
            found.append(name)
            pending += [inner for definition in macros[name] for inner in definition.expands]
    return found


def _setter_blocker(project: Project, tu: BindingTu, module: Module) -> Finding | None:
    if SETTER_MACRO not in project.target_names:
        message = f"this checkout has no {SETTER_MACRO}, which {module.name} needs to receive the stream"
        advice = "take a newer checkout, or add the macro to the registration header"
    elif tu.variable != "m":
        message = f"{SETTER_MACRO} registers on m, but the module object of {module.name} is called {tu.variable}"
        advice = f"rename {tu.variable} to m"
    else:
        return None
    end = tu.body_start + 1
    return Finding("TL590", message, tu.path, tu.body_start, end, Tier.DISPLAY, blocks=True, help=advice)


def setter_in_macro(source: SourceFile, macro: BindingMacro) -> Finding:
    """The stream setter as the first thing that ``macro`` (of ``source``) registers.

    It gets a line of its own, whose backslash stands in the column of its neighbours when theirs are aligned; but where
    the body starts behind something else, as on the line of the #define, it goes between the two.
    """
    line = source.line_of(macro.body_start)
    start = source.line_start(line)
    if not source.data[start : macro.body_start].strip():
        text = indent_of(source.line_bytes(line)) + _SETTER + b";"
        column = _backslash_column(source, line - 1, line)
        text = text.ljust(column - 1) if len(text) < column - 1 else text + b" "
        edits = [Edit(macro.path, start, start, text + b"\\" + source.eol_at(start), "TL702")]
    else:
        text = _SETTER + b"; "
        edits = [Edit(macro.path, macro.body_start, macro.body_start, text, "TL702")]
        blanks = blanks_before_backslash(source, line)
        spare = min(len(text), blanks[1] - blanks[0] - 1)
        if spare > 0:  # keep the backslash in its column as far as the blanks before it allow
            edits.append(Edit(macro.path, blanks[1] - spare, blanks[1], b"", "TL702"))
    return Finding(
        code="TL702",
        message=f"{macro.name} registers no stream setter",
        path=macro.path,
        start=macro.body_start,
        end=macro.body_end,
        edits=tuple(edits),
    )


def indent_of(line: bytes) -> bytes:
    """The blanks at the start of ``line``."""
    return line[: len(line) - len(line.lstrip(b" \t"))]


def blanks_before_backslash(source: SourceFile, line: int) -> tuple[int, int]:
    """The byte range of the blanks before the backslash that continues 1-based ``line``; (0, 0) when none does."""
    found = _CONTINUED.search(source.line_bytes(line))
    if found is None:
        return 0, 0
    start = source.line_start(line)
    return start + found.start(1), start + found.end(1)


def _backslash_column(source: SourceFile, first: int, last: int) -> int:
    """The 1-based column that the backslashes of lines first..last share; 0 when they share none.

    A line that no backslash continues, the last one of a macro, has no say.
    """
    columns = set()
    for line in range(first, last + 1):
        text = source.line_bytes(line).rstrip(b"\r\n")
        if b"\t" in text:
            return 0  # how wide a tab is depends on who looks
        if text.endswith(b"\\"):
            columns.add(len(text.decode("utf-8", "replace")))
    return columns.pop() if len(columns) == 1 else 0


def setter_in_body(source: SourceFile, tu: BindingTu) -> Finding:
    """The stream setter as the first statement of a PYBIND11_MODULE body."""
    after = tu.body_start + 1
    newline = _rest_of_line(source.data, after, tu.body_end)
    if newline < 0:
        edit = Edit(tu.path, after, after, b" " + _SETTER + b";", "TL702")
    else:
        text = _body_indent(source, tu) + _SETTER + b";" + source.eol_at(tu.body_start)
        edit = Edit(tu.path, newline, newline, text, "TL702")
    return Finding(
        code="TL702",
        message="PYBIND11_MODULE registers no stream setter",
        path=tu.path,
        start=tu.body_start,
        end=after,
        edits=(edit,),
    )


def _rest_of_line(data: bytes, start: int, end: int) -> int:
    """The offset behind the line end that follows ``start``, -1 when code comes first. Comments do not count."""
    for token in lex(data, start, end):
        if token.kind is Kind.BLANK and b"\n" in token.text:
            return token.start + token.text.index(b"\n") + 1
        if token.kind not in (Kind.BLANK, Kind.COMMENT):
            return -1
    return -1


def _body_indent(source: SourceFile, tu: BindingTu) -> bytes:
    """The indentation of the first statement inside the body; four blanks when there is none."""
    for token in code_tokens(lex(source.data, tu.body_start + 1, tu.body_end - 1)):
        if not token.directive:
            return indent_of(source.line_bytes(source.line_of(token.start)))
    return b"    "


def _includes_of_setters(
    project: Project,
    sources: Sequence[str],
    read: Read,
    graph: IncludeGraph,
    dropped: frozenset[str],
    edited: Collection[str],
) -> list[Finding]:
    """The headers that the setter needs and that the binding ``sources`` do not reach every way they are built."""
    declaring = [m.path for m in project.binding_macros if m.name == SETTER_MACRO]
    needed = [*(posixpath.basename(path) for path in declaring[:1]), STREAM_HEADER]
    reached = {source: _reached_always(graph, source, dropped) for source in sources}
    names = {source: {posixpath.basename(path) for path in paths} for source, paths in reached.items()}
    left = [source for source in sources if STREAM_HEADER not in names[source]]
    out: list[Finding] = []
    direct = {source: _included_always(graph, source) & reached[source] for source in left}
    for header, users in _shared(left, direct, edited):
        out.append(_brought_by(read(header), graph, len(users)))
        left = [source for source in left if source not in users]
    for source in sources:
        missing = [name for name in needed if name not in names[source] and (name != STREAM_HEADER or source in left)]
        out += [include_header(read(source), graph, name, needed[0], rank) for rank, name in enumerate(missing)]
    return out


def _reached_always(graph: IncludeGraph, source: str, dropped: frozenset[str]) -> frozenset[str]:
    """What ``source`` reaches every way it is built, without what is ``dropped``."""
    ways = graph.units.get(source) or [()]
    return frozenset.intersection(*(frozenset(graph.closure(source, way, dropped)) for way in ways))


def _included_always(graph: IncludeGraph, source: str) -> frozenset[str]:
    """The files of the checkout that ``source`` itself includes every way it is built."""
    ways = graph.units.get(source) or [()]
    includes = graph.includes(source)
    return frozenset.intersection(*(frozenset(graph.resolve(source, i, way) for i in includes) for way in ways))


def _shared(
    sources: Sequence[str], included: Mapping[str, frozenset[str]], headers: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    """(header, sources that include it) for as few of ``headers`` as serve two or more sources each, most first."""
    left = list(sources)
    while True:
        users = {header: [s for s in left if header in included[s]] for header in sorted(headers)}
        header = max(users, key=lambda h: (len(users[h]), -sorted(headers).index(h)), default="")
        if not header or len(users[header]) < _SEVERAL:
            return
        yield header, users[header]
        left = [s for s in left if s not in users[header]]


_SEVERAL = 2


def _brought_by(header: SourceFile, graph: IncludeGraph, count: int) -> Finding:
    """A finding whose requirement, with what else the header's edits need, becomes an include of ``header``."""
    first = next(iter(graph.includes(header.path)), None)
    at = first.offset if first is not None else 0
    text = f"the stream setters of {count} binding sources that include this header need {STREAM_HEADER}"
    return Finding("TL704", text, header.path, at, at, requires=(STREAM_HEADER,))


def include_header(source: SourceFile, graph: IncludeGraph, name: str, after: str = "", rank: int = 0) -> Finding:
    """An include of header ``name`` in ``source``, after its include of ``after``, else before its first include.

    Next to ``after``, because the setter can only be used where the registration header was included. ``rank`` orders
    several headers at one place.
    """
    includes = graph.includes(source.path)
    beside = next((i for i in includes if posixpath.basename(i.spelled) == after), None)
    anchor = beside or next((i for i in includes if not i.angled), None) or next(iter(includes), None)
    offset = anchor.offset if anchor else len(BOM) if source.has_bom else 0
    directive = b'#include "%b"' % name.encode()
    eol = source.eol_at(offset)
    if beside:
        behind = (
            t.start for t in lex(source.data) if t.start > offset and (t.kind is Kind.DIRECTIVE or not t.directive)
        )
        at = next(behind, len(source.data))
        text = directive + eol if source.data[:at].endswith(b"\n") else eol + directive
    else:
        line_start = source.line_start(source.line_of(offset))
        at = offset if source.data[line_start:offset].strip() else line_start
        text = directive + eol
    edit = Edit(source.path, at, at, text, "TL704", rank)
    return Finding(
        code="TL704",
        message=f"{name} is not included, and the stream setter needs it",
        path=source.path,
        start=offset,
        end=offset,
        edits=(edit,),
    )


_NULLOPT = re.compile(r"(?:c10|at|torch)::nullopt")
_EMPTY = re.compile(
    r"(?:torch|at)::Tensor(?:\(\)|\{\})|(?:std|c10|at|torch)::optional<(?:torch|at)::Tensor>(?:\(\)|\{\})"
)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_TORCH_NAME = re.compile(r"\b(?:torch|at|c10)::")


def binding_defaults(
    source: SourceFile, row: BindingRow, becomes_optional: Callable[[int, str], bool]
) -> list[Finding]:
    """``py::arg`` defaults of ``row`` (of ``source``) that name torch (TL703).

    ``becomes_optional(index, name)`` says whether the parameter that argument ``index`` (0-based) binds is an optional
    tensor after the migration. An empty tensor becomes ``std::nullopt`` there; where the parameter stays a plain
    tensor, and for any other torch default, there is no edit and the finding blocks.
    """
    findings = []
    for index, arg in enumerate(row.args):
        spelled = re.sub(r"\s+", "", arg.default).removeprefix("::")
        if not _TORCH_NAME.search(_STRING.sub("", spelled)):
            continue
        start, end = arg.default_start, arg.default_end
        is_empty = _EMPTY.fullmatch(spelled) is not None
        if _NULLOPT.fullmatch(spelled) or (is_empty and becomes_optional(index, arg.name)):
            edits = [Edit(row.path, start, end, b"std::nullopt", "TL703")]
            shrinks = end - start - len(edits[0].new)
            _, backslash = blanks_before_backslash(source, source.line_of(end))
            if shrinks > 0 and backslash:  # keep the backslash in its column
                edits.append(Edit(row.path, backslash, backslash, b" " * shrinks, "TL703", rank=index))
            message = f"the default of {arg.name} names torch"
            findings.append(Finding("TL703", message, row.path, start, end, edits=tuple(edits)))
            continue
        if is_empty:
            message = f"{row.name}: {arg.name} defaults to an undefined tensor but is no optional"
            advice = "make the parameter an optional tensor, or drop the default and pass a tensor from Python"
        else:
            message = f"{row.name}: the default of {arg.name} names torch: {arg.default}"
            advice = "give the default without torch, or drop it and pass the value from Python"
        findings.append(Finding("TL703", message, row.path, start, end, Tier.DISPLAY, blocks=True, help=advice))
    return findings
