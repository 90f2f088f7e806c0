"""Generators: Python scripts that print C++. One that prints torch keeps its module on torch, whatever is edited."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from torchless.model import Confidence, Finding, Tier
from torchless.project.model import Module
from torchless.suppress import python_lines
from torchless.text.source import SourceFile

CODE = "TL801"
_TORCH = re.compile(rb"\b(?:torch|at|c10)::\w+|#include\s*<(?:torch|ATen|c10)/[\w./]*>?|\bTORCH_CHECK\b")

_WORD = re.compile(rb"[\w-]+")


def generated_torch(
    root: Path,
    modules: Sequence[Module],
    read: Callable[[str], SourceFile],
    looked_at: Callable[[str], Sequence[tuple[int, int]]] = lambda path: (),
) -> list[Finding]:
    """A blocker for each generator of ``modules`` whose text prints torch, at the first place where it does.

    ``looked_at(path)`` are the byte ranges of a script that are dealt with otherwise.

    Looked at are the scripts that the modules' commands run and those that they name, see scripts_of(). Comments do not
    count. A script that cannot be read may print anything.
    """
    out: dict[str, Finding] = {}
    for module in modules:
        for path in scripts_of(root, module):
            if path in out:
                continue
            try:
                source = read(path)
            except OSError as error:
                out[path] = _blocker(module, path, f"may print torch: {path} cannot be read ({error.strerror})")
                continue
            place = printed_torch(source, looked_at(path))
            if place is not None:
                text = f"prints C++ with {source.data[slice(*place)].decode('latin-1')}"
                out[path] = _blocker(module, path, text, *place)
    return list(out.values())


def scripts_of(root: Path, module: Module) -> list[str]:
    """The scripts that print sources of ``module``, root-relative: those it runs, and those beside them that they use.

    A script uses another one whose name stands anywhere in it: it may import it, run it, or make its name. Scripts for
    tuning are left out.
    """
    found: list[str] = []
    pending = list(module.generators)
    while pending:
        script = pending.pop(0)
        if script in found:
            continue
        found.append(script)
        folder = PurePosixPath(script).parent
        beside = {p.stem: p.name for p in (root / folder).glob("*.py") if p.is_file() and "_tune" not in p.name}
        try:
            words = set(_WORD.findall((root / script).read_bytes()))
        except OSError:
            continue
        pending += [str(folder / name) for stem, name in sorted(beside.items()) if stem.encode() in words]
    return found


def printed_torch(source: SourceFile, looked_at: Sequence[tuple[int, int]] = ()) -> tuple[int, int] | None:
    """The byte range of the first name of torch's in a script; None where there is none.

    Comments and what is ``looked_at`` otherwise, as byte ranges, do not count.
    """
    match = _TORCH.search(source.data)
    match = match and _TORCH.search(_without(source, looked_at))
    return match.span() if match is not None else None


def _without(source: SourceFile, ranges: Sequence[tuple[int, int]]) -> bytes:
    """The bytes of a Python file with its comments and ``ranges`` blanked."""
    text = bytearray(source.data)
    for start, end in (*python_lines(source)[0], *ranges):
        text[start:end] = b" " * (end - start)
    return bytes(text)


def _blocker(module: Module, path: str, what: str, start: int = 0, end: int = 0) -> Finding:
    return Finding(
        CODE,
        f"the generator of {module.name} {what}",
        path,
        start,
        end,
        Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        blocks=True,
        help="migrate the text templates in the generator together with the module's C++",
    )
