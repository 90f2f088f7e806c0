"""What a batch buys: preprocessed lines that the passes of its sources no longer read, and the seconds they took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torchless.campaign.model import Gain, Texts
from torchless.closure.build import Closures
from torchless.closure.cost import total
from torchless.closure.heavy import load_heavy
from torchless.facts.spec import TuSpec
from torchless.index import open_index
from torchless.options import MigrateOptions
from torchless.profile.store import read
from torchless.project.model import Project


@dataclass(frozen=True)
class Meter:
    """Counts what passes read, by the include graph; ``measured``: (module, source, pass) -> its CPU seconds."""

    project: Project
    options: MigrateOptions
    base: Closures
    measured: Mapping[tuple[str, str, str], float]

    def gain(self, before: Texts, after: Texts) -> Gain:
        """What is gained where the files ``before`` become those ``after``; both are texts over the files on disk."""
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        sources = sorted({source for path in changed for source in self.base.users_of(path)})
        old = self._closures(before)
        new = self._closures(after)
        lines = [0, 0]
        seconds = 0.0
        for source in sources:
            now = {_key(closure.spec): closure for closure in new.of(source)}
            for closure in old.of(source):
                then = now.get(_key(closure.spec))
                if then is not None and then.via.keys() == closure.via.keys():
                    continue  # a line more or less in a header that many read is no gain
                was, will = total(closure), total(then) if then is not None else 0
                lines[0] += was
                lines[1] += will
                seconds += self._seconds(source, closure.spec) * (was - will) / was if was else 0.0
        return Gain(lines[0], lines[1], round(seconds, 2) if self.measured else None)

    def _closures(self, overlay: Texts) -> Closures:
        if not overlay:
            return self.base
        index = open_index(Path(self.project.root), self.options.cache)
        options = self.options
        return Closures(
            self.project, index, self.base.heavy, options.arch, options.defines, options.include_dirs, overlay
        )

    def _seconds(self, source: str, spec: TuSpec) -> float:
        """The seconds of a pass, in all modules that were profiled with it."""
        name = spec.arch if spec.device else "host"
        return sum(value for (_, path, what), value in self.measured.items() if (path, what) == (source, name))


def meter(project: Project, options: MigrateOptions, measured: Mapping[tuple[str, str, str], float]) -> Meter:
    """A meter over ``project``, with what measured_in() gave."""
    index = open_index(Path(project.root), options.cache)
    base = Closures(project, index, load_heavy(()), options.arch, options.defines, options.include_dirs)
    return Meter(project, options, base, measured)


def measured_in(profile: Path) -> dict[tuple[str, str, str], float]:
    """The fastest run of each pass in a stored result of `torchless profile`. Raises StoreError."""
    return {
        (unit.module, unit.source, each.name): min(run.cpu for run in each.runs)
        for unit in read(profile).units
        for each in unit.passes
        if each.runs
    }


def _key(spec: TuSpec) -> tuple[object, ...]:
    return spec.device, spec.enable_ck, spec.include_dirs, spec.defines
