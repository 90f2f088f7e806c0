"""What the evaluation of an expression asks about the names in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from torchless.hoisting.nodes import Name
from torchless.hoisting.terms import Device, Term

_DEVICE_WORDS = re.compile(
    r"get_?devic|device_?(?:prop|count|attr)|hipget|num_cu|cu_num|warp_size|multi_?processor|get_?arch|gfx|occupancy"
    r"|sm_count|wavefront",
    re.I,
)


def asks_device(name: str) -> bool:
    """Does a function of that name ask what the device can do?"""
    return _DEVICE_WORDS.search(name) is not None


class Names(Protocol):
    """What the names of an expression stand for, at the place where the expression stands."""

    def value(self, node: Name) -> Term:
        """The value of a variable, a parameter or a constant. Raises Refused."""

    def is_local(self, node: Name) -> bool:
        """Is it a variable or a parameter of the function?"""

    def canonical(self, node: Name) -> str:
        """The framework's name for it (``at::kFloat``), or ""."""

    def call(self, node: Name, arguments: Sequence[Term]) -> Term | None:
        """What a function or a macro of the files at hand gives; None when there is none of that name."""

    def type(self, spelled: str) -> str:
        """A type without const and &, aliases of the files at hand resolved."""

    def current_device(self, offset: int) -> Device | None:
        """The device that a device guard has made the current one; None without a guard."""
