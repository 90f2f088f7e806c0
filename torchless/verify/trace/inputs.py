"""Inputs for an entry point: first guesses, changes to them, and what is systematically tried around a good one.

Everything is drawn from a generator that is seeded with the entry point's name: the same signature and text give the
same inputs, whatever else is traced.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, zip_longest

from torchless.verify.trace.hints import Hints
from torchless.verify.trace.model import Call, Parameter, Signature, TensorInput, Value

# What AiterDtype has (an int4 pair has no dtype in torch), then what it lacks, with the flavours of fp8 that are not
# those of gfx942.
TARGET_DTYPES = (
    "float16", "bfloat16", "float32", "float8_e4m3fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "int8", "uint8",
    "int16", "int32", "uint32", "int64", "uint64",
)  # fmt: skip
OTHER_DTYPES = ("float64", "bool", "uint16", "float8_e4m3fn", "float8_e5m2")
MAIN_DTYPES = ("float16", "bfloat16", "float32")
SIZES = (1, 2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024)
NUMBERS = (0, 1, 2, 3, 4, 8, 16, 64, 128)
HUGE = ((1 << 31) + 8, (1 << 32) + 16)
_INDEX = re.compile(
    r"(?:^|_)(?:map|idx|index|indices|ids?|slots?|slot_mapping|lens?|offsets?|positions?|table|indptr)(?:_|$)"
)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A call, and what is special about it."""

    call: Call
    label: str


def dense(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, as torch makes them."""
    strides: list[int] = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def tensor(dtype: str, sizes: Sequence[int], device: int = 0) -> TensorInput:
    """A contiguous tensor."""
    return TensorInput(dtype, tuple(sizes), dense(sizes), device)


def rng_for(seed: int, entry: str, what: str) -> random.Random:
    """The generator for one purpose of one entry point."""
    return random.Random(f"{seed}:{entry}:{what}")


def tensors_of(call: Call) -> Iterator[tuple[int, TensorInput]]:
    """(argument index, tensor) of the plain tensor arguments."""
    for i, value in enumerate(call.args):
        if isinstance(value, TensorInput):
            yield i, value


def with_arg(call: Call, index: int, value: Value) -> Call:
    """The call with another argument."""
    return replace(call, args=(*call.args[:index], value, *call.args[index + 1 :]))


def with_each_tensor(call: Call, **changes: object) -> Call:
    """The call with the same change made to every tensor."""
    for i, t in tensors_of(call):
        call = with_arg(call, i, replace(t, **changes))  # type: ignore[arg-type]
    return call


def guess(signature: Signature, hints: Hints, rng: random.Random) -> Call:
    """A first guess: shapes from comments where there are some, else all alike or rows and columns."""
    sizes: dict[str, int] = {}
    main = rng.choice(MAIN_DTYPES)
    loose = rng.random()  # how far dtypes may be from the main one
    alike = [rng.choice(SIZES[:6]) for _ in range(3)] + [rng.choice(SIZES[6:])]
    rank = rng.choice((1, 2, 2, 3, 4))
    args: list[Value] = []
    for p in signature.params:
        if p.optional and rng.random() < 0.5:
            args.append(None)
        elif p.base == "tensor":
            args.append(_guess_tensor(p, hints, rng, sizes, main, alike, rank, loose))
        elif p.base == "tensors":
            args.append((_guess_tensor(p, hints, rng, sizes, main, alike, rank, loose),) * rng.choice((1, 2, 3)))
        else:
            args.append(guess_number(p, hints, rng, sizes, alike))
    return Call(signature.name, tuple(args))


def resized(call: Call, old: int, new: int, only: Sequence[int] | None = None) -> Call:
    """The call in which every size ``old`` is ``new``, and every number that was that size, too; strides dense.

    ``only`` names the arguments, by index, that alone are changed.
    """
    for i, t in tensors_of(call):
        if old in t.sizes and (only is None or i in only):
            call = with_arg(call, i, tensor(t.dtype, [new if s == old else s for s in t.sizes], t.device))
    if only is not None:
        return call
    for i, value in enumerate(call.args):
        if type(value) is int and value == old and old > 4:
            call = with_arg(call, i, new)
    return call


def variations(call: Call, signature: Signature, hints: Hints) -> Iterator[Labelled]:
    """What is tried around a call that went through, in a fixed order: kinds of change take turns."""
    yield Labelled(call, "as it is")
    yield Labelled(replace(call, capture=True), "while a graph is recorded")
    yield Labelled(replace(with_each_tensor(call, device=1), device=1), "on device 1")
    yield Labelled(with_each_tensor(call, device=1), "on device 1 while device 0 is current")
    yield Labelled(with_each_tensor(call, device=-1), "on the CPU")
    for i, t in tensors_of(call):
        name = signature.params[i].name
        yield Labelled(with_arg(call, i, replace(t, device=-1)), f"{name} on the CPU")
        yield Labelled(with_arg(call, i, replace(t, device=1)), f"{name} on device 1")
    for i, p in enumerate(signature.params):
        if p.optional and call.args[i] is not None:
            yield Labelled(with_arg(call, i, None), f"without {p.name}")
    kinds = (
        _dtype_variations(call, signature),
        _size_variations(call, hints),
        _shape_variations(call, signature),
        _layout_variations(call, signature),
        _number_variations(call, signature, hints),
    )
    for row in zip_longest(*kinds):
        yield from (labelled for labelled in row if labelled is not None)


def _dtype_variations(call: Call, signature: Signature) -> Iterator[Labelled]:
    groups: dict[str, list[int]] = {}
    for i, t in tensors_of(call):
        groups.setdefault(t.dtype, []).append(i)
    for dtype in (*TARGET_DTYPES, *OTHER_DTYPES):
        for old, members in groups.items():
            if dtype == old:
                continue
            changed = call
            for i in members:
                value = call.args[i]
                assert isinstance(value, TensorInput)
                changed = with_arg(changed, i, replace(value, dtype=dtype))
            yield Labelled(changed, f"{dtype} for {old}")
        for i, t in tensors_of(call):
            if len(groups[t.dtype]) > 1 and dtype != t.dtype:
                yield Labelled(with_arg(call, i, replace(t, dtype=dtype)), f"{signature.params[i].name} of {dtype}")


def _size_variations(call: Call, hints: Hints) -> Iterator[Labelled]:
    for old in sorted({s for _, t in tensors_of(call) for s in t.sizes}):
        for new in (0, 1, old - 1, old + 1, *borders(hints, 24), *HUGE):
            if new != old and new >= 0:
                yield Labelled(resized(call, old, new), f"size {new} for {old}")


def _shape_variations(call: Call, signature: Signature) -> Iterator[Labelled]:
    """Some tensors of another shape than the rest: what checks compare, one with the other."""
    for old in sorted({s for _, t in tensors_of(call) for s in t.sizes}, reverse=True):
        members = [i for i, t in tensors_of(call) if old in t.sizes]
        for chosen in _parts(members):
            names = " and ".join(signature.params[i].name for i in chosen)
            for word, new in (("larger", old + 1), ("double", old * 2)):
                yield Labelled(resized(call, old, new, chosen), f"{names} {word} where it was {old}")
    for i, t in tensors_of(call):
        name = signature.params[i].name
        for d, size in enumerate(t.sizes):
            for word, new in (("empty", 0), ("larger", size + 1), ("double", size * 2)):
                sizes = (*t.sizes[:d], new, *t.sizes[d + 1 :])
                yield Labelled(with_arg(call, i, tensor(t.dtype, sizes, t.device)), f"dimension {d} of {name} {word}")
        yield Labelled(with_arg(call, i, tensor(t.dtype, (1, *t.sizes), t.device)), f"{name} of a higher rank")
        if t.sizes:
            yield Labelled(with_arg(call, i, tensor(t.dtype, t.sizes[1:], t.device)), f"{name} of a lower rank")
            yield Labelled(with_arg(call, i, tensor(t.dtype, (), t.device)), f"{name} a scalar")


def _parts(members: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The parts of a set to change without the rest: all, or of a large one those of one, of two and of all but one."""
    counts = range(1, len(members)) if len(members) <= 4 else (1, 2, len(members) - 1)
    for count in counts:
        yield from combinations(members, count)


def _layout_variations(call: Call, signature: Signature) -> Iterator[Labelled]:
    for i, t in tensors_of(call):
        name = signature.params[i].name
        if not t.sizes:
            continue
        rank = len(t.sizes)
        wider = dense([*t.sizes[:-1], t.sizes[-1] + 8])
        yield Labelled(with_arg(call, i, replace(t, strides=wider)), f"{name} with longer rows")
        yield Labelled(with_arg(call, i, replace(t, strides=tuple(2 * s for s in t.strides))), f"{name} with gaps")
        yield Labelled(with_arg(call, i, replace(t, offset=1)), f"{name} at an odd address")
        yield Labelled(with_arg(call, i, replace(t, offset=64)), f"{name} at an offset")
        if rank > 1:
            swapped = (*t.strides[:-2], 1, max(t.sizes[-2], 1))
            yield Labelled(with_arg(call, i, replace(t, strides=swapped)), f"{name} transposed")
            yield Labelled(with_arg(call, i, replace(t, strides=(0, *t.strides[1:]))), f"{name} expanded")
            far = ((1 << 31) + 8, *t.strides[1:])
            yield Labelled(with_arg(call, i, replace(t, strides=far)), f"{name} with rows 2^31 apart")


def _number_variations(call: Call, signature: Signature, hints: Hints) -> Iterator[Labelled]:
    for i, p in enumerate(signature.params):
        value = call.args[i]
        if value is None:
            continue
        tried: Sequence[Value] = ()
        if p.base == "int64":
            tried = (0, 1, 2, 3, 4, -1, 7, 64, *borders(hints, 12), HUGE[0], HUGE[1])
        elif p.base in ("int32", "int8", "enum"):
            tried = (0, 1, 2, 3, -1, 7, 64, *(borders(hints, 12) if p.base == "int32" else ()))
        elif p.base == "float":
            tried = (0.0, -1.5, 1e-30, 3.0000000000000004, float("inf"))
        elif p.base == "bool":
            tried = (not value,)
        elif p.base == "str":
            tried = ("", *hints.texts)
        elif p.base == "dtype":
            tried = (*TARGET_DTYPES, *OTHER_DTYPES)
        for new in tried:
            if new != value:
                yield Labelled(with_arg(call, i, new), f"{p.name} = {new}")


def borders(hints: Hints, count: int) -> list[int]:
    """Sizes at and around the numbers of the body, the usual ones first."""
    around = [n + d for n in (64, 256, *hints.numbers) for d in (0, -1, 1)]
    return list(dict.fromkeys(n for n in around if n > 0))[:count]


def _guess_tensor(
    p: Parameter,
    hints: Hints,
    rng: random.Random,
    known: dict[str, int],
    main: str,
    alike: Sequence[int],
    rank: int,
    loose: float,
) -> TensorInput:
    dtype = hints.dtypes.get(p.name, "")
    if not dtype:
        dtype = rng.choice(("int32", "int32", "int64")) if _INDEX.search(p.name) else main
        if loose > 0.4 and "scale" in p.name:
            dtype = "float32"
        elif loose > 0.4 and rng.random() < 0.4 * loose:
            dtype = rng.choice((*hints.mentioned, *hints.mentioned, *TARGET_DTYPES))
    shape = hints.shapes.get(p.name)
    if shape is not None:
        return tensor(dtype, _sizes_of(shape, known, rng, hints))
    least = hints.ranks.get(p.name, 0)
    if least and rng.random() < 0.5:
        rank = least
    if (_INDEX.search(p.name) or "scale" in p.name or "weight" in p.name) and rng.random() < 0.5:
        return tensor(dtype, [alike[-1] if "weight" in p.name else alike[-2]])
    return tensor(dtype, alike[len(alike) - max(rank, least) :])


def _sizes_of(shape: Sequence[str], known: dict[str, int], rng: random.Random, hints: Hints) -> list[int]:
    out: list[int] = []
    for part in shape:
        if part in ("...", "*"):
            out += [rng.choice((1, 2, 3)) for _ in range(rng.choice((0, 1, 2)))]
        else:
            out.append(_size_of(part, known, rng, hints))
    return out


def _size_of(part: str, known: dict[str, int], rng: random.Random, hints: Hints) -> int:
    """A size written as a number, a name, or a product or quotient of such."""
    total = 1
    for operator, factor in re.findall(r"([*/]?)\s*([A-Za-z_]\w*|\d+)", part):
        if factor.isdigit():
            value = int(factor)
        else:
            pool = rng.choice((SIZES[:6], SIZES[5:], SIZES[5:], hints.numbers or SIZES))
            value = known.setdefault(factor, rng.choice(pool))
        total = max(total // value, 1) if operator == "/" else total * value
    return min(total, 1 << 20)


def guess_number(p: Parameter, hints: Hints, rng: random.Random, known: dict[str, int], alike: Sequence[int]) -> Value:
    """A value for a parameter that is no tensor; ``known`` are sizes by name, ``alike`` further ones."""
    if p.base == "bool":
        return rng.random() < 0.5
    if p.base == "float":
        return rng.choice((1e-6, 1e-5, 0.5, 1.0, -2.0))
    if p.base == "str":
        return rng.choice(("auto", "", *hints.texts))
    if p.base == "dtype":
        return rng.choice((*MAIN_DTYPES, *TARGET_DTYPES))
    if p.base == "ints":
        return tuple(rng.choice(NUMBERS) for _ in range(rng.choice((1, 2, 3))))
    if p.base in ("stream", "generator"):
        return None
    if p.name in known and rng.random() < 0.8:
        return known[p.name]
    if p.base == "int8":
        return rng.choice((0, 1, 2))
    return rng.choice((*NUMBERS, *sorted(set(known.values())), *alike, *borders(hints, 12)))
