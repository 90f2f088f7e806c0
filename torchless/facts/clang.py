"""Parses one translation unit in one pass with libclang and says what it saw."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import byref, c_uint, c_void_p
from pathlib import Path

from torchless.facts import flags, libclang
from torchless.facts.model import Diagnostic, TuFacts, TuSpec
from torchless.facts.pch import REPAIR, REPAIR_NAME, PchSet, consumer_arguments
from torchless.facts.visitor import Walker

_NOT_FOUND = re.compile(r"'(.+)' file not found")
_MADE_UP = re.compile(r"reference to __device__ function 'operator (?:new|delete)(?:\[\])?' in __host__")
_OPTIONS = libclang.KEEP_GOING | libclang.DETAILED_PREPROCESSING


def parse(
    spec: TuSpec,
    *,
    root: Path,
    headers: str = "stubs",
    overlays: Mapping[str, bytes] | None = None,
    pch: PchSet | None = None,
    torch: bool = True,
    want_facts: bool = True,
) -> TuFacts:
    """Parse ``spec.source`` below ``root`` and give its facts, includes, errors and the files that were opened.

    ``overlays`` (root-relative path -> bytes) stand in for files on disk. ``pch`` speeds things up; ``torch`` says
    which of its two headers fits, the one that holds torch's stand-ins or the one that does not. Headers that cannot
    be found are skipped and come back as IncludeFact with ``resolved`` "". What keeps everything from being parsed is
    told in ``failure``, never raised; HeadersError is raised when ``headers`` are not there at all.
    """
    started = time.process_time()
    root = root.resolve()
    found = flags.find_headers(headers)
    arguments = flags.unit_arguments(spec, root, found)
    unsaved = {str(root / path): data for path, data in (overlays or {}).items()}
    source = str(root / spec.source)
    notes: list[str] = []
    if source not in unsaved and not Path(source).is_file():
        return TuFacts(spec, failure=f"{spec.source}: no such file")
    use = pch.path_for(spec, torch) if pch is not None and headers == "stubs" else ""
    names = dict(spec.further_names)

    def shown(name: str) -> str:
        """How a file is named in results; the parser knows the names of a hard-linked file for one file, too."""
        path = flags.shown_path(name, root)
        return names.get(path, path)

    def own(name: str) -> str:
        """The root-relative path of a file that facts are wanted about, "" for any other."""
        path = flags.project_path(name, root)
        return names.get(path, path) if _is_own(path) else ""

    try:
        with _parsed(source, arguments, unsaved, use, notes) as unit:
            diagnostics = _diagnostics(unit, shown, bool(use), notes)
            walker = Walker(unit, own, shown, want_facts)
            harvest = walker.walk()
            opened = _opened(unit, shown, spec, headers)
            for include in harvest.includes:
                opened |= flags.stub_closure(include.resolved)
    except libclang.LibclangError as error:
        return TuFacts(
            spec, failure=f"{spec.source}: {error}", seconds=time.process_time() - started, notes=tuple(notes)
        )
    return TuFacts(
        spec,
        files=harvest.files,
        includes=harvest.includes,
        diagnostics=diagnostics,
        opened=tuple(sorted(opened)),
        seconds=time.process_time() - started,
        notes=tuple(notes),
    )


def _is_own(shown: str) -> bool:
    """True for the shown path of a file that facts are wanted about."""
    return not (shown.startswith((flags.STUB_PREFIX, "/")) or flags.is_vendored(shown))


@contextmanager
def _parsed(
    source: str, arguments: list[str], unsaved: Mapping[str, bytes], precompiled: str, notes: list[str]
) -> Iterator[int]:
    """The parsed unit, disposed of at the end. A precompiled header that cannot be used is done without, and noted."""
    lib = libclang.library()
    index = lib.clang_createIndex(0, 0)
    unit = 0
    try:
        if precompiled:
            try:
                front = consumer_arguments(precompiled)
                repaired = {**unsaved, REPAIR_NAME: REPAIR}
                unit = libclang.parse_unit(index, source, [*front, *arguments], repaired, _OPTIONS)
            except libclang.LibclangError as error:
                notes.append(f"parsed without the precompiled header: {error}")
        if not unit:
            unit = libclang.parse_unit(index, source, arguments, unsaved, _OPTIONS)
        yield unit
    finally:
        if unit:
            lib.clang_disposeTranslationUnit(unit)
        lib.clang_disposeIndex(index)


def _diagnostics(unit: int, shown: Callable[[str], str], precompiled: bool, notes: list[str]) -> tuple[Diagnostic, ...]:
    """Errors only (warnings are off), in the parser's order.

    A header of the project that was not found is an IncludeFact instead; one that a system header or a stub asks for
    is an error, and noted as well, for then the machine lacks what every parse needs. Left out is, with a precompiled
    header, the error that it makes up: see pch.py on what becomes of operator delete.
    """
    lib = libclang.library()
    out: list[Diagnostic] = []
    for i in range(lib.clang_getNumDiagnostics(unit)):
        handle = lib.clang_getDiagnostic(unit, i)
        found = _diagnostic(handle, shown)
        lib.clang_disposeDiagnostic(handle)
        if found.severity < libclang.ERROR or (precompiled and _MADE_UP.match(found.message)):
            continue
        missing = _NOT_FOUND.fullmatch(found.message)
        if missing and _is_own(found.path):
            continue
        if missing:
            notes.append(f"{found.path} includes {missing[1]}, which is not on this machine: facts may be incomplete")
        out.append(found)
    return tuple(out)


def _diagnostic(handle: int, shown: Callable[[str], str]) -> Diagnostic:
    lib = libclang.library()
    file, line, offset = c_void_p(), c_uint(), c_uint()
    location = lib.clang_getDiagnosticLocation(handle)
    lib.clang_getFileLocation(location, byref(file), byref(line), None, byref(offset))
    name = libclang.text(lib.clang_getFileName(file)) if file.value else ""
    return Diagnostic(
        shown(name) if name else "",
        offset.value,
        line.value,
        lib.clang_getDiagnosticSeverity(handle),
        lib.clang_getDiagnosticCategory(handle),
        libclang.text(lib.clang_getDiagnosticSpelling(handle)),
    )


def _opened(unit: int, shown: Callable[[str], str], spec: TuSpec, headers: str) -> set[str]:
    """The files of the project that were entered, and those from include folders outside of it.

    The system's headers are left out: which of them are entered depends on what a precompiled header holds.
    """
    lib = libclang.library()
    names: list[str] = []

    def visit(file: int, _stack: object, _depth: int, _data: object) -> None:
        names.append(libclang.text(lib.clang_getFileName(file)))

    lib.clang_getInclusions(unit, libclang.InclusionVisitor(visit), None)
    outside = [os.path.realpath(folder) + os.sep for folder in spec.include_dirs if Path(folder).is_absolute()]
    if headers == "system":
        outside += [folder + os.sep for folder in flags.find_headers(headers).search]
    paths = {shown(name) for name in names}
    return {p for p in paths if not p.startswith((flags.STUB_PREFIX, os.sep)) or p.startswith(tuple(outside))}
