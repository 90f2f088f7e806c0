"""Units into batches: one a module by default, shared headers apart, and none over the limits but a single unit."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.campaign.model import GroupBy, Limits
from torchless.campaign.owners import owners_of
from torchless.model import Unit
from torchless.selection import is_cpp, is_header

SHARED = "shared-headers"
"""The name of the batch of what lives in headers alone."""


@dataclass(frozen=True, slots=True)
class Known:
    """A batch that an earlier plan made: its name, and the units and modules that were in it."""

    name: str
    units: tuple[str, ...]
    modules: tuple[str, ...]


Sized = Callable[[Sequence[Unit]], tuple[int, int]]
"""The files and the changed lines of some units together."""


def grouped(
    units: Iterable[Unit], by: GroupBy, limits: Limits, size: Sized, root: Path, known: Sequence[Known] = ()
) -> dict[str, tuple[Unit, ...]]:
    """Batch name -> its units, by name. A unit of a batch that is ``known`` stays in it.

    Modules that a unit ties together are one batch. What a limit keeps out of a batch goes into another one of the same
    name with a number behind it.
    """
    out: dict[str, list[Unit]] = {}
    fresh: list[Unit] = []
    for unit in sorted(units, key=lambda u: u.name):
        name = _known_name(unit, known)
        if name:
            out.setdefault(name, []).append(unit)
        else:
            fresh.append(unit)
    taken = {*out, *(batch.name for batch in known)}
    for key, members in _keyed(fresh, by, root).items():
        for part in _within(members, limits, size):
            out[_free(key, taken)] = part
    return {name: tuple(sorted(members, key=lambda u: u.name)) for name, members in out.items()}


def is_shared(unit: Unit) -> bool:
    """Whether a unit lives in headers that no module owns, with what its includers need: others build upon it."""
    own_name = unit.name.partition(":")[0]
    return not unit.modules and (is_header(own_name) or all(is_header(path) for path in _own_files(unit)))


def over(units: Sequence[Unit], limits: Limits, size: Sized) -> tuple[str, ...]:
    """What a batch has too much of: units that cannot be cut may be larger than a limit."""
    if limits == Limits():
        return ()
    files, lines = size(units)
    found = []
    if limits.files and files > limits.files:
        found.append(f"{files} files, and the limit is {limits.files}")
    if limits.lines and lines > limits.lines:
        found.append(f"{lines} lines, and the limit is {limits.lines}")
    return tuple(found)


def _known_name(unit: Unit, known: Sequence[Known]) -> str:
    by_name = next((batch.name for batch in known if unit.name in batch.units), "")
    return by_name or next((batch.name for batch in known if not set(unit.modules).isdisjoint(batch.modules)), "")


def _keyed(units: Sequence[Unit], by: GroupBy, root: Path) -> dict[str, list[Unit]]:
    shared = [unit for unit in units if is_shared(unit)]
    others = [unit for unit in units if not is_shared(unit)]
    out: dict[str, list[Unit]] = {SHARED: shared} if shared else {}
    if by is GroupBy.MODULE:
        keys = _modules(others)
    elif by is GroupBy.DIRECTORY:
        keys = {unit.name: _directory(unit) for unit in others}
    else:
        owners = owners_of(root)
        keys = {
            unit.name: " ".join(dict.fromkeys(o for path in _own_files(unit) for o in (owners(path) if owners else ())))
            or "nobody"
            for unit in others
        }
    for unit in others:
        out.setdefault(keys[unit.name], []).append(unit)
    return dict(sorted(out.items()))


def _modules(units: Sequence[Unit]) -> Mapping[str, str]:
    """Unit -> the name of its batch: that of its module; units with a module in common share a batch."""
    owner: dict[str, str] = {}  # module -> the first module that it is tied to
    for unit in units:
        firsts = {owner.get(name, name) for name in unit.modules}
        if firsts:
            first = min(firsts)
            owner.update((name, first) for name in unit.modules)
            owner.update((name, first) for name, other in list(owner.items()) if other in firsts)
    count: dict[str, int] = {}
    for first in owner.values():
        count[first] = count.get(first, 0) + 1
    out = {}
    for unit in units:
        if not unit.modules:
            out[unit.name] = _own_files(unit)[0]
            continue
        first = owner[unit.modules[0]]
        out[unit.name] = first if count[first] == 1 else f"{first}+{count[first] - 1}"
    return out


def _directory(unit: Unit) -> str:
    """The folder of its first source, as far as it has one."""
    files = _own_files(unit)
    path = next((p for p in files if is_cpp(p) and not is_header(p) and "/pybind/" not in p), files[0])
    return posixpath.dirname(path) or "."


def _own_files(unit: Unit) -> tuple[str, ...]:
    """The files that a unit changes or, when it is blocked, in which something was found."""
    return unit.files or tuple(sorted({finding.path for finding in unit.findings})) or (unit.name.partition(":")[0],)


def _within(units: Sequence[Unit], limits: Limits, size: Sized) -> list[list[Unit]]:
    """``units`` in order, cut where the next one would exceed a limit."""
    parts: list[list[Unit]] = []
    for unit in units:
        if parts and not over([*parts[-1], unit], limits, size):
            parts[-1].append(unit)
        else:
            parts.append([unit])
    return parts


def _free(key: str, taken: set[str]) -> str:
    name, number = key, 2
    while name in taken:
        name, number = f"{key}#{number}", number + 1
    taken.add(name)
    return name
