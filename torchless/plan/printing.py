"""C++ in the strings of generators: which of it belongs to a run, and units told about where the scripts spell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from torchless.analysis import Analysis
from torchless.model import Edit, Finding, LedgerEntry, Unit
from torchless.plan.decide import Reader
from torchless.plan.outcome import placed
from torchless.printed.mapping import edits_in_script, finding_in_script, place_in_script
from torchless.printed.sources import Printed, printed_sources, with_printed
from torchless.project.model import Module, Project
from torchless.selection import Selection
from torchless.text.source import SourceFile
from torchless.units.scope import has_torch_text


def printed_for(project: Project, selection: Selection) -> tuple[Project, dict[str, Printed]]:
    """The project with what the generators of the modules that were selected print with torch in it, and that."""

    def is_meant(module: Module) -> bool:
        own = (header for header in selection.headers if header.startswith(module.include_dirs))
        return (
            module.name in selection.modules
            or any(selection.covers(file) for file in (*module.sources, *module.include_dirs))
            or any(own)
        )

    scripts = {script for m in project.modules if m.generators and is_meant(m) for script in m.generators}
    modules = [m for m in project.modules if scripts.intersection(m.generators)]
    found = printed_sources(Path(project.root), modules, has_torch_text)
    printed = {path: p for by_path in found.values() for path, p in by_path.items()}
    return (with_printed(project, found) if found else project), printed


def in_scripts(units: Iterable[Unit], analysis: Analysis) -> tuple[Unit, ...]:
    """``units`` with everything that is about printed C++ put where the scripts spell it."""
    read = Reader(analysis)
    return tuple(_unit(unit, analysis.printed, read) for unit in units) if analysis.printed else tuple(units)


def _unit(unit: Unit, printed: Mapping[str, Printed], read: Reader) -> Unit:
    edits: dict[Edit, None] = {}
    for edit in unit.edits:
        made = edits_in_script(printed[edit.path], edit) if edit.path in printed else (edit,)
        edits.update(dict.fromkeys(made or ()))
    files = sorted({printed[f].script.path if f in printed else f for f in unit.files})
    findings = dict.fromkeys(in_script(f, printed, read) for f in unit.findings)
    ledger = dict.fromkeys(_entry(e, printed) for e in unit.ledger)
    return replace(
        unit,
        edits=tuple(edits),
        files=tuple(files),
        findings=tuple(sorted(findings, key=lambda f: (f.path, f.start, f.end, f.code))),
        ledger=tuple(ledger),
        leaks=tuple(_spelled(leak, printed) for leak in unit.leaks),
    )


def in_script(finding: Finding, printed: Mapping[str, Printed], read: Reader) -> Finding:
    """``finding`` where the script spells what it is about, with what its edits come to there."""
    edits = [e for e in finding.edits if e.path not in printed]
    edits += [m for e in finding.edits if e.path in printed for m in edits_in_script(printed[e.path], e) or ()]
    message = _spelled(finding.message, printed)
    if finding.path not in printed:
        return replace(finding, edits=tuple(edits), message=message)
    return replace(placed(finding_in_script(printed, finding), read), edits=tuple(edits), message=message)


def _entry(entry: LedgerEntry, printed: Mapping[str, Printed]) -> LedgerEntry:
    if entry.path not in printed:
        return replace(entry, message=_spelled(entry.message, printed))
    source = printed[entry.path]
    offset = SourceFile(entry.path, source.template.code).line_start(max(entry.line, 1))
    line = source.script.line_of(place_in_script(source, offset))
    return replace(entry, path=source.script.path, line=line, message=_spelled(entry.message, printed))


def _spelled(text: str, printed: Mapping[str, Printed]) -> str:
    """``text`` with the scripts' names in place of those of what they print."""
    for path, source in printed.items():
        if path in text:
            text = text.replace(path, source.script.path)
    return text
