"""``torchless init``: settings, the hook entry and a baseline for a checkout, shown before they are written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchless.cli.output import emit, save, say
from torchless.exitcodes import NOTHING_LEFT, SOMETHING_LEFT
from torchless.report.color import wants_color
from torchless.report.text import colored_diff
from torchless.report.wording import plural
from torchless.text.diff import unified_diff

_URL = "https://github.com/your-fork/torchless"


@click.command()
@click.option("--write", "-w", is_flag=True, help="Write the files instead of showing them.")
@click.option("--hooks/--no-hooks", default=True, help="An entry in .pre-commit-config.yaml.")
@click.option("--hooks-url", default=_URL, show_default=True, metavar="URL", help="Where pre-commit finds torchless.")
@click.option("--baseline/--no-baseline", "known", default=True, help="Let today's findings be known.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print no words, only the diff and errors.")
@click.option("--verbose", "-v", is_flag=True, help="Show the trace of an internal error.")
@click.pass_obj
def init(
    seen: dict[str, Any],
    /,
    write: bool,
    hooks: bool,
    hooks_url: str,
    known: bool,
    color: str,
    quiet: bool,
    verbose: bool,
) -> int:
    """Set a checkout up: torchless.toml, the pre-commit hook, and a baseline of what is there today.

    Without --write the files are only shown, as a diff. What is there already stays. The exit code is 1 while something
    is to be written.
    """
    from torchless.initial import propose  # here: it brings the whole check along

    seen["verbose"] = verbose
    found = propose(Path.cwd(), hooks_url, lambda stage, done, total: None, hooks=hooks, known=known)
    encoded = {path: text.encode("utf-8", "surrogateescape") for path, text in found.texts.items()}
    if write:
        for path, data in sorted(encoded.items()):
            save(data, found.root / path)
    else:
        diffs = b"".join(_diff(path, found.old[path], data) for path, data in sorted(encoded.items()))
        emit(colored_diff(diffs) if wants_color(color, sys.stdout) else diffs)
    if not quiet:
        say("".join(f"note: {note}\n" for note in found.notes))
        if not encoded:
            say("Nothing to do.\n")
        else:
            say(
                f"{'Wrote' if write else 'Would write'} {plural(len(encoded), 'file')}: {', '.join(sorted(encoded))}.\n"
            )
    return SOMETHING_LEFT if encoded and not write else NOTHING_LEFT


def _diff(path: str, old: str, new: bytes) -> bytes:
    """The diff of a file, which is a new one where there is no ``old`` text."""
    diff = unified_diff(path, old.encode("utf-8", "surrogateescape"), new)
    return diff if old else b"--- /dev/null\n" + diff.partition(b"\n")[2]
