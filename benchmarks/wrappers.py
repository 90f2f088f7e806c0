"""Whether the Python of a migrated checkout imports, has schemas, and is as tidy as it was.

    python benchmarks/wrappers.py BEFORE AFTER

AFTER is a copy of BEFORE with changes written by torchless. Every changed Python file is checked by black
and ruff with the checkout's own settings, where they were quiet before; op modules are imported over a stand-in for the
JIT, which asks torch's infer_schema about every stub (tests/hoisting/wrapper_harness.py). Needs torch.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "hoisting"))


def quiet(tool: str, root: Path, path: str) -> bool:
    """Whether black or ruff has nothing to say of a file, run in its checkout."""
    command = ["black", "--check", "-q", path] if tool == "black" else ["ruff", "check", "-q", path]
    return subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True).returncode == 0


def imports(root: Path, path: str) -> str:
    """How many stubs an op module declares, or why it does not import."""
    from wrapper_harness import imported

    name = path.removeprefix("aiter/").removesuffix(".py").replace("/", ".")
    try:
        with imported(root, name) as (jit, _):
            return f"{len(jit.schemas)} stubs"
    except Exception as error:
        return f"fails: {type(error).__name__}: {str(error).splitlines()[0][:100]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    asked = parser.parse_args()
    print("| file | black | ruff | imports before | imports after |\n|---|---|---|---|---|")
    for path in sorted(asked.after.glob("**/*.py")):
        name = path.relative_to(asked.after).as_posix()
        old = asked.before / name
        if not old.is_file() or old.read_bytes() == path.read_bytes():
            continue
        cells = []
        for tool in ("black", "ruff"):
            was, now = quiet(tool, asked.before, name), quiet(tool, asked.after, name)
            cells.append("quiet" if now else "**no longer quiet**" if was else "was not quiet")
        is_op = name.startswith("aiter/ops/")
        cells += [imports(root, name) if is_op else "" for root in (asked.before, asked.after)]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
