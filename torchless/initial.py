"""`torchless init`: what a checkout needs to keep torch out from now on, worked out before anything is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from torchless import __version__, baseline
from torchless.check import check
from torchless.config import load_config
from torchless.errors import UsageError
from torchless.options import CheckOptions, Progress
from torchless.project.discover import ProjectError, locate

SETTINGS = "torchless.toml"
HOOKS = ".pre-commit-config.yaml"
_HEAD = "Settings of torchless; its README lists every key under Configuration."
_HOOK = """\
  - repo: {url}
    rev: v{version}
    hooks:
      - id: torchless-check
"""
_INDENT = re.compile(r"^( *)- repo:", re.M)


@dataclass(frozen=True)
class Proposal:
    """What would be written: whole texts by path below ``root``, ``old`` texts ("" for a new file), and notes."""

    root: Path
    texts: Mapping[str, str]
    old: Mapping[str, str]
    notes: tuple[str, ...]


def propose(start: Path, hooks_url: str, progress: Progress, *, hooks: bool = True, known: bool = True) -> Proposal:
    """The settings, the hook entry and the baseline for the checkout around ``start``; what is there already stays.

    ``hooks_url`` is where pre-commit finds torchless. Raises UsageError.
    """
    try:
        root = locate(start)
    except ProjectError as error:
        raise UsageError(str(error)) from None
    texts: dict[str, str] = {}
    notes = []
    config = load_config(root)
    if config.file:
        notes.append(f"{config.file} has settings already: it is left as it is")
    else:
        texts[SETTINGS] = _settings(known)
    if hooks:
        text, note = _hooks(root, hooks_url)
        if text:
            texts[HOOKS] = text
        if note:
            notes.append(note)
    if known and not config.values.get("baseline"):
        file = root / baseline.DEFAULT
        if file.exists():
            notes.append(f"{baseline.DEFAULT} is there already: `torchless check --write-baseline` renews it")
        else:
            result = check(CheckOptions((str(root),), baseline=str(file), record=True), root, progress)
            texts[baseline.DEFAULT] = baseline.render(result.debts).decode("utf-8", "surrogateescape")
            count = sum(debt.count for debt in result.debts)
            notes.append(f"{count:,} findings of today are known from now on; new ones count")
    old = {path: (root / path).read_text("utf-8") if (root / path).exists() else "" for path in texts}
    return Proposal(root, texts, old, tuple(notes))


def _settings(known: bool) -> str:
    document = tomlkit.document()
    document.add(tomlkit.comment(_HEAD))
    throws = '"throw": a failing check throws instead of ending the process'
    document.add("checks", tomlkit.item("aiter").comment(throws))
    if known:
        document.add("baseline", tomlkit.item(baseline.DEFAULT).comment("only what is new counts"))
    return tomlkit.dumps(document)


def _hooks(root: Path, url: str) -> tuple[str, str]:
    """The text of the hooks' file with ours among them, "" when it stays; and a note."""
    file = root / HOOKS
    entry = _HOOK.format(url=url, version=__version__)
    if not file.exists():
        return f"repos:\n{entry}", ""
    text = file.read_text("utf-8")
    if "torchless-check" in text:
        return "", f"{HOOKS} has the hook already"
    found = _INDENT.search(text)
    last = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "#", "-"))]
    if found is None or not last or not last[-1].startswith("repos:"):
        return "", f"{HOOKS} is laid out in a way that torchless does not extend; add by hand:\n{entry}"
    shift = len(found.group(1)) - 2
    lines = [f"{' ' * shift}{line}" if shift >= 0 else line[-shift:] for line in entry.splitlines()]
    return f"{text.rstrip(chr(10))}\n{chr(10).join(lines)}\n", ""
