"""How long `torchless migrate` takes, beside what else could be run over the same files, in one run on one machine.

    python benchmarks/migrate.py CHECKOUT [--path csrc] [--sample 8] [--file csrc/kernels/x.cu]

Rows: migrate cold and warm, one file warm; (a) libclang parsing the same translation units against real torch
headers, in both passes, measured on a sample and extrapolated by count, beside the stubs on the same sample;
(b) ast-grep with one pattern; (c) torch.utils.hipify. What is not installed (torch, ast-grep) is left out and said to
be. CPU seconds are those of the process and all that it waited for; peak memory is that of the largest one of these.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATTERN = "TORCH_CHECK($$$ARGS)"
HIPIFY = """
import sys
from torch.utils.hipify.hipify_python import hipify
hipify(project_directory=sys.argv[1], output_directory=sys.argv[2], includes=["*"], is_pytorch_extension=True)
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds on the clock, CPU seconds, peak MiB of its largest process, exit code."""

    wall: float
    cpu: float
    peak: float
    code: int


def run(command: Sequence[str], cwd: Path, environment: Mapping[str, str] | None = None, ends: bytes = b"") -> Cost:
    """Run ``command`` and measure it and all that it waits for. Exits when its stderr does not hold ``ends``."""
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        everything = {**os.environ, **(environment or {})}
        process = subprocess.Popen(command, cwd=cwd, env=everything, stdout=subprocess.DEVNULL, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if ends not in text:
        sys.exit(f"{' '.join(command)} did not come to an end:\n{text.decode(errors='replace')[-2000:]}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


def migrate(checkout: Path, path: str, cache: Path) -> Cost:
    """One dry run with the cache in folder ``cache``; exit codes 0, 1 and 3 are all results."""
    command = [sys.executable, "-m", "torchless", "migrate", path]
    return run(command, checkout, {"TORCHLESS_CACHE_DIR": str(cache)}, ends=b"Next: ")


def works(*command: str) -> bool:
    """Whether ``command`` is installed and succeeds."""
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


def parse_sample(checkout: Path, path: str, sample: int, headers: str, precompiled: bool) -> None:
    """Parse some of the units that `migrate path` parses, evenly spread, and print what that took as JSON.

    A precompiled header is built before the clock starts: it is built once for all units.
    """
    from torchless.analysis import Analyst
    from torchless.facts.clang import parse
    from torchless.facts.model import TuFacts, TuSpec
    from torchless.facts.pool import prepare_pch
    from torchless.project.discover import load
    from torchless.selection import select

    specs: list[TuSpec] = []

    def only_remember(wanted: Sequence[TuSpec]) -> list[TuFacts]:
        specs.extend(wanted)
        return [TuFacts(spec) for spec in wanted]

    project = load(checkout, [path])
    analyst = Analyst(project, select(project, checkout, [path]), only_remember, arch="gfx942")
    analyst.look(analyst.first_sources())
    with tempfile.TemporaryDirectory() as folder:
        pch = prepare_pch("gfx942", Path(folder)) if precompiled else None
        wall, cpu = time.perf_counter(), time.process_time()
        some = [specs[i * len(specs) // sample] for i in range(min(sample, len(specs)))]
        fatal = sum(
            any(d.severity >= 4 for d in parse(s, root=Path(project.root), headers=headers, pch=pch).diagnostics)
            for s in some
        )
        took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "code": fatal}
    took["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"units": len(specs), "parsed": len(some), "cost": took}))


def sampled(checkout: Path, path: str, sample: int, kind: str) -> tuple[Cost, int, int]:
    """parse_sample() in a process of its own: its cost, how many units there are, how many were parsed."""
    command = [sys.executable, __file__, str(checkout), "--path", path, "--sample", str(sample), "--parse", kind]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return Cost(**told["cost"]), told["units"], told["parsed"]


def row(name: str, cost: Cost, note: str = "") -> str:
    return f"{name:<44}{cost.wall:>9.2f}{cost.cpu:>9.2f}{cost.peak:>9.0f}  {note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--path", default="csrc")
    parser.add_argument("--file", default="csrc/kernels/pos_encoding_kernels.cu")
    parser.add_argument("--sample", type=int, default=8)
    parser.add_argument("--parse", choices=["stubs", "pch", "system"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    if options.parse:
        headers = "system" if options.parse == "system" else "stubs"
        parse_sample(checkout, options.path, options.sample, headers, options.parse == "pch")
        return
    print(f"{'':<44}{'wall s':>9}{'CPU s':>9}{'MiB':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch, "cache")
        cold = migrate(checkout, options.path, cache)
        print(row(f"migrate {options.path}, cold", cold, f"exit code {cold.code}"))
        print(row(f"migrate {options.path}, warm", migrate(checkout, options.path, cache)))
        if Path(checkout, options.file).exists():
            print(row("migrate one file, first", migrate(checkout, options.file, cache), options.file))
            print(row("migrate one file, again", migrate(checkout, options.file, cache)))
        compare_parsing(checkout, options.path, options.sample)
        compare_tools(checkout, options.path, Path(scratch))


def compare_parsing(checkout: Path, path: str, sample: int) -> None:
    """Rows (a): the same sample over the stubs and over real torch headers."""
    stubs, units, parsed = sampled(checkout, path, sample, "stubs")
    print(row(f"(a) {parsed} of {units} units over stubs", stubs))
    quick, _, _ = sampled(checkout, path, sample, "pch")
    print(row("    the same with a precompiled header", quick))
    if not works(sys.executable, "-c", "import torch"):
        print("(a) real headers: torch is not installed here")
        return
    real, _, _ = sampled(checkout, path, sample, "system")
    print(row(f"(a) {parsed} of {units} units over real torch", real, f"{real.code} with a missing header"))
    print(f"    all {units} units over real torch, extrapolated: {real.cpu / parsed * units:,.0f} CPU s")
    print(
        f"    real torch takes {real.cpu / stubs.cpu:.0f} times the stubs, {real.cpu / quick.cpu:.0f} times the latter"
    )


def compare_tools(checkout: Path, path: str, scratch: Path) -> None:
    """Rows (b) and (c): tools that only look at text, on a copy."""
    copy = scratch / "copy"
    shutil.copytree(checkout / path, copy, symlinks=True)
    if works("ast-grep", "--version"):
        command = ["ast-grep", "run", "--lang", "cpp", "--pattern", PATTERN, "--rewrite", "AITER_CHECK($$$ARGS)", "."]
        print(row("(b) ast-grep, one pattern", run(command, copy)))
    else:
        print("(b) ast-grep is not installed here")
    if works(sys.executable, "-c", "import torch"):
        print(row("(c) torch.utils.hipify", run([sys.executable, "-c", HIPIFY, str(copy), str(scratch / "hip")], copy)))
    else:
        print("(c) hipify: torch is not installed here")


if __name__ == "__main__":
    main()
