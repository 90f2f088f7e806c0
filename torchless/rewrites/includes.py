"""Includes: torch's go, the target's and the standard headers that came through torch come in.

Works on the text as it will be: which names are used is read from the file with the unit's other edits made, so the
includes come last. Offsets of the edits are those of the file as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding, Tier
from torchless.rewrites.include_lines import (
    Conditional,
    IncludeLine,
    contiguous,
    emptied_conditionals,
    file_start,
    include_lines,
    removal,
)
from torchless.rewrites.scopes import Scopes, scopes_of
from torchless.rewrites.std_headers import Provided, lost_headers, used_headers
from torchless.text.dead import live_tokens
from torchless.text.edits import apply
from torchless.text.lexer import Kind, Token, code_tokens, lex

INTEROP = "py_itfs_common.h"
DISPATCH = "dispatch_utils.h"
TARGET_DISPATCH = "aiter_dispatch.h"
COMMON = "aiter_hip_common.h"

# Names that the target's headers offer. Source: the headers themselves, which the checkout holds.
_TARGET_NAMES = {
    "aiter_tensor_t": "aiter_tensor.h",
    "getCurrentHIPStream": "aiter_stream.h",
    "setCurrentHIPStream": "aiter_stream.h",
    "AITER_CHECK": COMMON,
    "HIP_CALL": COMMON,
    "HIP_CALL_LAUNCH": COMMON,
    "HipDeviceGuard": COMMON,
    "AiterDtype": "aiter_enum.h",
    "AiterDtype_to_str": "aiter_enum.h",
}
# Element types that edits put in torch's place; the target's dispatch header declares them as well.
_ELEMENT_HEADERS = {"__half": "<hip/hip_fp16.h>", "hip_bfloat16": "<hip/hip_bfloat16.h>"}
# A header -> headers that bring it.
_BROUGHT_BY = {
    "aiter_enum.h": ("aiter_hip_common.h", "aiter_tensor.h", "aiter_dispatch.h"),
    "aiter_hip_common.h": ("aiter_tensor.h",),
}
# What py_itfs_common.h itself offers, besides what it includes.
_INTEROP_NAMES = frozenset(
    {
        "torch_fp8",
        "torch_fp4x2",
        "get_torch_fp8",
        "t2ck",
        "torchDTypeToStr",
        "FOREACH_BUFFER_TORCH_TYPE_MAP",
        "isGPUArch",
        "AITER_USE_OCP_FP8",
    }
)
_DISPATCH_NAME = re.compile(
    r"(?:AITER|VLLM)_(?:DISPATCH|CASE)_\w+|AT_DISPATCH_\w+|AT_PRIVATE_\w+|DISPATCH_BY_KV_CACHE_\w+"
)
_TORCH_MACRO = re.compile(r"(?:TORCH|C10|AT)_[A-Z]\w*")
_ROOTS = frozenset({"torch", "at", "c10", "caffe2"})
_TORCH_PREFIXES = ("torch/", "ATen/", "c10/", "caffe2/")
_PUBLIC_TORCH = frozenset({"torch/all.h", "torch/extension.h", "torch/torch.h", "torch/python.h", "torch/types.h"})
_OF_DECLARATIONS = frozenset({"<cstdint>", "<optional>", "<string>", "<tuple>", "<vector>"})
_HEADER_SUFFIXES = (".h", ".hpp", ".cuh", ".hh", ".inc")


def is_torch_header(header: str) -> bool:
    """True for torch's own headers, spelled with quotes or brackets.

    A quoted "torch/x.h" may be the checkout's own file: only torch's well-known ones count there.
    """
    name = header[1:-1]
    if header.startswith('"'):
        return name in _PUBLIC_TORCH or name.startswith(("ATen/", "c10/"))
    return name.startswith(_TORCH_PREFIXES)


def rewrite_includes(
    view: FileView,
    edits: Sequence[Edit],
    *,
    provided: Provided,
    requires: Collection[str] = (),
    own_headers: Sequence[str] = (),
    lost_torch: bool = False,
    is_torch: Callable[[str], bool] = is_torch_header,
) -> list[Finding]:
    """Findings about the includes of ``view``, given the other ``edits`` of its unit (other files' are ignored).

    ``provided(header)`` says whether the includes that stay, and ``own_headers``, bring a header: "<optional>",
    "aiter_tensor.h".
    ``requires`` are headers that the rules behind the edits ask for, ``own_headers`` those that declare the entry
    points defined here. ``lost_torch`` says that a header which this file includes stops bringing torch, so that
    standard headers may be lost even when this file includes nothing of torch itself.
    """
    mine = [e for e in edits if e.path == view.source.path]
    scopes = scopes_of(view)
    lines = include_lines(view, scopes)
    concerned = any(is_torch(line.header) or _base(line) in (INTEROP, DISPATCH) for line in lines)
    if not (concerned or mine or requires or own_headers or lost_torch):
        return []
    after = live_tokens(code_tokens(lex(apply(view.source.data, mine))))
    new_text = [t for e in mine for t in code_tokens(lex(e.new))]
    plan = _Plan(view, scopes, lines, after, new_text, is_torch, provided)
    plan.take_out()
    plan.bring_in(requires, own_headers, lost_torch)
    return plan.findings


@dataclass(frozen=True, slots=True)
class _Place:
    """Where new lines go: byte offset, and what must stand before and behind each line there."""

    offset: int
    before: bytes = b""


class _Plan:
    """The findings about one file's includes as they come together."""

    def __init__(
        self,
        view: FileView,
        scopes: Scopes,
        lines: list[IncludeLine],
        after: list[Token],
        new_text: list[Token],
        is_torch: Callable[[str], bool],
        provided: Provided,
    ) -> None:
        self.view = view
        self.scopes = scopes
        self.lines = lines
        self.after = after
        self.new_text = new_text
        self.names = {t.text.decode("latin-1") for t in after if t.kind is Kind.NAME and t.directive != "include"}
        self.is_torch = is_torch
        self.provided = provided
        self.findings: list[Finding] = []
        self.removed: list[IncludeLine] = []
        self.replaced: dict[str, IncludeLine] = {}  # new header -> the line that now names it
        self.left = torch_names(after)

    # -- out

    def take_out(self) -> None:
        """Remove torch's includes, and the two headers of the checkout that bring torch, where nothing needs them."""
        torch = [line for line in self.lines if self.is_torch(line.header)]
        for line in [line for line in torch if _is_opt_in(line)]:
            self._stay(line, "TL101", "stays: its #if already lets a translation unit do without torch")
            torch.remove(line)
        if self.left:
            for line in torch:
                self._stay(line, "TL101", f"stays: the file still uses {_listed(self.left)}")
        else:
            self.removed += torch
        dispatch_names = sorted(n for n in self.names if _DISPATCH_NAME.fullmatch(n) and not n.endswith("_rmTorch"))
        for line in self.lines:
            if _base(line) == DISPATCH:
                self._take_out_dispatch(line, [n for n in dispatch_names if not self._is_defined_here(n)])
            elif _base(line) == INTEROP:
                self._take_out_interop(line)
        self._remove_lines()

    def _take_out_dispatch(self, line: IncludeLine, used: list[str]) -> None:
        if used or self.left:
            reason = f"stays: the file still uses {_listed(used or self.left)}"
            self._stay(line, "TL104", reason)
        elif self._needs_dispatch() and not self._is_direct(TARGET_DISPATCH):
            self.replaced[TARGET_DISPATCH] = line
            new = line.header.replace(DISPATCH, TARGET_DISPATCH)
            self._add(
                "TL104",
                f"{DISPATCH} brings torch; {TARGET_DISPATCH} has the macros without it",
                line,
                [Edit(self.view.source.path, line.header_start, line.header_end, new.encode(), "TL104")],
            )
        else:
            self.removed.append(line)

    def _take_out_interop(self, line: IncludeLine) -> None:
        used = sorted(self.names & _INTEROP_NAMES)
        if used or self.left:
            self._stay(line, "TL103", f"stays: the file still uses {_listed(used or self.left)}")
        else:
            self.removed.append(line)

    def _stay(self, line: IncludeLine, code: str, reason: str) -> None:
        self.findings.append(
            Finding(
                code,
                f"#include {line.header} {reason}",
                self.view.source.path,
                line.header_start,
                line.header_end,
                tier=Tier.DISPLAY,
            )
        )

    def _remove_lines(self) -> None:
        source = self.view.source
        conditional = any(line.conditions for line in self.removed)
        regions = emptied_conditionals(source, self.removed, self.view.tokens) if conditional else []
        for region in regions:
            inside = [line for line in self.removed if region.start <= line.start < region.end]
            edit = Edit(source.path, region.start, region.end, b"", _out_code(inside[0]))
            self._add(_out_code(inside[0]), _out_message(inside[0]), inside[0], [edit])
        for line in self.removed:
            if not _in_any(line, regions):
                code = _out_code(line)
                self._add(code, _out_message(line), line, [removal(self.view.source, line, code)])

    # -- in

    def bring_in(self, requires: Collection[str], own_headers: Sequence[str], lost_torch: bool) -> None:
        """Add what the edited text needs and what goes away with the removed includes."""
        gone = [line for line in self.removed if self.is_torch(line.header)]
        lost_common = any(_base(line) in (INTEROP, DISPATCH) for line in self.removed) or bool(self.replaced)
        wanted = {h.strip('"<>') for h in requires} | _target_headers(self.new_text)
        if lost_common:
            wanted |= _target_headers(self.after)
        if any(_base(line) == INTEROP for line in self.removed):
            wanted.add(COMMON)  # its other half: nobody can tell which of its names are used
        own = [h for h in own_headers if not self._is_direct(h) and h != self.view.source.path.rsplit("/", 1)[-1]]
        quoted = self._missing(wanted)
        stays = any(self.is_torch(line.header) and line.movable for line in self.lines if line not in self.removed)
        lost = (bool(self.removed) or lost_torch) and not stays
        standard = self._lost_standard(header_file=_is_header(self.view.source.path) and bool(gone)) if lost else []
        place = self._quoted_place()
        rank = 0
        for header in quoted:
            names = _names_for(header, self.after)
            why = f"{_listed(names)} {'is' if len(names) == 1 else 'are'} used" if names else "the edits need it"
            self._insert("TL102", f'"{header}": {why}', f'"{header}"', self._sorted(place, header), rank)
            rank += 1
        for header in own:
            message = f'"{header}" declares what is defined here: a mismatch becomes an error at compile time'
            self._insert("TL106", message, f'"{header}"', self._sorted(place, header), rank)
            rank += 1
        place = self._standard_place(gone, place)
        if TARGET_DISPATCH not in quoted:
            for header, name in self._missing_elements():
                self._insert("TL102", f"{header}: {name} is used", header, place, rank)
                rank += 1
        for header, used in standard:
            message = f"{header} came with torch's headers: {_listed(used)} {'is' if len(used) == 1 else 'are'} used"
            self._insert("TL105", message, header, place, rank)
            rank += 1

    def _missing(self, wanted: set[str]) -> list[str]:
        """Of the ``wanted`` target headers, sorted, those that neither the file nor one of the others brings."""

        def is_there(header: str) -> bool:
            return header in self.replaced or self._is_direct(header) or self.provided(header)

        missing = {h for h in wanted if not is_there(h)}
        return sorted(h for h in missing if not any(b in missing or is_there(b) for b in _bringers(h)))

    def _missing_elements(self) -> list[tuple[str, str]]:
        """(header, name) of the element types that the edits bring in and that no include declares."""
        new = {t.text.decode("latin-1") for t in self.new_text}
        if TARGET_DISPATCH in self.replaced or self._is_direct(TARGET_DISPATCH) or self.provided(TARGET_DISPATCH):
            return []
        direct = {line.header for line in self.lines if line.movable}
        wanted = {header: name for name, header in _ELEMENT_HEADERS.items() if name in new}
        return sorted((h, n) for h, n in wanted.items() if h not in direct and not self.provided(h))

    def _lost_standard(self, header_file: bool) -> list[tuple[str, tuple[str, ...]]]:
        direct = {line.header for line in self.lines if line not in self.removed and line.movable}
        direct |= {t.text.decode("latin-1") for t in self.new_text if t.kind is Kind.HEADER}  # edits bring them
        uses = lost_headers(self.after, lambda h: h in direct or self.provided(h))
        if header_file:
            # what declarations are made of, a header asks for itself
            asked = [u for u in used_headers(self.after) if u.header in _OF_DECLARATIONS and u.header not in direct]
            uses = sorted({*uses, *asked})
        return [(u.header, u.names) for u in uses]

    def _quoted_place(self) -> _Place:
        lines = [line for line in self.lines if line.movable]
        for base in (DISPATCH, INTEROP):
            for line in lines:
                if _base(line) == base and (line in self.removed or line in self.replaced.values()):
                    return self._behind(line)
        gone = [line for line in lines if line in self.removed]
        stays = [line for line in lines if line.quoted and line not in self.removed]
        if stays:
            before = [line for line in stays if gone and line.start < gone[0].start]
            return self._behind(self._last_of_run(before[-1] if before else stays[0 if gone else -1]))
        if gone:
            return _Place(contiguous(self.lines, gone[0], lambda x: not x.quoted and x.movable)[0].start)
        if lines:
            return _Place(lines[0].start)
        return _Place(file_start(self.view), b"")

    def _last_of_run(self, line: IncludeLine) -> IncludeLine:
        run = contiguous(self.lines, line, lambda x: x.quoted and x.movable)
        stays = [x for x in run if x not in self.removed]
        return stays[-1]

    def _standard_place(self, gone: Sequence[IncludeLine], quoted: _Place) -> _Place:
        for line in gone:
            if line.movable and not line.quoted:
                return _Place(line.start)
        angled = [line for line in self.lines if line.movable and not line.quoted and line not in self.removed]
        return self._behind(angled[-1]) if angled else quoted

    def _sorted(self, place: _Place, header: str) -> _Place:
        """In a sorted run of three or more quoted includes at ``place``, the line before which ``header`` belongs."""
        renamed = {line.start: name for name, line in self.replaced.items()}
        for line in self.lines:
            if line.movable and line.quoted and line.end == place.offset:
                run = contiguous(self.lines, line, lambda x: x.quoted and x.movable)
                names = [renamed.get(x.start, x.name) for x in run]
                if len(run) >= 3 and names == sorted(names) and not any(x in self.removed for x in run):
                    later = [x for x, name in zip(run, names, strict=True) if name > header]
                    return _Place(later[0].start) if later else place
        return place

    def _behind(self, line: IncludeLine) -> _Place:
        at_end = not self.view.source.data[line.start : line.end].endswith(b"\n")
        return _Place(line.end, self.view.source.eol_at(line.start) if at_end else b"")

    def _insert(self, code: str, message: str, header: str, place: _Place, rank: int) -> None:
        source = self.view.source
        eol = source.eol_at(max(place.offset - 1, 0))
        text = f"#include {header}".encode()
        new = place.before + text if place.before else text + eol
        edit = Edit(source.path, place.offset, place.offset, new, code, rank)
        self.findings.append(Finding(code, message, source.path, place.offset, place.offset, edits=(edit,)))

    # -- small things

    def _is_direct(self, header: str) -> bool:
        """True when an include of the file itself that is always compiled, or that an edit adds, names the header."""
        name = header.rsplit("/", 1)[-1]
        added = (t.text for t in self.new_text if t.directive == "include" and t.text[:1] in (b'"', b"<"))
        if any(text.strip(b'"<>').rpartition(b"/")[2] == name.encode() for text in added):
            return True
        return any(_base(line) == name for line in self.lines if line.movable and line not in self.removed)

    def _is_defined_here(self, name: str) -> bool:
        tokens = self.after
        return any(
            t.text.decode("latin-1") == name and i and tokens[i - 1].text == b"define" for i, t in enumerate(tokens)
        )

    def _needs_dispatch(self) -> bool:
        """Are its macros used, or do the edits use element types that it declares?"""
        new = {t.text.decode("latin-1") for t in self.new_text}
        used = any(n.endswith("_rmTorch") for n in self.names) or "cpp_type_from_aiter_dtype" in self.names
        return used or any(n in new and not self.provided(h) for n, h in _ELEMENT_HEADERS.items())

    def _add(self, code: str, message: str, line: IncludeLine, edits: Sequence[Edit]) -> None:
        self.findings.append(
            Finding(code, message, self.view.source.path, line.header_start, line.header_end, edits=tuple(edits))
        )


def torch_names(tokens: Sequence[Token]) -> list[str]:
    """Names of torch's that the code tokens still use, sorted: ``at::Half``, ``TORCH_CHECK`` ..."""
    out = set()
    for i, token in enumerate(tokens):
        if token.kind is not Kind.NAME or token.directive in ("include", "error", "pragma"):
            continue
        name = token.text.decode("latin-1")
        before = tokens[i - 1].text if i else b""
        after = tokens[i + 1].text if i + 1 < len(tokens) else b""
        if name in _ROOTS:
            nested = before in (b".", b"->") or (before == b"::" and i >= 2 and tokens[i - 2].kind is Kind.NAME)
            if after == b"::" and i + 2 < len(tokens) and not nested:
                out.add(f"{name}::{tokens[i + 2].text.decode('latin-1')}")
            elif before == b"namespace" and i >= 2 and tokens[i - 2].text == b"using":
                out.add(f"using namespace {name}")
        elif after == b"(" and _TORCH_MACRO.fullmatch(name) and not name.endswith("_rmTorch"):
            tested = token.directive in ("if", "elif") or before in (b"define", b"undef")
            if not tested:
                out.add(name)
    return sorted(out)


def _target_headers(tokens: Sequence[Token]) -> set[str]:
    out = set()
    for i, token in enumerate(tokens):
        name = token.text.decode("latin-1")
        if token.kind is not Kind.NAME:
            continue
        if name.endswith("_rmTorch"):
            out |= {TARGET_DISPATCH, COMMON}
        elif name.startswith("AITER_DTYPE_"):
            out.add("aiter_enum.h")
        elif name in _TARGET_NAMES and not (i >= 2 and tokens[i - 2].text in (b"hip", b"cuda", b"c10")):
            out.add(_TARGET_NAMES[name])
    return out


def _bringers(header: str) -> set[str]:
    """The target headers that include ``header``, directly or not."""
    found = set(_BROUGHT_BY.get(header, ()))
    return found.union(*(_bringers(h) for h in found))


def _names_for(header: str, tokens: Sequence[Token]) -> list[str]:
    names = {t.text.decode("latin-1") for t in tokens if t.kind is Kind.NAME}
    if header == TARGET_DISPATCH:
        return sorted(n for n in names if n.endswith("_rmTorch"))
    return sorted(n for n in names if _TARGET_NAMES.get(n) == header)


def _is_opt_in(line: IncludeLine) -> bool:
    """True when an #if around the line asks for (or against) torch: ``#ifndef AITER_NO_TORCH_TYPES``."""
    return any("TORCH" in condition for condition in line.conditions)


def _is_header(path: str) -> bool:
    return path.endswith(_HEADER_SUFFIXES)


def _base(line: IncludeLine) -> str:
    return line.name.rsplit("/", 1)[-1]


def _out_code(line: IncludeLine) -> str:
    return {INTEROP: "TL103", DISPATCH: "TL104"}.get(_base(line), "TL101")


def _out_message(line: IncludeLine) -> str:
    return f"#include {line.header} is no longer used: it brings torch's headers"


def _in_any(line: IncludeLine, regions: Sequence[Conditional]) -> bool:
    return any(r.start <= line.start < r.end for r in regions)


def _listed(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"
