"""Small code bases out of texts, with functions read off by shape and a finding at every torch::Tensor."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from torchless.facts.model import FileFacts, FunctionFact
from torchless.facts.typing import FileView, make_view
from torchless.model import Edit, Finding
from torchless.project.model import BindingMacro, BindingRow, BindingTu, Module, Project
from torchless.selection import is_header
from torchless.text.source import SourceFile
from torchless.units.build import CodeBase, Group, Grouping, group
from torchless.units.entities import Entity, EntityIndex, entities_of

_FUNCTION = re.compile(rb"^(?:static |inline )*void ([\w:]+(?:operator\(\))?)\([^)]*\)\s*([;{])", re.M)


def view_of(path: str, text: str) -> FileView:
    """A view with a fact for each function whose line starts with its ``void`` and, if it has a body, ends in a }."""
    data = text.encode()
    functions = []
    for m in _FUNCTION.finditer(data):
        opens, closes = (-1, -1) if m[2] == b";" else (m.end() - 1, data.index(b"}\n", m.end()) + 1)
        end = max(m.end(), closes)
        functions.append(
            FunctionFact(path, m.start(), end, m[1].decode(), m.start(1), opens, closes, (), "", "void", *(False,) * 4)
        )
    return make_view(SourceFile(path, data), [FileFacts(path, (), tuple(functions))])


@dataclass(frozen=True)
class Joined:
    """What group() made of a code base, asked about by words: the text of a line that a thing stands on."""

    code: CodeBase
    grouping: Grouping

    def entity(self, path: str, word: str) -> Entity:
        """The entity that holds the first ``word`` in the file at ``path``."""
        found = self.code.index.at(path, self.code.views[path].source.data.index(word.encode()))
        assert found is not None
        return found

    def unit(self, path: str, word: str) -> str | None:
        """The name of the group that owns what holds ``word`` in ``path``; None when nothing of it is touched."""
        return self.grouping.owner.get(self.entity(path, word))

    def together(self, *places: tuple[str, str]) -> bool:
        """Whether all ``places`` (path, word) are touched and in one group."""
        units = {self.unit(*place) for place in places}
        return len(units) == 1 and None not in units

    def group(self, name: str) -> Group:
        """The group with this name."""
        return next(g for g in self.grouping.groups if g.name == name)


Join = Callable[..., Joined]


@pytest.fixture
def join() -> Join:
    """join(files, closures, modules, bindings, foreign, edits): group what torch::Tensor touches in ``files``.

    A source reaches itself and what ``closures`` lists for it; ``modules`` maps names to sources, ``bindings`` a
    binding source to the functions that it binds; ``edits`` are (path, word) that a finding replaces as a whole.
    """

    def run(
        files: Mapping[str, str],
        closures: Mapping[str, Sequence[str]] | None = None,
        modules: Mapping[str, Sequence[str]] | None = None,
        bindings: Mapping[str, Sequence[str]] | None = None,
        foreign: Sequence[str] = (),
        edits: Sequence[tuple[str, str, str]] = (),
    ) -> Joined:
        views = {path: view_of(path, text) for path, text in files.items()}
        reached = {path: frozenset({path, *(closures or {}).get(path, ())}) for path in files if not is_header(path)}
        rows = {
            path: tuple(BindingRow(path, 0, 0, name.rsplit("::", 1)[-1], name, (), "", 1) for name in names)
            for path, names in (bindings or {}).items()
        }
        project = Project(
            "/nowhere",
            is_aiter=bool(modules),
            modules=tuple(Module(name, tuple(sources)) for name, sources in (modules or {}).items()),
            sources=tuple(reached),
            binding_macros=tuple(BindingMacro(f"M_{i}", p, 0, 0, 0, r, False) for i, (p, r) in enumerate(rows.items())),
            binding_tus=tuple(BindingTu(p, (f"M_{i}",), (), 0, False) for i, p in enumerate(rows)),
        )
        index = EntityIndex(e for view in views.values() for e in entities_of(view))
        code = CodeBase(project, views, index, reached, is_header, lambda path: path in foreign)
        return Joined(code, group(code, [*_touched(views), *(_replaced(views, *edit) for edit in edits)]))

    return run


def _touched(views: Mapping[str, FileView]) -> list[Finding]:
    return [
        Finding("TL201", "torch", path, m.start(), m.end(), edits=(Edit(path, m.start(), m.end(), b"T"),))
        for path, view in views.items()
        for m in re.finditer(rb"torch::Tensor", view.source.data)
    ]


def _replaced(views: Mapping[str, FileView], path: str, old: str, new: str) -> Finding:
    start = views[path].source.data.index(old.encode())
    edit = Edit(path, start, start + len(old), new.encode())
    return Finding("TL501", "renamed", path, start, start + len(old), edits=(edit,))
