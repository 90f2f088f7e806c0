"""The torch-free certificate of a module: what was looked at, what was found, and what was not looked at.

Three witnesses: our own include graph (always), the compiler's ``-M`` (where there is a compiler), and the symbols of
what was built (where something was). A witness that could not be heard is "not run", never a pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from torchless.closure.chains import chain
from torchless.closure.heavy import HeavySet
from torchless.closure.model import Closure
from torchless.facts.flags import TORCH_PREFIX
from torchless.facts.includes import torch_headers
from torchless.project.model import Module, Project
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.compilers import Compiler, files_read, symbols
from torchless.verify.tree import Tree

_TORCH_SYMBOL = re.compile(r"(?<![\w:])(?:at|c10|torch|caffe2)::(?:[A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of a module. ``torch_free`` when the graph passes and no other witness fails."""

    module: str
    torch_free: bool
    sources: int
    witnesses: tuple[Answer, ...]


def certify(
    project: Project,
    module: Module,
    closures_of: Callable[[str], Sequence[Closure]],
    heavy: HeavySet,
    compiler: Compiler | None,
    jobs: int,
    tree: Tree | None = None,
) -> Certificate:
    """Ask every witness about ``module``. ``closures_of`` gives what a source reads, in each way it is built.

    ``tree``: the version that is meant, and that ``closures_of`` speaks of, where it is not what is on disk.
    """
    closures = [c for source in module.sources for c in closures_of(source)]
    tree = tree or Tree(Path(project.root).resolve())
    witnesses = (
        _graph(module, closures, heavy),
        _compiler(tree, closures, compiler, jobs),
        Answer("symbols", Verdict.NOT_RUN, "not written yet") if tree.overlay else _built(project, module),
    )
    free = witnesses[0].verdict == Verdict.PASS and all(w.verdict != Verdict.FAIL for w in witnesses)
    return Certificate(module.name, free, len(module.sources), witnesses)


def is_torch_symbol(name: str) -> bool:
    """Whether a demangled symbol is torch's own or has a type of torch in it."""
    return _TORCH_SYMBOL.search(name) is not None


def _graph(module: Module, closures: Sequence[Closure], heavy: HeavySet) -> Answer:
    unseen = [f"{path}: not there" for path in module.missing_sources]
    unseen += [f"{path}: third-party" for path in module.vendored_sources]
    if module.has_generator:
        unseen.append(f"the sources that {', '.join(module.generators) or 'its generator'} prints")
    if not closures:
        return Answer("include graph", Verdict.NOT_RUN, "the module has no source of its own", unseen=tuple(unseen))
    leaks = []
    for closure in closures:
        header = next((h for h, kind in heavy.found(closure).items() if kind == "torch"), "")
        if header:
            steps = [edge.target for edge in chain(closure, header)]
            leaks.append(f"{_pass(closure)}: {' -> '.join([closure.spec.source, *steps])}")
    told = f"{len(closures)} passes of {len(module.sources)} sources"
    if leaks:
        return Answer("include graph", Verdict.FAIL, f"{len(leaks)} of {told} reach torch", few(leaks), tuple(unseen))
    return Answer("include graph", Verdict.PASS, f"no path to torch in {told}", unseen=tuple(unseen))


def _compiler(tree: Tree, closures: Sequence[Closure], compiler: Compiler | None, jobs: int) -> Answer:
    if compiler is None:
        return Answer("compiler -M", Verdict.NOT_RUN, "no clang on this machine")
    with tree.vfs() as overlay:
        specs = list(dict.fromkeys(c.spec for c in closures))
        read = files_read(compiler, specs, tree.root, jobs, overlay)
    heard = [r for r in read if not r.problem]
    unseen = tuple(f"{_pass_of(r.spec.source, r.spec.device)}: {r.problem}" for r in read if r.problem)
    if not heard:
        return Answer("compiler -M", Verdict.NOT_RUN, f"{compiler.version} accepted no source", unseen=few(unseen))
    leaks = [
        f"{_pass_of(r.spec.source, r.spec.device)}: {sorted(bad)[0]}"
        for r in heard
        if (bad := {f for f in r.files if f.startswith(TORCH_PREFIX)} | set(torch_headers(r.files)))
    ]
    told = f"{len(heard)} of {len(read)} passes that {compiler.version} read over stub headers"
    if leaks:
        return Answer(
            "compiler -M", Verdict.FAIL, f"{len(leaks)} of {told} open a header of torch", few(leaks), few(unseen)
        )
    return Answer("compiler -M", Verdict.PASS, f"no header of torch in {told}", unseen=few(unseen))


def _built(project: Project, module: Module) -> Answer:
    """The module's library or objects where aiter's JIT puts them, when they are newer than the sources."""
    jit = Path(project.root) / "aiter" / "jit"
    library = jit / f"{module.name}.so"
    found = [library] if library.is_file() else sorted((jit / "build" / module.name).glob("**/*.o"))
    if not found:
        return Answer("symbols", Verdict.NOT_RUN, "nothing is built")
    newest = max((p.stat().st_mtime_ns for s in module.sources if (p := Path(project.root, s)).is_file()), default=0)
    stale = [p for p in found if p.stat().st_mtime_ns < newest]
    if stale:
        return Answer("symbols", Verdict.NOT_RUN, f"{stale[0].name} is older than the module's sources: build it anew")
    leaks: list[str] = []
    unseen: list[str] = []
    for path in found:
        names, problem = symbols(path)
        if problem:
            unseen.append(f"{path.name}: {problem}")
        leaks += [f"{path.name}: {name}" for name in names if is_torch_symbol(name)]
    if len(unseen) == len(found):
        return Answer("symbols", Verdict.NOT_RUN, unseen[0], unseen=few(unseen))
    told = f"{len(found) - len(unseen)} built file{'' if len(found) - len(unseen) == 1 else 's'}"
    if leaks:
        return Answer("symbols", Verdict.FAIL, f"{len(leaks)} symbols of torch in {told}", few(leaks), few(unseen))
    return Answer("symbols", Verdict.PASS, f"no at::, c10:: or torch:: symbol in {told}", unseen=few(unseen))


def _pass(closure: Closure) -> str:
    return f"{'device' if closure.spec.device else 'host'} pass, ENABLE_CK={int(closure.spec.enable_ck)}"


def _pass_of(source: str, device: bool) -> str:
    return f"{source} ({'device' if device else 'host'} pass)"
