"""From a draft, what was assembled and what the checks said, to the unit that is reported."""

from __future__ import annotations

from dataclasses import replace

from torchless.analysis import Analysis
from torchless.facts.flags import STUB_PREFIX
from torchless.model import Finding, Tier, Unit, UnitStatus
from torchless.options import MigrateOptions
from torchless.plan.assemble import Assembled, with_unit
from torchless.plan.decide import Draft, Reader
from torchless.plan.ledger import ledger
from torchless.plan.prove import Failure, Proof
from torchless.plan.unseen import never_compiled


def unit_of(draft: Draft, assembled: Assembled, proof: Proof, analysis: Analysis, options: MigrateOptions) -> Unit:
    """The unit that ``draft`` became, with everything that is to be told about it."""
    read = Reader(analysis)
    beside = {path for path, name in assembled.beside.items() if name == draft.name}
    files = sorted({e.path for e in draft.edits} | beside)
    includes = [f for path in files for f in with_unit(assembled.includes.get(path, ()), draft.name)]
    includes = [] if draft.optional else includes
    conflicts = [c for c in assembled.conflicts if c.group == draft.name]
    findings = [*draft.findings, *includes]
    status = UnitStatus.MIGRATED if draft.edits else UnitStatus.CLEAN
    if draft.blockers:
        blocking = frozenset(draft.blockers)
        status, findings = UnitStatus.BLOCKED, [f for f in draft.findings if f not in blocking]
        findings += draft.blockers
    findings += [
        Finding("TL005", str(c), c.edit.path, c.edit.start, c.edit.end, blocks=True, unit=draft.name) for c in conflicts
    ]
    if conflicts:
        status = UnitStatus.BLOCKED
    if draft.name in options.held and status is UnitStatus.MIGRATED:
        status = UnitStatus.BACKED_OUT
    elif draft.name in proof.failed:
        status = UnitStatus.BACKED_OUT
        with_ck = bool(analysis.project.ck_dir)
        findings += [_check_failed(f, draft.name, with_ck) for f in proof.failed[draft.name]]
    elif status is UnitStatus.MIGRATED and draft.name in proof.blind:
        status = UnitStatus.UNCHECKED
        findings += [_unchecked(draft, text) for text in proof.blind[draft.name]]
    if status in (UnitStatus.MIGRATED, UnitStatus.UNCHECKED):
        findings += [never_compiled(s) for s in proof.inactive.get(draft.name, ())]
    goes_ahead = status is UnitStatus.MIGRATED or (status is UnitStatus.UNCHECKED and options.unsafe)
    if goes_ahead:
        findings += [_leak(chain, draft.name) for chain in _leaks(draft, proof)]
    return Unit(
        draft.name,
        draft.group.modules,
        draft.group.entry_points,
        files=tuple(files),
        status=status,
        findings=tuple(sorted((placed(f, read) for f in findings), key=lambda f: (f.path, f.start, f.end, f.code))),
        edits=draft.edits if goes_ahead else (),
        ledger=()
        if draft.optional
        else ledger(
            draft.findings,
            analysis.views,
            [(f.path, f.body_start, f.body_end) for f in draft.functions],
            checks_throw=options.checks == "throw",
            flips_ops=draft.flips_ops,
        ),
        leaks=tuple(" -> ".join(chain) for chain in _leaks(draft, proof)),
    )


def _check_failed(failure: Failure, unit: str, with_ck: bool) -> Finding:
    found = failure.diagnostic
    text = f"after the edits: {found.message} ({found.path}:{found.line} of the new text; {_seen_by(failure, with_ck)})"
    return Finding(
        "TL008",
        text,
        failure.path,
        failure.offset,
        failure.offset,
        Tier.DISPLAY,
        blocks=True,
        help="the unit was left as it was; please report what should have been written instead",
        unit=unit,
    )


def _seen_by(failure: Failure, with_ck: bool) -> str:
    """The first unit and pass that gave the error, and how many more did."""
    first, *more = failure.seen_by
    ck = f" with ENABLE_CK={int(first.enable_ck)}" if with_ck else ""
    text = f"{'device' if first.device else 'host'} pass of {first.source}{ck}"
    return f"{text}, and {len(more)} more" if more else text


def _unchecked(draft: Draft, what: str) -> Finding:
    path = next((e.path for e in draft.group.entities), "")
    advice = "look at the edits yourself, then run again with --unsafe"
    return Finding("TL007", f"no check sees {what}", path, 0, 0, Tier.UNSAFE, help=advice, unit=draft.name)


def _leak(chain: tuple[str, ...], unit: str) -> Finding:
    last = _opener(chain)
    header = chain[-1].removeprefix(f"{STUB_PREFIX}torch/").rpartition("/include/")[2]
    text = f"{chain[0]} still reaches torch: {last} includes {header}"
    return Finding("TL009", text, last, 0, 0, Tier.DISPLAY, unit=unit)


def _opener(chain: tuple[str, ...]) -> str:
    """The last file of the project in a chain that ends at a header of torch."""
    return next(p for p in reversed(chain) if not p.startswith((STUB_PREFIX, "/")))


def _leaks(draft: Draft, proof: Proof) -> tuple[tuple[str, ...], ...]:
    """The chains by which the unit's sources still reach torch, one for each file that opens it."""
    chains: dict[str, tuple[str, ...]] = {}
    for chain in () if draft.optional else proof.leaks.get(draft.name, ()):
        last = _opener(chain)
        chains.setdefault(last, chain)
    return tuple(chain for _, chain in sorted(chains.items()))


def placed(finding: Finding, read: Reader) -> Finding:
    """The finding with its line and column."""
    try:
        source = read(finding.path)
    except OSError:
        return finding
    return replace(finding, line=source.line_of(finding.start), column=source.column_of(finding.start))
