"""Makes a call that shows a difference smaller, and says how to see it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from torchless.verify.trace.compare import told
from torchless.verify.trace.explore import fits
from torchless.verify.trace.inputs import dense, resized, tensor, tensors_of, with_arg, with_each_tensor
from torchless.verify.trace.model import Call, Difference, Record, Signature, TensorInput, Value

ROUNDS = 20
AT_ONCE = 12

Observe = Callable[[Sequence[Call]], list[tuple[list[Difference], Record, Record]]]
"""Makes calls on both sides: for each the differences, and the records before and after."""


def shrink(
    call: Call, signature: Signature, wanted: Difference, observe: Observe
) -> tuple[Call, Difference, Record, Record]:
    """The smallest call found that still shows a difference of the wanted kind that no convention accepts.

    Gives it with that difference and the two records. Every step makes one thing simpler, so it ends.
    """
    [(differences, before, after)] = observe([call])
    found = _same(differences, wanted) or wanted
    for _ in range(ROUNDS):
        candidates = sorted({c: None for c in simpler(call, signature) if fits(c) and cost(c) < cost(call)}, key=cost)
        if not candidates:
            break
        smaller = _first(candidates, wanted, observe)
        if smaller is None:
            break
        call, found, before, after = smaller
    return call, found, before, after


def _first(
    candidates: Sequence[Call], wanted: Difference, observe: Observe
) -> tuple[Call, Difference, Record, Record] | None:
    """The first of some calls that shows the difference. They are made a few at a time: often an early one does."""
    for start in range(0, len(candidates), AT_ONCE):
        some = candidates[start : start + AT_ONCE]
        for candidate, (differences, before, after) in zip(some, observe(some), strict=True):
            same = _same(differences, wanted)
            if same is not None:
                return candidate, same, before, after
    return None


def cost(call: Call) -> tuple[int, int, int]:
    """How large a call is: first what stands out, then the order of its sizes, then the sizes."""
    odd = 4 * call.capture + 2 * call.device
    numbers: list[int] = []
    for value in call.args:
        if isinstance(value, TensorInput):
            odd += 4 + len(value.sizes)
            odd += 2 * (value.strides != dense(value.sizes)) + 2 * bool(value.offset)
            odd += 2 * (value.device != call.device)
            odd += value.dtype not in ("float16", "float32", "int32")
            numbers += [*value.sizes, *value.strides, value.offset]
        elif isinstance(value, tuple):
            odd += 2 * len(value)
        elif isinstance(value, int):
            odd += 1
            numbers.append(abs(value))
        elif value is not None:
            odd += 1
            numbers.append(len(str(value)))
    return odd, sum(n.bit_length() for n in numbers), sum(numbers)


def simpler(call: Call, signature: Signature) -> Iterator[Call]:
    """Calls that are a step simpler than ``call``."""
    if call.capture:
        yield replace(call, capture=False)
    yield replace(with_each_tensor(call, device=0), device=0)
    yield replace(with_each_tensor(call, device=call.device), device=call.device)
    sizes = sorted({s for _, t in tensors_of(call) for s in t.sizes}, reverse=True)
    for old in sizes:
        for new in dict.fromkeys((1, 2, 3, 8, 64, old // 2, old - 1)):
            if 0 < new < old:
                yield resized(call, old, new)
    for keep in (0, -1):  # one dimension of every tensor
        changed = call
        for i, t in tensors_of(call):
            if len(t.sizes) > 1:
                changed = with_arg(changed, i, tensor(t.dtype, (t.sizes[keep],), t.device))
        yield changed
    changed = call
    for i, t in tensors_of(call):
        changed = with_arg(changed, i, replace(t, strides=dense(t.sizes), offset=0))
    yield changed
    for dtype in ("float16", "float32", "int32"):
        for old_dtype in sorted({t.dtype for _, t in tensors_of(call)} - {dtype}):
            changed = call
            for i, t in tensors_of(call):
                if t.dtype == old_dtype:
                    changed = with_arg(changed, i, replace(t, dtype=dtype))
            yield changed
    for i, (p, value) in enumerate(zip(signature.params, call.args, strict=True)):
        for new_value in _simpler_value(value, p.optional):
            yield with_arg(call, i, new_value)


def reproducer(call: Call, signature: Signature, before: Record, after: Record) -> str:
    """The call as Python that runs where there is a GPU, and what each side does with it."""
    arguments = [
        f"    {p.name}={python_value(value, p.base)},"
        for p, value in zip(signature.params, call.args, strict=True)
        if p.base != "stream"
    ]
    lines = [f"with torch.cuda.device({call.device}):", f"  {signature.name.rpartition('::')[2]}("]
    if call.capture:
        lines[0] = f"with torch.cuda.device({call.device}), torch.cuda.graph(torch.cuda.CUDAGraph()):"
    return "\n".join([*lines, *arguments, "  )", f"before: {told(before)}", f"after:  {told(after)}"])


def _same(differences: Sequence[Difference], wanted: Difference) -> Difference | None:
    return next((d for d in differences if d.kind == wanted.kind and not d.accepted), None)


def _simpler_value(value: Value, optional: bool) -> Iterator[Value]:
    if optional and value is not None:
        yield None
    if isinstance(value, TensorInput):
        yield replace(value, strides=dense(value.sizes), offset=0)
        yield replace(value, offset=0)
        yield replace(value, device=0)
        count = 1
        for size in value.sizes:
            count *= size
        yield tensor(value.dtype, (count,), value.device)
        for d, size in enumerate(value.sizes):
            yield tensor(value.dtype, (*value.sizes[:d], *value.sizes[d + 1 :]), value.device)
            for new in dict.fromkeys((1, 2, size // 2, size - 1)):
                if 0 < new < size:
                    yield tensor(value.dtype, (*value.sizes[:d], new, *value.sizes[d + 1 :]), value.device)
    elif isinstance(value, tuple):
        if value:
            yield value[:-1]
    elif isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, (int, float)):
        for simple in (0, 1, 2):
            if value != simple:
                yield type(value)(simple)


def python_value(value: Value, base: str) -> str:
    """An argument as Python; ``base`` is the kind of its parameter."""
    if isinstance(value, TensorInput):
        device = f"cuda:{value.device}" if value.device >= 0 else "cpu"
        head = f"torch.empty({_tuple(value.sizes)}"
        end = f", dtype=torch.{value.dtype}, device={device!r})"
        if value.strides == dense(value.sizes) and not value.offset:
            return head + end
        count = value.offset + 1 + sum(max(s - 1, 0) * step for s, step in zip(value.sizes, value.strides, strict=True))
        view = f".as_strided({_tuple(value.sizes)}, {_tuple(value.strides)}, {value.offset})"
        return f"torch.empty({count}{end}{view}"
    if isinstance(value, tuple):
        return "[" + ", ".join(python_value(v, base) for v in value) + "]"
    if base == "dtype":
        return f"torch.{value}"
    return repr(value)


def _tuple(numbers: Sequence[int]) -> str:
    return f"({numbers[0]},)" if len(numbers) == 1 else "(" + ", ".join(map(str, numbers)) + ")"
