"""What a batch says of itself: the title and the body of its commit, which is that of its pull request, too.

The body is Markdown without headings: git would take a line that starts with # for a comment when somebody amends.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchless import __version__
from torchless.campaign.model import Batch
from torchless.errors import UsageError
from torchless.model import Tier
from torchless.report.verified import markdown_of
from torchless.report.wording import one_line, place, plural

TITLE = "[{module}] Take torch out"
"""The default template; FIELDS are what it may name."""
FIELDS = ("module", "batch", "number", "units", "files", "lines")
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Letter:
    """What a batch is told with: a template for its title, trailers, and whose sign-off ("" for nobody's)."""

    title: str = TITLE
    trailers: tuple[str, ...] = ()
    sign_off: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What else the body says: a report of `verify` as data, the formatter's answer, how to make the diff again, and
    the batches that stay blocked in the same modules."""

    verification: Mapping[str, Any] | None
    formatting: str
    command: str
    blocked: tuple[Batch, ...] = ()


def check_letter(letter: Letter) -> None:
    """Raise UsageError for a template or a trailer that cannot be used."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(letter.title) if name is not None}
        letter.title.format(**dict.fromkeys(FIELDS, "1"))
    except (ValueError, LookupError) as error:
        raise UsageError(f"--title {letter.title!r}: {error}; it may name {', '.join(FIELDS)} in braces") from None
    wrong = names - set(FIELDS)
    if wrong or "\n" in letter.title or not letter.title.strip():
        raise UsageError(f"--title {letter.title!r}: one line, which may name {', '.join(FIELDS)} in braces")
    for trailer in letter.trailers:
        key, colon, value = trailer.partition(":")
        if not colon or not value.strip() or not key.replace("-", "").isalnum() or "\n" in trailer:
            raise UsageError(f"--trailer {trailer!r}: write it as 'Key: value'")


def message(batch: Batch, letter: Letter, told: Told) -> str:
    """The whole message of the commit."""
    title = one_line(letter.title.format(**_fields(batch)))
    lines = [title, "", *(_harmless(line) for line in _body(batch, told))]
    trailers = [*letter.trailers, *([f"Signed-off-by: {letter.sign_off}"] if letter.sign_off else [])]
    return "\n".join([*lines, *(["", *trailers] if trailers else [])]) + "\n"


def move_message(letter: Letter, batch: Batch, moves: Sequence[tuple[str, str]]) -> str:
    """The message of the commit that only moves files, (old, new), before the one that edits them."""
    head = letter.title.format(**_fields(batch)).partition("]")[0]
    prefix = f"{head}] " if head.startswith("[") else ""
    rows = [f"- `{old}` -> `{new}`" for old, new in moves]
    text = ["Nothing is edited here: the next commit does that, so that its diff shows what changes.", "", *rows]
    trailers = [*letter.trailers, *([f"Signed-off-by: {letter.sign_off}"] if letter.sign_off else [])]
    lines = [one_line(f"{prefix}Move {plural(len(moves), 'file')}"), "", *text, *(["", *trailers] if trailers else [])]
    return "\n".join(lines) + "\n"


def name_of(batch: Batch) -> str:
    """What the batch is called in a title: its modules, or its own name."""
    return batch.name


def _fields(batch: Batch) -> dict[str, Any]:
    return {
        "module": name_of(batch),
        "batch": batch.name,
        "number": batch.number,
        "units": len(batch.units),
        "files": len(batch.files),
        "lines": batch.lines,
    }


def _body(batch: Batch, told: Told) -> Iterator[str]:
    yield from _what(batch)
    yield ""
    yield "**Measured**"
    yield ""
    yield from _measured(batch, told)
    yield ""
    yield "**What callers will see change**"
    yield ""
    yield from _ledger(batch)
    yield ""
    yield "**Verified**"
    yield ""
    yield from _verified(told)
    yield told.formatting
    yield ""
    yield "**Left**"
    yield ""
    yield from _left(batch, told)
    yield ""
    yield "**Made by**"
    yield ""
    yield f"torchless {__version__}; this makes the diff again:"
    yield ""
    yield from (f"    {line}" for line in told.command.splitlines())


def _what(batch: Batch) -> Iterator[str]:
    """What and why, in three lines."""
    points = [name for unit in batch.units for name in unit.entry_points]
    if points:
        named = _few([f"`{name}`" for name in points], 6)
        yield f"Takes torch out of {named}: plain structs cross the border to Python instead of tensors."
    else:
        named = _few([f"`{path}`" for path in batch.files], 6)
        yield f"Takes torch out of {named}, and so out of what reads them."
    yield "Why: every translation unit that names a tensor parses the headers of torch again, on each user's machine."
    tier = "every edit is in the tier safe" if batch.tier is Tier.SAFE else "some edits may shift the meaning (unsafe)"
    needs = f"needs {_few([f'`{name}`' for name in batch.needs], 6)} first" if batch.needs else "stands alone"
    yield f"{plural(batch.lines, 'line')} in {plural(len(batch.files), 'file')}; {tier}; {needs}."


def _measured(batch: Batch, told: Told) -> Iterator[str]:
    gain = batch.gain
    share = -gain.lines / gain.before if gain.before else 0.0
    seconds = f"{-gain.seconds:+.1f} s" if gain.seconds is not None else "not profiled"
    yield "| batch | preprocessed lines before | after | delta | seconds (profile) | verified |"
    yield "|---|---|---|---|---|---|"
    name, proof = _cell(batch.name), _proof(told)
    yield f"| {name} | {gain.before:,} | {gain.after:,} | {share:+.1%} | {seconds} | {proof} |"
    yield ""
    yield "Lines are those of all passes that come to read other files, by the include graph."
    if gain.seconds is not None:
        yield "Seconds are an estimate: those of the stored profile, times the share of the lines that goes."


def _proof(told: Told) -> str:
    if told.verification is None:
        return "not run"
    found: Counter[tuple[str, str]] = Counter(
        (rung["rung"], rung["verdict"]) for module in told.verification["modules"] for rung in module["rungs"]
    )
    return (
        ", ".join(f"{rung} {verdict}" + (f" x{n}" if n > 1 else "") for (rung, verdict), n in found.items())
        or "not run"
    )


def _ledger(batch: Batch) -> Iterator[str]:
    if not batch.ledger:
        yield "Nothing that torchless knows of."
        return
    entries = Counter((entry.kind, entry.message) for entry in batch.ledger)
    first = {(entry.kind, entry.message): entry for entry in reversed(batch.ledger)}
    for key, count in entries.items():
        entry = first[key]
        where = (
            f" (`{place(entry.path, entry.line)}`{f' and {count - 1} more' if count > 1 else ''})" if entry.path else ""
        )
        yield f"- {entry.kind}: {one_line(entry.message)}{where}"


def _verified(told: Told) -> Iterator[str]:
    if told.verification is None:
        yield "No rung of the ladder was run for this batch beyond the type check that every edit passes."
    elif not told.verification["modules"]:
        yield "No module is built from these files, so no rung was run beyond the type check that every edit passes."
    else:
        yield from markdown_of(told.verification).rstrip("\n").split("\n")
    yield ""


def _left(batch: Batch, told: Told) -> Iterator[str]:
    if not batch.leaks and not told.blocked:
        yield "No blocker in these modules, and no way to torch that torchless sees."
        return
    for leak in batch.leaks[:_SHOWN]:
        yield f"- still reaches torch: `{leak}`"
    if len(batch.leaks) > _SHOWN:
        yield f"- {len(batch.leaks) - _SHOWN} more ways to torch"
    for other in told.blocked:
        for blocker in other.blockers[:_SHOWN]:
            yield f"- {other.name}: {blocker.code} {one_line(blocker.message)} ({plural(blocker.places, 'place')})"


def _few(texts: Sequence[str], shown: int) -> str:
    more = len(texts) - shown
    return ", ".join(texts) if more <= 0 else f"{', '.join(texts[:shown])} and {more} more"


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def _harmless(line: str) -> str:
    """``line`` so that neither `git am` nor an editor's clean-up takes it for something else."""
    plain = line.rstrip()
    return f" {plain}" if plain.startswith(("diff ", "Index: ", "---", "#", ">8")) else plain
