"""`torchless why`: on which ways a translation unit comes to a header, in every way it is built and in each pass."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torchless.closure.build import Closures
from torchless.closure.chains import all_chains
from torchless.closure.heavy import load_heavy
from torchless.closure.model import Closure, Trouble
from torchless.closure.weights import load_weights
from torchless.closure.why import Why, why
from torchless.errors import UsageError
from torchless.index import open_index
from torchless.options import CheckOptions
from torchless.project.discover import ProjectError, find_root, load
from torchless.project.model import Project
from torchless.selection import SelectionError, is_header, select

COUNTED = 1000
"""Ways to one header that are counted; of more it is said that there are more."""


@dataclass(frozen=True)
class Pass:
    """What one pass reads and why. ``further``: header -> the ways beyond those in ``why``, COUNTED or fewer in all.

    ``troubles`` are what is wrong with directives on the way.
    """

    why: Why
    further: Mapping[str, int]
    troubles: tuple[Trouble, ...]


@dataclass(frozen=True)
class Reading:
    """The answer: the unit's ``source`` and modules, what was asked about ("" for every heavy header), and each pass.

    ``similar`` are headers that may have been meant when no pass reads what was asked about. ``weights`` says how the
    lines of headers outside of the checkout were measured.
    """

    root: str
    source: str
    modules: tuple[str, ...]
    header: str
    passes: tuple[Pass, ...]
    similar: tuple[str, ...]
    weights: str


def explain_reading(options: CheckOptions, start: Path, header: str, limit: int) -> Reading:
    """Why the source that ``options.paths`` names (one path) reads ``header``, or all heavy headers when that is "".

    At most ``limit`` ways are given for each header, the shortest first. Raises UsageError.
    """
    (path,) = options.paths
    try:
        root, _ = find_root([(start / path).absolute()])
        index = open_index(root, options.cache)
        project = load(start, options.paths, index)
        named = select(project, start, options.paths).named
    except (ProjectError, SelectionError) as error:
        raise UsageError(str(error)) from None
    if len(named) != 1:
        raise UsageError(f"{path}: name one source of the project, such as {_some(project.sources)}")
    (source,) = named
    heavy, weights = load_heavy(options.heavy), load_weights()
    closures = Closures(project, index, heavy, options.arch, options.defines, options.include_dirs)
    if is_header(source):
        users = sorted(closures.users_of(source))
        readers = f"name a source that reads it, such as {_some(users)}" if users else "no source reads it"
        raise UsageError(f"{path} is a header: {readers}")
    found = closures.of(source)
    index.save()
    passes = []
    for closure in found:
        answer = why(closure, heavy, weights, header, limit)
        further = {r.header: _further(closure, r.header, limit) for r in answer.reasons if not r.is_all}
        passes.append(Pass(answer, further, closure.troubles))
    is_read = any(each.why.reasons for each in passes)
    return Reading(
        root=project.root,
        source=source,
        modules=_modules(project, source),
        header=header,
        passes=tuple(passes),
        similar=() if is_read or not header else _similar(found, header),
        weights=weights.source,
    )


def _further(closure: Closure, header: str, limit: int) -> int:
    return len(all_chains(closure, header, COUNTED)) - limit


def _modules(project: Project, source: str) -> tuple[str, ...]:
    return tuple(module.name for module in project.modules if source in module.sources)


def _similar(closures: tuple[Closure, ...], header: str) -> tuple[str, ...]:
    """Files that some pass reads with a name like that of ``header``."""
    by_name: dict[str, list[str]] = {}
    for path in dict.fromkeys(path for closure in closures for path in closure.via):
        by_name.setdefault(posixpath.basename(path), []).append(path)
    near = difflib.get_close_matches(posixpath.basename(header), sorted(by_name), n=3, cutoff=0.75)
    return tuple(path for name in near for path in by_name[name])[:3]


def _some(paths: tuple[str, ...] | list[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + more if paths else "none (there is no source)"
