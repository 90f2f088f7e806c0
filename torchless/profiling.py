"""`torchless profile`: what units cost, in one version of a checkout or in two, and what follows from it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.closure.build import Closures
from torchless.closure.cost import total
from torchless.closure.heavy import load_heavy
from torchless.errors import UsageError
from torchless.facts.pool import default_jobs
from torchless.index import open_index
from torchless.options import Progress
from torchless.profile import store
from torchless.profile.jobs import Done, run_jobs
from torchless.profile.kinds import classifier
from torchless.profile.lines import Classify
from torchless.profile.model import BuildProfile, Lines, PassProfile, Profile, Unit, UnitProfile
from torchless.profile.passes import Measured, count_lines, measure
from torchless.profile.select import Chosen, Wanted, choose, split_names
from torchless.project.discover import ProjectError, load, locate
from torchless.project.model import Project
from torchless.verify.rebuild import RebuildOptions, Workshop, missing_rocm, only_ctypes, rebuild_module
from torchless.verify.tree import Tree
from torchless.verify.versions import before_revision

AS_IS = "."
"""The version that is on disk, where a revision is asked for."""


@dataclass(frozen=True)
class ProfileOptions:
    """What to profile and how.

    ``compare``: two versions, each a git revision, AS_IS, or a result file of an earlier run. ``trials``: how often the
    seconds are measured; 0 measures lines alone. ``jobs``: compilers at a time, 0 for one per core. ``max_jobs``: those
    of the build that is reckoned with, 0 for MAX_JOBS or what the JIT takes. ``build``: also build the modules through
    the JIT, ``build_trials`` times.
    """

    wanted: Wanted
    compare: tuple[str, str] | None = None
    trials: int = 1
    jobs: int = 0
    max_jobs: int = 0
    build: bool = False
    build_trials: int = 3
    python: str = ""
    keep_going: bool = False
    cache: bool = True


@dataclass
class _Version:
    """One version while it is measured: by unit and pass."""

    label: str
    tree: Tree
    overlay: Sequence[str] = ()
    lines: dict[tuple[int, str], Lines] = field(default_factory=dict)
    runs: dict[tuple[int, str], list[Measured]] = field(default_factory=dict)
    placed: dict[int, tuple[float, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    builds: dict[str, list[BuildProfile]] = field(default_factory=dict)


def profile(
    options: ProfileOptions, start: Path, progress: Progress, complain: Callable[[str], None]
) -> tuple[Profile, ...]:
    """Measure what ``options`` asks for: one profile, or one of each version, the older first.

    ``complain`` is told of a unit that fails, at once. Raises UsageError and its kin.
    """
    stored = {name: store.read(start / name) for name in options.compare or () if is_result(start / name)}
    if options.compare and len(stored) == 2:
        return tuple(stored[name] for name in options.compare)
    project, closures = _project(options, start)
    chosen = choose(project, closures, options.wanted, start)
    root = Path(project.root).resolve()
    measured = [name for name in options.compare or (AS_IS,) if name not in stored]
    versions = {name: _Version("" if name == AS_IS else name, _tree(root, name)) for name in measured}
    _Measuring(project, closures, chosen, options, progress, complain).run(list(versions.values()))
    found = {name: _profile(project, chosen, options, version) for name, version in versions.items()}
    return tuple({**stored, **found}[name] for name in options.compare or (AS_IS,))


def is_result(path: Path) -> bool:
    """Whether a version is the name of a result file: what ends in .json is no revision of anybody's."""
    return path.suffix == ".json"


def _project(options: ProfileOptions, start: Path) -> tuple[Project, Closures]:
    # a name may be that of a module, which is known only when the checkout was read
    paths = tuple(name for name in options.wanted.names if (start / name).exists())
    try:
        index = open_index(locate(start, paths), options.cache)
        project = load(start, paths, index)
    except ProjectError as error:
        raise UsageError(str(error)) from None
    unknown = [n for n in split_names(project, options.wanted)[0] if not (start / n).exists()]
    if unknown:
        near = [m.name for m in project.modules if unknown[0] in m.name or m.name in unknown[0]][:3]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise UsageError(f"{unknown[0]}: neither a module of {project.root} nor a file{hint}")
    return project, Closures(project, index, load_heavy(()), options.wanted.arches[0])


def _tree(root: Path, name: str) -> Tree:
    return Tree(root) if name == AS_IS else before_revision(root, name)


@dataclass(frozen=True)
class _Measuring:
    """The measurements over some versions, as A B A B."""

    project: Project
    closures: Closures
    chosen: Chosen
    options: ProfileOptions
    progress: Progress
    complain: Callable[[str], None]

    def run(self, versions: Sequence[_Version]) -> None:
        """Measure every unit of every version."""
        classify = classifier(Path(self.project.root), load_heavy(()))
        with contextlib.ExitStack() as stack:
            for version in versions:
                version.overlay = list(stack.enter_context(version.tree.vfs()))
            for trial in range(max(1, self.options.trials)):
                for version in versions:
                    if not version.problems or self.options.keep_going:
                        self._round(version, trial, classify)
                if any(version.problems for version in versions) and not self.options.keep_going:
                    return
        if self.options.build:
            self._build(versions)

    def _round(self, version: _Version, trial: int, classify: Classify) -> None:
        """One trial over all units of one version."""
        numbers = [n for n, unit in enumerate(self.chosen.units) if unit.source not in version.tree.absent]
        weights = [self._weight(self.chosen.units[n]) for n in numbers]
        jobs = self.options.jobs or default_jobs()

        def work(number: int) -> str:
            return self._unit(version, number, trial, classify, max(1, default_jobs() // jobs))

        def failed(number: int, problem: str) -> None:
            source = self.chosen.units[number].source
            where = f"{source} ({version.label})" if version.label else source
            version.problems.append(f"{where}: {problem}")
            self.complain(f"{where}: {problem}")

        done = run_jobs(
            work,
            numbers,
            jobs=jobs,
            weights=weights,
            failure=lambda problem: problem,
            on_failure=failed,
            keep_going=self.options.keep_going,
            progress=lambda n, of: self.progress(f"trial {trial + 1} {version.label}".rstrip(), n, of),
        )
        if trial == 0:
            version.placed.update(_placed(numbers, done))

    def _weight(self, unit: Unit) -> float:
        """How heavy a unit is likely to be: by the lines that its closure has, where those are known."""
        if unit.source.startswith("/") or unit.source not in self.project.sources:
            return 0.0
        return float(max((total(closure) for closure in self.closures.of(unit.source)), default=0))

    def _unit(self, version: _Version, number: int, trial: int, classify: Classify, threads: int) -> str:
        """One unit in one trial; gives what is wrong, "" for nothing."""
        unit = self.chosen.units[number]
        for name in unit.passes:
            key = (number, name)
            if trial == 0:
                counted, problem = count_lines(unit, name, version.overlay, classify)
                if counted is None:
                    return f"{_named(name)}: {problem}"
                version.lines[key] = counted
            if self.options.trials:
                lines = version.lines[key]
                found = measure(unit, name, self.chosen.kind, version.overlay, classify, threads, lines)
                if found.problem:
                    return f"{_named(name)}: {found.problem}"
                version.runs.setdefault(key, []).append(found)
        return ""

    def _build(self, versions: Sequence[_Version]) -> None:
        """Build each module end to end, as A B A B."""
        names = dict.fromkeys(unit.module for unit in self.chosen.units if unit.module)
        modules = [module for module in self.project.modules if module.name in names]
        why = missing_rocm()
        if why:
            raise UsageError(f"--build: {why}")
        options = RebuildOptions(self.options.wanted.arches, max_jobs=self.options.max_jobs)
        if self.options.python:
            options = replace(options, python=self.options.python)
        shops = [Workshop(version.tree, version.tree) for version in versions]
        try:
            for module in modules:
                for trial in range(self.options.build_trials):
                    for version, shop in zip(versions, shops, strict=True):
                        series = version.builds.setdefault(module.name, [])
                        if any(build.problem for build in series):
                            continue
                        self.progress(f"build {module.name}", trial, self.options.build_trials)
                        root = shop.root("after")
                        built = rebuild_module(root, module.name, only_ctypes(self.project, module), options)
                        if built.problem:
                            self.complain(f"{module.name}: {built.problem}")
                        seconds = () if built.problem else (built.seconds,)
                        series.append(BuildProfile(module.name, seconds, built.units, built.problem))
        except OSError as error:
            raise UsageError(f"--build: no copy to build in: {error}") from error
        finally:
            for shop in shops:
                shop.close()


def _named(name: str) -> str:
    return "host pass" if name == "host" else f"device pass for {name}"


def _placed(numbers: Sequence[int], done: Sequence[Done[str] | None]) -> dict[int, tuple[float, int]]:
    return {n: (d.started, d.slot) for n, d in zip(numbers, done, strict=True) if d is not None}


def _profile(project: Project, chosen: Chosen, options: ProfileOptions, version: _Version) -> Profile:
    binding = {tu.path for tu in project.binding_tus}
    units = []
    for number, unit in enumerate(chosen.units):
        passes = []
        for name in unit.passes:
            lines, runs = version.lines.get((number, name)), version.runs.get((number, name), [])
            if lines is not None and len(runs) >= min(1, options.trials):
                seconds = tuple(run.seconds for run in runs if run.seconds is not None)
                first = runs[0] if runs else Measured()
                passes.append(PassProfile(name, lines, seconds, first.headers, first.tables))
        if passes:
            started, slot = version.placed.get(number, (0.0, 0))
            units.append(
                UnitProfile(unit.source, unit.module, unit.origin, tuple(passes), started, slot, unit.source in binding)
            )
    absent = [u.source for u in chosen.units if u.source in version.tree.absent]
    problems = (*version.problems, *(f"{source}: not in {version.label}" for source in absent))
    return Profile(
        root=project.root,
        version=version.label,
        kind=chosen.kind,
        how=chosen.how,
        jobs=options.jobs or default_jobs(),
        build_jobs=options.max_jobs or build_jobs(),
        units=tuple(units),
        builds=tuple(_gathered(name, series) for name, series in version.builds.items()),
        problems=problems,
    )


def _gathered(module: str, series: Sequence[BuildProfile]) -> BuildProfile:
    trials = tuple(seconds for build in series for seconds in build.trials)
    problem = next((build.problem for build in series if build.problem), "")
    good = [build for build in series if not build.problem]
    return BuildProfile(module, trials, good[-1].units if good else (), problem)


def build_jobs() -> int:
    """How many jobs aiter's JIT would run: MAX_JOBS, else four fifths of the cores, but at least one."""
    told = os.environ.get("MAX_JOBS", "")
    most = max(1, int(default_jobs() * 0.8))
    return min(int(told), most) if told.isdigit() and int(told) > 0 else most
