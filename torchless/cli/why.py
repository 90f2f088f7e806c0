"""``torchless why``: on which ways a translation unit comes to a header, and what each step of them costs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchless import config
from torchless.cli.output import emit, say
from torchless.errors import UsageError
from torchless.exitcodes import NOTHING_LEFT
from torchless.options import CheckOptions
from torchless.report.color import painter, wants_color
from torchless.why import Reading, explain_reading

if TYPE_CHECKING:
    from torchless.front_end import Timing

_MOST_WAYS = 20


@click.command()
@click.argument("file", type=click.Path())
@click.argument("header", default="")
@click.option("--all", "every_way", is_flag=True, help="All ways to the header, not only a shortest one.")
@click.option("--limit", type=click.IntRange(1), default=_MOST_WAYS, show_default=True, help="Ways that --all lists.")
@click.option("--time", "timed", is_flag=True, help="Measure the front end over each header (needs a clang++).")
@click.option("--cache/--no-cache", default=None, help="Reuse the index of earlier runs.")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Further include folder (repeatable).")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Further define (repeatable).")
@click.option("--arch", metavar="GFX", help="Architecture of the device pass (default gfx942).")
@click.option("--heavy", multiple=True, metavar="PATTERN=KIND", help="Watch these headers, too (repeatable).")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="What stdout holds.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Leave out what the words mean.")
@click.option("--verbose", "-v", is_flag=True, help="Say how lines were measured; show the trace of an internal error.")
@click.pass_obj
def why(
    seen: dict[str, Any],
    /,
    file: str,
    header: str,
    every_way: bool,
    limit: int,
    timed: bool,
    output_format: str,
    color: str,
    quiet: bool,
    verbose: bool,
    **flags: Any,
) -> int:
    """Say on which way the source FILE comes to HEADER, and what it would save to take a step of it out.

    Without HEADER: to every heavy header. HEADER is a path or the end of one (torch/all.h), or a folder (torch/).
    """
    seen["verbose"] = verbose
    start = Path.cwd()
    flags["include_dirs"] = tuple(str(start / folder) for folder in flags["include_dirs"])
    options = config.merge(config.load_config(start), flags, CheckOptions((file,)))
    reading = explain_reading(options, start, header, limit if every_way else 1)
    timings = _measured(reading) if timed else {}

    from torchless.report import why as report

    if output_format == "json":
        emit(report.to_json(reading, timings).encode("ascii"))
    else:
        text = report.text(reading, timings, painter(wants_color(color, sys.stdout)))
        emit(text.encode("utf-8", "surrogateescape"))
        if not quiet:
            say(report.LEGEND + (f"{reading.weights}\n" if verbose else ""))
    return NOTHING_LEFT


def _measured(reading: Reading) -> dict[str, Timing]:
    """How long the front end takes over each header, by header."""
    from torchless.front_end import time_headers  # here and below: nobody else pays for it
    from torchless.verify.compilers import find_compiler

    compiler = find_compiler()
    if compiler is None:
        raise UsageError("--time needs a clang++ 17 or newer: install one, or name it in TORCHLESS_CLANG")
    headers = dict.fromkeys(reason.header for each in reading.passes for reason in each.why.reasons)
    specs = [each.why.spec for each in reading.passes if not each.why.spec.device]
    if not headers or not specs:
        return {}
    spelled = [f"<{header}>" for header in headers]
    timings = time_headers(compiler.path, specs[0], Path(reading.root), spelled)
    say(f"front end: {compiler.version} ({compiler.path})\n")
    return dict(zip(headers, timings, strict=True))
