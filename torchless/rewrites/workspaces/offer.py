"""What is offered for the workspaces of a file, and what is said of those that stay."""

from __future__ import annotations

from collections.abc import Collection

from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rewrites.dispatch_tables.emit import include_edits
from torchless.rewrites.dispatch_tables.scan import File
from torchless.rewrites.insertion import comment_above
from torchless.rewrites.scopes import BlockKind
from torchless.rewrites.workspaces.emit import HEADERS, NAME, cache_edits
from torchless.rewrites.workspaces.find import Staying, Workspace, workspaces

CACHED, STAYS = "TL420", "TL421"
HELP = "or let the caller give the memory (TL430): a parameter, and a function that says how many bytes are needed"


def findings_of(file: File, given: Collection[int] = ()) -> list[Finding]:
    """One finding with all edits for the workspaces of ``file`` that can be kept, and one for each that cannot.

    ``given`` are the bytes at which memory is allocated that the caller gives instead.
    """
    tokens, source = file.view.tokens, file.view.source
    if any(t.text == NAME.encode() for t in tokens):
        return []
    found = [
        one for one in workspaces(tokens) if isinstance(one, Staying) or tokens[one.allocation[0]].start not in given
    ]
    cached = [one for one in found if isinstance(one, Workspace)]
    taken = {t.text for t in tokens}
    out = []
    for one in found:
        if isinstance(one, Staying):
            text = f"the memory is allocated in every call: {one.reason}"
            at = tokens[one.at]
            out.append(Finding(STAYS, text, source.path, at.start, at.end, Tier.DISPLAY, help=HELP))
    names = [f"{one.pointer}_cache".encode() for one in cached]
    if not cached or len(set(names)) < len(names) or taken & set(names):
        return out
    edits = [*cache_edits(source, tokens, _place(file, cached[0]), cached, CACHED), *_includes(file)]
    first, last = cached[0].allocation
    listed = ", ".join(one.pointer for one in cached)
    text = f"{listed}: allocated and freed in every call; kept for each device and stream instead"
    out.append(
        Finding(
            CACHED,
            text,
            source.path,
            tokens[first].start,
            tokens[last].end,
            Tier.UNSAFE,
            tuple(edits),
            Confidence.SYNTACTIC,
            help=HELP,
        )
    )
    return out


def _includes(file: File) -> list[Edit]:
    return [Edit(e.path, e.start, e.end, e.new, CACHED, e.rank) for e in include_edits(file, HEADERS)]


def _place(file: File, one: Workspace) -> int:
    """The start of the line before which a class can be declared for the function that holds ``one``."""
    head = one.allocation[0]
    for block in file.scopes.around(one.allocation[0]):
        if block.kind is not BlockKind.NAMESPACE:
            head = block.head
    source = file.view.source
    start = source.line_start(source.line_of(file.view.tokens[head].start))
    return comment_above(file.view, start)
