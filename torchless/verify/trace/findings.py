"""Which differences are of one kind: each kind is shown once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from torchless.verify.trace.model import Difference
from torchless.verify.trace.normal import without_details

Where = TypeVar("Where")


def alike(difference: Difference) -> str:
    """The same text for differences of one kind: without numbers, dtypes, template arguments and places."""
    text = re.sub(r" \[[^\]]*\]", "", difference.text)
    for _ in range(4):
        text = re.sub(r"<[^<>]*>", "", text)
    if difference.kind == "verdict":  # whoever goes through, what it launches is another matter
        text = re.sub(r"(before|after): (launches|goes through)[^;]*", r"\1: goes through", text)
    elif difference.kind not in ("message", "result"):
        text = text.partition(": ")[0]
    return f"{difference.kind} {difference.accepted} {without_details(text)}"


def grouped(found: Iterable[tuple[Where, Difference]]) -> list[list[tuple[Where, Difference]]]:
    """What was found, by kind in the order of the first of each; a changed refusal, which says least, comes last."""
    groups: dict[str, list[tuple[Where, Difference]]] = {}
    for where, difference in found:
        groups.setdefault(alike(difference), []).append((where, difference))
    return sorted(groups.values(), key=lambda seen: seen[0][1].kind == "message")
