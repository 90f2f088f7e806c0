"""Three trees into one, file by file with git's own merge: what two sides did since a common one, none of it lost."""

from __future__ import annotations

from dataclasses import dataclass

from torchless.campaign.repository import Entry, Repository


@dataclass(frozen=True, slots=True)
class Merged:
    """The tree, and the paths (from the top) in which both sides changed the same lines: there ``ours`` stands."""

    tree: str
    conflicts: tuple[str, ...]


def merge_trees(repository: Repository, base: str, ours: str, theirs: str, besides: str = "") -> Merged:
    """What ``theirs`` did since ``base``, made on ``ours``; all of them are trees or commits.

    Files that ``theirs`` has just as ``besides`` (when that is given) has them are not its own work, and stay.
    """
    paths = list(repository.changed(base, theirs))
    if besides:
        own = set(repository.changed(besides, theirs))
        paths = [path for path in paths if path in own]
    was, mine, other = (repository.entries(tree, paths) for tree in (base, ours, theirs))
    changes: dict[str, Entry | None] = {}
    conflicts = []
    for path in paths:
        before, here, there = was.get(path), mine.get(path), other.get(path)
        if here == there:
            continue
        if before == here:
            changes[path] = there
            continue
        merged = _merged(repository, before, here, there)
        if merged is None:
            conflicts.append(path)
        else:
            changes[path] = merged
    tree = repository.tree_with(repository.tree_of(ours), changes) if changes else repository.tree_of(ours)
    return Merged(tree, tuple(conflicts))


def _merged(repository: Repository, before: Entry | None, here: Entry | None, there: Entry | None) -> Entry | None:
    """The file that both sides changed, None for a conflict: one of them took it out, or both touch the same lines."""
    if here is None or there is None or {here.mode, there.mode} & {"120000", "160000"}:
        return None
    mode = there.mode if before is not None and before.mode == here.mode else here.mode
    base = repository.read(before.blob) if before is not None else b""
    text, clean = repository.merged_text(repository.read(here.blob), base, repository.read(there.blob))
    return Entry(mode, repository.raw_blob(text)) if clean else None
