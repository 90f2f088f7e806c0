"""Whether the Python of a migrated checkout imports, has schemas, and is as tidy as it was.

    python benchmarks/wrappers.py BEFORE AFTER

AFTER is a copy of BEFORE with changes written by torchless. Every changed Python file is checked by black
and ruff with the checkout's own settings, where they were quiet before; op modules are imported over a stand-in for the
JIT, which asks torch's infer_schema about every stub (tests/hoisting/wrapper_harness.py). A function that gives tensors
back which are none of its arguments, and has a fake in the checkout, is called with random meta tensors: what it gives
must have the shapes, strides and dtypes that the fake, written by people, says. Needs torch.
"""

from __future__ import annotations

import argparse
import inspect
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

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


class OnMeta(TorchFunctionMode):
    """Makes what is asked for on a GPU without memory."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if str(kwargs.get("device", "")).startswith("cuda"):
            kwargs["device"] = "meta"
        return func(*args, **kwargs)


def value(annotation: str, sizes: Sequence[int], dice: random.Random) -> Any:
    """A random argument; a tensor has ``sizes``, somewhat changed."""
    if "Tensor" in annotation and ("None" in annotation or "Optional" in annotation) and dice.random() < 0.7:
        return None
    if "Tensor" in annotation:
        shape = [dice.choice((size, dice.randint(1, 9))) for size in sizes]
        return torch.empty(shape, dtype=dice.choice((torch.bfloat16, torch.float16, torch.float32)), device="meta")
    if "dtype" in annotation:
        return dice.choice((torch.float32, torch.bfloat16))
    plain = {"int": dice.randint(1, 8), "float": 1.0, "bool": dice.random() < 0.5, "str": ""}
    return next((made for name, made in plain.items() if name in annotation), None)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether ``function`` can be called with ``count`` arguments by position."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def results(root: Path, path: str, calls: int = 300) -> Iterator[tuple[str, int, str]]:
    """(function, calls of it that its fake takes, how they differ first or "") for what allocates its results."""
    from wrapper_harness import imported, told

    name = path.removeprefix("aiter/").removesuffix(".py").replace("/", ".")
    with imported(root, name) as (_, (module,)), OnMeta():
        guarded = [f for f in vars(module).values() if getattr(f, "fake", None) is not None]
        for function in [f for f in guarded if f"_{f.__name__}" in vars(module)]:
            dice = random.Random(function.__name__)
            if not takes(function.fake, len(inspect.signature(function).parameters)):
                yield function.__name__, 0, "the fake does not take the function's arguments"
                continue
            seen, wrong = 0, ""
            for _ in range(calls):
                sizes = [dice.randint(1, 9) for _ in range(dice.randint(1, 4))]
                parameters = inspect.signature(function).parameters.values()
                arguments = [value(str(p.annotation), sizes, dice) for p in parameters]
                try:
                    wanted, got = function.fake(*arguments), function(*arguments)
                except (IndexError, RuntimeError, ValueError):  # no call that makes sense
                    continue
                given, asked = (r if isinstance(r, (tuple, list)) else (r,) for r in (got, wanted))
                if got is None or all(any(one is a for a in arguments) for one in given):
                    continue
                seen += 1
                if not wrong and [told(t, False) for t in given] != [told(t, False) for t in asked]:
                    wrong = f"{[told(t, False) for t in given]} where the fake says {[told(t, False) for t in asked]}"
            if seen:
                yield function.__name__, seen, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
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
    print("\n| function | calls | as its fake says |\n|---|---|---|")
    for name in changed:
        for function, calls, wrong in results(asked.after, name):
            print(f"| {function} | {calls} | {wrong or 'yes'} |")


if __name__ == "__main__":
    main()
