"""``sizeof(x.dtype())`` where a constant has to come out: what torch's dtype object measures is written down.

``x.element_size()``, which is what was meant nearly always, is known at run time only. Where the value goes into a
template argument the size that torch gave stays: 2 bytes, those of the index that caffe2::TypeMeta holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding
from torchless.rewrites.scopes import Block, Scopes
from torchless.text.lexer import Kind, match_angle

CODE = "TL234"
_KEPT = b"sizeof(uint16_t)"


def keep_constants(view: FileView, scopes: Scopes, findings: Iterable[Finding]) -> list[Finding]:
    """``findings``, those about sizes of dtype objects that are constants with another edit."""
    return [_kept(f) if f.code == CODE and f.edits and _is_constant(view, scopes, f.start) else f for f in findings]


def _kept(finding: Finding) -> Finding:
    edits = tuple(Edit(finding.path, finding.start, finding.end, _KEPT, CODE) for _ in finding.edits[:1])
    text = f"{finding.message}; a template argument needs a constant, so it stays the 2 bytes of torch's dtype object"
    return replace(finding, message=text, edits=edits)


def _is_constant(view: FileView, scopes: Scopes, offset: int) -> bool:
    """Whether the expression at ``offset`` gives a const or constexpr variable that a template argument names."""
    tokens = view.tokens
    at = view.index_at.get(offset, -1)
    block = scopes.function_of(at) if at >= 0 else None
    if block is None:
        return False
    i = at
    while i > block.open and tokens[i].text != b"=":
        if tokens[i].text in (b";", b"{", b"}"):
            return False
        i -= 1
    name = i - 1
    start = name
    while start > block.open and tokens[start - 1].text not in (b";", b"{", b"}"):
        start -= 1
    words = {t.text for t in tokens[start:name]}
    return bool(words & {b"const", b"constexpr"}) and _in_template_argument(view, block, name)


def _in_template_argument(view: FileView, block: Block, name: int) -> bool:
    tokens = view.tokens
    for i in range(name + 1, block.close):
        if tokens[i].text == b"<" and tokens[i - 1].kind is Kind.NAME:
            close = match_angle(tokens, i)
            if close > 0 and any(t.text == tokens[name].text for t in tokens[i + 1 : close]):
                return True
    return False
