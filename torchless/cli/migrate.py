"""``torchless migrate``: the diff, or with --write the change itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchless import api, config, git
from torchless.cli.journals import recover
from torchless.cli.output import emit, say
from torchless.cli.rules import rule_names
from torchless.exitcodes import NOTHING_LEFT
from torchless.report import json as json_report
from torchless.report.color import wants_color
from torchless.report.outcome import Outcome, judge
from torchless.report.terminal import make_page, page_text, progress_bar
from torchless.report.text import colored_diff, print_report
from torchless.text import diff, writer


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--write", "-w", is_flag=True, help="Apply the changes instead of printing a diff.")
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Migrate this module (repeatable).")
@click.option(
    "--select", multiple=True, metavar="CODES", help="Only these: TL2,TL301 (prefixes), TL11 (mends a check)."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Without these rules.")
@click.option("--unsafe/--no-unsafe", default=None, help="Also apply fixes that may shift the meaning.")
@click.option("--verify", "rungs", metavar="RUNGS", help="Back out units that fail these rungs: device,trace ...")
@click.option("--jobs", "-j", type=click.IntRange(0), metavar="N", help="Worker processes; 0: one per core.")
@click.option("--cache/--no-cache", default=None, help="Reuse facts and findings of earlier runs.")
@click.option("--headers", type=click.Choice(config.HEADERS), help="Parse over bundled stubs or the system's headers.")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Further include folder (repeatable).")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Further define (repeatable).")
@click.option("--arch", metavar="GFX", help="Architecture of the device pass (default gfx942).")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Skip files that match (gitignore syntax).")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude even files that are named outright.")
@click.option("--checks", type=click.Choice(config.CHECKS), help="A failing check aborts (aiter) or throws.")
@click.option("--assume-target/--no-assume-target", default=None, help="Dry run where the target headers are missing.")
@click.option(
    "--opus-guard",
    type=click.Choice(config.OPUS_GUARD),
    help="Where to mend the opus header's c10 leak: at its root, by defines, or (auto) the root if it is selected.",
)
@click.option("--all", "offer_all", is_flag=True, default=None, help="Offer also what gains little (TL51).")
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Rules of your own (repeatable).")
@click.option("--why-joined", nargs=2, metavar="A B", help="Only say why two entry points or modules move together.")
@click.option("--allow-dirty", is_flag=True, help="Let --write overwrite files with uncommitted changes.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="What stdout holds.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print no report, only data and errors.")
@click.option("--verbose", "-v", is_flag=True, help="List everything; show the trace of an internal error.")
@click.pass_obj
def migrate(
    seen: dict[str, Any],
    /,
    paths: tuple[str, ...],
    write: bool,
    rungs: str | None,
    why_joined: tuple[str, str] | None,
    allow_dirty: bool,
    output_format: str,
    color: str,
    quiet: bool,
    verbose: bool,
    **flags: Any,
) -> int:
    """Take torch out of the units defined in PATHS (default: the current folder): a diff, checked, on stdout.

    Nothing is written without --write. The edits that a unit needs elsewhere (headers, bindings, Python ops) come with
    it. Settings come from [tool.torchless] in pyproject.toml or from torchless.toml; flags win.
    """
    seen["verbose"] = verbose
    start = Path.cwd()
    for name in ("select", "ignore"):
        flags[name] = config.split_codes(flags[name])
    flags["include_dirs"] = tuple(str(start / folder) for folder in flags["include_dirs"])
    everything = () if flags["modules"] else (".",)
    options = config.merge(config.load_config(start), flags, api.MigrateOptions(paths or everything))
    names = rule_names(options.rule_files)
    config.check_codes((*options.select, *options.ignore), names)

    asked = _rungs(rungs)
    recover([start / path for path in (*paths, ".")])
    with progress_bar(color, sys.stderr, quiet) as progress:
        if asked and not why_joined:
            result = _verified(options, asked, start, progress, write, allow_dirty)
        else:
            result = api.migrate(options, start, progress, recalled=not why_joined)
    if why_joined:
        emit(f"{api.why_joined(result, *why_joined)}\n".encode())
        return NOTHING_LEFT
    if write:
        seen["writing"] = True
        _write(result, allow_dirty)
    outcome = judge(result, written=write and bool(result.changes))
    _print_data(outcome, output_format, color)
    if not quiet:
        page = make_page(color, sys.stderr)
        print_report(page, outcome, names, verbose)
        say(page_text(page))
    return outcome.exit_code


def _rungs(text: str | None) -> tuple[str, ...]:
    """The rungs that --verify names, none without it. Raises UsageError."""
    if text is None:
        return ()
    from torchless.verification import rungs_of  # what verifies is imported by whoever asks for it

    return rungs_of(text)


def _verified(
    options: api.MigrateOptions,
    rungs: tuple[str, ...],
    start: Path,
    progress: api.Progress,
    write: bool,
    allow_dirty: bool,
) -> api.MigrateResult:
    """The migration without the units that fail ``rungs``. What forbids a write is said before they are asked."""
    from torchless.backing_out import migrate_verified

    def admit(result: api.MigrateResult) -> None:
        if write:
            _require_writable(result, allow_dirty)

    return migrate_verified(options, rungs, start, progress, admit)


def _write(result: api.MigrateResult, allow_dirty: bool) -> None:
    """Put the changes on disk, all or none. Raises UsageError when that would not be safe, WriteError."""
    in_git = _require_writable(result, allow_dirty)
    if not result.changes:
        return
    writer.write_files(Path(result.root), result.changes)
    if not in_git:
        click.echo("Not in a git tree: `torchless undo` is the way back.", err=True)


def _require_writable(result: api.MigrateResult, allow_dirty: bool) -> bool:
    """Whether the changes lie in a git tree that can take them back. Raises UsageError when they may not be written."""
    if not result.mergeable:
        raise api.UsageError("--write: the checkout lacks the target's headers, so the result would not compile")
    dirty = () if allow_dirty or not result.changes else git.uncommitted(Path(result.root), result.changes)
    if dirty:
        few = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        raise api.UsageError(f"uncommitted changes in {few}: commit them, or pass --allow-dirty; nothing was written")
    return dirty is not None


def _print_data(outcome: Outcome, output_format: str, color: str) -> None:
    """Put the diff or the JSON object on stdout."""
    changes = outcome.result.changes
    diffs = {path: diff.unified_diff(path, c.old, c.new, c.created) for path, c in sorted(changes.items())}
    if output_format == "json":
        data = json_report.to_json(outcome, diffs).encode("ascii")
    elif outcome.written:
        data = b""
    else:
        data = b"".join(diffs.values())
        data = colored_diff(data) if wants_color(color, sys.stdout) else data
    emit(data)
