"""The command line: parse, call, print, exit code; nothing else.

stdout holds data only (a diff, a JSON object, a page), stderr everything said to a person. Exit codes: 0 nothing to
do, or all written; 1 changes pending, or units left behind; 2 usage error, internal error, interrupt, or a file that
failed; 3 the check failed and a unit was backed out.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from torchless import __version__, api, config, git
from torchless.report import json as json_report
from torchless.report.outcome import FAILED, NOTHING_LEFT, Outcome, judge, plural
from torchless.report.terminal import make_page, page_text, progress_bar, wants_color
from torchless.report.text import colored_diff, print_report
from torchless.rules import docs
from torchless.rules.load import load_rules
from torchless.rules.model import RuleError
from torchless.text import diff, journal, writer

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run torchless with ``arguments`` (default: the process's own) and give the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    seen: dict[str, Any] = {}
    try:
        with torchless.make_context("torchless", words, obj=seen) as context:
            code: int = torchless.invoke(context)
        sys.stdout.flush()
        return code
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return FAILED
    except click.ClickException as error:
        return _fail(error.format_message())
    except (api.UsageError, git.GitError, RuleError, writer.WriteError) as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        undo = "; a write that was finished stands, `torchless undo` takes it back" if seen.get("writing") else ""
        return _fail(f"interrupted; no file is half written{undo}")
    except Exception as error:
        if seen.get("verbose"):
            traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        return _fail(f"internal error: {what} (run with -v for the trace; please report)")


def _fail(message: str) -> int:
    click.echo(f"torchless: error: {' '.join(message.split())}", err=True)
    return FAILED


@click.group(context_settings=_SETTINGS, no_args_is_help=True)
@click.version_option(__version__, prog_name="torchless", message="%(prog)s %(version)s")
def torchless() -> None:
    """Take heavy framework headers out of GPU launchers, automatically and provably safely."""


@torchless.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--write", "-w", is_flag=True, help="Apply the changes instead of printing a diff.")
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Migrate this module (repeatable).")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules: TL2,TL301 (prefixes work).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Without these rules.")
@click.option("--unsafe/--no-unsafe", default=None, help="Also apply fixes that may shift the meaning.")
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
@click.option("--opus-guard", type=click.Choice(config.OPUS_GUARD), help="Where to mend the opus header's c10 leak.")
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
    options = config.merge(config.load_config(start), flags, paths or everything)
    names = _rule_names(options.rule_files)
    config.check_codes((*options.select, *options.ignore), names)

    _recover([start / path for path in (*paths, ".")])
    with progress_bar(color, sys.stderr, quiet) as progress:
        result = api.migrate(options, start, progress, recalled=not why_joined)
    if why_joined:
        _emit(f"{api.why_joined(result, *why_joined)}\n".encode())
        return NOTHING_LEFT
    if write:
        seen["writing"] = True
        _write(result, allow_dirty)
    outcome = judge(result, written=write and bool(result.changes))
    _print_data(outcome, output_format, color)
    if not quiet:
        page = make_page(color, sys.stderr)
        print_report(page, outcome, names, verbose)
        _say(page_text(page))
    return outcome.exit_code


def _rule_names(rule_files: tuple[str, ...]) -> Mapping[str, str]:
    return {rule.code: rule.name for rule in load_rules(rule_files).rules}


def _recover(paths: Sequence[Path]) -> None:
    """Take back what a run that was killed left half done around ``paths``, before anything is read."""
    for root in sorted({root for path in paths if (root := _journalled(path))}):
        if writer.pending(root):
            report = writer.recover(root)
            click.echo(f"Took an interrupted write back ({plural(len(report.restored), 'file')}).", err=True)
            for path in report.left:
                click.echo(f"warning: {path} was changed meanwhile and is left as it is", err=True)


def _write(result: api.MigrateResult, allow_dirty: bool) -> None:
    """Put the changes on disk, all or none. Raises UsageError when that would not be safe, WriteError."""
    if not result.mergeable:
        raise api.UsageError("--write: the checkout lacks the target's headers, so the result would not compile")
    if not result.changes:
        return
    root = Path(result.root)
    dirty = () if allow_dirty else git.uncommitted(root, result.changes)
    if dirty:
        few = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        raise api.UsageError(f"uncommitted changes in {few}: commit them, or pass --allow-dirty; nothing was written")
    writer.write_files(root, result.changes)
    if dirty is None:
        click.echo("Not in a git tree: `torchless undo` is the way back.", err=True)


def _print_data(outcome: Outcome, output_format: str, color: str) -> None:
    """Put the diff or the JSON object on stdout."""
    changes = outcome.result.changes
    diffs = {path: diff.unified_diff(path, changes[path].old, changes[path].new) for path in sorted(changes)}
    if output_format == "json":
        data = json_report.to_json(outcome, diffs).encode("ascii")
    elif outcome.written:
        data = b""
    else:
        data = b"".join(diffs.values())
        data = colored_diff(data) if wants_color(color, sys.stdout) else data
    _emit(data)


def _emit(data: bytes) -> None:
    """Put ``data`` on stdout at once. A reader that stops early is no error; a full disk is a UsageError."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _forget_stdout()
    except OSError as error:
        _forget_stdout()
        raise api.UsageError(f"cannot write to stdout: {error.strerror}") from error


def _say(text: str) -> None:
    """Print for people, who may have stopped reading."""
    with suppress(BrokenPipeError):
        click.echo(text, err=True, nl=False, color=True)


def _forget_stdout() -> None:
    """Let what is still buffered for stdout go nowhere, so that the interpreter's own flush at exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@torchless.command()
@click.argument("code")
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Know rules of your own, too.")
def explain(code: str, rule_files: tuple[str, ...]) -> int:
    """Print the page of rule CODE: what it does, why, how safe its fix is, before and after."""
    names = _rule_names(rule_files)
    if code.upper() not in names:
        config.check_codes([code.upper()], names)
        raise api.UsageError(f"{code.upper()} stands for several rules: `torchless rules` lists them")
    _emit(docs.explain(code.upper(), rule_files).encode())
    return NOTHING_LEFT


@torchless.command()
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="What stdout holds.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Also list rules of your own.")
def rules(output_format: str, color: str, rule_files: tuple[str, ...]) -> int:
    """List all rules: code, name, tier, what it does."""
    listed = load_rules(rule_files).rules
    if output_format == "json":
        rows = [{"code": r.code, "name": r.name, "tier": r.tier.value, "summary": r.summary} for r in listed]
        _emit(f"{json.dumps(rows, indent=1)}\n".encode())
        return NOTHING_LEFT
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("code", "name", "tier"):
        table.add_column(title, no_wrap=True)
    table.add_column("what it does")
    for rule in listed:
        table.add_row(rule.code, rule.name, "blocker" if rule.blocks else rule.tier.value, Text(rule.summary))
    page = make_page(color, sys.stdout)
    page.print(table)
    _emit(page_text(page).encode())
    return NOTHING_LEFT


@torchless.command()
def undo() -> int:
    """Take the last --write back from its journal, without git; again for the one before it."""
    report = writer.undo(_journalled(Path.cwd()) or Path.cwd())
    click.echo(f"Gave {plural(len(report.paths), 'file')} the old bytes back.", err=True)
    return NOTHING_LEFT


def _journalled(start: Path) -> Path | None:
    """The nearest folder from ``start`` upward in which a write left its journal."""
    return next((folder for folder in (start, *start.parents) if (folder / journal.FOLDER).is_dir()), None)


if __name__ == "__main__":
    sys.exit(main())
