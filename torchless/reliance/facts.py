"""What the files of a check mention and declare, and how its units read them; each found out once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from torchless.closure.model import Closure, Edge
from torchless.lints.context import Context
from torchless.reliance import declared, families, mentions
from torchless.reliance.declared import Declared
from torchless.reliance.families import Headers, load_headers
from torchless.reliance.mentions import Mentions, mentions_of
from torchless.reliance.order import Reading, edges_by_includer, reading
from torchless.rewrites.std_headers import StandardUse, headers_of_names

_HEADER_NAME = re.compile(rb"[\w.+-]+\.(?:h|hpp|cuh|hh|hxx|inc)\b")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SCRIPT_VERSION = 1


@dataclass(frozen=True)
class View:
    """A translation unit in one pass: its closure, the edges that leave each file, and the order of reading."""

    closure: Closure
    leaving: Mapping[str, list[Edge]]
    reading: Reading

    @property
    def source(self) -> str:
        """The unit's source."""
        return self.closure.spec.source

    @cached_property
    def included_by(self) -> Mapping[str, tuple[str, ...]]:
        """File -> the files that include it."""
        found: dict[str, list[str]] = {}
        for edges in self.leaving.values():
            for edge in edges:
                found.setdefault(edge.target, []).append(edge.includer)
        return {path: tuple(includers) for path, includers in found.items()}

    def reaching(self, targets: Iterable[str]) -> frozenset[str]:
        """The files that include one of ``targets``, directly or not."""
        found: set[str] = set()
        pending = list(targets)
        while pending:
            for includer in self.included_by.get(pending.pop(), ()):
                if includer not in found:
                    found.add(includer)
                    pending.append(includer)
        return frozenset(found)

    def below(self, path: str) -> frozenset[str]:
        """``path`` and all that it includes."""
        found = {path}
        pending = [path]
        while pending:
            for edge in self.leaving.get(pending.pop(), ()):
                if edge.target not in found:
                    found.add(edge.target)
                    pending.append(edge.target)
        return frozenset(found)

    def with_heavy(self, heavy: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
        """Category -> the files that include a header of it, directly or not. ``heavy``: header -> category."""
        by_category: dict[str, list[str]] = {}
        for header, category in heavy.items():
            by_category.setdefault(category, []).append(header)
        return {category: self.reaching(headers) for category, headers in by_category.items()}


@dataclass(frozen=True)
class Seen:
    """What a unit gets to see of a file, and what that uses of each family of headers, sorted."""

    mentions: Mentions

    @cached_property
    def torch(self) -> list[str]:
        """Uses of torch."""
        return families.torch_uses(self.mentions)

    @cached_property
    def hip(self) -> list[str]:
        """Uses of HIP."""
        return families.hip_uses(self.mentions)

    @cached_property
    def ck(self) -> list[str]:
        """Uses of composable_kernel."""
        return families.ck_uses(self.mentions)

    @cached_property
    def pybind(self) -> list[str]:
        """Uses of pybind11."""
        return families.pybind_uses(self.mentions)

    @cached_property
    def standard(self) -> list[StandardUse]:
        """Uses of standard headers."""
        std = [name.removeprefix("std::") for name in self.mentions.qualified if name.startswith("std::")]
        return headers_of_names(std, self.mentions.names)


@dataclass(frozen=True)
class Facts:
    """Answers about the files and units of ``context``. Nothing is read before the first question about it."""

    context: Context
    headers: Headers = field(default_factory=load_headers)
    _mentions: dict[str, Mentions] = field(default_factory=dict)
    _declared: dict[str, Declared] = field(default_factory=dict)
    _heavy: dict[tuple[str, ...], Mapping[str, str]] = field(default_factory=dict)
    _words: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    _declared_in: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    _expanded: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)
    _seen: dict[tuple[str, bool, bool, frozenset[str]], Seen] = field(default_factory=dict)
    _named: dict[str, frozenset[str]] = field(default_factory=dict)
    _family: dict[tuple[str, bool], str] = field(default_factory=dict)
    _category: dict[str, str] = field(default_factory=dict)
    _reach: dict[int, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    _views: dict[str, tuple[View, ...]] = field(default_factory=dict)

    def mentions(self, path: str) -> Mentions:
        """What a file of the checkout mentions; nothing when it cannot be read."""
        if path not in self._mentions:
            try:
                row = self.context.remembered(path, "mentions", mentions.VERSION, mentions.scan)
                self._mentions[path] = mentions_of(cast(Any, row))
            except OSError:
                self._mentions[path] = Mentions()
        return self._mentions[path]

    def files(self, view: View) -> list[str]:
        """The files of the checkout that a view reads, in that order."""
        return [path for path in view.reading.entered if path not in view.closure.outside]

    def words(self, view: View) -> frozenset[str]:
        """Every word of the files of a view."""
        key = frozenset(self.files(view))
        if key not in self._words:
            self._words[key] = frozenset().union(*(self.mentions(path).names for path in key))
        return self._words[key]

    def declared_in(self, view: View) -> frozenset[str]:
        """What the files of a view declare."""
        key = frozenset(self.files(view))
        if key not in self._declared_in:
            self._declared_in[key] = frozenset().union(*(self.declared(path).names for path in key))
        return self._declared_in[key]

    def expanded(self, view: View) -> frozenset[str]:
        """The macros of the files of a view that it expands, as far as names tell: directly or by one another."""
        key = frozenset(self.files(view))
        if key not in self._expanded:
            self._expanded[key] = self._find_expanded(view)
        return self._expanded[key]

    def _find_expanded(self, view: View) -> frozenset[str]:
        files = self.files(view)
        bodies: dict[str, set[str]] = {}
        found: set[str] = set()
        for path in files:
            for macro in self.mentions(path).macros:
                bodies.setdefault(macro.name, set()).update(macro.names)
            found |= self._named_macros(path)
        found &= bodies.keys()
        for path in files:
            row = self.mentions(path)
            if row.pasted:
                words = self.words(view)
                found |= {name for name in bodies.keys() - found if row.makes(name, words)}
        pending = list(found)
        while pending:
            inner = bodies[pending.pop()] & bodies.keys() - found
            found |= inner
            pending += inner
        return frozenset(found)

    def _named_macros(self, path: str) -> frozenset[str]:
        """What a file mentions outside of macro bodies and some file of the units defines as a macro."""
        if path not in self._named:
            self._named[path] = self.mentions(path).code & self._macro_names
        return self._named[path]

    @cached_property
    def _macro_names(self) -> frozenset[str]:
        return frozenset(macro.name for path in self.views_of for macro in self.mentions(path).macros)

    def seen(self, view: View, path: str, *, later: bool, whole: bool) -> Seen:
        """What a view sees of a file: what its macros hold only where they are expanded, unless ``whole``.

        ``later``: of that, only what is seen behind the file.
        """
        if whole:
            return self.whole(path)
        mentioned = self.mentions(path)
        macros: frozenset[str] = frozenset()
        if mentioned.macros:
            macros = self.expanded(view) & {macro.name for macro in mentioned.macros}
        key = (path, later, False, macros)
        if key not in self._seen:
            self._seen[key] = Seen(mentioned.expanding(macros, later=later))
        return self._seen[key]

    def whole(self, path: str) -> Seen:
        """All of a file, its macros included."""
        key = (path, False, True, frozenset[str]())
        if key not in self._seen:
            self._seen[key] = Seen(self.mentions(path))
        return self._seen[key]

    def declared(self, path: str) -> Declared:
        """What a file of the checkout declares; nothing when it cannot be read."""
        if path not in self._declared:
            try:
                row = self.context.remembered(path, "declared", declared.VERSION, declared.scan)
                self._declared[path] = Declared(*cast(Any, row))
            except OSError:
                self._declared[path] = Declared(frozenset(), (), True)
        return self._declared[path]

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Every unit that the question is about, in every pass and every way it is built that reads something else."""
        return tuple(view for source in self.context.unit_sources() for view in self.views_from(source))

    def views_from(self, source: str) -> tuple[View, ...]:
        """One source in every pass and every way it is built that reads something else, in question or not."""
        if source not in self._views:
            known: dict[tuple[object, ...], View] = {}
            for closure in self.context.closures_of(source):
                key = (closure.edges, closure.spec.include_dirs)  # passes often read the same
                if key not in known:
                    leaving = edges_by_includer(closure)
                    known[key] = View(closure, leaving, reading(source, leaving))
            self._views[source] = tuple(known.values())
        return self._views[source]

    @cached_property
    def views_of(self) -> Mapping[str, tuple[View, ...]]:
        """File of the checkout -> the views that read it."""
        found: dict[str, list[View]] = {}
        for view in self.views:
            for path in view.reading.entered:
                if path not in view.closure.outside:
                    found.setdefault(path, []).append(view)
        return {path: tuple(views) for path, views in found.items()}

    def heavy(self, view: View) -> Mapping[str, str]:
        """The heavy headers that a view reads -> their category."""
        key = tuple(view.reading.entered)
        if key not in self._heavy:
            self._heavy[key] = self.context.heavy.found(view.closure)
        return self._heavy[key]

    def reach(self, view: View) -> Mapping[str, frozenset[str]]:
        """Category -> the files of a view that include a heavy header of it, directly or not."""
        known = self._reach.get(id(view))
        if known is None:
            known = self._reach[id(view)] = view.with_heavy(self.heavy(view))
        return known

    def family(self, edge: Edge) -> str:
        """The family of the header outside of the checkout that ``edge`` names."""
        key = (edge.spelled, edge.angled)
        if key not in self._family:
            kind = families.family(edge.spelled, edge.angled)
            is_known = kind == families.UNSEEN and self.category(edge.spelled)
            self._family[key] = families.OTHER if is_known else kind
        return self._family[key]

    def category(self, header: str) -> str:
        """The heavy category of a header outside of the checkout, "" for none."""
        if header not in self._category:
            self._category[header] = self.context.heavy.category(header)
        return self._category[header]

    @cached_property
    def printed(self) -> Mapping[str, tuple[str, ...]]:
        """File name of a header -> the scripts that write sources which may include it, sorted."""
        found: dict[str, list[str]] = {}
        scripts = sorted({script for module in self.context.project.modules for script in module.generators})
        for script in scripts:
            try:
                names = self.context.remembered(script, "printed headers", _SCRIPT_VERSION, _header_names)
            except OSError:
                continue
            for name in cast("tuple[str, ...]", names):
                found.setdefault(name, []).append(script)
        return {name: tuple(where) for name, where in found.items()}

    def words_of(self, script: str) -> frozenset[str]:
        """The words of a script, text that it writes included."""
        try:
            return cast("frozenset[str]", self.context.remembered(script, "words", _SCRIPT_VERSION, _words))
        except OSError:
            return frozenset()


def facts_of(context: Context) -> Facts:
    """The facts about ``context``, the same for every lint that asks."""
    return context.shared("reliance", lambda: Facts(context))


def _header_names(data: bytes) -> tuple[str, ...]:
    return tuple(sorted({name.decode() for name in _HEADER_NAME.findall(data)}))


def _words(data: bytes) -> frozenset[str]:
    return frozenset(word.decode() for word in _WORD.findall(data))
