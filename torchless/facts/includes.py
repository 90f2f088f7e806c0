"""Which files a translation unit reads, from the text of its include directives alone.

Conditions are ignored, so a closure is a superset of what any one pass opens: what is not in it is reached in no pass.
A header that is not in the checkout stays in the closure as it is spelled (``torch/extension.h``).
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from torchless.facts.spec import TuSpec
from torchless.project.model import Project
from torchless.project.modules import modules_of, orphans, tu_specs
from torchless.text.paths import canonical_path

# Where the headers of PyTorch live; its parts are installed under these names.
TORCH_PREFIXES = ("torch/", "ATen/", "c10/", "caffe2/", "TH/", "THC/", "THH/")

# Backslash-newline, with the blanks that compilers allow in between, is no more than a blank.
_SPLICE = re.compile(rb"\\[ \t\f\v]*(?:\r\n|\n|\r)")
_GAP = rb"(?:[ \t\f\v]|%b|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)*" % _SPLICE.pattern
_KEYWORD = rb"#" + _GAP + rb"(?:include_next|include|import)(?![\w$\x80-\xff])"
_DIRECTIVE = re.compile(_KEYWORD)
_OPERAND = re.compile(_GAP + rb'(?:<([^>\r\n]*)>|"([^"\r\n]*)"|([A-Za-z_$\x80-\xff][\w$\x80-\xff]*))')
# What can hide a directive, and directives themselves. In the order of how often they stand in code.
_TOKEN = re.compile(
    rb"(?P<comment>//(?:[^\r\n\\]+|SPLICE|\\)*|/\*.*?(?:\*/|\Z))"
    rb"|(?P<directive>KEYWORD)"
    rb'|(?:(?<![\w$\x80-\xff])(?:u8|[uUL])?R"(?P<delim>[^ ()\\\t\v\f\r\n]{0,16})\(.*?(?:\)(?P=delim)"|\Z))'
    rb'|"(?:[^"\\\r\n]+|SPLICE|\\.|\\\Z)*"?'
    rb"|(?<![\w$\x80-\xff])\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z]|[0-9A-Za-z_.])*"
    rb"|'(?:[^'\\\r\n]+|SPLICE|\\.|\\\Z)*'?".replace(b"SPLICE", _SPLICE.pattern).replace(b"KEYWORD", _KEYWORD),
    re.S,
)
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Include:
    """An include directive: offset of its #, the header as spelled, and whether it is in <>.

    ``computed``: the directive names a macro, which ``spelled`` then is.
    """

    offset: int
    spelled: str
    angled: bool
    computed: bool = False


def scan_includes(data: bytes) -> tuple[Include, ...]:
    """The include directives of ``data``, in order; those inside comments, strings and macro bodies are not meant.

    Only the text up to the last candidate is looked at closely, which in most files is the first few lines.
    """
    last = -1
    for candidate in _DIRECTIVE.finditer(data):
        last = candidate.end()
    found = []
    position = len(_BOM) if data.startswith(_BOM) else 0
    fresh = True  # only blanks and comments so far on this logical line
    while position < last:
        token = _TOKEN.search(data, position, last)
        if token is None:
            break
        between = _SPLICE.sub(b"", data[position : token.start()])
        line = max(between.rfind(b"\n"), between.rfind(b"\r")) + 1
        fresh = (fresh or line > 0) and not between[line:].strip()
        position = token.end()
        if token.lastgroup == "directive" and fresh:
            operand = _OPERAND.match(data, position)
            if operand is not None:
                spelled = next(text for text in operand.groups() if text is not None)
                name = spelled.decode("utf-8", "surrogateescape")
                found.append(Include(token.start(), name, operand[1] is not None, operand[3] is not None))
                position = operand.end()
        if token.lastgroup != "comment":
            fresh = False
    return tuple(found)


class IncludeGraph:
    """The include directives of a checkout, scanned on demand and remembered.

    ``units`` maps each translation unit to the include folders (root-relative, in order) of every way it is built.
    ``overlay`` holds the text of files that differ from the disk, by root-relative path. ``further_names`` maps hard
    links to the name that stands for their file. ``scan`` gives the directives of a file on disk where they are known
    from before; it raises OSError for a file that cannot be read.
    """

    def __init__(
        self,
        root: Path,
        units: Mapping[str, Sequence[tuple[str, ...]]] | None = None,
        overlay: Mapping[str, bytes] | None = None,
        further_names: Mapping[str, str] | None = None,
        scan: Callable[[str], tuple[Include, ...]] | None = None,
    ) -> None:
        self.root = root
        self._scan = scan or (lambda path: scan_includes((root / path).read_bytes()))
        self.further_names = dict(further_names or {})
        self._places: dict[str, list[str]] = {}  # name of a file with several -> the folders of the others
        for link, name in self.further_names.items():
            self._places.setdefault(name, []).append(posixpath.dirname(link))
        self.units = dict(units or {})
        self.overlay = dict(overlay or {})
        self._scans: dict[str, tuple[Include, ...]] = {}
        self._folders: dict[str, dict[str, str]] = {}
        self._found: dict[tuple[str, str], str] = {}
        self._users: dict[str, list[str]] = {}
        self._closures: dict[tuple[str, tuple[str, ...], frozenset[str]], dict[str, str]] = {}

    def with_overlay(self, overlay: Mapping[str, bytes]) -> IncludeGraph:
        """The same graph over edited text; what was scanned and is not edited is not scanned again."""
        graph = IncludeGraph(self.root, self.units, {**self.overlay, **overlay}, self.further_names, self._scan)
        graph._scans = {path: scan for path, scan in self._scans.items() if path not in overlay}
        if all(self.is_file(path) for path in overlay):
            # the files are the same: so is what a directive leads to, and all that is reached by the same directives
            graph._folders = dict(self._folders)
            graph._found = self._found
            turned = [path for path in overlay if graph._directives(path) != self._directives(path)]
            graph._closures = {k: via for k, via in self._closures.items() if not any(path in via for path in turned)}
        return graph

    def _directives(self, path: str) -> list[tuple[str, bool, bool]]:
        """The include directives of a file without their places."""
        return [(i.spelled, i.angled, i.computed) for i in self.includes(path)]

    def includes(self, path: str) -> tuple[Include, ...]:
        """The include directives of the file ``path``; none when it cannot be read."""
        if path not in self._scans:
            data = self.overlay.get(path)
            try:
                self._scans[path] = self._scan(path) if data is None else scan_includes(data)
            except OSError:
                self._scans[path] = ()
        return self._scans[path]

    def is_file(self, path: str) -> bool:
        """Whether ``path``, from a closure, is a file of the checkout rather than a header as spelled."""
        folder, name = posixpath.split(path)
        return self._folder(folder).get(name) == path

    def resolve(self, includer: str, include: Include, include_dirs: Sequence[str]) -> str:
        """The file of the checkout that a directive of ``includer`` names, "" when there is none.

        A quoted header is looked for next to the includer first.
        """
        if include.computed:
            return ""
        own = () if include.angled else (posixpath.dirname(includer), *self._places.get(includer, ()))
        for folder in (*own, *include_dirs):
            found = self._found.get((folder, include.spelled))
            if found is None:
                place, name = posixpath.split(posixpath.join(folder, include.spelled))
                found = self._folder(posixpath.normpath(place) if place else "").get(name, "")
                self._found[folder, include.spelled] = found
            if found:
                return found
        return ""

    def closure(
        self, source: str, include_dirs: Sequence[str], without: frozenset[str] = frozenset()
    ) -> Mapping[str, str]:
        """Every file that ``source`` reaches -> the file that includes it, on a shortest path; ``source`` -> "".

        Headers outside of the checkout are keyed as spelled and not followed. Directives that name a file in
        ``without`` count as gone.
        """
        key = (source, tuple(include_dirs), without)
        if key not in self._closures:
            via = {source: ""}
            pending = deque([source])
            while pending:
                current = pending.popleft()
                for include in self.includes(current):
                    found = self.resolve(current, include, include_dirs)
                    target = found or include.spelled
                    if target not in via and target not in without:
                        via[target] = current
                        if found:
                            pending.append(found)
            self._closures[key] = via
        return self._closures[key]

    def closure_of(self, source: str, without: frozenset[str] = frozenset()) -> Mapping[str, str]:
        """The closure of ``source`` over every way it is built; a file that is no translation unit is taken bare."""
        ways = self.units.get(source) or [()]
        if len(ways) == 1:
            return self.closure(source, ways[0], without)
        merged: dict[str, str] = {}
        for include_dirs in ways:
            merged = {**self.closure(source, include_dirs, without), **merged}
        return merged

    def missing(self, source: str, include_dirs: Sequence[str]) -> list[tuple[str, Include]]:
        """(includer, directive) for every directive in the closure of ``source`` that names no file of the checkout."""
        files = [path for path in self.closure(source, include_dirs) if path == source or self.is_file(path)]
        return [(f, i) for f in files for i in self.includes(f) if not self.resolve(f, i, include_dirs)]

    def users_of(self, header: str) -> list[str]:
        """The translation units whose closure holds ``header`` (root-relative, or as spelled), sorted.

        A translation unit uses itself. ``units`` must be complete by now.
        """
        if not self._users:
            for source in sorted(self.units):
                for target in self.closure_of(source):
                    self._users.setdefault(target, []).append(source)
        return list(self._users.get(header, ()))

    def _folder(self, folder: str) -> Mapping[str, str]:
        """File name -> root-relative path, for the files in ``folder``; links of either kind lead to one path a file.

        Empty for a folder outside of the checkout. A link that leaves the checkout keeps its own name.
        """
        known = self._folders.get(folder)
        if known is None:
            if not self.overlay and not os.path.isdir(self.root / folder):  # noqa: PTH112 - most that are asked for
                known = self._folders[folder] = {}
                return known
            root = os.path.realpath(self.root)
            real = os.path.realpath(self.root / folder)
            known = {}
            if real == root or real.startswith(root + os.sep):
                name = "" if real == root else os.path.relpath(real, root).replace(os.sep, "/")
                try:
                    with os.scandir(real) as entries:
                        files = [(entry.name, entry.is_symlink()) for entry in entries if entry.is_file()]
                except OSError:
                    files = []
                for file, is_link in files:
                    path = posixpath.join(name, file)
                    path = canonical_path(self.root, path) if is_link else path
                    known[file] = self.further_names.get(path, path)
                for path in self.overlay:
                    if posixpath.dirname(path) == name:
                        known[posixpath.basename(path)] = path
            self._folders[folder] = known
        return known


def chain(closure: Mapping[str, str], target: str) -> list[str]:
    """The files that lead to ``target`` in a closure, the source first; empty when it is not reached."""
    if target not in closure:
        return []
    path = [target]
    while closure[path[-1]]:
        path.append(closure[path[-1]])
    return path[::-1]


def torch_headers(closure: Iterable[str]) -> list[str]:
    """The headers of PyTorch in a closure, sorted. Headers of the checkout never count, whatever their folder."""
    return sorted(path for path in closure if path.startswith(TORCH_PREFIXES))


def graph_of(project: Project, scan: Callable[[str], tuple[Include, ...]] | None = None) -> IncludeGraph:
    """The include graph of a project, with every source as a translation unit; ``scan`` is as for IncludeGraph.

    A source that no module compiles gets the include folders that make its headers found, see ``sibling_dirs``.
    """
    overlay = dict(project.printed)
    graph = IncludeGraph(Path(project.root), None, overlay, dict(project.further_names), scan)
    for source, owners in modules_of(project).items():
        graph.units[source] = list(dict.fromkeys(module.include_dirs for module in owners))
    for source in orphans(project):
        graph.units[source] = [sibling_dirs(project, graph, source)]
    return graph


_TARGET_TENSOR = "aiter_tensor.h"


def sibling_dirs(project: Project, graph: IncludeGraph, source: str) -> tuple[str, ...]:
    """Include folders for a source outside of every module.

    csrc/include and the ``include`` folder beside it, then, for each header still not found, the folder of the project
    that has it; of several, the one that shares most of the source's path.
    """
    own = posixpath.dirname(source)
    wanted = [posixpath.join(own, "include")]
    if project.csrc:
        wanted += [f"{project.csrc}/include", f"{project.csrc}/include/torch"]
    # the target's headers are not included yet: a migration will want them
    wanted += [posixpath.dirname(h) or "." for h in project.headers if posixpath.basename(h) == _TARGET_TENSOR]
    dirs = list(dict.fromkeys(folder for folder in wanted if (graph.root / folder).is_dir()))
    for _ in range(len(project.headers) + 1):  # each round adds a folder
        missing = {include.spelled for _, include in graph.missing(source, dirs)}
        found: dict[str, tuple[tuple[int, str], str]] = {}
        endings = _by_ending(project.headers)
        for spelled in missing:
            for header in endings.get(spelled, ()):
                folder = header[: -len(spelled)].rstrip("/") or "."
                rank = (-len(posixpath.commonpath([own, folder]) if own and folder != "." else ""), folder)
                found[spelled] = min(found.get(spelled, (rank, folder)), (rank, folder))
        new = sorted({folder for _, folder in found.values()}.difference(dirs))
        if not new:
            break
        dirs += new
    return tuple(dirs)


@lru_cache(maxsize=4)
def _by_ending(paths: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Every way to spell one of ``paths`` relative to one of the folders above it -> the paths meant."""
    endings: dict[str, list[str]] = {}
    for path in paths:
        parts = path.split("/")
        for i in range(len(parts)):
            endings.setdefault("/".join(parts[i:]), []).append(path)
    return endings


def specs_of(
    project: Project,
    graph: IncludeGraph,
    source: str,
    *,
    devices: Sequence[bool] = (False, True),
    enable_ck: Sequence[bool] | None = None,
    arch: str = "gfx942",
) -> list[TuSpec]:
    """Every way to parse ``source``: as each of its modules builds it, without repetition, or as an orphan.

    ``devices`` and ``enable_ck`` are as in ``modules.tu_specs``; an orphan's own ENABLE_CK is True, the default.
    """
    owners = [module for module in project.modules if source in module.sources]
    names = project.further_names
    if owners:
        specs = [s for m in owners for s in tu_specs(m, devices=devices, enable_ck=enable_ck, arch=arch)]
        return [replace(s, further_names=names) for s in dict.fromkeys(specs) if s.source == source]
    ways = graph.units.get(source) or [sibling_dirs(project, graph, source)]
    values = (True,) if enable_ck is None else enable_ck
    return [TuSpec(source, dirs, (), ck, device, arch, names) for dirs in ways for device in devices for ck in values]
