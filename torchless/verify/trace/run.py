"""Runs a program on calls and reads what it did.

Calls are written to a file that the program reads, one thing a line (see runtime/harness.cpp):

    architecture gfx942
    kernel SYMBOL NAME=OFFSET:TYPE,OFFSET:TYPE NAME=...
    call INDEX ENTRY DEVICE CAPTURE ISOLATED
    with tensor NAME DTYPE DEVICE OFFSET RANK SIZES... STRIDES...
    with tensors NAME COUNT TENSOR...
    with int|float|bool|str|dtype NAME VALUE
    with ints NAME COUNT VALUES...
    with none NAME

All calls share one process, so that what a launcher keeps from one call to the next is kept. A call that ends the
process is the last of it, and a fresh one goes on behind it; calls that are known to end it (``isolated``) are made in
a child of their own. The harness forks for both before anything was called: libraries are loaded once.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchless.verify.trace import store
from torchless.verify.trace.build import Program
from torchless.verify.trace.ir import Kernel
from torchless.verify.trace.model import Call, Event, Parameter, Record, Signature, TensorInput, TraceError, Value

TIMEOUT = 900.0
"""Seconds of wall time that one process may take for all calls. Each call has a limit of CPU time in the harness."""

_BETWEEN = b"\0\0errors\0\0"
_MARK = re.compile(rb"^\x01call (\d+)\n", re.M)


def describe(program: Program) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """(name, kinds of the parameters, what it returns) of every entry point of a program. Raises TraceError."""
    rows = store.read_json("entries", program.key)
    if rows is None:
        command = [program.path, "--describe"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
        if done.returncode:
            raise TraceError(f"the program does not start: {(done.stderr.splitlines() or ['no reason given'])[0]}")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        store.write_json("entries", program.key, rows)
    return tuple((r["name"], tuple(r["kinds"]), r["returns"]) for r in rows)


def run_calls(
    program: Program,
    calls: Sequence[Call],
    signatures: Iterable[Signature],
    arch: str,
    *,
    isolated: Collection[int] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Record]:
    """Make all calls in order and give their records. ``isolated`` are indices into ``calls``.

    A program does the same for the same calls, so what it did is remembered. Raises TraceError when the program cannot
    be run at all.
    """
    if not calls:
        return []
    by_name = {s.name: s for s in signatures}
    text = "".join(_listed(calls, by_name, program.kernels, arch, isolated))
    key = store.digest("run", program.key, text, json.dumps(sorted((environment or {}).items())))
    kept = store.find("runs", key)
    if kept is not None:
        with suppress(OSError, zlib.error, ValueError):
            journal, _, errors = zlib.decompress(kept.read_bytes()).partition(_BETWEEN)
            return _in_order(read_journal(journal, errors), len(calls))
    journal, errors = _ran(program.path, text, environment)
    records = _in_order(read_journal(journal, errors), len(calls))
    store.keep_bytes("runs", key, zlib.compress(journal + _BETWEEN + errors, 1))
    return records


def _in_order(records: Mapping[int, Record], count: int) -> list[Record]:
    return [records.get(i, Record("died", message="was never made")) for i in range(count)]


def _ran(program: str, calls: str, environment: Mapping[str, str] | None) -> tuple[bytes, bytes]:
    """(journal, error output) of a program over the text of its calls. Raises TraceError."""
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        listed, journal, errors = (Path(scratch) / name for name in ("calls", "journal", "errors"))
        listed.write_text(calls, "utf-8")
        journal.touch()
        errors.touch()
        code = _process([program, str(listed), str(journal)], errors, environment)
        if code:
            told = errors.read_text("utf-8", "replace").strip().splitlines()
            why = _signal_name(-code) if code < 0 else told[-1] if told else f"exit code {code}"
            raise TraceError(f"the harness stopped: {why}")
        return journal.read_bytes(), errors.read_bytes()


def read_journal(journal: bytes, errors: bytes) -> dict[int, Record]:
    """The records in a journal by call index; ``errors`` is what the program wrote to its error output."""
    said = _said(errors)
    out: dict[int, Record] = {}
    events: list[Event] = []
    for line in journal.splitlines():
        row: dict[str, Any] = json.loads(line)
        kind = row["event"]
        if kind == "begin":
            events = []
        elif kind == "end":
            out[row["call"]] = _ended(row, tuple(events))
        elif kind == "died":
            index = row["call"]
            message = said.get(index, "")
            number = row.get("signal", 0)
            if number != signal.SIGABRT:
                message = f"{_signal_name(number)}{': ' + message if message else ''}"
            out[index] = Record("died", tuple(events), message=message, signal=number)
        else:
            events.append(row)
    return out


def _ended(row: dict[str, Any], events: tuple[Event, ...]) -> Record:
    common: dict[str, Any] = {"device": row["device"], "pending": row["pending"]}
    if row["outcome"] == "returned":
        return Record("returned", events, result=tuple(row["result"]), **common)
    outcome = {"conversion": "refused", "missing": "missing"}.get(row["kind"], "threw")
    return Record(outcome, events, message=row["message"], where=row["where"], kind=row["kind"], **common)


def _said(errors: bytes) -> dict[int, str]:
    """What was written to the error output during each call."""
    parts = _MARK.split(errors)
    return {int(parts[i]): parts[i + 1].decode("utf-8", "replace").strip() for i in range(1, len(parts) - 1, 2)}


def _process(command: Sequence[str], errors: Path, environment: Mapping[str, str] | None) -> int:
    """Exit code, negative for a signal."""
    with errors.open("ab") as out:
        try:
            # one thread is enough, and forks are safe without more
            env = {**os.environ, "OMP_NUM_THREADS": "1", "LC_ALL": "C", **(environment or {})}
            return subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out, env=env, timeout=TIMEOUT
            ).returncode
        except subprocess.TimeoutExpired:
            raise TraceError(f"the program took longer than {TIMEOUT:g} s") from None
        except OSError as error:
            raise TraceError(f"the program cannot be run: {error.strerror}") from None


def _listed(
    calls: Sequence[Call],
    signatures: dict[str, Signature],
    kernels: Iterable[Kernel],
    arch: str,
    isolated: Collection[int],
) -> Iterator[str]:
    yield f"architecture {arch}\n"
    yield from (f"kernel {kernel_line(kernel)}\n" for kernel in kernels)
    for index, call in enumerate(calls):
        yield f"call {index} {call.entry} {call.device} {int(call.capture)} {int(index in isolated)}\n"
        for parameter, value in zip(signatures[call.entry].params, call.args, strict=True):
            yield f"with {written(parameter, value)}\n"


def kernel_line(kernel: Kernel) -> str:
    """A kernel as the runtime reads it."""
    params = []
    for i, param in enumerate(kernel.params):
        leaves = ",".join(f"{offset}:{kind}" for offset, kind in param.leaves)
        params.append(f"{param.name or f'#{i}'}={leaves}")
    return " ".join([kernel.symbol, *params])


def written(parameter: Parameter, value: Value) -> str:
    """An argument as the harness reads it."""
    name = parameter.name
    if value is None:
        return f"none {name}"
    if isinstance(value, TensorInput):
        return f"tensor {_tensor(name, value)}"
    if parameter.base == "tensors":
        assert isinstance(value, tuple)
        listed = [_tensor(f"{name}[{i}]", t) for i, t in enumerate(value) if isinstance(t, TensorInput)]
        return " ".join([f"tensors {name} {len(listed)}", *listed])
    if parameter.base == "ints":
        assert isinstance(value, tuple)
        return " ".join([f"ints {name} {len(value)}", *map(str, value)])
    if parameter.base == "str":
        return f"str {name} :{value}"
    if parameter.base == "dtype":
        return f"dtype {name} {value}"
    if parameter.base == "float":
        assert isinstance(value, (int, float))
        return f"float {name} {float(value).hex()}"
    if parameter.base == "bool":
        return f"bool {name} {int(bool(value))}"
    return f"int {name} {value}"


def _tensor(name: str, tensor: TensorInput) -> str:
    numbers = [tensor.device, tensor.offset, len(tensor.sizes), *tensor.sizes, *tensor.strides]
    return " ".join([name, tensor.dtype, *map(str, numbers)])


def _signal_name(number: int) -> str:
    if number == signal.SIGPROF:
        return "took too long"
    try:
        return f"died of {signal.Signals(number).name}"
    except ValueError:
        return f"died of signal {number}"
