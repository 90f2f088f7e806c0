"""``torchless undo``: the last write, taken back from its journal."""

from __future__ import annotations

from pathlib import Path

import click

from torchless.cli.journals import journalled
from torchless.exitcodes import NOTHING_LEFT
from torchless.report.wording import plural
from torchless.text import writer


@click.command()
def undo() -> int:
    """Take the last --write back from its journal, without git; again for the one before it."""
    report = writer.undo(journalled(Path.cwd()) or Path.cwd())
    click.echo(f"Gave {plural(len(report.paths), 'file')} the old bytes back.", err=True)
    return NOTHING_LEFT
