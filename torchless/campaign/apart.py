"""Whether a patch that was made behind others applies without them, as git tells it."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

from torchless.text.diff import unified_diff


def applies_alone(path: str, base: bytes, before: bytes, after: bytes, alone: bytes) -> bool:
    """Whether the patch from ``before`` to ``after`` applies to ``base`` and makes ``alone`` of it.

    Without git it does so only where the text before is that of the base.
    """
    if before == base:
        return after == alone
    if before == after:
        return alone == base
    patch = unified_diff("file", before, after)
    with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
        Path(folder, "file").write_bytes(base)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"GIT_CEILING_DIRECTORIES": str(Path(folder).parent), "GIT_CONFIG_NOSYSTEM": "1"}
        environment |= {"GIT_CONFIG_GLOBAL": os.devnull}
        try:
            done = subprocess.run(
                ["git", "apply", "-"], input=patch, cwd=folder, env=environment, capture_output=True, check=False
            )
        except OSError:
            return False
        return done.returncode == 0 and Path(folder, "file").read_bytes() == alone


def near(base: bytes, one: bytes, other: bytes) -> bool:
    """Whether two changes of ``base`` lie so near to each other that their hunks have lines in common, or touch."""
    first, second = _hunks(base, one), _hunks(base, other)
    return any(a <= d and c <= b for a, b in first for c, d in second)


def _hunks(old: bytes, new: bytes) -> list[tuple[int, int]]:
    """The lines of ``old``, 1-based, from the first to the one after the last, that each hunk shows."""
    found = _HUNK.findall(unified_diff("file", old, new))
    return [(int(start), int(start) + int(count or 1)) for start, count in found]


_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? ", re.M)
