"""Which sources of a plain folder include a header, by the text of their include directives alone."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from pathlib import Path

from torchless.facts.includes import scan_includes


def includers(root: Path, headers: Iterable[str], files: Collection[str]) -> set[str]:
    """Of ``files`` (root-relative) those that include one of ``headers``, themselves or through one another.

    Headers are told by their file names, whatever the include folders: the answer may hold files that mean another
    header of the same name. Files that cannot be read include nothing.
    """
    by_name: dict[str, list[str]] = {}
    for path in files:
        try:
            data = (root / path).read_bytes()
        except OSError:
            continue
        for name in {posixpath.basename(include.spelled) for include in scan_includes(data)}:
            by_name.setdefault(name, []).append(path)
    found: set[str] = set()
    pending = [posixpath.basename(header) for header in headers]
    while pending:
        for path in by_name.pop(pending.pop(), ()):
            if path not in found:
                found.add(path)
                pending.append(posixpath.basename(path))
    return found
