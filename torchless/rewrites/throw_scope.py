"""TL311 throwing-checks: let failing checks throw, as torch's did, instead of ending the process.

The target's check macro aborts unless the thread's throw flag is set. Each bound entry point gets a scope object that
sets the flag and gives it back its old value, whatever way the function is left. Only made with ``--checks throw``.
"""

from __future__ import annotations

from collections.abc import Collection

from torchless.facts.typing import FileView, token_at
from torchless.model import Edit, Finding, Tier
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

    ``entry_points`` are qualified names; ``offered`` the names that the target's headers have (the scope type is
    written into the file, after its last unconditional include, only where they lack it). Functions that have the
    object already give nothing.
    """
    path = view.source.path
    out: list[Finding] = []
    for function in view.functions:
        if function.name not in entry_points or function.body_start < 0 or function.path not in ("", path):
            continue
        opening = token_at(view, function.body_start)
        if opening < 0 or any(t.text == SCOPE.encode() for t in view.tokens[opening:] if t.start < function.body_end):
            continue
        eol = view.source.eol_at(function.body_start)
        statement = eol + f"    const {SCOPE} throw_scope;".encode()
        edits = [Edit(path, function.body_start + 1, function.body_start + 1, statement, CODE, rank=-10)]
        out.append(
            Finding(
                CODE,
                f"{function.name} lets its checks throw",
                path,
                function.name_start,
                function.body_start + 1,
                Tier.SAFE,
                tuple(edits),
                requires=("aiter_hip_common.h",),
            )
        )
    has_type = SCOPE in offered or any(
        t.text == SCOPE.encode() and view.tokens[i - 1].text == b"struct" for i, t in enumerate(view.tokens)
    )
    if out and not has_type:
        first = out[0]
        at = _after_includes(view)
        eol = view.source.eol_at(at)
        text = eol + eol.join(line.encode() for line in _DEFINITION) + eol
        edit = Edit(path, at, at, text, CODE, rank=20)
        out[0] = Finding(
            first.code, first.message, path, first.start, first.end, first.tier, (edit, *first.edits),
            requires=first.requires,
        )  # fmt: skip
    return out


def _after_includes(view: FileView) -> int:
    """Offset of the line behind the last #include that stands in no #if (an include guard does not count)."""
    depth = 0
    floor = 1 if _has_include_guard(view) else 0
    last = 0
    for i, token in enumerate(view.tokens):
        if token.kind is not Kind.DIRECTIVE or i + 1 >= len(view.tokens):
            continue
        keyword = view.tokens[i + 1].text
        if keyword in (b"if", b"ifdef", b"ifndef"):
            depth += 1
        elif keyword == b"endif":
            depth -= 1
        elif keyword == b"include" and depth <= floor:
            line = view.source.line_of(token.start)
            last = view.source.line_start(line + 1) if line < view.source.line_count else len(view.source.data)
    return last


def _has_include_guard(view: FileView) -> bool:
    words = [t.text for t in view.tokens[:6]]
    return len(words) == 6 and words[1] == b"ifndef" and words[4] == b"define" and words[2] == words[5]
