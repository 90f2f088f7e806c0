"""Random calls of a function of tensors: a search for some that go through, and then many more like those."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st

DTYPES = (
    torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fnuz, torch.int32, torch.int64, torch.int8,
    torch.uint8,
)  # fmt: skip
DEVICES = 2
_ELEMENTS = 1 << 20
_KEPT = 10  # calls that were refused in the same words
Maker = Callable[[Sequence[int], torch.dtype, int], torch.Tensor]


@dataclass(frozen=True)
class Spec:
    """A tensor to be made; ``turned``: its first and last axis change places."""

    sizes: tuple[int, ...]
    dtype: torch.dtype
    device: int = 0
    turned: bool = False

    def __post_init__(self) -> None:
        """Sizes with which C++ could not fill what it makes are cut; an axis there always is."""
        sizes = list(self.sizes) or [1]
        while math.prod(sizes) > _ELEMENTS:
            sizes[sizes.index(max(sizes))] //= 2
        object.__setattr__(self, "sizes", tuple(sizes))

    def made(self, tensor: Maker) -> torch.Tensor:
        """It, of a contiguous ``tensor`` (sizes, dtype, device)."""
        made = tensor(self.sizes, self.dtype, self.device)
        return made.transpose(0, -1) if self.turned else made


@dataclass(frozen=True)
class Called:
    """The arguments of a call, tensors and tuples of them as what is to be made, and the device that is current."""

    arguments: tuple[Any, ...]
    device: int = 0

    def made(self, tensor: Maker) -> list[Any]:
        """The arguments, with tensors."""
        lists = [[t.made(tensor) for t in one] if isinstance(one, tuple) else one for one in self.arguments]
        return [one.made(tensor) if isinstance(one, Spec) else one for one in lists]


def is_optional(annotation: str) -> bool:
    """Whether a parameter with this annotation may be None."""
    return "None" in annotation or "Optional" in annotation


@dataclass(frozen=True)
class Space:
    """What calls are made of: the names and annotations of a function's parameters, numbers that may matter to it, and
    by the name of a parameter the numbers that it may be, the dtype that it has, its least rank.
    """

    parameters: tuple[tuple[str, str], ...]
    numbers: tuple[int, ...]
    named: Mapping[str, tuple[int, ...]]
    dtypes: Mapping[str, torch.dtype]
    ranks: Mapping[str, int]

    def fresh(self, dice: random.Random) -> Called:
        """A call of which all tensors have the same sizes and dtype."""
        spec = Spec(tuple(self.size(dice) for _ in range(dice.randint(1, 4))), dice.choice(DTYPES))
        return Called(tuple(self.value(i, spec, dice) for i in range(len(self.parameters))))

    def size(self, dice: random.Random) -> int:
        """A number that is not 0, nor so large that a tensor has no place."""
        return dice.choice((*(n for n in self.numbers if 0 < n <= 300), dice.randint(1, 300), 64 * dice.randint(1, 6)))

    def value(self, i: int, spec: Spec, dice: random.Random) -> Any:
        """Argument ``i``. Numbers are mostly sizes of ``spec``, which is the tensor."""
        name, annotation = self.parameters[i]
        if is_optional(annotation) and dice.random() < 0.3:
            return None
        number = dice.choice(self.named.get(name) or (*spec.sizes, *self.numbers, *range(-2, 5)))
        if dice.random() < 0.9:
            dtype = self.dtypes.get(name, spec.dtype)
            more = max(0, self.ranks.get(name, 0) - len(spec.sizes))
            spec = replace(spec, dtype=dtype, sizes=(*spec.sizes, *(self.size(dice) for _ in range(more))))
        plain: dict[str, Any] = {
            "list[torch.Tensor]": (spec, spec),
            "Tensor": spec,
            "dtype": dice.choice(DTYPES),
            "bool": dice.random() < 0.5,
            "int": number,
            "float": dice.choice((1.0, 1e-5, 0.0)),
            "str": "",
        }
        return next(made for kind, made in plain.items() if kind in annotation)

    def changed(self, one: Called, dice: random.Random) -> Called:
        """``one`` with one or two things changed."""
        for _ in range(dice.randint(1, 2)):
            one = replace(one, arguments=tuple(self._change(list(one.arguments), dice)))
        return one

    def _change(self, values: list[Any], dice: random.Random) -> list[Any]:
        tensors = [i for i, v in enumerate(values) if isinstance(v, Spec)]
        i = dice.randrange(len(values))
        spec: Spec = dice.choice([values[t] for t in tensors] or [Spec((1,), torch.float32)])
        kind = dice.randrange(8)
        if kind == 0 or not tensors:
            values[i] = self.value(i, spec, dice)
        elif kind == 4:  # one dtype for some
            some, dtype = dice.sample(tensors, min(len(tensors), dice.randint(1, 3))), dice.choice(DTYPES)
            values = [replace(v, dtype=dtype) if t in some else v for t, v in enumerate(values)]
        elif kind == 1:  # one dtype for all
            values = [replace(v, dtype=spec.dtype) if isinstance(v, Spec) else v for v in values]
        elif kind == 2:  # one number is another one wherever it is
            old = dice.choice([n for t in tensors for n in values[t].sizes] or [1])
            values = _with_numbers(values, {old: self.size(dice)})
        elif kind == 3:  # other numbers beside the tensors
            others = [type(v) is int and dice.random() < 0.5 for v in values]
            values = [self.value(j, spec, dice) if others[j] else v for j, v in enumerate(values)]
        else:
            t = dice.choice(tensors)
            own: Spec = values[t]
            axis = dice.randint(0, len(own.sizes))
            number = dice.choice((*spec.sizes, self.size(dice)))
            values[t] = (
                replace(own, sizes=spec.sizes)
                if kind == 5
                else replace(own, sizes=(*own.sizes[:axis], number, *own.sizes[axis + 1 :])[:5])
                if kind == 6
                else replace(own, turned=not own.turned)
                if dice.random() < 0.2
                else replace(own, sizes=own.sizes[:axis] if dice.random() < 0.5 else (*own.sizes, number)[:5])
            )
        return values


def search(space: Space, refusal: Callable[[Called], str], name: str, rounds: int) -> Iterator[tuple[Called, str]]:
    """Every call that was tried, with why it was refused ("": it went through).

    A refusal in new words is a step: calls that got there, and those that went through, are changed further.
    """
    dice = random.Random(name)
    fronts: dict[str, list[Called]] = {}
    for _ in range(rounds):
        one = space.fresh(dice)
        if fronts and dice.random() < 0.9:
            through = [""] if "" in fronts and dice.random() < 0.5 else []
            one = space.changed(dice.choice(fronts[dice.choice(through or [*fronts][-12:])]), dice)
        why = refusal(one)
        yield one, why
        alike = fronts.setdefault(re.sub(r"\d+", "0", why)[:50], [])
        if len(alike) < _KEPT or not why:
            alike.append(one)
        elif dice.random() < 0.3:  # steps in the same words lead on, too
            alike[dice.randrange(_KEPT)] = one


@st.composite
def like(draw: st.DrawFn, those: Sequence[Called], optional: Sequence[bool]) -> Called:
    """A call like one of ``those``: numbers that were the same are the same again; devices, strides, a dtype change.

    ``optional``: which arguments may be left out.
    """
    one = draw(st.sampled_from(those))
    sizes = {n for spec in one.arguments if isinstance(spec, Spec) for n in spec.sizes}
    others = {n: draw(st.just(n) | st.integers(0, 300)) for n in sorted(sizes)}
    device, turned = draw(st.integers(0, DEVICES - 1)), draw(st.sampled_from((False, False, True)))
    values = [
        replace(v, device=device, turned=v.turned != turned) if isinstance(v, Spec) else v
        for v in _with_numbers(one.arguments, others)
    ]
    if values and draw(st.integers(0, 3)) == 0:  # one of them elsewhere
        i = draw(st.integers(0, len(values) - 1))
        values[i] = replace(values[i], device=1 - device) if isinstance(values[i], Spec) else values[i]
    if values and draw(st.integers(0, 3)) == 0:  # one of them of another dtype
        i, dtype = draw(st.integers(0, len(values) - 1)), draw(st.sampled_from(DTYPES))
        values[i] = replace(values[i], dtype=dtype) if isinstance(values[i], Spec) else values[i]
    values = [None if may and draw(st.integers(0, 2)) == 0 else v for v, may in zip(values, optional, strict=True)]
    return Called(tuple(values), draw(st.integers(0, DEVICES - 1)))


def _with_numbers(values: Sequence[Any], others: dict[int, int]) -> list[Any]:
    out: list[Any] = []
    for value in values:
        if isinstance(value, Spec):
            out.append(replace(value, sizes=tuple(others.get(n, n) for n in value.sizes)))
        else:
            out.append(others.get(value, value) if type(value) is int else value)
    return out
