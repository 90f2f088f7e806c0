"""Which seeded faults the ladder finds: every operator on every entry point, kernel and binding row.

    python benchmarks/mutations.py [--seed 1] [--each 1] [--only TARGETS] [--limit N] [--results FILE]

The subjects are the bundled example as a migration leaves it, and the histogram of tests/fixtures/trace. A mutant
climbs types, device and trace until a rung fails; one in a binding row is put before types and the whole rung trace,
which calls from Python too, and where both pass before `torchless check`, in a copy. Printed are all mutants, a count
for each operator, and those that survive. With --results, what was found is kept in FILE and a run that was stopped
goes on.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.verify.mutants import BINDING, KERNEL, LAUNCHER, Mutant, functions, mutants, rows  # noqa: E402
from torchless.api import MigrateOptions, migrate  # noqa: E402
from torchless.check import check  # noqa: E402
from torchless.facts.model import TuSpec  # noqa: E402
from torchless.options import CheckOptions  # noqa: E402
from torchless.project.discover import load  # noqa: E402
from torchless.verification import VerifyOptions, compare  # noqa: E402
from torchless.verify import ladder  # noqa: E402
from torchless.verify.answer import Answer, Verdict  # noqa: E402
from torchless.verify.compilers import find_compiler  # noqa: E402
from torchless.verify.launches import judge  # noqa: E402
from torchless.verify.trace import EntryPoint, TraceOptions, TreeText, trace_unit, unit  # noqa: E402
from torchless.verify.tree import Tree  # noqa: E402

unit.MAX_FINDINGS = 1  # one difference is enough, and shrinking takes most of the time
EXAMPLE = ROOT / "examples/mini-aiter"
FIXTURES = ROOT / "tests/fixtures/trace"
SCALE, BINDINGS, PYBIND = "csrc/kernels/scale_kernels.cu", "csrc/include/rocm_ops.hpp", "csrc/pybind/scale_pybind.cu"
HISTOGRAM = "csrc/histogram.cu"


@dataclass(frozen=True)
class Subject:
    """Two versions of a source that are alike, and what is called in it. ``path`` is the file that mutants change."""

    root: Path
    path: str
    source: str
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    entries: tuple[EntryPoint, ...]
    include_dirs: tuple[str, ...]
    faults: tuple[Mutant, ...] = field(default=(), repr=False)

    def specs(self) -> tuple[TuSpec, ...]:
        return tuple(TuSpec(self.source, include_dirs=self.include_dirs, device=device) for device in (False, True))

    def with_text(self, text: bytes) -> Mapping[str, bytes]:
        return {**self.after, self.path: text}


def subjects(seed: int, each: int) -> list[Subject]:
    """What is mutated, with the mutants."""
    migrated = migrate(MigrateOptions(paths=("csrc",)), EXAMPLE, lambda *_: None)
    after = {path: change.new for path, change in migrated.changes.items()}
    scale = after[SCALE]
    launchers = functions(scale, ["scale_rows", "clamp_rows"], LAUNCHER)
    kernels = functions(scale, ["scale_rows_kernel", "clamp_rows_kernel"], KERNEL)
    entries = tuple(EntryPoint(f"aiter::{name}", SCALE) for name in ("scale_rows", "clamp_rows"))
    bindings = after.get(BINDINGS) or (EXAMPLE / BINDINGS).read_bytes()
    old, new = ((FIXTURES / f"csrc/histogram_{which}.cu").read_bytes() for which in ("before", "after"))
    include = ("csrc/include",)
    return [
        Subject(
            EXAMPLE, SCALE, SCALE, {}, after, entries, include,
            tuple(mutants(scale, [*launchers, *kernels], seed, each)),
        ),
        Subject(
            FIXTURES, HISTOGRAM, HISTOGRAM, {HISTOGRAM: old}, {HISTOGRAM: new},
            (EntryPoint("counting::histogram", HISTOGRAM),), (str(EXAMPLE / "csrc/include"),),
            tuple(mutants(new, functions(new, ["histogram", "count"], LAUNCHER), seed, each)),
        ),
        Subject(
            EXAMPLE, BINDINGS, PYBIND, {}, after, (), include,
            tuple(mutants(bindings, rows(bindings, "SCALE_PYBIND"), seed, each)),
        ),
    ]  # fmt: skip


def climb(subject: Subject, mutant: Mutant, jobs: int) -> tuple[str, str]:
    """(the rung that fails with ``mutant``, what it says); ("", why nothing does) for a survivor."""
    texts = subject.with_text(mutant.text)
    versions = ladder.Versions(Tree(subject.root, subject.before), Tree(subject.root, texts), subject.specs())
    said = []
    for rung in ("types", "device", "trace"):
        if mutant.kind == BINDING and rung == "device":
            continue
        is_whole = mutant.kind == BINDING and rung == "trace"
        answer = _whole_trace(texts, jobs) if is_whole else _ask(rung, subject, versions, jobs)
        if answer.verdict is Verdict.FAIL:
            return rung, answer.evidence[0] if answer.evidence else answer.detail
        said.append(f"{rung}: {answer.verdict.value}, {answer.detail}")
    if mutant.kind == BINDING:
        found = _checked(subject, texts)
        if found:
            return "check", found
    return "", "; ".join(said)


def _ask(rung: str, subject: Subject, versions: ladder.Versions, jobs: int) -> Answer:
    if rung == "types":
        return ladder.types(versions, "stubs", jobs)
    if rung == "device":
        return ladder.device(versions, find_compiler(), "stubs", jobs)
    before, after = (TreeText(str(tree.root), dict(tree.overlay)) for tree in (versions.before, versions.after))
    return judge(trace_unit(before, after, subject.specs()[:1], subject.entries, TraceOptions(jobs=jobs)))


def _whole_trace(texts: Mapping[str, bytes], jobs: int) -> Answer:
    """What the trace of the example's module says with ``texts``, its ops called from Python included."""
    options = VerifyOptions(rungs=("trace",), jobs=jobs, cache=False)
    trees = Tree(EXAMPLE), Tree(EXAMPLE, texts)
    found = compare(load(EXAMPLE), *trees, "", frozenset({"module_scale"}), options, lambda *_: None)
    return found.modules[0].answers[0]


def _checked(subject: Subject, texts: Mapping[str, bytes]) -> str:
    """The first finding that `torchless check` has with ``texts`` and not without the mutant."""
    told = []
    for version in (subject.after, texts):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(shutil.copytree(subject.root, Path(folder, "checkout")))
            for path, data in version.items():
                (root / path).write_bytes(data)
            options = CheckOptions((".",), select=("TL7",), cache=False)
            told.append(Counter(f"{f.code} {f.message}" for f in check(options, root, lambda *_: None).findings))
    new = told[1] - told[0]
    return next(iter(sorted(new)), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=1, help="places for each operator and target")
    parser.add_argument("--only", default="", help="only these functions, or kinds of target, separated by commas")
    parser.add_argument("--limit", type=int, default=0, help="only so many mutants, drawn with the seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    every = [(s, m) for s in subjects(options.seed, options.each) for m in s.faults]
    if options.only:
        only = options.only.split(",")
        every = [(s, m) for s, m in every if m.target in only or m.kind in only]
    if options.limit:
        every = random.Random(options.seed).sample(every, min(options.limit, len(every)))
    known: dict[str, list[str]] = {}
    if options.results and options.results.is_file():
        known = json.loads(options.results.read_text())
    began = time.monotonic()
    for number, (subject, mutant) in enumerate(every):
        key = f"{options.seed} {mutant.target} {mutant.operator} {mutant.line} {mutant.old} -> {mutant.new}"
        if key not in known:
            known[key] = list(climb(subject, mutant, options.jobs))
            if options.results:
                options.results.write_text(json.dumps(known, indent=1))
        rung, said = known[key]
        print(f"{number + 1:3} {rung or 'SURVIVES':8} {mutant.target}:{mutant.line} {mutant.operator}: "
              f"{mutant.old[:50]} -> {mutant.new[:50]} | {said[:150]}", flush=True)  # fmt: skip
    _table([(m, known_of(known, options.seed, m)) for _, m in every])
    print(f"{time.monotonic() - began:.0f} s")


def known_of(known: Mapping[str, Sequence[str]], seed: int, mutant: Mutant) -> str:
    """The rung that found ``mutant``, "" for none."""
    return known[f"{seed} {mutant.target} {mutant.operator} {mutant.line} {mutant.old} -> {mutant.new}"][0]


def _table(found: Sequence[tuple[Mutant, str]]) -> None:
    """Markdown: a row for each kind of target and operator, how many mutants which rung found."""
    names = ("types", "device", "trace", "check", "")
    print(f"\n| in | operator | mutants | {' | '.join(n or 'survive' for n in names)} |\n|---|---|{'---|' * 6}")
    for kind, operator in dict.fromkeys((m.kind, m.operator) for m, _ in found):
        rungs = Counter(rung for m, rung in found if (m.kind, m.operator) == (kind, operator))
        cells = " | ".join(str(rungs[n] or "") for n in names)
        print(f"| {kind} | {operator} | {rungs.total()} | {cells} |")
    rungs = Counter(rung for _, rung in found)
    print(f"| all | | {len(found)} | {' | '.join(str(rungs[n] or '') for n in names)} |\n")


if __name__ == "__main__":
    main()
