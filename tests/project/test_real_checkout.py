"""What must hold in any real checkout. TORCHLESS_AITER names one; the wheel is there for tests marked corpus."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from torchless.facts.includes import graph_of, scan_includes, torch_headers
from torchless.project.discover import load
from torchless.project.model import Project
from torchless.text.lexer import Kind, code_tokens, lex


def check_project(project: Project) -> None:
    root = Path(project.root)
    assert project.modules and project.ops and project.binding_tus
    for module in project.modules:
        assert module.sources or module.vendored_sources or module.missing_sources or module.has_generator
        assert all((root / source).is_file() for source in module.sources)
    for op in project.ops:
        decorator = (root / op.path).read_bytes()[op.start : op.end].decode()
        (function,) = ast.parse(f"{decorator}\ndef f(): ...").body
        assert isinstance(function, ast.FunctionDef) and len(function.decorator_list) == 1
        assert op.module and op.fc_name
    registration = root / project.csrc / "include/rocm_ops.hpp"
    text = registration.read_bytes()
    rows = [row for macro in project.binding_macros if root / macro.path == registration for row in macro.rows]
    assert len(rows) == len(re.findall(rb"\bm\.def\b", text))
    assert all(row.name and text[row.start :].startswith(b"m.def") for row in rows)
    assert sum(not row.target for row in rows) <= 1  # the stream setter is a lambda


def check_includes(project: Project) -> None:
    root = Path(project.root)
    for path in (*project.sources, *project.headers):
        data = (root / path).read_bytes()
        tokens = code_tokens(lex(data))
        expected = [
            (sharp.start, operand.text.strip(b'<>"').decode())
            for sharp, keyword, operand in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if sharp.kind is Kind.DIRECTIVE and keyword.text in (b"include", b"include_next", b"import")
        ]
        assert [(i.offset, i.spelled) for i in scan_includes(data)] == expected, path
    graph = graph_of(project)
    assert any(torch_headers(graph.closure_of(source)) for source in graph.units)
    registration = f"{project.csrc}/include/rocm_ops.hpp"
    assert {tu.path for tu in project.binding_tus if tu.macros} <= set(graph.users_of(registration))


if "TORCHLESS_AITER" in os.environ:  # a skipped test would count as a failed one in CI, which has no checkout

    def test_checkout() -> None:
        project = load(Path(os.environ["TORCHLESS_AITER"]))
        check_project(project)
        check_includes(project)


@pytest.mark.corpus
def test_wheel(corpus: Path) -> None:
    project = load(corpus)
    check_project(project)
    check_includes(project)
    assert "develop" not in project.op_parameters and "aiter_tensor.h" not in project.target_headers
