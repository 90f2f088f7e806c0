"""Which files have to be looked at so that the units of a selection come out whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from torchless.project.model import Project

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_TORCH_TEXT = re.compile(
    rb"\b(?:torch|at|c10|caffe2)::|\bTORCH_[A-Z]+|\bC10_[A-Z]+|\bAT_(?:DISPATCH|ERROR|CHECK|ASSERT)"
    rb"|\b(?:torch|ATen|c10|caffe2)/|\bnamespace at\b|\b(?:AITER|VLLM)_DISPATCH_|\bt2opus\b|\btorch_fp"
    rb"|\bTensor\b|\bscalar_type\b|\bdata_ptr<"
)


def has_torch_text(data: bytes) -> bool:
    """A cheap first look: could this file's code hold a torch construct? Never false for one that does.

    (A // inside a string hides the rest of its line from this look; a construct there would stand alone in its file.)
    """
    return _TORCH_TEXT.search(data) is not None and _TORCH_TEXT.search(_COMMENT.sub(b"", data)) is not None


@dataclass(frozen=True, slots=True)
class Scope:
    """The files to analyse: sources to parse (their whole closure is looked at), and modules they belong to."""

    sources: tuple[str, ...]
    modules: tuple[str, ...]


def analysis_scope(
    project: Project,
    selected: Iterable[str],
    closures: Mapping[str, frozenset[str]],
    torchy: Callable[[str], bool],
    foreign: Callable[[str], bool],
) -> Scope:
    """Start from the ``selected`` sources and take in every module that shares a torch file with one already in.

    ``torchy(path)`` says whether a file could hold torch; ``foreign(path)`` whether it is a header that a migration
    stops including instead of editing: such a header ties nothing.
    """
    modules_of: dict[str, list[str]] = {}
    for module in project.modules:
        for source in module.sources:
            modules_of.setdefault(source, []).append(module.name)
    sources_of = {m.name: m.sources for m in project.modules}

    def shared(source: str) -> list[str]:
        return [p for p in closures.get(source, ()) if torchy(p) and not foreign(p)]

    users: dict[str, set[str]] = {}
    for source in closures:
        for path in shared(source):
            users.setdefault(path, set()).add(source)
    done: set[str] = set()
    modules: set[str] = set()
    queue = sorted(selected)
    while queue:
        source = queue.pop()
        if source in done:
            continue
        done.add(source)
        for name in modules_of.get(source, ()):
            if name not in modules:
                modules.add(name)
                queue.extend(s for s in sources_of[name] if s not in done)
        for path in shared(source):
            queue.extend(s for s in users.get(path, ()) if s not in done)
    return Scope(tuple(sorted(done)), tuple(sorted(modules)))
