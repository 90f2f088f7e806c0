"""Precompiled headers for the stand-ins: one with torch and one without, for each pass and architecture.

``-x hip`` and precompiled headers do not get along in clang 18: on loading, overloads that differ only in being host or
device functions are merged, and the implicit global operator new and delete are left for the device alone; the first
instantiation of std::vector then crashes the parser. REPAIR, which goes in front of every unit that uses one, declares
them again for the host.
"""

from __future__ import annotations

from dataclasses import dataclass

from torchless.facts.model import TuSpec

REPAIR_NAME = "torchless_pch_repair.h"
REPAIR = b"""\
#include <new>
void* operator new(decltype(sizeof 0)); void* operator new[](decltype(sizeof 0));
void operator delete(void*) noexcept; void operator delete[](void*) noexcept;
"""


@dataclass(frozen=True, slots=True)
class PchSet:
    """Paths of the precompiled headers of both passes for one architecture, "" where one could not be built."""

    arch: str
    paths: tuple[tuple[bool, bool, str], ...]  # (device, torch, path)
    notes: tuple[str, ...] = ()

    def path_for(self, spec: TuSpec, torch: bool) -> str:
        """The file to use for ``spec``, "" when there is none."""
        if spec.arch != self.arch:
            return ""
        return next((p for device, with_torch, p in self.paths if (device, with_torch) == (spec.device, torch)), "")
