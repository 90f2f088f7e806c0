"""What the device pass needs of a source: followed by names from its device code, not taken from a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from torchless.facts.includes import IncludeGraph
from torchless.rewrites.passes.items import Item, UnreadableError, What, device_macros, items_of
from torchless.rewrites.std_headers import used_headers
from torchless.text.lexer import Kind, code_tokens, lex

_HIDDEN = (What.FUNCTION, What.OTHER)
_FOREIGN = {
    "torch": (b"torch", b"at", b"c10"),
    "ATen": (b"at", b"c10", b"torch"),
    "c10": (b"c10", b"at"),
    "pybind11": (b"pybind11", b"py"),
}
"""Names that stand before what a header of these folders declares."""
_HIP = {
    "hip/hip_fp16.h": rb"half",
    "hip/hip_bf16.h": rb"bf16|bfloat",
    "hip/hip_bfloat16.h": rb"bfloat16",
    "hip/hip_fp8.h": rb"fp8|Fp8",
    "hip/hip_complex.h": rb"Complex",
    "hip/hip_cooperative_groups.h": rb"cooperative_groups",
}
_API_ONLY = ("hip/hip_runtime_api.h", "hip/hiprtc.h", "hip/hip_ext.h", "hip/hip_version.h")


@dataclass(frozen=True)
class Reach:
    """How names and headers are looked up.

    read(path) gives a file's bytes, inside(path) says whether it is one of the checkout; ``reached`` maps each include
    of the source, as it is spelled, to the files it brings: those of the checkout by path, others as spelled.
    """

    read: Callable[[str], bytes]
    reached: Mapping[str, frozenset[str]]
    inside: Callable[[str], bool]


def reach_of(graph: IncludeGraph, read: Callable[[str], bytes], path: str, include_dirs: Sequence[str]) -> Reach:
    """What each include of the file ``path`` brings."""
    reached = {}
    for include in graph.includes(path):
        spelled = f"<{include.spelled}>" if include.angled else f'"{include.spelled}"'
        found = graph.resolve(path, include, include_dirs)
        files = graph.closure(found, include_dirs) if found else (include.spelled,)
        reached[spelled] = frozenset(files)
    return Reach(read, reached, graph.is_file)


@dataclass(frozen=True)
class Split:
    """What only the host pass needs.

    ``hidden`` are such items, includes among them; ``brought`` are headers that came through one of them and that
    device code needs, as to be spelled; ``lost`` are the files that the device pass does not read any more. ``whole``:
    there is no device code, all of the file can go.
    """

    items: tuple[Item, ...]
    hidden: tuple[Item, ...]
    brought: tuple[str, ...]
    lost: frozenset[str]
    whole: bool = False


def split_of(data: bytes, reach: Reach, wanted: frozenset[bytes] = frozenset()) -> Split | str | None:
    """What of the file ``data`` the device pass can do without, None for nothing, or why that is not known.

    ``wanted`` are names that device code elsewhere needs.
    """
    files = {path for found in reach.reached.values() for path in found if reach.inside(path)}
    marks = device_macros([data, *(reach.read(path) for path in sorted(files))])
    try:
        items = items_of(data, marks)
    except UnreadableError as error:
        return str(error)
    if b"force_cuda_host_device" in data:
        return "a pragma makes host functions device functions"
    includes = [item for item in items if item.what is What.INCLUDE]
    lost_all = frozenset(path for found in reach.reached.values() for path in found)
    if not wanted and not any(item.what in (What.DEVICE, What.ARMS) for item in items):
        hidden = tuple(item for item in items if item.what in (*_HIDDEN, What.INCLUDE))
        if not any(item.what is What.FUNCTION for item in hidden):
            return None
        return Split(tuple(items), hidden, (), lost_all, whole=True)
    visible, seen = _needed(items, wanted)
    hidden_items = [item for item in items if item.what in _HIDDEN and item not in visible]
    if not any(item.what is What.FUNCTION for item in hidden_items):
        return None
    kept = _kept_includes(includes, seen, reach)
    kept_files = frozenset(path for item in kept for path in reach.reached.get(item.spelled, ()))
    lost = lost_all - kept_files
    texts = [data[item.start : item.end] for item in items if item in visible]
    texts += [b" ".join(sorted(wanted)), *(reach.read(path) for path in sorted(kept_files) if reach.inside(path))]
    brought = _brought(texts, lost, kept_files)
    gone = tuple(item for item in items if item in hidden_items or (item.what is What.INCLUDE and item not in kept))
    return Split(tuple(items), gone, brought, lost)


def host_names(split: Split, reach: Reach) -> frozenset[bytes]:
    """The names in what is hidden, and in all that it may use of the headers, device code left out."""
    names = {name for item in split.hidden for name in item.mentions}
    files = {path for found in reach.reached.values() for path in found if reach.inside(path)}
    rows = [row for path in sorted(files) for row in _host_rows(reach.read(path))]
    while True:
        more = [row for row in rows if row[0] & names]
        rows = [row for row in rows if not row[0] & names]
        names = names.union(*(mentions for _, mentions in more))
        if not more:
            return frozenset(names)


@lru_cache(maxsize=4096)
def kernel_names(data: bytes) -> frozenset[bytes] | None:
    """The kernels that a header declares, in any arm of its conditionals; None where it cannot be read."""
    try:
        items = items_of(_unconditional(data), device_macros([data]))
    except UnreadableError:
        return None if b"__global__" in data else frozenset()
    return frozenset(name for item in items if b"__global__" in item.mentions for name in item.declares)


@lru_cache(maxsize=4096)
def _host_rows(data: bytes) -> tuple[tuple[frozenset[bytes], frozenset[bytes]], ...]:
    """(what it declares, what it names) of each item of a header that is no device code."""
    try:
        items = items_of(_unconditional(data), device_macros([data]))
    except UnreadableError:
        return ((_mentions(data), _mentions(data)),)
    return tuple((item.declares, item.mentions) for item in items if item.what is not What.DEVICE and item.declares)


def _unconditional(data: bytes) -> bytes:
    """``data`` with all arms of its conditionals."""
    lines = rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:[^\n]*\\\r?\n)*[^\n]*"
    return re.sub(lines, b"", data, flags=re.M)


def _needed(items: Sequence[Item], wanted: frozenset[bytes]) -> tuple[set[Item], frozenset[bytes]]:
    """(the items that device code needs, all names in them). Macros count where they are named."""
    visible = {item for item in items if item.what in (What.DEVICE, What.ARMS, What.DIRECTIVE, What.USING)}
    names = wanted.union(*(item.mentions for item in visible))
    while True:
        more = {
            item
            for item in items
            if item not in visible and item.what in (*_HIDDEN, What.DEFINE) and item.declares & names
        }
        if not more:
            return visible, frozenset(names)
        visible |= more
        names = names.union(*(item.mentions for item in more))


def _kept_includes(includes: Sequence[Item], names: frozenset[bytes], reach: Reach) -> list[Item]:
    """The includes that device code needs: those that bring a name of it, the lightest first; and what is no header of
    the checkout, torch or pybind11."""
    kept = [item for item in includes if not _may_go(item, reach)]
    while True:
        files = frozenset(path for item in kept for path in reach.reached.get(item.spelled, ()))
        wanted = names.union(*(_mentions(reach.read(path)) for path in files if reach.inside(path)))
        best: tuple[int, Item] | None = None
        for item in includes:
            own = reach.reached.get(item.spelled, frozenset()) - files
            if item not in kept and any(_declares(path, reach) & wanted for path in own):
                best = min(best or (len(own), item), (len(own), item), key=lambda pair: pair[0])
        if best is None:
            return kept
        kept.append(best[1])


def _may_go(item: Item, reach: Reach) -> bool:
    spelled = item.spelled.strip('<>"')
    return spelled.split("/")[0] in _FOREIGN or any(reach.inside(p) for p in reach.reached.get(item.spelled, ()))


def _declares(path: str, reach: Reach) -> frozenset[bytes]:
    if reach.inside(path):
        return _declared(reach.read(path))
    folder = path.split("/")[0]
    if folder in _FOREIGN:
        return frozenset(_FOREIGN[folder])
    if folder == "hip" or "/" not in path:
        return frozenset()  # brought in again by _brought()
    return frozenset({folder.encode()})


@lru_cache(maxsize=4096)
def _declared(data: bytes) -> frozenset[bytes]:
    """Every name that a header may declare at namespace scope, or define as a macro, in any arm of a conditional."""
    try:
        return frozenset(name for item in items_of(_unconditional(data)) for name in item.declares)
    except UnreadableError:
        return _mentions(data)


@lru_cache(maxsize=4096)
def _mentions(data: bytes) -> frozenset[bytes]:
    return frozenset(t.text for t in code_tokens(lex(data)) if t.kind is Kind.NAME)


def _brought(texts: Iterable[bytes], lost: frozenset[str], kept: frozenset[str]) -> tuple[str, ...]:
    """The headers of HIP and the standard library that what stays uses and that only the hidden includes brought."""
    listed = list(texts)
    words = b"\n".join(listed)
    out = []
    for header in sorted(lost):
        if header.startswith("hip/") and header not in _API_ONLY:
            pattern = _HIP.get(header)
            if pattern is None or re.search(pattern, words):
                out.append(f"<{header}>")
    if "hip/hip_runtime.h" not in kept and "<hip/hip_runtime.h>" not in out:
        out.insert(0, "<hip/hip_runtime.h>")
    if not any("." not in header or header.split("/")[0] in _FOREIGN for header in lost):
        return tuple(out)  # no header is lost that could have brought one of the standard library
    used = {use.header for text in listed for use in used_headers(code_tokens(lex(text)))}
    out += sorted(h for h in used if h.strip("<>") not in kept)
    return tuple(out)
