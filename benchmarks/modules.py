"""What becomes of every module of a checkout that is still on torch, as a table.

    python benchmarks/modules.py CHECKOUT [--path csrc --path gradlib] [--safe] [--write]

One run of `torchless migrate`, dry unless --write says otherwise. A module is migrated, backed out, or blocked, with
the codes of its blockers and the first of each in words; modules without a unit hold no torch. --safe leaves out
--unsafe.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from torchless.api import MigrateOptions, migrate
from torchless.model import Finding, Unit, UnitStatus
from torchless.text.writer import write_files

_SHOWN = 3  # blockers in words


def blockers_of(unit: Unit) -> list[Finding]:
    """The first blocker of each code, most frequent code first."""
    blocking = [f for f in unit.findings if f.blocks]
    counts = Counter(f.code for f in blocking)
    first = {f.code: f for f in reversed(blocking)}
    return [first[code] for code, _ in counts.most_common()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--safe", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the changes into CHECKOUT")
    asked = parser.parse_args()
    began = time.monotonic()
    options = MigrateOptions(paths=tuple(asked.path or ["csrc"]), unsafe=not asked.safe, cache=True)
    result = migrate(options, asked.checkout, lambda stage, done, total: None)
    if asked.write:
        write_files(asked.checkout, result.changes)
    units = {module: unit for unit in result.units for module in unit.modules}
    states = Counter(unit.status.value for unit in units.values())
    print(f"{len(units)} modules: {', '.join(f'{n} {state}' for state, n in states.most_common())}")
    print(f"{len(result.changes)} files change; {time.monotonic() - began:.0f} s\n")
    print("| module | state | unit | blockers |\n|---|---|---|---|")
    for module, unit in sorted(units.items()):
        blockers = "" if unit.status is UnitStatus.MIGRATED else _told(unit)
        print(f"| {module.removeprefix('module_')} | {unit.status.value} | {unit.name} | {blockers} |")


def _told(unit: Unit) -> str:
    counts = Counter(f.code for f in unit.findings if f.blocks)
    found = blockers_of(unit)
    words = [f"{f.code} ×{counts[f.code]}: {f.message} ({Path(f.path).name}:{f.line})" for f in found[:_SHOWN]]
    more = [f.code for f in found[_SHOWN:]]
    return "; ".join([*words, *more]).replace("|", "\\|")


if __name__ == "__main__":
    main()
