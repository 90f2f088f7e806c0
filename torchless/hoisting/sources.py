"""A file of a checkout with the headers that define what it names."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path

from torchless.facts.includes import IncludeGraph
from torchless.facts.typing import FileView, make_view
from torchless.hoisting.allocation import Source, open_source
from torchless.hoisting.definitions import File
from torchless.text.source import SourceFile


class Shelf:
    """The files below ``root`` as ``graph`` joins them, each read once and lexed when something is looked up in it.

    ``views`` are files that were opened before, with the compiler's facts. ``headers`` are those of the project: one
    that is included by a folder that only the build knows is found when no other has its name.
    """

    def __init__(
        self, root: Path, graph: IncludeGraph, views: Mapping[str, FileView], headers: Iterable[str] = ()
    ) -> None:
        self._root = root
        self._named: dict[str, list[str]] = {}
        for header in headers:
            self._named.setdefault(posixpath.basename(header), []).append(header)
        self._graph = graph
        self._views = views
        self._files: dict[str, File | None] = {}
        self._sources: dict[str, Source] = {}

    def source(self, path: str) -> Source:
        """The file ``path`` with every header that the sources which reach it include. Raises OSError."""
        if path not in self._sources:
            view = self._views.get(path) or make_view(SourceFile(path, (self._root / path).read_bytes()))
            found = (self._file(other) for other in sorted(self._reached(path)) if other != path)
            self._sources[path] = open_source(view, [file for file in found if file is not None])
        return self._sources[path]

    def _reached(self, path: str) -> set[str]:
        units = [path, *self._graph.users_of(path)]
        reached = {other for unit in units for other in self._graph.closure_of(unit)}
        for spelled in [other for other in reached if not self._graph.is_file(other)]:
            found = self._named.get(posixpath.basename(spelled), [])
            if len(found) == 1:
                reached.update(self._graph.closure_of(found[0]))
        return reached

    def _file(self, path: str) -> File | None:
        """The file, None for a header that is not there."""
        if path not in self._files:
            view = self._views.get(path)
            if view is not None:
                self._files[path] = File(view.source, view)
            else:
                self._files[path] = _on_disk(self._root / path, path) if self._graph.is_file(path) else None
        return self._files[path]


def _on_disk(place: Path, path: str) -> File | None:
    try:
        return File(SourceFile(path, place.read_bytes()))
    except OSError:
        return None
