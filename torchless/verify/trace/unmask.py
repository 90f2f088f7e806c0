"""Looks behind a refusal whose words changed.

Where a check is gone, one further down may refuse the same input with words of its own: the input then shows that
something changed, but not what. An input that the lost check alone refused shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice

from torchless.verify.trace.explore import fits, outcome_of
from torchless.verify.trace.hints import Hints
from torchless.verify.trace.inputs import rng_for, variations
from torchless.verify.trace.model import Call, Record, Signature, TraceOptions
from torchless.verify.trace.mutate import mutate
from torchless.verify.trace.normal import message_of

ROUNDS = 6
BATCH = 200  # calls that are tried in each

Observe = Callable[[Sequence[Call]], Sequence[tuple[Record, Record]]]
"""Makes calls on both sides: the records before and after of each."""


def unmask(
    call: Call,
    refused: Record,
    instead: Record,
    signature: Signature,
    hints: Hints,
    options: TraceOptions,
    see: Observe,
) -> Call | None:
    """A call that is refused as before and now goes through; None where none was found.

    ``call`` is ``refused`` before and refused otherwise now (``instead``). What is tried is led by the words of the
    check that refuses now, as long as the old one still says the same.
    """
    wanted = outcome_of(refused)
    rng = rng_for(options.seed, signature.name, f"unmask {wanted}")
    behind = [(call, message_of(instead))]
    asked = {call}
    for _ in range(ROUNDS):
        around = (labelled.call for labelled in variations(behind[0][0], signature, hints))
        led = (mutate(start, signature, hints, rng, said) for _ in range(BATCH) for start, said in behind)
        batch: list[Call] = []
        for candidate in chain(islice(around, BATCH // 2), led):
            if candidate not in asked and fits(candidate):
                asked.add(candidate)
                batch.append(candidate)
            if len(batch) == BATCH:
                break
        following: dict[object, tuple[Call, str]] = {}
        for candidate, (before, after) in zip(batch, see(batch), strict=True):
            if outcome_of(before) != wanted or outcome_of(after) == wanted:
                continue
            if after.accepted:
                return candidate
            following.setdefault(outcome_of(after), (candidate, message_of(after)))
        behind = [*following.values(), *behind][:8]
    return None
