"""What the tree becomes when some units move and the others stay: each set of units is settled once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from torchless import api
from torchless.campaign.model import Texts
from torchless.model import Unit
from torchless.options import Progress


@dataclass
class Variants:
    """Results of one migration with only some of its units made; ``whole`` has them all."""

    prepared: api.Prepared
    progress: Progress
    whole: api.MigrateResult
    _known: dict[frozenset[str], api.MigrateResult] = field(default_factory=dict)

    def only(self, names: Collection[str]) -> api.MigrateResult:
        """The migration of the units ``names`` alone."""
        wanted = frozenset(names)
        ahead = frozenset(unit.name for unit in moving(self.whole))
        if wanted == ahead:
            return self.whole
        if wanted not in self._known:
            held = {unit.name for unit in self.whole.units} - wanted
            self._known[wanted] = api.settle(self.prepared, self.progress, held)
        return self._known[wanted]

    def stands(self, name: str, among: Collection[str]) -> bool:
        """Whether the unit ``name`` makes all the edits that it makes in the whole when only ``among`` are made."""
        found = {unit.name: unit for unit in moving(self.only(among))}
        return name in found and set(found[name].edits) == set(_by_name(self.whole)[name].edits)


def texts(result: api.MigrateResult) -> Texts:
    """The new text of every file that ``result`` changes."""
    return {path: change.new for path, change in result.changes.items()}


def moving(result: api.MigrateResult) -> list[Unit]:
    """The units that ``result`` makes: only those have edits."""
    return [unit for unit in result.units if unit.edits]


def _by_name(result: api.MigrateResult) -> Mapping[str, Unit]:
    return {unit.name: unit for unit in result.units}
