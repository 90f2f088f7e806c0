"""`torchless migrate --verify`: the units of a migration climb the ladder before anything is shown or written.

The checkout with all changes made, in memory, is compared with the one on disk. Where a module fails a rung, the units
that reach it are tried a half at a time, beside those that passed already; the ones with which it fails are left as
they are, and whatever remains is verified again as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.api import MigrateResult, migrate
from torchless.closure.build import Closures
from torchless.closure.heavy import load_heavy
from torchless.errors import UsageError
from torchless.index import open_index
from torchless.model import Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions, Progress
from torchless.project.discover import load, locate
from torchless.project.model import Project
from torchless.verification import VerifyOptions, compare
from torchless.verify.answer import Answer, Verdict, Verified
from torchless.verify.tree import Tree

COMPARED_WITH = "the checkout as it is"
_SHOWN = 12  # modules that a note names

Failures = tuple[Verified, ...]
"""The modules that failed a rung, with what the rungs said."""
State = tuple[tuple[str, bytes], ...]
"""The new text of every file that changes, by path."""


def migrate_verified(
    options: MigrateOptions,
    rungs: tuple[str, ...],
    start: Path,
    progress: Progress,
    admit: Callable[[MigrateResult], None] = lambda result: None,
) -> MigrateResult:
    """Plan a migration as migrate() does, and leave out the units that fail one of ``rungs``; writes nothing.

    ``admit`` is given the plan before the rungs are asked, and may raise. Units that fail are backed out with a TL901
    that says what differs. The result's ``verified`` holds what the rungs said of what is left. Raises UsageError.
    """
    first = migrate(options, start, progress)
    admit(first)
    if not first.changes:
        return first
    index = open_index(locate(start, options.paths), options.cache)
    project = load(start, options.paths, index)
    closures = Closures(project, index, load_heavy(()), options.arch)
    ladder = _Ladder(options, rungs, start, progress, project, closures, {(): first})
    held: dict[str, Failures] = {}
    while True:
        result = ladder.planned(held)
        stubborn = sorted(unit.name for unit in result.units if unit.edits and unit.name in held)
        if stubborn:
            raise UsageError(f"{', '.join(stubborn)}: fails a rung and cannot be left out alone: --ignore its codes")
        verified = ladder.verified(result)
        failed = tuple(module for module in verified if module.failed)
        if not failed:
            seconds = sum(answer.seconds for module in ladder.asked for answer in module.answers)
            told = replace(result, verified=verified, notes=(*result.notes, *ladder.unasked(result)))
            return _with_reasons(replace(told, seconds=first.seconds + seconds), first, held)
        held.update(_guilty(ladder, result, failed, held))


def _guilty(ladder: _Ladder, result: MigrateResult, failed: Failures, held: Collection[str]) -> dict[str, Failures]:
    """The units because of which modules fail, and how each fails; at least one."""
    names = {module.module for module in failed}
    candidates = ladder.units_behind(result, names)

    def fails(chosen: Sequence[str]) -> Failures:
        without = [name for name in candidates if name not in chosen]
        tried = ladder.planned([*held, *without])
        return tuple(module for module in ladder.verified(tried, names) if module.failed)

    found = bisect(candidates, fails, failed)
    return found or dict.fromkeys(candidates, failed)  # fails together and no longer: no claim for any of them


def bisect(
    candidates: Sequence[str], fails: Callable[[Sequence[str]], Failures], whole: Failures
) -> dict[str, Failures]:
    """The candidates with which something fails beside those before them that pass, each with what fails.

    ``fails`` says what fails when only some of the candidates are made; with all of them it is ``whole``.
    """
    kept: list[str] = []
    out: dict[str, Failures] = {}

    def settle(chunk: Sequence[str], wrong: Failures) -> None:
        if not wrong:
            kept.extend(chunk)
        elif len(chunk) == 1:
            out[chunk[0]] = wrong
        else:
            for half in (chunk[: len(chunk) // 2], chunk[len(chunk) // 2 :]):
                settle(half, fails([*kept, *half]))

    settle(candidates, whole)
    return out


@dataclass
class _Ladder:
    """Plans without some units, and what the rungs say of them; each is asked once."""

    options: MigrateOptions
    rungs: tuple[str, ...]
    start: Path
    progress: Progress
    project: Project
    closures: Closures
    plans: dict[tuple[str, ...], MigrateResult]
    asked: list[Verified] = field(default_factory=list)
    answers: dict[tuple[State, str], Verified] = field(default_factory=dict)

    def planned(self, held: Iterable[str]) -> MigrateResult:
        """The migration without the units ``held``."""
        key = tuple(sorted(set(held)))
        if key not in self.plans:
            self.plans[key] = migrate(replace(self.options, held=key), self.start, self.progress)
        return self.plans[key]

    def verified(self, result: MigrateResult, wanted: Collection[str] | None = None) -> tuple[Verified, ...]:
        """What the rungs say of the modules ``wanted``, of all that are to be asked by default."""
        state = tuple(sorted((path, change.new) for path, change in result.changes.items()))
        names = self.modules(result) & (self.modules(result) if wanted is None else set(wanted))
        unknown = frozenset(name for name in names if (state, name) not in self.answers)
        if unknown:
            root = Path(self.project.root)
            after = Tree(root, dict(state))
            options = self._verify_options()
            found = compare(self.project, Tree(root), after, COMPARED_WITH, unknown, options, self.progress)
            self.asked += found.modules
            self.answers |= {(state, module.module): module for module in found.modules}
        return tuple(self.answers[state, name] for name in sorted(names))

    def modules(self, result: MigrateResult) -> set[str]:
        """The modules to ask: those of the units that are made, and those whose kernels or launchers read a change."""
        own = {name for unit in result.units if unit.edits for name in unit.modules}
        return own | {m for m, sources in self._touched(result).items() if not sources <= self._bindings()}

    def unasked(self, result: MigrateResult) -> tuple[str, ...]:
        """A note about the modules that read a change in binding sources alone."""
        left = sorted(self._touched(result).keys() - self.modules(result))
        if not left:
            return ()
        names = ", ".join(left[:_SHOWN]) + (f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else "")
        return (f"not verified, since only their binding sources read a changed file: {names}",)

    def units_behind(self, result: MigrateResult, modules: Collection[str]) -> list[str]:
        """The names of the units that change a file which a source of ``modules`` reads, in order."""
        sources = {s for m in self.project.modules if m.name in modules for s in m.sources}
        behind = [
            unit.name
            for unit in result.units
            if unit.edits
            and (
                not set(unit.modules).isdisjoint(modules)
                or any(not sources.isdisjoint(self.closures.users_of(path)) for path in unit.files)
            )
        ]
        return behind or [unit.name for unit in result.units if unit.edits]

    def _touched(self, result: MigrateResult) -> dict[str, set[str]]:
        """Module -> its sources that read a changed file."""
        users = {source for path in result.changes for source in self.closures.users_of(path)}
        found = {module.name: users.intersection(module.sources) for module in self.project.modules}
        return {name: sources for name, sources in found.items() if sources}

    def _bindings(self) -> set[str]:
        return {tu.path for tu in self.project.binding_tus}

    def _verify_options(self) -> VerifyOptions:
        options = self.options
        return VerifyOptions(
            rungs=self.rungs,
            arches=(options.arch,),
            headers=options.headers,
            jobs=options.jobs,
            cache=options.cache,
            defines=options.defines,
            include_dirs=options.include_dirs,
        )


def _with_reasons(result: MigrateResult, first: MigrateResult, held: Mapping[str, Failures]) -> MigrateResult:
    """``result`` with the units ``held`` among its own, each with what failed."""
    known = {unit.name: unit for unit in first.units}
    missing = [known[name] for name in sorted(held) if all(unit.name != name for unit in result.units)]
    units = [_backed_out(unit, held[unit.name]) if unit.name in held else unit for unit in (*result.units, *missing)]
    return replace(result, units=tuple(units))


def _backed_out(unit: Unit, failures: Failures) -> Unit:
    told = [
        _failed(unit, module.module, answer)
        for module in failures
        for answer in module.answers
        if answer.verdict is Verdict.FAIL
    ]
    return replace(unit, status=UnitStatus.BACKED_OUT, edits=(), findings=(*unit.findings, *told))


def _failed(unit: Unit, module: str, answer: Answer) -> Finding:
    """What a rung has against ``unit``, with the first thing that it found."""
    more = f" (and {len(answer.evidence) - 1} more)" if len(answer.evidence) > 1 else ""
    evidence = f": {answer.evidence[0]}{more}" if answer.evidence else ""
    return Finding(
        "TL901",
        f"with the edits, {module} fails the rung {answer.name}: {answer.detail}{evidence}",
        unit.files[0] if unit.files else "",
        0,
        0,
        Tier.DISPLAY,
        blocks=True,
        help="the unit was left as it was; written without --verify, `torchless verify` shows every difference",
        unit=unit.name,
    )
