"""Turns what the parser says about a function into a FunctionFact with ranges that hold in the file's bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from torchless.facts.model import FunctionFact, ParamFact
from torchless.text.lexer import Kind, lex

Extent = tuple[str, int, int]
"""(path, start, end); path "" when there is no range in one project file."""

_BLANKS = re.compile(rb"(?:\s|\\\r?\n|//[^\n]*|/\*.*?\*/)*", re.S)

_ATTRIBUTE_REACH = 200  # bytes that one attribute may take


@dataclass(slots=True)
class FunctionDraft:
    """A function while its children are being visited. Extents count macros where they are expanded."""

    name: str
    qualified: str
    name_start: int
    extent: Extent
    returns: str
    returns_spelled: str
    is_template: bool
    linkage: Extent | None
    params: list[tuple[str, str, str, Extent]] = field(default_factory=list)
    body: Extent = ("", 0, 0)
    is_kernel: bool = False


def finish(draft: FunctionDraft, path: str, data: bytes, launches: Sequence[int]) -> FunctionFact | None:
    """The fact, or None when the function is not spelled in ``path`` as a whole (its name was pasted by a macro).

    ``launches`` are the offsets in ``data`` where the parser saw a kernel launch expanded.
    """
    where, start, end = draft.extent
    name = draft.name.encode()
    named = data[draft.name_start : draft.name_start + len(name)] == name or draft.name.startswith(("~", "operator"))
    if where != path or not named or not start <= draft.name_start < end:
        return None
    body_start, body_end = _body(draft, path, data)
    is_extern_c = False
    if draft.linkage is not None:
        outer_path, outer_start, outer_end = draft.linkage
        is_extern_c = True
        # extern "C" without braces belongs to this declaration alone
        if outer_path == path and outer_start < start and outer_end <= end + 1 and outer_end >= end:
            start = outer_start
    start = _before_attributes(data, start)
    if body_start < 0:
        blank = _BLANKS.match(data, end)
        after = blank.end() if blank else end
        if data[after : after + 1] == b";":
            end = after + 1
    params = tuple(
        ParamFact(param_name, kind, spelled, *((a, b) if where == path and start <= a < b <= end else (-1, -1)))
        for param_name, kind, spelled, (where, a, b) in draft.params
    )
    return FunctionFact(
        path=path,
        start=start,
        end=end,
        name=draft.qualified,
        name_start=draft.name_start,
        body_start=body_start,
        body_end=body_end,
        params=params,
        returns=draft.returns,
        returns_spelled=draft.returns_spelled,
        is_template=draft.is_template,
        is_extern_c=is_extern_c,
        is_kernel=draft.is_kernel,
        launches=body_start >= 0 and _launches(data, body_start, body_end, launches),
    )


def _before_attributes(data: bytes, start: int) -> int:
    """Where a declaration at ``start`` begins when the [[...]] in front of it, which the parser leaves out, count."""
    while True:
        before = data[max(0, start - _ATTRIBUTE_REACH) : start].rstrip()
        opener = before.rfind(b"[[")
        if not before.endswith(b"]]") or opener < 0:
            return start
        start += opener - len(data[max(0, start - _ATTRIBUTE_REACH) : start])


def _body(draft: FunctionDraft, path: str, data: bytes) -> tuple[int, int]:
    """The range of the braces, (-1, -1) when they are not spelled in the file (a declaration, a macro's body)."""
    where, start, end = draft.body
    if where != path or data[start : start + 1] != b"{" or data[end - 1 : end] != b"}":
        return -1, -1
    return start, end


def _launches(data: bytes, start: int, end: int, launches: Sequence[int]) -> bool:
    """True when a launch is expanded in the range, or is written there in a statement that the parser gave up on."""
    if any(start <= offset < end for offset in launches):
        return True
    if b"<<<" not in data[start:end]:
        return False
    return any(t.kind is Kind.PUNCT and t.text == b"<<<" for t in lex(data, start, end))
