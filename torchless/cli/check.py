"""``torchless check``: what makes translation units heavy, and what keeps torch in. Writes no source."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from torchless import baseline, config
from torchless.check import check as run_check
from torchless.cli.output import emit, save, say
from torchless.errors import UsageError
from torchless.exitcodes import NOTHING_LEFT, SOMETHING_LEFT
from torchless.model import CheckResult
from torchless.news import baseline_file
from torchless.options import CheckOptions
from torchless.report.checked import Checked, exit_code, reader, summary
from torchless.report.color import Paint, painter, wants_color
from torchless.report.statistics import statistics
from torchless.report.wording import plural
from torchless.rules.catalogue import entries

FORMATS = ("text", "concise", "json", "sarif", "github", "junit")
_FOR_PEOPLE = ("text", "concise")
_PATHS_SHOWN = 3  # in the command that mends


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--module", "modules", multiple=True, metavar="NAME", help="Check this module (repeatable).")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules: TL1,TL711 (prefixes work).")
@click.option("--ignore", multiple=True, metavar="CODES", help="Without these rules.")
@click.option("--certify", "certified", multiple=True, metavar="MODULE", help="Only say whether MODULE is torch-free.")
@click.option("--since", metavar="REV", help="Only what the change since this git revision touches.")
@click.option("--baseline", metavar="FILE", help="Findings in this file are known: they do not count.")
@click.option("--write-baseline", is_flag=True, help=f"Make all findings known: in --baseline, or {baseline.DEFAULT}.")
@click.option("--cache/--no-cache", default=None, help="Reuse the index of earlier runs.")
@click.option("-I", "include_dirs", multiple=True, metavar="DIR", help="Further include folder (repeatable).")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Further define (repeatable).")
@click.option("--arch", metavar="GFX", help="Architecture of the device pass (default gfx942).")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Skip files that match (gitignore syntax).")
@click.option("--force-exclude/--no-force-exclude", default=None, help="Exclude even files that are named outright.")
@click.option("--heavy", multiple=True, metavar="PATTERN=KIND", help="Watch these headers, too (repeatable).")
@click.option("--rules", "rule_files", multiple=True, metavar="FILE", help="Rules of your own (repeatable).")
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="What is printed.")
@click.option("--output-file", "-o", metavar="FILE", help="Print findings into this file instead of stdout.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
@click.option("--statistics", "counted", is_flag=True, help="Count the findings of each rule, too.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when there are findings.")
@click.option("--quiet", "-q", is_flag=True, help="Print no summary, only findings and errors.")
@click.option("--verbose", "-v", is_flag=True, help="List known findings, too; show the trace of an internal error.")
@click.pass_obj
def check(
    seen: dict[str, Any],
    /,
    paths: tuple[str, ...],
    certified: tuple[str, ...],
    write_baseline: bool,
    output_format: str,
    output_file: str | None,
    color: str,
    counted: bool,
    exit_zero: bool,
    quiet: bool,
    verbose: bool,
    **flags: Any,
) -> int:
    """Say what makes the translation units of PATHS heavy, and what keeps torch in them (default: the current folder).

    No source is written and no compiler is needed. PATHS may name headers, Python files and the JIT configuration, too.
    Findings go to stdout, the summary to stderr. The exit code is 1 when there are findings that are not known.
    """
    seen["verbose"] = verbose
    start = Path.cwd()
    for name in ("select", "ignore"):
        flags[name] = config.split_codes(flags[name])
    flags["include_dirs"] = tuple(str(start / folder) for folder in flags["include_dirs"])
    everything = () if flags["modules"] else (".",)
    options = config.merge(config.load_config(start), flags, CheckOptions(paths or everything, record=write_baseline))
    names = {rule.code: rule.name for rule in entries(options.rule_files)}
    config.check_codes((*options.select, *options.ignore), names)
    if certified:
        return _certify(certified, options, start, output_format, output_file, color)
    if write_baseline and options.since:
        raise UsageError("--write-baseline makes all findings known: leave --since out")

    on_terminal = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    try:
        result = run_check(options, start, _progress if on_terminal else _silent)
    finally:
        if on_terminal:
            _progress("", 0, 0)
    file = baseline_file(options, start, Path(result.root))
    to_people = painter(wants_color(color, sys.stderr))
    if write_baseline and file is not None:
        result = _write_baseline(result, file, quiet)
    checked = Checked(
        result=result,
        names=names,
        source=reader(Path(result.root)),
        exit_code=exit_code(result, exit_zero),
        baseline=_shown(file, start) if file is not None else "",
        mend=_mend(paths, flags["modules"]),
    )
    in_color = wants_color(color, sys.stdout) if output_file in (None, "-") else color == "always"
    data = _data(checked, output_format, painter(in_color), verbose, options.rule_files)
    if counted and output_format in _FOR_PEOPLE:
        data += statistics(checked, painter(in_color))
    _deliver(data.encode("utf-8", "surrogateescape"), output_file)
    if output_format == "github":
        _summarize_job(checked)
    if counted and output_format not in (*_FOR_PEOPLE, "json"):
        say(statistics(checked, to_people))
    if not quiet:
        say("".join(f"{line}\n" for line in summary(checked, to_people)))
    return checked.exit_code


def _certify(
    names: Sequence[str], options: CheckOptions, start: Path, output_format: str, output_file: str | None, color: str
) -> int:
    """Print the certificates of the modules ``names``; the exit code is 1 when one is not free of torch."""
    from torchless.certify import certify_modules  # here: a hook never asks for it
    from torchless.report import certified

    if output_format not in ("text", "json"):
        raise UsageError(f"--certify prints text or json, not {output_format}")
    certificates = certify_modules(names, options, start)
    if output_format == "json":
        data = certified.to_json(certificates)
    else:
        in_color = wants_color(color, sys.stdout) if output_file in (None, "-") else color == "always"
        data = certified.text(certificates, painter(in_color))
    _deliver(data.encode("utf-8", "surrogateescape"), output_file)
    return NOTHING_LEFT if all(c.torch_free for c in certificates) else SOMETHING_LEFT


def _data(checked: Checked, output_format: str, paint: Paint, verbose: bool, rule_files: tuple[str, ...]) -> str:
    """The findings as they are printed. Each printer is imported where it is used: a hook pays for one of them."""
    if output_format == "concise":
        from torchless.report.concise import concise

        return concise(checked, paint, verbose)
    if output_format == "json":
        from torchless.report.check_json import to_json

        return to_json(checked)
    if output_format == "sarif":
        from torchless.report.sarif import SHOWN, sarif
        from torchless.rules.load import load_rules

        if len(checked.result.findings) > SHOWN:
            say(f"note: GitHub's code scanning shows {SHOWN:,} results of a run, the gravest ones\n")
        return sarif(checked, {rule.code: rule for rule in load_rules(rule_files).rules}, _rule_pages())
    if output_format == "github":
        from torchless.report.github import commands

        return commands(checked, verbose, _below_workspace(checked.result.root))
    if output_format == "junit":
        from torchless.report.junit import junit

        return junit(checked)
    from torchless.report.full import full

    return full(checked, paint, verbose)


def _deliver(data: bytes, output_file: str | None) -> None:
    if output_file in (None, "-"):
        emit(data)
    else:
        save(data, Path(str(output_file)))


def _write_baseline(result: CheckResult, file: Path, quiet: bool) -> CheckResult:
    """Put the findings into the baseline, and give the result by it: all of them are known then."""
    save(baseline.render(result.debts), file)
    if not quiet:
        rows = plural(sum(debt.count for debt in result.debts), "finding")
        words = f"Wrote {rows} to {_shown(file, Path.cwd())}: {len(result.findings):,} new, {result.gone:,} gone.\n"
        say(words)
    stays = tuple(finding for finding in result.findings if finding.path in result.files_failed)
    now_known = (finding for finding in result.findings if finding not in stays)
    known = sorted((*result.known, *now_known), key=lambda f: (f.path, f.start, f.code, f.message))
    return replace(result, findings=stays, known=tuple(known), gone=0)


def _mend(paths: Sequence[str], modules: Sequence[str]) -> str:
    """The command that mends what was asked about."""
    import shlex  # here: only for what is printed

    named = [shlex.quote(path) for path in paths] if len(paths) <= _PATHS_SHOWN else ["PATHS"]
    return " ".join(["torchless migrate", *named, *(f"--module {shlex.quote(name)}" for name in modules)])


def _shown(file: Path, start: Path) -> str:
    """``file`` as seen from ``start`` where it lies below it."""
    return str(file.relative_to(start)) if file.is_relative_to(start) else str(file)


def _below_workspace(root: str) -> str:
    """The way from the top of the repository that GitHub checked out to ``root``, with a slash at its end, or ""."""
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    way = os.path.relpath(os.path.realpath(root), os.path.realpath(workspace)) if workspace else "."
    return "" if way == "." or way.startswith("..") else f"{way}/"


def _summarize_job(checked: Checked) -> None:
    """Append to the summary of the job, where GitHub wants one, what still fits there."""
    file = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not file:
        return
    from torchless.report.github import LIMIT, job_summary

    path = Path(file)
    try:
        used = path.stat().st_size if path.exists() else 0
        with path.open("ab") as summary_file:
            summary_file.write(job_summary(checked, LIMIT - used).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror} (GITHUB_STEP_SUMMARY)") from error


def _rule_pages() -> str:
    """The address below which the pages of the rules are published: the project's URL "Rules", "" for none."""
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        urls = metadata("torchless").get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    found = dict(url.split(", ", 1) for url in urls).get("Rules", "")
    return found if not found or found.endswith("/") else f"{found}/"


def _silent(stage: str, done: int, total: int) -> None:
    """Say nothing of how far it is."""


def _progress(stage: str, done: int, total: int) -> None:
    """Say on a terminal how far it is, in a line that is gone when it is done."""
    line = f"{stage} {done}/{total}" if done < total else ""
    sys.stderr.write(f"\r\x1b[K{line}")
    sys.stderr.flush()
