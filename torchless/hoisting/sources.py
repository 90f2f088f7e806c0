"""A file of an analysed checkout with the headers that define what it names."""

from __future__ import annotations

from pathlib import Path

from torchless.analysis import Analysis
from torchless.facts.flags import STUB_PREFIX, STUBS
from torchless.hoisting.allocation import Source
from torchless.hoisting.definitions import Definitions, File
from torchless.text.source import SourceFile

_DECLARING_STUBS = ("ck",)
"""Stubs whose declarations say how a library takes its arguments, where the library itself is not in the checkout."""


class Shelf:
    """The files of one analysis, each read and lexed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._files: dict[str, File | None] = {}
        self._sources: dict[str, Source] = {}

    def source(self, path: str) -> Source:
        """``path``, a view of the analysis, with every header that the sources which reach it include.

        Raises KeyError when the analysis has no view of it.
        """
        if path not in self._sources:
            own = File(self._analysis.views[path].source, self._analysis.views[path])
            self._files[path] = own
            found = (self._file(other) for other in sorted(self._reached(path)) if other != path)
            self._sources[path] = Source(own, Definitions([own, *(file for file in found if file is not None)]))
        return self._sources[path]

    def _reached(self, path: str) -> set[str]:
        closures, graph = self._analysis.closures, self._analysis.graph
        units = [path] if path in closures else [s for s, files in closures.items() if path in files]
        reached = {other for unit in units for other in graph.closure_of(unit)}
        for folder in _DECLARING_STUBS:
            if any((STUBS / folder / header).is_file() for header in reached):
                headers = (p for p in (STUBS / folder).rglob("*") if p.is_file())
                reached.update(f"{STUB_PREFIX}{p.relative_to(STUBS).as_posix()}" for p in headers)
        return reached

    def _file(self, path: str) -> File | None:
        """The file, None for a header that is not there."""
        if path not in self._files:
            view = self._analysis.views.get(path)
            if view is not None:
                self._files[path] = File(view.source, view)
            elif path.startswith(STUB_PREFIX):
                self._files[path] = _on_disk(STUBS / path.removeprefix(STUB_PREFIX), path)
            elif self._analysis.graph.is_file(path):
                self._files[path] = _on_disk(self._analysis.root / path, path)
            else:
                self._files[path] = None
        return self._files[path]


def _on_disk(place: Path, path: str) -> File | None:
    try:
        return File(SourceFile(path, place.read_bytes()))
    except OSError:
        return None
