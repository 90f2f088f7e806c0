"""TL610: binding sources that are compiled for the device pass although nothing in them is for the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchless.lints.bound import rows_of
from torchless.lints.declared import candidates, declarations
from torchless.lints.scan import FileScan, scans
from torchless.model import Edit, Finding, Tier
from torchless.project.bindings import MODULE_MACRO, SETTER_NAME
from torchless.project.model import BindingMacro, BindingTu
from torchless.rewrites.bindings import macros_by_name
from torchless.text.lexer import Kind, Token, code_tokens, lex, match_forward
from torchless.text.source import BOM, SourceFile

if TYPE_CHECKING:
    from torchless.lints.context import Context

CODE = "TL610"
_GUARD = b"__HIP_DEVICE_COMPILE__"  # clang defines it in the device pass
_DEVICE = frozenset(
    {b"__global__", b"__device__", b"__constant__", b"__managed__", b"<<<", b"hipLaunchKernelGGL", b"hipLaunchKernel"}
    | {b"hipLaunchCooperativeKernel", b"make_kernel"}
)
_OWN = _DEVICE | {b"__shared__", b"launch_kernel"}
_PASSES = (_GUARD, b"__HIPCC_RTC__", b"__CUDA_ARCH__", b"__HIP_ARCH__")  # words that tell the passes apart
_HARMLESS = frozenset({b"namespace", b"using", b"extern", b"typedef", b"static_assert", b"struct", b"class", b"enum"})
KERNELS, VARIABLES = 1, 2


def findings(context: Context) -> Iterator[Finding]:
    """One per binding source without device code that no guard keeps out of the device pass."""
    macros = macros_by_name(context.project)
    for tu in {tu.path: tu for tu in context.project.binding_tus}.values():
        if tu.path not in context.files:
            continue
        source = context.source(tu.path)
        tokens = code_tokens(list(context.tokens(tu.path)))
        passes = [closure for closure in context.closures_of(tu.path) if closure.spec.device]
        if any(t.text in _OWN for t in tokens) or not any(closure.edges for closure in passes):
            continue
        at = source.data.rindex(MODULE_MACRO, 0, tu.body_start)
        lines = max(sum(closure.lines.values()) for closure in passes)
        message = (
            f"the device pass reads {lines:,} preprocessed lines for each architecture, and finds nothing to compile"
        )
        reason = _doubt(context, tu, tokens, macros)
        edits = () if reason else _guard(source, tokens)
        yield Finding(
            CODE,
            message + (f"; {reason}" if reason else ""),
            tu.path,
            at,
            at + len(MODULE_MACRO),
            Tier.SAFE if edits else Tier.DISPLAY,
            edits,
            help=f"keep the file out of it: #ifndef {_GUARD.decode()} around everything",
        )


def _doubt(
    context: Context, tu: BindingTu, tokens: Sequence[Token], macros: Mapping[str, Sequence[BindingMacro]]
) -> str:
    """Why an edit is not certain to leave the object as it is, "" when it is."""
    if any(t.text in _PASSES for t in tokens):
        return "but it tells the passes apart itself"
    if _defines_functions(tokens):
        return "but it defines functions of its own"
    files = {path for closure in context.closures_of(tu.path) for path in closure.via if path not in closure.outside}
    risks = dict(scans(context, files - {tu.path}, _DEVICE_CODE))
    variable = next((path for path, found in risks.items() if found & VARIABLES), "")
    if variable:
        return f"but {variable} defines device code that every pass has to see"
    kernels = [path for path, found in risks.items() if found & KERNELS]
    if kernels:
        known = declarations(context, tu.path)
        for name, rows in rows_of(tu, macros).items():
            for row in rows if name != SETTER_NAME else ():
                found_here = candidates(known, row.target) if row.target else []
                if not found_here or any(d.defines for d in found_here):
                    return f"but {name} may use a kernel of {kernels[0]}"
    return ""


def _defines_functions(tokens: Sequence[Token]) -> bool:
    """Whether more than includes, declarations and PYBIND11_MODULE blocks stands in a file."""
    code = [t for t in tokens if not t.directive]
    i = head = 0
    while i < len(code):
        text = code[i].text
        if text in (b";", b"}"):
            head = i + 1
        elif text == b"(":
            i = match_forward(code, i)
            if i < 0:
                return True
        elif text == b"{":
            first = code[head].text
            if first == b"namespace" or (first == b"extern" and i == head + 2):
                head = i + 1
            elif first == MODULE_MACRO or (first in _HARMLESS and b"(" not in (t.text for t in code[head:i])):
                i = match_forward(code, i)
                head = i + 1
                if i < 0:
                    return True
            else:
                return True
        i += 1
    return False


def device_code(data: bytes) -> int:
    """KERNELS for a file with kernels or launches; VARIABLES as well where a compiler emits something unasked.

    That is a kernel which is no template and not static, or a variable on the device.
    """
    if not any(word in data for word in _DEVICE):
        return 0
    found = 0
    tokens = [t for t in code_tokens(lex(data)) if not t.directive]
    head = 0
    for i, token in enumerate(tokens):
        if token.text in (b";", b"{", b"}"):
            head = i + 1
        elif token.kind is Kind.NAME and token.text in (b"__constant__", b"__managed__"):
            found |= KERNELS | VARIABLES
        elif token.kind is Kind.NAME and token.text == b"__device__":
            rest = _next_of(tokens, i, (b"(", b";", b"=", b"{"))
            found |= VARIABLES if rest != b"(" else 0
        elif token.text == b"__global__":
            before = {t.text for t in tokens[head:i]}
            end = _next_of(tokens, i, (b";", b"{"))
            emitted = end == b"{" and not before & {b"template", b"static", b"inline"}
            found |= KERNELS | (VARIABLES if emitted else 0)
        elif token.text in _DEVICE:
            found |= KERNELS
    return found


_DEVICE_CODE = FileScan("device code", 1, device_code)


def _next_of(tokens: Sequence[Token], start: int, texts: tuple[bytes, ...]) -> bytes:
    """The first of ``texts`` among the tokens from ``start`` on; a semicolon when there is none."""
    return next((tokens[i].text for i in range(start, len(tokens)) if tokens[i].text in texts), b";")


def _guard(source: SourceFile, tokens: Sequence[Token]) -> tuple[Edit, ...]:
    """The guard around everything behind the comment that the file starts with, licences as a rule."""
    data = source.data
    start = len(BOM) if source.has_bom else 0
    at = start
    for token in lex(data, start, tokens[0].start):
        if token.kind is Kind.COMMENT:
            at = token.end
        elif at > start and token.text.count(b"\n") > 1:
            break
    behind = data[at : tokens[0].start]
    shared = at > start and b"\n" not in behind  # code follows on the comment's last line
    at = start if shared else at + (len(behind) - len(behind.lstrip()) if at > start else 0)
    line = source.line_start(source.line_of(at))
    at = line if at > start and not data[line:at].strip() else at  # keep the indentation
    eol = source.eol_at(at)
    above = b"" if at == start or data[:at].endswith((b"\n\n", b"\n\r\n")) else eol
    opening = above + b"#ifndef " + _GUARD + eol + eol
    last = max([tokens[-1].end, *(t.end for t in lex(data, tokens[-1].end) if t.kind is Kind.COMMENT)])
    newline = data.find(b"\n", last)
    end = newline + 1 if newline >= 0 else len(data)
    closing = (b"" if newline >= 0 else eol) + eol + b"#endif // !" + _GUARD + (eol if newline >= 0 else b"")
    return Edit(source.path, at, at, opening, CODE), Edit(source.path, end, end, closing, CODE)
