"""Generators: Python scripts that print C++. One that prints torch keeps its module on torch, whatever is edited."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from torchless.model import Confidence, Finding, Tier
from torchless.project.model import Module
from torchless.text.source import SourceFile

CODE = "TL801"
_TORCH = re.compile(rb"\b(?:torch|at|c10)::\w|#include\s*<(?:torch|ATen|c10)/|\bTORCH_CHECK\b")


def generated_torch(root: Path, modules: Sequence[Module], read: Callable[[str], SourceFile]) -> list[Finding]:
    """A blocker for each generator of ``modules`` whose text prints torch, at the first place where it does.

    Looked at are the scripts that the modules' commands run and the scripts beside them, which they may import.
    """
    out: dict[str, Finding] = {}
    for module in modules:
        for script in module.generators:
            folder = PurePosixPath(script).parent
            beside = sorted(p.name for p in (root / folder).glob("*.py") if p.is_file())
            for path in dict.fromkeys([script, *(str(folder / name) for name in beside)]):
                if path in out or "_tune" in path:
                    continue
                match = _TORCH.search(read(path).data)
                if match is not None:
                    out[path] = _blocker(module, path, match)
    return list(out.values())


def _blocker(module: Module, path: str, match: re.Match[bytes]) -> Finding:
    return Finding(
        CODE,
        f"the generator of {module.name} prints C++ with {match.group().decode('latin-1')}...",
        path,
        match.start(),
        match.end(),
        Tier.DISPLAY,
        confidence=Confidence.SYNTACTIC,
        blocks=True,
        help="migrate the text templates in the generator together with the module's C++",
    )
