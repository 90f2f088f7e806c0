"""Which findings are news: those that no baseline knows, on what a change touches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchless import baseline
from torchless.model import Debt, Finding
from torchless.options import CheckOptions
from torchless.text.source import SourceFile

if TYPE_CHECKING:
    from torchless.git import Changes


class News(NamedTuple):
    """Findings that are new, findings that the baseline knows; both only where the change touches something.

    ``gone`` counts what the baseline knows and is no more, ``untouched`` findings elsewhere than the change. ``debts``
    is what a baseline of today holds, when the options ask for it.
    """

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    gone: int
    untouched: int
    debts: tuple[Debt, ...]


def sift(
    findings: Sequence[Finding],
    options: CheckOptions,
    file: Path | None,
    root: Path,
    source: Callable[[str], SourceFile],
    looked_at: Callable[[Debt], bool],
) -> News:
    """Tell news from the rest of the sorted ``findings`` below ``root``, by the baseline ``file`` and the options.

    ``source`` gives the text of a file. ``looked_at`` says of a row of the baseline whether this run would have found
    what it stands for: of others nobody can say that they are gone, and they stay in the baseline. Raises
    BaselineError, GitError.
    """
    debts = () if file is None or (options.record and not os.path.lexists(file)) else baseline.read(file)
    known, new, left = baseline.split(findings, debts, source, lambda path: os.path.lexists(root / path))
    stays = tuple(debt for debt in left if not looked_at(debt))
    today = (*stays, *baseline.debts_of(findings, source)) if options.record else ()
    gone = sum(debt.count for debt in left) - sum(debt.count for debt in stays)
    if not options.since:
        return News(new, known, gone, 0, today)
    from torchless import git  # here: running processes takes a while to import

    among = {path for f in findings for path in (f.path, *(step.path for step in f.related))}
    changes = git.changed_since(root, options.since, among)
    touched = {f for f in findings if _is_touched(f, source(f.path), changes)}
    return News(
        tuple(f for f in new if f in touched),
        tuple(f for f in known if f in touched),
        gone,
        len(findings) - len(touched),
        today,
    )


def baseline_file(options: CheckOptions, start: Path, root: Path) -> Path | None:
    """The baseline to read, and to write where that is asked for: by default one at the root. None for no baseline."""
    if options.baseline:
        return start / options.baseline
    return root / baseline.DEFAULT if options.record else None


def _is_touched(finding: Finding, source: SourceFile, changes: Changes) -> bool:
    """Whether the change touches a line of ``finding``, or a place that leads to it; for a whole file: the file."""
    if any(changes.touches(step.path, step.line, step.line) for step in finding.related):
        return True
    if not finding.end:
        return changes.touches(finding.path)
    last = max(finding.start, finding.end - 1)
    return changes.touches(finding.path, source.line_of(finding.start), source.line_of(last))
