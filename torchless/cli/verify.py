"""``torchless verify``: is it still the same? Rung by rung, and what was not looked at is said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchless import verification
from torchless.cli.output import emit, format_of, require_place, save
from torchless.exitcodes import BACKED_OUT, NOTHING_LEFT
from torchless.report import verified
from torchless.report.color import painter, wants_color
from torchless.verify.rebuild import RebuildOptions


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Verify this module (repeatable).")
@click.option("--since", default="", metavar="REV", help="Compare with this git revision (default: the last write).")
@click.option(
    "--rungs", default=",".join(verification.RUNGS), show_default=True, metavar="NAMES", help="Only these rungs."
)
@click.option("--offload-arch", "arches", multiple=True, metavar="GFX", help="Compare device code for it (repeatable).")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Further include folder (repeatable).")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Further define (repeatable).")
@click.option("--headers", type=click.Choice(["stubs", "system"]), default="stubs", help="Over which headers.")
@click.option("--torch", type=click.Choice(["auto", "real", "stand-in"]), default="auto", help="What 'before' runs on.")
@click.option("--rebuild", "rebuilt", is_flag=True, help="Build the modules through aiter's JIT, too (needs ROCm).")
@click.option("--tests", "tested", is_flag=True, help="Run their op_tests, too (needs a GPU).")
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="Builds of each.")
@click.option("--python", metavar="FILE", help="The interpreter that has aiter's dependencies (default: this one).")
@click.option("--max-jobs", type=click.IntRange(1), metavar="N", help="MAX_JOBS of the builds (default: the JIT's).")
@click.option("--jobs", "-j", type=click.IntRange(0), default=0, metavar="N", help="Processes; 0: one per core.")
@click.option("--cache/--no-cache", default=True, help="Reuse answers of earlier runs.")
@click.option(
    "--output-format", type=click.Choice(["text", "json", "markdown"]), help="Default: by the end of FILE, else text."
)
@click.option("--output-file", "-o", metavar="FILE", help="Print into this file instead of stdout.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--verbose", "-v", is_flag=True, help="Show the trace of an internal error.")
@click.pass_obj
def verify(
    seen: dict[str, Any],
    /,
    paths: tuple[str, ...],
    modules: tuple[str, ...],
    since: str,
    rungs: str,
    arches: tuple[str, ...],
    include_dirs: tuple[str, ...],
    rebuilt: bool,
    tested: bool,
    trials: int,
    python: str | None,
    max_jobs: int | None,
    output_format: str | None,
    output_file: str | None,
    color: str,
    verbose: bool,
    **flags: Any,
) -> int:
    """Compare the modules of PATHS (default: all that the change touches) with what they were before it.

    Rungs: types (both passes parse), closure (no path to torch), device (each kernel's instructions and registers),
    trace (what the launchers launch, on a fake HIP runtime); with ROCm also rebuild (through aiter's own JIT, both
    versions, in copies) and, with a GPU, tests (op_tests). Exit code 3 when one fails; a rung that could not run says
    why, and never passes.
    """
    seen["verbose"] = verbose
    require_place(output_file)
    options = verification.VerifyOptions(
        paths=paths,
        modules=modules,
        since=since,
        rungs=(*verification.rungs_of(rungs), *["rebuild"] * rebuilt, *["tests"] * tested),
        arches=arches or ("gfx942",),
        include_dirs=tuple(str(Path.cwd() / folder) for folder in include_dirs),
        builds=RebuildOptions(python=python or sys.executable, max_jobs=max_jobs or 0, trials=trials),
        **flags,
    )
    result = verification.verify(options, Path.cwd(), lambda stage, done, total: None)
    output_format = output_format or format_of(output_file)
    if output_format == "json":
        data = verified.to_json(result)
    elif output_format == "markdown":
        data = verified.markdown(result)
    else:
        data = verified.text(result, painter(wants_color(color, sys.stdout)))
    if output_file in (None, "-"):
        emit(data.encode("utf-8", "surrogateescape"))
    else:
        save(data.encode("utf-8", "surrogateescape"), Path(str(output_file)))
    return BACKED_OUT if result.failed else NOTHING_LEFT
