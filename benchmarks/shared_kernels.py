"""What kernels in a source of their own save: `torchless migrate --select TL64 --unsafe` on one module, in CPU seconds.

    python benchmarks/shared_kernels.py CHECKOUT MODULE

The device passes of the module's sources at -O3 over the stub headers, before and after: how many kernels are compiled,
how many of them are different ones, CPU seconds, and whether the code of each is the same.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from torchless.api import MigrateOptions, migrate
from torchless.facts.includes import graph_of, specs_of
from torchless.facts.model import TuSpec
from torchless.project.discover import load
from torchless.verify.compilers import Compiler, find_compiler
from torchless.verify.device_code import Function, compile_as_they_are
from torchless.verify.tree import Tree


def children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def compiled(label: str, compiler: Compiler, tree: Tree, specs: Sequence[TuSpec]) -> Mapping[str, Function]:
    """The kernels of ``specs`` in ``tree`` by name; what they cost is printed. Exits where one does not compile."""
    began = children()
    codes = compile_as_they_are(compiler, tree, specs, "stubs", 2)
    seconds = children() - began
    if problem := next((code.problem for code in codes if code.problem), ""):
        sys.exit(f"{label}: {problem}")
    found = [f for code in codes for f in code.functions.values() if f.is_kernel]
    kernels = {f.name: f for f in found}
    print(f"| {label} | {len(specs)} | {len(found)} | {len(kernels)} | {seconds:.1f} |", flush=True)
    return kernels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("module")
    options = parser.parse_args()
    root = options.checkout.resolve()
    compiler = find_compiler()
    if compiler is None:
        sys.exit("no clang that compiles HIP")
    asked = MigrateOptions((), (options.module,), select=("TL64",), unsafe=True, jobs=2, cache=False)
    result = migrate(asked, root, lambda stage, done, total: None)
    for finding in result.findings:
        print(finding.code, finding.path, finding.message)
    project = load(root, (".",))
    module = next(m for m in project.modules if m.name == options.module)
    graph = graph_of(project)
    specs = [next(s for s in specs_of(project, graph, path) if s.device) for path in module.sources]
    made = [p for p, change in result.changes.items() if change.created and p.endswith(".cu")]
    new = [replace(specs[0], source=path) for path in made]
    print("| version | sources | kernels compiled | different ones | CPU s |\n|---|---|---|---|---|")
    before = compiled("before", compiler, Tree(root), specs)
    texts = {path: change.new for path, change in result.changes.items()}
    after = compiled("after", compiler, Tree(root, texts), [*specs, *new])
    print("the same code" if before == after else "NOT the same code")
    return int(before != after)


if __name__ == "__main__":
    sys.exit(main())
