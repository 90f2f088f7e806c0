"""What the target's maintainers accept to be different (rules/aiter/conventions.md), as seen in a trace.

A difference that a function here explains is still counted and shown, under the function's word; it does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchless.verify.trace.model import Call, Event, Record, TensorInput
from torchless.verify.trace.normal import message_of

_DTYPE_CHECK = re.compile(r"^\w+: expected (?:dtype \w|the dtype of \w).* for \w")  # as TL310 words it
_RANK = re.compile(r"Dimension (?:out of range|specified as)")

EXPLANATIONS = {
    "index": "size() and stride() no longer check their index against the tensor's rank",
    "dtype": "the target has no such dtype, or tensors of at most 8 dimensions: refused before the call",
    "stream": "the stream is the one of the caller's device, not of the tensor's",
    "guard": "a device guard was added: work runs on the tensor's device, not on the caller's",
    "host-memory": "a kernel would have got a pointer into the CPU's memory: refused now",
    "earlier": "dtypes are checked before the first launch, not between two, and before other checks",
    "placeholder": "a tensor of no elements that stood for an absent one, and that nothing touched, is not made",
}


def accepted_verdict(call: Call, before: Record, after: Record, names: Sequence[str]) -> str:
    """The convention by which one side may accept a call that the other refuses, "" for none."""
    if not before.accepted and _RANK.search(before.message):
        return "index"
    if after.outcome == "refused":
        return "dtype"
    if before.accepted and after.outcome in ("died", "threw"):
        if wrong_stream(after.events):
            return "stream"
        if "hipErrorInvalidDevice" in after.message and _kernel_gets_host_memory(call, before, names):
            return "host-memory"
    return ""


def accepted_words(after: Record) -> str:
    """The convention by which a call that both sides refuse may be refused in other words now, "" for none.

    A dtype that is asked for again, since a typed pointer no longer asks, is asked for at the start.
    """
    return "earlier" if _DTYPE_CHECK.search(message_of(after)) else ""


def accepted_event(call: Call, field: str, before: Event, after: Event) -> str:
    """The convention by which ``field`` of an event may differ, "" for none."""
    caller = f"device{call.device}.current"
    if field == "stream" and before.get("stream") != after.get("stream"):
        of_tensor = {f"device{t.device}.current" for t in _tensors(call) if t.device >= 0}
        if after.get("stream") == caller and before.get("stream") in of_tensor:
            return "stream"
    added = before.get("device") == call.device and after.get("device") in {t.device for t in _tensors(call)}
    if field == "device" and added:
        return "guard"
    if field == "error" and wrong_stream([after]):
        return "stream"
    return ""


def accepted_loss(lost: Event, before: Sequence[Event]) -> str:
    """The convention by which an event may be gone, "" for none; ``before`` are all that there were."""
    if lost.get("event") != "alloc" or lost.get("name") != "torch" or lost.get("bytes"):
        return ""
    name = re.compile(rf"{re.escape(str(lost.get('as')))}(?![\w])")
    touched = any(name.search(str(value)) for event in before if event is not lost for value in event.values())
    return "" if touched else "placeholder"


def wrong_stream(events: Sequence[Event]) -> bool:
    """Whether the last event that failed did so as its stream belongs to another device than the current one.

    Others may come after it: a launch tells nobody, and its error is asked for later.
    """
    reasons = [str(event["why"]) for event in events if event.get("why")]
    return bool(reasons) and "a stream of device" in reasons[-1]


def _tensors(call: Call) -> list[TensorInput]:
    found: list[TensorInput] = []
    for value in call.args:
        if isinstance(value, TensorInput):
            found.append(value)
        elif isinstance(value, tuple):
            found += [t for t in value if isinstance(t, TensorInput)]
    return found


def _kernel_gets_host_memory(call: Call, record: Record, names: Sequence[str]) -> bool:
    on_host = {n for n, v in zip(names, call.args, strict=True) if isinstance(v, TensorInput) and v.device < 0}
    for event in record.events:
        args = event.get("args")
        for argument in args if isinstance(args, list) else []:
            for value in argument[1:]:
                place = str(value).partition(":")[2].lstrip("&").partition("+")[0]
                if place in on_host:
                    return True
    return False
