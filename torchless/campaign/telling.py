"""What the body of a batch tells: what the rungs of the ladder say, what formatters do, how to make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from torchless.campaign.formatting import formatters_say
from torchless.campaign.model import Batch, Plan, Texts
from torchless.index import open_index
from torchless.options import MigrateOptions, Progress
from torchless.project.discover import load
from torchless.report.campaign_letter import Told
from torchless.report.verified import report_of
from torchless.verification import VerifyOptions, compare
from torchless.verify.tree import Tree


@dataclass(frozen=True)
class Teller:
    """Tells of the batches of ``plan``. ``rungs`` are asked of each; ``words`` are those that made the plan."""

    plan: Plan
    migrate: MigrateOptions
    start: Path
    progress: Progress
    rungs: tuple[str, ...]
    words: Sequence[str]
    base: str

    def __call__(self, batch: Batch, before: Texts, after: Texts) -> Told:
        """What is to be told of ``batch``, which makes ``after`` of ``before``."""
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        new = {path: after.get(path, self.plan.base[path]) for path in changed}
        old = {path: before.get(path, self.plan.base[path]) for path in changed}
        return Told(
            verification=self._verified(batch, before, after) if self.rungs else None,
            formatting=formatters_say(Path(self.plan.root), old, new),
            command=self._command(batch),
            blocked=tuple(other for other in self.plan.blocked if not set(other.modules).isdisjoint(batch.modules)),
        )

    def _verified(self, batch: Batch, before: Texts, after: Texts) -> Mapping[str, Any]:
        options = self.migrate
        project = load(self.start, options.paths, open_index(Path(self.plan.root), options.cache))
        root = Path(project.root)
        verify = VerifyOptions(
            rungs=self.rungs,
            arches=(options.arch,),
            headers=options.headers,
            jobs=options.jobs,
            cache=options.cache,
            defines=options.defines,
            include_dirs=options.include_dirs,
        )
        wanted = frozenset(batch.modules) or None
        what = f"{self.base[:12]} with {', '.join(batch.needs)}" if batch.needs else self.base[:12]
        found = compare(project, Tree(root, before), Tree(root, after), what, wanted, verify, self.progress)
        return report_of(found)

    def _command(self, batch: Batch) -> str:
        words = ["torchless", "plan", *self.words, "--batch", batch.name, "--emit", "patches", "DIR"]
        return f"git switch --detach {self.base}\n{' '.join(word if word == 'DIR' else quote(word) for word in words)}"
