"""Finds the checkout around the paths that were asked for, and reads what is in it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torchless.index import Index
from torchless.project.bindings import read_bindings
from torchless.project.includers import includers
from torchless.project.model import Project
from torchless.project.modules import directory_names, read_modules
from torchless.project.ops import DEFINITION, read_decorator, read_ops
from torchless.project.target import read_target
from torchless.project.walk import Walker

CONFIG = "aiter/jit/optCompilerConfig.json"
SOURCES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".hip"})
HEADERS = frozenset({".h", ".hpp", ".cuh", ".hh", ".hxx", ".inl", ".inc"})
Problem = tuple[str, str]


class ProjectError(Exception):
    """The paths do not name one checkout; the message is one line for the person who asked."""


def load(start: Path, paths: Sequence[Path | str] = (), index: Index | None = None) -> Project:
    """Read the checkout that ``paths`` lie in (relative ones to ``start``; none at all: ``start`` itself).

    In an aiter checkout or wheel everything below csrc and gradlib is read, whatever the paths, because edits land
    wherever a unit reaches; paths elsewhere in it are read on top. A plain folder of C++ is read below the paths only,
    a file standing for its folder; but where a header is named, the sources that include it are read, too, wherever
    they are in the git tree or in ``start``. Vendored and build folders, folders that git ignores and links to folders
    are not entered. A file with several names (hard links) has one of them, see ``Project.further_names``.

    What ``index`` knows is not worked out again; the answer is the same without. It must be the index of the root that
    locate() gives for the same arguments, and is not saved here. Raises ProjectError, and ValueError for another index.
    """
    asked, root, is_aiter = _asked(start, paths)
    if index is None:
        index = Index(root)
    elif index.root != str(root) and not root.samefile(index.root):
        raise ValueError(f"the index is that of {index.root}, not of {root}")
    below = [relative_path(root, path) for path in asked]
    problems: list[Problem] = []
    names = directory_names(root)
    if is_aiter:
        folders = [names["AITER_CSRC_DIR"], names["AITER_GRADLIB_DIR"]]
        folders += [path for path in below if path != "." and not _is_within(path, [*folders, "aiter"])]
    else:
        folders = [path if (root / path).is_dir() else posixpath.dirname(path) or "." for path in below]
    walker = Walker(root, index, problems)
    named = [] if is_aiter else [path for path, full in zip(below, asked, strict=True) if _is_header(full)]
    files = walker.files(["."] if named else folders, SOURCES | HEADERS)
    if named:
        users = includers(root, named, files)
        files = [f for f in files if f in users or posixpath.splitext(f)[1] in HEADERS or _is_within(f, folders)]
    further = walker.further_names(files, SOURCES)
    files = [f for f in files if f not in further]
    sources = tuple(f for f in files if posixpath.splitext(f)[1] in SOURCES)
    headers = tuple(f for f in files if posixpath.splitext(f)[1] in HEADERS)
    macros, tus, found = read_bindings(root, files, index)
    problems += found
    target_headers, target_names = read_target(root, headers, index)
    target_names |= {macro.name for macro in macros}
    if not is_aiter:
        walker.remember()
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
    modules, found = read_modules(root, CONFIG, index)
    if further:
        modules = [replace(m, sources=tuple(dict.fromkeys(further.get(s, s) for s in m.sources))) for m in modules]
    problems += found
    definition = "aiter/" + DEFINITION
    python = [path for path in walker.files(["aiter"], {".py"}) if path != definition]
    walker.remember()
    ops, found = read_ops(root, python, index)
    problems += found
    op_parameters = read_decorator(root, definition, index)
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


def locate(start: Path, paths: Sequence[Path | str] = ()) -> Path:
    """The root of the checkout that load() reads for these arguments. Raises ProjectError."""
    return _asked(start, paths)[1]


def _asked(start: Path, paths: Sequence[Path | str]) -> tuple[list[Path], Path, bool]:
    """The absolute paths asked for, and what find_root() says of them; ``start`` where a header lies below it."""
    asked = [_existing(start, Path(path)) for path in paths] or [_existing(start, Path())]
    root, is_aiter = find_root(asked)
    here = start.resolve()
    widens = not is_aiter and not (root / ".git").exists() and any(_is_header(path) for path in asked)
    too_wide = (here.anchor, os.path.expanduser("~"))  # noqa: PTH111 - the other way raises where there is no home
    if widens and root.is_relative_to(here) and str(here) not in too_wide:
        root = here  # not more than a person would search for who includes the header
    return asked, root, is_aiter


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
    return any(folder == "." or path == folder or path.startswith(folder + "/") for folder in folders)


def _is_header(path: Path) -> bool:
    return path.suffix in HEADERS and path.is_file()
