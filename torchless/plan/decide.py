"""Decides, unit by unit, what is edited and what blocks it, from the findings that fall into it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from torchless.analysis import Analysis
from torchless.facts.model import FunctionFact
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.plan.collect import Dropped, Settle
from torchless.plan.launching import Launching
from torchless.plan.suppression import left_alone, may_go
from torchless.printed.mapping import spans_in
from torchless.project.model import BindingRow, Module, PyOp
from torchless.project.target import CORE_HEADERS
from torchless.rewrites import throw_scope
from torchless.rewrites.binding_rows import all_arguments, new_arguments, new_rows, seed_and_offset
from torchless.rewrites.bindings import binding_defaults, stream_setters
from torchless.rewrites.generators import generated_torch
from torchless.rewrites.guards import add_guards
from torchless.rewrites.python_layout import read_style
from torchless.rewrites.python_ops import Bound, develop_flags, flips
from torchless.rewrites.returns.handing_back import added_names, in_order
from torchless.rewrites.returns.model import Contract, Contracts
from torchless.rewrites.returns.philox import OFFSET, SEED
from torchless.selection import is_header
from torchless.text.source import SourceFile
from torchless.units.build import Group, rows_of_module
from torchless.units.entities import Entity


@dataclass(frozen=True, slots=True)
class Draft:
    """A unit on its way: its findings, the edits that they amount to, and what blocks it.

    ``functions`` are the definitions that belong to it; ``flips_ops`` whether its Python ops change. ``optional``: it
    has nothing to do with torch, see plan/optional.py; ``stand_ins`` are files that a check needs and a build makes.
    """

    group: Group
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]
    blockers: tuple[Finding, ...]
    functions: tuple[FunctionFact, ...]
    flips_ops: bool
    optional: bool = False
    stand_ins: tuple[tuple[str, bytes], ...] = ()

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.group.name


class Reader:
    """Reads files of the checkout once in the life of an analysis, and hands out the same SourceFile each time."""

    def __init__(self, analysis: Analysis) -> None:
        self._root = analysis.root
        self._known = analysis.sources

    def __call__(self, path: str) -> SourceFile:
        """The file at root-relative ``path``. Raises OSError as open() does."""
        if path not in self._known:
            self._known[path] = SourceFile(path, (self._root / path).read_bytes())
        return self._known[path]


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants: unsafe edits too, checks that throw, codes to leave out, what comments suppress."""

    unsafe: bool
    checks_throw: bool
    dropped: Dropped
    launching: Launching
    settle: Settle
    contracts: Mapping[str, Contracts] = field(default_factory=dict)


def decide(
    group: Group,
    findings: Sequence[Finding],
    analysis: Analysis,
    read: Reader,
    policy: Policy,
) -> Draft:
    """Put together everything that concerns ``group``: ``findings`` of its entities, its bindings and Python ops."""
    functions = _definitions(group, analysis)
    modules = [m for m in analysis.project.modules if m.name in group.modules]
    everything: list[Finding] = []
    ops = _ops(analysis, modules)
    bound = _bound(analysis, modules, ops, policy.contracts)
    if modules:
        taken = {op.function for op in analysis.project.ops}
        everything += develop_flags(ops, read, bound, read_style(analysis.root), taken)
        everything += generated_torch(analysis.root, modules, read, lambda path: spans_in(analysis.printed, path))
        everything += _unknown_text(analysis, modules)
        brings = () if policy.dropped("TL704") or policy.dropped("TL102") else _edited_headers(findings)
        bindings = _bindings(analysis, modules, read, findings, brings, policy.contracts)
        everything += bindings
        # a binding's default is spoken for as a whole, not name by name
        whole = [b for b in bindings if b.code == "TL703"]
        findings = [f for f in findings if not any(b.path == f.path and b.start <= f.start < b.end for b in whole)]
    everything += _guards(group, functions, analysis, policy.launching)
    if policy.checks_throw:
        everything += _throwing(group, analysis)
    everything = [*findings, *policy.settle([f for f in everything if not (policy.dropped(f.code) and may_go(f))])]
    everything = [_as_blocker(_unless_dropped(f, policy), policy) for f in everything]
    blockers = [f for f in everything if f.blocks]
    edits = () if blockers else tuple(e for f in everything for e in f.edits)
    flipped = any(flips(op, bound.get(op)) for op in ops)
    unit = tuple(replace(f, unit=group.name) for f in everything)
    blocked = tuple(replace(f, unit=group.name) for f in blockers)
    return Draft(group, unit, edits, blocked, functions, flipped)


def _unknown_text(analysis: Analysis, modules: Sequence[Module]) -> list[Finding]:
    """A blocker for each place in printed C++ at which whole statements are put that were not found in the script."""
    return [
        Finding(
            "TL801",
            f"what {printed.script.path} puts here is known only when it runs",
            path,
            offset,
            offset,
            Tier.DISPLAY,
            confidence=Confidence.SYNTACTIC,
            blocks=True,
            help="have the script format the text from strings that it names, or migrate it by hand",
        )
        for path in sorted({path for module in modules for path in module.sources})
        if (printed := analysis.printed.get(path)) is not None
        for offset in printed.template.unknown
    ]


def _unless_dropped(finding: Finding, policy: Policy) -> Finding:
    """``finding``, or a blocker where the user does not want what its unit cannot do without (half a unit is none)."""
    if not finding.edits or not policy.dropped(finding.code):
        return finding
    return left_alone(finding, "--select or --ignore", f"select {finding.code} as well to have the unit migrated")


def _as_blocker(finding: Finding, policy: Policy) -> Finding:
    """A finding whose unsafe edits are not wanted keeps its unit from moving, and says how to move it."""
    if finding.blocks or policy.unsafe or finding.tier is not Tier.UNSAFE or not finding.edits:
        return finding
    return replace(finding, blocks=True, help=finding.help or "look at the change and run again with --unsafe")


def _definitions(group: Group, analysis: Analysis) -> tuple[FunctionFact, ...]:
    """The function definitions among the group's entities."""
    wanted = {(e.path, e.start, e.name) for e in group.entities if e.kind == "function" and e.defines}
    out = {
        f
        for path in {e.path for e in group.entities}
        if path in analysis.views
        for f in analysis.views[path].functions
        if (path, f.start, f.name) in wanted and f.body_start >= 0
    }
    return tuple(sorted(out))


def _ops(analysis: Analysis, modules: Sequence[Module]) -> list[PyOp]:
    names = {m.name for m in modules}
    return [op for op in analysis.project.ops if op.module in names]


def _bound(
    analysis: Analysis, modules: Sequence[Module], ops: Sequence[PyOp], contracts: Mapping[str, Contracts]
) -> dict[PyOp, Bound]:
    """What the C++ functions behind the ops take and return, where the parser saw them."""
    by_last_name: dict[str, list[FunctionFact]] = {}
    for name, functions in analysis.functions.items():
        by_last_name.setdefault(name.rsplit("::", 1)[-1], []).extend(functions)
    out: dict[PyOp, Bound] = {}
    for module in modules:
        files = set().union(*(analysis.closures.get(s, frozenset()) for s in module.sources))
        rows = {row.name: row for row in rows_of_module(analysis.project, module.sources)}
        for op in ops:
            row = rows.get(op.fc_name) if op.module == module.name else None
            if row is None:
                continue
            seen = [f for f in by_last_name.get(row.target.rsplit("::", 1)[-1], ()) if f.path in files]
            if seen:
                takes = any(p.type in ("tensor", "optional_tensor", "tensor_list") for f in seen for p in f.params)
                gives = any(f.returns in ("tensor", "optional_tensor", "tensor_list") for f in seen)
                found = {c for f in seen if (c := _contract(f, contracts)) is not None}
                contract = found.pop() if len(found) == 1 else None
                out[op] = Bound(takes, gives, contract, tuple(_bound_names(row, seen, contract)))
    return out


def _contract(function: FunctionFact, contracts: Mapping[str, Contracts]) -> Contract | None:
    """What becomes of ``function``, None where nothing does."""
    holding = contracts.get(function.path)
    return holding.by_key.get((function.name, len(function.params))) if holding is not None else None


def _edited_headers(findings: Sequence[Finding]) -> set[str]:
    """The headers that change; those that migrating files stop including, or start to, never do."""
    edited = {e.path for f in findings for e in f.edits}
    return {path for path in edited if is_header(path) and PurePosixPath(path).name not in CORE_HEADERS}


def _bindings(
    analysis: Analysis,
    modules: Sequence[Module],
    read: Reader,
    findings: Sequence[Finding],
    edited: Collection[str],
    contracts: Mapping[str, Contracts],
) -> list[Finding]:
    """The stream setter of each module, defaults that name torch, new arguments; ``edited`` as for stream_setters()."""
    out = stream_setters(analysis.project, modules, read, analysis.graph, edited=edited)
    optional = {(f.path, f.start) for f in findings if f.code == "TL204"}
    for module in modules:
        files = set().union(*(analysis.closures.get(s, frozenset()) for s in module.sources))
        for row in rows_of_module(analysis.project, module.sources):
            target = row.target.rsplit("::", 1)[-1]
            seen = [
                f
                for name, functions in analysis.functions.items()
                if name.rsplit("::", 1)[-1] == target
                for f in functions
                if f.path in files
            ]

            def becomes_optional(at: int, _name: str, seen: Sequence[FunctionFact] = seen) -> bool:
                params = [f.params[at] for f in seen if at < len(f.params)]
                if any(at in c.undefined for f in seen if (c := _contract(f, contracts)) is not None):
                    return True
                return bool(params) and all(
                    p.type == "optional_tensor"
                    or any(f.path == path and p.start <= start < p.end for path, start in optional)
                    for f, p in zip(seen, params, strict=False)
                )

            out += binding_defaults(read(row.path), row, becomes_optional)
            out += _new_arguments(read(row.path), row, seen, contracts)
    return out


def _new_arguments(
    source: SourceFile, row: BindingRow, seen: Sequence[FunctionFact], contracts: Mapping[str, Contracts]
) -> list[Finding]:
    """What the row of a function that gets parameters has to name."""
    kept = (_contract(f, contracts) for f in seen)
    found = {c for c in kept if c is not None and (c.added or c.queries)}
    if len(found) != 1:
        return []
    (contract,) = found
    own = _bound_names(row, seen, contract)
    names = added_names(contract, own)
    added = [(0, names[a.name], a.condition is not None) for a in contract.outputs]
    added += [(contract.at, names[a.name], a.condition is not None) for a in contract.scratch]
    finding = None
    if added and row.args:
        finding = new_arguments(source, row, added, contract.key[1])
    elif added and own:
        outputs, scratch = ([names[a.name] for a in group] for group in (contract.outputs, contract.scratch))
        finding = all_arguments(source, row, in_order(contract, own, outputs, scratch))
    out = [finding] if finding is not None else []
    if contract.philox is not None:
        drawn = seed_and_offset(source, row, contract.philox.position, (SEED, OFFSET))
        out += [drawn] if drawn is not None else []
    if contract.queries:
        out.append(new_rows(source, row, [(q.name, q.parameters) for q in contract.queries]))
    return out


def _bound_names(row: BindingRow, seen: Sequence[FunctionFact], contract: Contract | None) -> list[str]:
    """What Python calls the parameters that the row's function has now.

    A row that names none has names once its function gets more: those of the definition, which are what people know.
    """
    if row.args or contract is None or not contract.added or contract.philox is not None:
        return [arg.name for arg in row.args]
    for function in sorted(seen, key=lambda f: f.body_start < 0):
        names = [p.name for p in function.params]
        if len(names) == contract.key[1] and all(names):
            return names
    return []


def _guards(group: Group, functions: Sequence[FunctionFact], analysis: Analysis, launching: Launching) -> list[Finding]:
    """A device guard for each entry point that launches and has none."""
    by_path: dict[str, list[FunctionFact]] = {}
    for function in functions:
        if function.name in group.entry_points:
            by_path.setdefault(function.path, []).append(function)
    return [
        f
        for path, entry_points in sorted(by_path.items())
        for f in add_guards(
            analysis.views[path],
            entry_points,
            launches=launching.launch.__contains__,
            guarded=launching.guard.__contains__,
        )
    ]


def _throwing(group: Group, analysis: Analysis) -> list[Finding]:
    names = set(group.entry_points)
    paths = sorted({e.path for e in group.entities if e.kind == "function" and e.name in names and e.defines})
    offered = analysis.project.target_names
    return [f for path in paths for f in throw_scope.findings(analysis.views[path], names, offered)]


def entities_by_group(groups: Sequence[Group]) -> dict[Entity, str]:
    """Entity -> name of the group it belongs to."""
    return {entity: group.name for group in groups for entity in group.entities}
