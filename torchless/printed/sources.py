"""The C++ that modules' generators print, as sources of the modules: files that are nowhere but in memory."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torchless.facts.includes import scan_includes
from torchless.printed.literals import HOLE
from torchless.printed.outlines import outlines_of
from torchless.printed.templates import Template, templates_of
from torchless.project.model import Module, Project
from torchless.rewrites.dispatch_tables.pytext import Script
from torchless.rewrites.generators import scripts_of
from torchless.text.source import SourceFile


@dataclass(frozen=True, slots=True)
class Printed:
    """A template as a source: ``path`` is what it is called, ``script`` is the file that prints it."""

    path: str
    script: SourceFile
    template: Template


def printed_by(source: SourceFile, wanted: Callable[[bytes], bool]) -> list[Printed]:
    """What a script prints that is ``wanted``. A script that is no Python prints nothing that could be read."""
    script = Script(source)
    if script.failure:
        return []
    return [Printed(f"{source.path}@{t.line}.cu", source, t) for t in templates_of(script, wanted)]


def printed_sources(
    root: Path, modules: Sequence[Module], wanted: Callable[[bytes], bool]
) -> Mapping[str, Mapping[str, Printed]]:
    """For each module with a generator: path -> what its scripts print that is ``wanted``."""
    known: dict[str, dict[str, Printed]] = {}

    def of_script(path: str) -> dict[str, Printed]:
        if path not in known:
            try:
                source = SourceFile(path, (root / path).read_bytes())
            except OSError:
                source = SourceFile(path, b"")
            known[path] = {p.path: p for p in printed_by(source, wanted)} if wanted(source.data) else {}
        return known[path]

    return {
        module.name: {name: p for script in scripts_of(root, module) for name, p in of_script(script).items()}
        for module in modules
        if module.generators
    }


def with_printed(project: Project, printed: Mapping[str, Mapping[str, Printed]]) -> Project:
    """``project`` with the sources that printed_sources() found for its modules, and the headers that are written.

    ``printed`` has an entry for every module whose scripts are looked at.
    """
    everything = {path: p for found in printed.values() for path, p in found.items()}
    texts = {**_stand_ins(Path(project.root), everything), **{path: p.template.code for path, p in everything.items()}}
    texts = {**_outlines(project, [m for m in project.modules if m.name in printed]), **texts}
    modules = [replace(m, sources=(*m.sources, *sorted(printed.get(m.name, ())))) for m in project.modules]
    return replace(
        project,
        modules=tuple(modules),
        sources=(*project.sources, *sorted(everything)),
        printed=tuple(sorted(texts.items())),
    )


def _outlines(project: Project, modules: Sequence[Module]) -> dict[str, bytes]:
    """What is known of headers that scripts write without torch in them, at the places where parsers look for them."""
    root = Path(project.root)
    out: dict[str, bytes] = {}
    for path in sorted({script for module in modules for script in scripts_of(root, module)}):
        try:
            script = Script(SourceFile(path, (root / path).read_bytes()))
        except OSError:
            continue
        for name, included in outlines_of(script, project.headers).items():
            place = posixpath.join(posixpath.dirname(path), name)
            if not (root / place).exists():
                out[place] = "".join(f'#include "{root / header}"\n' for header in included).encode()
    return out


def _stand_ins(root: Path, printed: Mapping[str, Printed]) -> dict[str, bytes]:
    """Files under the names that a build gives to what is printed, each of which includes it: path -> text.

    They make the include lines of the checkout and of printed files found. A name with holes stands for all of them.
    """
    by_folder: dict[str, dict[str, list[str]]] = {}
    for path, p in printed.items():
        if p.template.file:
            folder = posixpath.dirname(path)
            by_folder.setdefault(folder, {}).setdefault(p.template.file, []).append(path)
    out: dict[str, bytes] = {}
    for folder, files in by_folder.items():
        spelled = {name for name in files if "*" not in name}
        for path, p in printed.items():
            if posixpath.dirname(path) == folder:
                spelled.update(i.spelled for i in scan_includes(p.template.code) if HOLE in i.spelled)
        for name in spelled:
            behind = files.get(re.sub(rf"{HOLE}\w+", "*", posixpath.basename(name)), ())
            place = posixpath.join(folder, name)
            if behind and not (root / posixpath.normpath(place)).exists():
                # from the root: no parser goes up from a folder that is not there
                text = "".join(f'#include "{root / path}"\n' for path in behind).encode()
                out.update({place: text, posixpath.normpath(place): text})  # a parser looks for it as it is spelled
    return out
