"""The text of the guards, and of the kernels that a device pass without launchers has to instantiate by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchless.model import Edit
from torchless.rewrites.passes.items import Item, What
from torchless.rewrites.passes.need import Split
from torchless.text.lexer import Kind, lex
from torchless.text.source import BOM, SourceFile

HOST = b"#if !defined(__HIP_DEVICE_COMPILE__) && !defined(__HIPCC_RTC__)"
DEVICE = b"#if defined(__HIP_DEVICE_COMPILE__) || defined(__HIPCC_RTC__)"
_HOST_END = b"#endif // host pass"
_DEVICE_END = b"#endif // device pass"


def guard_edits(
    source: SourceFile, split: Split, kernels: Sequence[str], code: str, condition: bytes = HOST
) -> list[Edit]:
    """The edits that put what only the host pass needs behind a guard, and instantiate ``kernels`` for the device pass.

    ``kernels`` are explicit instantiations, without the semicolon. ``condition`` is the line that opens a guard.
    Includes keep their order.
    """
    eol = source.eol_at(0)
    out: list[Edit] = []
    before_first = [f"#include {header}".encode() for header in (*split.brought, *_element_headers(split, kernels))]
    for first, last in _whole(split) if split.whole else _runs(source, split):
        start, end = _line_of(source, first), _behind(source, last)
        head = eol.join([*before_first, condition]) + eol
        before_first = []
        missing = b"" if source.data[:end].endswith(b"\n") else eol
        out.append(Edit(source.path, start, start, head, code))
        out.append(Edit(source.path, end, end, missing + _HOST_END + eol, code))
    if kernels:
        end = len(source.data)
        lines = [
            DEVICE,
            b"// The kernels that the launchers start, which the device pass does not see. Keep the list complete.",
            *(f"template {kernel};".encode() for kernel in kernels),
            _DEVICE_END,
        ]
        gap = eol if source.data.endswith(b"\n") else eol + eol
        out.append(Edit(source.path, end, end, gap + eol.join(lines) + eol, code, rank=1))
    return out


def _whole(split: Split) -> Iterator[tuple[int, int]]:
    yield split.items[0].start, split.items[-1].end


def _runs(source: SourceFile, split: Split) -> Iterator[tuple[int, int]]:
    """(start, end) of each run of hidden items; what needs no guard but stands between them does not part them."""
    hidden = set(split.hidden)
    run: list[Item] = []
    waiting: list[Item] = []
    for item in split.items:
        if item in hidden:
            if run and not _may_join(source, run[-1], item, waiting):
                yield run[0].start, run[-1].end
                run = []
            run.append(item)
            waiting = []
        elif run:
            waiting.append(item)
    if run:
        yield run[0].start, run[-1].end


def _may_join(source: SourceFile, last: Item, item: Item, between: Sequence[Item]) -> bool:
    """Only items of one kind, includes or others, make a run: include blocks stay what they are."""
    return not between and (last.what is What.INCLUDE) == (item.what is What.INCLUDE)


def _line_of(source: SourceFile, offset: int) -> int:
    """The start of the line of ``offset``, or of the comment that stands directly above it."""
    start = source.line_start(source.line_of(offset))
    comments = [t for t in lex(source.data, 0, start) if t.kind is not Kind.BLANK]
    while comments and comments[-1].kind is Kind.COMMENT:
        token = comments.pop()
        line = source.line_start(source.line_of(token.start))
        between = source.data[token.end : start]
        opens_file = not comments and token.start <= len(BOM)  # a licence belongs to no one
        if opens_file or source.data[line : token.start].strip() or between.count(b"\n") != 1 or between.strip():
            break
        start = line
    return start


def _behind(source: SourceFile, offset: int) -> int:
    """The start of the line behind that of ``offset``."""
    newline = source.data.find(b"\n", offset)
    return newline + 1 if newline >= 0 else len(source.data)


def _element_headers(split: Split, kernels: Sequence[str]) -> list[str]:
    """The headers of torch's element types among the arguments of ``kernels``, where the device pass loses them."""
    text = "\n".join(kernels)
    names = sorted(set(re.findall(r"\bc10::(Half|BFloat16|Float8_\w+)", text)))
    lost = any(path.split("/")[0] in ("torch", "ATen", "c10") for path in split.lost)
    return [f"<c10/util/{name}.h>" for name in names] if lost else []


def names_in(kernels: Sequence[str]) -> frozenset[bytes]:
    """The names in explicit instantiations, but those of torch's element types, whose headers are small."""
    words = {word.encode() for kernel in kernels for word in re.findall(r"[A-Za-z_]\w*", kernel)}
    return frozenset(words - {b"c10", b"at", b"torch"})


_UNNAMED = re.compile(r"\{lambda|'lambda|\$_\d|unnamed|decltype|\)(?: const)?::(?!\()|\{default arg")


def instantiations(names: Iterable[str]) -> list[str] | str:
    """The explicit instantiations of kernels by their demangled names, sorted; or which of them cannot be written."""
    out = []
    for name in names:
        text = name.replace("(anonymous namespace)::", "").replace("std::bfloat16_t", "__bf16")
        text = re.sub(r"(?<![\w:])half(?!\w)", "__fp16", text)  # HIP's own is called __half
        if _UNNAMED.search(text):
            return f"{name} has an argument without a name"
        if text.startswith("void "):
            out.append(f"__global__ {text}")
        else:
            return f"{name} is no instance of a template, and only the guarded part brings it"
    return sorted(out)
