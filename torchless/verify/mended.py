"""Proves the edits of a check's findings: every translation unit that reads an edited file is parsed again with them.

Nobody knows which names such an edit is about, so an error is planted in each place that is edited: behind the last
line of the file for an include or another directive, at the edit itself for anything else.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.closure.model import Closure
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.model import Edit
from torchless.selection import is_cpp
from torchless.text.edits import apply
from torchless.text.lexer import code_tokens, lex
from torchless.text.source import SourceFile
from torchless.verify.planted import Place
from torchless.verify.types import CheckJob, CheckResult, new_diagnostics

_MACRO_HEAD = re.compile(rb"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)\n]*\))?[ \t]*")

RunChecks = Callable[[Sequence[CheckJob]], Sequence[CheckResult]]
ParseAll = Callable[[Sequence[TuSpec], Mapping[str, bytes]], Sequence[TuFacts]]
"""Facts of every unit, with the texts of some files replaced."""


@dataclass(frozen=True)
class Change:
    """A named set of edits that is made whole or not at all. without_ck: sources to be built with ENABLE_CK=0."""

    name: str
    edits: tuple[Edit, ...]
    without_ck: tuple[str, ...] = ()


@dataclass
class Proof:
    """What was found out. failed: change -> diagnostics that it causes. blind: change -> what no check sees of it."""

    failed: dict[str, tuple[Diagnostic, ...]] = field(default_factory=dict)
    blind: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkout:
    """The files and units that edits are proved against.

    read(path) gives the bytes of a file; users(path) the sources that may read it; closures(source) what a source
    reads, in each way that it is built and each pass.
    """

    root: Path
    read: Callable[[str], bytes]
    users: Callable[[str], Iterable[str]]
    closures: Callable[[str], Sequence[Closure]]
    further_names: tuple[tuple[str, str], ...] = ()


def prove(changes: Sequence[Change], checkout: Checkout, run: RunChecks, parse: ParseAll) -> Proof:
    """Prove ``changes`` together; those that fail are taken out, and the others proved again, until nothing fails."""
    proof = Proof()
    ahead = []
    for change in changes:
        wrong = _broken_text(change, checkout)
        if wrong is None:
            ahead.append(change)
        else:
            proof.failed[change.name] = (wrong,)
    while ahead:
        jobs = _jobs(ahead, checkout)
        results = list(run(jobs))
        failed = _blamed(ahead, jobs, results)
        if not failed:
            proof.blind.update(_unseen(ahead, jobs, results))
            break
        proof.failed.update(failed)
        ahead = [change for change in ahead if change.name not in failed]
    for change in [change for change in ahead if change.without_ck]:
        new, unseen = _without_ck(change, ahead, checkout, parse)
        if new:
            proof.failed[change.name] = new
        elif unseen:
            proof.blind[change.name] = unseen
    return proof


def _broken_text(change: Change, checkout: Checkout) -> Diagnostic | None:
    """What is wrong with the new text of a Python or JSON file, None for nothing."""
    for path, edits in _by_path(change.edits).items():
        text = apply(checkout.read(path), edits)
        try:
            if path.endswith(".py"):
                ast.parse(text)
            elif path.endswith(".json"):
                json.loads(text.decode("utf-8-sig"))
        except (SyntaxError, ValueError) as error:
            return Diagnostic(path, 0, getattr(error, "lineno", 0) or 0, 3, 0, f"{error}".splitlines()[0])
    return None


def _by_path(edits: Iterable[Edit]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for edit in edits:
        found.setdefault(edit.path, []).append(edit)
    return found


def _jobs(changes: Sequence[Change], checkout: Checkout) -> list[CheckJob]:
    """One job for every way in which a source that reads an edited file is parsed."""
    by_path = {p: es for p, es in _by_path(e for c in changes for e in c.edits).items() if is_cpp(p)}
    places = {path: _places(SourceFile(path, checkout.read(path)), edits) for path, edits in by_path.items()}
    sources = sorted({source for path in by_path for source in checkout.users(path)})
    jobs: list[CheckJob] = []
    for source in sources:
        for closure in checkout.closures(source):
            read = [path for path in sorted(by_path) if path in closure.via]
            if read:
                spec = replace(closure.spec, further_names=checkout.further_names)
                edits = tuple(sorted({edit for path in read for edit in by_path[path]}))
                jobs.append(CheckJob(spec, edits, (), tuple(p for path in read for p in places[path])))
    return jobs


def _places(source: SourceFile, edits: Iterable[Edit]) -> list[Place]:
    """Where errors are planted for ``edits`` of one file."""
    end = Place(source.path, _last_place(source.data), "its last line", arm=True)
    return sorted({end if _is_directive(source, edit) else _at(edit) for edit in edits})


def _last_place(data: bytes) -> int:
    """The end of a file; where that may lie within a comment or a directive, the start of the last token of code."""
    if data.endswith((b"\n", b"\r")):
        return len(data)
    code = [token.start for token in code_tokens(lex(data)) if not token.directive]
    return code[-1] if code else len(data)


def _at(edit: Edit) -> Place:
    return Place(edit.path, edit.start, "the edit", arm=True)


def _is_directive(source: SourceFile, edit: Edit) -> bool:
    """Whether an edit makes, changes or takes out a directive; the body of a macro is none."""
    number = source.line_of(edit.start)
    line = source.line_bytes(number)
    macro = _MACRO_HEAD.match(line)
    if macro is not None and edit.start >= source.line_start(number) + macro.end():
        return False
    return line.lstrip().startswith(b"#") or edit.new.lstrip().startswith(b"#")


def _blamed(
    changes: Sequence[Change], jobs: Sequence[CheckJob], results: Sequence[CheckResult]
) -> dict[str, tuple[Diagnostic, ...]]:
    """The changes that new diagnostics are laid to: those with edits in the file, else all that the unit reads."""
    blamed: dict[str, dict[Diagnostic, None]] = {}
    for job, result in zip(jobs, results, strict=True):
        for diagnostic in result.new_diagnostics:
            here = [c for c in changes if any(e.path == diagnostic.path for e in c.edits)]
            seen = [c for c in changes if not set(job.edits).isdisjoint(c.edits)]
            for change in here if any(c in seen for c in here) else seen:
                blamed.setdefault(change.name, {})[diagnostic] = None
    return {name: tuple(found) for name, found in blamed.items()}


def _unseen(
    changes: Sequence[Change], jobs: Sequence[CheckJob], results: Sequence[CheckResult]
) -> dict[str, tuple[str, ...]]:
    """The changes with an edit that no unit is shown to see, and the files in question."""
    seen: set[tuple[str, int]] = set()
    for job, result in zip(jobs, results, strict=True):
        if not result.failure:
            blind = set(result.blind_places)
            seen.update((place.path, place.offset) for place in job.places if place not in blind)
    asked = {place for job in jobs for place in job.places}
    found: dict[str, tuple[str, ...]] = {}
    for change in changes:
        paths = {edit.path for edit in change.edits if is_cpp(edit.path)}
        missing = {path for path in paths if not any(place.path == path for place in asked)}
        missing.update(p.path for p in asked if p.path in paths and (p.path, p.offset) not in seen)
        if missing:
            found[change.name] = tuple(f"the edits in {path}" for path in sorted(missing))
    return found


def _without_ck(
    change: Change, changes: Sequence[Change], checkout: Checkout, parse: ParseAll
) -> tuple[tuple[Diagnostic, ...], tuple[str, ...]]:
    """The errors that sources have with ENABLE_CK=0 and not as they are built now, and the sources never parsed."""
    edits = _by_path(edit for other in changes for edit in other.edits if is_cpp(edit.path))
    texts = {path: apply(checkout.read(path), here) for path, here in edits.items()}
    specs = [
        replace(closure.spec, further_names=checkout.further_names)
        for source in change.without_ck
        for closure in checkout.closures(source)
        if closure.spec.enable_ck
    ]
    before = parse(specs, texts)
    after = parse([replace(spec, enable_ck=False) for spec in specs], texts)
    new: dict[Diagnostic, None] = {}
    failures: dict[str, None] = {}
    for spec, old, now in zip(specs, before, after, strict=True):
        if now.failure:
            failures[f"{spec.source} with ENABLE_CK=0"] = None
        new.update(dict.fromkeys(new_diagnostics(now.diagnostics, old.diagnostics, {})))
    return tuple(new), tuple(failures)
