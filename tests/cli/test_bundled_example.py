"""The bundled example: valid C++ over the stubs in both passes, and valid Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from torchless.facts.clang import parse
from torchless.facts.model import TuSpec

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mini-aiter"
SOURCES = sorted(path.relative_to(EXAMPLE).as_posix() for path in EXAMPLE.glob("csrc/**/*.cu"))


def test_there_are_sources():
    assert len(SOURCES) == 4


@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("source", SOURCES)
def test_it_parses_without_a_diagnostic(source, device):
    spec = TuSpec(source, include_dirs=("csrc/include",), device=device)
    facts = parse(spec, root=EXAMPLE)
    assert facts.failure == ""
    assert [f"{d.path}:{d.line}: {d.message}" for d in facts.diagnostics] == []
    assert [i.spelled for i in facts.includes if not i.resolved] == []


@pytest.mark.parametrize("path", sorted(EXAMPLE.glob("aiter/**/*.py")), ids=lambda p: p.name)
def test_the_python_is_valid(path):
    ast.parse(path.read_text())
