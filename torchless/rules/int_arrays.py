"""Local names for the sizes or strides of a tensor: ``auto s = x.strides();`` goes away, its uses ask x itself.

One that is given those of another tensor later becomes a pointer to the target's array. A pattern cannot say this:
whether the declaration may go depends on every use of the name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchless.facts.typing import FileView, object_class
from torchless.model import Edit, Finding
from torchless.text.lexer import CLOSERS, OPENERS, Kind, match_forward

CODE = "TL230"
_ACCESSORS = {b"sizes": b"size", b"strides": b"stride"}
_ARRAYS = {b"sizes": b"shape", b"strides": b"strides"}


@dataclass(frozen=True, slots=True)
class _Local:
    """The declaration: tokens first..last (with its semicolon), its call, the names, size or stride."""

    first: int
    last: int
    call: int
    name: bytes
    tensor: bytes
    accessor: bytes


def local_int_arrays(view: FileView) -> list[Finding]:
    """Findings with edits for local arrays that are only indexed, measured and set anew; others are not mentioned."""
    out = []
    for local in _locals(view):
        uses = _uses(view, local)
        if uses is None:
            continue
        anew = [i for i in uses if view.tokens[i + 1].text == b"="]
        if not anew:
            out.append(_finding(view, local, uses))
        elif all(view.tokens[i + 1].text in (b"[", b"=") for i in uses):
            out += _pointer(view, local, anew)
    return out


def _locals(view: FileView) -> Iterator[_Local]:
    """Declarations of the form ``[const] auto [const][&] name = tensor.sizes();``, also with braces or parentheses."""
    tokens = view.tokens
    for i, token in enumerate(tokens):
        if token.text not in _ACCESSORS or token.kind is not Kind.NAME or i < 5 or i + 3 >= len(tokens):
            continue
        shape = [t.text for t in tokens[i - 3 : i + 3]]  # = x . sizes ( )
        if shape[2] != b"." or shape[4:] != [b"(", b")"] or tokens[i - 2].kind is not Kind.NAME:
            continue
        closers = {b"=": b";", b"{": b"}", b"(": b")"}
        if shape[0] not in closers or tokens[i + 3].text != closers[shape[0]]:
            continue
        last = i + 3 if shape[0] == b"=" else i + 4
        first = _start_of_auto(view, i - 4)
        if first < 0 or last >= len(tokens) or tokens[last].text != b";":
            continue
        answer = object_class(view, i)
        if answer is not None and answer.only("tensor"):
            yield _Local(first, last, i, tokens[i - 4].text, tokens[i - 2].text, _ACCESSORS[token.text])


def _start_of_auto(view: FileView, name: int) -> int:
    """Index where ``[const] auto [const] [&]`` before the declared name starts, or -1."""
    tokens = view.tokens
    if tokens[name].kind is not Kind.NAME:
        return -1
    i = name - 1
    while i > 0 and tokens[i].text in (b"&", b"const"):
        i -= 1
    if tokens[i].text != b"auto":
        return -1
    while i > 0 and tokens[i - 1].text in (b"const", b"static", b"constexpr"):
        if tokens[i - 1].text != b"const":
            return -1
        i -= 1
    return i


def _uses(view: FileView, local: _Local) -> list[int] | None:
    """Indexes of the uses of the name in its scope; None when one of them needs the array itself."""
    tokens = view.tokens
    directive = tokens[local.last].directive
    out: list[int] = []
    depth = 0
    for i in range(local.last + 1, len(tokens)):
        token = tokens[i]
        if token.directive != directive or (directive and token.kind is Kind.DIRECTIVE):
            if directive:
                break
            continue
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if depth < 0:
            break
        before = tokens[i - 1]
        if token.kind is not Kind.NAME or before.text in (b".", b"->", b"::"):
            continue
        after = [t.text for t in tokens[i + 1 : i + 5]]
        if token.text == local.name:
            indexed = after[:1] == [b"["] and match_forward(tokens, i + 1) > 0
            if not indexed and after != [b".", b"size", b"(", b")"] and not _is_set_anew(view, local, i):
                return None
            out.append(i)
        elif token.text == local.tensor and (
            after[:1] == [b"="] or (before.kind is Kind.NAME and before.text != b"return")
        ):
            return None  # assigned to or declared anew: no longer the tensor that was asked
    return out


def _is_set_anew(view: FileView, local: _Local, name: int) -> bool:
    """Whether ``name = tensor.sizes();`` stands at the token ``name``, as a statement."""
    tokens = view.tokens
    texts = [t.text for t in tokens[name + 1 : name + 8]]
    if len(texts) < 7 or texts[0] != b"=" or texts[2] != b"." or texts[4:] != [b"(", b")", b";"]:
        return False
    plain = tokens[local.first].text == b"auto" and tokens[local.first + 1].text == local.name
    starts = tokens[name - 1].text in (b";", b"{", b"}", b")", b"else")
    answer = object_class(view, name + 4) if texts[3] in _ARRAYS and plain and starts else None
    return answer is not None and answer.only("tensor") and tokens[name + 2].kind is Kind.NAME


def _pointer(view: FileView, local: _Local, anew: list[int]) -> list[Finding]:
    """TL230 for the declaration, which becomes a pointer, and for each place that sets it anew."""
    tokens, path = view.tokens, view.source.path
    name = local.name.decode("utf-8", "replace")
    edits = (_edit(view, local.first, local.first, b"const int64_t*"), _array(view, local.call))
    out = [
        Finding(
            CODE,
            f"{name} becomes a pointer to the target's array: it is set anew",
            path,
            tokens[local.first].start,
            tokens[local.last].end,
            edits=edits,
        )
    ]
    for i in anew:
        message = f"{name} points to the array of another tensor"
        start, end = tokens[i].start, tokens[i + 7].end
        out.append(Finding(CODE, message, path, start, end, edits=(_array(view, i + 4),)))
    return out


def _array(view: FileView, accessor: int) -> Edit:
    """``sizes()`` becomes ``shape``, ``strides()`` ``strides``."""
    return _edit(view, accessor, accessor + 2, _ARRAYS[view.tokens[accessor].text])


def _finding(view: FileView, local: _Local, uses: list[int]) -> Finding:
    tokens, source = view.tokens, view.source
    edits = [_removal(view, local)]
    for i in uses:
        if tokens[i + 1].text == b"[":
            close = match_forward(tokens, i + 1)
            edits.append(_edit(view, i, i + 1, local.tensor + b"." + local.accessor + b"("))
            edits.append(_edit(view, close, close, b")"))
        else:
            edits.append(_edit(view, i, i + 2, local.tensor + b".dim"))
    message = (
        f"{local.name.decode('utf-8', 'replace')} goes away; its uses ask {local.tensor.decode('utf-8', 'replace')}"
    )
    return Finding(CODE, message, source.path, tokens[local.first].start, tokens[local.last].end, edits=tuple(edits))


def _edit(view: FileView, first: int, last: int, new: bytes) -> Edit:
    return Edit(view.source.path, view.tokens[first].start, view.tokens[last].end, new, CODE)


def _removal(view: FileView, local: _Local) -> Edit:
    """Takes the declaration out, with its line when nothing else stands there."""
    source = view.source
    start, end = view.tokens[local.first].start, view.tokens[local.last].end
    line = source.line_of(start)
    line_start = source.line_start(line)
    rest = source.line_bytes(line)[end - line_start :] if source.line_of(end) == line else b"x"
    if not source.data[line_start:start].strip() and rest.strip(b" \t\r\n\\") == b"" and rest.endswith(b"\n"):
        return Edit(source.path, line_start, line_start + len(source.line_bytes(line)), b"", CODE)
    return Edit(source.path, start, end, b"", CODE)
