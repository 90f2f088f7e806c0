"""One page of HTML that says where a campaign stands: all in the markup, no network, no script needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from torchless import __version__
from torchless.campaign.model import State
from torchless.campaign.standing import ConstructLine, Place, Standing
from torchless.campaign.state import Step
from torchless.report.campaign import HEADS, row_of, state_of
from torchless.report.campaign_standing import headline, next_step
from torchless.report.wording import plural

_KIND = {
    Place.FREE: "free",
    Place.MERGED: "leaks",
    Place.EMITTED: "emitted",
    Place.PLANNED: "ready",
    Place.STALE: "stale",
    Place.BLOCKED: "blocked",
    Place.LEFT: "left",
}
_SAID = {
    Place.FREE: "no pass of any of its sources reads a header of torch",
    Place.MERGED: "its batch is merged, and a header still brings torch",
    Place.EMITTED: "its batch is made and waits for review",
    Place.PLANNED: "its batch can be made",
    Place.STALE: "its batch was made, and has to be put together by a person",
    Place.BLOCKED: "a person has to do something first",
    Place.LEFT: "no code of its own uses torch, but an include brings it",
}
_STATES = {
    State.PLANNED: "ready",
    State.EMITTED: "emitted",
    State.STALE: "stale",
    State.BLOCKED: "blocked",
    State.MERGED: "free",
}
_WIDE, _HIGH = 640, 160
_NAMED = 4


def page(standing: Standing) -> str:
    """The page."""
    template = files("torchless.report").joinpath("campaign.html").read_text(encoding="utf-8")
    return template.replace("<!--BODY-->", "\n".join(_body(standing)), 1)


def _body(standing: Standing) -> Iterator[str]:
    yield "<header><div><h1>Taking torch out: where it stands</h1>"
    base = f"; at {escape(standing.base[:12])}" if standing.base else ""
    yield f'<p class="muted">torchless {escape(__version__)}{base}</p></div>'
    yield '<button id="theme" type="button">dark or light</button></header>'
    yield f'<p class="about">{escape(_about(standing))}</p>'
    yield f'<p class="headline">{escape(headline(standing))}.</p>'
    yield from _bar(standing)
    yield from _next(standing)
    yield from _reasons(standing)
    yield from _modules(standing)
    yield from _batches(standing)
    yield from _constructs(standing.constructs)
    yield from _headers(standing)
    yield from _burndown(standing.history)


def _about(standing: Standing) -> str:
    """What a reader has to know who has not seen any of it before."""
    lines = max((line.lines for line in standing.headers), default=0)
    weight = f", up to {lines:,} lines each time" if lines else ""
    return (
        "A module is C++ that is compiled on each user's machine and that Python loads. Those that name a torch tensor"
        f" have the compiler read the headers of torch{weight}. Each module is moved to plain structs in a batch: one"
        " pull request, made and checked by torchless. A module is through when none of its sources reads torch."
    )


def _next(standing: Standing) -> Iterator[str]:
    batch = standing.next
    words, _, command = next_step(standing).partition("; ")
    more = f"<br><code>{escape(command)}</code>" if batch is not None else ""
    yield f'<p class="next"><strong>Next:</strong> {escape(words)}{more}</p>'


def _bar(standing: Standing) -> Iterator[str]:
    """All modules as one bar, and what its colours mean."""
    total = max(len(standing.modules), 1)
    shown = [(place, count) for place, count in standing.places.items() if count]
    told = ", ".join(f"{count} {place.value}" for place, count in shown)
    yield f'<div class="bar" role="img" aria-label="{escape(told)}">'
    for place, count in shown:
        share = f'style="flex: {count / total:.4f}" title="{escape(place.value)}: {count}"'
        yield f'<span class="{_KIND[place]}" {share}>{count}</span>'
    yield '</div><ul class="legend">'
    for place, count in shown:
        name = f"<strong>{count} {escape(place.value)}</strong>"
        yield f'<li><i class="{_KIND[place]}"></i>{name}: {escape(_SAID[place])}</li>'
    yield "</ul>"


def _reasons(standing: Standing) -> Iterator[str]:
    yield "<h2>What is blocked, and why</h2>"
    if not standing.reasons:
        yield "<p>Nothing is.</p>"
        return
    yield '<p class="muted">Nothing of these is guessed at: a person decides, and the next run takes it from there.</p>'
    heads = ("code", "what blocks", "batches", "places", "such as", "what a person would do", "where")
    yield _table("reasons", heads, numeric={"batches", "places"})
    for reason in standing.reasons:
        names = ", ".join(reason.batches)
        yield f'<tr><td class="mono">{escape(reason.code)}</td><td>{escape(reason.name)}</td>'
        yield f'<td class="n">{len(reason.batches)}</td><td class="n">{reason.places}</td>'
        yield f"<td>{escape(reason.message)}</td><td>{escape(reason.help)}</td>"
        yield f'<td class="mono" title="{escape(names)}">{escape(_few(reason.batches))}</td></tr>'
    yield "</tbody></table></div>"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _modules(standing: Standing) -> Iterator[str]:
    through = [line.name for line in standing.modules if line.place is Place.FREE]
    yield "<h2>Modules that are not through</h2>"
    yield _table("modules", ("module", "place", "batch", "why"))
    for line in standing.modules:
        if line.place is Place.FREE:
            continue
        yield f'<tr><th scope="row" class="mono">{escape(line.name)}</th>'
        yield f'<td><i class="{_KIND[line.place]}"></i>{escape(line.place.value)}</td>'
        yield f'<td class="mono">{escape(line.batch)}</td><td>{escape(line.why)}</td></tr>'
    yield "</tbody></table></div>"
    if through:
        yield f"<details><summary>{plural(len(through), 'module')} free of torch</summary>"
        yield f'<p class="mono">{escape(", ".join(through))}</p></details>'


def _batches(standing: Standing) -> Iterator[str]:
    merged = [row for row in standing.campaign.batches if row.state is State.MERGED]
    yield "<h2>Batches</h2>"
    yield '<p class="muted">One pull request each, in the order to make them: what saves most for each changed line'
    yield "comes first. The gain is in preprocessed lines that compilers no longer read.</p>"
    yield _table("batches", HEADS, numeric={"#", "units", "files", "lines"})
    for batch in standing.plan.batches:
        state = state_of(batch, standing.campaign)
        cells = row_of(batch, state)
        yield f'<tr><td class="n">{cells[0]}</td><th scope="row" class="mono">{escape(cells[1])}</th>'
        yield f'<td><i class="{_STATES[state]}"></i>{escape(cells[2])}</td>'
        yield "".join(f'<td class="n">{escape(cell)}</td>' for cell in cells[3:6])
        yield "".join(f"<td>{escape(cell)}</td>" for cell in cells[6:])
        yield "</tr>"
    for row in merged:
        yield f'<tr><td class="n">{row.number}</td><th scope="row" class="mono">{escape(row.name)}</th>'
        yield f'<td><i class="free"></i>merged</td><td class="n">{len(row.units)}</td><td class="n">{row.files}</td>'
        yield f'<td class="n">{row.lines:,}</td><td>{row.lines_after - row.lines_before:+,} lines</td>'
        yield f"<td>{escape(row.tier)}</td><td></td><td>{escape(row.note)}</td></tr>"
    yield "</tbody></table></div>"


def _constructs(lines: Sequence[ConstructLine]) -> Iterator[str]:
    yield "<h2>Coverage by construct</h2>"
    yield '<p class="muted">Places in the code by rule: in merged batches, in batches that can be made, those that may'
    yield "shift the meaning (--unsafe), and those in units that a blocker holds.</p>"
    heads = ("code", "rule", "done", "ready", "unsafe", "blocked", "", "")
    yield _table("constructs", heads, numeric={"done", "ready", "unsafe", "blocked"})
    for line in lines:
        parts = (("free", line.done), ("ready", line.ready), ("stale", line.unsafe), ("blocked", line.blocked))
        bar = "".join(f'<span class="{kind}" style="flex: {n / line.total:.4f}"></span>' for kind, n in parts if n)
        yield f'<tr><td class="mono">{escape(line.code)}</td><td>{escape(line.name)}</td>'
        yield "".join(f'<td class="n">{n:,}</td>' for _, n in parts)
        yield f'<td><div class="bar small">{bar}</div></td><td>{escape(line.why)}</td></tr>'
    yield "</tbody></table></div>"


def _headers(standing: Standing) -> Iterator[str]:
    yield "<h2>Heaviest headers that are still read</h2>"
    yield '<p class="muted">Inclusive preprocessed lines, by stored weights, in all passes of all modules.</p>'
    heads = ("header", "lines in all", "lines each", "passes", "modules", "one way there")
    yield _table("headers", heads, numeric={"lines in all", "lines each", "passes", "modules"})
    for line in standing.headers:
        figures = (line.total, line.lines, line.passes, line.modules)
        yield f'<tr><th scope="row" class="mono">{escape(line.header)}</th>'
        yield "".join(f'<td class="n">{figure:,}</td>' for figure in figures)
        yield f'<td class="mono">{escape(" → ".join(line.way))}</td></tr>'
    yield "</tbody></table></div>"


def _burndown(history: Sequence[Step]) -> Iterator[str]:
    """Open and blocked batches over the days, as an area that should go down."""
    if len(history) < 2:
        return
    yield "<h2>Burndown</h2>"
    top = max(step.merged + step.open + step.blocked for step in history) or 1
    across = _WIDE / (len(history) - 1)

    def points(values: Sequence[int]) -> str:
        return " ".join(f"{n * across:.1f},{_HIGH - value / top * _HIGH:.1f}" for n, value in enumerate(values))

    left = [step.open + step.blocked for step in history]
    held = [step.blocked for step in history]
    first, last = history[0], history[-1]
    begun = f"{plural(left[0], 'batch', 'batches')} left on {first.date}"
    told = f"{begun}, {left[-1]} on {last.date}; {held[-1]} of them blocked"
    yield f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(told)}">'
    for kind, values in (("ready", left), ("blocked", held)):
        yield f'<polygon class="{kind}" points="0,{_HIGH} {points(values)} {_WIDE},{_HIGH}"/>'
    yield f'</svg><p class="muted">{escape(told)}.</p>'


def _table(name: str, heads: Sequence[str], numeric: set[str] | frozenset[str] = frozenset()) -> str:
    cells = "".join(
        f'<th scope="col"{" class=" + chr(34) + "n" + chr(34) if head in numeric else ""}>{escape(head)}</th>'
        for head in heads
    )
    return f'<div class="scroll"><table id="{name}"><thead><tr>{cells}</tr></thead><tbody>'
