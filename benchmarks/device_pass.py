"""What splitting host code from device code changes: `torchless migrate --select TL62 --unsafe`, checked by real clang.

    python benchmarks/device_pass.py CHECKOUT FILE...

For each source: preprocessed lines of the device pass as real clang counts them over the stub headers (blank lines and
marks left out) and by the include closure with stored weights for headers outside of the checkout, before and after;
the number of kernels; whether the set of kernel symbols is the same, and the code of every kernel at -O3.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from torchless.api import MigrateOptions, migrate
from torchless.facts.flags import find_headers, unit_arguments
from torchless.facts.includes import graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.project.discover import load
from torchless.verify.compilers import Compiler, find_compiler
from torchless.verify.device_code import DeviceCode, compare, compile_device
from torchless.verify.tree import Tree

_CLOSURE = re.compile(r"reads ([\d,]+) lines, ([\d,]+) without")


def lines(compiler: Compiler, tree: Tree, spec: TuSpec) -> int:
    """The lines that are left of the device pass of ``spec`` when the preprocessor is done."""
    with tree.vfs() as overlay:
        arguments = [*unit_arguments(spec, tree.root, find_headers("stubs")), *overlay, "-E", "-P"]
        command = [compiler.path, *arguments, "-o", "-", str(tree.root / spec.source)]
        done = subprocess.run(command, capture_output=True, check=True, cwd=tree.root)
    return sum(1 for line in done.stdout.splitlines() if line.strip())


def as_written(tree: Tree, spec: TuSpec, make: Callable[[], DeviceCode]) -> DeviceCode:
    """A Keep under which torch's element types are not taken for the target's: here they stay."""
    return DeviceCode(spec, problem="not asked") if any("TARGET_ELEMENTS" in d for d in spec.defines) else make()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    compiler = find_compiler()
    if compiler is None:
        sys.exit("no clang that compiles HIP")
    root = options.checkout.resolve()
    project = load(root, tuple(options.files))
    graph = graph_of(project)
    print("| source | closure lines | clang -E lines over stubs | kernels | symbols equal | code identical |")
    print("|---|---|---|---|---|---|", flush=True)
    failed = False
    for path in options.files:
        result = migrate(
            MigrateOptions((path,), select=("TL62",), unsafe=True, jobs=1, cache=False), root, lambda *_: None
        )
        if path not in result.changes:
            print(f"| {path} | {'; '.join(f.message for f in result.findings)} | | | | |", flush=True)
            continue
        found = next(f for u in result.units for f in u.findings if f.path == path)
        counted = _CLOSURE.search(found.message)
        spec = next(s for s in specs_of(project, graph, path, devices=(True,)))
        old, new = Tree(root), Tree(root, {path: result.changes[path].new})
        counts = [lines(compiler, tree, spec) for tree in (old, new)]
        (before,), (after,) = compile_device(compiler, old, new, [spec], "stubs", 1, as_written)
        if before.problem or after.problem:
            print(f"| {path} | not compiled: {before.problem or after.problem} | | | | |", flush=True)
            failed = True
            continue
        kernels = [{n for n, f in code.functions.items() if f.is_kernel} for code in (before, after)]
        different = compare(before.functions, after.functions)
        failed = failed or kernels[0] != kernels[1] or bool(different)
        said = f"{counted[1]} / {counted[2]}" if counted else ""
        print(
            f"| {path} | {said} | {counts[0]:,} / {counts[1]:,} | {len(kernels[0])} |"
            f" {'yes' if kernels[0] == kernels[1] else 'NO'} |"
            f" {'yes' if not different else 'NO: ' + different[0].what} |",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
