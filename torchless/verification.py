"""`torchless verify`: two versions of the checkout, compared module by module, rung by rung.

The version now is what is on disk; the one before is a git revision, or what was there before the last write.
"""

from __future__ import annotations

import hashlib
import posixpath
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchless.closure.build import Closures
from torchless.closure.heavy import load_heavy
from torchless.errors import UsageError
from torchless.facts.cache import default_folder
from torchless.facts.flags import HeadersError, find_headers
from torchless.facts.model import TuFacts, TuSpec
from torchless.facts.pool import default_jobs, parse_many, prepare_pch
from torchless.index import open_index
from torchless.options import Progress
from torchless.project.discover import ProjectError, load, locate
from torchless.project.model import Module, Project
from torchless.project.modules import SOURCE_SUFFIXES, entry_spans
from torchless.selection import SelectionError, select
from torchless.text import writer
from torchless.verify import ladder
from torchless.verify.answer import Answer, Verdict, Verified
from torchless.verify.certificate import certify
from torchless.verify.compilers import find_compiler
from torchless.verify.launches import identity, trace
from torchless.verify.op_tests import run_tests
from torchless.verify.rebuild import RebuildOptions, Workshop, rebuild
from torchless.verify.remembered_answers import Remembered
from torchless.verify.trace import TraceOptions
from torchless.verify.trace.preparing import prepare
from torchless.verify.tree import Tree
from torchless.verify.versions import before_last_write, before_revision, changed, may_claim

_MANY = 8  # units that are worth a precompiled header
RUNGS = ("types", "closure", "device", "trace")
"""What can be run without ROCm, in the order of the ladder; ladder.RUNGS has those that need it, too."""


@dataclass(frozen=True)
class VerifyOptions:
    """What to verify and how.

    ``paths`` and ``modules`` select modules; nothing at all means every module that the change touches. ``since`` is a
    git revision, "" for the last write, or HEAD when there is none. ``rungs`` are names of the ladder. ``arches`` are
    those whose device code is compared, and that are built for. ``jobs`` 0 means one process per core. ``builds`` is
    how the rungs that need ROCm build; its architectures are those above. ``defines`` and ``include_dirs`` come on top
    of those of the modules.
    """

    paths: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    since: str = ""
    rungs: tuple[str, ...] = RUNGS
    arches: tuple[str, ...] = ("gfx942",)
    headers: str = "stubs"
    jobs: int = 0
    cache: bool = True
    torch: str = "auto"
    builds: RebuildOptions = field(default_factory=RebuildOptions)
    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerifyResult:
    """What every rung said of every module. ``compared_with`` names the version before; ``changed`` are the files."""

    root: str
    compared_with: str
    changed: tuple[str, ...]
    modules: tuple[Verified, ...]
    notes: tuple[str, ...]
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether any rung of any module failed."""
        return any(module.failed for module in self.modules)


def verify(options: VerifyOptions, start: Path, progress: Progress) -> VerifyResult:
    """Compare the checkout around ``start`` with what it was. Raises UsageError."""
    project = _project(options, start)
    root = Path(project.root)
    before, compared_with = _before(options, root)
    return compare(project, before, Tree(root), compared_with, _wanted(options, project, start), options, progress)


def compare(
    project: Project,
    before: Tree,
    after: Tree,
    compared_with: str,
    wanted: frozenset[str] | None,
    options: VerifyOptions,
    progress: Progress,
) -> VerifyResult:
    """Compare two versions of ``project``; ``wanted`` names the modules, None means those that the change touches.

    Raises UsageError for a compiler that was named and is none.
    """
    began = time.monotonic()
    find_compiler()  # one that was named in vain is said at once
    files = changed(before, after)
    index = open_index(Path(project.root), options.cache)
    closures = Closures(
        project, index, load_heavy(()), options.arches[0], options.defines, options.include_dirs, after.overlay
    )
    touched = {source for path in files for source in closures.users_of(path)}
    if wanted is None:
        modules = [m for m in project.modules if touched.intersection(m.sources)]
    else:
        modules = [m for m in project.modules if m.name in wanted]
    rungs = _Rungs(project, before, after, closures, options, Workshop(before, after))
    verified = []
    try:
        for done, module in enumerate(modules):
            progress("verifying", done, len(modules))
            verified.append(Verified(module.name, tuple(rungs.of(module, touched))))
    finally:
        rungs.shop.close()
    progress("verifying", len(modules), len(modules))
    index.save()
    return VerifyResult(
        project.root, compared_with, files, tuple(verified), _notes(files, modules), time.monotonic() - began
    )


def _notes(files: Sequence[str], modules: Sequence[Module]) -> tuple[str, ...]:
    if not files:
        return ("nothing differs between the two versions",)
    if not modules:
        return ("no module reads a file that differs",)
    return ()


@dataclass(frozen=True)
class _Rungs:
    """The rungs over one pair of versions."""

    project: Project
    before: Tree
    after: Tree
    closures: Closures
    options: VerifyOptions
    shop: Workshop

    def parse(self, specs: Sequence[TuSpec]) -> Sequence[TuFacts]:
        """The facts of ``specs`` in the new version."""
        jobs, many = self.options.jobs, len(specs) > _MANY
        pch = prepare_pch(self.options.arches[0], default_folder(), jobs=jobs, build_missing=many)
        return parse_many(specs, self.after.root, overlays=self.after.overlay, pch=pch, jobs=jobs)

    def _added(self, module: Module) -> tuple[TuSpec, ...]:
        """The device passes of sources of ``module`` that are only in the new version: its description names them,
        or lists the folder of its other sources."""
        new = [p for p in self.after.overlay if p.endswith(SOURCE_SUFFIXES) and p not in self.project.sources]
        if not new or not module.sources or module.entry_start < 0:
            return ()
        config = self.after.read(self.project.config_path)
        entry = next((config[start:end] for name, start, end in entry_spans(config) if name == module.name), b"")

        def is_named(path: str) -> bool:
            return posixpath.basename(path).encode() in entry

        folders = {posixpath.dirname(source) for source in module.sources if not is_named(source)}
        like = [spec for spec in self.closures.specs(module.sources[-1]) if spec.device]
        return tuple(
            replace(spec, source=path)
            for path in sorted(new)
            if is_named(path) or posixpath.dirname(path) in folders
            for spec in like
        )

    def of(self, module: Module, touched: Iterable[str]) -> list[Answer]:
        """What each rung says of ``module``; only sources that the change touches are compared."""
        sources = [s for s in module.sources if s in touched]
        specs = tuple(spec for s in sources for spec in self.closures.specs(s))
        added = self._added(module)
        versions = ladder.Versions(self.before, self.after, specs, added)
        jobs = self.options.jobs or default_jobs()
        # an installed torch or ROCm may change without a trace in a key
        remembered = Remembered(self.closures.graph, self.options.cache and self.options.headers == "stubs")
        traced = Remembered(self.closures.graph, self.options.cache)

        def types() -> Answer:
            headers = self.options.headers
            return remembered(versions, "types", headers, lambda: ladder.types(versions, headers, jobs))

        def closure() -> Answer:
            certificate = certify(
                self.project, module, self.closures.of, self.closures.heavy, find_compiler(), jobs, self.after
            )
            edited = set(changed(self.before, self.after)).intersection(sources)
            claims = any(may_claim(self.before, self.after, source) for source in edited)
            return ladder.closure_answer(certificate, claims)

        def device() -> Answer:
            compiler = find_compiler()
            texts = b"\0".join(self.after.overlay[spec.source] for spec in added)
            how = f"{compiler} {self.options.headers} {self.options.arches} {hashlib.sha256(texts).hexdigest()}"
            wide = ladder.for_arches(versions, self.options.arches)
            keep = remembered.code(f"{compiler}")
            return remembered(
                versions, "device", how, lambda: ladder.device(wide, compiler, self.options.headers, jobs, keep)
            )

        def launches() -> Answer:
            torch = self.options.torch
            return traced(
                whole,
                "trace",
                how,
                lambda: trace(self.project, module, versions, self.parse, self.closures.specs, torch, jobs),
            )

        builds = replace(self.options.builds, arches=self.options.arches)
        known: Mapping[str, Callable[[], Answer]] = {
            "types": types,
            "closure": closure,
            "device": device,
            "trace": launches,
            "rebuild": lambda: rebuild(self.project, module, self.shop, builds),
            "tests": lambda: run_tests(self.project, module, self.shop, builds),
        }
        if not specs:
            why = "no source of the module reads a file that differs"
            return [Answer(name, Verdict.NOT_RUN, why) for name in self.options.rungs]
        whole = replace(versions, specs=tuple(spec for s in module.sources for spec in self.closures.specs(s)))
        how = ""
        if "trace" in self.options.rungs:
            how = identity(self.project, module, versions, self.options.torch)
            if traced.known(whole, "trace", how) is None:
                prepare(TraceOptions(torch=self.options.torch, jobs=jobs))
        return [ladder.timed(known[name]) for name in ladder.RUNGS if name in self.options.rungs]


def rungs_of(text: str) -> tuple[str, ...]:
    """The rungs that a comma-separated list names. Raises UsageError for none, and for what is none."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    wrong = next((name for name in names if name not in ladder.RUNGS), "" if names else text)
    if wrong or not names:
        raise UsageError(f"no rung named {wrong!r}: choose from {', '.join(ladder.RUNGS)}")
    return names


def _project(options: VerifyOptions, start: Path) -> Project:
    try:
        find_headers(options.headers)
        return load(start, options.paths, open_index(locate(start, options.paths), options.cache))
    except (ProjectError, HeadersError) as error:
        raise UsageError(str(error)) from None


def _before(options: VerifyOptions, root: Path) -> tuple[Tree, str]:
    if writer.pending(root):
        raise UsageError(
            f"{root}: a write was interrupted, so files may be half old, half new: `torchless migrate` takes it back"
        )
    if options.since:
        return before_revision(root, options.since), options.since
    last = before_last_write(root)
    if last is not None:
        return last, "the last write"
    return before_revision(root, "HEAD"), "HEAD"


def _wanted(options: VerifyOptions, project: Project, start: Path) -> frozenset[str] | None:
    if not options.paths and not options.modules:
        return None
    try:
        selection = select(project, start, options.paths, options.modules)
    except SelectionError as error:
        raise UsageError(str(error)) from None
    files = {*selection.sources, *selection.headers}
    return selection.modules | {m.name for m in project.modules if files.intersection(m.sources)}
