"""Finds the checkout around the paths that were asked for, and reads what is in it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from torchless.project.bindings import read_bindings
from torchless.project.model import Project
from torchless.project.modules import VENDORED, directory_names, read_modules
from torchless.project.ops import DEFINITION, decorator_parameters, read_ops
from torchless.project.target import read_target
from torchless.text.paths import one_spelling

CONFIG = "aiter/jit/optCompilerConfig.json"
SOURCES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".hip"})
HEADERS = frozenset({".h", ".hpp", ".cuh", ".hh", ".hxx", ".inl", ".inc"})
# Folders that hold what a build or a tool made, never what a person edits.
_SKIPPED = VENDORED | {"build", "blob", "dist", "node_modules", "__pycache__", "venv"}
Problem = tuple[str, str]


class ProjectError(Exception):
    """The paths do not name one checkout; the message is one line for the person who asked."""


def load(start: Path, paths: Sequence[Path | str] = ()) -> Project:
    """Read the checkout that ``paths`` lie in (relative ones to ``start``; none at all: ``start`` itself).

    In an aiter checkout or wheel everything below csrc and gradlib is read, whatever the paths, because edits land
    wherever a unit reaches; paths elsewhere in it are read on top. A plain folder of C++ is read below the paths only,
    a file standing for its folder. Vendored and build folders, folders that git ignores and links to folders are not
    entered. A file with several names (hard links) has one of them, see ``Project.further_names``. Raises ProjectError.
    """
    asked = [_existing(start, Path(path)) for path in paths] or [_existing(start, Path())]
    root, is_aiter = find_root(asked)
    below = [relative_path(root, path) for path in asked]
    problems: list[Problem] = []
    names = directory_names(root)
    if is_aiter:
        folders = [names["AITER_CSRC_DIR"], names["AITER_GRADLIB_DIR"]]
        folders += [path for path in below if path != "." and not _is_within(path, [*folders, "aiter"])]
    else:
        folders = [path if (root / path).is_dir() else posixpath.dirname(path) or "." for path in below]
    walker = _Walker(root, problems)
    files = walker.files(folders, SOURCES | HEADERS)
    further = walker.further_names(files)
    files = [f for f in files if f not in further]
    sources = tuple(f for f in files if posixpath.splitext(f)[1] in SOURCES)
    headers = tuple(f for f in files if posixpath.splitext(f)[1] in HEADERS)
    macros, tus, found = read_bindings(root, files)
    problems += found
    target_headers, target_names = read_target(root, headers)
    target_names |= {macro.name for macro in macros}
    if not is_aiter:
        return Project(
            root=str(root),
            is_aiter=False,
            sources=sources,
            headers=headers,
            binding_macros=tuple(macros),
            binding_tus=tuple(tus),
            target_names=target_names,
            target_headers=target_headers,
            problems=tuple(problems),
            further_names=tuple(further.items()),
        )
    modules, found = read_modules(root, CONFIG)
    if further:
        modules = [replace(m, sources=tuple(dict.fromkeys(further.get(s, s) for s in m.sources))) for m in modules]
    problems += found
    definition = "aiter/" + DEFINITION
    python = [path for path in walker.files(["aiter"], {".py"}) if path != definition]
    ops, found = read_ops(root, python)
    problems += found
    op_parameters = _op_parameters(root / definition)
    if "develop" not in op_parameters:
        problems.append((definition, "compile_ops takes no develop flag, so migrated ops could not be called"))
    ck_dir = names["CK_DIR"]
    return Project(
        root=str(root),
        is_aiter=True,
        modules=tuple(modules),
        sources=sources,
        headers=headers,
        ops=tuple(ops),
        binding_macros=tuple(macros),
        binding_tus=tuple(tus),
        include_dirs=tuple(dict.fromkeys(folder for module in modules for folder in module.include_dirs)),
        target_names=target_names,
        target_headers=target_headers,
        problems=tuple(problems),
        config_path=CONFIG,
        csrc=names["AITER_CSRC_DIR"],
        ck_dir=ck_dir if (root / ck_dir / "include/ck_tile").is_dir() else "",
        op_parameters=op_parameters,
        further_names=tuple(further.items()),
    )


def find_root(paths: Sequence[Path]) -> tuple[Path, bool]:
    """The root that absolute, existing ``paths`` share, and whether it is an aiter checkout.

    That is the nearest folder above the first path that holds the JIT configuration, else the top of its git tree, else
    the folder common to all paths. Raises ProjectError when a path lies outside of it.
    """
    for marker, is_aiter in ((CONFIG, True), (".git", False)):
        for candidate in (paths[0], *paths[0].parents):
            if (candidate / marker).exists():
                for path in paths:
                    relative_path(candidate, path)
                return candidate, is_aiter
    folders = [path if path.is_dir() else path.parent for path in paths]
    return Path(os.path.commonpath(folders)), False


def relative_path(root: Path, path: Path) -> str:
    """``path`` (absolute) relative to ``root``, with forward slashes; "." for the root. Raises ProjectError."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError as error:
        raise ProjectError(f"{path} lies outside of {root}") from error


def _existing(start: Path, path: Path) -> Path:
    """The absolute path, links in its folders resolved so that one file has one name."""
    absolute = Path(os.path.abspath(start / path))  # noqa: PTH100 - resolve() would follow a link that is the last part
    try:
        absolute = absolute.parent.resolve(strict=True) / absolute.name if absolute.name else absolute
        absolute.stat()
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "cannot be read"
        raise ProjectError(f"{path}: {reason}") from error
    return absolute.resolve() if absolute.is_dir() else absolute


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _op_parameters(path: Path) -> frozenset[str]:
    try:
        return decorator_parameters(path.read_bytes())
    except OSError:
        return frozenset()


class _Walker:
    """Lists files below folders of ``root``, in sorted order; what cannot be listed goes to ``problems``."""

    def __init__(self, root: Path, problems: list[Problem]) -> None:
        self.root = root
        self.problems = problems
        self.ignored = _gitignore(root)
        self._inodes: dict[int, list[str]] = {}

    def files(self, starts: Sequence[str], suffixes: frozenset[str] | set[str]) -> list[str]:
        """Root-relative files with one of ``suffixes`` at or below ``starts`` (folders or files), each once."""
        found: set[str] = set()
        links: list[str] = []
        for start in dict.fromkeys(starts):
            if VENDORED.intersection(start.split("/")):
                self.problems.append((start, "lies in a vendored folder, which is never edited"))
            elif (self.root / start).is_dir():
                self._walk("" if start == "." else start, suffixes, found, links)
            elif start.endswith(tuple(suffixes)):
                found.add(start)
                self._note((self.root / start).stat().st_ino, start)
        for link in links:
            try:
                target = (self.root / link).resolve(strict=True).relative_to(self.root.resolve()).as_posix()
            except (OSError, RuntimeError, ValueError):
                continue  # broken, a loop, or out of the tree
            if not _SKIPPED.intersection(target.split("/")):
                found.add(target if posixpath.splitext(target)[1] in suffixes else link)
        return sorted(found)

    def _walk(self, folder: str, suffixes: frozenset[str] | set[str], found: set[str], links: list[str]) -> None:
        pending = [folder]
        while pending:
            current = pending.pop()
            try:
                with os.scandir(self.root / current) as entries:
                    listed = list(entries)
            except OSError as error:
                self.problems.append((current, f"cannot list: {error.strerror}"))
                continue
            prefix = current + "/" if current else ""
            for entry in listed:
                path = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    hidden = entry.name.startswith(".") or entry.name.endswith(".egg-info")
                    if not hidden and entry.name not in _SKIPPED and not self.ignored(path + "/"):
                        pending.append(path)
                elif posixpath.splitext(entry.name)[1] in suffixes and not self.ignored(path):
                    if entry.is_symlink():
                        links.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        found.add(path)
                        self._note(entry.inode(), path)

    def _note(self, inode: int, path: str) -> None:
        self._inodes.setdefault(inode, []).append(path)

    def further_names(self, files: Sequence[str]) -> dict[str, str]:
        """Hard links among ``files`` -> the name of the same file to use instead; sources have the first say.

        A listing tells inode numbers for nothing, so that only files which share one are looked at more closely.
        """
        known = set(files)
        twins = {path for paths in self._inodes.values() if len(paths) > 1 for path in paths if path in known}
        chosen = one_spelling(self.root, twins, SOURCES) if twins else {}
        return {path: name for path, name in sorted(chosen.items()) if path != name}


def _gitignore(root: Path) -> Callable[[str], bool]:
    """Whether the .gitignore at ``root``, if any, ignores a root-relative path (a folder ends in "/")."""
    try:
        lines = (root / ".gitignore").read_text("utf-8", "replace").splitlines()
    except OSError:
        return lambda path: False
    import pathspec  # here: it costs a tenth of a cold start, and many folders have no such file

    spec = pathspec.PathSpec.from_lines("gitignore", lines)
    return spec.match_file
