"""The ladder: what is compared of two versions of a module, rung by rung, cheapest first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torchless.facts import clang
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.pool import run_all
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.certificate import Certificate
from torchless.verify.compilers import Compiler
from torchless.verify.device_code import (
    DeviceCode,
    Difference,
    Keep,
    compare,
    compile_as_they_are,
    compile_device,
    made_anew,
)
from torchless.verify.emitted import host_symbols
from torchless.verify.tree import Tree
from torchless.verify.types import kind_of, namespace_without, undeclared

RUNGS = ("types", "closure", "device", "trace", "rebuild", "tests")
_ERROR = 3


@dataclass(frozen=True)
class Versions:
    """Two versions of a checkout, and the ways in which the sources in question are built.

    ``added`` are the device passes of sources that only the new version has.
    """

    before: Tree
    after: Tree
    specs: tuple[TuSpec, ...]
    added: tuple[TuSpec, ...] = ()


def timed(rung: Callable[[], Answer]) -> Answer:
    """The answer of ``rung`` with the wall time that it took."""
    began = time.monotonic()
    answer = rung()
    return replace(answer, seconds=time.monotonic() - began)


def types(versions: Versions, headers: str, jobs: int) -> Answer:
    """Parse every unit in both versions: the new one has no error that the old one did not have."""
    asked = [(tree, spec) for spec in versions.specs for tree in (versions.before, versions.after)]
    found: dict[int, TuFacts | None] = {}
    for outcome in run_all(partial(_parse, headers), asked, jobs=jobs):
        found[outcome.index] = outcome.value
    new: list[str] = []
    unseen: list[str] = []
    for number, spec in enumerate(versions.specs):
        old, now = found[2 * number], found[2 * number + 1]
        if old is None or old.failure:
            unseen.append(f"{name_of(spec)}: the old version did not parse")
        elif now is None or now.failure:
            new.append(f"{name_of(spec)}: no longer parses")
        else:
            new += [f"{d.path}:{d.line}: {d.message} ({name_of(spec)})" for d in _added(old, now)]
    seen = len(versions.specs) - len(unseen)
    if not seen:
        return Answer("types", Verdict.NOT_RUN, "no source could be parsed", unseen=few(unseen))
    told = f"{seen} passes over {'stub' if headers == 'stubs' else 'installed'} headers"
    if new:
        return Answer("types", Verdict.FAIL, f"{len(new)} new errors in {told}", few(new), few(unseen))
    return Answer("types", Verdict.PASS, f"no new error in {told}", unseen=few(unseen))


def _parse(headers: str, asked: tuple[Tree, TuSpec]) -> TuFacts:
    tree, spec = asked
    return clang.parse(spec, root=tree.root, headers=headers, overlays=dict(tree.overlay), want_facts=False)


def _added(old: TuFacts, new: TuFacts) -> list[Diagnostic]:
    known = Counter(_kind(d) for d in old.diagnostics if d.severity >= _ERROR)
    out = []
    for diagnostic in new.diagnostics:
        if diagnostic.severity < _ERROR:
            continue
        space = namespace_without(diagnostic.message)
        hidden = replace(diagnostic, message=undeclared(space)) if space else diagnostic  # see new_diagnostics()
        kind = next((k for k in (_kind(diagnostic), _kind(hidden)) if known[k]), None)
        if kind is not None:
            known[kind] -= 1
        else:
            out.append(diagnostic)
    return out


def _kind(diagnostic: Diagnostic) -> tuple[str, int, str]:
    return diagnostic.path, diagnostic.category, kind_of(diagnostic.message)


def device(versions: Versions, compiler: Compiler | None, headers: str, jobs: int, keep: Keep = made_anew) -> Answer:
    """Compile every device pass in both versions: each kernel has the same code and needs the same registers."""
    specs = [spec for spec in versions.specs if spec.device]
    if compiler is None:
        return Answer("device", Verdict.NOT_RUN, "no clang that knows AMDGPU on this machine")
    if not specs:
        return Answer("device", Verdict.NOT_RUN, "the module has no source of its own")
    old, new = compile_device(compiler, versions.before, versions.after, specs, headers, jobs, keep)
    added = compile_as_they_are(compiler, versions.after, versions.added, headers, jobs)
    moved = _moved(old, new, added, lambda spec: _registered(compiler, versions.after, spec, headers))
    return judge_device(
        old, new, f"{compiler.version} -O3 over {'stub' if headers == 'stubs' else 'installed'} headers", moved
    )


def _registered(compiler: Compiler, tree: Tree, spec: TuSpec, headers: str) -> frozenset[str]:
    """The kernels that the host pass beside the device pass ``spec`` starts from its own device code."""
    with tree.vfs() as overlay:
        return host_symbols(compiler, tree, replace(spec, device=False), headers, overlay).kernels


def _moved(
    before: Sequence[DeviceCode],
    after: Sequence[DeviceCode],
    added: Sequence[DeviceCode],
    registered: Callable[[TuSpec], frozenset[str]],
) -> frozenset[tuple[TuSpec, str]]:
    """(unit, function) of what one unit lost or got and another one of the module has, or had, with the same code.

    Of a kernel that counts only where the host passes agree: who lost it does not start it from there any more.
    """
    out: set[tuple[TuSpec, str]] = set()
    for old, new in zip(before, after, strict=True):
        if old.problem or new.problem:
            continue
        lost = [old.functions[n] for n in sorted(old.functions.keys() - new.functions.keys())]
        got = [new.functions[n] for n in sorted(new.functions.keys() - old.functions.keys())]
        lost = [f for f in lost if any(o.functions.get(f.name) == f for o in (*after, *added) if o is not new)]
        got = [f for f in got if any(o.functions.get(f.name) == f for o in before if o is not old)]
        kernels = registered(new.spec) if any(f.is_kernel for f in (*lost, *got)) else frozenset()
        out |= {(new.spec, f.name) for f in lost if not f.is_kernel or f.name not in kernels}
        out |= {(new.spec, f.name) for f in got if not f.is_kernel or f.name in kernels}
    return frozenset(out)


def judge_device(
    before: Sequence[DeviceCode], after: Sequence[DeviceCode], how: str, moved: Collection[tuple[TuSpec, str]] = ()
) -> Answer:
    """What two compilations of the same units say; ``how`` names compiler, flags and headers.

    ``moved`` are functions, by unit, of which another unit has the code.
    """
    unseen: list[str] = []
    wrong: list[str] = []
    typed: list[str] = []
    kernels = identical = 0
    for old, new in zip(before, after, strict=True):
        if old.problem:
            unseen.append(f"{name_of(old.spec)}: {old.problem}")
        elif new.problem:
            wrong.append(f"{name_of(new.spec)}: no longer compiles: {new.problem}")
        else:
            differences = [d for d in compare(old.functions, new.functions) if (new.spec, d.function) not in moved]
            wrong += [_told(old.spec, d) for d in differences if not d.element_type]
            typed += [_told(old.spec, d) for d in differences if d.element_type]
            mine = {f.name for f in old.functions.values() if f.is_kernel}
            kernels += len(mine)
            identical += len(mine - {d.function for d in differences})
    if len(unseen) == len(before):
        return Answer("device", Verdict.NOT_RUN, "no device pass could be compiled", unseen=few(unseen))
    if wrong:
        return Answer("device", Verdict.FAIL, f"{len(wrong)} differences ({how})", few(wrong), few(unseen))
    if not kernels:
        return Answer("device", Verdict.NOT_RUN, f"no kernel in these sources ({how})", unseen=few(unseen))
    detail = f"{identical} of {kernels} kernels identical ({how})"
    if moved:
        detail += f", {len({name for _, name in moved})} of them in another unit than before"
    if typed:
        detail += f", {len(typed)} functions differ by their element type's own code"
    return Answer("device", Verdict.PASS, detail, few(typed), few(unseen))


def _told(spec: TuSpec, difference: Difference) -> str:
    return f"{spec.source}: {difference.function}: {difference.what}"


def name_of(spec: TuSpec) -> str:
    """A unit in one pass, for people: ``csrc/a.cu (device pass, ENABLE_CK=0)``."""
    return f"{spec.source} ({'device' if spec.device else 'host'} pass, ENABLE_CK={int(spec.enable_ck)})"


def closure_answer(certificate: Certificate, edited: bool) -> Answer:
    """The certificate as a rung: what its witnesses say, in one line, with what they found and did not see.

    A module none of whose own sources was ``edited``, beyond directives that were added, may be on torch as before:
    that is no claim that failed.
    """
    told = "; ".join(f"{w.name}: {w.verdict.value}, {w.detail}" for w in certificate.witnesses)
    evidence = few([text for w in certificate.witnesses for text in w.evidence])
    unseen = few([text for w in certificate.witnesses for text in w.unseen])
    if certificate.torch_free:
        return Answer("closure", Verdict.PASS, told, evidence, unseen)
    if certificate.witnesses[0].verdict is Verdict.NOT_RUN:
        return Answer("closure", Verdict.NOT_RUN, told, evidence, unseen)
    if not edited:
        return Answer("closure", Verdict.NOT_RUN, "no code of the module's sources was edited, and it is on torch")
    return Answer("closure", Verdict.FAIL, told, evidence, unseen)


def for_arches(versions: Versions, arches: Sequence[str]) -> Versions:
    """``versions`` with every device pass once for each of ``arches``."""
    specs = [replace(spec, arch=arch) for spec in versions.specs for arch in arches if spec.device]
    added = tuple(replace(spec, arch=arch) for spec in versions.added for arch in arches)
    return replace(versions, specs=(*(s for s in versions.specs if not s.device), *specs), added=added)
