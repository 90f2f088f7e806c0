"""Where a campaign stands, as text, Markdown, JSON and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from io import StringIO
from typing import Any

from torchless import __version__
from torchless.campaign.model import Batch
from torchless.campaign.standing import Place, Standing
from torchless.report.campaign import gain_of
from torchless.report.campaign_json import SCHEMA_VERSION, plan_data
from torchless.report.color import Paint
from torchless.report.wording import one_line, plural, printable

_SHOWN = 12
_STYLES = {
    Place.FREE: "new",
    Place.MERGED: "new",
    Place.EMITTED: "mark",
    Place.PLANNED: "bold",
    Place.STALE: "chain",
    Place.BLOCKED: "code",
    Place.LEFT: "dim",
}


def headline(standing: Standing) -> str:
    """The one sentence that a reader needs."""
    places = standing.places
    told = [f"{places[Place.FREE]} of {plural(len(standing.modules), 'module')} free of torch"]
    told += [f"{count} {place.value}" for place, count in places.items() if count and place is not Place.FREE]
    return "; ".join(told)


def next_step(standing: Standing) -> str:
    """What to do next, one sentence."""
    batch = standing.next
    if batch is None:
        return "Nothing is ready to be made: what is left waits for a review, or for a person to mend what blocks it."
    words = f"{batch.name}: {plural(batch.lines, 'line')} in {plural(len(batch.files), 'file')}, {gain_of(batch)}"
    return f"{words}; torchless plan --update --emit branches --batch {batch.name}"


def text(standing: Standing, paint: Paint, verbose: bool) -> str:
    """For people; long lists are cut unless ``verbose``."""
    return "\n".join(_text(standing, paint, verbose)) + "\n"


def _text(standing: Standing, paint: Paint, verbose: bool) -> Iterator[str]:
    yield paint(headline(standing), "bold")
    yield f"next: {printable(next_step(standing))}"
    yield ""
    yield paint("modules", "bold")
    width = max((len(place.value) for place in Place), default=0)
    yield from _cut(
        [
            f"  {paint(f'{line.place.value:<{width}}', _STYLES[line.place])}  {printable(line.name)}"
            + (paint(f"  {one_line(line.why)}", "dim") if line.why else "")
            for line in standing.modules
            if verbose or line.place is not Place.FREE
        ],
        verbose,
    )
    yield ""
    yield paint("why batches are blocked", "bold")
    for reason in standing.reasons if verbose else standing.reasons[:_SHOWN]:
        count = f"{plural(len(reason.batches), 'batch', 'batches')}, {plural(reason.places, 'place')}"
        yield f"  {reason.code} {reason.name}: {count}"
        yield f"    such as: {one_line(reason.message)}"
        yield from ([paint(f"    help: {one_line(reason.help)}", "help")] if reason.help else [])
    yield from ([] if standing.reasons else ["  nothing is"])
    yield ""
    yield paint("constructs: done / ready / unsafe / blocked", "bold")
    yield from _cut(
        [
            f"  {line.code} {line.name:<28}"
            + "".join(f" {count:>5}" for count in (line.done, line.ready, line.unsafe, line.blocked))
            + f"  {line.why}"
            for line in standing.constructs
        ],
        verbose,
    )
    yield ""
    yield paint("heaviest headers that are still read (lines in all passes)", "bold")
    for header in standing.headers:
        passes = plural(header.passes, "pass", "passes")
        yield f"  {header.total:>13,}  {printable(header.header)}: {passes} of {header.lines:,}"
        yield paint(f"                 such as {printable(' -> '.join(header.way))}", "dim")


def _cut(lines: Sequence[str], verbose: bool) -> Iterator[str]:
    yield from lines if verbose else lines[:_SHOWN]
    if not verbose and len(lines) > _SHOWN:
        yield f"  {len(lines) - _SHOWN} more (-v lists them)"


def markdown(standing: Standing) -> str:
    """For a job summary or a comment."""
    return "\n".join(_markdown(standing)) + "\n"


def _markdown(standing: Standing) -> Iterator[str]:
    yield "## Where the campaign stands"
    yield ""
    yield f"**{_safe(headline(standing))}.**"
    yield ""
    yield f"Next: {_safe(next_step(standing))}"
    yield ""
    yield "| module | | batch | why |"
    yield "|---|---|---|---|"
    for line in standing.modules:
        if line.place is not Place.FREE:
            yield f"| {_safe(line.name)} | {line.place.value} | {_safe(line.batch)} | {_safe(line.why)} |"
    yield ""
    if standing.reasons:
        yield "| blocked by | batches | places | such as | what a person would do |"
        yield "|---|---|---|---|---|"
        for reason in standing.reasons:
            cells = (f"{reason.code} {reason.name}", len(reason.batches), reason.places, reason.message, reason.help)
            yield f"| {' | '.join(_safe(str(cell)) for cell in cells)} |"
        yield ""
    yield "<details><summary>Coverage by construct</summary>"
    yield ""
    yield "| code | rule | done | ready | unsafe | blocked | |"
    yield "|---|---|---|---|---|---|---|"
    for row in standing.constructs:
        counts = f"{row.done} | {row.ready} | {row.unsafe} | {row.blocked}"
        yield f"| {row.code} | {_safe(row.name)} | {counts} | {_safe(row.why)} |"
    yield ""
    yield "</details>"
    yield ""
    yield "<details><summary>Heaviest headers that are still read</summary>"
    yield ""
    yield "| header | passes | lines each | lines in all | such as |"
    yield "|---|---|---|---|---|"
    for header in standing.headers:
        way = " -> ".join(header.way)
        yield f"| {_safe(header.header)} | {header.passes} | {header.lines:,} | {header.total:,} | {_safe(way)} |"
    yield ""
    yield "</details>"


def _safe(words: str) -> str:
    plain = one_line(words).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("<", "&lt;").replace("_", "\\_").replace("*", "\\*").replace("`", "\\`")


def schema() -> dict[str, Any]:
    """The JSON schema of what to_json() gives."""
    text = files("torchless.report").joinpath("standing.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def data_of(standing: Standing) -> dict[str, Any]:
    """The whole report as JSON data, described by standing.schema.json."""
    best: Batch | None = standing.next
    return {
        "schema_version": SCHEMA_VERSION,
        "torchless": __version__,
        "root": standing.root,
        "base": standing.base,
        "headline": headline(standing),
        "places": {place.value: count for place, count in standing.places.items()},
        "next": best.name if best is not None else "",
        "modules": [
            {"name": line.name, "place": line.place.value, "batch": line.batch, "why": line.why}
            for line in standing.modules
        ],
        "constructs": [
            {
                "code": line.code,
                "name": line.name,
                "done": line.done,
                "ready": line.ready,
                "unsafe": line.unsafe,
                "blocked": line.blocked,
                "why": line.why,
            }
            for line in standing.constructs
        ],
        "reasons": [
            {
                "code": line.code,
                "name": line.name,
                "places": line.places,
                "batches": list(line.batches),
                "message": line.message,
                "help": line.help,
            }
            for line in standing.reasons
        ],
        "headers": [
            {
                "header": line.header,
                "category": line.category,
                "passes": line.passes,
                "modules": line.modules,
                "lines": line.lines,
                "way": list(line.way),
            }
            for line in standing.headers
        ],
        "history": [
            {"date": s.date, "commit": s.commit, "merged": s.merged, "open": s.open, "blocked": s.blocked}
            for s in standing.history
        ],
        "plan": plan_data(standing.plan, standing.campaign),
    }


def to_json(standing: Standing) -> str:
    """The report as one JSON object with a final newline."""
    return json.dumps(data_of(standing), indent=1) + "\n"


def to_csv(standing: Standing) -> str:
    """Coverage by construct, a row for each rule."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("code", "rule", "done", "ready", "unsafe", "blocked", "why"))
    for line in standing.constructs:
        writer.writerow((line.code, line.name, line.done, line.ready, line.unsafe, line.blocked, line.why))
    return out.getvalue()
