"""Whether the Python of a migrated checkout imports, has schemas, and is as tidy as it was.

    python benchmarks/wrappers.py BEFORE AFTER

AFTER is a copy of BEFORE with changes written by torchless. Every changed Python file is checked by black
and ruff with the checkout's own settings, where they were quiet before; op modules are imported over a stand-in for the
JIT, which asks torch's infer_schema about every stub (tests/hoisting/wrapper_harness.py). Every wrapper in front of a
private stub is called with random meta tensors, and so is the C++ of BEFORE, compiled over torch's own, with what its
generators print (tests/hoisting/compare_ops.py): both must give and make the same tensors. "makes": how many at most;
"spare": calls in which the C++ makes one more that nobody sees; "stopped": calls that ended in what is not built here,
a library or an instance, of which only what was made until then is compared; "refused": by the C++. Needs torch, and
pandas for the generators.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import generators

from torchless.project.ops import ops_of, parse_python

TESTS = Path(__file__).resolve().parents[1] / "tests" / "hoisting"
sys.path.insert(0, str(TESTS))


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


def printed(root: Path, module: str, folder: Path) -> None:
    """Run the generators of ``module``, and leave in ``folder`` what they print. Raises SystemExit when one fails."""
    environment = generators.without_rocm(folder.parent, "gfx950")
    for name, command in generators.dict_of(root).items():
        if f"module_{name.rstrip('+')}" == module:
            files, why = generators.printed(command, sys.executable, environment)
            if why:
                raise SystemExit(f"{module}: {why}")
            for place, text in files.items():
                (folder / place).parent.mkdir(parents=True, exist_ok=True)
                (folder / place).write_text(text)


def with_wrappers(before: Path, after: Path, paths: Sequence[str]) -> list[str]:
    """The modules of which one of the op files ``paths`` has a new private stub, which has a function in front."""
    found: dict[str, None] = {}
    for path in paths:
        old, new = (ops_of(parse_python(path, (root / path).read_bytes()))[0] for root in (before, after))
        known = {op.function for op in old}
        for op in new:
            if op.develop and op.function.startswith("_") and op.function not in known:
                found[op.module] = None
    return list(found)


def compared(before: Path, after: Path, module: str, examples: int) -> Iterator[str]:
    """A row for each wrapper of ``module``, or one that says why none could be called."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "printed")
        folder.mkdir()
        printed(before, module, folder)
        arguments = [str(before), str(after), module, "--examples", str(examples), "--printed", str(folder)]
        command = [sys.executable, str(TESTS / "compare_ops.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        rows = list(map(json.loads, done.stdout.splitlines()))
        absent = sorted({name for row in rows if row.get("stopped") for name in row["absent"]})
        if absent:  # once more, with those instances
            done = subprocess.run([*command, "--with", *absent], capture_output=True, text=True)
            rows = list(map(json.loads, done.stdout.splitlines()))
    for row in rows:
        numbers = [row.get(key, 0) for key in ("calls", "made", "spare", "stopped")]
        same = row["difference"].splitlines()[0] if row["difference"] else "yes" if row.get("calls") else "not called"
        yield f"| {row['function']} | {' | '.join(map(str, numbers))} | {sum(row['refused'].values())} | {same} |"
    if done.returncode:
        yield f"| {module} | | | | | | fails: {done.stderr.strip().splitlines()[-1][:200]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--examples", type=int, default=200, help="calls of each kind")
    asked = parser.parse_args()
    print("| file | black | ruff | imports before | imports after |\n|---|---|---|---|---|")
    changed: list[str] = []
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
        changed += [name] if is_op else []
    print(
        "\n| wrapper | calls | makes | spare | stopped | refused | as the C++ |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for module in with_wrappers(asked.before, asked.after, changed):
        for row in compared(asked.before.resolve(), asked.after.resolve(), module, asked.examples):
            print(row, flush=True)


if __name__ == "__main__":
    main()
