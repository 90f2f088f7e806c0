"""The journals of earlier writes: found from the folder that one stands in, taken back when a run was killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from torchless.report.wording import plural
from torchless.text import journal, writer


def recover(paths: Sequence[Path]) -> None:
    """Take back what a run that was killed left half done around ``paths``, before anything is read."""
    for root in sorted({root for path in paths if (root := journalled(path))}):
        if writer.pending(root):
            report = writer.recover(root)
            click.echo(f"Took an interrupted write back ({plural(len(report.restored), 'file')}).", err=True)
            for path in report.left:
                click.echo(f"warning: {path} was changed meanwhile and is left as it is", err=True)


def journalled(start: Path) -> Path | None:
    """The nearest folder from ``start`` upward in which a write left its journal."""
    return next((folder for folder in (start, *start.parents) if (folder / journal.FOLDER).is_dir()), None)
