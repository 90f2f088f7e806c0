"""What a C++ expression stands for, said in Python: numbers with their C++ type and range, tensors, dtypes, options."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from torchless.hoisting.python import Text, binary


class Refused(Exception):
    """Something cannot be said in Python. ``offset`` is the byte of what stands in the way."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, slots=True, order=True)
class Assumption:
    """What has to hold for the Python to give what the C++ gives: the value of ``expression`` fits the C++ ``type``.

    For integers the type's bounds are ``low`` .. ``high``, for a "shift count" too; a "float" is one that single
    precision holds, a "finite" one is no infinity and no NaN, a "nonzero" one is not zero.
    """

    expression: str
    type: str
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Uses:
    """What a piece of Python needs around it.

    ``parameters``: C++ names of the parameters it reads; ``helpers``: names out of hoisting/helpers.py; ``imports``:
    modules, and names of the project that it mentions (``torch``, ``math``, ``dtypes``); ``builtins``: Python's own;
    ``fragile``: parameters with values for which it raises (a divisor, an optional that holds nothing).
    """

    parameters: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    builtins: frozenset[str] = frozenset()
    assumptions: frozenset[Assumption] = frozenset()
    fragile: frozenset[str] = frozenset()

    def __or__(self, other: Uses) -> Uses:
        return Uses(
            self.parameters | other.parameters,
            self.helpers | other.helpers,
            self.imports | other.imports,
            self.builtins | other.builtins,
            self.assumptions | other.assumptions,
            self.fragile | other.fragile,
        )


NOTHING = Uses()


@dataclass(frozen=True, slots=True)
class CType:
    """An arithmetic C++ type, or a string. ``rank`` orders integers as the usual arithmetic conversions do."""

    name: str
    kind: str  # "int", "bool", "float", "string"
    bits: int = 0
    signed: bool = True
    rank: int = 0

    @property
    def low(self) -> int:
        """The lowest value of an integer type."""
        return -(1 << (self.bits - 1)) if self.signed and self.kind == "int" else 0

    @property
    def high(self) -> int:
        """The highest value of an integer type."""
        if self.kind == "bool":
            return 1
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, a truth value or a string: its Python, its C++ type, the range an integer is known to lie in.

    ``choices`` are the literals that a string is chosen from, the first whose condition holds; the last has none.
    """

    text: Text
    type: CType
    low: int = 0
    high: int = 0
    uses: Uses = NOTHING
    choices: tuple[tuple[Scalar | None, str], ...] = ()

    @property
    def constant(self) -> int | None:
        """The value of an integer or truth value that is always the same, whatever else is assumed."""
        known = self.low == self.high and self.type.kind in ("int", "bool")
        known = known and not self.uses.assumptions and not self.uses.fragile
        return self.low if known else None


@dataclass(frozen=True, slots=True)
class Rest:
    """A run of sizes that Python has as one sequence, e.g. ``x.shape[1:]``."""

    text: Text
    uses: Uses


@dataclass(frozen=True, slots=True)
class Array:
    """Sizes or strides, in order."""

    parts: tuple[Scalar | Rest, ...]

    @property
    def uses(self) -> Uses:
        """Of all parts."""
        found = NOTHING
        for part in self.parts:
            found |= part.uses
        return found


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype. ``constant`` is torch's enumerator when it is always the same."""

    text: Text
    uses: Uses = NOTHING
    constant: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """A device, or what says one."""

    text: Text
    uses: Uses = NOTHING


@dataclass(frozen=True, slots=True)
class Options:
    """at::TensorOptions. None: not said. ``dtype`` and ``device`` then come from torch's defaults."""

    dtype: DType | None = None
    device: Device | None = None
    pinned: Scalar | None = None
    memory_format: str = ""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: its Python where there is an object with the same sizes *and* strides (None: there is none).

    ``made_by`` is the call that allocates it, for a tensor that the C++ allocates itself, as a key that is the same for
    the same call. ``defined`` says when it is a tensor at all (None: always).
    """

    text: Text | None
    sizes: Array | None
    dtype: DType | None
    device: Device | None
    uses: Uses = NOTHING
    defined: Scalar | None = None
    contiguous: bool = False


@dataclass(frozen=True, slots=True)
class Optional:
    """std::optional: what it holds, and the truth value that it holds something."""

    held: Term
    present: Scalar


@dataclass(frozen=True, slots=True)
class MemoryFormat:
    """at::MemoryFormat; ``name`` is Python's."""

    name: str


@dataclass(frozen=True, slots=True)
class Null:
    """std::nullopt, an empty optional, an undefined tensor."""


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple, a pair or a brace list whose type is not known."""

    items: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that nothing can be said about; what is asked of it is refused with ``reason``."""

    reason: str
    offset: int
    type: str = ""


Term: TypeAlias = Scalar | Array | DType | Device | Options | Tensor | Optional | Null | Group | MemoryFormat | Opaque

BOOL = CType("bool", "bool", 1, False)
STRING = CType("string", "string")
DOUBLE = CType("double", "float", 64, rank=2)
FLOAT = CType("float", "float", 32, rank=1)


def truth(text: Text, uses: Uses = NOTHING) -> Scalar:
    """A truth value that is not known."""
    return Scalar(text, BOOL, 0, 1, uses)


TRUE = Scalar(Text("True"), BOOL, 1, 1)
FALSE = Scalar(Text("False"), BOOL, 0, 0)


def both(left: Scalar, right: Scalar) -> Scalar:
    """``left and right`` of two truth values."""
    if left.constant == 0 or right.constant == 1:
        return left
    if left.constant == 1 or right.constant == 0 or left.text == right.text:
        return right
    return truth(binary("and", left.text, right.text), left.uses | right.uses)


def either(left: Scalar, right: Scalar) -> Scalar:
    """``left or right`` of two truth values."""
    if left.constant == 1 or right.constant == 0:
        return left
    if left.constant == 0 or right.constant == 1 or left.text == right.text:
        return right
    return truth(binary("or", left.text, right.text), left.uses | right.uses)


LONGEST = 600
"""Characters that one expression may take: a longer one is no longer read by anybody, and stays in C++."""


def checked(text: Text, offset: int) -> Text:
    """``text``, unless it is too long to be copied into Python."""
    if len(text.text) > LONGEST:
        raise Refused("the formula is too long to be copied into Python; let C++ answer it", offset)
    return text


def assume(value: Scalar, kind: CType) -> Scalar:
    """``value`` taken to fit the integer type ``kind``: the assumption noted where it is not known, the range cut."""
    if kind.low <= value.low and value.high <= kind.high:
        return value
    noted = Assumption(value.text.text, kind.name, kind.low, kind.high)
    uses = replace(value.uses, assumptions=value.uses.assumptions | {noted})
    return replace(value, low=max(value.low, kind.low), high=min(value.high, kind.high), uses=uses)
