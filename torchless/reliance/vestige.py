"""Whether an include directive is used, and what else would have to be included if it were not there.

A header is used by a file that mentions a name which the header itself declares. What else came with it is used when
something that is read later mentions a name of it and has it from nowhere else in time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from torchless.closure.model import Edge
from torchless.reliance import families
from torchless.reliance.facts import Facts, View
from torchless.reliance.mentions import Mentions
from torchless.reliance.order import Place, Reading, reading
from torchless.rewrites.std_headers import headers_of_names, is_given

Use = tuple[str, str]
"""(file, a name that it mentions)"""


@dataclass
class Verdict:
    """What hangs on one include directive, in all units that take it.

    own: what the includer itself uses of the header. relied: what other files use of it and have from here only.
    needed: headers of the checkout that came with it and are needed still -> why. outside, standard: the same for
    headers outside of the checkout and standard ones, spelled with <>. doubts: why nobody can be sure, one phrase each.
    reaches: the heavy categories behind the directive. spared: of these, what at least one unit would be free of.
    units: the sources that take the directive.
    """

    own: tuple[str, ...] = ()
    relied: dict[str, str] = field(default_factory=dict)
    needed: dict[str, Use] = field(default_factory=dict)
    outside: dict[str, Use] = field(default_factory=dict)
    standard: dict[str, Use] = field(default_factory=dict)
    doubts: dict[str, None] = field(default_factory=dict)
    reaches: set[str] = field(default_factory=set)
    spared: set[str] = field(default_factory=set)
    units: set[str] = field(default_factory=set)

    @property
    def is_unused(self) -> bool:
        """Whether nothing of the header itself is used, neither by its includer nor by others through it."""
        return not self.own and not self.relied


def own_uses(facts: Facts, edge: Edge, *, outside: bool) -> tuple[str, ...]:
    """What the includer of ``edge`` mentions of what the header itself declares, sorted.

    A header that defines functions is there to be included, whoever names them: ("defines f",).
    """
    mentioned = facts.mentions(edge.includer)
    if outside:
        return tuple(_outside_uses(facts, edge, edge.includer))
    header = facts.declared(edge.target)
    used = tuple(sorted(header.names & mentioned.names))
    return used or tuple(e for e in header.effects if e.startswith(("defines ", "instantiates ")))


def judge(facts: Facts, edge: Edge, *, outside: bool, gone: Collection[Place] = ()) -> Verdict:
    """What hangs on the directive ``edge``; ``outside``: it names a header that is not in the checkout.

    Directives at ``gone`` are taken out, too. Where the includer itself uses the header nothing else is found out.
    """
    verdict = Verdict(own=own_uses(facts, edge, outside=outside))
    if verdict.own:
        return verdict
    if not outside:
        _doubt_header(facts, edge.target, verdict)
    _ask_scripts(facts, edge, verdict, outside=outside)
    for view in facts.views_of.get(edge.includer, ()):
        if any(e.offset == edge.offset and e.target == edge.target for e in view.leaving.get(edge.includer, ())):
            _judge_in(facts, view, edge, verdict, gone)
    return verdict


def _judge_in(facts: Facts, view: View, edge: Edge, verdict: Verdict, gone: Collection[Place]) -> None:
    """Add what hangs on ``edge`` in one view."""
    verdict.units.add(view.source)
    below = view.below(edge.target)
    heavy = facts.heavy(view)
    verdict.reaches |= {category for header, category in heavy.items() if header in below}
    place = (edge.includer, edge.offset)
    before = reading(view.source, view.leaving, gone) if gone else view.reading
    lost = before.through(place, edge.target)
    if not lost:
        return  # everything was there before
    after = reading(view.source, view.leaving, (*gone, place))
    had = {category for header, category in heavy.items() if header in before.entered}
    verdict.spared |= had - {category for header, category in heavy.items() if header in after.entered}
    loss = _Loss(facts, view, edge, before, lost, after, verdict)
    for path in after.entered:
        if path not in view.closure.outside:
            loss.of(path)
    _doubt_unit(facts, view, verdict)


@dataclass
class _Loss:
    """What one view lacks without a directive: ``lost`` are the files that were entered through it."""

    facts: Facts
    view: View
    edge: Edge
    before: Reading
    lost: tuple[str, ...]
    after: Reading
    verdict: Verdict

    def of(self, user: str) -> None:
        """Add what ``user``, a file that the unit still reads, lacks."""
        facts, verdict = self.facts, self.verdict
        mentioned = self._mentioned(user)
        missing = [path for path in self.lost if path != user and not self._is_there(path, user)]
        for path in missing:
            if path in self.view.closure.outside:
                continue
            header = facts.declared(path)
            hit = min(header.names & mentioned.names, default="")
            if hit and (path == self.edge.target or hit not in facts.declared(user).names):
                if path == self.edge.target:
                    verdict.relied.setdefault(user, hit)
                else:
                    verdict.needed.setdefault(path, (user, hit))
            elif mentioned.pasted and (made := self._pasted(mentioned, header.names)):
                verdict.doubts[f"{_base(user)} may make {made} with ##"] = None
            if path not in self.after.entered:
                for effect in header.effects:
                    verdict.doubts[f"{_base(path)} {effect}"] = None
            for name in mentioned.using & _opened(facts, path):
                if not any(name in _opened(facts, p) for p in self._available(user, inside=True)):
                    verdict.doubts[f"{_base(user)} is using namespace {name}"] = None
        if any(path in self.view.closure.outside for path in missing):
            self._outside_of(user, [path for path in missing if path in self.view.closure.outside])

    def _pasted(self, mentioned: Mentions, names: Iterable[str]) -> str:
        """The first of ``names`` that ## may make in a file of the unit, "" for none."""
        words = self.facts.words(self.view)
        return min((name for name in names if mentioned.makes(name, words)), default="")

    def _was_done(self, user: str) -> bool:
        """Whether ``user`` ends before the directive: then only what its macros expand to can miss anything."""
        return self.before.left[user] < self.before.entered[self.edge.target]

    def _mentioned(self, user: str) -> Mentions:
        """What ``user`` mentions where it can miss something; all of it for the includer, its macros as well."""
        mentioned = self.facts.mentions(user)
        if user == self.edge.includer or not (mentioned.macros or self._was_done(user)):
            return mentioned
        return mentioned.expanding(self.facts.expanded(self.view), later=self._was_done(user))

    def _is_there(self, path: str, user: str) -> bool:
        """Whether ``user`` still has ``path`` in time."""
        return path in self.after.entered if self._was_done(user) else self.after.has_before(path, user)

    def _available(self, user: str, *, inside: bool) -> list[str]:
        """What ``user`` still has in time: files of the checkout, or headers outside of it."""
        outside = self.view.closure.outside
        return [p for p in self.after.entered if (p not in outside) is inside and self._is_there(p, user)]

    def _outside_of(self, user: str, missing: list[str]) -> None:
        """Add what ``user`` lacks of headers outside of the checkout."""
        facts, verdict = self.facts, self.verdict
        mentioned = self._mentioned(user)
        left = self._available(user, inside=False)
        for header in missing:
            edge = self._edge_to(header)
            kind = facts.family(edge)
            if kind == families.TORCH:
                self._torch(user, header, left)
            elif kind == families.HIP:
                uses = families.narrow_hip_uses(header, mentioned)
                if uses or (not any(map(families.brings_hip, left)) and (uses := families.hip_uses(mentioned))):
                    verdict.outside.setdefault(f"<{header}>", (user, uses[0]))
            elif kind == families.CK:
                if not any(facts.context.heavy.category(h) == families.CK for h in left):
                    self._from_includer(edge, user, families.ck_uses(mentioned))
            elif kind == families.PYBIND:
                if header not in left and not any(map(families.binds_torch, left)):
                    uses = families.pybind_uses(mentioned)
                    if uses:
                        verdict.outside.setdefault(f"<{header}>", (user, uses[0]))
            elif kind != families.STANDARD and header not in self.after.entered:
                verdict.doubts[f"<{header}> would go, of which nothing is known"] = None
        self._standard(user, missing, left)

    def _torch(self, user: str, header: str, left: list[str]) -> None:
        """Add what ``user`` lacks of one of torch's headers, which is no longer there in time."""
        facts = self.facts
        mentioned = self._mentioned(user)
        uses = families.torch_uses(mentioned)
        narrow = facts.headers.narrow.get(header)
        if narrow is not None:
            uses = [] if facts.headers.is_within(header, left) else narrow.used(mentioned)
        elif any(families.family(h, True) == families.TORCH and h not in facts.headers.narrow for h in left):
            uses = []
        if families.binds_torch(header) and not any(map(families.binds_torch, left)):
            uses = uses or self._bound(user) or self._alias(user)
            if not any(h.startswith("pybind11/") for h in left) and (bound := families.pybind_uses(mentioned)):
                for lost in ("<pybind11/pybind11.h>", "<pybind11/stl.h>"):
                    self.verdict.outside.setdefault(lost, (user, bound[0]))
        hip = [] if any(map(families.brings_hip, (*left,))) else families.hip_uses(mentioned)
        if families.brings_hip(header) and hip:
            self.verdict.outside.setdefault("<hip/hip_runtime.h>", (user, hip[0]))
        self._from_includer(self._edge_to(header), user, uses)

    def _alias(self, user: str) -> list[str]:
        """The name ``py``, which torch gives to pybind11, where ``user`` uses it and nobody else declares it."""
        if not any(q.startswith("py::") for q in self.facts.mentions(user).qualified):
            return []
        declaring = (user, *self._available(user, inside=True))
        return [] if any("py" in self.facts.declared(path).names for path in declaring) else ["py::"]

    def _bound(self, user: str) -> list[str]:
        """What of torch the unit still mentions, where ``user`` binds functions: their types need torch's casters."""
        if "PYBIND11_MODULE" not in self.facts.mentions(user).names:
            return []
        for path in self.after.entered:
            if path not in self.view.closure.outside:
                uses = families.torch_uses(self.facts.mentions(path))
                if uses:
                    return uses
        return []

    def _from_includer(self, edge: Edge, user: str, uses: list[str]) -> None:
        """``user`` uses what a header outside of the checkout gives: what includes that is needed."""
        if not uses:
            return
        if edge.includer == self.edge.includer or edge.includer == self.edge.target:
            self.verdict.relied.setdefault(user, uses[0])
        else:
            self.verdict.needed.setdefault(edge.includer, (user, uses[0]))

    def _edge_to(self, header: str) -> Edge:
        """The directive that opened ``header``."""
        includer, offset = self.before.opened[header]
        return next(e for e in self.view.leaving[includer] if e.offset == offset and e.target == header)

    def _standard(self, user: str, missing: list[str], left: list[str]) -> None:
        """Add the standard headers that may have come through ``missing`` and that ``user`` needs."""
        mentioned = self._mentioned(user)
        std = [q.removeprefix("std::") for q in mentioned.qualified if q.startswith("std::")]
        for use in headers_of_names(std, mentioned.names):
            name = use.header.strip("<>")
            if any(families.may_bring(header, name) for header in missing) and not is_given(
                use.header, lambda h: any(families.surely_brings(y, h.strip("<>")) for y in left)
            ):
                self.verdict.standard.setdefault(use.header, (user, use.names[0]))


def _outside_uses(facts: Facts, edge: Edge, user: str) -> list[str]:
    """What ``user`` mentions of the header outside of the checkout that ``edge`` names, sorted.

    For a header of which nothing is known that is its own name: somebody wanted it.
    """
    mentioned = facts.mentions(user)
    kind = facts.family(edge)
    if kind == families.TORCH:
        uses = families.torch_uses(mentioned)
        narrow = facts.headers.narrow.get(edge.target)
        if narrow is None:
            return uses
        declared = {n for view in facts.views_of.get(user, ()) for n in _declared_in(facts, view)}
        return [n for n in narrow.used(mentioned) if n not in declared]
    if kind == families.CK:
        return families.ck_uses(mentioned)
    return [edge.target]


def _doubt_header(facts: Facts, header: str, verdict: Verdict) -> None:
    if not facts.declared(header).once:
        verdict.doubts[f"{_base(header)} has no include guard"] = None


def _doubt_unit(facts: Facts, view: View, verdict: Verdict) -> None:
    """Add what keeps anybody from knowing all that the unit reads."""
    for edges in view.leaving.values():
        for edge in edges:
            if edge.target in view.closure.outside and facts.family(edge) == families.UNSEEN:
                verdict.doubts[f"{edge.spelled} is not in the checkout and may need it"] = None
    for trouble in view.closure.troubles:
        verdict.doubts[f"{_base(trouble.path)}:{trouble.line}: {trouble.message}"] = None


def _ask_scripts(facts: Facts, edge: Edge, verdict: Verdict, *, outside: bool) -> None:
    """Add what sources that a build step writes may use of ``edge``."""
    for path in sorted({edge.includer, *_includers(facts, edge.includer)}):
        for script in facts.printed.get(_base(path), ()):
            words = facts.words_of(script)
            hit = "" if outside else min(facts.declared(edge.target).names & words, default="")
            if hit:
                verdict.relied.setdefault(script, hit)
            else:
                verdict.doubts[f"{script} writes sources that include {_base(path)}"] = None


def _includers(facts: Facts, path: str) -> Iterator[str]:
    """The headers by which a unit comes to ``path``."""
    for view in facts.views_of.get(path, ()):
        yield from view.reaching([path]) - {view.source}


def _declared_in(facts: Facts, view: View) -> frozenset[str]:
    """The names that the files of a unit declare."""
    files = (path for path in view.reading.entered if path not in view.closure.outside)
    return frozenset().union(*(facts.declared(path).names for path in files))


def _opened(facts: Facts, path: str) -> frozenset[str]:
    return facts.mentions(path).opened


def _base(path: str) -> str:
    return path.rpartition("/")[2]
