"""What must hold for every unit of any checkout: the example, the wheel, and the one that TORCHLESS_AITER names."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from torchless.closure.build import Closures
from torchless.closure.cost import inclusive, total
from torchless.closure.directives import ELIF, ELSE, IF, scan_directives
from torchless.closure.heavy import load_heavy
from torchless.closure.weights import load_weights
from torchless.facts.includes import torch_headers
from torchless.index import Index
from torchless.project.discover import load
from torchless.project.model import Project
from torchless.text.lexer import Kind, code_tokens, lex


def check(project: Project) -> int:
    """Compare with the include graph that ignores conditions; gives the number of units and passes."""
    heavy, weights = load_heavy(), load_weights()
    closures = Closures(project, Index(project.root), heavy, "gfx942")
    looked_at = 0
    for source in project.sources:
        for closure in closures.of(source):
            looked_at += 1
            textual = closures.graph.closure(source, closure.spec.include_dirs)
            computed = {e.target for e in closure.edges if e.spelled != e.target and e.target not in textual}
            assert set(closure.via) - computed <= set(textual), source
            torch = {path for path, category in heavy.found(closure).items() if category == "torch"}
            assert torch <= set(torch_headers(textual))
            assert {e.includer for e in closure.edges} <= set(closure.via) - closure.outside
            assert set(closure.via) == {source, *(e.target for e in closure.edges)}
            assert set(closure.lines) <= set(closure.via) and min(closure.lines.values()) >= 0
            assert inclusive(closure, weights)[source] == total(closure)
            assert not closure.troubles, closure.troubles
    return looked_at


def check_directives(project: Project) -> int:
    """Compare with what the lexer of all of C++ takes for directives; gives the number of conditions."""
    count = 0
    for path in (*project.sources, *project.headers):
        data = (Path(project.root) / path).read_bytes()
        tokens = code_tokens(lex(data))
        words = {b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else"}
        expected = [
            sharp.start
            for sharp, keyword in itertools.pairwise(tokens)
            if sharp.kind is Kind.DIRECTIVE and keyword.text in words
        ]
        found = [o[2] for o in scan_directives(data)[0] if o[0] in (IF, ELIF, ELSE)]
        assert found == expected, path
        count += len(found)
    return count


def test_the_example(mini_aiter: Path) -> None:
    assert check(load(mini_aiter)) == 8
    check_directives(load(mini_aiter))


def test_order_does_not_matter(mini_aiter: Path) -> None:
    """Closures share what they find out about files; who comes first must not change anything."""
    project = load(mini_aiter)
    ways = []
    for sources in (project.sources, project.sources[::-1]):
        closures = Closures(project, Index(project.root), load_heavy(), "gfx942")
        ways.append({source: closures.of(source) for source in sources})
    assert ways[0] == ways[1]


@pytest.mark.corpus
def test_the_wheel(corpus: Path) -> None:
    assert check(load(corpus)) > 100 and check_directives(load(corpus)) > 100


if "TORCHLESS_AITER" in os.environ:  # a skipped test would count as a failed one in CI, which has no checkout

    def test_checkout() -> None:
        project = load(Path(os.environ["TORCHLESS_AITER"]))
        assert check(project) > 100 and check_directives(project) > 100
