"""``.torchless/campaign.toml``: where each batch of a campaign stands, for people to review and for the next run.

The file is the only thing in its folder that git is told to keep. A comment that somebody writes into it stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from torchless.campaign.grouping import Known
from torchless.campaign.model import State
from torchless.errors import ToolError
from torchless.text import disk, journal

VERSION = 1
FILE = "campaign.toml"
_HEAD = "Where each batch of the campaign stands: written by `torchless plan`, made for review."
_MODE = 0o644
_BLANK = re.compile(r"\n{3,}")


class StateError(ToolError):
    """A state file that cannot be used; the message is one line that starts with the file and says what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """A batch in the file.

    ``place`` is the branch or the file that holds it. ``emitted`` is the commit with just what was generated, ``tip``
    the commit that the place was left at, hand edits among it. ``next_emitted`` and ``next_tip`` are what a step that
    is under way will make of these two. ``offered`` is a new version that could not be merged with hand edits, because
    of ``conflicts``. ``digest`` is the SHA-256 of a patch file as it was written. ``note`` is for people.
    """

    name: str
    number: int
    state: State
    units: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    files: int = 0
    lines: int = 0
    tier: str = ""
    lines_before: int = 0
    lines_after: int = 0
    seconds: float = 0.0
    needs: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    constructs: Mapping[str, int] = field(default_factory=dict)
    place: str = ""
    emitted: str = ""
    tip: str = ""
    next_emitted: str = ""
    next_tip: str = ""
    offered: str = ""
    conflicts: tuple[str, ...] = ()
    digest: str = ""
    note: str = ""

    @property
    def known(self) -> Known:
        """The batch as a later plan has to keep it."""
        return Known(self.name, self.units, self.modules)


@dataclass(frozen=True, slots=True)
class Step:
    """How far the campaign was on a day: counts of batches by what became of them."""

    date: str
    commit: str
    merged: int
    open: int
    blocked: int


@dataclass(frozen=True)
class Campaign:
    """Everything in the file. ``settings`` are the words of the command line that made it, by option."""

    base: str = ""
    torchless: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    history: tuple[Step, ...] = ()

    def row(self, name: str) -> Row | None:
        """The batch called ``name``."""
        return next((row for row in self.rows if row.name == name), None)

    def with_row(self, row: Row) -> Campaign:
        """The same with ``row`` in place of the one of its name, or behind the others."""
        if self.row(row.name) is None:
            return replace(self, rows=(*self.rows, row))
        return replace(self, rows=tuple(row if old.name == row.name else old for old in self.rows))

    @property
    def batches(self) -> tuple[Row, ...]:
        """The rows that are batches, in order; one that stands for the whole series is none."""
        return tuple(sorted((row for row in self.rows if row.number > 0), key=lambda row: row.number))

    @property
    def known(self) -> tuple[Known, ...]:
        """The batches that are not merged yet, in order, as a later plan has to keep them."""
        return tuple(row.known for row in self.batches if row.state is not State.MERGED)


def state_file(root: Path) -> Path:
    """Where the state of a campaign of the project at ``root`` is kept."""
    return root / journal.FOLDER / FILE


def load(file: Path) -> Campaign | None:
    """The campaign in ``file``, None where there is no such file. Raises StateError."""
    document = _document(file)
    if document is None:
        return None
    data = document.unwrap()
    version = data.get("version")
    if type(version) is not int:
        raise StateError(f"{file}: not a campaign of torchless: it has no version")
    if version > VERSION:
        raise StateError(
            f"{file}: written by a newer torchless (version {version}, and this one knows {VERSION}): update"
        )
    try:
        head = dict(data.get("campaign", {}))
        rows = tuple(_row(row) for row in data.get("batch", []))
        history = tuple(Step(**step) for step in data.get("history", []))
        settings = dict(head.get("settings", {}))
        found = Campaign(str(head.get("base", "")), str(head.get("torchless", "")), settings, rows, history)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"{file}: damaged ({error}): mend it, or take it back from git") from None
    names = [row.name for row in found.rows]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise StateError(f"{file}: two batches are called {twice!r}: mend it, or take it back from git")
    return found


def save(file: Path, campaign: Campaign) -> None:
    """Put ``campaign`` into ``file``: all of it, or the file is as it was. Raises StateError."""
    document = _document(file)
    if document is None:
        document = tomlkit.document()
        document.add(tomlkit.comment(_HEAD))
        document.add("version", tomlkit.item(VERSION))
    document["version"] = VERSION
    head = document.setdefault("campaign", tomlkit.table())
    head["base"], head["torchless"] = campaign.base, campaign.torchless
    _fill(head, "settings", campaign.settings)
    batches = _tables(document.get("batch"))
    rows = tomlkit.aot()
    for row in campaign.rows:
        rows.append(_table(batches.get(row.name), _data(row)))
    document["batch"] = rows
    steps = tomlkit.aot()
    for step in campaign.history:
        steps.append(_table(None, {f.name: getattr(step, f.name) for f in fields(step)}))
    document["history"] = steps
    try:
        file.parent.mkdir(exist_ok=True)
        journal.hide(file.parent)
        disk.replace(file, _BLANK.sub("\n\n", tomlkit.dumps(document)).encode(), _MODE)
    except OSError as error:
        raise StateError(f"{file}: cannot be written: {journal.reason(error)}") from None


def _document(file: Path) -> tomlkit.TOMLDocument | None:
    try:
        return tomlkit.parse(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"{file}: cannot be read: {journal.reason(error)}") from None
    except (UnicodeDecodeError, TOMLKitError) as error:
        line = " ".join(str(error).split())
        raise StateError(f"{file}: not valid TOML: {line}: mend it, or take it back from git") from None


def _row(data: Mapping[str, Any]) -> Row:
    """A row of the file; what it leaves out has its default, and what this version does not know is a TypeError."""
    values: dict[str, Any] = {key.replace("-", "_"): value for key, value in data.items()}
    for key, value in values.items():
        if isinstance(value, list):
            values[key] = tuple(str(each) for each in value)
    values["state"] = State(values["state"])
    row = Row(**values)
    if not isinstance(row.name, str) or type(row.number) is not int:
        raise ValueError("a batch without a name and a number")
    return row


def _data(row: Row) -> dict[str, Any]:
    """What the file says of a batch: nothing that is empty."""
    out: dict[str, Any] = {}
    for each in fields(row):
        value = getattr(row, each.name)
        if each.name == "state":
            value = value.value
        if value or each.name in ("name", "number", "state"):
            out[each.name.replace("_", "-")] = list(value) if isinstance(value, tuple) else value
    return out


def _tables(found: object) -> dict[str, Table]:
    """The tables of the file by the name of their batch."""
    return {str(table["name"]): table for table in found if "name" in table} if isinstance(found, AoT) else {}


def _table(old: Table | None, data: Mapping[str, Any]) -> Table:
    """``old`` with just the keys of ``data``, its comments kept."""
    table = old if old is not None else tomlkit.table()
    for key in [key for key in table if key not in data]:
        table.remove(key)
    for key, value in data.items():
        if key not in table or table[key] != value:
            _put(table, key, value)
    return table


def _put(table: Table, key: str, value: Any) -> None:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        inline.update(dict(value))
        table[key] = inline
    elif isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 3:
        array = tomlkit.array()
        array.extend(value)
        table[key] = array.multiline(True)
    else:
        table[key] = value


def _fill(head: Any, key: str, data: Mapping[str, Any]) -> None:
    """Let the table ``key`` of ``head`` hold just ``data``."""
    table = tomlkit.table()
    for name, value in data.items():
        table[name] = list(value) if isinstance(value, tuple) else value
    head[key] = table
