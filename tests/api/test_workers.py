"""Worker processes are started for what the cache does not know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from torchless import workers
from torchless.facts.includes import IncludeGraph
from torchless.facts.model import TuFacts, TuSpec
from torchless.options import MigrateOptions
from torchless.project.model import Project
from torchless.verify.types import CheckJob, CheckResult

SPECS = [TuSpec("a.cu"), TuSpec("b.cu", device=True), TuSpec("a.cu", device=True)]
JOB = CheckJob(TuSpec("a.cu"), ())


def quiet(stage: str, done: int, total: int) -> None:
    pass


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the worker processes were asked for; they fail over b.cu."""
    wanted: list[Any] = []

    def parse_many(specs: Sequence[TuSpec], root: Path, **rest: object) -> list[TuFacts]:
        wanted.extend(specs)
        return [TuFacts(spec, failure="crashed" if spec.source == "b.cu" else "") for spec in specs]

    def check_tus(jobs: Sequence[CheckJob], root: Path, **rest: object) -> list[CheckResult]:
        wanted.extend(jobs)
        return [CheckResult(job.spec) for job in jobs]

    monkeypatch.setenv("TORCHLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(workers, "parse_many", parse_many)
    monkeypatch.setattr(workers, "check_tus", check_tus)
    monkeypatch.setattr(workers, "prepare_pch", lambda *arguments, **rest: None)
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("int x;\n")
    return wanted


def test_facts_that_are_known_are_not_asked_for(asked: list[Any], tmp_path: Path) -> None:
    project, options = Project(str(tmp_path), False), MigrateOptions(paths=())
    first = workers.parse(SPECS, project, options, quiet)
    assert [facts.spec for facts in first] == SPECS == asked
    # a failure is tried again
    assert workers.parse(SPECS[::-1], project, options, quiet) == first[::-1]
    assert asked[3:] == [SPECS[1]]
    workers.parse(SPECS, project, MigrateOptions(paths=(), cache=False), quiet)
    assert asked[4:] == SPECS
    assert workers.parse([], project, options, quiet) == []


@pytest.mark.parametrize(
    ("options", "remembered"), [({}, True), ({"cache": False}, False), ({"headers": "system"}, False)]
)
def test_checks_over_the_stubs_are_remembered(
    asked: list[Any], tmp_path: Path, options: dict[str, Any], remembered: bool
) -> None:
    analysis: Any = SimpleNamespace(root=tmp_path, graph=IncludeGraph(tmp_path, {"a.cu": [()]}), hashes={})
    for _ in range(2):
        check = workers.check_runner(analysis, MigrateOptions(paths=(), **options), quiet)
        assert list(check([JOB])) == [CheckResult(JOB.spec)]
    assert len(asked) == (1 if remembered else 2)
