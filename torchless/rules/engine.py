"""Findings of the pattern rules in one file: match, choose between rivals, nest, render.

Deterministic, without state between files. Rules are found through the rarest thing in them, the name that the search
starts from; the cost of a file is one dictionary look-up per token.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from torchless.facts.typing import FileView
from torchless.model import Confidence, Edit, Finding, Tier
from torchless.rules.conditions import Answer, Verdict, holds_context, judge
from torchless.rules.int_arrays import local_int_arrays
from torchless.rules.match import PROJECT_CHECKS, Bound, Match, Site, match_at
from torchless.rules.model import PatternRule, Rule, Ruleset
from torchless.rules.pattern import Lit, NameIs, Rest, Var
from torchless.rules.render import Refusal, render
from torchless.text.edits import apply
from torchless.text.lexer import Kind, match_backward

_TIERS = (Tier.SAFE, Tier.UNSAFE, Tier.DISPLAY)
_UNKNOWN_HELP = "rewrite it by hand, or give the expression a type that can be seen here"


@dataclass(frozen=True, slots=True)
class Options:
    """What the engine must know besides the file.

    ``target_names``: what the target's headers offer, None when nobody looked. ``check_macros``: macros of the project
    whose body ends in a check without a semicolon (see ending_checks).
    """

    target_names: frozenset[str] | None = None
    check_macros: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Hit:
    """A match that holds, on its way to a finding."""

    rule: Rule
    pattern: PatternRule
    match: Match
    confidence: Confidence
    claimed: tuple[int, ...]
    depth: int = 0
    edits: tuple[Edit, ...] = ()
    refusal: str = ""
    tier: Tier = Tier.SAFE

    @property
    def order(self) -> tuple[int, int, int, int, str]:
        """Sort key: what is preferred among rivals comes first."""
        span = self.match.last - self.match.first
        return (-self.pattern.priority, -len(self.claimed), -span, self.match.first, self.rule.code)


Entry = tuple[Rule, PatternRule]


@dataclass(frozen=True)
class _Index:
    by_text: Mapping[bytes, tuple[Entry, ...]]
    lone: tuple[Entry, ...]
    sets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Examined:
    """What the pattern rules found in one file.

    ``covered`` are the byte ranges [start, end) that they account for: a finding's own range may also hold text that
    its metavariables bound and that no rule knows.
    """

    findings: tuple[Finding, ...]
    covered: tuple[tuple[int, int], ...]


def findings(view: FileView, ruleset: Ruleset, options: Options | None = None) -> list[Finding]:
    """Everything that the pattern rules of ``ruleset`` have to say about one file, by place. See examine."""
    return list(examine(view, ruleset, options).findings)


def examine(view: FileView, ruleset: Ruleset, options: Options | None = None) -> Examined:
    """Match the pattern rules of ``ruleset`` against one file.

    Edits of different findings never overlap; insertions that fall on one place are ordered by their rank.
    """
    options = options or Options()
    index = _index(ruleset, options)
    site = Site(view, index.sets)
    hits, doubts = _collect(site, index, ruleset.specific_members)
    whole = _twins(site, ruleset)  # findings that account for everything in their range
    if any(rule.rewrite == "int_arrays" for rule in ruleset.rules):
        whole += local_int_arrays(view)
    spans = [(f.start, f.end) for f in whole]
    tokens = view.tokens
    standing = choose([h for h in hits if not _in_any(tokens[h.match.first].start, spans)])
    _render_all(site, standing)
    claimed = {i for hit in standing for i in hit.claimed}
    linked = _links(standing)
    out = [_finding(site, h, options) for h in standing if not h.pattern.yields and id(h) not in linked] + whole
    out += [f for at, f in doubts.items() if at not in claimed and not _in_any(tokens[at].start, spans)]
    covered = _coverage(site, standing) + spans + [(e.start, e.end) for f in whole for e in f.edits]
    return Examined(tuple(sorted(out, key=lambda f: (f.start, f.end, f.code, f.message))), tuple(sorted(covered)))


def _links(standing: list[_Hit]) -> frozenset[int]:
    """The ids of blockers that a longer blocker of the same rule goes on from: x.t() in x.t().contiguous()."""
    chains: dict[tuple[str, int], list[_Hit]] = {}
    for hit in standing:
        if hit.pattern.blocks:
            chains.setdefault((hit.rule.code, hit.match.first), []).append(hit)
    return frozenset(
        id(hit) for chain in chains.values() for hit in chain if any(hit.match.last < h.match.last for h in chain)
    )


def _in_any(offset: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= offset < end for start, end in spans)


def ending_checks(view: FileView, ruleset: Ruleset, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Macros defined in this file whose body ends in a check (or in a macro of ``known``) without a semicolon.

    Where such a macro is used without a semicolon, one is missing as soon as the check needs it.
    """
    names = {n.encode() for n in (*ruleset.sets.get("checks", {}), *known)}
    site = Site(view, ruleset.sets)
    tokens = view.tokens
    out = set()
    for start, end in site.macro_bodies(None):
        if end - start > 3 and tokens[end - 1].text == b")":
            opener = match_backward(tokens, end - 1)
            if opener > start + 3 and tokens[opener - 1].text in names and opener - 1 not in site.macro_heads:
                out.add(tokens[start + 2].text.decode("latin-1"))
    return frozenset(out)


def _index(ruleset: Ruleset, options: Options) -> _Index:
    sets = {**ruleset.sets, PROJECT_CHECKS: {name: name for name in options.check_macros}}
    by_text: dict[bytes, list[Entry]] = {}
    lone: list[Entry] = []
    for rule in ruleset.rules:
        for pattern in rule.patterns:
            compiled = pattern.pattern
            if compiled.anchor < 0:
                lone.append((rule, pattern))
                continue
            anchor = compiled.elements[compiled.anchor]
            if isinstance(anchor, NameIs):
                names = sets.get(anchor.key, {anchor.key: ""})
                texts = {name.rpartition("::")[2].encode() for name in names}
            else:
                assert isinstance(anchor, Lit)
                texts = {anchor.text}
            for text in sorted(texts):
                by_text.setdefault(text, []).append((rule, pattern))
    return _Index({text: tuple(entries) for text, entries in by_text.items()}, tuple(lone), sets)


def _collect(site: Site, index: _Index, specific: frozenset[str]) -> tuple[list[_Hit], dict[int, Finding]]:
    """All matches that hold, and what could not be decided, by the token index of the member in question."""
    hits: list[_Hit] = []
    doubts: dict[int, Finding] = {}
    for rule, pattern, match in _matches(site, index):
        if not all(holds_context(site, match, c) for c in pattern.within):
            continue
        if any(holds_context(site, match, c) for c in pattern.not_within):
            continue
        answer = judge(site, pattern.pattern, match, pattern.where)
        if answer.verdict is Verdict.YES:
            hits.append(_Hit(rule, pattern, match, answer.confidence, _claimed(pattern, match), tier=pattern.tier))
        elif answer.verdict is not Verdict.NO:
            member = _member_after(pattern, match, answer.var)
            if member >= 0 and (answer.verdict is Verdict.MIXED or _is_specific(site, member, specific)):
                doubts.setdefault(member, _doubt(site, pattern, match, answer, member))
    return hits, doubts


def _matches(site: Site, index: _Index) -> Iterator[tuple[Rule, PatternRule, Match]]:
    """Every match of every pattern, in the order of the file."""
    look_up = index.by_text.get
    for i, token in enumerate(site.view.tokens):
        entries = look_up(token.text)
        if entries is None or token.kind in (Kind.STRING, Kind.CHAR) or token.directive not in ("", "define"):
            continue
        if token.directive and i in site.macro_heads:
            continue
        for rule, pattern in entries:
            match = match_at(site, pattern.pattern, i)
            if match is not None:
                yield rule, pattern, match
    for rule, pattern in index.lone:
        key = next(c.partition(" ")[2] for c in pattern.within if c.startswith("argument "))
        for first, last, _, _ in site.calls(key).arguments:
            yield rule, pattern, Match(first, last, (Bound(first, last),))


def _claimed(pattern: PatternRule, match: Match) -> tuple[int, ...]:
    """The code tokens that no other match may stand for."""
    if pattern.yields:
        return tuple(range(match.first, match.last + 1))
    return () if pattern.additive else tuple(match.fixed(pattern.pattern))


def _member_after(pattern: PatternRule, match: Match, var: str) -> int:
    """Index of the member name behind ``$var.`` or -1."""
    elements = pattern.pattern.elements
    k = next(k for k, e in enumerate(elements) if isinstance(e, Var) and e.name == var)
    dot = elements[k + 1] if k + 2 < len(elements) else None
    return match.bounds[k + 2].first if isinstance(dot, Lit) and dot.access else -1


def _is_specific(site: Site, member: int, specific: frozenset[str]) -> bool:
    """Whether nothing but the framework has a member of this name."""
    tokens = site.view.tokens
    name = tokens[member].text.decode("latin-1")
    return name in specific or (f"{name}<" in specific and tokens[member + 1].text == b"<")


def _doubt(site: Site, pattern: PatternRule, match: Match, answer: Answer, member: int) -> Finding:
    """A finding for a member that stays because nobody knows what it is a member of."""
    token = site.view.tokens[member]
    elements = pattern.pattern.elements
    bound = next(b for e, b in zip(elements, match.bounds, strict=True) if isinstance(e, Var) and e.name == answer.var)
    why = "of several types here" if answer.verdict is Verdict.MIXED else "of unknown type here"
    return Finding(
        "TL010",
        f"{_shown(site, bound)} is {why}, so .{token.text.decode('latin-1')} stays",
        site.view.source.path,
        token.start,
        token.end,
        tier=Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        blocks=True,
        help=_UNKNOWN_HELP,
    )


def _twins(site: Site, ruleset: Ruleset) -> list[Finding]:
    """Notes on the definitions of macros that have a twin in the target: who is left behind still needs them."""
    keys = {n[1:] for r in ruleset.rules for p in r.patterns for n in p.needs if n.startswith("@")}
    codes = {
        n: r.code for r in ruleset.rules for p in r.patterns for k in p.pattern.sets() & keys for n in site.sets[k]
    }
    tokens = site.view.tokens
    out = []
    for start, end in site.macro_bodies(frozenset(codes)):
        name = tokens[start + 2].text.decode("latin-1")
        message = f"{name} is defined here for those who are not migrated; the target has its own"
        place = (site.view.source.path, tokens[start].start, tokens[end - 1].end)
        out.append(Finding(codes[name], message, *place, tier=Tier.DISPLAY))
    return out


def choose(hits: list[_Hit]) -> list[_Hit]:
    """The hits that stand, outer ones first: the most specific of rivals for a token, and what nests or lies apart."""
    taken: set[int] = set()
    left_to_others: set[int] = set()
    winners: list[_Hit] = []
    for hit in sorted(hits, key=lambda h: h.order):
        if not taken.isdisjoint(hit.claimed) or hit.match.first in left_to_others:
            continue
        taken.update(hit.claimed)
        if hit.pattern.yields:
            left_to_others.update(hit.claimed)
        winners.append(hit)
    winners.sort(key=lambda h: (h.match.first, -h.match.last, len(h.claimed), h.rule.code))
    around: list[_Hit] = []
    standing: list[_Hit] = []
    for hit in winners:
        while around and around[-1].match.last < hit.match.first:
            around.pop()
        if around and around[-1].match.last < hit.match.last:
            continue  # crosses its neighbour: neither lies within the other
        hit.depth = len(around)
        around.append(hit)
        standing.append(hit)
    return standing


def _render_all(site: Site, hits: list[_Hit]) -> None:
    """Give every hit its edits, the innermost first; an outer one takes up those within text that it moves."""
    tokens, source = site.view.tokens, site.view.source
    starts = [tokens[h.match.first].start for h in hits]

    def within(start: int, end: int, outer: _Hit) -> Iterator[_Hit]:
        for k in range(bisect_left(starts, start), len(hits)):
            if starts[k] >= end:
                return
            if tokens[hits[k].match.last].end <= end and hits[k].depth > outer.depth:
                yield hits[k]

    for hit in sorted(hits, key=lambda h: -h.depth):
        template = hit.pattern.replace
        if template is None:
            continue

        def inner(start: int, end: int, hit: _Hit = hit) -> bytes:
            moved = [h for h in within(start, end, hit) if h.edits or h.refusal]
            if any(h.refusal for h in moved):
                raise Refusal("something inside cannot be edited")
            hit.tier = max(hit.tier, *(h.tier for h in moved), key=_TIERS.index) if moved else hit.tier
            edits = [replace(e, start=e.start - start, end=e.end - start) for h in moved for e in h.edits]
            return apply(source.data[start:end], edits)

        try:
            done = render(site, hit.pattern.pattern, template, hit.match, inner, hit.rule.code, hit.depth)
        except Refusal as refusal:
            hit.refusal = str(refusal)
            continue
        hit.edits = done.edits
        for start, end in done.absorbed:
            for taken in within(start, end, hit):
                taken.edits = ()


def _finding(site: Site, hit: _Hit, options: Options) -> Finding:
    tokens, pattern = site.view.tokens, hit.pattern
    extent = hit.claimed or range(hit.match.first, hit.match.last + 1)
    place = (site.view.source.path, tokens[min(extent)].start, tokens[max(extent)].end)
    missing = _missing(site, hit, options)
    if missing:
        return Finding(
            "TL590",
            f"the checkout's target headers do not define {missing}",
            *place,
            tier=Tier.DISPLAY,
            blocks=True,
            help=f"add {missing} to the target's dispatch header, or take a checkout that has it",
        )
    message = _filled(site, hit, pattern.message)
    if hit.refusal:
        message += f" ({hit.refusal})"
    return Finding(
        hit.rule.code,
        message,
        *place,
        tier=Tier.DISPLAY if hit.refusal else hit.tier,
        edits=() if hit.refusal else hit.edits,
        confidence=hit.confidence,
        blocks=pattern.blocks or bool(hit.refusal),
        help=_filled(site, hit, pattern.help) or ("rewrite this place by hand" if hit.refusal else ""),
        requires=pattern.requires,
    )


def _missing(site: Site, hit: _Hit, options: Options) -> str:
    """The first name that the replacement needs and the target does not offer, or ""."""
    if options.target_names is None:
        return ""
    for name in hit.pattern.needs:
        if name.startswith("@"):
            k = next(
                k for k, e in enumerate(hit.pattern.pattern.elements) if isinstance(e, NameIs) and e.key == name[1:]
            )
            name = site.sets[name[1:]][hit.match.bounds[k].name]
        if name not in options.target_names:
            return name
    return ""


_PLACEHOLDER = re.compile(r"[$@]\w+")


def _filled(site: Site, hit: _Hit, text: str) -> str:
    """The pattern's message or help with $x and @set filled in from the source."""
    shown: dict[str, str] = {}
    for element, bound in zip(hit.pattern.pattern.elements, hit.match.bounds, strict=True):
        if isinstance(element, Var | Rest):
            shown.setdefault(f"${element.name}", _shown(site, bound))
        elif isinstance(element, NameIs):
            shown.setdefault(f"@{element.key}", _shown(site, bound))
    return _PLACEHOLDER.sub(lambda m: shown.get(m.group(), m.group()), text)


def _shown(site: Site, bound: Bound) -> str:
    """What was bound, on one line, cut to a readable length."""
    tokens = site.view.tokens
    if bound.last < bound.first:
        return ""
    data = site.view.source.data[tokens[bound.first].start : tokens[bound.last].end]
    text = " ".join(data.replace(b"\\", b" ").decode("utf-8", "replace").split())
    return text if len(text) <= 48 else text[:45] + "..."


def _coverage(site: Site, hits: list[_Hit]) -> list[tuple[int, int]]:
    """The byte ranges of the tokens that the hits stand for; what their metavariables bound is not among them."""
    tokens = site.view.tokens
    out: list[tuple[int, int, int]] = []
    for i in sorted({i for hit in hits for i in hit.claimed}):
        if out and out[-1][2] == i - 1:
            out[-1] = (out[-1][0], tokens[i].end, i)
        else:
            out.append((tokens[i].start, tokens[i].end, i))
    return [(start, end) for start, end, _ in out]
