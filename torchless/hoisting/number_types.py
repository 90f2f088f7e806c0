"""The arithmetic types of C++ by their spellings."""

from __future__ import annotations

from torchless.hoisting.terms import BOOL, DOUBLE, FLOAT, CType

# The data model of the hosts in question: LP64. char is signed on x86.
CHAR = CType("char", "int", 8, True, 1)
INT8 = CType("int8_t", "int", 8, True, 1)
UINT8 = CType("uint8_t", "int", 8, False, 1)
INT16 = CType("int16_t", "int", 16, True, 2)
UINT16 = CType("uint16_t", "int", 16, False, 2)
INT = CType("int", "int", 32, True, 3)
UINT = CType("unsigned int", "int", 32, False, 3)
LONG = CType("int64_t", "int", 64, True, 4)
ULONG = CType("size_t", "int", 64, False, 4)
LONG_LONG = CType("long long", "int", 64, True, 5)
ULONG_LONG = CType("unsigned long long", "int", 64, False, 5)

_BY_NAME = {
    "bool": BOOL,
    "char": CHAR,
    "float": FLOAT,
    "double": DOUBLE,
    "int8_t": INT8,
    "uint8_t": UINT8,
    "int16_t": INT16,
    "uint16_t": UINT16,
    "int32_t": INT,
    "uint32_t": UINT,
    "int64_t": LONG,
    "uint64_t": ULONG,
    "size_t": ULONG,
    "ssize_t": LONG,
    "ptrdiff_t": LONG,
    "intptr_t": LONG,
    "uintptr_t": ULONG,
}
_WORDS = frozenset({"signed", "unsigned", "short", "long", "int", "char"})


def number_type(spelled: str) -> CType | None:
    """The type of that spelling (const and volatile do not matter); None for anything that is no number."""
    words = [w.removeprefix("std::") for w in spelled.split() if w not in ("const", "volatile")]
    if len(words) == 1 and words[0] in _BY_NAME:
        return _BY_NAME[words[0]]
    if words == ["long", "double"] or not words or any(w not in _WORDS for w in words):
        return None
    unsigned = "unsigned" in words
    if "char" in words:
        return UINT8 if unsigned else (INT8 if "signed" in words else CHAR)
    if "short" in words:
        return UINT16 if unsigned else INT16
    longs = words.count("long")
    return ((UINT, INT), (ULONG, LONG), (ULONG_LONG, LONG_LONG))[min(longs, 2)][0 if unsigned else 1]
