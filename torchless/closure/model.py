"""What a translation unit reads in one pass: files, the directives that open them, and what they weigh. Frozen data.

A file of the checkout is named by its root-relative path; a header outside of it as it is spelled
(``torch/extension.h``) and is not followed. `walk.closure_of` makes a closure, `chains` and `cost` ask it questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torchless.facts.spec import TuSpec


@dataclass(frozen=True, slots=True)
class Edge:
    """An include directive that the pass takes.

    includer: root-relative. offset: of the directive's #; line: of the #, 1-based. target: root-relative, or as spelled
    for a header outside of the checkout. spelled: as in the directive; where that names a macro, what the macro names.
    certain: False where it stands below a condition that could not be decided, its own file's or that of whatever
    included the file; such an edge counts as taken.
    """

    includer: str
    offset: int
    line: int
    spelled: str
    angled: bool
    target: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Undecided:
    """A condition with an include below it that could not be decided, so that all its open arms count as taken.

    offset and line are those of the directive's #; text is the condition as spelled, in one line; names are the macros
    that it hangs on, sorted.
    """

    path: str
    offset: int
    line: int
    text: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a directive: an #if without an end, an include cycle, an include of an unknown macro."""

    path: str
    offset: int
    line: int
    message: str


@dataclass(frozen=True)
class Closure:
    """What one translation unit reads in one pass.

    edges: in the order in which the preprocessor first meets them, each directive and target once; also those that an
    include guard or ``#pragma once`` then skips. via: every file reached -> the directive that opens it on a shortest
    path, one that is certain where there is one; the source -> None. lines: what each file contributes itself,
    in preprocessed lines: a file of the checkout its active lines, every time that it is read; a header outside of the
    checkout the lines, by the stored weights, of what no earlier one brought (absent where no weight is known).
    outside: the headers reached that are not in the checkout.
    """

    spec: TuSpec
    edges: tuple[Edge, ...]
    via: Mapping[str, Edge | None]
    lines: Mapping[str, int]
    undecided: tuple[Undecided, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    outside: frozenset[str] = field(default_factory=frozenset)
