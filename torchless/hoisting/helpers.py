"""Python functions that translated expressions may call, as source text to be put into a file once."""

from __future__ import annotations

SOURCES = {
    "truncated_quotient": '''\
def _truncated_quotient(a: int, b: int) -> int:
    """a / b as C++ divides integers: rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
''',
    "truncated_remainder": '''\
def _truncated_remainder(a: int, b: int) -> int:
    """a % b as in C++: it has the sign of a."""
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder
''',
}
"""By the name that Uses.helpers has; the function is called the same with an underscore before it."""


def function_name(helper: str) -> str:
    """``truncated_quotient`` -> ``_truncated_quotient``."""
    return f"_{helper}"
