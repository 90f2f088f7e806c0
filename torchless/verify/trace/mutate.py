"""Random changes to a call, led by what the last refusal said."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from torchless.verify.trace.hints import Hints
from torchless.verify.trace.inputs import (
    MAIN_DTYPES,
    SIZES,
    TARGET_DTYPES,
    borders,
    guess,
    guess_number,
    resized,
    tensor,
    tensors_of,
    with_arg,
)
from torchless.verify.trace.model import Call, Signature, TensorInput

_DTYPE = re.compile(r"type|scalar|fp\d|bf16", re.I)
_NUMBER = re.compile(r"\d+")


def mutate(call: Call, signature: Signature, hints: Hints, rng: random.Random, said: str = "") -> Call:
    """The call with one to three random changes that may make it acceptable, or launch something else.

    ``said`` is what the call was refused with: arguments and numbers that it names, and dtypes where it speaks of
    them, are changed more often than others.
    """
    named = [i for i, p in enumerate(signature.params) if re.search(rf"\b{re.escape(p.name)}\b", said, re.I)]
    numbers = [int(n) for n in _NUMBER.findall(said) if 0 < int(n) <= 1 << 16]
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not call.args:
            return call
        index = rng.choice(named) if named and rng.random() < 0.4 else rng.randrange(len(call.args))
        call = _mutate_one(call, index, signature, hints, rng, bool(_DTYPE.search(said)), numbers)
    return call


def _mutate_one(
    call: Call,
    index: int,
    signature: Signature,
    hints: Hints,
    rng: random.Random,
    about_dtypes: bool,
    numbers: Sequence[int],
) -> Call:
    p, value = signature.params[index], call.args[index]
    if value is None or (p.optional and rng.random() < 0.15):
        fresh = guess(signature, hints, rng).args[index] if value is None else None
        if fresh is None and value is None and p.base == "tensor":
            others = [t for _, t in tensors_of(call)]
            fresh = rng.choice(others) if others else None
        return with_arg(call, index, fresh)
    if not isinstance(value, TensorInput):
        sizes = {f"{i}": s for i, t in tensors_of(call) for s in t.sizes}
        sizes |= {f"said {i}": n for i, n in enumerate(numbers)}
        return with_arg(call, index, guess_number(p, hints, rng, sizes, []))
    choice = rng.random()
    if choice < (0.6 if about_dtypes else 0.2):
        dtypes = (*TARGET_DTYPES, *MAIN_DTYPES, *hints.mentioned, *hints.mentioned)
        return with_arg(call, index, replace(value, dtype=rng.choice(dtypes)))
    others = [t for i, t in tensors_of(call) if i != index]
    sizes_now = list(value.sizes)
    choice = rng.random()
    if choice < 0.25 and others:  # like another one, whole or in one place
        other = rng.choice(others)
        if rng.random() < 0.4 or not other.sizes or not sizes_now:
            sizes_now = list(other.sizes)
        else:
            sizes_now[rng.randrange(len(sizes_now))] = rng.choice(other.sizes)
    elif choice < 0.45:
        if rng.random() < 0.5 and sizes_now:
            del sizes_now[rng.randrange(len(sizes_now))]
        else:
            sizes_now.insert(rng.randrange(len(sizes_now) + 1), rng.choice((1, 2, 4)))
    elif sizes_now:
        old = rng.choice(sizes_now)
        usual = (*SIZES, *borders(hints, 16), old * 2, old // 2 or 1, old // 4 or 1)
        new = rng.choice(numbers) if numbers and rng.random() < 0.4 else rng.choice(usual)
        if rng.random() < 0.6:
            return resized(call, old, new)
        sizes_now[sizes_now.index(old)] = new
    return with_arg(call, index, tensor(value.dtype, sizes_now, value.device))
