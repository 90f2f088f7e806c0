"""The ladder of `torchless verify` on real migrations: the tool's own of a commit's parent, and people's.

    python benchmarks/ladder.py CLONE WORK [COMMIT[:PART]...] [--rungs types,closure,device,trace] [--sides tool,people]
                               [--unsafe] [--opus-guard define] [-o FILE] [--show FILE...]

CLONE is a clone of the target with its history, WORK a folder for checkouts (made in git worktrees, removed again).
For each commit in which people took torch out of modules, the sources that it changed are migrated by the tool on its
parent, and each module of theirs is compared with what it was; then the commit itself is compared with its parent. PART
is in the path of the sources that are taken. The table has one row for each module and side. Full answers go to FILE as
JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

COMMITS = (
    "2570b35f95",  # gated_rmsnorm_quant
    "055fe10891",  # pos_encoding
    "b4cd32c917",  # fused_qk_rmsnorm_group_quant
    "1aeb91bad0",  # rmsnorm_quant
    "6c0c671149",  # fused_qk_norm_mrope_cache_quant
    "c364cc3954",  # causal_conv1d_update
    "55dbc4f475",  # aiter_unary
    "8c662b5a06",  # sampler
    "757157d7cf:fwd_kernels",  # rope, the half of 16 modules that goes forward
)


def main() -> None:
    """Run the ladder over the commits and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path, nargs="?")
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("commits", nargs="*", default=list(COMMITS))
    parser.add_argument("--rungs", default="types,closure,device,trace")
    parser.add_argument("--sides", default="tool,people")
    parser.add_argument("--unsafe", action="store_true", help="let the tool make edits whose meaning may shift")
    parser.add_argument(
        "--opus-guard", choices=("auto", "root", "define"), default="auto", help="as for `torchless migrate`"
    )
    parser.add_argument("-o", dest="output", type=Path)
    parser.add_argument("--show", nargs="+", type=Path, help="print the table of FILEs instead of running anything")
    options = parser.parse_args()
    answers: list[dict[str, Any]] = []
    print("| commit | side | module | " + " | ".join(options.rungs.split(",")) + " | s |")
    print("|---" * (4 + len(options.rungs.split(","))) + "|")
    for path in options.show or ():
        answers += json.loads(path.read_text("utf-8"))
    if options.show:
        print("\n".join([*map(shown, answers), "", summary(answers)]))
        return
    if options.clone is None or options.work is None:
        parser.error("a clone and a folder to work in are needed")
    for commit in options.commits:
        for side in options.sides.split(","):
            how = [*["--unsafe"] * options.unsafe, "--opus-guard", options.opus_guard]
            for row in ladder(options.clone, options.work.resolve(), commit, side, options.rungs, how):
                answers.append(row)
                print(shown(row), flush=True)
                if options.output:
                    options.output.write_text(json.dumps(answers, indent=1), "utf-8")
    print(summary(answers))


def ladder(clone: Path, work: Path, commit: str, side: str, rungs: str, how: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The answers for the modules of one commit, or one row that says why there are none.

    ``how`` are further arguments for the migration.
    """
    commit, _, part = commit.partition(":")
    changed = git(clone, "diff", "--name-only", "--diff-filter=M", f"{commit}~1", commit).split()
    sources = [path for path in changed if Path(path).suffix in (".cu", ".cpp") and "op_tests" not in path]
    sources = [path for path in sources if part in path]
    if not sources:
        raise SystemExit(f"{commit} changes no source with {part!r} in its path")
    tree = work / f"{commit}-{side}"
    git(clone, "worktree", "add", "--detach", "-f", str(tree), f"{commit}~1" if side == "tool" else commit)
    try:
        since = [] if side == "tool" else ["--since", f"{commit}~1"]
        if side == "tool":
            done = torchless(tree, "migrate", "--write", *how, *sources)
            if not git(tree, "diff", "--name-only").strip():
                words = (done.stdout + done.stderr).split()
                codes = sorted({word for word in words if word.startswith("TL") and word[2:].isdigit()})
                why = f"nothing is migrated: {', '.join(codes)}"
                yield {"commit": commit, "side": side, "module": "-", "none": why}
                return
        began = time.monotonic()
        done = torchless(tree, "verify", *sources, *since, "--rungs", rungs, "--output-format", "json")
        seconds = time.monotonic() - began
        if not done.stdout.startswith("{"):
            yield {"commit": commit, "side": side, "module": "-", "none": (done.stderr.splitlines() or ["?"])[-1]}
            return
        told = json.loads(done.stdout)
        for module in told["modules"]:
            yield {"commit": commit, "side": side, "seconds": round(seconds / len(told["modules"]), 1), **module}
    finally:
        git(clone, "worktree", "remove", "--force", str(tree))


def torchless(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a checkout."""
    command = [sys.executable, "-m", "torchless", *arguments]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def git(where: Path, *arguments: str) -> str:
    """What git says in a checkout."""
    return subprocess.run(["git", "-C", str(where), *arguments], check=True, capture_output=True, text=True).stdout


def shown(row: dict[str, Any]) -> str:
    """A row of the table."""
    head = f"| {row['commit']} | {row['side']} | {row['module'].removeprefix('module_')} |"
    if "none" in row:
        return f"{head} {row['none']} |"
    cells = [f"{answer['verdict']}{short(answer)}" for answer in row["rungs"]]
    return f"{head} {' | '.join(cells)} | {row['seconds']} |"


def short(answer: dict[str, Any]) -> str:
    """What else a cell says: of a trace how much was compared, of a closure how much of it is on torch."""
    detail = str(answer["detail"])
    if answer["rung"] == "trace":
        found = re.findall(r"(\d+) of (\d+) (functions|ops) alike in (\d+) calls", detail)
        cells = [f"{alike}/{count} {what} in {calls} calls" for alike, count, what, calls in found]
        return ": " + (", ".join(cells) or detail)
    reached = re.search(r"\d+ of \d+ passes of \d+ sources reach torch", detail)
    return f": {reached[0] if reached else detail}" if answer["verdict"] != "pass" else ""


def summary(rows: list[dict[str, Any]]) -> str:
    """How many modules passed, failed, did not run, by side and rung."""
    lines = []
    for side in dict.fromkeys(row["side"] for row in rows):
        counts: dict[str, dict[str, int]] = {}
        for row in rows:
            for answer in row.get("rungs", ()) if row["side"] == side else ():
                by = counts.setdefault(answer["rung"], {})
                by[answer["verdict"]] = by.get(answer["verdict"], 0) + 1
        lines += [f"{side}, {rung}: " + ", ".join(f"{n} {v}" for v, n in by.items()) for rung, by in counts.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
