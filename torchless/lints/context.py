"""What a lint may look at: the project, the files that were asked for, and what every translation unit reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from torchless.closure.heavy import HeavySet
from torchless.closure.model import Closure
from torchless.index import Index
from torchless.model import Finding
from torchless.project.model import Module, Project
from torchless.text.lexer import Token, lex
from torchless.text.source import SourceFile

T = TypeVar("T")
Lint = Callable[["Context"], Iterator[Finding]]
"""A lint yields findings with byte offsets; lines and columns are filled in afterwards.

It looks at ``context.files``, ``context.modules`` and ``context.python`` only, whatever else it reads on the way: a
hook asks about five files and must not pay for five hundred. A finding elsewhere is dropped.
"""


@dataclass(frozen=True)
class Context:
    """The input of every lint.

    ``files`` are the C++ files asked for, ``python`` the Python files; ``modules`` are those with a source among
    ``files``, and those named. ``users`` maps every header of the project to the sources that may reach it, in any way
    they are built; ``closures_of`` gives what a source reads, in each way it is built and each pass.
    """

    project: Project
    files: frozenset[str]
    python: frozenset[str]
    modules: tuple[Module, ...]
    heavy: HeavySet
    index: Index
    users: Callable[[str], frozenset[str]]
    closures_of: Callable[[str], tuple[Closure, ...]]
    _sources: dict[str, SourceFile] = field(default_factory=dict)
    _tokens: dict[str, tuple[Token, ...]] = field(default_factory=dict)
    _shared: dict[str, object] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The project's root folder."""
        return Path(self.project.root)

    def source(self, path: str) -> SourceFile:
        """The text of the file at root-relative ``path``; empty when it cannot be read."""
        if path not in self._sources:
            try:
                data = self.index.read(path)
            except OSError:
                data = b""
            self._sources[path] = SourceFile(path, data)
        return self._sources[path]

    def tokens(self, path: str) -> tuple[Token, ...]:
        """The tokens of a C++ file."""
        if path not in self._tokens:
            self._tokens[path] = tuple(lex(self.source(path).data))
        return self._tokens[path]

    def remembered(self, path: str, kind: str, version: int, compute: Callable[[bytes], object]) -> object:
        """What ``compute`` makes of the bytes of ``path``, from the index where it is known; of b"" when unreadable.

        The answer must depend on the bytes only, and be made of what ``marshal`` knows: tuples, strings, bytes,
        numbers. Raise ``version`` when ``compute`` changes.
        """
        try:
            return self.index.get(path, kind, version, compute)
        except OSError:
            return compute(b"")

    def unit_sources(self) -> tuple[str, ...]:
        """Every source that the question is about, sorted: those asked for, and those that reach an asked header.

        A header that no source reaches, because only generated ones include it, stands for itself.
        """
        sources = set(self.project.sources)
        wanted = {path for path in self.files if path in sources}
        for path in self.files - wanted:
            wanted |= self.users(path) or {path}
        return tuple(sorted(wanted))

    def units(self) -> Mapping[str, tuple[Closure, ...]]:
        """What each of the unit_sources() reads, in their order."""
        return {source: self.closures_of(source) for source in self.unit_sources()}

    def shared(self, kind: str, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once for all lints that ask for ``kind`` in this run."""
        if kind not in self._shared:
            self._shared[kind] = make()
        return cast(T, self._shared[kind])
