"""What a map of functions costs its translation unit, from what can be seen: what it holds, its keys, its rows.

Measured with clang++ 19 at -O3, which is what the target's modules are built with (benchmarks/dispatch.py): seconds of
the host compilation beyond that of a file without a table.
"""

from __future__ import annotations

from dataclasses import dataclass

SMALL = 0.5
"""Seconds: what gains less is not offered."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds for n rows: fixed + each * n + square * n * n."""

    fixed: float
    each: float
    square: float = 0.0

    def at(self, rows: int) -> float:
        """The seconds for ``rows`` rows."""
        return self.fixed + self.each * rows + self.square * rows * rows


# (what is stored, kind of key) -> cost of the map
_MAPS = {
    ("function", "number"): Curve(0.2, 0.0047),
    ("function", "text"): Curve(0.2, 0.0055),
    ("function", "fields"): Curve(0.2, 0.004, 0.00002),
    ("pointer", "number"): Curve(0.2, 0.0001),
    ("pointer", "text"): Curve(0.2, 0.0001),
    ("pointer", "fields"): Curve(0.2, 0.0002),
}
_TABLE = Curve(0.05, 0.0002)


def saving(holds_functions: bool, key_kind: str, rows: int) -> float:
    """Seconds that a table saves. ``key_kind`` as in Key; ``rows`` of all tables, 0 where they are not known."""
    kind = key_kind if key_kind in ("number", "text") else "fields"
    stored = "function" if holds_functions else "pointer"
    return max(_MAPS[stored, kind].at(rows) - _TABLE.at(rows), 0.0)


def told(holds_functions: bool, key_kind: str, rows: int, fields: int) -> str:
    """The estimate in words."""
    what = "std::function" if holds_functions else "plain pointers"
    keys = {"number": "a number", "text": "a text"}.get(key_kind, f"{fields} fields")
    if rows:
        return f"{what}, key of {keys}, {rows} rows: saves about {saving(holds_functions, key_kind, rows):.1f} s"
    base, many = saving(holds_functions, key_kind, 0), saving(holds_functions, key_kind, 500)
    return f"{what}, key of {keys}: saves about {base:.1f} s, {many:.1f} s for 500 rows"
