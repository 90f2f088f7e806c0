"""``torchless report``: where a campaign stands, as text, Markdown, JSON, CSV or one page of HTML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchless import config
from torchless.campaign.planning import root_of
from torchless.campaign.running import Asked, run
from torchless.campaign.standing import Standing, standing
from torchless.campaign.state import load, state_file
from torchless.cli.journals import recover
from torchless.cli.output import emit, format_of, save
from torchless.cli.plan import exit_code, options_of
from torchless.cli.rules import rule_names
from torchless.report.color import Paint, painter, wants_color
from torchless.report.terminal import progress_bar

FORMATS = ("text", "json", "markdown", "html", "csv")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--jobs", "-j", type=click.IntRange(0), metavar="N", help="Worker processes; 0: one per core.")
@click.option("--cache/--no-cache", default=None, help="Reuse facts and checks of earlier runs.")
@click.option("--output-format", type=click.Choice(FORMATS), help="Default: by the end of FILE, else text.")
@click.option("--output-file", "-o", metavar="FILE", help="Print into this file instead of stdout.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when something is left.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@click.option("--verbose", "-v", is_flag=True, help="List everything; show the trace of an internal error.")
@click.pass_obj
def report(
    seen: dict[str, Any],
    /,
    paths: tuple[str, ...],
    jobs: int | None,
    cache: bool | None,
    output_format: str | None,
    output_file: str | None,
    color: str,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Say where the migration of PATHS stands: modules, constructs, what is blocked and why, what is next.

    The campaign in .torchless/campaign.toml says what was planned and made; without one, what could be. Nothing is
    written but FILE. CSV holds the coverage by construct. The exit code is 1 while something is left.
    """
    seen["verbose"] = verbose
    start = Path.cwd()
    root = root_of(paths or (".",), start)
    campaign = load(state_file(root))
    chosen = dict(campaign.settings) if campaign is not None else {}
    if paths:
        chosen["paths"] = [str(start / path) for path in paths]
    options = options_of(config.load_config(start), chosen, root, {"jobs": jobs, "cache": cache})
    recover([root])
    with progress_bar(color, sys.stderr, quiet) as progress:
        ran = run(options, Asked(), root, progress)
        found = standing(ran.plan, ran.campaign, options.migrate, root, rule_names(options.migrate.rule_files))
    form = output_format or ("csv" if Path(output_file or "").suffix == ".csv" else format_of(output_file))
    in_color = wants_color(color, sys.stdout) if output_file in (None, "-") else color == "always"
    data = _printed(found, form, painter(in_color), verbose).encode("utf-8", "surrogateescape")
    if output_file in (None, "-"):
        emit(data)
    else:
        save(data, start / str(output_file))
    return 0 if exit_zero else exit_code(ran)


def _printed(found: Standing, form: str, paint: Paint, verbose: bool) -> str:
    if form == "html":
        from torchless.report.campaign_page import page

        return page(found)
    from torchless.report import campaign_standing

    if form == "text":
        return campaign_standing.text(found, paint, verbose)
    printers = {
        "json": campaign_standing.to_json,
        "markdown": campaign_standing.markdown,
        "csv": campaign_standing.to_csv,
    }
    return printers[form](found)
