"""What differs between two profiled versions, file by file, for a page that shows it beside the figures."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchless.profile.model import Node, Profile

MOST_FILES = 80
MOST_BYTES = 400_000
"""A page that is opened in a browser, not a patch to apply."""


def diffs(profiles: Sequence[Profile]) -> list[tuple[str, str]]:
    """(path, unified diff) of the files that differ between two profiles of one checkout; nothing where git knows not.

    Files that the units read come first. What is left out for its size is named in a last entry.
    """
    if len(profiles) != 2 or not profiles[0].version or not Path(profiles[1].root).is_dir():
        return []
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        profiles[1].root,
        "diff",
        "--no-color",
        "--no-ext-diff",
        "--relative",
    ]
    revisions = [profile.version for profile in profiles if profile.version]
    try:
        done = subprocess.run([*command, *revisions, "--", "."], capture_output=True, check=False)
    except OSError:
        return []
    if done.returncode:
        return []
    found = list(split(done.stdout.decode("utf-8", "replace")))
    read = {path for profile in profiles for path in _read(profile)}
    found.sort(key=lambda pair: (pair[0] not in read, pair[0]))
    out: list[tuple[str, str]] = []
    size = 0
    for path, text in found:
        size += len(text)
        if len(out) == MOST_FILES or size > MOST_BYTES:
            rest = len(found) - len(out)
            out.append((f"{rest} more files differ", os.linesep.join(path for path, _ in found[len(out) :])))
            break
        out.append((path, text))
    return out


def split(patch: str) -> Iterator[tuple[str, str]]:
    """(path, its part) of each file in a patch of git's."""
    for part in re.split(r"(?m)^(?=diff --git )", patch):
        found = re.match(r'diff --git .* "?b/(.*?)"?\n', part)
        if found:
            yield found[1], part


def _read(profile: Profile) -> Iterator[str]:
    for unit in profile.units:
        yield unit.source
        for each in unit.passes:
            if each.lines is not None:
                yield from (row.path for row in each.lines.files)
                yield from _paths(each.lines.tree)


def _paths(node: Node) -> Iterator[str]:
    yield node.path
    for child in node.children:
        yield from _paths(child)
