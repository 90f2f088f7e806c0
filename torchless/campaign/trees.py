"""Trees and commits of batches: what a plan holds as texts, as git objects on the commit that it was made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torchless.campaign.model import Batch, Plan, Texts
from torchless.campaign.repository import Entry, Repository, RepositoryError
from torchless.report.campaign_letter import Letter, move_message

_SHOWN = 3


@dataclass
class Trees:
    """The trees of one plan; ``base`` is the commit that its texts are based on."""

    repository: Repository
    plan: Plan
    base: str
    _modes: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[tuple[str, bytes], ...], str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise RepositoryError when a text of the plan is not based on what the commit holds."""
        repository, prefix = self.repository, self.repository.prefix
        paths = [prefix + path for path in sorted(self.plan.base)]
        found = repository.entries(self.base, paths)
        for path in paths:
            within = repository.submodule_of(self.base, path)
            if within:
                raise RepositoryError(f"{path} lies in the submodule {within}: plan in a checkout of its own")
            entry = found.get(path)
            data = self.plan.base[path.removeprefix(prefix)]
            if entry is None:
                raise RepositoryError(f"{path} is in no commit: commit it first, since batches are based on commits")
            if entry.blob != repository.blob(path, data):
                raise RepositoryError(f"{path} is not what HEAD holds: commit or take back what differs")
            self._modes[path] = entry.mode

    def of(self, texts: Texts) -> str:
        """The tree of the base with ``texts`` in it."""
        key = tuple(sorted(texts.items()))
        if key not in self._known:
            prefix = self.repository.prefix
            changes: dict[str, Entry | None] = {
                prefix + path: Entry(self._modes[prefix + path], self.repository.blob(prefix + path, data))
                for path, data in texts.items()
            }
            tree = self.repository.tree_of(self.base)
            self._known[key] = self.repository.tree_with(tree, changes) if changes else tree
        return self._known[key]


def refuse_dirty(repository: Repository) -> None:
    """Raise RepositoryError when tracked files differ from HEAD: the batches would hold that, or miss it."""
    dirty = repository.dirty()
    if dirty:
        few = ", ".join(dirty[:_SHOWN]) + (f" and {len(dirty) - _SHOWN} more" if len(dirty) > _SHOWN else "")
        raise RepositoryError(f"uncommitted changes in {few}: commit them, or put them away; nothing was made")


def commit_apart(
    repository: Repository, tree: str, parent: str, message: str, batch: Batch, letter: Letter, like: str = ""
) -> str:
    """A commit of ``tree`` on ``parent``, and before it one that only moves files where some have another name."""
    moves = repository.moves(parent, tree)
    if moves and _is_more_than_moves(repository, parent, tree, {move.old for move in moves}):
        changes: dict[str, Entry | None] = {move.old: None for move in moves}
        changes.update((move.new, Entry(move.mode, move.blob)) for move in moves)
        moved = repository.tree_with(repository.tree_of(parent), changes)
        told = move_message(letter, batch, [(move.old, move.new) for move in moves])
        parent = repository.commit(moved, parent, told, like)
    return repository.commit(tree, parent, message, like)


def _is_more_than_moves(repository: Repository, parent: str, tree: str, moved: set[str]) -> bool:
    """Whether some file is also edited, be it one that moved."""
    moves: Mapping[str, tuple[str, str]] = {
        move.new: (move.mode, move.blob) for move in repository.moves(parent, tree) if move.old in moved
    }
    new = repository.entries(tree, sorted(moves))
    edited = any((new[name].mode, new[name].blob) != before for name, before in moves.items())
    others = set(repository.changed(parent, tree)) - moved - moves.keys()
    return edited or bool(others)
