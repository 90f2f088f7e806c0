"""A stand-in for `torchless plan --emit branches --next N`: batches are lines of files, branches are real."""

from __future__ import annotations

import sys
from pathlib import Path

from campaign_samples import emit, plan_of

from torchless.campaign.emitting import How
from torchless.campaign.state import Campaign, load, state_file
from torchless.campaign.updating import upcoming

ROOT = Path.cwd()
LINES = {"one": ("csrc/one.txt", 3), "two": ("csrc/one.txt", 5), "three": ("csrc/three.txt", 3)}


def main() -> int:
    """Make the next batches; 1 while something is left, as the command does."""
    assert sys.argv[1:4] == ["plan", "--emit", "branches"], sys.argv
    left = {
        name: {path: (f"line {n}\n", f"LINE {n}\n")}
        for name, (path, n) in LINES.items()
        if f"line {n}\n" in (ROOT / path).read_text()
    }
    needs = {"two": ("one",)} if {"one", "two"} <= left.keys() else {}
    plan = plan_of(ROOT, *left.items(), needs=needs)
    count = int(sys.argv[sys.argv.index("--next") + 1])
    campaign = load(state_file(ROOT)) or Campaign()
    emit(ROOT, plan, How("branches"), wanted=frozenset(upcoming(campaign, plan, count)))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
