"""Everything that rules and rewrites say about the C++ of an analysis, before any unit is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torchless.analysis import Analysis
from torchless.facts.flags import STUB_PREFIX
from torchless.facts.typing import FileView, make_view
from torchless.hoisting.allocation import Source, open_source
from torchless.model import Edit, Finding
from torchless.plan.own_headers import coming_headers
from torchless.plan.residual import residual
from torchless.rewrites.constant_sizes import keep_constants
from torchless.rewrites.default_arguments import declared_defaults, drop_repeated_defaults
from torchless.rewrites.dtype_texts import CODE as TEXTS
from torchless.rewrites.dtype_texts import rewrite_texts, texts_of
from torchless.rewrites.guards import guards_on_host
from torchless.rewrites.lost_checks import restore_checks
from torchless.rewrites.namespaces import remove_using
from torchless.rewrites.passing import merge_passing, passing_of
from torchless.rewrites.placeholders import rewrite_placeholders
from torchless.rewrites.returns.contracts import settle_all
from torchless.rewrites.returns.emitting import CODE as RETURNS
from torchless.rewrites.returns.emitting import rewrite_returns
from torchless.rewrites.returns.model import Contracts, Surroundings
from torchless.rewrites.returns.philox import CODE as PHILOX
from torchless.rewrites.returns.reading import Reading, givers_of
from torchless.rewrites.scopes import scopes_of
from torchless.rewrites.signatures import rewrite_signatures
from torchless.rules.engine import Options, ending_checks, examine
from torchless.rules.model import Ruleset
from torchless.selection import is_header
from torchless.text.source import SourceFile
from torchless.units.build import rows_of_module

Dropped = Callable[[str], bool]
Settle = Callable[[Sequence[Finding]], list[Finding]]


@dataclass(frozen=True, slots=True)
class Collected:
    """Findings by file, in order of place; ``contracts``, by file: what functions give back that become void."""

    by_path: Mapping[str, tuple[Finding, ...]]
    contracts: Mapping[str, Contracts] = field(default_factory=dict)

    @property
    def all(self) -> list[Finding]:
        """Every finding, file by file in path order."""
        return [f for path in sorted(self.by_path) for f in self.by_path[path]]


def collect(analysis: Analysis, ruleset: Ruleset, dropped: Dropped, settle: Settle) -> Collected:
    """Match rules and signature rewrites against every view, and name what they leave (TL010).

    ``dropped(code)`` says that the user does not want what a code does: such findings are left out, and a construct
    that nothing else accounts for then shows as TL010. ``settle`` takes out what comments suppress.
    """
    views = analysis.views
    active = ruleset.without(frozenset(r.code for r in ruleset.rules if dropped(r.code)))
    scopes = {path: scopes_of(view) for path, view in views.items()}
    passing = merge_passing(passing_of(view, scopes[path]) for path, view in sorted(views.items()))
    project = analysis.project
    bound = {row.target.rsplit("::", 1)[-1] for m in project.modules for row in rows_of_module(project, m.sources)}
    checks = _check_macros(analysis, ruleset)
    options = Options(project.target_names, checks)
    matched = {path: examine(view, active, options) for path, view in sorted(views.items())}
    readings = [Reading(v, scopes[path], tuple(givers_of(v, scopes[path]))) for path, v in sorted(views.items())]
    contracts = _contracts(analysis, readings, dropped)
    texts = texts_of(views.values())
    first: dict[str, list[Finding]] = {}
    left: dict[str, list[tuple[int, int]]] = {}
    for reading, (path, view) in zip(readings, sorted(views.items()), strict=True):
        holding = contracts.get(path, Contracts())
        returns = [] if dropped(RETURNS) else rewrite_returns(reading, holding)
        refused = {
            view.tokens[g.type_first].start: holding.refused.get(g.key, "") for g in reading.givers if g.type_first >= 0
        }
        gone = [(e.start, e.end) for f in returns for e in f.edits if e.end > e.start]
        rewritten = [
            *rewrite_signatures(
                view,
                passing,
                bound=bound,
                scopes=scopes[path],
                spoken_for=gone,
                refused=refused,
            ),
            *restore_checks(view),
            *guards_on_host(view),
        ]
        others = [*matched[path].findings, *(f for f in rewritten if not dropped(f.code))]
        others = keep_constants(view, scopes[path], others)
        keyed = [f for f in others if f.code == "TL306" and f.blocks]
        answered = [] if dropped(TEXTS) else rewrite_texts(view, texts, keyed)
        places = {f.start for f in answered}
        others = [f for f in others if f not in keyed or f.start not in places]
        first[path] = [*returns, *_but_for([*_explained(others, reading, holding), *answered], gone)]
        left[path] = gone
    coming = {} if dropped("TL106") else coming_headers(analysis, first)
    out: dict[str, tuple[Finding, ...]] = {}
    for path, view in sorted(views.items()):
        examined = matched[path]
        declared = declared_defaults(views[h] for h in sorted(coming.get(path, frozenset()) & views.keys()))
        # these take a whole piece of text away, whatever else would be said about what stands in it
        whole = [*rewrite_placeholders(view), *(drop_repeated_defaults(view, declared) if declared else ())]
        whole = [f for f in whole if not dropped(f.code)]
        first[path] = [_without_default(f, whole) for f in first[path]]
        whole = _but_for(whole, left[path])
        found = [*_outside(first[path], whole), *whole]
        found += [f for f in remove_using(view, [e for f in found for e in f.edits]) if not dropped(f.code)]
        # a blocker speaks for all that stands inside it, a remark or an addition for nothing
        own = (f for f in found if f.blocks or (f not in examined.findings and any(e.end > e.start for e in f.edits)))
        covered = [*examined.covered, *_covered(own)]
        found += residual(view, covered, [(f.start, f.end) for f in found if f.blocks])
        out[path] = tuple(sorted(settle(found), key=lambda f: (f.start, f.end, f.code, f.message)))
    return Collected(out, contracts)


def _contracts(analysis: Analysis, readings: Sequence[Reading], dropped: Dropped) -> dict[str, Contracts]:
    """What functions give back that become void, and what Python makes for them, by file."""
    if dropped(RETURNS):
        return {}
    sources: dict[str, Source] = {}
    placeholders: dict[str, list[tuple[int, int]]] = {}

    def source(reading: Reading) -> Source:
        path = reading.view.source.path
        if path not in sources:
            sources[path] = open_source(reading.view, _reached(analysis, path))
        return sources[path]

    def without_elements(reading: Reading) -> list[tuple[int, int]]:
        path = reading.view.source.path
        if path not in placeholders:
            placeholders[path] = [(f.start, f.end) for f in rewrite_placeholders(reading.view)]
        return placeholders[path]

    def around(modules: Collection[str]) -> Surroundings:
        rows = (rows_of_module(analysis.project, m.sources) for m in analysis.project.modules if m.name in modules)
        return Surroundings(source, {row.target.rsplit("::", 1)[-1] for of in rows for row in of}, without_elements)

    libraries = {module.name: module.sources for module in analysis.project.modules}
    return settle_all(readings, libraries, analysis.closures, around)


def _reached(analysis: Analysis, path: str) -> list[FileView]:
    """The headers of the project that the file at ``path`` includes, those without torch too: they define constants."""
    out = []
    for other in analysis.graph.closure_of(path):
        if other == path or not is_header(other) or other.startswith((STUB_PREFIX, "/")):
            continue
        if other in analysis.views:
            out.append(analysis.views[other])
            continue
        try:
            data = (analysis.root / other).read_bytes()
        except OSError:
            continue
        out.append(make_view(SourceFile(other, data), []))
    return out


def _but_for(findings: Iterable[Finding], gone: Sequence[tuple[int, int]]) -> list[Finding]:
    """``findings`` without those about text that goes away, and without their edits there."""
    out = []
    for finding in findings:
        kept = tuple(e for e in finding.edits if not any(_is_inside(e, a, b) for a, b in gone))
        inside = any(a <= finding.start and finding.end <= b for a, b in gone)
        if inside and not kept:
            continue
        out.append(finding if len(kept) == len(finding.edits) else replace(finding, edits=kept))
    return out


def _without_default(finding: Finding, whole: Sequence[Finding]) -> Finding:
    """``finding``, about a parameter that is replaced, with no default where that of the old one goes."""
    if finding.code != PHILOX:
        return finding
    taken = [e for f in whole if f.code == "TL207" for e in f.edits]
    edits = tuple(
        replace(e, new=e.new.replace(b" = 0", b"")) if any(_is_inside(t, e.start, e.end) for t in taken) else e
        for e in finding.edits
    )
    return replace(finding, edits=edits)


def _is_inside(edit: Edit, start: int, end: int) -> bool:
    """Whether the edit is made in a text start..end that goes away; what is inserted at its ends stays."""
    return start < edit.start < end if edit.start == edit.end else start <= edit.start and edit.end <= end


def _explained(findings: Iterable[Finding], reading: Reading, contracts: Contracts) -> list[Finding]:
    """``findings``, those about allocations with the reason why their function keeps them."""
    bodies = [
        (g.fact.body_start, g.fact.body_end, contracts.refused[g.key])
        for g in reading.givers
        if g.body is not None and g.key in contracts.refused
    ]
    out = []
    for finding in findings:
        reason = next((r for a, b, r in bodies if finding.code in ("TL490", "TL491") and a <= finding.start < b), "")
        out.append(replace(finding, message=f"{finding.message} ({reason})") if reason else finding)
    return out


def _outside(findings: Iterable[Finding], whole: Sequence[Finding]) -> list[Finding]:
    """``findings`` less those inside what one of ``whole`` replaces as a whole."""
    spans = [(e.start, e.end) for f in whole for e in f.edits if e.end > e.start]
    return [f for f in findings if not any(start <= f.start and f.end <= end for start, end in spans)]


def _covered(findings: Iterable[Finding]) -> list[tuple[int, int]]:
    """The byte ranges that ``findings`` account for: their edits, or all of a finding that makes none."""
    return [span for f in findings for span in ((f.start, f.end), *((e.start, e.end) for e in f.edits))]


def _check_macros(analysis: Analysis, ruleset: Ruleset) -> frozenset[str]:
    """Macros of the project that end in a check without a semicolon, also through one another."""
    known: frozenset[str] = frozenset()
    while True:
        found = known.union(*(ending_checks(view, ruleset, known) for view in analysis.views.values()))
        if found == known:
            return known
        known = found
