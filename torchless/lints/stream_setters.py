"""TL710 and TL711: modules of develop ops that register no stream setter, and modules that register it twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torchless.facts.includes import graph_of
from torchless.lints.bound import asked_ops
from torchless.lints.conditionals import outside_of_conditionals
from torchless.model import Edit, Finding, Tier
from torchless.project.bindings import SETTER_MACRO, SETTER_NAME
from torchless.project.model import BindingMacro, BindingTu, Module, PyOp
from torchless.rewrites.bindings import binding_tu, expanded_macros, macros_by_name, stream_setters
from torchless.text.lexer import Kind, Token, code_tokens, lex
from torchless.text.source import SourceFile

if TYPE_CHECKING:
    from torchless.lints.context import Context

MISSING = "TL710"
TWICE = "TL711"
_MACRO = SETTER_MACRO.encode()
_SPELLED = b'"%b"' % SETTER_NAME.encode()


def findings(context: Context) -> Iterator[Finding]:
    """One TL710 per module that lacks the setter, one TL711 per registration too many."""
    develop: dict[str, PyOp] = {}
    for op in asked_ops(context):
        if op.develop and op.ffi_type == "pybind":
            develop.setdefault(op.module, op)
    macros = macros_by_name(context.project)
    asked = {module.name for module in context.modules}
    for module in context.project.modules:
        if module.name not in develop and module.name not in asked:
            continue
        tu = binding_tu(context.project, module)
        if tu is None:
            continue
        if not _is_covered(tu, macros):
            if module.name in develop:
                yield _missing(context, module, tu, develop[module.name])
        elif tu.path in context.files:
            yield from _surplus(context, module, tu, macros)


def _is_covered(tu: BindingTu, macros: Mapping[str, Sequence[BindingMacro]]) -> bool:
    expanded = expanded_macros(tu, macros)
    return tu.has_stream_setter or any(d.has_stream_setter for name in expanded for d in macros[name])


def _missing(context: Context, module: Module, tu: BindingTu, op: PyOp) -> Finding:
    """At the binding block, or at an op where only Python was asked about; with the edits that a migration makes."""
    project = context.project
    made = stream_setters(project, [module], context.source, graph_of(project))
    blocked = next((f for f in made if f.blocks), None)
    edits = () if blocked else tuple(replace(e, code=MISSING) for f in made for e in f.edits)
    message = f"{module.name} has develop ops ({op.function}) but registers no {SETTER_NAME}: every call of them fails"
    here = tu.path in context.files
    return Finding(
        MISSING,
        message + (f"; {blocked.message}" if blocked else ""),
        tu.path if here else op.path,
        tu.body_start if here else op.start,
        tu.body_start + 1 if here else op.end,
        Tier.SAFE if edits else Tier.DISPLAY,
        edits,
        help=blocked.help if blocked else f"register it once: {SETTER_MACRO}",
    )


def _surplus(
    context: Context, module: Module, tu: BindingTu, macros: Mapping[str, Sequence[BindingMacro]]
) -> Iterator[Finding]:
    """Every registration in the block but the first; every one when a macro that the block expands has it as well."""
    source = context.source(tu.path)
    body = _tokens(source, tu.body_start + 1, tu.body_end - 1)
    own = [t for t in outside_of_conditionals(body) if _registers(t)]
    names = {t.text for t in outside_of_conditionals(body) if t.kind is Kind.NAME}
    carrying = [
        name
        for name in expanded_macros(tu, macros)
        if name.encode() in names and all(_carries(context, d, macros) for d in macros[name])
    ]
    for token in own if carrying else own[1:]:
        where = f"in {carrying[0]}" if carrying else f"on line {source.line_of(own[0].start)}"
        edit = _removal(source, body, token) if token.text == _MACRO else None
        yield Finding(
            TWICE,
            f"{module.name} registers {SETTER_NAME} here and {where}: pybind makes an overload of it",
            tu.path,
            token.start,
            token.end,
            Tier.SAFE if edit else Tier.DISPLAY,
            (edit,) if edit else (),
            help="register it once per module",
        )
    for name in carrying[1:]:
        at = next(t for t in body if t.text == name.encode())
        message = (
            f"{module.name} registers {SETTER_NAME} in {name} and in {carrying[0]}: pybind makes an overload of it"
        )
        advice = "register it once per module: take it out of the macro that fewer modules expand"
        yield Finding(TWICE, message, tu.path, at.start, at.end, Tier.DISPLAY, help=advice)


def _carries(context: Context, macro: BindingMacro, macros: Mapping[str, Sequence[BindingMacro]]) -> bool:
    """Whether expanding ``macro`` registers the setter, itself or through a macro within."""
    if macro.has_stream_setter:
        return True
    return any(all(d.has_stream_setter for d in macros[name]) for name in macro.expands if name in macros)


def _registers(token: Token) -> bool:
    return (token.kind is Kind.NAME and token.text == _MACRO) or token.text == _SPELLED


def _tokens(source: SourceFile, start: int, end: int) -> list[Token]:
    return code_tokens(lex(source.data, start, end))


def _removal(source: SourceFile, body: Sequence[Token], token: Token) -> Edit:
    """Takes out the macro and its semicolon, and the line when nothing else stands on it."""
    at = body.index(token)
    last = body[at + 1] if at + 1 < len(body) and body[at + 1].text == b";" else token
    line = source.line_of(token.start)
    start, end = source.line_start(line), source.line_start(line) + len(source.line_bytes(line))
    alone = not source.data[start : token.start].strip() and not source.data[last.end : end].strip()
    if alone:
        return Edit(source.path, start, end, b"", TWICE)
    blanks = len(source.data[last.end : end]) - len(source.data[last.end : end].lstrip(b" \t"))
    return Edit(source.path, token.start, last.end + blanks, b"", TWICE)
