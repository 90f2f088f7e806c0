"""Compares what a call did before with what it does after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from torchless.verify.trace import conventions
from torchless.verify.trace.model import Call, Difference, Event, Record
from torchless.verify.trace.normal import authored, kernel_name, leaf, message_of, place_of, short_kernel

# Events that do something; questions to the runtime and guards are seen by what follows from them.
_DOING = ("launch", "alloc", "free", "memcpy", "memset", "sync", "torch", "attribute", "record_event", "wait_event")
_WORDS = {
    "alloc": "an allocation",
    "free": "a release",
    "memcpy": "a copy",
    "memset": "a fill",
    "sync": "a wait",
    "record_event": "the recording of an event",
    "wait_event": "a wait for an event",
}
_ABORT = 6
_PADDING = "-86"  # bytes that nobody wrote, see -ftrivial-auto-var-init
_ANY = 4  # hipMemcpyDefault: the runtime finds out what kind of copy it is


def compare(call: Call, before: Record, after: Record, names: Sequence[str]) -> list[Difference]:
    """The differences between two records of one call; ``names`` are those of its arguments.

    Records of calls that reached something that no stand-in provides cannot be compared: nothing is said of them.
    """
    if "missing" in (before.outcome, after.outcome):
        return []
    if before.accepted != after.accepted:
        return _verdicts(call, before, after, names)
    if not before.accepted:
        return _refusals(call, before, after)
    found = _events(call, _used(before), _used(after))
    gives = [[_rename(word, _renamed(_used(record))) for word in record.result] for record in (before, after)]
    if gives[0] != gives[1]:
        found.append(Difference("result", f"gives back {_listed(before.result)} before, {_listed(after.result)} after"))
    if before.device != after.device:
        found.append(Difference("device", f"leaves device {before.device} current before, {after.device} after"))
    if before.pending != after.pending and not any(d.kind == "launch" for d in found):
        found.append(Difference("launch", f"leaves {before.pending} pending before, {after.pending} after"))
    return found


def comparable(record: Record) -> bool:
    """Whether a record can be compared at all."""
    return record.outcome != "missing"


def launches(record: Record) -> tuple[str, ...]:
    """The kernels of a record, by their short names, in order."""
    return tuple(short_kernel(str(e.get("kernel", "?"))) for e in record.events if e["event"] == "launch")


def told(record: Record) -> str:
    """The record in one line for people."""
    if record.accepted:
        kernels = launches(record)
        return "launches " + ", ".join(kernels) if kernels else "goes through, launches nothing"
    words = {"refused": "is refused", "threw": "raises", "died": "ends the process", "missing": "cannot be followed"}
    place = place_of(record)
    text = message_of(record) or "(a check without a message)"
    return f"{words[record.outcome]}: {text}" + (f" [{place}]" if place else "")


def _verdicts(call: Call, before: Record, after: Record, names: Sequence[str]) -> list[Difference]:
    accepted = conventions.accepted_verdict(call, before, after, names)
    return [Difference("verdict", f"before: {told(before)}; after: {told(after)}", accepted)]


def _refusals(call: Call, before: Record, after: Record) -> list[Difference]:
    found: list[Difference] = []
    crashed = [r.outcome == "died" and r.signal != _ABORT for r in (before, after)]
    if crashed[0] != crashed[1]:
        accepted = conventions.accepted_verdict(call, before, after, ())
        return [Difference("verdict", f"before: {told(before)}; after: {told(after)}", accepted)]
    if authored(before) and after.outcome != "refused" and message_of(before) != message_of(after):
        words = f"before: {told(before)}; after: {told(after)}"
        found.append(Difference("message", words, conventions.accepted_words(after)))
    done = [[e for e in r.events if e["event"] in _DOING and not _made_for_the_result(e)] for r in (before, after)]
    if done[0] and not done[1] and after.outcome == "refused":
        found.append(Difference("launch", "is refused before the call, not after something was launched", "dtype"))
    elif done[0] and not done[1] and not authored(before):
        found.append(Difference("launch", "is refused before anything is launched, not after", "earlier"))
    else:
        found += _events(call, done[0], done[1])
    return found


def _made_for_the_result(event: Event) -> bool:
    """Memory that torch allocates, and its fill: where a call is refused it is given back, and nobody has seen it.

    A wrapper makes the result before the call, which used to make it after its checks.
    """
    if event["event"] == "alloc":
        return event.get("name") == "torch"
    return event["event"] == "memset" and str(event.get("to", "")).startswith("@torch")


def _events(call: Call, before: Sequence[Event], after: Sequence[Event]) -> list[Difference]:
    old, new = _doing(before), _doing(after)
    old_keys, new_keys = [_key(e) for e in old], [_key(e) for e in new]
    found: list[Difference] = []
    for tag, a, b, c, d in SequenceMatcher(None, old_keys, new_keys, autojunk=False).get_opcodes():
        if tag == "equal":
            for i in range(b - a):
                found += _fields(call, old[a + i], new[c + i])
        elif tag == "replace" and [e["event"] for e in old[a:b]] == [e["event"] for e in new[c:d]]:
            for i in range(b - a):
                kind = "kernel" if old[a + i]["event"] == "launch" else "memory"
                found.append(Difference(kind, f"{_name(old[a + i])} before, {_name(new[c + i])} after"))
                found += _fields(call, old[a + i], new[c + i])
        else:
            found += [Difference(_kind(e), f"{_name(e)} is gone", conventions.accepted_loss(e, old)) for e in old[a:b]]
            found += [Difference(_kind(e), f"{_name(e)} is new") for e in new[c:d]]
    return found


def _used(record: Record) -> list[Event]:
    """The events without memory that a call allocates for a kernel and leaves alone, as torch makes the result instead.

    A wrapper makes the result before it is known whether C++ takes the inputs. Where a kernel is launched, nothing that
    is allocated goes without notice.
    """
    events = list(record.events)
    if launches(record) or not any(e["event"] == "torch" for e in events):
        return events
    others = [e for e in events if not _made_for_the_result(e)]
    named = {name for text in (repr(others), *record.result) for name in re.findall(r"@torch\d+", text)}
    return [e for e in events if not _made_for_the_result(e) or named.intersection(_torch_names(e))]


def _torch_names(event: Event) -> list[str]:
    return re.findall(r"@torch\d+", f"{event.get('as')} {event.get('to')}")


def _renamed(events: Sequence[Event]) -> dict[str, str]:
    """What is allocated within a call, under a name of its own: ``@torch3`` is the first allocation, or the second."""
    names: dict[str, str] = {}
    for event in events:
        if event["event"] == "alloc" and "as" in event:
            names[str(event["as"])] = f"allocation {len(names) + 1}"
    return names


def _doing(events: Sequence[Event]) -> list[Event]:
    """The events to compare: what is allocated and released within the call counts once, under a name of its own."""
    renamed = _renamed(events)
    out: list[Event] = []
    for event in events:
        if event["event"] not in _DOING:
            continue
        if event["event"] == "free" and event.get("pointer") in renamed:
            continue
        out.append({k: _rename(v, renamed) for k, v in event.items()})
    return out


def _rename(value: object, renamed: dict[str, str]) -> object:
    if isinstance(value, list):
        return [_rename(v, renamed) for v in value]
    if not isinstance(value, str) or "@" not in value:
        return value
    head, mark, tail = value.partition("@")
    name, plus, offset = tail.partition("+")
    known = renamed.get("@" + name)
    # what an earlier call left behind has no name of its own in this one
    return head + (known or "memory kept from an earlier call") + plus + offset if mark else value


def _key(event: Event) -> tuple[object, ...]:
    kind = event["event"]
    if kind in ("launch", "attribute"):
        return kind, kernel_name(str(event.get("kernel", "")))
    if kind == "sync":
        return kind, event.get("name")
    if kind == "torch":
        return kind, event.get("op")
    if kind == "alloc":  # memory of no bytes may go with what it stood for, and is no other one's before
        return kind, event.get("bytes") == 0
    return (kind,)


def _fields(call: Call, before: Event, after: Event) -> list[Difference]:
    found: list[Difference] = []
    what = _name(before)
    if before.get("error") and before.get("error") == after.get("error"):
        return []  # it fails alike: what it would have done is of no account
    for name, kind in _COMPARED.get(str(before["event"]), ()):
        old, new = before.get(name), after.get(name)
        if old == new or (name == "kind" and _ANY in (old, new)):
            continue
        accepted = conventions.accepted_event(call, name, before, after)
        text = f"{_FIELD.get(name, name)} of {what}: {_shown(old)} before, {_shown(new)} after"
        found.append(Difference(kind, text, accepted))
    old_error, new_error = before.get("why"), after.get("why")
    if old_error != new_error:
        accepted = conventions.accepted_event(call, "error", before, after)
        text = f"{what}: {old_error or 'works'} before, {new_error or 'works'} after"
        found.append(Difference("launch" if before["event"] == "launch" else "capture", text, accepted))
    found += _arguments(before, after, what)
    return found


def _arguments(before: Event, after: Event, what: str) -> list[Difference]:
    old, new = before.get("args", before.get("words")), after.get("args", after.get("words"))
    if not isinstance(old, list) or not isinstance(new, list):
        return [] if old == new else [Difference("argument", f"arguments of {what} can be told on one side only")]
    if len(old) < len(new):
        old = _drawn(old, len(new) - len(old))
    if len(old) != len(new):
        return [Difference("argument", f"{what} takes {len(old)} arguments before, {len(new)} after")]
    found = []
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        name, values = (str(a[0]), a[1:]) if isinstance(a, list) else ("", [a])
        others = b[1:] if isinstance(b, list) else [b]
        if [leaf(str(v)) for v in values] == [leaf(str(v)) for v in others]:
            continue
        label = f"argument {i + 1}{f' ({name})' if name else ''} of {what}"
        found.append(Difference("argument", f"{label}: {_values(values)} before, {_values(others)} after"))
    return found


def _drawn(args: Sequence[object], more: int) -> list[object]:
    """Arguments in which torch's states of a generator, at most ``more``, are two each: the seed and the offset.

    Where Python draws them (a convention of the target), the kernel gets just these.
    """
    out: list[object] = []
    for arg in args:
        words = [str(word).partition(":")[2] for word in arg[1:]] if isinstance(arg, list) else []
        # seed, offset, nothing of a graph that is recorded, and what lies behind
        if more and isinstance(arg, list) and words[2:4] == ["0", "0"] and not set(words[4:]) - {_PADDING}:
            out += [[arg[0], arg[1]], [arg[0], arg[2]]]
            more -= 1
        else:
            out.append(arg)
    return out


def _kind(event: Event) -> str:
    return {"launch": "launch", "sync": "sync", "attribute": "launch"}.get(str(event["event"]), "memory")


def _name(event: Event) -> str:
    kind = str(event["event"])
    if kind == "launch":
        return short_kernel(str(event.get("kernel", "an unknown kernel")))
    if kind == "attribute":
        return f"an attribute of {short_kernel(str(event.get('kernel', '?')))}"
    if kind == "torch":
        return f"torch's {str(event.get('op', '?')).removeprefix('aten::')}"
    where = event.get("to") or event.get("as") or event.get("pointer")
    return _WORDS.get(kind, kind) + (f" of {where}" if where else "")


def _values(values: Sequence[object]) -> str:
    shown = [_value(str(v)) for v in values]
    return shown[0] if len(shown) == 1 else "{" + ", ".join(shown) + "}"


def _value(text: str) -> str:
    kind, _, value = text.partition(":")
    if kind in ("float", "double"):
        try:
            return repr(float.fromhex(value))
        except ValueError:
            return value
    return value or kind


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "(" + ", ".join(map(str, value)) + ")"
    return "nothing" if value is None else str(value)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words) or "nothing"


_FIELD = {"shared": "dynamic shared memory", "to": "target", "from": "source"}
_PLACED = (("stream", "stream"), ("device", "device"))
_COMPARED: dict[str, tuple[tuple[str, str], ...]] = {
    "launch": (("grid", "grid"), ("block", "block"), ("shared", "shared"), *_PLACED),
    "attribute": (("attribute", "launch"), ("value", "launch")),
    "alloc": (("bytes", "memory"), ("device", "device")),
    "free": (("pointer", "memory"),),
    "memcpy": (*((name, "memory") for name in ("to", "from", "bytes", "kind", "rows")), *_PLACED),
    "memset": (*((name, "memory") for name in ("to", "value", "width", "bytes")), *_PLACED),
    "sync": _PLACED,
    "torch": (("inputs", "memory"), *_PLACED),
    "record_event": (("stream", "stream"),),
    "wait_event": (("stream", "stream"),),
}
