"""Who owns a file, by the CODEOWNERS file of the checkout: the last pattern that matches counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pathspec

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where the file may lie; the first one that is there counts."""

Owners = Callable[[str], tuple[str, ...]]


def owners_of(root: Path) -> Owners | None:
    """The owners of a root-relative path, in the order of the file, none where nobody is named; None without a file.

    Sections in brackets (GitLab) and what stands behind a # are left out. A pattern without owners takes them away.
    """
    found = next((root / place for place in PLACES if (root / place).is_file()), None)
    if found is None:
        return None
    rows: list[tuple[pathspec.GitIgnoreSpec, tuple[str, ...]]] = []
    for line in found.read_text("utf-8", "replace").splitlines():
        words = line.partition(" #")[0].replace("\\ ", "\0").split()
        if not words or words[0].startswith(("#", "[", "^[", "!")):
            continue
        pattern = words[0].replace("\0", "\\ ")
        rows.append((pathspec.GitIgnoreSpec.from_lines([pattern]), tuple(words[1:])))

    def owners(path: str) -> tuple[str, ...]:
        return next((names for spec, names in reversed(rows) if spec.match_file(path)), ())

    return owners
