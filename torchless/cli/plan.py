"""``torchless plan``: units in batches, as a table, as patches or as branches, and where each of them stands."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from torchless import config
from torchless.campaign.emitting import KINDS, How
from torchless.campaign.model import GroupBy, Limits, State
from torchless.campaign.planning import PlanOptions, root_of
from torchless.campaign.running import Asked, Ran, run
from torchless.campaign.state import Campaign, load, state_file
from torchless.cli.journals import recover
from torchless.cli.output import emit, say
from torchless.cli.rules import rule_names
from torchless.errors import UsageError
from torchless.exitcodes import FAILED, NOTHING_LEFT, SOMETHING_LEFT
from torchless.options import MigrateOptions
from torchless.report.campaign import print_plan
from torchless.report.campaign_letter import FIELDS, TITLE, Letter
from torchless.report.terminal import make_page, page_text, progress_bar

_RUNGS = "types,closure"
_MIGRATE = ("modules", "select", "ignore", "unsafe", "checks", "opus_guard")
_KEPT = (*_MIGRATE, "group_by", "max_files", "max_lines", "profile", "title", "trailers", "sign_off", "prefix", "rungs")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--group-by", type=click.Choice([by.value for by in GroupBy]), help="What a batch has in common (module)."
)
@click.option("--max-files", type=click.IntRange(0), metavar="N", help="No batch of several units with more files.")
@click.option("--max-lines", type=click.IntRange(0), metavar="N", help="No batch of several units with more lines.")
@click.option("--profile", metavar="FILE", help="Order by the seconds in this result of `torchless profile` (.json).")
@click.option("--write", "-w", is_flag=True, help="Keep the plan in .torchless/campaign.toml.")
@click.option(
    "--update", is_flag=True, help="Bring the campaign up to date: what was merged, what has to be made anew."
)
@click.option("--emit", "form", type=click.Choice(KINDS), help="Make the batches: patches DIR, commits or branches.")
@click.option("--batch", "names", multiple=True, metavar="NAME", help="Make only this batch (repeatable).")
@click.option("--next", "following", type=click.IntRange(1), metavar="N", help="Make only the next N batches.")
@click.option("--branch-prefix", "prefix", metavar="TEXT", help="What branch names begin with (torchless/).")
@click.option("--title", metavar="TEMPLATE", help=f"Title of each batch; may name {', '.join(FIELDS)} in braces.")
@click.option("--trailer", "trailers", multiple=True, metavar="'KEY: VALUE'", help="A trailer for each (repeatable).")
@click.option("--signoff/--no-signoff", "sign_off", default=None, help="Sign each batch off, in your name.")
@click.option("--verify", "rungs", metavar="RUNGS", help=f"Ask these rungs of each batch, or none ({_RUNGS}).")
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Plan this module (repeatable).")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules: TL2,TL301 (prefixes work).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Without these rules.")
@click.option("--unsafe/--no-unsafe", default=None, help="Also plan fixes that may shift the meaning.")
@click.option("--checks", type=click.Choice(config.CHECKS), help="A failing check aborts (aiter) or throws.")
@click.option(
    "--opus-guard",
    type=click.Choice(config.OPUS_GUARD),
    help="Where to mend the opus header's c10 leak: at its root, by defines, or (auto) the root if it is selected.",
)
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Skip files that match (gitignore syntax).")
@click.option("--jobs", "-j", type=click.IntRange(0), metavar="N", help="Worker processes; 0: one per core.")
@click.option("--cache/--no-cache", default=None, help="Reuse facts and checks of earlier runs.")
@click.option("--output-format", type=click.Choice(["text", "json", "csv"]), default="text", help="What stdout holds.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Print no words, only the plan and errors.")
@click.option("--verbose", "-v", is_flag=True, help="Show the trace of an internal error.")
@click.pass_obj
def plan(
    seen: dict[str, Any],
    /,
    paths: tuple[str, ...],
    write: bool,
    update: bool,
    form: str | None,
    names: tuple[str, ...],
    following: int | None,
    jobs: int | None,
    cache: bool | None,
    exclude: tuple[str, ...],
    output_format: str,
    color: str,
    quiet: bool,
    verbose: bool,
    **flags: Any,
) -> int:
    """Plan the migration of PATHS in batches that one person can review; the plan goes to stdout.

    With --emit patches the last of PATHS is the folder for them. Branches and commits are made without a work tree and
    without hooks; nothing is checked out. The exit code is 1 when batches are left to make or to merge.
    """
    seen["verbose"] = verbose
    start = Path.cwd()
    folder = ""
    if form == "patches":
        if not paths:
            raise UsageError("--emit patches: name the folder for them behind the paths")
        *others, folder = paths
        paths = tuple(others)
    if (names or following) and not form:
        raise UsageError("--batch and --next choose what --emit makes: pass that, too")
    flags = {name: config.split_codes(v) if name in ("select", "ignore") else v for name, v in flags.items()}
    settings = load_settings(start)
    root = root_of(paths or (".",), start)
    campaign = load(state_file(root))
    if update and campaign is None:
        raise UsageError("there is no campaign here yet: `torchless plan --write` starts one")
    kept = dict(campaign.settings) if campaign is not None and (update or form) else {}
    given = {name: v for name, v in flags.items() if name in _KEPT and v not in (None, ())}
    chosen = {**kept, **given}
    if paths:
        chosen["paths"] = [_below(root, start / path) for path in paths]
    if given.get("profile"):
        chosen["profile"] = _below(root, start / str(given["profile"]))
    if form:
        chosen |= {"emit": form, "folder": _below(root, start / folder) if folder else ""}
    options = options_of(settings, chosen, root, {"jobs": jobs, "cache": cache, "exclude": exclude})
    config.check_codes((*options.migrate.select, *options.migrate.ignore), rule_names(options.migrate.rule_files))
    recover([start / path for path in (*options.migrate.paths, ".")])
    asked = _asked(chosen, root, write or update or bool(form), bool(form), names, following or 0, campaign)
    with progress_bar(color, sys.stderr, quiet) as progress:
        ran = run(options, asked, start, progress)
    _print(ran, output_format, color)
    if not quiet and asked.how is not None and form:
        say(_hint(ran, asked.how))
    return exit_code(ran)


def load_settings(start: Path) -> config.Config:
    """The settings file that applies to ``start``. Raises ConfigError."""
    return config.load_config(start)


def exit_code(ran: Ran) -> int:
    """2 when a file failed, 1 while a batch is left to make, to merge or to unblock, else 0."""
    if ran.plan.files_failed:
        return FAILED
    return SOMETHING_LEFT if ran.plan.batches else NOTHING_LEFT


def options_of(
    settings: config.Config, chosen: Mapping[str, Any], root: Path, further: Mapping[str, Any]
) -> PlanOptions:
    """What to plan: ``chosen`` by option, over ``settings``; paths in it are seen from ``root``. Raises UsageError."""
    own: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in chosen.items()}
    named = tuple(str(root / path) for path in own.get("paths", ()))
    paths = named or (() if own.get("modules") else (str(root),))
    flags = {name: own.get(name) for name in _MIGRATE} | dict(further)
    migrate = config.merge(settings, flags, MigrateOptions(paths))
    profile = own.get("profile")
    return PlanOptions(
        migrate,
        GroupBy(own.get("group_by", GroupBy.MODULE.value)),
        Limits(int(own.get("max_files", 0)), int(own.get("max_lines", 0))),
        root / profile if profile else None,
    )


def _asked(
    chosen: Mapping[str, Any],
    root: Path,
    keep: bool,
    makes: bool,
    names: tuple[str, ...],
    following: int,
    campaign: Campaign | None,
) -> Asked:
    kind = str(chosen.get("emit", ""))
    how = None
    if kind and keep:
        letter = Letter(chosen.get("title", TITLE), tuple(chosen.get("trailers", ())), _signer(chosen, root))
        how = How(kind, root / str(chosen.get("folder", "")), str(chosen.get("prefix", "torchless/")), letter)
    rungs = str(chosen.get("rungs", _RUNGS))
    old = dict(campaign.settings) if campaign is not None else {}
    words = ("title", "trailers", "sign_off")
    again = makes and any(_plain(old.get(w)) != _plain(chosen.get(w)) for w in words) and bool(old)
    return Asked(
        keep=keep,
        how=how,
        names=names,
        following=following,
        emit=makes,
        again=again,
        rungs=_rungs(rungs),
        words=_words(chosen),
        settings={name: _plain(value) for name, value in chosen.items() if value not in ("", None)},
    )


def _below(root: Path, path: Path) -> str:
    """``path`` as seen from ``root``, so that the state file means the same on another machine."""
    return Path(os.path.relpath(path.resolve(), root.resolve())).as_posix()


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _signer(chosen: Mapping[str, Any], root: Path) -> str:
    """Whose sign-off it is: the user's, by git, when that was asked for."""
    if not chosen.get("sign_off"):
        return ""
    from torchless.campaign.repository import open_repository

    return open_repository(root).identity()


def _rungs(text: str) -> tuple[str, ...]:
    if text in ("", "none"):
        return ()
    from torchless.verification import rungs_of  # what verifies is imported by whoever asks for it

    return rungs_of(text)


def _words(chosen: Mapping[str, Any]) -> tuple[str, ...]:
    """The words of a command line that make the same plan."""
    out = [str(path) for path in chosen.get("paths", ())]
    for flag, name in (("--module", "modules"), ("--select", "select"), ("--ignore", "ignore")):
        out += [word for value in chosen.get(name, ()) for word in (flag, str(value))]
    for flag, name in (("--checks", "checks"), ("--opus-guard", "opus_guard"), ("--group-by", "group_by")):
        out += [flag, str(chosen[name])] if chosen.get(name) else []
    for flag, name in (("--max-files", "max_files"), ("--max-lines", "max_lines"), ("--profile", "profile")):
        out += [flag, str(chosen[name])] if chosen.get(name) else []
    return (*out, *(["--unsafe"] if chosen.get("unsafe") else []))


def _print(ran: Ran, output_format: str, color: str) -> None:
    if output_format == "text":
        page = make_page(color, sys.stdout)
        print_plan(page, ran.plan, ran.campaign)
        emit(page_text(page).encode("utf-8", "surrogateescape"))
        return
    from torchless.report.campaign_json import plan_csv, plan_json

    data = plan_json(ran.plan, ran.campaign) if output_format == "json" else plan_csv(ran.plan, ran.campaign)
    emit(data.encode("utf-8", "surrogateescape"))


def _hint(ran: Ran, how: How) -> str:
    """What to do with what was made."""
    rows = ran.campaign.batches if ran.campaign is not None else ()
    made = [row for row in rows if row.state is State.EMITTED]
    if not made:
        return "Nothing was made.\n"
    if how.kind == "patches":
        files = [how.folder / row.place for row in made]
        keeps = " --keep-cr" if any(b"\r\n" in file.read_bytes() for file in files if file.is_file()) else ""
        return f"Apply them in order: git am --keep-non-patch{keeps} {how.folder}/*.patch\n"
    if how.kind == "commits":
        return f"Look at them: git log -p HEAD..{made[0].place}\n"
    one = made[0].place
    return f"Look at one: git log -p HEAD..{one}; in a work tree of its own: git worktree add DIR {one}\n"
