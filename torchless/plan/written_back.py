"""Edits of C++ that lies in the strings of generators: those of the scripts, or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torchless.analysis import Analysis
from torchless.model import Edit, Finding, Tier
from torchless.plan.decide import Draft
from torchless.printed.mapping import edited_scripts

CODE = "TL801"


def written_back(
    drafts: Sequence[Draft], by_path: Mapping[str, Sequence[Edit]], beside: Mapping[str, str], analysis: Analysis
) -> tuple[dict[str, tuple[Edit, ...]], dict[str, Finding]]:
    """The edits of scripts that the edits of what they print come to; by unit, why it cannot be written.

    ``by_path`` are all edits, ``beside`` the units for whose sake files are edited that are not their own.
    """
    printed = analysis.printed
    own = {path: edits for path, edits in by_path.items() if path in printed and edits}
    made: dict[str, tuple[Edit, ...]] = {}
    stuck: dict[str, Finding] = {}
    for script, result in edited_scripts(printed, own).items():
        if not isinstance(result, str):
            made[script] = result
            continue
        advice = "bring the text into one string, or migrate the script by hand"
        finding = Finding(CODE, f"{script}: {result}", script, 0, 0, Tier.DISPLAY, blocks=True, help=advice)
        paths = {path for path in own if printed[path].script.path == script}
        names = {d.name for d in drafts if any(e.path in paths for e in d.edits)}
        for name in names | {beside[path] for path in paths & beside.keys()}:
            stuck[name] = replace(finding, unit=name)
    return made, stuck


def blocked_by(draft: Draft, finding: Finding) -> Draft:
    """``draft``, which turned out to be impossible to write."""
    return replace(draft, findings=(*draft.findings, finding), edits=(), blockers=(*draft.blockers, finding))
