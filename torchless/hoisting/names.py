"""What the evaluation of an expression asks about the names in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torchless.hoisting.nodes import Name
from torchless.hoisting.terms import Device, Term


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
