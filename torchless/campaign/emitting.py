"""Batches as branches, as one branch of commits, or as patches, each step so that a run that dies can be run again.

A step first says in the state file what it is about to do, then does it in one move (a ref, a file), then says that it
is done. Whatever somebody added by hand is merged into the new version; where that is not possible the place stays as
it is and the new version is put beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.campaign.merging import merge_trees
from torchless.campaign.model import Batch, Plan, State, Texts
from torchless.campaign.repository import Repository, RepositoryError
from torchless.campaign.state import Campaign, Row
from torchless.campaign.trees import Trees, commit_apart
from torchless.report.campaign_letter import Letter, Told, message
from torchless.text import disk, journal

KINDS = ("patches", "commits", "branches")
SERIES = "(series)"
"""The row of the branch that holds all batches."""
KEPT = "refs/torchless/kept"
"""Below here stay the commits of branches that were made anew, with what was added to them by hand."""
FRESH = ".fresh"
_HAND = "Keep what was changed by hand"

Tell = Callable[[Batch, Texts, Texts], Told]
"""What is to be told of a batch that makes the second texts of the first."""
Save = Callable[[Campaign], None]


@dataclass(frozen=True, slots=True)
class How:
    """In which form batches are made: one of KINDS, the folder for patches, the first part of branch names, and the
    words of each commit."""

    kind: str
    folder: Path = Path()
    prefix: str = "torchless/"
    letter: Letter = field(default_factory=Letter)


@dataclass
class Emitter:
    """One run over the batches of ``plan`` that are ``wanted`` or have been made before."""

    trees: Trees
    how: How
    campaign: Campaign
    save: Save
    tell: Tell
    wanted: frozenset[str]
    again: bool = False  # make anew what only its words would change
    _tips: dict[str, str] = field(default_factory=dict)
    _messages: dict[str, str] = field(default_factory=dict)
    _exact: set[str] = field(default_factory=set)

    @property
    def repository(self) -> Repository:
        """Where it all goes."""
        return self.trees.repository

    @property
    def plan(self) -> Plan:
        """What is made."""
        return self.trees.plan

    def run(self) -> Campaign:
        """Make what is to be made, and give the campaign as it is then. Raises RepositoryError, StateError."""
        todo = [b for b in self.plan.ready if b.name in self.wanted or self._row(b).emitted or self._row(b).next_tip]
        if self.how.kind == "patches":
            self._check_folder()
            self._clear()
        else:
            self._check_names(todo)
        if self.how.kind == "commits":
            self._commits()
        elif self.how.kind == "patches" and len(todo) == len(self.plan.ready):
            parent, fresh = self.trees.base, self.trees.of({})
            before: Texts = {}
            self._exact = {batch.name for batch in todo}
            for batch in todo:
                after = self.plan.series[batch.name]
                parent = self._bring(batch, parent, fresh, before, after) or parent
                before, fresh = after, self.trees.of(after)
        else:
            for batch in todo:
                self._stacked(batch)
        return self.campaign

    def _stacked(self, batch: Batch) -> None:
        """Bring a batch onto what it needs: the branch of that, or commits of its own where no branch has just that."""
        stack = self.plan.stacks[batch.name]
        parent, before = self.trees.base, dict[str, bytes]()
        last = stack[-2][0] if len(stack) > 1 else ""
        late: list[str] = []
        if last in self._tips and [name for name, _ in self.plan.stacks[last]] == [name for name, _ in stack[:-1]]:
            parent, before = self._tips[last], dict(stack[-2][1])
            late = [name for name, _ in stack[:-1] if name not in self._exact]
        else:
            for name, after in stack[:-1]:
                words = self._message(self.plan.named(name), before, after)
                parent = self.repository.commit(self.trees.of(after), parent, words)
                before = dict(after)
        fresh, after = self.trees.of(before), stack[-1][1]
        if late and merge_trees(self.repository, fresh, parent, self.trees.of(after)).conflicts:
            # what it needs was made on an older tree and would do, but for this one
            self._exact.update(late)
            for name in late:
                self._stacked(self.plan.named(name))
            self._stacked(batch)
        else:
            self._bring(batch, parent, fresh, before, after)

    def _bring(self, batch: Batch, parent: str, fresh: str, before: Texts, after: Texts) -> str:
        """Make ``batch`` on ``parent``, whose generated tree is ``fresh``; the tip that its place has then, or ""."""
        repository, row = self.repository, self._finished(self._row(batch))
        place = row.place or self._place(batch)
        merged = merge_trees(repository, fresh, parent, self.trees.of(after))
        if merged.conflicts:
            note = "what was changed by hand in a batch before it is where this one changes, too"
            self._keep(replace(row, state=State.STALE, conflicts=merged.conflicts, note=note))
            return ""
        exact = batch.name in self._exact
        made = next((c for c in (row.offered, row.emitted) if self._is_current(c, parent, merged.tree, exact)), "")
        if not made:
            made = commit_apart(
                repository, merged.tree, parent, self._message(batch, before, after), batch, self.how.letter
            )
        row = self._renamed(batch, replace(row, place=place))
        tip = self._into_file(batch, row, made) if self.how.kind == "patches" else self._into_branch(batch, row, made)
        self._tips[batch.name] = tip or made
        return self._tips[batch.name]

    def _commits(self) -> None:
        """One branch with a commit for each batch."""
        parent, before = self.trees.base, dict[str, bytes]()
        made = []
        for batch in self.plan.ready:
            row, after = self._row(batch), self.plan.series[batch.name]
            tree = self.trees.of(after)
            if not self._is_current(row.emitted, parent, tree, exact=True):
                commit = commit_apart(
                    self.repository, tree, parent, self._message(batch, before, after), batch, self.how.letter
                )
            else:
                commit = row.emitted
            parent, before = commit, dict(after)
            made.append((batch, commit))
        whole = Batch(SERIES, 0, ())
        row = self._finished(self.campaign.row(SERIES) or Row(SERIES, 0, State.PLANNED))
        if not made:
            return
        self._into_branch(whole, replace(row, place=f"{self.how.prefix}series"), parent)
        for batch, commit in made:
            place = f"{self.how.prefix}series"
            row = replace(self._row(batch), state=State.EMITTED, emitted=commit, tip=commit, place=place, note="")
            self.campaign = self.campaign.with_row(row)
        self.save(self.campaign)

    def _is_current(self, made: str, parent: str, tree: str, exact: bool) -> bool:
        """Whether commit ``made`` makes the same change, on ``parent`` or, where not ``exact``, on an older base."""
        repository = self.repository
        if self.again or not made or not repository.has(made):
            return False
        its_parent = repository.parent_of(made)
        same = its_parent == parent or (
            parent != self.trees.base
            and repository.is_ancestor(self.trees.base, its_parent)
            and repository.tree_of(its_parent) == repository.tree_of(parent)
        )
        if not same and (exact or not repository.is_ancestor(its_parent, self.trees.base)):
            return False
        return repository.patch_id(its_parent, made) == repository.patch_id(parent, tree)

    def _into_branch(self, batch: Batch, row: Row, made: str) -> str:
        """Let the branch of ``row`` hold ``made`` and what was added to it by hand; its tip, "" when it has none."""
        repository, ref = self.repository, f"refs/heads/{row.place}"
        now = repository.ref(ref)
        if not now or now in (row.emitted, made):
            return self._move(replace(row, offered="", conflicts=()), ref, now, made, made)
        if row.emitted == made:
            note = "hand edits are kept"
            self._keep(replace(row, state=State.EMITTED, tip=now, offered="", conflicts=(), note=note))
            return now
        common = row.offered if row.offered and repository.is_ancestor(row.offered, now) else row.emitted
        if not repository.has(common):
            note = f"{common[:12]}, which it was made from, is not in this clone: fetch more history, and run again"
            self._keep(replace(row, state=State.STALE, note=note))
            return now
        merged = merge_trees(repository, common, made, now, self._main_in(now, common))
        if merged.conflicts:
            self._offer(row, made, merged.conflicts)
            return now
        tip = made
        if merged.tree != repository.tree_of(made):
            tip = commit_apart(repository, merged.tree, made, self._hand_message(row, now), batch, self.how.letter, now)
        if row.offered:
            self._withdraw(row)
        return self._move(replace(row, offered="", conflicts=()), ref, now, made, tip)

    def _move(self, row: Row, ref: str, now: str, made: str, tip: str) -> str:
        """Let ``ref`` lead from ``now`` to ``tip``, and say so; a work tree that has it checked out is not touched."""
        where = self.repository.checked_out().get(ref, "") if now and now != tip else ""
        if where:
            note = f"checked out in {where}: switch to another branch there, and run again"
            self._keep(replace(row, state=State.STALE, note=note))
            return now
        self._keep(replace(row, next_emitted=made, next_tip=tip))
        if now != tip:
            if now and now != row.emitted:
                kept = f"{KEPT}/{slug(row.name)}/{now[:12]}"
                self.repository.move_ref(kept, now, self.repository.ref(kept))
            self.repository.move_ref(ref, tip, now)
        note = "hand edits are kept" if tip != made else ""
        self._keep(self._done(replace(row, next_emitted=made, next_tip=tip, note=note)))
        return tip

    def _offer(self, row: Row, made: str, conflicts: Sequence[str]) -> None:
        """Leave the branch as it is, and put the new version beside it."""
        ref = f"refs/heads/{row.place}{FRESH}"
        there = self.repository.ref(ref)
        if there != made:
            self.repository.move_ref(ref, made, there)
        note = f"hand edits and the new version change the same lines: merge {row.place}{FRESH} into {row.place}"
        self._keep(replace(row, state=State.STALE, offered=made, conflicts=tuple(conflicts), note=note))

    def _withdraw(self, row: Row) -> None:
        ref = f"refs/heads/{row.place}{FRESH}"
        there = self.repository.ref(ref)
        if there and there == row.offered and ref not in self.repository.checked_out():
            self.repository.delete_ref(ref, there)

    def _main_in(self, now: str, common: str) -> str:
        """The commit of the main line that was merged into ``now`` since ``common``, "" for none."""
        shared = self.repository.merge_base(now, self.trees.base)
        return shared if shared and not self.repository.is_ancestor(shared, common) else ""

    def _into_file(self, batch: Batch, row: Row, made: str) -> str:
        """Let the patch of ``row`` hold ``made`` and what was changed in it by hand; the commit that it then is."""
        repository, file = self.repository, self.how.folder / row.place
        parent = self._before(made)
        data = file.read_bytes() if file.is_file() else None
        if data is None or hashlib.sha256(data).hexdigest() == row.digest:
            if data is None or row.tip == row.emitted:
                return self._write(row, file, made, made)
            if row.emitted == made:
                self._keep(replace(row, state=State.EMITTED))
                return row.tip
            hand, data = row.tip, None
        else:
            hand = self._patched(row, data)
        fresh = file.with_name(file.name + FRESH)
        common = row.offered if row.offered and not fresh.exists() else row.emitted
        if row.emitted == made and hand:
            return self._write(row, file, made, self._with_hand(batch, made, parent, repository.tree_of(hand)), data)
        merged = merge_trees(repository, common, made, hand) if hand and repository.has(common) else None
        if merged is None or merged.conflicts:
            disk.replace(fresh, repository.mail(parent, made), 0o644)
            why = (
                "and does not apply to what it was made for" if merged is None else "where the new version changes, too"
            )
            note = f"edited by hand {why}: it is left as it is, and the new version is {fresh.name}; put them together"
            conflicts = merged.conflicts if merged is not None else (row.place,)
            self._keep(replace(row, state=State.STALE, offered=made, conflicts=conflicts, note=note))
            return ""
        tip = self._with_hand(batch, made, parent, merged.tree)
        return self._write(replace(row, offered="", conflicts=()), file, made, tip, data)

    def _renamed(self, batch: Batch, row: Row) -> Row:
        """``row`` with its patch under the name that the order of the plan asks for."""
        wanted = self._place(batch)
        if self.how.kind != "patches" or row.place == wanted:
            return row
        if (self.how.folder / row.place).is_file():
            (self.how.folder / row.place).replace(self.how.folder / wanted)
        return replace(row, place=wanted)

    def _with_hand(self, batch: Batch, made: str, parent: str, tree: str) -> str:
        """``made`` with another tree."""
        if tree == self.repository.tree_of(made):
            return made
        words = self.repository.message_of(made)
        return commit_apart(self.repository, tree, parent, words, batch, self.how.letter)

    def _patched(self, row: Row, data: bytes) -> str:
        """The tree that a patch makes of what it was made for, "" when it does not apply."""
        if not row.emitted or not self.repository.has(row.emitted):
            return ""
        return self.repository.applied(self.repository.tree_of(self._before(row.emitted)), data)

    def _write(self, row: Row, file: Path, made: str, tip: str, edited: bytes | None = None) -> str:
        """Put ``tip`` into ``file``; what somebody ``edited`` there stays in the campaign's own folder."""
        if not self.again and row.tip and edited is None and file.is_file() and self._says_the_same(row.tip, tip):
            self._keep(replace(row, state=State.EMITTED, emitted=made, tip=tip))
            return tip
        data = self.repository.mail(self._before(tip), tip)
        self._keep(replace(row, next_emitted=made, next_tip=tip))
        if edited is not None and edited != data:
            self._keep_edited(file, edited)
        disk.replace(file, data, 0o644)
        note = "hand edits are kept" if tip != made else ""
        done = replace(row, next_emitted=made, next_tip=tip, digest=hashlib.sha256(data).hexdigest(), note=note)
        self._keep(self._done(done))
        return tip

    def _says_the_same(self, one: str, other: str) -> bool:
        """Whether the patches of two commits differ in no line, context and all."""
        found = []
        for commit in (one, other):
            if not self.repository.has(commit):
                return False
            patch = self.repository.diff(self._before(commit), commit)
            found.append([line for line in patch.split(b"\n") if not line.startswith((b"index ", b"@@ "))])
        return found[0] == found[1]

    def _before(self, commit: str) -> str:
        """The commit before a batch: the one before its move, where it has one."""
        parent = self.repository.parent_of(commit)
        return self.repository.parent_of(parent) if self._is_move(parent) else parent

    def _is_move(self, commit: str) -> bool:
        return bool(commit) and "Nothing is edited here: the next commit does that" in self.repository.message_of(
            commit
        )

    def _finished(self, row: Row) -> Row:
        """``row``, with a step that a run died behind taken as done."""
        if not row.next_tip:
            return row
        if self.how.kind == "patches":
            file = self.how.folder / row.place
            data = (
                self.repository.mail(self._before(row.next_tip), row.next_tip)
                if self.repository.has(row.next_tip)
                else b""
            )
            if data and file.is_file() and file.read_bytes() == data:
                return self._done(replace(row, digest=hashlib.sha256(data).hexdigest()))
        elif self.repository.ref(f"refs/heads/{row.place}") == row.next_tip:
            return self._done(row)
        return replace(row, next_emitted="", next_tip="")

    def _done(self, row: Row) -> Row:
        row = replace(row, state=State.EMITTED, emitted=row.next_emitted, tip=row.next_tip)
        return replace(row, next_emitted="", next_tip="")

    def _keep(self, row: Row) -> None:
        if self.campaign.row(row.name) != row:
            self.campaign = self.campaign.with_row(row)
            self.save(self.campaign)

    def _row(self, batch: Batch) -> Row:
        return self.campaign.row(batch.name) or Row(batch.name, batch.number, State.PLANNED)

    def _place(self, batch: Batch) -> str:
        if self.how.kind == "patches":
            return f"{batch.number:04}-{slug(batch.name)}.patch"
        twins = [other for other in self.plan.batches if slug(other.name) == slug(batch.name)]
        return f"{self.how.prefix}{slug(batch.name)}" + (f"-{batch.number}" if len(twins) > 1 else "")

    def _message(self, batch: Batch, before: Texts, after: Texts) -> str:
        if batch.name not in self._messages:
            self._messages[batch.name] = message(batch, self.how.letter, self.tell(batch, before, after))
        return self._messages[batch.name]

    def _hand_message(self, row: Row, now: str) -> str:
        """The words of the commit with hand edits: those of the last commit that they were in."""
        words = self.repository.message_of(now)
        return _HAND if words == self.repository.message_of(row.emitted) else words

    def _check_names(self, todo: Sequence[Batch]) -> None:
        """Raise RepositoryError for a branch that cannot be made, or is not of this campaign; nothing was made then."""
        rows = [(self._row(b), self._place(b)) for b in todo]
        if self.how.kind == "commits":
            rows = [(self.campaign.row(SERIES) or Row(SERIES, 0, State.PLANNED), f"{self.how.prefix}series")]
        for row, place in rows:
            name = row.place or place
            self.repository.check_branch(name)
            there = self.repository.ref(f"refs/heads/{name}")
            if there and not row.emitted and there != row.next_tip:
                raise RepositoryError(
                    f"the branch {name} exists and is none of this campaign: take it away, or pass --branch-prefix"
                )
            parts = name.split("/")
            blocking = next(
                (p for n in range(1, len(parts)) if self.repository.ref(f"refs/heads/{(p := '/'.join(parts[:n]))}")), ""
            )
            if blocking:
                raise RepositoryError(f"the branch {blocking} leaves no room for {name}: pass --branch-prefix")

    def _clear(self) -> None:
        """Take the patches of batches that are merged out of the folder; one that was edited is kept elsewhere."""
        for row in self.campaign.batches:
            file = self.how.folder / row.place
            if row.state is not State.MERGED or not row.place or not file.is_file():
                continue
            data = file.read_bytes()
            if hashlib.sha256(data).hexdigest() != row.digest:
                self._keep_edited(file, data)
            file.unlink()

    def _keep_edited(self, file: Path, data: bytes) -> None:
        """Put what somebody made of ``file`` into the campaign's own folder."""
        kept = Path(self.plan.root) / journal.FOLDER / "kept"
        kept.mkdir(exist_ok=True)
        disk.replace(kept / f"{hashlib.sha256(data).hexdigest()[:12]}-{file.name}", data, 0o644)

    def _check_folder(self) -> None:
        """Make the folder for patches. Raises RepositoryError when it holds patches of somebody else."""
        folder = self.how.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RepositoryError(f"{folder}: cannot be made: {error.strerror}") from None
        own = {row.place for row in self.campaign.rows} | {self._place(batch) for batch in self.plan.ready}
        other = next((file.name for file in sorted(folder.glob("*.patch")) if file.name not in own), "")
        if other:
            raise RepositoryError(f"{folder} holds {other}, which is none of this campaign: name an empty folder")


def slug(name: str) -> str:
    """``name`` as a part of the name of a branch or a file."""
    return re.sub(r"[^A-Za-z0-9_+.-]+", "-", name.replace("@", "")).strip("-.").removesuffix(".lock") or "batch"
