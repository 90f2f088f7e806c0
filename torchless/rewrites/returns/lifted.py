"""What leaves a C++ function for Python: expressions, the parameters that come in their place, and why it stays."""

from __future__ import annotations

from dataclasses import dataclass

from torchless.hoisting.terms import Assumption
from torchless.model import Edit
from torchless.rewrites.returns.asking import Query


@dataclass(frozen=True, slots=True)
class Expression:
    """Python in which ``_argN_`` stands for parameter N of the C++ function.

    ``helpers``: keys of hoisting.helpers.SOURCES; ``imports``: modules; ``words``: names that no parameter may hide.
    """

    text: str
    helpers: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Added:
    """A parameter that C++ gets: a tensor ``value`` that Python makes, under ``condition`` if it is not always made.

    ``output``: the function's result, or a part of it; else it is scratch, or a number of the C++ type ``type``.
    """

    name: str
    value: Expression
    condition: Expression | None = None
    output: bool = False
    cleared: str = ""  # the kernel for whose sake memory that C++ left as it was is zeroed
    type: str = ""

    @property
    def declared(self) -> str:
        """The parameter in C++."""
        if self.type:
            return f"{self.type} {self.name}"
        kind = "std::optional<aiter_tensor_t>" if self.condition is not None else "aiter_tensor_t&"
        return f"{kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Fill:
    """The optional parameter at ``position``, for which Python makes ``value`` where its caller gives none."""

    position: int
    value: Expression


@dataclass(frozen=True, slots=True)
class Lifted:
    """What leaves a function: ``values`` says of its locals what they are afterwards, ``edits`` do it in the body.

    A local is an added parameter (its name) or a parameter that was there (its position). ``queries`` tell sizes that
    Python cannot compute.
    """

    added: tuple[Added, ...] = ()
    fills: tuple[Fill, ...] = ()
    values: tuple[tuple[str, str | int], ...] = ()
    edits: tuple[Edit, ...] = ()
    queries: tuple[Query, ...] = ()


class CannotLift(ValueError):
    """Why an allocation has to stay. One line, for people."""
