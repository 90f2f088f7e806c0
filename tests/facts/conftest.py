"""Parses small units and finds facts at the places where a text stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from torchless.facts.clang import parse
from torchless.facts.model import FunctionFact, NameFact, TuFacts, TuSpec
from torchless.facts.pch import PchSet
from torchless.facts.pool import prepare_pch

Fact = tuple[str, str, str]
"""(kind, name, type) of a NameFact."""


@dataclass(frozen=True)
class Parsed:
    """A parsed unit and the texts of its files."""

    facts: TuFacts
    texts: dict[str, bytes]
    main: str

    def at(self, line_mark: str, token: str, path: str = "", nth: int = 0) -> set[Fact]:
        """Facts at the ``nth`` ``token`` after the first occurrence of ``line_mark``."""
        path = path or self.main
        data = self.texts[path]
        at = data.index(line_mark.encode())
        at = data.index(token.encode(), at)
        for _ in range(nth):
            at = data.index(token.encode(), at + 1)
        return {(f.kind, f.name, f.type) for f in self.names(path) if f.offset == at}

    def names(self, path: str = "") -> tuple[NameFact, ...]:
        """All name facts of a file."""
        found = [f for f in self.facts.files if f.path == (path or self.main)]
        return found[0].names if found else ()

    def function(self, name: str, path: str = "") -> FunctionFact:
        """The only fact about a function of this name that has a body, else the only one at all."""
        every = [fn for f in self.facts.files if f.path == (path or self.main) for fn in f.functions if fn.name == name]
        defined = [fn for fn in every if fn.body_start >= 0]
        assert len(defined or every) == 1, every
        return (defined or every)[0]

    def text(self, start: int, end: int, path: str = "") -> str:
        """The bytes of a range, as text."""
        return self.texts[path or self.main][start:end].decode("latin-1")


@pytest.fixture(scope="session")
def pch(cache_folder: Path) -> PchSet:
    """The precompiled headers of this test run."""
    found = prepare_pch("gfx942", cache_folder)
    assert found.notes == ()
    return found


@pytest.fixture
def parsed(tmp_path: Path, pch: PchSet) -> Iterator[Callable[..., Parsed]]:
    """parsed(text, other files..., device=False, precompiled=True): write, parse, and look."""

    def run(
        text: str | bytes,
        others: dict[str, str | bytes] | None = None,
        *,
        device: bool = False,
        precompiled: bool = True,
        allow_errors: bool = False,
        spec: TuSpec | None = None,
    ) -> Parsed:
        main = spec.source if spec else "a.cu"
        files = {main: text, **(others or {})}
        texts = {path: t.encode() if isinstance(t, str) else t for path, t in files.items()}
        for path, data in texts.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
        spec = replace(spec or TuSpec(main), device=device)
        facts = parse(spec, root=tmp_path, pch=pch if precompiled else None)
        assert facts.failure == ""
        assert facts.notes == ()
        if not allow_errors:
            assert facts.diagnostics == ()
        return Parsed(facts, texts, main)

    yield run
