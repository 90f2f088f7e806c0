"""Small checkouts in memory, and what is offered for the maps in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchless.model import Edit
from torchless.project.model import Module, Project
from torchless.rewrites.dispatch_tables.codebase import Codebase
from torchless.rewrites.dispatch_tables.offer import Offer, offers
from torchless.rewrites.python_layout import BlackStyle
from torchless.text.edits import apply, merge

Files = Mapping[str, str | bytes]


def codebase(files: Files, generators: Sequence[str] = ()) -> Codebase:
    """A checkout whose sources are one module; each source reaches every header that it, or such a header, names."""
    texts = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    sources = tuple(sorted(p for p in texts if p.endswith((".cu", ".cpp"))))
    headers = tuple(sorted(p for p in texts if p.endswith((".h", ".cuh"))))

    def reached(path: str, seen: set[str]) -> set[str]:
        for header in headers:
            if header not in seen and header.rsplit("/", 1)[-1].encode() in texts[path]:
                reached(header, seen | {header})
                seen |= {header, *reached(header, seen | {header})}
        return seen

    module = Module("module_test", sources, generators=tuple(generators), has_generator=bool(generators))
    project = Project(root="/nowhere", is_aiter=True, modules=(module,), sources=sources, headers=headers)
    closures = {source: frozenset(reached(source, {source})) for source in sources}

    def scripts(folder: str) -> list[str]:
        return sorted(p.rsplit("/", 1)[-1] for p in texts if p.endswith(".py") and p.rsplit("/", 1)[0] == folder)

    return Codebase(project, closures, lambda path: texts.get(path, b""), scripts)


def offered(files: Files, generators: Sequence[str] = (), everything: bool = False) -> list[Offer]:
    """What is offered for ``files``."""
    return offers(codebase(files, generators), BlackStyle(), everything)


def edits_of(found: Sequence[Offer]) -> dict[str, list[Edit]]:
    """The edits of all units that nothing blocks, by path; it is an error when two of them overlap."""
    ahead = [o for o in found if not any(f.blocks for f in o.findings)]
    merged = merge(e for o in ahead for f in o.findings for e in f.edits)
    assert merged.conflicts == ()
    out: dict[str, list[Edit]] = {}
    for edit in merged.edits:
        out.setdefault(edit.path, []).append(edit)
    return out


def changed(files: Files, generators: Sequence[str] = (), everything: bool = False) -> dict[str, str]:
    """The files after all edits, those that change only."""
    texts = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    edits = edits_of(offered(files, generators, everything))
    return {path: apply(texts[path], found).decode("latin-1") for path, found in edits.items()}


def codes(found: Sequence[Offer]) -> list[str]:
    """The codes of all findings, sorted, each once."""
    return sorted({f.code for o in found for f in o.findings})


def blockers(found: Sequence[Offer]) -> set[str]:
    """The codes that block."""
    return {f.code for o in found for f in o.findings if f.blocks}
