"""From a selection to views: what is parsed, what is looked at, and what is said of what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from torchless.analysis import Analyst
from torchless.facts.model import Diagnostic, FileFacts, FunctionFact, IncludeFact, TuFacts, TuSpec
from torchless.project.discover import load
from torchless.project.model import Project
from torchless.selection import select

NORM, SCALE = "csrc/kernels/norm_kernels.cu", "csrc/kernels/scale_kernels.cu"
BIND_NORM, BIND_SCALE = "csrc/pybind/norm_pybind.cu", "csrc/pybind/scale_pybind.cu"
Make = Callable[..., Analyst]


@pytest.fixture
def asked() -> list[TuSpec]:
    """The units that were parsed so far."""
    return []


@pytest.fixture
def make(mini_aiter: Path, asked: list[TuSpec]) -> Make:
    """An analyst of the example whose parser notes what it is asked and finds what ``found`` says."""

    def run(
        *paths: str,
        modules: Sequence[str] = (),
        found: Callable[[TuSpec], TuFacts] = TuFacts,
        change: Callable[[Project], Project] = lambda project: project,
        **options: Sequence[str],
    ) -> Analyst:
        def parse_many(specs: Sequence[TuSpec]) -> list[TuFacts]:
            asked.extend(specs)
            return [found(spec) for spec in specs]

        project = change(load(mini_aiter, paths))
        selection = select(project, mini_aiter, paths, modules)
        return Analyst(project, selection, parse_many, arch="gfx942", **options)

    return run


def test_the_sources_of_the_modules_of_what_is_selected_come_first(make: Make) -> None:
    assert make(NORM).first_sources() == {NORM, BIND_NORM}
    assert make("csrc").first_sources() == {NORM, BIND_NORM, SCALE, BIND_SCALE}
    assert make("csrc/include/scale.h").first_sources() == {SCALE, BIND_SCALE}
    assert make(modules=["module_norm"]).first_sources() == {NORM, BIND_NORM}


def test_each_unit_is_parsed_once_in_both_passes(make: Make, asked: list[TuSpec]) -> None:
    analyst = make(NORM, defines=["A=1"], include_dirs=["extra"])
    analysis = analyst.look([NORM])
    assert [(s.source, s.device, s.enable_ck) for s in asked] == [(NORM, False, False), (NORM, True, False)]
    assert all(s.defines[-1] == "A=1" and s.include_dirs[-1] == "extra" for s in asked)
    wider = analyst.look([NORM, SCALE])
    assert [s.source for s in asked] == [NORM, NORM, SCALE, SCALE]
    assert [tu.spec.source for tu in analysis.tus] == [NORM, NORM]
    assert [tu.spec.source for tu in wider.tus] == [NORM, NORM, SCALE, SCALE]


def test_what_nothing_closes_is_told_once(make: Make) -> None:
    errors = [
        Diagnostic(SCALE, 5, 2, 3, 1, "unterminated conditional directive"),
        Diagnostic(SCALE, 9, 3, 3, 3, "expected '}'"),
        Diagnostic(SCALE, 12, 3, 3, 3, "expected ')'"),
        Diagnostic("<stubs>/torch/all.h", 7, 2, 3, 3, "expected '}'"),
        Diagnostic("/usr/include/x.h", 7, 2, 3, 3, "extraneous closing brace ('}')"),
    ]
    analysis = make(SCALE, found=lambda spec: TuFacts(spec, diagnostics=tuple(errors))).look([SCALE])
    told = [f for f in analysis.findings if f.code == "TL004"]
    assert [(f.path, f.start, f.message.partition(":")[0]) for f in told] == [
        (SCALE, 5, "unterminated conditional directive"),
        (SCALE, 9, "expected '}'"),
    ]
    assert not any(f.blocks or f.edits for f in told)


def test_both_ways_of_building_with_ck_where_it_is_there(make: Make, asked: list[TuSpec]) -> None:
    make(NORM, change=lambda project: replace(project, ck_dir="3rdparty/composable_kernel")).look([NORM])
    assert sorted((s.device, s.enable_ck) for s in asked) == [
        (False, False),
        (False, True),
        (True, False),
        (True, True),
    ]


def test_only_files_with_torch_text_are_looked_at(make: Make, mini_aiter: Path, asked: list[TuSpec]) -> None:
    analysis = make(NORM).look([NORM, BIND_NORM])
    assert {NORM, "csrc/include/norm.h", "csrc/include/dispatch_utils.h"} <= set(analysis.views)
    assert "csrc/include/aiter_tensor.h" not in analysis.views and "csrc/include/scale.h" not in analysis.views
    # a folder that was asked for has its headers looked at, used or not
    assert "csrc/include/scale.h" in make("csrc").look([NORM]).views
    # a source that reaches no torch is not even parsed
    asked.clear()
    (mini_aiter / "csrc/kernels/free.cu").write_text('#include "aiter_tensor.h"\nint x;\n')
    assert make("csrc").look(["csrc/kernels/free.cu"]).tus == () and asked == []


def test_facts_of_all_passes_come_together(make: Make) -> None:
    def found(spec: TuSpec) -> TuFacts:
        name = "device_only" if spec.device else "host_only"
        function = FunctionFact(NORM, 0, 9, name, 0, -1, -1, (), "", "void", False, False, False, False)
        return TuFacts(spec, (FileFacts(NORM, (), (function,)),))

    analysis = make(NORM, found=found).look([NORM])
    assert [f.name for f in analysis.views[NORM].functions] == ["device_only", "host_only"]
    assert set(analysis.functions) == {"device_only", "host_only"}


def test_what_went_wrong_is_said_once(make: Make) -> None:
    def found(spec: TuSpec) -> TuFacts:
        missing = IncludeFact(spec.source, 7, "generated.h", "")
        there = IncludeFact(spec.source, 30, "norm.h", "csrc/include/norm.h")
        return TuFacts(spec, includes=(missing, there), failure="" if spec.source == NORM else "the parser crashed")

    findings = make("csrc", found=found).look([NORM, SCALE]).findings
    assert [(f.code, f.path, f.start) for f in findings] == [
        ("TL002", NORM, 7),
        ("TL002", SCALE, 7),
        ("TL003", SCALE, 0),
    ]
    assert "generated.h was not found" in findings[0].message and "the parser crashed" in findings[2].message
    assert not any(f.edits or f.blocks for f in findings)


def test_a_file_that_cannot_be_read_is_left_out_and_named(make: Make, mini_aiter: Path) -> None:
    analyst = make("csrc")
    (mini_aiter / NORM).unlink()
    analysis = analyst.look([NORM, SCALE])
    assert [(f.code, f.path) for f in analysis.findings] == [("TL006", NORM)]
    assert SCALE in analysis.views and analyst.read(NORM) == b""
