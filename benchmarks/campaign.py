"""A campaign over a whole checkout, from the plan to the last batch, and whether it keeps what a plan promises.

    python benchmarks/campaign.py CHECKOUT WORK [--path csrc --path gradlib] [--unsafe] [--rungs types,closure]

CHECKOUT is a git tree of the target, of which HEAD is taken; WORK a folder for a clone of it, which stays. The batches
are made as patches and as branches. Then: `git am` of the series, in order; the tree against the one that a single
`torchless migrate --write` gives; each independent patch alone on the base, against its branch; and on each branch
`torchless check --since` and `torchless verify --rungs` against what it is built on. One row for each batch.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAME = ("-c", "user.name=campaign", "-c", "user.email=campaign@example.org")


@dataclass
class Run:
    """One campaign in the making; ``took`` has wall and CPU seconds, children's included, by step."""

    checkout: Path
    work: Path
    selected: Sequence[str]
    rungs: str
    took: dict[str, tuple[float, float]] = field(default_factory=dict)

    def tree(self) -> Path:
        """The clone to work in, as the checkout's HEAD is. There is one only: what is remembered goes by its path."""
        folder = self.work / "tree"
        if not folder.exists():
            subprocess.run(["git", "clone", "-q", "-s", "-n", str(self.checkout), str(folder)], check=True)
            git(folder, "config", "user.name", "campaign")
            git(folder, "config", "user.email", "campaign@example.org")
        git(folder, "checkout", "-q", "-f", "--detach", git(self.checkout, "rev-parse", "HEAD"))
        git(folder, "clean", "-q", "-fdx")
        return folder

    def torchless(self, step: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """`torchless` in ``folder``; what it cost is added to ``step``."""
        began, used = time.monotonic(), _used()
        command = [sys.executable, "-m", "torchless", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        wall, cpu = self.took.get(step, (0.0, 0.0))
        self.took[step] = (wall + time.monotonic() - began, cpu + _used() - used)
        print(f"{step}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if done.returncode not in (0, 1, 3):
            raise SystemExit(f"torchless {' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done

    def planned(self, folder: Path, *words: str, rungs: str = "none") -> list[dict[str, Any]]:
        """The batches of a plan that emits them, with what ``rungs`` say of each in its body."""
        done = self.torchless(
            f"plan --emit {words[0]}",
            folder,
            "plan",
            *self.selected,
            *words[1:],
            "--emit",
            words[0],
            "--verify",
            rungs,
            "--output-format",
            "json",
        )
        batches: list[dict[str, Any]] = json.loads(done.stdout)["batches"]
        return batches


def git(folder: Path, *words: str) -> str:
    """What git says in ``folder``. Raises CalledProcessError."""
    command = ["git", *_NAME, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def applied(folder: Path, patches: Sequence[Path]) -> str:
    """The tree after `git am` of ``patches``; why there is none, in git's words, behind a !."""
    command = ["git", *_NAME, "am", "-q", "--keep-non-patch", *map(str, patches)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        subprocess.run(["git", "am", "--abort"], cwd=folder, capture_output=True, check=False)
        return f"! {done.stderr.strip()}"
    return git(folder, "rev-parse", "HEAD^{tree}")


def main() -> int:
    """Run the campaign and print its table; 1 when something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--rungs", default="types,closure", help="none leaves check and verify out")
    parser.add_argument("--bodies", action="store_true", help="let the bodies of the patches say what the rungs say")
    asked = parser.parse_args()
    selected = [*(asked.path or ["csrc", "gradlib"]), *(["--unsafe"] if asked.unsafe else [])]
    work = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    run = Run(asked.checkout.resolve(), work, selected, asked.rungs)

    tree = run.tree()
    for old in git(tree, "branch", "--list", "--format=%(refname:short)", "torchless/*").split():
        git(tree, "branch", "-q", "-D", old)
    out = work / "out"
    for patch in out.glob("*.patch"):
        patch.unlink()
    batches = run.planned(tree, "patches", str(out), rungs=asked.rungs if asked.bodies else "none")
    ready = [batch for batch in batches if batch["state"] != "blocked"]
    patches = {batch["name"]: out / batch["place"] for batch in ready}
    branches = {batch["name"]: batch["place"] for batch in run.planned(run.tree(), "branches") if batch["place"]}
    holds = branches.keys() == patches.keys() and bool(ready)

    run.torchless("migrate --write", run.tree(), "migrate", *selected, "--write")
    git(tree, "add", "-A", "--", ".", ":!.torchless")
    git(tree, "commit", "-q", "-m", "One migration")
    wanted = git(tree, "rev-parse", "HEAD^{tree}")
    series = applied(run.tree(), list(patches.values()))
    holds &= series == wanted

    print("| # | batch | tier | files | lines | needs | alone on the base | check --since | types, closure |")
    print("|---" * 9 + "|")
    for batch in ready:
        name = batch["name"]
        tip = git(tree, "rev-parse", branches[name])
        alone = "-"
        if not batch["needs"]:
            made = applied(run.tree(), [patches[name]])
            alone = "the same tree" if made == git(tree, "rev-parse", f"{tip}^{{tree}}") else made
            holds &= alone == "the same tree"
        new = rungs = "not run"
        git(run.tree(), "checkout", "-q", "-f", "--detach", tip)
        if asked.rungs != "none":
            since = f"{tip}~1"
            checked = run.torchless(
                "check --since", tree, "check", "--since", since, *(asked.path or ["csrc", "gradlib"])
            )
            new = f"{len(checked.stdout.splitlines())} lines" if checked.returncode else "nothing new"
            named = [word for module in batch["modules"] for word in ("--module", module)]
            words = ("verify", *named, "--since", since, "--rungs", run.rungs, "--output-format", "json")
            verified = run.torchless("verify", tree, *words)
            rungs = said(json.loads(verified.stdout))
            holds &= not checked.returncode and not verified.returncode
        print(
            f"| {batch['number']} | {name} | {batch['tier']} | {len(batch['files'])} | {batch['lines']} |"
            f" {', '.join(batch['needs']) or '-'} | {alone} | {new} | {rungs} |",
            flush=True,
        )
    print(f"\n{len(ready)} batches, {len(batches) - len(ready)} blocked.")
    print(f"After the series: {series}; after one migration: {wanted}.")
    for step, (wall, cpu) in run.took.items():
        print(f"{step}: {wall:.0f} s wall, {cpu:.0f} s CPU")
    print("All of it holds." if holds else "Something does not hold.")
    return 0 if holds else 1


def said(data: dict[str, Any]) -> str:
    """What the rungs said of all modules: "pass, pass", or what failed."""
    by_rung: dict[str, list[str]] = {}
    for module in data["modules"]:
        for answer in module["rungs"]:
            by_rung.setdefault(answer["rung"], []).append(answer["verdict"])
    return ", ".join("/".join(sorted(set(found))) for found in by_rung.values())


if __name__ == "__main__":
    sys.exit(main())
