"""What headers outside of the checkout weigh, in preprocessed lines, from the target's ``headers/weights.json``.

The table says itself how and with which compiler and libraries it was measured; `benchmarks/header_weights.py` makes
it. It knows blocks of lines rather than totals, so that lines which several headers bring are counted once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from torchless.errors import ToolError
from torchless.rules.catalogue import rules_dir


class WeightsError(ToolError):
    """The table of weights cannot be used; the message is one line."""


@dataclass(frozen=True)
class Weights:
    """blocks: header as spelled -> the blocks of lines that it brings. lines: block -> how many lines that is.

    source: how the figures were measured, and with what.
    """

    blocks: Mapping[str, frozenset[int]] = field(default_factory=dict)
    lines: Mapping[int, int] = field(default_factory=dict)
    source: str = ""
    _sums: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def masks(self) -> Mapping[str, int]:
        """Header -> its blocks as the bits of a number, for those who add up often."""
        return {header: sum(1 << block for block in blocks) for header, blocks in self.blocks.items()}

    def under(self, mask: int) -> int:
        """The lines of the blocks whose bits are set in ``mask``."""
        found = self._sums.get(mask)
        if found is None:
            found = self._sums[mask] = sum(count for block, count in self.lines.items() if mask >> block & 1)
        return found

    def of(self, headers: Iterable[str]) -> int:
        """The lines that ``headers`` bring together; one without a known weight counts for nothing."""
        mask = 0
        for header in headers:
            mask |= self.masks.get(header, 0)
        return self.under(mask)


@lru_cache(maxsize=4)
def load_weights(target: str = "aiter") -> Weights:
    """The weights that are stored for ``target``. Raises WeightsError."""
    path = rules_dir(target) / "headers/weights.json"
    return read_weights(path)


def read_weights(path: Path) -> Weights:
    """The weights in a file that benchmarks/header_weights.py made. Raises WeightsError."""
    try:
        document = json.loads(path.read_text("utf-8"))
        names = sorted(document["totals"])
        blocks: dict[str, set[int]] = {name: set() for name in names}
        lines: dict[int, int] = {}
        for number, (count, members) in enumerate(document["blocks"]):
            lines[number] = int(count)
            for member in members:
                blocks[names[member]].add(number)
        source = f"{document['how']} With: {'; '.join(document['with'])}."
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise WeightsError(f"{path}: not a table of weights: {error}".splitlines()[0]) from None
    return Weights({name: frozenset(numbers) for name, numbers in blocks.items()}, lines, source)
