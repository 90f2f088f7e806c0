"""Finds inputs that an entry point takes, by asking the program, and picks those that are worth comparing.

An explorer is a generator: it yields calls, is sent their records, and returns the calls to compare. Several of them
can so share a run of the program.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Iterable, Sequence
from itertools import islice

from torchless.verify.trace.compare import launches
from torchless.verify.trace.hints import Hints
from torchless.verify.trace.inputs import Labelled, guess, rng_for, tensors_of, variations
from torchless.verify.trace.model import Call, Record, Signature, TraceOptions
from torchless.verify.trace.mutate import mutate
from torchless.verify.trace.normal import message_of, place_of, without_details

Explorer = Generator[list[Call], list[Record], list[Call]]

ROUNDS = 6
BASES = 6  # accepted calls around which everything is tried
VARIED = 3000  # changes to them that are tried, all together
_ENOUGH = 10  # different things that accepted calls do: no need to look for more
_LARGEST = 1 << 43  # bytes that one tensor may span

_LARGE = re.compile(r"-?\d\d+|(?<=size )\d|(?<=was )\d")  # numbers that do not make a refusal another one

Outcome = tuple[object, ...]


def explore(signature: Signature, hints: Hints, options: TraceOptions) -> Explorer:
    """Explore one entry point; see the module."""
    rng = rng_for(options.seed, signature.name, "explore")
    each = max(options.explored // ROUNDS, 10)
    known: dict[Outcome, dict[str, list[Call]]] = {}  # outcome -> words in full -> calls
    asked: set[Call] = set()
    batch = _fresh((guess(signature, hints, rng) for _ in range(4 * each)), asked, each)
    for number in range(ROUNDS):
        records = yield batch
        for call, record in zip(batch, records, strict=True):
            known.setdefault(outcome_of(record), {}).setdefault(message_of(record), []).append(call)
        if not signature.params or (number and sum(_launched(o) for o in known) >= _ENOUGH):
            break
        parents = [o for o, calls in known.items() for _ in range(_weight(o, sum(map(len, calls.values()))))]
        drawn = (
            guess(signature, hints, rng)
            if rng.random() < 0.15
            else _child(known[rng.choice(parents)], signature, hints, rng)
            for _ in range(6 * each)
        )
        batch = _fresh(drawn, asked, each)
    found = {outcome: [c for calls in by.values() for c in calls] for outcome, by in known.items()}
    bases = _bases(found)
    tried: dict[Call, Labelled] = {}
    for base in bases:
        for labelled in islice(variations(base, signature, hints), max(VARIED // len(bases), 40)):
            if fits(labelled.call):
                tried.setdefault(labelled.call, labelled)
    refused = [calls[0] for outcome, calls in found.items() if outcome[0] != "accepted"]
    for call in refused[: options.calls // 6]:
        tried.setdefault(call, Labelled(call, "refused while looking"))
    records = yield list(tried)
    return select(list(tried.values()), records, options.calls)


def _child(parents: dict[str, list[Call]], signature: Signature, hints: Hints, rng: random.Random) -> Call:
    said = rng.choice(list(parents))
    return mutate(rng.choice(parents[said]), signature, hints, rng, said)


def outcome_of(record: Record) -> Outcome:
    """What a record is an example of: the kernels of an accepted call, the words of a refusal without its numbers."""
    if record.accepted:
        return ("accepted", launches(record))
    return (record.outcome, place_of(record), without_details(message_of(record)))


def select(tried: Sequence[Labelled], records: Sequence[Record], limit: int) -> list[Call]:
    """At most ``limit`` of the calls, in their order, so that every kind of outcome and of change is there.

    One call of each outcome is taken before a second one of any, and of an outcome one for each kind of change; each
    size that goes through is a kind of its own. A third is for what is refused.
    """
    kinds: dict[Outcome, dict[str, list[int]]] = {}
    for i, (labelled, record) in enumerate(zip(tried, records, strict=True)):
        label = labelled.label.partition(" for ")[0] if record.accepted else _LARGE.sub("N", labelled.label)
        kinds.setdefault(outcome_of(record), {}).setdefault(label, []).append(i)
    through = _in_turn([_in_turn(list(k.values())) for o, k in kinds.items() if o[0] == "accepted"])
    refused = _in_turn([_in_turn(list(k.values())) for o, k in kinds.items() if o[0] != "accepted"])
    share = max(limit * 2 // 3, limit - len(refused))
    chosen = through[:share]
    chosen += refused[: limit - len(chosen)]
    return [tried[i].call for i in sorted(chosen)]


def _in_turn(groups: Sequence[Sequence[int]]) -> list[int]:
    """The first of each group, then the second of each, and so on."""
    deepest = max(map(len, groups), default=0)
    return [members[depth] for depth in range(deepest) for members in groups if depth < len(members)]


def fits(call: Call) -> bool:
    """Whether the tensors of a call can be reserved."""
    for _, t in tensors_of(call):
        last = t.offset + sum(max(s - 1, 0) * step for s, step in zip(t.sizes, t.strides, strict=True))
        count = 1
        for size in t.sizes:
            count *= size
        if last * 8 > _LARGEST or count >= 1 << 62:
            return False
    return True


def _fresh(drawn: Iterable[Call], asked: set[Call], limit: int) -> list[Call]:
    out: list[Call] = []
    for call in drawn:
        if len(out) == limit:
            break
        if call not in asked and fits(call):
            asked.add(call)
            out.append(call)
    return out


def _launched(outcome: Outcome) -> bool:
    return outcome[0] == "accepted" and bool(outcome[1])


def _weight(outcome: Outcome, seen: int) -> int:
    """How often an example is taken as a parent: what launches most, then what is rare."""
    if _launched(outcome):
        return 8
    return 6 if seen < 4 else 4 if seen < 20 else 2


def _bases(known: dict[Outcome, list[Call]]) -> list[Call]:
    """The calls to vary: examples of what launches, each list of kernels once before any twice."""
    launched = [(o, calls) for o, calls in known.items() if _launched(o)] or [
        (o, calls) for o, calls in known.items() if o[0] == "accepted"
    ]
    seen: dict[object, int] = {}
    ranked: list[tuple[int, int, Call]] = []
    for position, (outcome, calls) in enumerate(launched):
        rank = seen[outcome[1]] = seen.get(outcome[1], -1) + 1
        ranked.append((rank, position, max(calls, key=lambda c: sum(a is not None for a in c.args))))
    return [call for _, _, call in sorted(ranked, key=lambda r: r[:2])[:BASES]]
