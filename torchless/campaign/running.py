"""One run over a campaign: plan it, see what became of the batches, make what is wanted, keep the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from torchless.campaign.emitting import Emitter, How
from torchless.campaign.model import Plan
from torchless.campaign.planning import PlanOptions, plan, root_of
from torchless.campaign.repository import open_repository
from torchless.campaign.state import Campaign, load, save, state_file
from torchless.campaign.telling import Teller
from torchless.campaign.trees import Trees, refuse_dirty
from torchless.campaign.updating import numbered, reconciled, stepped, upcoming
from torchless.errors import UsageError
from torchless.options import Progress
from torchless.report.campaign_letter import check_letter
from torchless.text import journal


@dataclass(frozen=True)
class Asked:
    """What is wanted beyond a plan: ``keep`` writes the state; ``how`` says in which form batches are, None in none.

    With ``emit`` batches are made, else only those that were made before are made anew. ``names`` and ``following`` say
    which, by name or the next so many; neither means all. ``again``: also where only the words changed. ``words`` are
    those of the command line that make the same plan, ``settings`` what the state file keeps of it.
    """

    keep: bool = False
    how: How | None = None
    names: tuple[str, ...] = ()
    following: int = 0
    emit: bool = False
    again: bool = False
    rungs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    settings: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Ran:
    """A plan, and the campaign as the state file has it now (None without one)."""

    plan: Plan
    campaign: Campaign | None


def run(options: PlanOptions, asked: Asked, start: Path, progress: Progress) -> Ran:
    """Do what is ``asked``. Raises UsageError, RepositoryError, StateError, WriteError."""
    root = root_of(options.migrate.paths, start)
    file = state_file(root)
    before = load(file)
    if not asked.keep:
        found = plan(options, start, progress, before.known if before else ())
        return Ran(numbered(found, before or Campaign()), before)
    repository = open_repository(root)
    repository.head()
    refuse_dirty(repository)
    if asked.how is not None:
        check_letter(asked.how.letter)
        repository.identity()
    with journal.locked(root):
        before = load(file) or Campaign()
        base = repository.head()
        found = numbered(plan(options, start, progress, before.known), before)
        _check_names(found, asked.names)
        trees = Trees(repository, found, base)
        trees.check()
        kind, folder = (asked.how.kind, asked.how.folder) if asked.how is not None else ("", Path())
        campaign = reconciled(found, before, repository, base, kind, folder)
        if asked.settings is not None:
            campaign = replace(campaign, settings=dict(asked.settings))
        campaign = stepped(campaign, date.today().isoformat())
        save(file, campaign)
        if asked.how is not None:
            wanted = _wanted(found, campaign, asked)
            teller = Teller(found, options.migrate, start, progress, asked.rungs, asked.words, base)
            emitter = Emitter(
                trees, asked.how, campaign, lambda now: save(file, now), teller, frozenset(wanted), asked.again
            )
            campaign = emitter.run()
    return Ran(found, campaign)


def _wanted(found: Plan, campaign: Campaign, asked: Asked) -> tuple[str, ...]:
    if not asked.emit:
        return ()
    if asked.following:
        return upcoming(campaign, found, asked.following)
    return asked.names or tuple(batch.name for batch in found.ready)


def _check_names(found: Plan, names: tuple[str, ...]) -> None:
    """Raise UsageError for a batch that cannot be made."""
    for name in names:
        batch = next((batch for batch in found.batches if batch.name == name), None)
        if batch is None:
            raise UsageError(
                f"--batch {name}: no such batch; there are {', '.join(b.name for b in found.ready) or 'none'}"
            )
        if batch.blockers:
            first = batch.blockers[0]
            raise UsageError(f"--batch {name}: blocked by {first.code}: {first.message}")
