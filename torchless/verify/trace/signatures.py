"""The signatures of entry points: kinds of parameters from the compiled program, their names from its code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from torchless.verify.trace.model import Parameter, Signature

Described = Iterable[tuple[str, tuple[str, ...], str]]

# Kinds of which either may stand for the other: a number is a number, however wide.
_ALIKE = {"int32": "int", "int64": "int", "int8": "int", "enum": "int"}


def signatures(described: Described, names: Mapping[str, tuple[str, ...]]) -> dict[str, Signature]:
    """Signatures by entry point; ``described`` is what the program says, ``names`` are parameters by mangled symbol."""
    out = {}
    for entry, kinds, returns in described:
        known = _parameter_names(entry, len(kinds), names)
        params = []
        for i, kind in enumerate(kinds):
            name = known[i] if known and not known[i].isdigit() else f"arg{i}"
            params.append(Parameter(name, kind))
        out[entry] = Signature(entry, tuple(params), returns)
    return out


def paired(before: Signature, after: Signature) -> tuple[Signature, Signature] | str:
    """The two signatures with the same names for the same parameters, or why their calls cannot be compared.

    A stream that one side takes as an argument is the harness's affair: the other side gets it otherwise.
    """
    for side, signature in (("before", before), ("after", after)):
        for p in signature.params:
            if p.kind.startswith("unsupported "):
                what = p.kind.removeprefix("unsupported ")
                return f"{p.name} is a {what} {side}, which no input can be made for"
    old = [p for p in before.params if p.base != "stream"]
    new = [p for p in after.params if p.base != "stream"]
    if len(old) != len(new):
        return f"takes {len(old)} arguments before and {len(new)} after"
    for a, b in zip(old, new, strict=True):
        if _ALIKE.get(a.base, a.base) != _ALIKE.get(b.base, b.base):
            return f"{a.name} is {a.kind} before and {b.kind} after"
    renamed = iter(old)
    shared = tuple(p if p.base == "stream" else replace(p, name=next(renamed).name) for p in after.params)
    if [p.base == "stream" for p in before.params] != [p.base == "stream" for p in after.params]:
        return "takes a stream on one side only"
    return before, replace(after, params=shared)


def _parameter_names(entry: str, count: int, names: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The names of the parameters of a function, () when they cannot be told."""
    parts = entry.split("::")
    coded = "".join(f"{len(part)}{part}" for part in parts)
    prefix = f"_ZN{coded}E" if len(parts) > 1 else f"_Z{coded}"
    found = [params for symbol, params in names.items() if symbol == entry or symbol.startswith(prefix)]
    return next((params for params in found if len(params) == count), ())
