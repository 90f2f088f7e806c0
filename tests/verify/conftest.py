"""A small project on disk, and checks of edits made to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from torchless.facts.clang import parse
from torchless.facts.model import Diagnostic, TuSpec
from torchless.facts.pch import PchSet
from torchless.facts.pool import prepare_pch
from torchless.model import Edit
from torchless.verify.planted import Place
from torchless.verify.types import CheckJob, CheckResult, check_task


@pytest.fixture(scope="session")
def pch(cache_folder: Path) -> PchSet:
    """The precompiled headers of this test run."""
    return prepare_pch("gfx942", cache_folder)


@dataclass(frozen=True)
class Bench:
    """Writes files, makes edits out of replaced texts, and checks them."""

    root: Path
    pch: PchSet

    def write(self, **files: str) -> None:
        """write(a_cu="text") writes a.cu."""
        for name, text in files.items():
            (self.root / name.replace("_", ".")).write_text(text)

    def edit(self, path: str, old: str, new: str, nth: int = 0) -> Edit:
        """The edit that replaces the ``nth`` ``old`` in a file."""
        data = (self.root / path).read_bytes()
        start = data.index(old.encode())
        for _ in range(nth):
            start = data.index(old.encode(), start + 1)
        return Edit(path, start, start + len(old.encode()), new.encode())

    def place(self, path: str, mark: str, macro: bool = False) -> Place:
        """The first { after ``mark``; for a macro what follows ``mark``."""
        data = (self.root / path).read_bytes()
        at = data.index(mark.encode())
        return Place(path, at + len(mark) if macro else data.index(b"{", at), mark, macro)

    def baseline(self, device: bool = False) -> tuple[Diagnostic, ...]:
        """The errors of a.cu before any edit, as facts are gathered: with a precompiled header."""
        return parse(TuSpec("a.cu", device=device), root=self.root, pch=self.pch, want_facts=False).diagnostics

    def check(self, *edits: Edit, places: tuple[Place, ...] = (), device: bool = False) -> CheckResult:
        """Check the edits over a.cu."""
        job = CheckJob(TuSpec("a.cu", device=device), edits, self.baseline(device), places)
        return check_task(self.root, "stubs", self.pch, job)


@pytest.fixture
def bench(tmp_path: Path, pch: PchSet) -> Bench:
    """A bench over an empty project."""
    return Bench(tmp_path, pch)
