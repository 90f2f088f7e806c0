"""From the paths and modules that a user names to the sources and headers whose units are meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.project.discover import HEADERS, SOURCES
from torchless.project.model import Project


class SelectionError(Exception):
    """A path or module that cannot be selected; the message is one line."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Root-relative sources and headers, and module names, whose units are to be migrated.

    ``notes`` are one-line remarks for the user (a registration header selects nothing). ``folders`` are those named;
    ``linked`` are files that lie in one under another name (a hard link). ``named`` are all files that were named
    outright, also those that select no unit; ``excluded`` are files that a folder does not stand for; ``left_out`` are
    the ``notes`` about files that are no part of the project.
    """

    sources: frozenset[str]
    headers: frozenset[str]
    modules: frozenset[str]
    notes: tuple[str, ...] = ()
    folders: frozenset[str] = frozenset()
    linked: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether the file at root-relative ``path`` was named, or lies in a folder that was."""
        return path in self.headers | self.sources | self.linked or any(
            folder == "." or path.startswith(f"{folder}/") for folder in self.folders
        )


def select(
    project: Project,
    start: Path,
    paths: Sequence[str],
    modules: Sequence[str] = (),
    exclude: Sequence[str] = (),
    force_exclude: bool = False,
) -> Selection:
    """Resolve ``paths`` (relative to ``start``) and ``modules`` against ``project``.

    A source selects the units that it defines, a folder those of its sources, a header those that it declares; a source
    that binds the functions of one module selects that module, a header that only registers bindings none.
    ``exclude`` are gitignore patterns; they hold for files named outright only with ``force_exclude``. Raises
    SelectionError.
    """
    known = {m.name for m in project.modules}
    for name in modules:
        if name not in known:
            near = [k for k in sorted(known) if name in k or k in name][:3]
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise SelectionError(f"no module named {name} in {project.root}{hint}")
    is_excluded = matcher(exclude)
    registering = {m.path for m in project.binding_macros}
    binding = {tu.path for tu in project.binding_tus}
    known_files = {*project.sources, *project.headers}
    sources: set[str] = set()
    headers: set[str] = set()
    notes: list[str] = []
    folders: set[str] = set()
    linked: set[str] = set()
    outright: set[str] = set()
    bound: set[str] = set()
    left_out: list[str] = []
    further = dict(project.further_names)
    for path in paths:
        relative = _inside(project, start, path)
        full = Path(project.root, relative)
        if full.is_dir():
            folders.add(relative)
            prefix = "" if relative == "." else f"{relative}/"
            sources.update(s for s in project.sources if s.startswith(prefix) and not is_excluded(s))
            here = {name for link, name in further.items() if link.startswith(prefix) and not is_excluded(link)}
            sources |= here.intersection(project.sources)
            linked |= here
            continue
        _must_be_readable_cpp(full, path)
        if force_exclude and is_excluded(relative):
            continue
        relative = further.get(relative, relative)
        if relative not in known_files:
            if relative not in dict(project.problems):
                left_out.append(f"{path} is left out: it is vendored, made by a build, or ignored by git")
                notes.append(left_out[-1])
            continue
        outright.add(relative)
        if relative in project.sources:
            sources.add(relative)
            owners = [m.name for m in project.modules if relative in m.sources]
            if relative in binding and len(owners) == 1:
                bound.update(owners)
            elif relative in binding:
                notes.append(f"{path} binds functions and selects only those that it defines (--module selects all)")
        elif relative in registering:
            notes.append(f"{path} only registers bindings, so it selects no unit")
        else:
            headers.add(relative)
    return Selection(
        frozenset(sources),
        frozenset(headers),
        frozenset(modules) | bound,
        tuple(notes),
        frozenset(folders),
        frozenset(linked),
        frozenset(outright),
        frozenset(filter(is_excluded, known_files)) - outright,
        tuple(left_out),
    )


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a root-relative path matches one of the gitignore ``patterns``."""
    if not patterns:
        return lambda path: False
    import pathspec  # here: it costs a tenth of a cold start

    return pathspec.GitIgnoreSpec.from_lines(patterns).match_file


def _inside(project: Project, start: Path, path: str) -> str:
    """The root-relative name of the file that ``path`` reaches, links followed.

    Raises SelectionError when there is none, or when it lies outside of the project.
    """
    full = start / path
    if not os.path.lexists(full):
        raise SelectionError(f"{path}: no such file or folder")
    if not full.exists():
        raise SelectionError(f"{path}: a link that leads nowhere")
    real, root = full.resolve(), Path(project.root).resolve()
    if not real.is_relative_to(root):
        raise SelectionError(f"{path}: lies outside of the project {project.root}")
    return real.relative_to(root).as_posix()


def _must_be_readable_cpp(full: Path, shown: str) -> None:
    if not full.is_file():
        raise SelectionError(f"{shown}: not a regular file")
    if full.suffix not in SOURCES | HEADERS:
        raise SelectionError(f"{shown}: not a C++ source or header ({', '.join(sorted(SOURCES | HEADERS))})")
    try:
        with full.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise SelectionError(f"{shown}: cannot be read ({error.strerror})") from error
    if b"\0" in head:
        raise SelectionError(f"{shown}: not a C++ file (it holds NUL bytes)")


def is_header(path: str) -> bool:
    """Whether ``path`` names a header by its suffix."""
    return Path(path).suffix in HEADERS


def is_cpp(path: str) -> bool:
    """Whether ``path`` names C++ text by its suffix."""
    return Path(path).suffix in SOURCES | HEADERS


def codes_match(code: str, prefixes: Iterable[str]) -> bool:
    """Whether ``code`` starts with any of ``prefixes``."""
    return any(code.startswith(p) for p in prefixes)


def asked_by_name(code: str, select: Iterable[str], ignore: Iterable[str]) -> bool:
    """Whether ``select`` asks for ``code`` by itself or by a family of its own (not by TL alone), and no ``ignore``."""
    return codes_match(code, (p for p in select if any(c.isdigit() for c in p))) and not codes_match(code, ignore)
