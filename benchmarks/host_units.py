"""What one unit for the host saves: `torchless migrate --select TL63 --unsafe` on a checkout, in CPU seconds.

    python benchmarks/host_units.py CHECKOUT

For each module that is fused: the passes that are compiled, how many of them read the launchers for the host, CPU
seconds of the compiler's front end (parsing, instantiation, code without optimisation) in both passes, before and
after, over the stub headers, and whether kernels and launchers are the same.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchless.api import MigrateOptions, migrate
from torchless.compiled import Bench


def children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    root = parser.parse_args().checkout.resolve()
    spent: dict[str, float] = {}

    def timed(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def call(bench: Bench, specs: Any) -> Any:
            began = children()
            found = run(bench, specs)
            version = "after" if bench.overlay else "before"
            spent[f"{name} {version}"] = spent.get(f"{name} {version}", 0.0) + children() - began
            return found

        return call

    Bench.device = timed("device", Bench.device)  # type: ignore[method-assign]
    Bench.host = timed("host", Bench.host)  # type: ignore[method-assign]
    result = migrate(
        MigrateOptions((".",), select=("TL63",), unsafe=True, jobs=2, cache=False),
        root,
        lambda stage, done, total: None,
    )
    for unit in result.units:
        print(unit.name, unit.status.value, [f.message for f in unit.findings])
    for finding in result.findings:
        print(finding.code, finding.path, finding.message)
    for name, seconds in spent.items():
        print(f"{name}: {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
