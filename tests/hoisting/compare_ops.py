"""Wrappers that a migration wrote, beside the C++ that they come from: the same tensors, on the same devices?

    python compare_ops.py BEFORE AFTER MODULE [--examples N] [--printed FOLDER] [--with INSTANCE...]

BEFORE and AFTER are two versions of a checkout. Every Python function of MODULE that stands in front of a private stub
in AFTER is called with random meta tensors (hypothesis) that say they are on one of two devices, and so is the C++
function that it was in BEFORE, compiled over torch's own C++. Both must give the same results (an argument, or a
tensor) and make the same tensors: sizes, strides, dtype, device, and what they are filled with. Calls that the C++
refuses are counted, no more.

Prints a JSON object for each function. To be run in a process of its own: torch is told of two devices.
"""

from __future__ import annotations

import argparse
import inspect
import json
import logging
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from original_ops import NOT_BUILT, Original, build, imported_as, loaded, results, runtime, tensors_of
from random_calls import Called, Space, is_optional, like, search
from torch._subclasses.fake_tensor import FakeTensorMode
from wrapper_harness import FakeJit, Made, called, imported

from torchless.project.discover import load
from torchless.project.model import PyOp
from torchless.project.ops import ops_of, parse_python
from torchless.verify.launches import bound_rows
from torchless.verify.trace.hints import read_hints

_PRINTED = "torchless_printed"
_SOURCES = 8
"""How many sources that a generator prints are compiled, about; instances in others are not there when called."""
_TRIES = 20000
"""Calls to look for some that go through."""


@dataclass(frozen=True)
class Wrapper:
    """A Python function of an op file (dotted, in the package) and the bound function behind it."""

    file: str
    name: str
    bound: str


def wrappers(root: Path, module: str) -> Iterator[Wrapper]:
    """The functions of ``module`` that stand in front of a private stub."""
    for path in sorted((root / "aiter").rglob("*.py")):
        text = path.read_bytes()
        if module.encode() not in text:
            continue
        name = path.relative_to(root / "aiter").as_posix()
        file = parse_python(f"aiter/{name}", text)
        ops: Sequence[PyOp] = ops_of(file)[0]
        public = {node.name for node in file.tree.body if hasattr(node, "name")}
        for op in ops:
            if op.module == module and op.function.startswith("_") and op.function[1:] in public:
                yield Wrapper(name.removesuffix(".py").replace("/", "."), op.function[1:], op.fc_name)


def space_of(function: Callable[..., Any], name: str, texts: Sequence[bytes], tables: Sequence[bytes]) -> Space:
    """What calls of ``function`` are made of. ``name`` is the C++ function behind it, of which ``texts`` say something.

    The numbers of a parameter are those behind its name in a text of the look-up ``tables`` ("NE256_TOPK8").
    """
    parameters = tuple((p.name, str(p.annotation)) for p in inspect.signature(function).parameters.values())
    hints = read_hints(name, [name for name, _ in parameters], texts)
    keys = b" ".join(key for text in tables for key in re.findall(rb'"[^"]*"', text))
    named = {
        name: tuple(sorted({int(n) for n in re.findall(rb"(?<![A-Za-z])" + name.encode() + rb"(\d+)", keys)}))
        for name, _ in parameters
    }
    dtypes = {name: getattr(torch, dtype) for name, dtype in hints.dtypes.items()}
    return Space(parameters, hints.numbers, named, dtypes, hints.ranks)


def _fake(sizes: Sequence[int], dtype: torch.dtype, device: int) -> torch.Tensor:
    return torch.empty(sizes, dtype=dtype, device=f"cuda:{device}")


def compare(
    wrapper: Wrapper, original: Original, jit: FakeJit, function: Callable[..., Any], space: Space, examples: int
) -> dict[str, Any]:
    """What random calls of one function say: how many, why the C++ refused others, the first difference or "".

    ``absent`` in it are the instances in which most calls stopped.
    """
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    absent: Counter[str] = Counter()

    def run(asked: Called) -> str:
        """Why the C++ refuses the call. Raises AssertionError for a difference."""
        before = original.call(wrapper.bound, asked)
        if before.refused and not before.stopped:
            refusals[before.refused[:90]] += 1
            return before.refused
        counts["calls"] += 1
        counts["stopped"] += before.stopped
        if before.refused.startswith(NOT_BUILT):
            absent[before.refused.removeprefix(NOT_BUILT)] += 1
        mode = FakeTensorMode()
        mode.cache_enabled = False  # it forgets that another device may be current
        with mode:
            torch.cuda.set_device(asked.device)
            arguments = asked.made(_fake)
            result, made = called(jit, function, *arguments)
            assert [name for name, _ in jit.calls] == [wrapper.bound], f"calls {[name for name, _ in jit.calls]}"
            seen = {id(value) for _, values in jit.calls for value in values.values()}.union(map(id, arguments))
            wanted = list(before.made)
            if made != wanted and any(one == wanted for one in _with_one_less(jit, function, arguments)):
                counts["spare"] += 1
                wanted = made
            counts["made"] = max(counts["made"], len(made))
            assert made == wanted, f"makes {made} where the C++ makes {wanted}"
            given_back = results(result, arguments)
            assert all(id(one) in seen for one in tensors_of(result)), "gives a tensor that C++ has not seen"
            assert before.stopped or given_back == before.results, f"gives {given_back}, the C++ {before.results}"
        return ""

    difference = ""
    try:
        tried = search(space, run, wrapper.name, _TRIES)
        went_through = tuple(islice((one for one, why in tried if not why), examples))
        if went_through:
            _many(run, like(went_through, [is_optional(annotation) for _, annotation in space.parameters]), examples)
    except Exception as error:
        difference = f"{type(error).__name__}: {error}"
    told = {"refused": dict(refusals), "absent": [name for name, _ in absent.most_common(_SOURCES)]}
    return {"function": f"{wrapper.file}.{wrapper.name}", **counts, **told, "difference": difference}


def _many(run: Callable[[Called], object], asked: st.SearchStrategy[Called], examples: int) -> None:
    alike = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )

    def one(asked: Called) -> None:
        run(asked)

    alike(given(asked)(one))()


def queries(jit: FakeJit, module: str) -> list[str]:
    """The stubs of ``module`` that take integers and give one: what a size is asked of. They are called for real."""
    found = []
    for name, stub in jit.stubs.items():
        taken = inspect.signature(stub)
        kinds = [taken.return_annotation, *(p.annotation for p in taken.parameters.values())]
        if jit.options[name]["module"] == module and len(kinds) > 1 and set(kinds) == {int}:
            found.append(name)
    return found


def _with_one_less(jit: FakeJit, function: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[list[Made]]:
    """What the function makes without one of the tensors that it is given.

    C++ that makes what it would need then, and does not look whether it does (``value_or(torch::empty_like(x))``),
    makes a spare tensor that nobody sees.
    """
    for i, one in enumerate(arguments):
        if isinstance(one, torch.Tensor):
            less = [None if i == j else other for j, other in enumerate(arguments)]
            with suppress(AttributeError, TypeError):  # it is not optional
                yield called(jit, function, *less)[1]


def files(folder: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    """The files below ``folder``, by their paths in it, and of the sources among them a few.

    Those whose names begin with one that is ``wanted`` are among the few.
    """
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    sources = [path for path in found if path.suffix in (".cu", ".cpp")]
    few = {path for path in sources if path.name.startswith(tuple(wanted))} if wanted else set()
    few.update(sources[:: max(1, len(sources) // _SOURCES)])
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path not in {*sources} - few}


def rows(before: Path, after: Path, name: str, printed: Mapping[str, bytes], examples: int) -> Iterator[dict[str, Any]]:
    """What ``compare`` says of each wrapper of the module ``name``. ``printed`` is as for ``build``."""
    gpu = runtime()
    with tempfile.TemporaryDirectory() as folder:
        original = Original(
            loaded(imported_as(name, "before"), build(before, name, "before", printed), Path(folder)), gpu
        )
        project = load(before)
        module = next(m for m in project.modules if m.name == name)
        targets = {row.name: row.target.removeprefix("::") for row in bound_rows(project, module)}
        texts = [(before / source).read_bytes() for source in module.sources]
        tables = [text for path, text in printed.items() if "lookup" in path]
        for wrapper in wrappers(after, name):
            with imported(after, wrapper.file) as (jit, (ops,)):
                if questions := queries(jit, name):
                    new = loaded(imported_as(name, "after"), build(after, name, "after"), Path(folder))
                    jit.answers = {op: getattr(new, op) for op in questions}
                function = getattr(ops, wrapper.name)
                space = space_of(function, targets.get(wrapper.bound, wrapper.bound), texts, tables)
                yield compare(wrapper, original, jit, function, space, examples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("module")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--printed", type=Path, help="folder with what the module's generators print before")
    parser.add_argument("--with", dest="wanted", nargs="*", default=(), help="instances of which no source is left out")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    printed = (
        {f"{_PRINTED}/{path}": data for path, data in files(asked.printed, asked.wanted).items()}
        if asked.printed
        else {}
    )
    for row in rows(asked.before.resolve(), asked.after.resolve(), asked.module, printed, asked.examples):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
