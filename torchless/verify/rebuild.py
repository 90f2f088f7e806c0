"""Rung 5: a module is built anew through aiter's own JIT, before and after, in copies of the checkout.

What decides is whether the JIT raised, and the shared object that is there afterwards and was not before. Its log does
not: it says "finish build" of a build that failed, too, and of one that another process made.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.profile.commands import object_source
from torchless.profile.compare import paired, shown
from torchless.profile.model import Placed
from torchless.profile.ninja import NinjaError, compile_edges, read_log, read_text
from torchless.profile.run import Ran, run
from torchless.project.model import Module, Project
from torchless.verify.answer import Answer, Verdict, few
from torchless.verify.certificate import is_torch_symbol
from torchless.verify.compilers import symbols
from torchless.verify.shadow import lay_out
from torchless.verify.tree import Tree

SCRIPT = Path(__file__).with_name("alone") / "rebuild_one.py"
"""In a folder of its own, which becomes the first that its Python imports from."""

TIMEOUT = 4 * 3600.0
"""Seconds that the JIT may take for one module; those of composable_kernel take hours on few cores."""

_ELF = b"\x7fELF"
_JIT = "aiter/jit/core.py"
# get_cu_num() asks the GPU unless it is told; compute units of MI210, MI300X and MI355X
_COMPUTE_UNITS = {"gfx90a": "104", "gfx942": "304", "gfx950": "256"}
UNSET = ("AITER_META_DIR", "AITER_JIT_DIR", "PREBUILD_KERNELS", "AITER_AOT_IMPORT", "AITER_TRITON_ONLY")
"""Variables that would lead the JIT out of the copy, or make it build something else than the one module."""

_LINES_OF_LOG = 3
_LONGEST_LINE = 400
_COLOR = re.compile(r"\x1b\[[\d;]*m")
_WRONG = re.compile(r"(?:^|[\s:])(?:fatal )?error:|\bundefined reference to\b|\bcannot find -l", re.I)
_FRAMED = ("-->", "ERROR:aiter:", "[aiter]")


@dataclass(frozen=True)
class Rebuilt:
    """One build of one module. problem: "" when it succeeded. seconds: inside of the JIT, its flag probes included.

    units: what ninja's log says of each source; empty where there is no log. torch_symbols: of the library. ignored:
    what went wrong and did not stop the JIT: sources that are not there, generators that failed.
    """

    module: str
    seconds: float = 0.0
    problem: str = ""
    log: tuple[str, ...] = ()
    units: tuple[Placed, ...] = ()
    torch_symbols: int | None = None
    torch_exclude: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RebuildOptions:
    """How to build. python: an interpreter with aiter's dependencies. max_jobs 0 leaves it to the JIT."""

    arches: tuple[str, ...] = ("gfx942",)
    python: str = sys.executable
    max_jobs: int = 0
    trials: int = 1
    timeout: float = TIMEOUT


@dataclass
class Workshop:
    """Copies of the two versions, laid out when they are first wanted, gone with close()."""

    before: Tree
    after: Tree
    _folder: tempfile.TemporaryDirectory[str] | None = field(default=None, init=False)
    _laid: dict[str, Path] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def root(self, which: str) -> Path:
        """The copy of ``before`` or ``after``. Raises OSError."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="torchless-build-", ignore_cleanup_errors=True)
            if which not in self._laid:
                tree = self.before if which == "before" else self.after
                self._laid[which] = lay_out(tree, Path(self._folder.name, which))
            return self._laid[which]

    def close(self) -> None:
        """Remove the copies."""
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = None
        self._laid.clear()


def missing_rocm() -> str:
    """Why nothing can be built on this machine, "" when hipcc and hipconfig are there."""
    bins = [str(Path(os.environ[name], "bin")) for name in ("ROCM_HOME", "ROCM_PATH") if os.environ.get(name)]
    path = os.pathsep.join([*bins, os.environ.get("PATH", ""), "/opt/rocm/bin"])
    lacking = [tool for tool in ("hipcc", "hipconfig") if shutil.which(tool, path=path) is None]
    return f"no {' and no '.join(lacking)} on this machine: it takes ROCm" if lacking else ""


def only_ctypes(project: Project, module: Module) -> bool:
    """Whether every op of ``module`` is called through ctypes: its library is no Python module."""
    kinds = {op.ffi_type or "pybind" for op in project.ops if op.module == module.name}
    return kinds == {"ctypes"}


def rebuild_module(root: Path, module: str, ctypes: bool, options: RebuildOptions) -> Rebuilt:
    """Build ``module`` of the checkout at ``root``, which must be a copy, in a process of its own.

    What an earlier build left of it there is taken away first.
    """
    with tempfile.TemporaryDirectory(prefix="torchless-") as folder:
        job, answer, log = (Path(folder, name) for name in ("job.json", "answer.json", "log"))
        job.write_text(json.dumps({"root": str(root), "module": module, "ctypes": ctypes}))
        command = [options.python, str(SCRIPT), str(job), str(answer)]
        ran = run(command, root, environment(options), options.timeout, output=log, unset=UNSET)
        try:
            told = json.loads(answer.read_bytes())
        except (OSError, ValueError):
            told = {}
    said = tuple(_last_words(ran))
    if ran.problem.startswith("no answer"):
        return Rebuilt(module, problem=ran.problem, log=said)
    if not told.get("ok"):
        why = str(told.get("error") or ran.problem or "the process ended without an answer")
        return Rebuilt(module, problem=_cut(why.replace(f"{root}/", "")), log=said)
    library = Path(str(told["library"]))
    problem = _not_built(library)
    if problem:
        return Rebuilt(module, problem=f"the JIT raised nothing, but {problem}", log=said)
    names, unread = symbols(library)
    count = None if unread else sum(map(is_torch_symbol, names))
    units = _units(Path(str(told["folder"])), root)
    ignored = tuple(_cut(str(text).replace(f"{root}/", "")) for text in told["ignored"])
    return Rebuilt(module, float(told["seconds"]), "", said, units, count, bool(told["torch_exclude"]), ignored)


def environment(options: RebuildOptions) -> dict[str, str]:
    """What the JIT is told: a build from nothing, for these architectures, without asking a GPU."""
    env = {"AITER_REBUILD": "1", "GPU_ARCHS": ";".join(options.arches), "PYTHONDONTWRITEBYTECODE": "1"}
    if "CU_NUM" not in os.environ and options.arches[-1] in _COMPUTE_UNITS:
        env["CU_NUM"] = _COMPUTE_UNITS[options.arches[-1]]
    if options.max_jobs:
        env["MAX_JOBS"] = str(options.max_jobs)
    return env


def _not_built(library: Path) -> str:
    """Why ``library``, which was not there before the build, is no result of it; "" when it is."""
    try:
        head = library.open("rb").read(4)
    except OSError:
        return f"there is no new {library.name}"
    return "" if head == _ELF else f"{library.name} is no shared object"


def _last_words(ran: Ran) -> list[str]:
    """The lines of a build's log in which a compiler or linker tells an error, else its last lines.

    Not the JIT's own: it repeats whole commands, and paints the word.
    """
    text = _COLOR.sub("", os.fsdecode(ran.out))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = list(dict.fromkeys(line for line in lines if _WRONG.search(line) and not line.startswith(_FRAMED)))
    return [_cut(line) for line in (wrong or lines[-_LINES_OF_LOG:])[:_LINES_OF_LOG]]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} ..."


def _units(folder: Path, root: Path) -> tuple[Placed, ...]:
    """What ninja's log in ``folder`` says of the sources; nothing where there is none."""
    try:
        edges = compile_edges(read_text(folder / "build.ninja"), "build.ninja")
        rows = read_log(read_text(folder / ".ninja_log"), ".ninja_log")
    except NinjaError:
        return ()
    sources = {edge.output: edge.source for edge in edges}
    named = {row: sources.get(row.output) or object_source(row.output, list(sources.values())) for row in rows}
    prefix = f"{root}/"
    return tuple(
        Placed(source.removeprefix(prefix), row.started, row.ended - row.started)
        for row, source in named.items()
        if source
    )


def rebuild_both(
    shop: Workshop, module: str, ctypes: bool, options: RebuildOptions
) -> tuple[list[Rebuilt], list[Rebuilt]]:
    """Build ``module`` in both versions, as A B A B for as many trials as asked; one that failed is not built again.

    Raises OSError when a copy cannot be made.
    """
    built: dict[str, list[Rebuilt]] = {"before": [], "after": []}

    def one(which: str, trial: int) -> None:
        if all(not b.problem for b in built[which]):
            built[which].append(rebuild_module(shop.root(which), module, ctypes, options))

    paired(one, ("before", "after"), options.trials)
    return built["before"], built["after"]


def rebuild(project: Project, module: Module, shop: Workshop, options: RebuildOptions) -> Answer:
    """Rung 5 for ``module``: the new version builds, and what both took."""
    why = missing_rocm()
    if not why and not (Path(project.root) / _JIT).is_file():
        why = f"the checkout has no {_JIT}"
    if why:
        return Answer("rebuild", Verdict.NOT_RUN, why)
    try:
        before, after = rebuild_both(shop, module.name, only_ctypes(project, module), options)
    except OSError as error:
        return Answer("rebuild", Verdict.NOT_RUN, f"no copy to build in: {error.strerror or error}")
    answer = judge_rebuild(before, after, ", ".join(options.arches))
    generated = sorted({op.function for op in project.ops if op.module == module.name and op.has_gen_func})
    if generated:
        told = f"{', '.join(generated[:3])}: built under names of their own when they are first called"
        answer = replace(answer, unseen=(*answer.unseen, told))
    return answer


def judge_rebuild(before: Sequence[Rebuilt], after: Sequence[Rebuilt], arches: str) -> Answer:
    """What two series of builds say."""
    bad_before = next((b for b in before if b.problem), None)
    bad_after = next((b for b in after if b.problem), None)
    figures = (
        ("seconds_before", tuple(b.seconds for b in before if not b.problem)),
        ("seconds_after", tuple(b.seconds for b in after if not b.problem)),
    )
    if bad_after and bad_before:
        evidence = (f"before: {bad_before.problem}", f"after: {bad_after.problem}", *bad_after.log)
        return Answer("rebuild", Verdict.NOT_RUN, "neither version builds here", evidence, figures=figures)
    if bad_after:
        evidence = (bad_after.problem, *bad_after.log)
        return Answer("rebuild", Verdict.FAIL, f"no longer builds for {arches}", evidence, figures=figures)
    ignored = after[-1].ignored
    known = () if bad_before else before[-1].ignored
    new = [text for text in ignored if text not in known]
    if new and not bad_before:
        detail = "the JIT went on after a failure that the old version does not have"
        return Answer("rebuild", Verdict.FAIL, detail, few(new), figures=figures)
    seconds = shown(figures[1][1], "{:.1f}")
    missing = tuple(f"the JIT went on without: {text}" for text in ignored)
    evidence = ()
    count = after[-1].torch_symbols
    if count is not None:
        old = before[-1].torch_symbols
        was = f", {old} before" if old is not None and not bad_before else ""
        evidence = (f"symbols of torch in the new library: {count}{was}",)
    if bad_before:
        unseen = (f"the old version does not build: {bad_before.problem}", *bad_before.log, *missing)
        return Answer(
            "rebuild", Verdict.PASS, f"builds for {arches} in {seconds} s", evidence, few(unseen), figures=figures
        )
    detail = f"builds for {arches}: {shown(figures[0][1], '{:.1f}')} s before, {seconds} s after"
    return Answer("rebuild", Verdict.PASS, detail, evidence, few(missing), figures=figures)
