"""The preprocessor directives of one file as a flat program. It depends on the bytes alone and holds plain values only.

A scan is ``(operations, guard, problems)``. Every operation is a tuple that starts with its kind and the number of
physical lines from the end of the directive before it to its own end. A condition's arms name each other by their
index among the operations, so that whoever runs the program (`walk`) jumps over what is not active.
"""

from __future__ import annotations

from typing import Any, Final

END: Final = 0
"""(END, lines): the end of the file."""
DEFINE: Final = 1
"""(DEFINE, lines, ((name, value), ...)): neighbouring #define and #undef, values as in `conditions`."""
INCLUDE: Final = 2
"""(INCLUDE, lines, offset, line, operand, form, keyword): form is one of the three below, keyword as spelled."""
ONCE: Final = 3
"""(ONCE, lines): #pragma once."""
IF: Final = 4
"""(IF, lines, offset, line, condition, next arm, end, effect), for #ifdef and #ifndef too. effect: 2 when an include
stands in one of the arms, 1 when nothing more than #define, #undef and #pragma once does, else 0."""
ELIF: Final = 5
"""(ELIF, lines, offset, line, condition, next arm, end, effect)."""
ELSE: Final = 6
"""(ELSE, lines, offset, line, None, end, end, effect)."""
ENDIF: Final = 7
"""(ENDIF, lines)."""

QUOTED: Final = 0
ANGLED: Final = 1
COMPUTED: Final = 2
"""The operand is text that macros have to be replaced in."""

DIRECTIVES: Final = ("directives", 1)
"""Kind and version of what scan_directives() gives, for an index."""
"""Goes up whenever scan_directives() gives something else for the same bytes."""

Operation = tuple[Any, ...]
Problem = tuple[int, int, str]
"""(offset, line, message)"""
Scan = tuple[tuple[Operation, ...], str, tuple[Problem, ...]]
NOTHING: Scan = (((END, 0),), "", ())
"""The scan of an empty file."""


def scan_directives(data: bytes) -> Scan:
    """The directives of ``data`` that decide what a translation unit reads.

    Not meant are those inside comments, literals and macro bodies. The guard is the macro that keeps all of the file
    from being read twice, "" without one. Any bytes give a scan; what is wrong with them is among the problems.
    """
    if not data:
        return NOTHING
    from torchless.closure.scanning import scan  # what is stored is not scanned again, and its patterns take a while

    return scan(data)
