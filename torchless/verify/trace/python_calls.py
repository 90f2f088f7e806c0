"""The Python side of a unit: its ops called as a caller does, before and after, on the fake runtime.

What the C++ trace cannot see is between a caller and the entry point: the wrapper, what it allocates, defaults in two
places, conversions, the stream setter. Both versions of the module are loaded as pybind modules, each by its own
version of the Python files, and called with inputs that the C++ trace found, in the ways that Python has to spell them.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torchless.verify.trace import store, toolchain
from torchless.verify.trace.compare import comparable, compare, launches, told
from torchless.verify.trace.findings import grouped
from torchless.verify.trace.library import Library, foreign
from torchless.verify.trace.model import (
    Call,
    EntryResult,
    Finding,
    Parameter,
    Record,
    Signature,
    TensorInput,
    TraceError,
    TraceOptions,
    TreeText,
    Value,
)
from torchless.verify.trace.run import kernel_line, read_journal
from torchless.verify.trace.shrink import python_value

TIMEOUT = 600.0
SCRIPT = Path(__file__).resolve().parent.parent / "alone/call_ops.py"


@dataclass(frozen=True, slots=True)
class PythonOp:
    """A function of the checkout that is called: ``module`` (dotted) and ``name``.

    ``entry`` is the C++ function that it led to before; ``params`` its parameters before, ``defaults`` those that have
    a default.
    """

    module: str
    name: str
    entry: str
    params: tuple[str, ...]
    defaults: frozenset[str]


@dataclass(frozen=True, slots=True)
class PythonSide:
    """One version: its Python files, and the libraries that stand for modules by name."""

    tree: TreeText
    libraries: Mapping[str, Library]


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A call as it is spelled: ``call`` holds the values in the order of the op's parameters.

    ``given`` are the parameters that are given at all, the first ``positional`` of them by position. ``named``: the op
    hands its arguments on to C++ by name, where the target's does so by position.
    """

    op: PythonOp
    call: Call
    given: tuple[str, ...]
    positional: int
    named: bool = False


def spellings(op: PythonOp, call: Call) -> Iterator[PythonCall]:
    """The ways to spell one call: by position, by name, without what has a default, and with one such only.

    By position twice: torch's dispatcher hands on by position what it was given by name, so that names in the binding
    rows count only for who calls the C++ function itself.
    """
    yield PythonCall(op, call, op.params, len(op.params))
    yield PythonCall(op, call, op.params, 0)
    yield PythonCall(op, call, op.params, len(op.params), named=True)
    if not op.defaults:
        return
    values = dict(zip(op.params, call.args, strict=True))

    def only(kept: frozenset[str], positional: int) -> PythonCall:
        given = tuple(p for p in op.params if p not in op.defaults or p in kept)
        args = tuple(values[p] if p in given else None for p in op.params)
        return PythonCall(op, replace(call, args=args), given, min(positional, len(given)))

    required = next((i for i, p in enumerate(op.params) if p in op.defaults), len(op.params))
    yield only(frozenset(), required)
    for name in op.params:
        if name in op.defaults and len(op.defaults) > 1:
            yield only(frozenset({name}), required)


def compare_ops(
    before: PythonSide,
    after: PythonSide,
    runtime: Library,
    ops: Sequence[PythonOp],
    examples: Mapping[str, tuple[Signature, Sequence[Call]]],
    options: TraceOptions,
) -> tuple[EntryResult, ...]:
    """Call each op in both versions with the ``examples`` of its entry point, and compare.

    Never raises for what is wrong with the code: ops that cannot be called are "not run", with the reason.
    """
    asked: list[PythonCall] = []
    kinds: dict[PythonOp, Signature] = {}
    results: dict[PythonOp, EntryResult] = {}
    for op in ops:
        signature, calls = examples.get(op.entry, (None, ()))
        why = _cannot(op, signature, calls)
        if why or signature is None:
            results[op] = EntryResult(_shown(op), "not run", why)
            continue
        kinds[op] = signature
        given = [i for i, p in enumerate(signature.params) if p.base != "stream"]
        for call in calls:
            asked += spellings(op, replace(call, args=tuple(call.args[i] for i in given)))
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = [pool.submit(run_python, side, runtime, asked, kinds, options) for side in (before, after)]
    records = []
    for done, which in zip(running, ("before", "after"), strict=True):
        try:
            records.append(done.result())
        except TraceError as error:
            return tuple(results.get(op, EntryResult(_shown(op), "not run", f"{error} ({which})")) for op in ops)
    records = [_explained(mine, foreign(side.libraries)) for mine, side in zip(records, (before, after), strict=True)]
    for op in kinds:
        mine = [i for i, c in enumerate(asked) if c.op == op]
        results[op] = _result(op, kinds[op], [(asked[i], records[0][i], records[1][i]) for i in mine])
    return tuple(results[op] for op in ops)


def _explained(records: Sequence[Record], why: str) -> list[Record]:
    """Refusals by pybind with what lies behind them, where something does."""
    return [replace(r, message=f"{r.message}: {why}") if why and r.kind == "TypeError" else r for r in records]


def _cannot(op: PythonOp, signature: Signature | None, calls: Sequence[Call]) -> str:
    if signature is None or not calls:
        return f"{op.entry} was not called from C++ either"
    params = [p for p in signature.params if p.base != "stream"]
    odd = next((p for p in params if p.base not in _KINDS), None)
    if odd is not None:
        return f"{odd.name} is a {odd.kind}, which is not made in Python"
    if len(params) != len(op.params):
        return f"takes {len(op.params)} arguments in Python and {len(params)} in C++"
    return ""


def _result(op: PythonOp, signature: Signature, made: Sequence[tuple[PythonCall, Record, Record]]) -> EntryResult:
    # names in a binding row that were never those of the op are no fault of the new version
    usable = [m for m in made if comparable(m[1]) and comparable(m[2]) and (m[1].accepted or not m[0].named)]
    through = [m for m in usable if m[1].accepted and m[2].accepted]
    compared = [(m, d) for m in usable for d in compare(m[0].call, m[1], m[2], op.params)]
    allowed: dict[str, int] = {}
    for word in [d.accepted for _, d in compared if d.accepted]:
        allowed[word] = allowed.get(word, 0) + 1
    findings = []
    for seen in grouped((m, d) for m, d in compared if not d.accepted):
        (spelled, old, new), difference = seen[0]
        findings.append(Finding(difference, spelled.call, reproducer(spelled, signature, old, new), len(seen)))
    why = ""
    if not through and not findings:
        outcomes = [record for m in made for record in m[1:] if not record.accepted]
        first = next((r for r in outcomes if not comparable(r)), outcomes[0] if outcomes else None)
        why = f"no call went through: {told(first)}" if first is not None else "no call was made"
    return EntryResult(
        _shown(op),
        "fail" if findings else "not run" if why else "pass",
        why,
        tuple(findings),
        calls=len(usable),
        launched=sum(bool(launches(m[1])) for m in through),
        rejected=sum(not m[1].accepted and not m[2].accepted for m in usable),
        kernels=tuple(sorted({k for m in through for k in launches(m[1])})),
        allowed=tuple(sorted(allowed.items())),
    )


def reproducer(spelled: PythonCall, signature: Signature, before: Record, after: Record) -> str:
    """The call as Python, and what each version does with it."""
    kinds = _kinds(spelled.op, signature)
    values = dict(zip(spelled.op.params, spelled.call.args, strict=True))
    written = [
        ("" if i < spelled.positional else f"{name}=") + python_value(values[name], kinds[name].base)
        for i, name in enumerate(spelled.given)
    ]
    lines = [f"{spelled.op.module}.{spelled.op.name}({', '.join(written)})"]
    if spelled.call.device or any(isinstance(v, TensorInput) and v.device != 0 for v in values.values()):
        lines.insert(0, f"with torch.cuda.device({spelled.call.device}):")
    if spelled.named:
        lines.append("with the arguments of the C++ function given by name")
    return "\n".join([*lines, f"before: {told(before)}", f"after:  {told(after)}"])


def run_python(
    side: PythonSide,
    runtime: Library,
    calls: Sequence[PythonCall],
    kinds: Mapping[PythonOp, Signature],
    options: TraceOptions,
) -> list[Record]:
    """What each call does in one version. Raises TraceError when the ops cannot be imported.

    The same calls of the same libraries and Python files do the same: what they did is remembered.
    """
    job: dict[str, Any] = {
        "runtime": runtime.path,
        "libraries": {name: library.path for name, library in side.libraries.items()},
        "root": side.tree.root,
        "package": calls[0].op.module.partition(".")[0] if calls else "",
        "ops": sorted({c.op.module for c in calls}),
        "kernels": [kernel_line(k) for library in side.libraries.values() for k in library.kernels],
        "arch": options.arch,
        "calls": [_encoded(i, c, kinds[c.op]) for i, c in enumerate(calls)],
    }
    if not calls:
        return []
    scripts = [path.read_bytes() for path in sorted(SCRIPT.parent.glob("*.py"))]
    key = store.digest("python", json.dumps(job, sort_keys=True), str(toolchain.find_torch()), *scripts)
    kept = store.read_json("python", key)
    if kept is None or kept["files"] != _digests(side.tree, kept["files"]):
        kept = _ran(job, side.tree)
        kept["files"] = _digests(side.tree, kept["files"])
        store.write_json("python", key, kept)
    if kept["error"]:
        raise TraceError(f"the ops cannot be imported: {kept['error']}")
    records = read_journal(kept["journal"].encode("latin-1"), kept["errors"].encode("latin-1"))
    return [records.get(i, Record("died", message="was never made")) for i in range(len(calls))]


def _ran(job: dict[str, Any], tree: TreeText) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        place = Path(scratch)
        texts = {}
        for i, (path, data) in enumerate(sorted(tree.texts.items())):
            if path.endswith(".py"):
                texts[path] = str(place / f"text{i}.py")
                Path(texts[path]).write_bytes(data)
        journal = place / "journal"
        journal.touch()
        (place / "job.json").write_text(json.dumps({**job, "texts": texts, "journal": str(journal)}), "utf-8")
        files = [str(path) for path in (SCRIPT, place / "job.json", place / "answer.json")]
        command = [sys.executable, "-W", "ignore", *files]
        with (place / "errors").open("wb") as errors:
            env = {**_environment(), "AITER_ASM_DIR": f"{tree.root}/hsa"}
            try:
                code = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    env=env,
                    timeout=TIMEOUT,
                ).returncode
            except subprocess.TimeoutExpired:
                raise TraceError(f"the calls from Python took longer than {TIMEOUT:g} s") from None
        said = (place / "errors").read_bytes()
        if code or not (place / "answer.json").is_file():
            last = (said.decode("utf-8", "replace").strip().splitlines() or [f"exit code {code}"])[-1]
            raise TraceError(f"the calls from Python stopped: {last}")
        answer: dict[str, Any] = json.loads((place / "answer.json").read_text("utf-8"))
        answer["journal"] = journal.read_bytes().decode("latin-1")
        answer["errors"] = said.decode("latin-1")
        return answer


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "LC_ALL": "C"}


def _digests(tree: TreeText, files: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    out = {}
    for path in files:
        data = tree.texts.get(path)
        if data is None:
            try:
                data = (Path(tree.root) / path).read_bytes()
            except OSError:
                data = b""
        out[path] = hashlib.sha256(data).hexdigest()
    return out


def _encoded(index: int, spelled: PythonCall, signature: Signature) -> dict[str, Any]:
    kinds = _kinds(spelled.op, signature)
    values = dict(zip(spelled.op.params, spelled.call.args, strict=True))
    made = [(name, _value(name, values[name], kinds[name])) for name in spelled.given]
    return {
        "index": index,
        "entry": f"{spelled.op.module}.{spelled.op.name}",
        "module": spelled.op.module,
        "function": spelled.op.name,
        "args": [value for _, value in made[: spelled.positional]],
        "kwargs": dict(made[spelled.positional :]),
        "device": spelled.call.device,
        "capture": spelled.call.capture,
        "named": spelled.named,
    }


def _value(name: str, value: Value, parameter: Parameter) -> Any:
    if value is None:
        return None
    if isinstance(value, TensorInput):
        return {"tensor": _tensor(name, value)}
    if isinstance(value, tuple):
        if parameter.base != "tensors":
            return list(value)
        return {"tensors": [_tensor(f"{name}[{i}]", t) for i, t in enumerate(value) if isinstance(t, TensorInput)]}
    if parameter.base == "dtype":
        return {"dtype": value}
    if parameter.base == "float":
        assert isinstance(value, (int, float))
        return {"float": float(value).hex()}
    return bool(value) if parameter.base == "bool" else value


def _tensor(name: str, t: TensorInput) -> list[Any]:
    return [name, t.dtype, t.device, t.offset, list(t.sizes), list(t.strides)]


def _kinds(op: PythonOp, signature: Signature) -> dict[str, Parameter]:
    return dict(zip(op.params, (p for p in signature.params if p.base != "stream"), strict=True))


def _shown(op: PythonOp) -> str:
    return f"{op.module}.{op.name}"


_KINDS = frozenset(
    {"tensor", "tensors", "int8", "int32", "int64", "float", "bool", "str", "dtype", "ints", "generator"}
)
