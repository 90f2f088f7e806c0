"""TL311 throwing-checks: let failing checks throw, as torch's did, instead of ending the process.

The target's check macro aborts unless the thread's throw flag is set. Each bound entry point gets a scope object that
sets the flag and gives it back its old value, whatever way the function is left. Only made with ``--checks throw``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView, token_at
from torchless.model import Edit, Finding
from torchless.rewrites.include_lines import directives, file_start, include_lines
from torchless.rewrites.scopes import find_scopes
from torchless.text.lexer import Kind

CODE = "TL311"
SCOPE = "AiterThrowScope"
_DEFINITION = (
    "namespace {",
    "// Lets checks throw while a bound function runs; afterwards the flag is what it was.",
    f"struct {SCOPE}",
    "{",
    "    bool saved = aiter_detail::g_aiter_can_throw;",
    f"    {SCOPE}() {{ aiter_detail::g_aiter_can_throw = true; }}",
    f"    ~{SCOPE}() {{ aiter_detail::g_aiter_can_throw = saved; }}",
    f"    {SCOPE}(const {SCOPE}&) = delete;",
    f"    {SCOPE}& operator=(const {SCOPE}&) = delete;",
    "};",
    "} // namespace",
)


def findings(view: FileView, entry_points: Collection[str], offered: Collection[str]) -> list[Finding]:
    """One finding per bound function that ``view`` defines: the scope object as its first statement.

    ``entry_points`` are qualified names; ``offered`` the names that the target's headers have. Where they lack the
    scope's type, one more finding writes it into the file, behind the includes that every such function comes after.
    Functions that have the object already give nothing.
    """
    path = view.source.path
    scope = SCOPE.encode()
    bound = []
    for function in view.functions:
        if function.name not in entry_points or function.body_start < 0 or function.path not in ("", path):
            continue
        opening = token_at(view, function.body_start)
        if opening >= 0 and not any(t.text == scope for t in view.tokens[opening:] if t.start < function.body_end):
            bound.append(function)
    out = [
        Finding(
            CODE,
            f"{function.name} lets its checks throw",
            path,
            function.name_start,
            function.body_start + 1,
            edits=(_statement(view, function),),
            requires=("aiter_hip_common.h",),
        )
        for function in bound
    ]
    has_type = any(t.text == scope and view.tokens[i - 1].text == b"struct" for i, t in enumerate(view.tokens))
    if out and SCOPE not in offered and not has_type:
        at = _behind_includes(view, bound)
        eol = view.source.eol_at(max(at - 1, 0))
        text = eol + eol.join(line.encode() for line in _DEFINITION) + eol
        if at and not view.source.data[:at].endswith(b"\n"):
            text = eol + text
        edit = Edit(path, at, at, text, CODE, rank=20)
        out.append(Finding(CODE, f"{SCOPE} is defined where its objects are used", path, at, at, edits=(edit,)))
    return out


def _statement(view: FileView, function: FunctionFact) -> Edit:
    """The scope object, on a line of its own where the body's first statement is on one."""
    data = view.source.data
    at = function.body_start + 1
    text = f"const {SCOPE} throw_scope;".encode()
    rest = _REST_OF_LINE.match(data, at)
    if rest is None:
        return Edit(view.source.path, at, at, b" " + text, CODE, rank=-10)
    indent = rest[2] or b"    "
    return Edit(view.source.path, rest.end(1), rest.end(1), view.source.eol_at(at) + indent + text, CODE, rank=-10)


# what may follow an opening brace on its line, and the indentation of the next line that is not empty
_REST_OF_LINE = re.compile(rb"([ \t]*(?://[^\r\n]*)?)\r?\n(?:[ \t]*\r?\n)*([ \t]*)")


def _behind_includes(view: FileView, functions: Sequence[FunctionFact]) -> int:
    """Where a type goes that all ``functions`` use: behind the last #include before the first of them.

    Only includes at file scope count, in no #if that some of the functions are not in. Where all includes are
    conditional it goes behind the last such #if, and where there is none to the start of the file.
    """
    first = min(f.start for f in functions)
    shared = frozenset.intersection(*(_open_arms(view, f.start) for f in functions))
    lines = [line for line in include_lines(view, find_scopes(view.tokens)) if line.start < first and not line.in_code]
    always = [line.end for line in lines if _open_arms(view, line.header_start) <= shared]
    if always:
        return always[-1]
    behind = [
        view.source.line_start(view.source.line_of(token.start) + 1)
        for i, token in enumerate(view.tokens)
        if lines and lines[-1].start < token.start < first
        if token.text == b"endif" and view.tokens[i - 1].kind is Kind.DIRECTIVE
        if _open_arms(view, token.end) <= shared
    ]
    return behind[0] if behind else file_start(view)


def _open_arms(view: FileView, offset: int) -> frozenset[int]:
    """The #if, #elif and #else whose text holds byte ``offset``, by offset."""
    open_at: list[int] = []
    for i, keyword in directives(view.tokens):
        if view.tokens[i].start >= offset:
            break
        if keyword in ("elif", "else", "elifdef", "elifndef", "endif") and open_at:
            open_at.pop()
        if keyword in ("if", "ifdef", "ifndef", "elif", "else", "elifdef", "elifndef"):
            open_at.append(view.tokens[i].start)
    return frozenset(open_at)
