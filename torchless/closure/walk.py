"""Takes a translation unit through its directives as a preprocessor does, and notes which includes it meets.

A condition that hangs on something unknown (what a header outside of the checkout defines, what a build step writes)
is not guessed: each arm that may be active is gone through with a macro state of its own, what it meets counts as
taken but not as certain, and afterwards a macro that the arms disagree about is unknown.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from torchless.closure import predefined
from torchless.closure.conditions import MAYBE, OPAQUE, UNDEFINED, Condition, Value, evaluate, implied, unsettled
from torchless.closure.directives import (
    ANGLED,
    COMPUTED,
    DEFINE,
    END,
    ENDIF,
    IF,
    INCLUDE,
    ONCE,
    Operation,
    Scan,
)
from torchless.closure.model import Closure, Edge, Trouble, Undecided
from torchless.closure.weights import Weights, load_weights
from torchless.facts.spec import TuSpec

_DEEPEST = 200  # includes within each other, as for clang
_MOST_FILES = 10_000  # entered by one unit; beyond, conditions are ignored and each file is read once, which ends
_HEADER = r'\s*(?:<([^>]*)>|"([^"]*)")\s*\Z'
_NAME = r"\s*([A-Za-z_$][\w$]*)\s*\Z"

_UNSURE, _PLAIN, _SURE = range(3)
"""How certain it is that directives of a file are taken: not at all; those under no condition are; all active ones."""

Resolve = Callable[[str, str, bool, Sequence[str]], str]
"""(includer, spelled, angled, include folders) -> the file of the checkout, "" when there is none."""
_Target = tuple[str, bool, Edge, Edge]
"""(target, whether it is outside of the checkout, the edge to it when that is certain, and when not)"""


@dataclass
class Checkout:
    """The files that closures are made of: how to scan one, how to find one, and what was found before.

    ``scan(path)`` gives directives.scan_directives() of a file, an empty scan for one that cannot be read.
    """

    scan: Callable[[str], Scan]
    resolve: Resolve
    weights: Weights = field(default_factory=load_weights)
    _scans: dict[str, Scan] = field(default_factory=dict)
    _targets: dict[tuple[str, ...], dict[tuple[str, int], _Target]] = field(default_factory=dict)
    _named: dict[tuple[str, tuple[str, ...]], frozenset[str]] = field(default_factory=dict)

    def scanned(self, path: str) -> Scan:
        """``scan(path)``, asked once."""
        found = self._scans.get(path)
        if found is None:
            found = self._scans[path] = self.scan(path)
        return found

    def targets(self, include_dirs: tuple[str, ...]) -> dict[tuple[str, int], _Target]:
        """(includer, offset) -> what the directive there leads to, as far as a walk has come by; walks add to it."""
        return self._targets.setdefault(include_dirs, {})

    def defined_names(self, source: str, include_dirs: tuple[str, ...]) -> frozenset[str]:
        """Every macro that is defined in a file which ``source`` may reach, conditions ignored."""
        key = (source, include_dirs)
        if key not in self._named:
            names: set[str] = set()
            seen = {source}
            pending = [source]
            while pending:
                path = pending.pop()
                for operation in self.scanned(path)[0]:
                    if operation[0] == DEFINE:
                        names.update(name for name, value in operation[2] if value != UNDEFINED)
                    elif operation[0] == INCLUDE and operation[5] != COMPUTED:
                        target = self.resolve(path, operation[4], operation[5] == ANGLED, include_dirs)
                        if target and target not in seen:
                            seen.add(target)
                            pending.append(target)
            self._named[key] = frozenset(names)
        return self._named[key]


def closure_of(checkout: Checkout, spec: TuSpec) -> Closure:
    """What the translation unit ``spec`` reads in its pass."""
    walk = _Walk(checkout, spec)
    walk.enter(spec.source, _SURE)
    edges = tuple(walk.edges.values())
    troubles = dict.fromkeys((*walk.scan_troubles(), *walk.troubles))
    return Closure(
        spec=spec,
        edges=edges,
        via=shortest(spec.source, edges),
        lines=walk.lines,
        undecided=tuple(walk.undecided.values()),
        troubles=tuple(troubles),
        outside=frozenset(walk.outside),
    )


def shortest(source: str, edges: Iterable[Edge]) -> dict[str, Edge | None]:
    """Every file that ``edges`` reach -> the edge that opens it on a shortest path, certain where there is such a one.

    The source -> None. Of paths of the same length the one of the earliest edges is taken.
    """
    leaving: dict[str, list[Edge]] = {}
    for edge in edges:
        leaving.setdefault(edge.includer, []).append(edge)
    via: dict[str, Edge | None] = {source: None}
    for sure in (True, False):
        pending = deque(via)
        while pending:
            for edge in leaving.get(pending.popleft(), ()):
                if edge.target not in via and (edge.certain or not sure):
                    via[edge.target] = edge
                    pending.append(edge.target)
    return via


@dataclass(slots=True)
class _Fork:
    """A condition that could not be decided: how things stood before it, and how they stood after each arm."""

    certain: int
    state: dict[str, Value]
    splits: bool  # whether an arm can change the state
    after: list[dict[str, Value]] = field(default_factory=list)
    is_last: bool = False  # no arm after the present one can be active


class _Walk:
    """One translation unit in one pass."""

    def __init__(self, checkout: Checkout, spec: TuSpec) -> None:
        self.checkout = checkout
        self.spec = spec
        self.targets = checkout.targets(spec.include_dirs)
        self.state = predefined.macros_of(spec)
        self.edges: dict[tuple[str, int, str], Edge] = {}
        self.lines: dict[str, int] = {}
        self.outside: dict[str, None] = {}
        self.undecided: dict[tuple[str, int], Undecided] = {}
        self.troubles: list[Trouble] = []
        self.files: dict[str, None] = {}
        self.stack: dict[str, int] = {}  # file being read -> changes of the state before it was entered last
        self.depth = self.entered = self.changes = 0
        self.blocks = 0  # of the weights, as a mask
        self.wild = False  # a header was met that may define whatever nobody else does
        self.names: frozenset[str] | None = None

    def look(self, name: str) -> Value:
        """The value of a macro now."""
        value = self.state.get(name)
        if value is None:
            value = predefined.outside(name)
            if value == OPAQUE or (value == UNDEFINED and self.wild):
                if self.names is None:
                    self.names = self.checkout.defined_names(self.spec.source, self.spec.include_dirs)
                value = UNDEFINED if name in self.names else MAYBE
        return value

    def has(self, spelled: str, angled: bool) -> bool | None:
        """Whether a header is there; None for one that is not in the checkout and not in every toolchain."""
        here = next(reversed(self.stack))
        found = self.checkout.resolve(here, spelled, angled, self.spec.include_dirs)
        return True if found or predefined.is_standard(spelled) else None

    def scan_troubles(self) -> Iterator[Trouble]:
        """What is wrong with the directives of the files that were read."""
        for path in self.files:
            for offset, line, message in self.checkout.scanned(path)[2]:
                yield Trouble(path, offset, line, message)

    def enter(self, path: str, certain: int) -> str:
        """Read a file, unless it was read before and does not want to be again. ``certain``: one of the three above.

        A file that was read in an arm which may not be active is read again, or it is not: both have to be thought of.
        Whatever it includes without a condition has been included by then. Gives what is wrong with it, or "".
        """
        operations, guard, _ = self.checkout.scanned(path)
        once = f"#once {path}"
        value = self.state.get(once)
        keeper = once if value is not None else guard
        if keeper == guard and guard:
            value = self.state.get(guard)
            if value is None:  # nobody else uses that name
                self.state[guard] = value = UNDEFINED
        if keeper and value not in (UNDEFINED, MAYBE):
            return ""
        if not keeper or value == UNDEFINED:
            return self._read(path, operations, guard, certain)
        unread, kept = dict(self.state), dict(self.state)
        for name in (once, guard):
            if name and self.state.get(name) == MAYBE:
                unread[name], kept[name] = UNDEFINED, OPAQUE
        self.state = unread
        trouble = self._read(path, operations, guard, min(certain, _PLAIN))
        self._take([self.state, kept])
        return trouble

    def _read(self, path: str, operations: Sequence[Operation], guard: str, certain: int) -> str:
        """Read a file again or for the first time. Gives what is wrong with that, or ""."""
        if self.stack.get(path) == self.changes or self.depth >= _DEEPEST:
            return f"{path} includes itself without end"
        if self.entered >= _MOST_FILES:
            return self._enter_flat(path)
        outer = self.stack.pop(path, None)
        self.stack[path] = self.changes
        self.depth += 1
        self.entered += 1
        self.files[path] = None
        counted = self._run(path, operations, certain, 1 if guard else 0)
        self.depth -= 1
        del self.stack[path]
        if outer is not None:
            self.stack[path] = outer
        before = self.lines.get(path, 0)
        once = guard or f"#once {path}" in self.state
        self.lines[path] = max(before, counted) if once else before + counted
        return ""

    def _run(self, path: str, operations: Sequence[Operation], certain: int, around: int) -> int:
        """Execute a file's program, which `directives` describes. Gives the number of its active lines.

        ``around``: how many conditions hold the whole file, that is whether it has a guard.
        """
        frames: list[_Fork | None] = []  # None: a condition that was decided, of which the active arm is being read
        place = lines = 0
        while True:
            operation = operations[place]
            kind = operation[0]
            lines += operation[1]
            place += 1
            if kind == DEFINE:
                self.state.update(operation[2])
                self.changes += 1
            elif kind == INCLUDE:
                self._include(path, operation, _UNSURE if certain == _PLAIN and len(frames) > around else certain)
            elif kind == END:
                return int(lines)
            elif kind == ONCE:
                self.state[f"#once {path}"] = "1"
                self.changes += 1
            else:
                fork = frames.pop() if kind != IF else None
                if kind != IF:  # an arm has been read to its end
                    if fork is not None:
                        fork.after.append(self.state)
                        self.state = fork.state  # the next arm knows nothing of this one
                    if fork is None or fork.is_last or kind == ENDIF:
                        place = place if kind == ENDIF else operation[6] + 1
                        certain = certain if fork is None else self._join(fork)
                        continue
                place, fork = self._next_arm(path, operations, place - 1, fork, certain)
                if operations[place - 1][0] != ENDIF:
                    frames.append(fork)
                    certain = certain if fork is None else _UNSURE
                elif fork is not None:
                    certain = self._join(fork)

    def _next_arm(
        self, path: str, operations: Sequence[Operation], at: int, fork: _Fork | None, certain: int
    ) -> tuple[int, _Fork | None]:
        """The first arm from the one at index ``at`` on that may be active, as the index behind its directive.

        Where there is none, that is the index behind #endif. The fork is ``fork`` or a new one, where the choice could
        not be decided, and then the state is that of the arm.
        """
        while operations[at][0] != ENDIF:
            arm = operations[at]
            condition: Condition | None = arm[4]
            value = 1 if condition is None else evaluate(condition, self.look, self.has)
            if value is None and condition is not None:
                if fork is None:
                    fork = _Fork(certain, self.state, arm[7] > 0)
                if arm[7] == 2:
                    self._note(path, arm, condition)
            if value != 0:
                if fork is not None:
                    fork.is_last = value is not None
                    self._enter_arm(fork, condition)
                return at + 1, fork
            at = arm[5]
        return at + 1, fork

    def _enter_arm(self, fork: _Fork, condition: Condition | None) -> None:
        """Make the state that of an arm: as before the condition, with what follows from the arm being active."""
        if not fork.splits:
            return
        inside = list(self._follows(condition, True))
        later = list(self._follows(condition, False))
        self.state = dict(fork.state)
        self.state.update((name, OPAQUE if defined else UNDEFINED) for name, defined in inside)
        if later:
            fork.state = dict(fork.state)
            fork.state.update((name, OPAQUE if defined else UNDEFINED) for name, defined in later)

    def _follows(self, condition: Condition | None, holds: bool) -> Iterator[tuple[str, bool]]:
        if condition is not None:
            for name, defined in implied(condition[0], holds):
                if self.look(name) == MAYBE:
                    yield name, defined

    def _join(self, fork: _Fork) -> int:
        """Go on behind a condition that could not be decided. Gives how certain what stands there is."""
        if fork.splits:
            self._take(fork.after if fork.is_last else [*fork.after, fork.state])
        return fork.certain

    def _take(self, states: Sequence[dict[str, Value]]) -> None:
        """Make the state that which is known when it may be any of ``states``."""
        first = states[0]
        differing = {name for other in states[1:] for name, _ in first.items() ^ other.items()}
        self.state = dict(first)
        for name in differing:
            values = [state.get(name, UNDEFINED) for state in states]
            if all(value not in (UNDEFINED, MAYBE) for value in values):
                self.state[name] = OPAQUE
            elif any(value != UNDEFINED for value in values):
                self.state[name] = MAYBE
            else:  # of no interest so far, or said to be undefined
                self.state.pop(name, None)
        self.changes += 1

    def _note(self, path: str, arm: Operation, condition: Condition) -> None:
        """Remember a condition with an include below it that could not be decided."""
        if (path, arm[2]) not in self.undecided:
            names = tuple(unsettled(condition, self.look))
            self.undecided[path, arm[2]] = Undecided(path, arm[2], arm[3], condition[1], names)

    def _include(self, path: str, operation: Operation, certain: int) -> None:
        """Meet an include directive that is taken, or may be."""
        key = (path, operation[2])
        found = self.targets.get(key)
        if found is None:
            found = self._target(path, operation, certain)
            if found is None:
                return
            if operation[5] != COMPUTED:
                self.targets[key] = found
        target, is_outside, sure, unsure = found
        edge_key = (path, operation[2], target)
        known = self.edges.get(edge_key)
        if known is None or (certain and not known.certain):
            self.edges[edge_key] = sure if certain else unsure
        if is_outside:
            self._meet(target, sure.angled)
            return
        if operation[6] == "import" and self.state.get(f"#once {target}") is None:
            self.state[f"#once {target}"] = "1"
            self.changes += 1
            operations, guard, _ = self.checkout.scanned(target)
            trouble = self._read(target, operations, guard, certain)
        else:
            trouble = self.enter(target, certain)
        if trouble:
            self.troubles.append(Trouble(path, operation[2], operation[3], trouble))

    def _meet(self, header: str, angled: bool) -> None:
        """Note a header outside of the checkout."""
        if header not in self.outside:
            self.outside[header] = None
            self.wild = self.wild or not predefined.is_known_header(header, angled)
            weights = self.checkout.weights
            blocks = weights.masks.get(header)
            if blocks is not None:
                self.lines[header] = weights.under(blocks & ~self.blocks)
                self.blocks |= blocks

    def _target(self, path: str, operation: Operation, certain: int) -> _Target | None:
        """What an include directive leads to; None where that is not known, which is noted."""
        _, _, offset, line, spelled, form, keyword = operation
        angled = form == ANGLED
        if form == COMPUTED:
            match = self._header(spelled)
            if match is None:
                if certain:  # else the condition has been noted
                    message = f"#{keyword} {spelled}: what this includes is not known"
                    self.troubles.append(Trouble(path, offset, line, message))
                self.wild = True
                return None
            angled = match[1] is not None
            spelled = match[1] if angled else match[2]
        folders: Sequence[str] = self.spec.include_dirs
        if keyword == "include_next":
            within = [n for n, folder in enumerate(folders, 1) if path.startswith(f"{folder}/") or folder == "."]
            folders = folders[within[0] :] if within else folders
            angled = angled or bool(within)
        target = self.checkout.resolve(path, spelled, angled, folders)
        edges = [Edge(path, offset, line, spelled, angled, target or spelled, sure) for sure in (True, False)]
        return target or spelled, not target, edges[0], edges[1]

    def _header(self, operand: str) -> re.Match[str] | None:
        """The header that ``operand`` stands for after macros are replaced: group 1 in <>, or group 2 in quotes."""
        for _ in range(20):
            match = re.match(_HEADER, operand)
            name = re.match(_NAME, operand)
            if match is not None or name is None:
                return match
            value = self.look(name[1])
            if not isinstance(value, str):
                return None
            operand = value
        return None

    def _enter_flat(self, path: str) -> str:
        """Follow every include below ``path``, conditions ignored, each file once. Gives what to say about that."""
        seen: set[str] = {path}
        pending = [path]
        while pending:
            current = pending.pop()
            self.files[current] = None
            self.lines.setdefault(current, 0)
            for operation in self.checkout.scanned(current)[0]:
                if operation[0] != INCLUDE:
                    continue
                found = self._target(current, operation, _UNSURE)
                if found is None:
                    continue
                target, is_outside, _, unsure = found
                self.edges.setdefault((current, operation[2], target), unsure)
                if is_outside:
                    self._meet(target, unsure.angled)
                elif target not in seen:
                    seen.add(target)
                    pending.append(target)
        return f"more than {_MOST_FILES} files are entered; from here on conditions are ignored"
