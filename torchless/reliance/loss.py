"""What the files of one translation unit lack when an include directive is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from torchless.closure.model import Edge
from torchless.reliance import families
from torchless.reliance.facts import Facts, Seen, View
from torchless.reliance.order import Reading
from torchless.rewrites.std_headers import is_given

Use = tuple[str, str]
"""(file, a name that it mentions)"""


@dataclass
class Needs:
    """What is needed of a header that is not included, see vestige.Verdict."""

    relied: dict[str, str] = field(default_factory=dict)
    needed: dict[str, Use] = field(default_factory=dict)
    outside: dict[str, Use] = field(default_factory=dict)
    standard: dict[str, Use] = field(default_factory=dict)
    doubts: dict[str, None] = field(default_factory=dict)


@dataclass
class Loss:
    """One view without the directive ``edge``: ``lost`` are the files that were entered through it.

    ``before`` and ``after`` are the readings with and without it. What is found is added to ``needs``.
    """

    facts: Facts
    view: View
    edge: Edge
    before: Reading
    lost: tuple[str, ...]
    after: Reading
    needs: Needs

    def find_names(self) -> None:
        """Add what names of the checkout's lost files are used by the files that the unit still reads."""
        for user in self._users:
            missing = self._missing(user)
            if missing:
                self._names(user, self._seen(user), missing)

    def find_rest(self) -> None:
        """Add what headers outside of the checkout gave, and what goes away with the directive unseen."""
        for user in self._users:
            missing = self._missing(user)
            outside = [path for path in self.lost if path in missing and path in self.view.closure.outside]
            if outside:
                seen = self._seen(user)
                left = [path for path in self._outside if self._has(user, path)]
                for header in outside:
                    self._header(user, seen, header, left)
                self._standard(user, seen, outside, left)
        for path in self._gone:
            if path in self.view.closure.outside:
                if self.facts.family(self._edge_to(path)) == families.OTHER:
                    self.needs.doubts[f"<{path}> would go, of which nothing is known"] = None
            else:
                for effect in self.facts.declared(path).effects:
                    self.needs.doubts[f"{_base(path)} {effect}"] = None

    @cached_property
    def _users(self) -> list[str]:
        """The files that the unit still reads and that can miss something."""
        files = (path for path in self.after.entered if path not in self.view.closure.outside)
        return [path for path in files if self._seen(path).mentions.names]

    def _seen(self, user: str) -> Seen:
        """What the unit gets to see of ``user`` where it can miss something; all of it for the includer."""
        whole = user == self.edge.includer
        return self.facts.seen(self.view, user, later=self._was_done(user) and not whole, whole=whole)

    def _missing(self, user: str) -> set[str]:
        missing = set(self._gone)
        missing.update(path for path in self._later if not self._has(user, path))
        missing.discard(user)
        return missing

    @cached_property
    def _gone(self) -> list[str]:
        """What the unit does not read at all any more."""
        return [path for path in self.lost if path not in self.after.entered]

    @cached_property
    def _later(self) -> list[str]:
        """What the unit still reads, but maybe too late."""
        return [path for path in self.lost if path in self.after.entered]

    @cached_property
    def _declaring(self) -> dict[str, list[str]]:
        """Name -> the files of the checkout among the lost ones that declare it."""
        found: dict[str, list[str]] = {}
        for path in self.lost:
            if path not in self.view.closure.outside:
                for name in self.facts.declared(path).names:
                    found.setdefault(name, []).append(path)
        return found

    @cached_property
    def _outside(self) -> list[str]:
        """The headers outside of the checkout that the unit still reads, in that order."""
        return [path for path in self.after.entered if path in self.view.closure.outside]

    def _was_done(self, user: str) -> bool:
        """Whether ``user`` ends before the directive: then only what its macros expand to can miss anything."""
        return self.before.left[user] < self.before.entered[self.edge.target]

    def _has(self, user: str, path: str) -> bool:
        """Whether ``user`` has ``path``, which the unit still reads, in time."""
        return self._was_done(user) or self.after.entered[path] <= self.after.left[user]

    def _names(self, user: str, seen: Seen, missing: set[str]) -> None:
        """Add the files of the checkout among ``missing`` that ``user`` uses."""
        needs, target = self.needs, self.edge.target
        for name in sorted(self._declaring.keys() & seen.mentions.names):
            for path in self._declaring[name]:
                if path not in missing or (path != target and name in self.facts.declared(user).names):
                    continue
                if path == target:
                    needs.relied.setdefault(user, name)
                else:
                    needs.needed.setdefault(path, (user, name))
        if seen.mentions.pasted:
            words = self.facts.words(self.view)
            for name in sorted(self._declaring.keys() - seen.mentions.names):
                if not missing.isdisjoint(self._declaring[name]) and seen.mentions.makes(name, words):
                    needs.doubts[f"{_base(user)} may make {name} with ##"] = None
                    break
        for namespace in sorted(seen.mentions.using):
            lost = any(namespace in self.facts.mentions(path).opened for path in missing if self._is_inside(path))
            if lost and not any(namespace in self.facts.mentions(path).opened for path in self._inside(user)):
                needs.doubts[f"{_base(user)} is using namespace {namespace}"] = None

    def _is_inside(self, path: str) -> bool:
        return path not in self.view.closure.outside

    def _inside(self, user: str) -> Iterator[str]:
        """The files of the checkout that ``user`` still has in time."""
        return (path for path in self.after.entered if self._is_inside(path) and self._has(user, path))

    def _header(self, user: str, seen: Seen, header: str, left: list[str]) -> None:
        """Add what ``user`` lacks of ``header``, which is outside of the checkout; ``left`` are those that it has."""
        edge = self._edge_to(header)
        kind = self.facts.family(edge)
        if kind == families.TORCH:
            self._torch(user, seen, edge, left)
        elif kind == families.HIP:
            uses = families.narrow_hip_uses(header, seen.mentions)
            if not uses and not any(map(families.brings_hip, left)):
                uses = seen.hip
            if uses:
                self.needs.outside.setdefault(f"<{header}>", (user, uses[0]))
        elif kind == families.CK:
            if not any(self.facts.category(other) == families.CK for other in left):
                self._from_includer(edge, user, seen.ck)
        elif kind == families.PYBIND and seen.pybind and not any(map(families.binds_torch, left)):
            self.needs.outside.setdefault(f"<{header}>", (user, seen.pybind[0]))

    def _torch(self, user: str, seen: Seen, edge: Edge, left: list[str]) -> None:
        """Add what ``user`` lacks of one of torch's headers."""
        known = self.facts.headers
        narrow = known.narrow.get(edge.target)
        if narrow is not None:
            declared = self.facts.declared_in(self.view)
            uses = [] if known.is_within(edge.target, left) else narrow.used(seen.mentions)
            uses = [name for name in uses if name not in declared]
        elif any(families.family(header, True) == families.TORCH and header not in known.narrow for header in left):
            uses = []
        else:
            uses = seen.torch
        if families.binds_torch(edge.target) and not any(map(families.binds_torch, left)):
            uses = uses or self._bound(user) or self._alias(user)
            if seen.pybind and not any(header.startswith("pybind11/") for header in left):
                for lost in ("<pybind11/pybind11.h>", "<pybind11/stl.h>"):
                    self.needs.outside.setdefault(lost, (user, seen.pybind[0]))
        if families.brings_hip(edge.target) and seen.hip and not any(map(families.brings_hip, left)):
            self.needs.outside.setdefault("<hip/hip_runtime.h>", (user, seen.hip[0]))
        self._from_includer(edge, user, uses)

    def _bound(self, user: str) -> list[str]:
        """What of torch the unit still mentions, where ``user`` binds functions: their types need torch's casters."""
        if "PYBIND11_MODULE" not in self.facts.mentions(user).names:
            return []
        users = (path for path in self.after.entered if self._is_inside(path))
        uses = (self.facts.seen(self.view, path, later=False, whole=path == user).torch for path in users)
        return next((found for found in uses if found), [])

    def _alias(self, user: str) -> list[str]:
        """The name ``py``, which torch gives to pybind11, where ``user`` uses it and nobody else declares it."""
        if not any(name.startswith("py::") for name in self.facts.mentions(user).qualified):
            return []
        declared = (self.facts.declared(path).names for path in (user, *self._inside(user)))
        return [] if any("py" in names for names in declared) else ["py::"]

    def _from_includer(self, edge: Edge, user: str, uses: list[str]) -> None:
        """``user`` uses what a header outside of the checkout gives: what includes that is needed."""
        if not uses:
            return
        if edge.includer in (self.edge.includer, self.edge.target):
            self.needs.relied.setdefault(user, uses[0])
        else:
            self.needs.needed.setdefault(edge.includer, (user, uses[0]))

    def _standard(self, user: str, seen: Seen, missing: list[str], left: list[str]) -> None:
        """Add the standard headers that may have come through ``missing`` and that ``user`` needs."""
        provided = families.standard_in(left)
        for use in seen.standard:
            name = use.header[1:-1]
            if not is_given(use.header, provided) and any(families.may_bring(header, name) for header in missing):
                self.needs.standard.setdefault(use.header, (user, use.names[0]))

    def _edge_to(self, header: str) -> Edge:
        """The directive that opened ``header``."""
        includer, offset = self.before.opened[header]
        return next(e for e in self.view.leaving[includer] if e.offset == offset and e.target == header)


def _base(path: str) -> str:
    return path.rpartition("/")[2]
