"""The launch trace of a unit: both sides built, called with the same inputs, compared.

Proven by a pass: for the inputs that were compared, the launcher puts the same kernels with the same grids, blocks,
shared memory, arguments, streams and devices on the fake runtime as before, makes the same copies, fills and
allocations, gives back the same, and refuses the same inputs with the same words. Not proven: anything about other
inputs, about what kernels compute, or about entry points that are said to be not run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from torchless.facts.includes import IncludeGraph
from torchless.facts.model import TuSpec
from torchless.verify.trace import toolchain
from torchless.verify.trace.build import Program, build
from torchless.verify.trace.compare import comparable, compare, launches
from torchless.verify.trace.explore import explore, outcome_of
from torchless.verify.trace.findings import alike, grouped
from torchless.verify.trace.hints import Hints, read_hints
from torchless.verify.trace.model import (
    Call,
    Difference,
    EntryPoint,
    EntryResult,
    Finding,
    Record,
    Side,
    Signature,
    TraceError,
    TraceOptions,
    TraceResult,
    TreeText,
)
from torchless.verify.trace.normal import message_of
from torchless.verify.trace.run import describe, run_calls
from torchless.verify.trace.shrink import reproducer, shrink
from torchless.verify.trace.signatures import paired, signatures
from torchless.verify.trace.units import mentioned
from torchless.verify.trace.unmask import unmask

MAX_FINDINGS = 6  # of one entry point that are shrunk and shown
EXAMPLES = 4  # calls of one entry point that are made from Python as well


@dataclass(frozen=True, slots=True)
class Pair:
    """An entry point that both sides have: its signature on each."""

    before: Signature
    after: Signature


@dataclass(frozen=True, slots=True)
class Compared:
    """A call on both sides."""

    call: Call
    before: Record
    after: Record
    differences: tuple[Difference, ...]


def trace_unit(
    before: TreeText,
    after: TreeText,
    specs: Sequence[TuSpec],
    entries: Sequence[EntryPoint],
    options: TraceOptions = TraceOptions(),  # noqa: B008 - frozen
    built: Callable[[], object] = lambda: None,
) -> TraceResult:
    """Trace ``entries`` of the units ``specs`` (host pass) in both states of a checkout.

    ``built`` is called when all is compiled, before the first call is made.
    Never raises for what is wrong with the code: entry points that cannot be traced are "not run", with the reason.
    """
    started = time.monotonic()
    points = tuple(sorted(set(entries), key=lambda e: (e.source, e.name)))
    trees = (("before", before), ("after", after))
    sides = [Side(name, tree, tuple(specs), mentioned(tree, points)) for name, tree in trees]
    try:
        with ThreadPoolExecutor(max_workers=2) as pool:
            programs = list(pool.map(lambda side: build(side, options), sides))
        built()
        described = [signatures(describe(p), p.names) for p in programs]
        runner = Runner(programs[0], programs[1], before.root, options)
        pairs, not_run = _pairs(points, described, programs)
        results = {e: EntryResult(e, "not run", why) for e, why in not_run.items()}
        alone = _alone(not_run, *described)
        hints = _hints(sides[0], described[0], {*pairs, *alone})
        results |= _traced(runner, pairs, hints, options)
        results |= _shown_before(runner, alone, hints, not_run, options)
    except TraceError as error:
        results = {e.name: EntryResult(e.name, "not run", str(error)) for e in points}
        return TraceResult(tuple(results[e.name] for e in points), seconds=time.monotonic() - started)
    notes = [why for p in programs for why in p.failures.values()]
    return TraceResult(
        tuple(results[e.name] for e in points),
        torch=_torch_words(programs[0]),
        notes=tuple(dict.fromkeys(notes)),
        seconds=time.monotonic() - started,
    )


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs calls on both programs."""

    before: Program
    after: Program
    root: str
    options: TraceOptions

    def one(
        self, program: Program, calls: Sequence[Call], by: Mapping[str, Signature], alone: set[int]
    ) -> list[Record]:
        """The records of ``calls`` on one side."""
        environment = {"AITER_ASM_DIR": f"{self.root}/hsa"}
        return run_calls(program, calls, by.values(), self.options.arch, isolated=alone, environment=environment)

    def both(self, calls: Sequence[Call], pairs: Mapping[str, Pair], *, alone: bool) -> list[Compared]:
        """Both records of every call. ``alone``: each is made in a process of its own.

        Else those that go through share one, which keeps what launchers keep from call to call, and those that end it
        on one side are made alone on both: so both have kept the same.
        """
        old = {name: pair.before for name, pair in pairs.items()}
        new = {name: pair.after for name, pair in pairs.items()}
        apart = set(range(len(calls))) if alone else set()
        with ThreadPoolExecutor(max_workers=2) as pool:
            for _ in range(2):
                first = pool.submit(self.one, self.before, calls, old, apart)
                after = self.one(self.after, calls, new, apart)
                before = first.result()
                died = {i for i in range(len(calls)) if "died" in (before[i].outcome, after[i].outcome)}
                if died <= apart:
                    break
                apart = died
        out = []
        for call, a, b in zip(calls, before, after, strict=True):
            names = [p.name for p in old[call.entry].params]
            out.append(Compared(call, a, b, tuple(compare(call, a, b, names))))
        return out


def _pairs(
    points: Sequence[EntryPoint], described: Sequence[Mapping[str, Signature]], programs: Sequence[Program]
) -> tuple[dict[str, Pair], dict[str, str]]:
    """The entry points that can be called on both sides, and why the others cannot."""
    pairs: dict[str, Pair] = {}
    not_run: dict[str, str] = {}
    for point in points:
        name = point.name
        failures = [p.failures[point.source] for p in programs if point.source in p.failures]
        if failures or name not in described[0]:
            not_run[name] = failures[0] if failures else "it is new: there is nothing to compare it with"
            continue
        found = paired(described[0][name], described[1][name])
        if isinstance(found, str):
            not_run[name] = found
        else:
            pairs[name] = Pair(*found)
    return pairs, not_run


def _alone(
    not_run: Mapping[str, str], before: Mapping[str, Signature], after: Mapping[str, Signature]
) -> dict[str, Signature]:
    """Entry points that can be called as they were before, and that have other parameters now."""
    found = {name: before[name] for name in not_run if name in before and name in after}
    return {n: s for n, s in found.items() if not any(p.kind.startswith("unsupported ") for p in s.params)}


def _shown_before(
    runner: Runner,
    alone: Mapping[str, Signature],
    hints: Mapping[str, Hints],
    not_run: Mapping[str, str],
    options: TraceOptions,
) -> dict[str, EntryResult]:
    """What those entry points did before: examples for callers, who may see no difference."""

    def run(calls: Sequence[Call]) -> list[Record]:
        return runner.one(runner.before, calls, alone, set())

    chosen = _explored({name: explore(s, hints[name], options) for name, s in alone.items()}, run) if alone else {}
    calls = [call for name in alone for call in chosen[name]]
    seen = [Compared(call, record, record, ()) for call, record in zip(calls, run(calls), strict=True)]
    return {
        name: EntryResult(
            name,
            "not run",
            not_run[name],
            examples=_examples([c for c in seen if c.call.entry == name and comparable(c.before)]),
            signature=signature,
        )
        for name, signature in alone.items()
    }


def _traced(
    runner: Runner, pairs: Mapping[str, Pair], hints: Mapping[str, Hints], options: TraceOptions
) -> dict[str, EntryResult]:
    if not pairs:
        return {}
    by = {name: pair.before for name, pair in pairs.items()}
    explorers = {name: explore(by[name], hints[name], options) for name in pairs}
    chosen = _explored(explorers, lambda calls: runner.one(runner.before, calls, by, set()))
    calls = [call for name in pairs for call in chosen[name]]
    compared: dict[str, list[Compared]] = {name: [] for name in pairs}
    for item in runner.both(calls, pairs, alone=False):
        compared[item.call.entry].append(item)
    return {name: _entry_result(runner, pairs[name], compared[name], hints[name]) for name in pairs}


def _explored(
    explorers: Mapping[str, Generator[list[Call], list[Record], list[Call]]], run: object
) -> dict[str, list[Call]]:
    """What each explorer returns. Their questions are asked together: a run costs more than a call."""
    assert callable(run)
    chosen: dict[str, list[Call]] = {}
    asking = {name: next(explorer) for name, explorer in explorers.items()}
    while asking:
        records: list[Record] = run([call for calls in asking.values() for call in calls])
        position = 0
        following: dict[str, list[Call]] = {}
        for name, calls in asking.items():
            mine = records[position : position + len(calls)]
            position += len(calls)
            try:
                following[name] = explorers[name].send(mine)
            except StopIteration as done:
                chosen[name] = done.value
        asking = following
    return chosen


def _entry_result(runner: Runner, pair: Pair, compared: Sequence[Compared], hints: Hints) -> EntryResult:
    name = pair.before.name
    usable = [c for c in compared if comparable(c.before) and comparable(c.after)]
    through = [c for c in usable if c.before.accepted and c.after.accepted]
    launched = [c for c in through if any(e["event"] != "call" for e in c.before.events) or c.before.result]
    allowed: dict[str, int] = {}
    for item in usable:
        for word in sorted({d.accepted for d in item.differences if d.accepted}):
            allowed[word] = allowed.get(word, 0) + 1
    wrong = list(_wrong(usable))
    result = EntryResult(
        name,
        "pass",
        calls=len(usable),
        launched=len(launched),
        rejected=sum(not c.before.accepted and not c.after.accepted for c in usable),
        kernels=tuple(sorted({k for c in through for k in launches(c.before)})),
        allowed=tuple(sorted(allowed.items())),
        examples=_examples(usable),
        signature=pair.before,
    )
    if wrong:
        wrong += _wrong(_unmasked(runner, pair, wrong, hints))
        shown = grouped(wrong)[:MAX_FINDINGS]
        return replace(result, status="fail", findings=tuple(_finding(runner, pair, seen) for seen in shown))
    if not launched:
        return replace(result, status="not run", why=_why_nothing(compared))
    return result


def _examples(usable: Sequence[Compared]) -> tuple[Call, ...]:
    """Calls that show most of what the entry point does: one for each list of kernels, and two that are refused."""
    through: dict[tuple[str, ...], Call] = {}
    refused: dict[object, Call] = {}
    for item in usable:
        if item.before.accepted and item.after.accepted and not item.call.capture:
            through.setdefault(launches(item.before), item.call)
        elif not item.before.accepted and not item.after.accepted:
            refused.setdefault(outcome_of(item.before), item.call)
    return (*list(through.values())[:EXAMPLES], *list(refused.values())[:2])


def _wrong(compared: Sequence[Compared]) -> Iterator[tuple[Compared, Difference]]:
    """The differences that no convention accepts; of one call one of each kind."""
    for item in compared:
        for difference in {alike(d): d for d in reversed(item.differences) if not d.accepted}.values():
            yield item, difference


def _unmasked(runner: Runner, pair: Pair, wrong: Sequence[tuple[Compared, Difference]], hints: Hints) -> list[Compared]:
    """Calls that only the old version refuses, one for each of its refusals that became another one."""
    pairs = {pair.before.name: pair}

    def see(calls: Sequence[Call]) -> list[tuple[Record, Record]]:
        return [(c.before, c.after) for c in runner.both(calls, pairs, alone=False)]

    found: dict[Call, None] = {}
    starts = {outcome_of(item.before): item for item, difference in reversed(wrong) if difference.kind == "message"}
    for item in list(starts.values())[:MAX_FINDINGS]:
        call = unmask(item.call, item.before, item.after, pair.before, hints, runner.options, see)
        if call is not None:
            found[call] = None
    return runner.both(list(found), pairs, alone=True)


def _finding(runner: Runner, pair: Pair, seen: Sequence[tuple[Compared, Difference]]) -> Finding:
    """The first of some differences of one kind, shrunk where it shows in a call on its own."""

    def observe(calls: Sequence[Call]) -> list[tuple[list[Difference], Record, Record]]:
        compared = runner.both(calls, {pair.before.name: pair}, alone=True)
        return [([d for d in c.differences if alike(d) == alike(wanted)], c.before, c.after) for c in compared]

    item, wanted = seen[0]
    call, difference, before, after = shrink(item.call, pair.before, wanted, observe)
    names = [p.name for p in pair.before.params]
    if not any(alike(d) == alike(wanted) for d in compare(call, before, after, names)):
        # it shows only behind other calls: nothing to shrink
        call, difference, before, after = item.call, wanted, item.before, item.after
    return Finding(difference, call, reproducer(call, pair.before, before, after), len(seen))


def _why_nothing(compared: Sequence[Compared]) -> str:
    missing = [r.message for c in compared for r in (c.before, c.after) if r.outcome == "missing"]
    if missing:
        return f"it calls {missing[0]}, which no stand-in provides"
    refusals: dict[str, int] = {}
    for item in compared:
        words = message_of(item.before) or "a check without a message"
        refusals[words] = refusals.get(words, 0) + 1
    if not refusals:
        return "no input was tried"
    words, _ = max(refusals.items(), key=lambda kv: kv[1])
    return f"none of the generated inputs was taken; most often: {words}"


def _hints(side: Side, described: Mapping[str, Signature], wanted: Set[str]) -> dict[str, Hints]:
    graph = IncludeGraph(
        Path(side.tree.root), {s.source: [s.include_dirs] for s in side.specs}, overlay=dict(side.tree.texts)
    )
    out = {}
    for point in side.entries:
        if point.name not in wanted:
            continue
        files = [point.source, *sorted(f for f in graph.closure_of(point.source) if graph.is_file(f))]
        texts = []
        for path in dict.fromkeys(files):
            data = side.tree.texts.get(path)
            texts.append((Path(side.tree.root) / path).read_bytes() if data is None else data)
        out[point.name] = read_hints(point.name, [p.name for p in described[point.name].params], texts)
    return out


def _torch_words(program: Program) -> str:
    """What "before" ran on, in words."""
    torch = toolchain.find_torch()
    if program.flavour == "real" and torch is not None:
        return f"torch {torch.version}"
    return "our stand-in for torch" if program.flavour == "stand-in" else "no torch"
