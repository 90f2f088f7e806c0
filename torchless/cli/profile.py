"""``torchless profile``: what do these units cost, what of it is torch, and what did a change buy?"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from torchless import profiling
from torchless.cli.output import emit, fail, format_of, require_place, save, say
from torchless.errors import UsageError
from torchless.exitcodes import FAILED, NOTHING_LEFT
from torchless.profile.model import COMPILE, FRONT_END, Profile
from torchless.profile.select import FLAGS, Wanted
from torchless.report.color import Paint, painter, wants_color

FORMATS = ("text", "json", "markdown", "html")


@click.command()
@click.argument("names", nargs=-1, metavar="[MODULE|PATH]...")
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Profile this module (repeatable).")
@click.option("--compare", nargs=2, metavar="BEFORE AFTER", help="Git revisions, . (as it is), or results (.json).")
@click.option("--flags", type=click.Choice(FLAGS), default="auto", show_default=True, help="Whose compile commands.")
@click.option(
    "--build-file", "ninja", default="", metavar="FILE", help="A build.ninja (default: aiter's of the module)."
)
@click.option("--compile-commands", "database", default="", metavar="FILE", help="A compile_commands.json.")
@click.option(
    "--headers",
    type=click.Choice(["auto", "stubs", "system"]),
    default="auto",
    help="For derived commands; auto: real torch where this Python has it.",
)
@click.option("--offload-arch", "arches", multiple=True, metavar="GFX", help="Architecture (repeatable).")
@click.option(
    "--depth",
    type=click.Choice(["auto", FRONT_END, COMPILE]),
    default="auto",
    help="How far to compile; auto: all the way only where nothing is stood in for.",
)
@click.option("--trials", type=click.IntRange(0), default=1, show_default=True, help="Runs of each; 0: lines alone.")
@click.option("--build", is_flag=True, help="Build the modules through aiter's JIT, too, end to end (needs ROCm).")
@click.option("--build-trials", type=click.IntRange(1), default=3, show_default=True, help="Builds of each.")
@click.option("--python", default="", metavar="FILE", help="The interpreter that has aiter's dependencies.")
@click.option("--max-jobs", type=click.IntRange(1), metavar="N", help="MAX_JOBS of the build that is reckoned with.")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, metavar="N", help="Compilers at a time; 0: per core.")
@click.option("--keep-going", is_flag=True, help="Go on with the other units when one fails.")
@click.option("--verification", metavar="FILE", help="Show this result of `verify`, too (markdown, html).")
@click.option("--cache/--no-cache", default=True, help="Reuse the index of earlier runs.")
@click.option("--output-format", type=click.Choice(FORMATS), help="Default: by the end of FILE, else text.")
@click.option("--output-file", "-o", metavar="FILE", help="Print into this file instead of stdout.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Leave out what the words mean.")
@click.option("--verbose", "-v", is_flag=True, help="Explain the thresholds; show the trace of an internal error.")
@click.pass_obj
def profile(
    seen: dict[str, Any],
    /,
    names: tuple[str, ...],
    modules: tuple[str, ...],
    compare: tuple[str, str] | None,
    arches: tuple[str, ...],
    max_jobs: int | None,
    verification: str | None,
    output_format: str | None,
    output_file: str | None,
    color: str,
    quiet: bool,
    verbose: bool,
    **flags: Any,
) -> int:
    """Measure what the sources of modules or paths cost: preprocessed lines by header, and seconds, for both passes.

    Commands come from aiter's build folder, from compile_commands.json, or are derived. With --compare two versions are
    measured in turns, A B A B. Over stand-ins for headers only front ends are measured, and called that. Exit code 2
    when a unit fails: the first one is told at once, and stops what is queued.
    """
    seen["verbose"] = verbose
    require_place(output_file)
    start = Path.cwd()
    form = output_format or format_of(output_file)
    shown = _verification(start, verification)
    wanted_flags = {key: flags.pop(key) for key in ("flags", "ninja", "database", "headers", "depth")}
    if wanted_flags["ninja"] and wanted_flags["flags"] == "auto":
        wanted_flags["flags"] = "ninja"
    if wanted_flags["database"] and wanted_flags["flags"] == "auto":
        wanted_flags["flags"] = "database"
    wanted = Wanted(names, modules, arches=arches or ("gfx942",), **wanted_flags)
    options = profiling.ProfileOptions(wanted, compare or None, max_jobs=max_jobs or 0, **flags)
    found = profiling.profile(options, start, lambda stage, done, total: None, _complain)
    data = _printed(found, form, shown, painter(wants_color(color, sys.stdout)), verbose)
    if output_file in (None, "-"):
        emit(data.encode("utf-8", "surrogateescape"))
    else:
        save(data.encode("utf-8", "surrogateescape"), start / str(output_file))
    if form == "text" and not quiet:
        from torchless.report.profiled import LEGEND

        say(LEGEND)
    failed = [problem for each in found for build in each.builds if (problem := build.problem)]
    return FAILED if failed or any(each.problems for each in found) else NOTHING_LEFT


def _complain(problem: str) -> None:
    fail(problem)


def _verification(start: Path, name: str | None) -> dict[str, Any] | None:
    if name is None:
        return None
    try:
        found = json.loads((start / name).read_bytes())
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from None
    except ValueError:
        raise UsageError(f"{name}: not JSON; `torchless verify -o {name}` writes it") from None
    if not isinstance(found, dict) or not {"modules", "compared_with"} <= set(found):
        raise UsageError(f"{name}: no result of `torchless verify --output-format json`")
    return found


def _printed(
    found: Sequence[Profile], form: str, verification: dict[str, Any] | None, paint: Paint, verbose: bool
) -> str:
    if form == "json":
        from torchless.report.profile_json import to_json

        return to_json(found)
    if form == "html":
        from torchless.profile.diffs import diffs
        from torchless.report.page import page

        return page(found, verification, diffs(found))
    from torchless.report import profiled

    if form == "markdown":
        from torchless.report.verified import markdown_of

        return profiled.markdown(found, markdown_of(verification) if verification else "")
    return profiled.text(found, paint, verbose)
