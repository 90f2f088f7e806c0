"""Closures of a project's translation units, on demand, with everything that was read from a file in the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from torchless.closure.directives import DIRECTIVES, Scan, scan_directives
from torchless.closure.heavy import HeavySet
from torchless.closure.model import Closure
from torchless.closure.walk import Checkout, closure_of
from torchless.facts.includes import Include, IncludeGraph, graph_of, scan_includes, specs_of
from torchless.facts.spec import TuSpec
from torchless.index import Index
from torchless.project.model import Project

_INCLUDES_VERSION = 1
_NOTHING = scan_directives(b"")


class Closures:
    """What every source of ``project`` reads, in each way that its modules build it and each pass.

    ``defines`` and ``include_dirs`` come on top of those of the modules; ``arch`` is that of the device pass.
    ``overlay`` is the text of files that are to be read otherwise than they are on disk, by root-relative path.
    """

    def __init__(
        self,
        project: Project,
        index: Index,
        heavy: HeavySet,
        arch: str,
        defines: Sequence[str] = (),
        include_dirs: Sequence[str] = (),
        overlay: Mapping[str, bytes] | None = None,
    ) -> None:
        self.heavy = heavy
        self._project = project
        self._index = index
        self._arch = arch
        self._defines = tuple(defines)
        self._include_dirs = tuple(include_dirs)
        self._overlay = dict(overlay or {})
        self._known: dict[str, tuple[Closure, ...]] = {}

    def of(self, source: str) -> tuple[Closure, ...]:
        """The closures of ``source``: host pass before device pass, ENABLE_CK=0 before 1 where modules differ."""
        if source not in self._known:
            self._known[source] = tuple(closure_of(self._checkout, spec) for spec in self.specs(source))
        return self._known[source]

    def specs(self, source: str) -> list[TuSpec]:
        """Every way in which ``source`` is built."""
        return [
            TuSpec(
                spec.source,
                (*spec.include_dirs, *self._include_dirs),
                (*spec.defines, *self._defines),
                spec.enable_ck,
                spec.device,
                spec.arch,
            )
            for spec in specs_of(self._project, self.graph, source, arch=self._arch)
        ]

    def users_of(self, header: str) -> frozenset[str]:
        """The sources that may reach ``header``, conditions ignored."""
        return frozenset(self.graph.users_of(header))

    @cached_property
    def graph(self) -> IncludeGraph:
        """The include graph with conditions ignored: a superset of every closure."""
        graph = graph_of(self._project, self._includes)
        return graph.with_overlay(self._overlay) if self._overlay else graph

    @cached_property
    def _checkout(self) -> Checkout:
        graph = self.graph

        def resolve(includer: str, spelled: str, angled: bool, include_dirs: Sequence[str]) -> str:
            return graph.resolve(includer, Include(0, spelled, angled), include_dirs)

        return Checkout(self._scan, resolve)

    def _includes(self, path: str) -> tuple[Include, ...]:
        rows = self._index.get(path, "includes", _INCLUDES_VERSION, _rows)
        return tuple(Include(*row) for row in rows)

    def _scan(self, path: str) -> Scan:
        if path in self._overlay:
            return scan_directives(self._overlay[path])
        try:
            return self._index.get(path, *DIRECTIVES, scan_directives)
        except OSError:
            return _NOTHING


def _rows(data: bytes) -> tuple[tuple[int, str, bool, bool], ...]:
    return tuple((i.offset, i.spelled, i.angled, i.computed) for i in scan_includes(data))
