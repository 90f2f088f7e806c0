"""A workspace that the caller gives: a parameter in C++, a function that tells its size, a Python function around both.

Everything that has to change with the function is found by name: its declarations, the row that binds it, its op. A
call from C++, a second definition, an op that is not migrated: then nothing is offered, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from torchless.model import Confidence, Edit, Finding, Tier
from torchless.project.model import BindingRow, PyOp
from torchless.project.ops import parse_python
from torchless.rewrites.binding_rows import new_arguments, new_rows
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.scan import File
from torchless.rewrites.insertion import comment_above
from torchless.rewrites.python_layout import BlackStyle
from torchless.rewrites.scopes import BlockKind
from torchless.rewrites.workspaces.emit import frees_edits
from torchless.rewrites.workspaces.find import Staying, Workspace, workspaces
from torchless.rewrites.workspaces.size import NotAFunctionOfNumbers, Parameter, Size, parameters_of, size_of
from torchless.rewrites.wrappers import NotSplit, Surroundings, Wrapping, find_guard, split_op
from torchless.selection import is_cpp
from torchless.text.lexer import Kind
from torchless.text.source import SourceFile

GIVEN, NOT_GIVEN = "TL430", "TL431"
NAME = "workspace"
_CURRENT = b"getCurrentHIPStream"


class NotGivenError(ValueError):
    """Why the caller cannot give a workspace. One line, for people."""


@dataclass(frozen=True)
class _Function:
    """The function that allocates: its name, the token of it, its parameters, and where the new one goes among them."""

    file: File
    name: str
    at: int
    parameters: tuple[Parameter, ...]
    place: int

    @property
    def query(self) -> str:
        """The function that tells how many bytes it needs."""
        return f"{self.name}_workspace_size"


def given_findings(code: Codebase, path: str, style: BlackStyle) -> list[Finding]:
    """One finding for each workspace of the source ``path``: with all edits, or why its caller does not give it."""
    file = code.file(path)
    out = []
    found = workspaces(file.view.tokens)
    for one in found:
        at = one.at if isinstance(one, Staying) else one.allocation[0]
        try:
            out.append(_given(code, file, found, one, style))
        except (NotGivenError, NotAFunctionOfNumbers, NotSplit, UnicodeDecodeError, SyntaxError) as error:
            token = file.view.tokens[at]
            text = f"the memory is allocated in every call, and its caller does not give it: {error}"
            out.append(Finding(NOT_GIVEN, text, path, token.start, token.end, Tier.DISPLAY))
    return out


def _given(
    code: Codebase, file: File, found: Sequence[Workspace | Staying], one: Workspace | Staying, style: BlackStyle
) -> Finding:
    if isinstance(one, Staying):
        raise NotGivenError(one.reason)
    function = _function(code, file, one)
    inside = file.scopes.function_of(one.allocation[0])
    others = [o for o in found if file.scopes.function_of(_at(o)) == inside]
    if len(others) > 1:
        raise NotGivenError(f"{function.name} allocates {len(others)} times")
    size = size_of(file.scopes, one, list(function.parameters))
    rows, declarations = _row(code, function), list(_declarations(code, function))
    op = _op(code, rows, function)
    edits = [*_definition_edits(function, one, size)]
    for other, place in declarations:
        edits += _declaration_edits(other, place, function, size)
    edits += _row_edits(code, rows, function, size)
    edits += _python_edits(code, op, function, size, style)
    first, last = one.allocation
    tokens = file.view.tokens
    text = (
        f"{function.name} allocates {one.pointer} in every call: its caller gives it, {function.query} tells its size"
    )
    return Finding(
        GIVEN,
        text,
        file.path,
        tokens[first].start,
        tokens[last].end,
        Tier.UNSAFE,
        tuple(replace(e, code=GIVEN) for e in dict.fromkeys(edits)),
        Confidence.SYNTACTIC,
    )


def _at(one: Workspace | Staying) -> int:
    return one.at if isinstance(one, Staying) else one.allocation[0]


def _function(code: Codebase, file: File, one: Workspace) -> _Function:
    """The function of ``one``, when it is a plain one that gives nothing back."""
    tokens, scopes = file.view.tokens, file.scopes
    block = scopes.function_of(one.allocation[0])
    if block is None or block.params < 1 or tokens[block.params - 1].kind is not Kind.NAME:
        raise NotGivenError("it is allocated in no plain function")
    at = block.params - 1
    name = tokens[at].text.decode("latin-1")
    before = [t.text for t in tokens[block.head : at]]
    if any(word.startswith(b"AITER_C") or word == b"extern" for word in before):
        raise NotGivenError(f"{name} is called through ctypes, which gives a size back in 32 bits")
    if before != [b"void"]:
        raise NotGivenError(f"{name} is no plain function without a result")
    around = [b for b in scopes.around(block.head) if b.kind is not BlockKind.NAMESPACE]
    unnamed = [b for b in scopes.around(block.head) if tokens[b.open - 1].text == b"namespace"]
    if around or unnamed:
        raise NotGivenError(f"{name} is a member, or known in its file alone")
    if "AITER_CHECK" not in code.project.target_names:
        raise NotGivenError("the checkout has no AITER_CHECK to refuse too small a workspace with")
    parameters = tuple(parameters_of(scopes, block.params))
    if not any(p.is_tensor for p in parameters) or not all(p.name for p in parameters):
        raise NotGivenError(f"{name} takes no tensor of the target's: migrate it first")
    if NAME.encode() in {t.text for t in tokens[block.params : block.close]}:
        raise NotGivenError(f"{NAME} means something else in {name}")
    stream = [i for i in range(block.open, one.allocation[0]) if tokens[i].text == one.stream.encode()]
    spelled = {t.text for i in stream[:1] for t in tokens[i : i + 8]}
    if _CURRENT not in spelled and _CURRENT.decode() not in one.stream:
        raise NotGivenError("its launches may run on another stream than the one that torch's allocator knows")
    place = next((i for i, p in enumerate(parameters) if p.has_default), len(parameters))
    return _Function(file, name, at, parameters, place)


def _row(code: Codebase, function: _Function) -> BindingRow:
    """The one row that binds the function."""
    bound = [row for row in _rows(code) if row.target.rpartition("::")[2] == function.name]
    if len(bound) != 1:
        raise NotGivenError(f"{len(bound)} rows bind {function.name}: Python has to be its only caller")
    return bound[0]


def _rows(code: Codebase) -> list[BindingRow]:
    project = code.project
    return [row for m in project.binding_macros for row in m.rows] + [r for tu in project.binding_tus for r in tu.rows]


def _declarations(code: Codebase, function: _Function) -> Iterator[tuple[File, int]]:
    """(file, token of the name) of each declaration besides the definition. Raises where it is called or named."""
    word = function.name.encode("latin-1")
    project = code.project
    rows = [(row.path, row.start, row.end) for row in _rows(code)]
    for path in sorted({*project.sources, *project.headers}):
        if not is_cpp(path) or word not in code.read(path):
            continue
        file = code.file(path)
        tokens = file.view.tokens
        for i, token in enumerate(tokens):
            if token.text != word or token.kind is not Kind.NAME or (path, i) == (function.file.path, function.at):
                continue
            if any(path == p and start <= token.start < end for p, start, end in rows):
                continue
            close = file.scopes.pair.get(i + 1, -1) if tokens[i + 1].text == b"(" else -1
            is_declared = close > 0 and tokens[close + 1].text == b";" and tokens[i - 1].text == b"void"
            if not is_declared or file.scopes.function_of(i) is not None or token.directive:
                raise NotGivenError(f"{path} names {function.name} as well")
            if [p.type for p in parameters_of(file.scopes, i + 1)] != [p.type for p in function.parameters]:
                raise NotGivenError(f"{path} declares another {function.name}")
            yield file, i


def _op(code: Codebase, row: BindingRow, function: _Function) -> PyOp:
    """The one op that calls the function, when it is migrated and takes what the function takes."""
    ops = [op for op in code.project.ops if op.fc_name == row.name]
    if len(ops) != 1:
        raise NotGivenError(f"{len(ops)} ops of Python call {row.name}")
    op = ops[0]
    if not op.develop or op.ffi_type == "ctypes":
        raise NotGivenError(f"the op {op.function} is not called with develop=True")
    if len(op.params) != len(function.parameters) or op.returns.strip() != "None":
        raise NotGivenError(f"the op {op.function} does not take what {function.name} takes, or returns something")
    if op.has_gen_func:
        raise NotGivenError(f"what tells how to build {op.function} does not know the workspace")
    return op


def _declared(function: _Function, size: Size) -> str:
    return f"int64_t {function.query}({', '.join(declared for declared, *_ in size.asked)})"


def _parameter_edit(file: File, opening: int, function: _Function) -> Edit:
    """The new parameter in the brackets that open at token ``opening``."""
    tokens, source = file.view.tokens, file.view.source
    spans = parameters_of(file.scopes, opening)
    lines = [source.line_of(tokens[p.first].start) for p in spans]
    separator = b", "
    if len(spans) > 1 and len(set(lines)) == len(lines):
        start = tokens[spans[1].first].start
        separator = b"," + source.eol_at(start) + source.data[source.line_start(lines[1]) : start]
    text = f"aiter_tensor_t& {NAME}".encode()
    if function.place < len(spans):
        at = tokens[spans[function.place].first].start
        return Edit(file.path, at, at, text + separator, GIVEN)
    at = tokens[spans[-1].last].end
    return Edit(file.path, at, at, separator + text, GIVEN)


def _definition_edits(function: _Function, one: Workspace, size: Size) -> Iterator[Edit]:
    file = function.file
    source, tokens = file.view.source, file.view.tokens
    yield _parameter_edit(file, function.at + 1, function)
    block = file.scopes.function_of(one.allocation[0])
    assert block is not None
    line = source.line_start(source.line_of(tokens[block.head].start))
    eol, indent = source.eol_at(line), source.data[line : tokens[block.head].start]
    lines = [
        f"// The bytes that {function.name} needs as its workspace.",
        _declared(function, size),
        "{",
        *(f"    {text}" for text in size.lines),
        f"    return {size.value};",
        "}",
        "",
    ]
    text = b"".join((indent + t.encode("latin-1") if t else b"") + eol for t in lines)
    above = comment_above(file.view, line)
    yield Edit(file.path, above, above, text, GIVEN)
    first, last = tokens[one.allocation[0]], tokens[one.allocation[1]]
    start = source.line_start(source.line_of(first.start))
    indent = source.data[start : first.start]
    needed = source.data[tokens[one.size[0]].start : tokens[one.size[1]].end]
    pointer = one.pointer.encode("latin-1")
    value = f"{NAME}.data_ptr()".encode()
    value = value if one.type == "void" else b"static_cast<%b*>(%b)" % (one.type.encode("latin-1"), value)
    given = NAME.encode()
    checked = (
        b"AITER_CHECK(static_cast<size_t>(%b.numel() * %b.element_size()) >=" % (given, given),
        b"                static_cast<size_t>(%b)," % needed,
        b'            "%b: the workspace is too small");' % function.name.encode("latin-1"),
        b"%b = %b;" % (pointer, value),
    )
    yield Edit(file.path, first.start, last.end, (eol + indent).join(checked), GIVEN)
    yield from frees_edits(source, tokens, one, GIVEN)


def _declaration_edits(file: File, at: int, function: _Function, size: Size) -> Iterator[Edit]:
    yield _parameter_edit(file, at + 1, function)
    source, tokens = file.view.source, file.view.tokens
    end = tokens[file.scopes.pair[at + 1] + 1].end
    line = source.line_start(source.line_of(tokens[at - 1].start))
    indent = source.data[line : tokens[at - 1].start]
    indent = indent if not indent.strip() else b""
    text = source.eol_at(end) + indent + _declared(function, size).encode("latin-1") + b";"
    yield Edit(file.path, end, end, text, GIVEN)


def _row_edits(code: Codebase, row: BindingRow, function: _Function, size: Size) -> Iterator[Edit]:
    source = SourceFile(row.path, code.read(row.path))
    if NAME in {arg.name for arg in row.args}:
        raise NotGivenError(f"{row.name} has an argument {NAME}")
    found = new_arguments(source, row, [(function.place, NAME, False)], len(function.parameters))
    if found is not None and found.blocks:
        raise NotGivenError(found.message)
    yield from found.edits if found is not None else ()
    yield from new_rows(source, row, [(function.query, [name for _, name, *_ in size.asked])]).edits


def _python_edits(code: Codebase, op: PyOp, function: _Function, size: Size, style: BlackStyle) -> Sequence[Edit]:
    names = [p.name for p in op.params]
    tensor = next((p.name for p in op.params if p.annotation.rpartition(".")[2] == "Tensor"), "")
    if not tensor or NAME in names:
        raise NotGivenError(f"the op {op.function} has no tensor that tells the device, or a parameter {NAME}")
    asked = ", ".join(f"{names[place]}{method}" for *_, place, method in size.asked)
    kind = next(p.annotation for p in op.params if p.name == tensor)
    parameters = [(p.name, p.annotation) for p in op.params]
    wrapping = Wrapping(
        (*names[: function.place], NAME, *names[function.place :]),
        (*parameters[: function.place], (NAME, kind), *parameters[function.place :]),
        "",
        (f"{NAME} = torch.empty({function.query}({asked}), dtype=torch.uint8, device={tensor}.device)",),
        ("torch",),
        scratch=1,
        queries=((function.query, tuple(name for _, name, *_ in size.asked)),),
    )
    file = parse_python(op.path, code.read(op.path))
    around = Surroundings(
        find_guard(op.path, lambda path: SourceFile(path, _existing(code, path))),
        {other.function for other in code.project.ops},
    )
    return split_op(file, op, wrapping, style, around).edits


def _existing(code: Codebase, path: str) -> bytes:
    data = code.read(path)
    if not data:
        raise FileNotFoundError(path)
    return data
