"""Errors planted in memory: proof that a check would have seen an error in the code that was edited.

After a missing header, in a template that nobody instantiates or behind a condition a parser may pass over code
without a word, and "no new diagnostics" then means nothing. So an undeclared name is put into each edited function and
macro, and a check counts only where every one of them is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torchless.facts.model import Diagnostic
from torchless.text.edits import OffsetMap

_NAME = "torchless_planted_%d"
_PLANTED = re.compile(r"'torchless_planted_(\d+)'")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where an error can be planted, in offsets of the file before any edit.

    For a function ``offset`` is that of the opening brace of its body. For a macro (``macro``) it is the start of the
    replacement list. For an arm of an #if (``arm``) it is the start of any token in it. ``name`` is what a reader knows
    it by.
    """

    path: str
    offset: int
    name: str
    macro: bool = False
    arm: bool = False


def plant(data: bytes, places: Sequence[tuple[int, Place]]) -> tuple[bytes, frozenset[int]]:
    """``data`` with an undeclared name in each place, and the numbers of the places where that could not be done.

    ``data`` is one file after the edits; each place comes with its number and must belong to this file, its offset
    already mapped to ``data``. No line is added.
    """
    out: list[bytes] = []
    done = 0
    impossible: set[int] = set()
    for number, place in sorted(places, key=lambda item: (item[1].offset, item[0])):
        at = place.offset
        if not (place.macro or place.arm):
            if data[at : at + 1] != b"{":
                impossible.add(number)
                continue
            at += 1
        out += (data[done:at], _statement(number, place))
        done = at
    out.append(data[done:])
    return b"".join(out), frozenset(impossible)


def moved(place: Place, offsets: OffsetMap | None) -> Place:
    """``place`` with its offset after the edits."""
    if offsets is None:
        return place
    return replace(place, offset=offsets.new(place.offset))


def reported(diagnostics: Iterable[Diagnostic]) -> frozenset[int]:
    """The numbers of the planted names that diagnostics speak of."""
    return frozenset(int(m[1]) for d in diagnostics for m in _PLANTED.finditer(d.message))


def _statement(number: int, place: Place) -> bytes:
    name = _NAME % number
    if place.arm:  # reported by the preprocessor as soon as it comes by, in the middle of an expression as well
        return rf""" _Pragma("GCC error \"'{name}'\"") """.encode()
    # A macro may be expanded among statements, in an expression or at file scope; a declaration with an unknown type
    # is an error that names the type in all of them. An expression in a function is an error in templates as well.
    return f" {name} torchless_declared; ".encode() if place.macro else f" {name};".encode()
