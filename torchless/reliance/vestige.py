"""Whether an include directive is used, and what else would have to be included if it were not there.

A header is used by a file that mentions a name which the header itself declares. What else came with it is used when
something that is read later mentions a name of it and has it from nowhere else in time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from torchless.closure.model import Edge
from torchless.reliance import families
from torchless.reliance.facts import Facts, View
from torchless.reliance.loss import Loss, Needs
from torchless.reliance.order import Place, reading


@dataclass
class Verdict(Needs):
    """What hangs on one include directive, in all units that take it.

    own: what the includer itself uses of the header. relied: what other files use of it and have from here only.
    needed: headers of the checkout that came with it and are needed still -> why. outside, standard: the same for
    headers outside of the checkout and standard ones, spelled with <>. doubts: why nobody can be sure, one phrase each.
    reaches: the heavy categories behind the directive. spared: of these, what at least one unit would be free of.
    units: the sources that take the directive.
    """

    own: tuple[str, ...] = ()
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


def judge(
    facts: Facts,
    edge: Edge,
    *,
    outside: bool,
    gone: Collection[Place] = (),
    sparing: bool = False,
    anyway: bool = False,
) -> Verdict:
    """What hangs on the directive ``edge``; ``outside``: it names a header that is not in the checkout.

    Directives at ``gone`` are taken out, too. Where the header is used nothing else is found out, unless ``anyway``;
    nor, with ``sparing``, where no unit would be spared a heavy category.
    """
    verdict = Verdict(own=own_uses(facts, edge, outside=outside))
    if verdict.own and not anyway:
        return verdict
    losses = []
    for view in facts.views_of.get(edge.includer, ()):
        targets = {e.target for e in view.leaving.get(edge.includer, ()) if e.offset == edge.offset}
        if edge.target in targets:
            loss = _judge_in(facts, view, edge, verdict, gone)
            if loss is not None:
                losses.append(loss)
        for other in sorted(targets - {edge.target}):
            verdict.doubts[f"it names {other} in other units"] = None
    if sparing and not verdict.spared:
        return verdict
    if not outside:
        _doubt_header(facts, edge.target, verdict)
    _ask_scripts(facts, edge, verdict, outside=outside)
    for loss in losses:
        loss.find_names()
    if anyway or not verdict.relied:
        for loss in losses:
            loss.find_rest()
            _doubt_unit(facts, loss.view, verdict)
    return verdict


def _judge_in(facts: Facts, view: View, edge: Edge, verdict: Verdict, gone: Collection[Place]) -> Loss | None:
    """What one view loses with ``edge``, None for nothing; what the view is spared goes into the verdict."""
    verdict.units.add(view.source)
    below = view.below(edge.target)
    heavy = facts.heavy(view)
    verdict.reaches |= {category for header, category in heavy.items() if header in below}
    place = (edge.includer, edge.offset)
    before = reading(view.source, view.leaving, gone) if gone else view.reading
    lost = before.through(place, edge.target)
    if not lost:
        return None  # everything was there before
    after = reading(view.source, view.leaving, (*gone, place))
    had = {category for header, category in heavy.items() if header in before.entered}
    verdict.spared |= had - {category for header, category in heavy.items() if header in after.entered}
    return Loss(facts, view, edge, before, lost, after, verdict)


def _outside_uses(facts: Facts, edge: Edge, user: str) -> list[str]:
    """What ``user`` mentions of the header outside of the checkout that ``edge`` names, sorted.

    For a header of which nothing is known that is its own name: somebody wanted it.
    """
    seen = facts.whole(user)
    kind = facts.family(edge)
    if kind == families.TORCH:
        narrow = facts.headers.narrow.get(edge.target)
        if narrow is None or not seen.torch:
            return seen.torch
        declared = frozenset().union(*(facts.declared_in(view) for view in facts.views_of.get(user, ())))
        return [n for n in narrow.used(seen.mentions) if n not in declared]
    if kind == families.CK:
        return seen.ck
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


def _base(path: str) -> str:
    return path.rpartition("/")[2]
