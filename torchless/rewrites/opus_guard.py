"""A header that brings torch's element types unless a macro says no: turned round, so that who needs them asks.

``#ifndef AITER_NO_TORCH_TYPES`` around ``#include <c10/util/Half.h>`` makes every translation unit that forgets the
macro a torch one. With ``#ifdef AITER_TORCH_TYPES`` instead, the few that use the types define it, and the defines that
kept torch out are no longer needed. The alternative leaves the header alone and adds the define to each unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torchless.facts.typing import FileView, canonical
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.include_lines import directives, file_start, include_lines
from torchless.rewrites.includes import is_torch_header
from torchless.rewrites.scopes import scopes_of
from torchless.text.lexer import Kind, match_angle
from torchless.text.source import SourceFile

_CODE = "TL107"
_ELEMENT_TYPES = frozenset({"at::Half", "at::BFloat16"})
_COLUMNS = 80
_Region = tuple[int, int]  # token indexes of the # of an #ifndef and of its #endif


@dataclass(frozen=True, slots=True)
class OptOutGuard:
    """A header's opt-out: the macro, the opt-in that replaces it, and the token ranges (# of #ifndef, # of #endif).

    ``templates`` are the class templates that the guarded ranges specialise for torch's types.
    """

    path: str
    macro: str
    opt_in: str
    regions: tuple[_Region, ...]
    templates: frozenset[str]


def find_guard(header: FileView) -> OptOutGuard | None:
    """The opt-out guard around torch includes of ``header``, or None when it has none that can be turned round.

    A region with an #else, or a macro whose name gives no opposite, cannot.
    """
    tokens = header.tokens
    torch = [line.header_start for line in include_lines(header, scopes_of(header)) if is_torch_header(line.header)]
    regions: dict[str, list[_Region]] = {}
    simple: dict[str, bool] = {}
    stack: list[tuple[int, str]] = []
    for i, keyword in directives(tokens):
        if keyword in ("if", "ifdef", "ifndef"):
            name = tokens[i + 2].text.decode("latin-1") if keyword == "ifndef" and i + 2 < len(tokens) else ""
            stack.append((i, name))
        elif keyword in ("else", "elif") and stack and stack[-1][1]:
            simple[stack[-1][1]] = False
        elif keyword == "endif" and stack:
            first, name = stack.pop()
            if name:
                regions.setdefault(name, []).append((first, i))
    for macro, found in regions.items():
        opt_in = _opposite(macro)
        guards_torch = any(tokens[a].start < t < tokens[b].start for a, b in found for t in torch)
        if guards_torch and opt_in and simple.get(macro, True):
            return OptOutGuard(
                header.source.path, macro, opt_in, tuple(sorted(found)), frozenset(_specialised(header, found))
            )
    return None


def _opposite(macro: str) -> str:
    """AITER_NO_TORCH_TYPES -> AITER_TORCH_TYPES; "" when the name has no NO in it."""
    words = macro.split("_")
    return "_".join(w for w in words if w != "NO") if words.count("NO") == 1 else ""


def _specialised(header: FileView, regions: Sequence[_Region]) -> set[str]:
    tokens = header.tokens
    return {
        tokens[i + 1].text.decode("latin-1")
        for first, last in regions
        for i in range(first, last - 2)
        if tokens[i].text in (b"struct", b"class") and tokens[i + 2].text == b"<"
    }


def uses_guarded_types(view: FileView, guard: OptOutGuard) -> bool:
    """Does the file use what the guard hides: a guarded template with torch's or an unknown type, or the types' names?

    ``t2opus<float>`` is there without torch; ``t2opus<scalar_t>`` may be ``t2opus<c10::Half>``.
    """
    if view.source.path == guard.path:
        return False
    tokens = view.tokens
    includes_torch = any(is_torch_header(line.header) for line in include_lines(view, scopes_of(view)))
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME:
            continue
        if token.text.decode("latin-1") in guard.templates and i + 1 < len(tokens) and tokens[i + 1].text == b"<":
            close = match_angle(tokens, i + 1)
            words = {t.text for t in tokens[i + 2 : close]} if close > 0 else {b"?"}
            if not words <= _PLAIN:
                return True
        elif not includes_torch and canonical(view, i) in _ELEMENT_TYPES:
            return True
    return False


_PLAIN = frozenset(b"float double int int8_t int32_t uint8_t int16_t int64_t std :: const".split())


def invert_guard(header: FileView, guard: OptOutGuard, files: Iterable[FileView], users: Iterable[str]) -> Finding:
    """One finding, with edits in several files, that turns ``guard`` of ``header`` into an opt-in.

    ``files`` are all that include the header (directly or not) or name the macro; ``users`` the paths of the sources
    that need the types, see uses_guarded_types(). Without edits when a header is among the users, or when another file
    tests the macro: then a person has to decide.
    """
    views = {v.source.path: v for v in files if v.source.path != guard.path}
    needing = sorted(users)
    for path in needing:
        if path not in views or not path.endswith((".cu", ".cpp", ".cc", ".hip")):
            return _finding(header, guard, [], f"{path} uses torch's types through it and is no source file")
    for view in views.values():
        if _tests(view, guard.macro):
            return _finding(header, guard, [], f"{view.source.path} tests {guard.macro} itself")
    edits = _header_edits(header, guard)
    for path, view in sorted(views.items()):
        edits += _without_define(view, guard.macro)
        if path in needing and not _defines(view, guard.opt_in):
            edits.append(_with_define(view, guard.opt_in))
    who = ", ".join(_base(p) for p in needing) or "nobody"
    return _finding(header, guard, edits, f"{who} defines {guard.opt_in}; the other translation units are free of it")


def define_per_unit(guard: OptOutGuard, sources: Iterable[FileView]) -> list[Finding]:
    """The alternative: ``#define`` the opt-out in each of ``sources`` that does not define it, before its includes."""
    out = []
    for view in sources:
        if _defines(view, guard.macro):
            continue
        edit = _with_define(view, guard.macro)
        message = f"{_base(guard.path)} brings torch's headers unless {guard.macro} is defined"
        out.append(Finding(_CODE, message, view.source.path, edit.start, edit.end, edits=(edit,)))
    return out


def _finding(header: FileView, guard: OptOutGuard, edits: Sequence[Edit], what: str) -> Finding:
    first = header.tokens[guard.regions[0][0]]
    return Finding(
        _CODE,
        f"{_base(guard.path)} brings torch's headers to who does not define {guard.macro}: {what}",
        header.source.path,
        first.start,
        header.tokens[guard.regions[0][0] + 2].end,
        tier=Tier.SAFE if edits else Tier.DISPLAY,
        edits=tuple(edits),
    )


def _header_edits(header: FileView, guard: OptOutGuard) -> list[Edit]:
    tokens, path = header.tokens, header.source.path
    edits = []
    for first, _ in guard.regions:
        keyword, name = tokens[first + 1], tokens[first + 2]
        edits.append(Edit(path, keyword.start, keyword.end, b"ifdef", _CODE))
        edits.append(Edit(path, name.start, name.end, guard.opt_in.encode(), _CODE))
    place = _sentence_above(header.source, tokens[guard.regions[0][0]].start, guard.macro)
    if place is not None:
        start, end = place
        text = f"A translation unit that uses them defines {guard.opt_in} before it includes this header."
        edits.append(Edit(path, start, end, _wrapped(header.source, start, text), _CODE))
    return edits


def _tests(view: FileView, macro: str) -> bool:
    tokens = view.tokens
    return any(t.text == macro.encode() and t.directive in ("if", "ifdef", "ifndef", "elif") for t in tokens)


def _defines(view: FileView, macro: str) -> bool:
    return _define_of(view, macro) >= 0


def _define_of(view: FileView, macro: str) -> int:
    """Index of the # of ``#define MACRO`` in ``view``, or -1."""
    tokens = view.tokens
    for i, keyword in directives(tokens):
        if keyword == "define" and i + 2 < len(tokens) and tokens[i + 2].text == macro.encode():
            return i
    return -1


def _without_define(view: FileView, macro: str) -> list[Edit]:
    """Edits that take ``#define MACRO`` out, and the sentence above it that says why it is there."""
    source = view.source
    i = _define_of(view, macro)
    if i < 0:
        return []
    line = source.line_of(view.tokens[i].start)
    start, end = source.line_start(line), source.line_start(line) + len(source.line_bytes(line))
    start += 3 if start == 0 and source.has_bom else 0
    edits = [Edit(source.path, start, end, b"", _CODE)]
    sentence = _sentence_above(source, view.tokens[i].start, macro)
    if sentence is None:
        return edits
    first, last = _whole_lines(source, *sentence)
    if last == start:
        return [Edit(source.path, first, end, b"", _CODE)]
    return [Edit(source.path, first, last, b"", _CODE), *edits]


def _with_define(view: FileView, macro: str) -> Edit:
    """``#define MACRO`` in front of the first #include that is always compiled."""
    source = view.source
    lines = [line for line in include_lines(view, scopes_of(view)) if line.movable]
    offset = lines[0].start if lines else file_start(view)
    text = f"#define {macro}".encode() + source.eol_at(offset)
    return Edit(source.path, offset, offset, text, _CODE)


def _sentence_above(source: SourceFile, offset: int, word: str) -> tuple[int, int] | None:
    """Byte range of the sentence with ``word`` in it, in the // lines right above the line of ``offset``.

    From its first letter to its full stop. None when no such comment names the word.
    """
    last = source.line_of(offset) - 1
    first = last + 1
    while first > 1 and source.line_bytes(first - 1).lstrip().startswith(b"//"):
        first -= 1
    if first > last:
        return None
    start = source.line_start(first)
    text = source.data[start : source.line_start(last) + len(source.line_bytes(last))]
    at = text.find(word.encode())
    if at < 0:
        return None
    begin = re.match(rb"[ \t]*//[ \t]*", text)
    assert begin is not None
    sentence = begin.end()
    # a full stop, or a line that starts a remark of its own ("todo:"), ends the sentence before
    for stop in re.finditer(rb"\.(?:[ \t]+|[ \t]*\r?\n[ \t]*//[ \t]*)", text[:at]):
        sentence = stop.end()
    end = re.search(rb"\.(?=\s|\Z)", text[at:])
    return start + sentence, start + (at + end.end() if end else len(text.rstrip()))


def _whole_lines(source: SourceFile, start: int, end: int) -> tuple[int, int]:
    """The range widened so that no empty comment stays: whole lines where the sentence fills them."""
    line_start = source.line_start(source.line_of(start))
    line = source.line_of(end - 1)
    line_end = source.line_start(line) + len(source.line_bytes(line))
    fills_start = source.data[line_start:start].strip() == b"//"
    fills_end = not source.data[end:line_end].strip()
    if fills_start and fills_end:
        return line_start, line_end
    if fills_end:
        while start > line_start and source.data[start - 1 : start] in (b" ", b"\t"):
            start -= 1
        return start, end
    while source.data[end : end + 1] in (b" ", b"\t"):
        end += 1
    return start, end


def _wrapped(source: SourceFile, start: int, text: str) -> bytes:
    """``text`` as comment text that continues the line at ``start``, broken where it gets too long."""
    line_start = source.line_start(source.line_of(start))
    prefix = re.match(rb"[ \t]*//[ \t]*", source.data[line_start:])
    lead = prefix.group() if prefix else b"// "
    eol = source.eol_at(start)
    lines = [source.data[line_start:start]]
    for word in text.split():
        blank = b"" if lines[-1].endswith((b" ", b"\t")) else b" "
        if len(lines[-1]) + len(blank) + len(word) > _COLUMNS:
            lines.append(lead + word.encode())
        else:
            lines[-1] += blank + word.encode()
    return eol.join(lines)[start - line_start :]


def _base(path: str) -> str:
    return path.rsplit("/", 1)[-1]
