"""Which files have to be looked at so that the units of a selection come out whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from torchless.project.model import Project
from torchless.units.entities import Entity

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


def with_siblings(project: Project, sources: Iterable[str]) -> frozenset[str]:
    """``sources`` and every other source of the modules that they belong to: a module moves as a whole."""
    out = set(sources)
    while True:
        more = {s for m in project.modules if out.intersection(m.sources) for s in m.sources} - out
        if not more:
            return frozenset(out)
        out |= more


def further_sources(
    entities: Iterable[Entity],
    known: frozenset[str],
    looked_at: Collection[str],
    closures: Mapping[str, frozenset[str]],
    read: Callable[[str], bytes],
    is_header: Callable[[str], bool],
) -> frozenset[str]:
    """Sources outside of ``known`` that could be tied to ``entities``, which are about to change in a shared header.

    Such a source reaches the header and, in a file that nobody has ``looked_at``, names one of its entities. (What an
    edit of the header does to all the others is for the check to see.)
    """
    names: dict[str, set[str]] = {}
    for entity in entities:
        if entity.name and is_header(entity.path):
            names.setdefault(entity.path, set()).add(entity.last_name)
    out: set[str] = set()
    for header, words in sorted(names.items()):
        pattern = re.compile(rb"\b(?:" + b"|".join(re.escape(w.encode("latin-1")) for w in sorted(words)) + rb")\b")
        mentions: dict[str, bool] = {}
        for source, files in closures.items():
            if source in known or source in out or header not in files:
                continue
            for path in files:
                if path not in mentions:
                    mentions[path] = path not in looked_at and pattern.search(read(path)) is not None
            if any(mentions[path] for path in files):
                out.add(source)
    return frozenset(out)
