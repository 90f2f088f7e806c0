"""How long `torchless check` takes, beside what else reads include lines, in one run on one machine.

    python benchmarks/check.py CHECKOUT [--path csrc] [--sample 20] [--files csrc/kernels/x.cu ...]

Rows: check cold (empty cache), warm (nothing changed), and a hook's question about five files that just changed, the
interpreter's start included; `clang++ -M` over stub headers and `clang-include-cleaner`, over a sample of the
same translation units in the host pass, extrapolated by count. What is not installed is left out and said to be. The
checkout is copied first: the hook's files are changed in the copy. CPU seconds are those of the process and all
that it waited for.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.facts.flags import find_headers, unit_arguments
from torchless.facts.includes import graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.project.discover import load
from torchless.verify.compilers import find_compiler

HOOK_FILES = 5


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and CPU seconds of what was run."""

    wall: float
    cpu: float


def run(command: Sequence[str], cwd: Path, cache: Path) -> Cost:
    """Run ``command``, whatever its exit code, and measure it with all that it waits for."""
    environment = {**os.environ, "TORCHLESS_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, check=False)
    wall = time.perf_counter() - began
    if b"Traceback" in done.stderr or b"torchless: error" in done.stderr:
        sys.exit(done.stderr.decode(errors="replace"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def check(root: Path, paths: Sequence[str], cache: Path) -> Cost:
    return run([sys.executable, "-m", "torchless", "check", *paths, "--output-format", "concise", "-q"], root, cache)


def sample_of(root: Path, path: str, count: int) -> tuple[list[TuSpec], int]:
    """``count`` host passes spread over all of them, and how many there are."""
    project = load(root, [path])
    graph = graph_of(project)
    specs = [s for source in project.sources for s in specs_of(project, graph, source, devices=(False,))[:1]]
    step = max(1, len(specs) // count)
    return specs[::step][:count], len(specs)


def over(specs: Sequence[TuSpec], root: Path, tool: str, cache: Path) -> Cost:
    """The cost of ``clang++ -M`` or clang-include-cleaner over every spec of a sample, one after the other."""
    costs = []
    for spec in specs:
        arguments = unit_arguments(spec, root, find_headers("stubs"))
        source = str(root / spec.source)
        if "cleaner" in tool:
            costs.append(run([tool, "--print=changes", source, "--", *arguments], root, cache))
        else:
            costs.append(run([tool, *arguments, "-M", "-MG", source], root, cache))
    return Cost(sum(c.wall for c in costs), sum(c.cpu for c in costs))


def row(name: str, cost: Cost) -> None:
    print(f"| {name} | {cost.wall:.2f} | {cost.cpu:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--path", default="csrc")
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--files", nargs="*", default=[])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root, cache = Path(scratch) / "checkout", Path(scratch) / "cache"
        shutil.copytree(asked.checkout, root, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        print("| row | wall s | CPU s |\n|---|---|---|")
        check(root, ["--help"], cache)  # byte code is made once per installation
        row("check, cold", check(root, [asked.path], cache))
        time.sleep(3)  # a stamp younger than the clock's grain is not trusted
        check(root, [asked.path], cache)
        row("check, warm", check(root, [asked.path], cache))
        files = asked.files or [
            str(p.relative_to(root)) for p in sorted((root / asked.path).rglob("*.cu"))[:HOOK_FILES]
        ]
        for name in files:
            with (root / name).open("ab") as file:
                file.write(b"// changed\n")
        row(f"check, {len(files)} files that changed", check(root, files, cache))
        specs, every = sample_of(root, asked.path, asked.sample)
        compiler = find_compiler()
        if compiler is None:
            print("clang++ is not installed: no figures of -M")
        else:
            cost = over(specs, root, compiler.path, cache)
            row(f"clang++ -M, {len(specs)} of {every} units, host pass", cost)
            row(
                f"the same, all {every}, extrapolated",
                Cost(cost.wall * every / len(specs), cost.cpu * every / len(specs)),
            )
        cleaner = shutil.which("clang-include-cleaner-19") or shutil.which("clang-include-cleaner")
        if cleaner is None:
            print("clang-include-cleaner is not installed")
        else:
            cost = over(specs, root, cleaner, cache)
            row(f"clang-include-cleaner, {len(specs)} of {every} units", cost)


if __name__ == "__main__":
    main()
