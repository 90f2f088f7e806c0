"""The files of a checkout as the tables see them: read and lexed on demand, with who sees whose names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from torchless.facts.typing import make_view
from torchless.project.model import Module, Project
from torchless.rewrites.dispatch_tables.scan import Alias, File, aliases, look, named_at
from torchless.selection import is_cpp, is_header
from torchless.text.source import SourceFile

_INCLUDED = re.compile(rb'#[ \t]*include[ \t]+"(?:[^"\s]*/)?([^"/\s]+)"')
_CANDIDATE = re.compile(rb"\b(?:unordered_)?map\s*<|\bfunction\s*<")


class Codebase:
    """C++ files by path, and the Python scripts that print more of them.

    ``closures``: for each source every project file that it reaches, itself included. ``read`` gives a file's bytes,
    b"" for one that cannot be read; ``scripts`` lists the Python files in a folder, by name.
    """

    def __init__(
        self,
        project: Project,
        closures: Mapping[str, frozenset[str]],
        read: Callable[[str], bytes],
        scripts: Callable[[str], Sequence[str]],
    ) -> None:
        self.project = project
        self.closures = closures
        self.read = read
        self._scripts = scripts
        self._files: dict[str, File] = {}
        self._with: dict[str, frozenset[str]] = {}
        self._aliases: dict[str, tuple[Alias, ...]] = {}
        self._names: dict[Alias, tuple[tuple[str, int], ...]] = {}

    def file(self, path: str) -> File:
        """The file at ``path``, lexed."""
        if path not in self._files:
            self._files[path] = look(make_view(SourceFile(path, self.read(path))))
        return self._files[path]

    @cached_property
    def headers(self) -> frozenset[str]:
        """The project's headers."""
        return frozenset(self.project.headers)

    def candidates(self) -> Iterator[str]:
        """The C++ files that could hold a map or a std::function, in path order."""
        for path in sorted({*self.project.sources, *self.project.headers}):
            if is_cpp(path) and _CANDIDATE.search(self.read(path)):
                yield path

    def seen_with(self, path: str) -> frozenset[str]:
        """Every file that some translation unit reads together with ``path``; ``path`` itself is among them."""
        if path not in self._with:
            together = [files for files in self.closures.values() if path in files]
            self._with[path] = frozenset({path}).union(*together)
        return self._with[path]

    def users(self, path: str, name: str) -> list[str]:
        """The files that may use ``name``, which ``path`` defines: those that mention it and are seen with ``path``.

        Another source than ``path`` sees what a header defines, never what a source does.
        """
        word = re.compile(rb"\b" + re.escape(name.encode("latin-1")) + rb"\b")
        seen = self.seen_with(path) if is_header(path) else {path}
        return sorted(p for p in seen if word.search(self.read(p)))

    def definition(self, path: str, name: str, index: int) -> Alias | None:
        """The alias that ``name`` at token ``index`` of ``path`` stands for; None when there is none, or no single one.

        That is one of the file itself, of the blocks around the place the innermost; else one of a header that is read
        with it, or, where nothing else has the name, of a header that only a printed header includes.
        """
        found = self._definitions(path, name)
        own = [alias for alias in found if alias.path == path]
        if len(own) > 1:
            scopes = self.file(path).scopes
            around = [scopes.block_at[block.open] for block in scopes.around(index)]
            for number in [*around, -1]:
                here = [alias for alias in own if scopes.block_of[alias.decl] == number]
                if here:
                    return here[0] if len(here) == 1 else None
        return found[0] if len(found) == 1 else None

    def names(self, alias: Alias) -> Sequence[tuple[str, int]]:
        """Every place (path, token index) where ``alias`` is named, its definition left out."""
        if alias not in self._names:
            self._names[alias] = tuple(self._find_names(alias))
        return self._names[alias]

    def _find_names(self, alias: Alias) -> Iterator[tuple[str, int]]:
        for path in self.users(alias.path, alias.name):
            for i in named_at(self.file(path), alias.name):
                if path == alias.path and alias.decl <= i <= alias.end:
                    continue
                if path != alias.path or self.definition(path, alias.name, i) == alias:
                    yield path, i

    def _definitions(self, path: str, name: str) -> list[Alias]:
        word = re.escape(name.encode("latin-1"))
        defining = re.compile(rb"\busing\s+" + word + rb"\s*=|\btypedef\b[^;]*\b" + word + rb"\s*;")

        def among(paths: Iterable[str]) -> list[Alias]:
            found = (a for p in paths if defining.search(self.read(p)) for a in self._aliases_of(p))
            return [alias for alias in found if alias.name == name]

        headers = (p for p in sorted(self.seen_with(path)) if p != path and is_header(p))
        return among([path]) or among(headers) or among(self.printed_headers(path))

    def printed_headers(self, path: str) -> list[str]:
        """The headers of the checkout that scripts include by name in what they print for the modules of ``path``."""
        named: set[str] = set()
        for script in self.generators(path):
            named.update(m.decode("latin-1") for m in _INCLUDED.findall(self.read(script)))
        return sorted(p for p in self.project.headers if posixpath.basename(p) in named)

    def _aliases_of(self, path: str) -> tuple[Alias, ...]:
        if path not in self._aliases:
            self._aliases[path] = tuple(aliases(self.file(path)))
        return self._aliases[path]

    def definers_of_macro(self, path: str, name: str) -> list[str]:
        """The files read with ``path`` that define the macro ``name``."""
        word = re.compile(rb"#[ \t]*define[ \t]+" + re.escape(name.encode("latin-1")) + rb"\b")
        return sorted(p for p in self.seen_with(path) if word.search(self.read(p)))

    def modules_of(self, path: str) -> list[Module]:
        """The modules that compile ``path`` or a source that reaches it, in the configuration's order."""
        return self._modules.get(path, [])

    @cached_property
    def _modules(self) -> dict[str, list[Module]]:
        out: dict[str, list[Module]] = {}
        for module in self.project.modules:
            reached = set().union(*(self.closures.get(s, frozenset({s})) for s in module.sources))
            for path in sorted(reached):
                out.setdefault(path, []).append(module)
        return out

    def generators(self, path: str) -> list[str]:
        """The scripts that print sources for the modules of ``path``, and the scripts beside them."""
        found: dict[str, None] = {}
        for module in self.modules_of(path):
            for script in module.generators:
                found[script] = None
                folder = posixpath.dirname(script)
                found.update((posixpath.join(folder, name), None) for name in self._scripts(folder))
        return list(found)
