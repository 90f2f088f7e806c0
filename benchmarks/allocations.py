"""What becomes of every allocation in a checkout: python benchmarks/allocations.py ROOT [--all].

Prints how many are said in Python, and each refusal with its place and its reason; with --all each translation, too.
Reads text alone, no compiler. Factories in Python files that write C++ are counted by their text only.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from torchless.facts.includes import graph_of
from torchless.hoisting.allocation import Allocation, Untranslatable, find_allocations, read, read_condition
from torchless.hoisting.sources import Shelf
from torchless.project.discover import load

_FACTORY = re.compile(rb"\b(?:torch|at)\s*::\s*(?:empty|zeros|ones|full)|\bnew_(?:empty|zeros|ones|full)\b|_like\s*\(")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("root", type=Path)
    options.add_argument("--all", action="store_true", help="print translations as well")
    chosen = options.parse_args()
    project = load(chosen.root.resolve())
    root = Path(project.root)
    shelf = Shelf(root, graph_of(project), {}, project.headers)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in sorted({*project.sources, *project.headers}):
        data = (root / path).read_bytes()
        if not _FACTORY.search(data):
            continue
        source = shelf.source(path)
        for index in find_allocations(source, 0, len(source.view.tokens) - 1):
            found, condition = read(source, index), read_condition(source, index)
            line = source.view.source.line_of(source.view.tokens[index].start)
            counts["allocations"] += 1
            if isinstance(found, Allocation):
                counts["translated"] += 1
                counts["conditions refused"] += isinstance(condition, Untranslatable)
                if chosen.all:
                    when = condition.reason if isinstance(condition, Untranslatable) else condition.text
                    print(f"{path}:{line}: {found.python}\n    if {when}")
                    for assumed in found.assumptions:
                        print(f"    {assumed.expression} fits {assumed.type}")
            else:
                where = source.view.source.line_of(found.offset)
                reasons[re.sub(r"`[^`]*`", "`...`", found.reason)] += 1
                print(f"{path}:{line}: refused: {found.reason} (line {where})")
    print()
    for what, count in counts.items():
        print(f"{what}: {count}")
    for reason, count in reasons.most_common():
        print(f"{count:4} {reason}")


if __name__ == "__main__":
    main()
