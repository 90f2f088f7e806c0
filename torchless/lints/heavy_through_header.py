"""TL113: torch that comes through a header of the checkout to a file which uses nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

from torchless.closure.model import Edge
from torchless.lints.context import Context
from torchless.model import Edit, Finding, Tier
from torchless.reliance import families
from torchless.reliance.facts import Facts, facts_of
from torchless.reliance.guarded import guards_of
from torchless.reliance.lighter import lighter_header
from torchless.reliance.lines import base, heavy_lines, leads_to, line_finding, listed, shown, takers, way_to_heavy
from torchless.reliance.vestige import judge
from torchless.selection import is_header

CODE = "TL113"


def findings(context: Context) -> Iterator[Finding]:
    """One finding for each include line of a torch-free file that leads to torch through a header which it needs."""
    facts = facts_of(context)
    guarded = {guard.path for guard in guards_of(facts)}
    for path in sorted(context.files):
        if facts.whole(path).torch:
            continue
        for edge, outside in heavy_lines(facts, path):
            if outside or not leads_to(facts, edge, families.TORCH):
                continue
            way = way_to_heavy(facts, edge)
            if way[-1].includer in guarded:
                continue  # another lint's
            verdict = judge(facts, edge, outside=False)
            if verdict.own or (verdict.relied and not is_header(path)):
                yield _finding(facts, edge, way)


def _finding(facts: Facts, edge: Edge, way: tuple[Edge, ...]) -> Finding:
    units = sorted({view.source for view in takers(facts, edge)})
    last = way[-1]
    message = f"{shown(edge)} brings {last.spelled}, of which nothing is used here"
    lighter = lighter_header(facts, edge, CODE)
    edits: tuple[Edit, ...] = ()
    if lighter is None:
        advice = f"the line to change is {last.includer}:{last.line}"
        if facts.whole(last.includer).torch:
            advice += ", once what that file declares is migrated"
    elif isinstance(lighter.edits, str):
        advice = (
            f"{lighter.header} is free of it, but {lighter.edits}; the line to change is {last.includer}:{last.line}"
        )
    else:
        advice, edits = f"{lighter.header} has the same names without it", lighter.edits
    if len(units) > 1:
        advice += f"; {len(units)} translation units: {listed([base(unit) for unit in units])}"
    return line_finding(facts, CODE, way, message, Tier.SAFE if edits else Tier.DISPLAY, edits, advice)
