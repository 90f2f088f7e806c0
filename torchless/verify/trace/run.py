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
process is the last of it, and a new process goes on behind it; calls that are known to end it (``isolated``) are made
in a child of their own.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from torchless.verify.trace.ir import Kernel
from torchless.verify.trace.model import Call, Event, Parameter, Record, Signature, TensorInput, TraceError, Value

TIMEOUT = 120.0
"""Seconds that one process may take for all of its calls; each call has its own limit in the harness."""

_MARK = re.compile(rb"^\x01call (\d+)\n", re.M)


def describe(program: str) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """(name, kinds of the parameters, what it returns) of every entry point of a program. Raises TraceError."""
    done = subprocess.run([program, "--describe"], capture_output=True, text=True, check=False, timeout=TIMEOUT)
    if done.returncode:
        raise TraceError(f"the program does not start: {(done.stderr.splitlines() or ['no reason given'])[0]}")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return tuple((r["name"], tuple(r["kinds"]), r["returns"]) for r in rows)


def run_calls(
    program: str,
    calls: Sequence[Call],
    signatures: Iterable[Signature],
    kernels: Iterable[Kernel],
    arch: str,
    *,
    isolated: Collection[int] = (),
    environment: dict[str, str] | None = None,
) -> list[Record]:
    """Make all calls in order and give their records. ``isolated`` are indices into ``calls``.

    Raises TraceError when the program cannot be run at all.
    """
    by_name = {s.name: s for s in signatures}
    records: dict[int, Record] = {}
    with tempfile.TemporaryDirectory(prefix="torchless-trace-") as scratch:
        listed, journal, errors = (Path(scratch) / name for name in ("calls", "journal", "errors"))
        listed.write_text("".join(_listed(calls, by_name, kernels, arch, isolated)), "utf-8")
        journal.touch()
        errors.touch()
        first = 0
        while first < len(calls):
            code = _process([program, str(listed), str(journal), str(first)], errors, environment)
            records = read_journal(journal.read_bytes(), errors.read_bytes())
            done = max(records, default=-1)
            if code == 0:
                break
            if code > 0:
                told = errors.read_text("utf-8", "replace").strip().splitlines()
                raise TraceError(f"the program stopped with code {code}: {told[-1] if told else 'no reason given'}")
            last = records.get(done)
            if done < first or last is None:
                raise TraceError(f"the program died before its first call ({_signal_name(-code)})")
            if last.outcome == "":  # begun and not ended: this is the call that ended the process
                with journal.open("ab") as out:
                    out.write(json.dumps({"event": "died", "call": done, "signal": -code}).encode() + b"\n")
            first = done + 1
        records = read_journal(journal.read_bytes(), errors.read_bytes())
    return [records.get(i, Record("died", message="was never made")) for i in range(len(calls))]


def read_journal(journal: bytes, errors: bytes) -> dict[int, Record]:
    """The records in a journal by call index; ``errors`` is what the program wrote to its error output.

    A call that was begun and not ended has outcome "".
    """
    said = _said(errors)
    out: dict[int, Record] = {}
    events: list[Event] = []
    current = -1
    for line in journal.splitlines():
        row: dict[str, Any] = json.loads(line)
        kind = row["event"]
        if kind == "begin":
            current, events = row["call"], []
            out[current] = Record("")
        elif kind == "end":
            out[current] = _ended(row, tuple(events))
            current = -1
        elif kind == "died":
            index = row["call"]
            message = said.get(index, "")
            number = row.get("signal", 0)
            if number != signal.SIGABRT:
                message = f"{_signal_name(number)}{': ' + message if message else ''}"
            out[index] = Record("died", tuple(events), message=message, signal=number)
            current = -1
        else:
            events.append(row)
    if current >= 0:
        out[current] = Record("", tuple(events))
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


def _process(command: Sequence[str], errors: Path, environment: dict[str, str] | None) -> int:
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
    for kernel in kernels:
        params = []
        for i, param in enumerate(kernel.params):
            leaves = ",".join(f"{offset}:{kind}" for offset, kind in param.leaves)
            params.append(f"{param.name or f'#{i}'}={leaves}")
        yield " ".join(["kernel", kernel.symbol, *params]) + "\n"
    for index, call in enumerate(calls):
        yield f"call {index} {call.entry} {call.device} {int(call.capture)} {int(index in isolated)}\n"
        for parameter, value in zip(signatures[call.entry].params, call.args, strict=True):
            yield f"with {written(parameter, value)}\n"


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
    if number == signal.SIGALRM:
        return "took too long"
    try:
        return f"died of {signal.Signals(number).name}"
    except ValueError:
        return f"died of signal {number}"
