"""A hook waits for every module that a check imports, so it imports what it needs and no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LINTS = sorted(p.stem for p in (Path(__file__).parents[2] / "torchless" / "lints").glob("[a-z]*.py"))
TOO_HEAVY = (
    "black",
    "clang",
    "pathspec",
    "platformdirs",
    "rich",
    "torchless.api",
    "torchless.facts.clang",
    "torchless.facts.pool",
    "torchless.rules.load",
    "torchless.rules.pattern",
)


def imported(*modules: str) -> set[str]:
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(modules) <= set(run.stdout.split())
    return set(run.stdout.split())


def test_a_check_imports_no_more_than_it_needs() -> None:
    assert imported("torchless.cli.check").isdisjoint({*TOO_HEAVY, "torchless.facts.model", "torchless.rewrites"})
    assert imported(*(f"torchless.lints.{name}" for name in LINTS)).isdisjoint(TOO_HEAVY)
