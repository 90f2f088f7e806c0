"""A check with the very inputs of an earlier one is not made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from torchless.facts.cache import Cache
from torchless.facts.includes import IncludeGraph
from torchless.facts.model import Diagnostic, TuSpec
from torchless.model import Edit
from torchless.verify.planted import Place
from torchless.verify.remembered import remembering
from torchless.verify.types import CheckJob, CheckResult

FILES = {
    "a.cu": '#include "a.h"\n#include "sub/b.h"\nint a;\n',
    "a.h": "int in_a;\n",
    "sub/b.h": '#include "c.h"\n',
    "sub/c.h": "int in_c;\n",
    "apart.h": "int apart;\n",
}
EDIT = Edit("a.cu", FILES["a.cu"].index("int"), FILES["a.cu"].index("int") + 3, b"long", "TL201")
PLACE = Place("a.cu", 12, "f")
JOB = CheckJob(TuSpec("a.cu"), (EDIT,), (), (PLACE,))


@dataclass
class Bench:
    """A project on disk, and a stand-in for the checks that notes what it was asked."""

    root: Path
    answer: CheckResult
    asked: list[CheckJob] = field(default_factory=list)

    def check(self, *jobs: CheckJob) -> list[CheckResult]:
        """One run of the tool: a new cache object, a new graph."""

        def run(wanted: Sequence[CheckJob]) -> list[CheckResult]:
            self.asked.extend(wanted)
            return [replace(self.answer, spec=job.spec) for job in wanted]

        cache = Cache(self.root, folder=self.root / "cache")
        return list(remembering(run, cache, IncludeGraph(self.root, {"a.cu": [()]}))(jobs))

    def runs(self, *jobs: CheckJob) -> int:
        """How many checks a run over ``jobs`` makes."""
        before = len(self.asked)
        self.check(*jobs)
        return len(self.asked) - before

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(exist_ok=True)
        (self.root / path).write_text(text)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    diagnostics = (Diagnostic("a.h", 4, 1, 3, 2, "no such 'thing'"),)
    answer = CheckResult(TuSpec(""), diagnostics, (("a.cu", "a.h", "<stubs>/torch/x.h"),), (PLACE,), "", 1.5)
    made = Bench(tmp_path, answer)
    for path, text in FILES.items():
        made.write(path, text)
    return made


def test_the_same_inputs_give_the_same_result_without_a_check(bench: Bench) -> None:
    first = bench.check(JOB)
    assert first == [replace(bench.answer, spec=JOB.spec)]
    assert bench.check(JOB) == first
    assert len(bench.asked) == 1


def test_only_what_is_not_known_is_asked_for_and_the_order_is_kept(bench: Bench) -> None:
    device = replace(JOB, spec=TuSpec("a.cu", device=True))
    bench.check(JOB)
    results = bench.check(device, JOB, device)
    assert [r.spec for r in results] == [device.spec, JOB.spec, device.spec]
    assert bench.asked == [JOB, device, device]
    assert bench.runs() == 0


@pytest.mark.parametrize("path", ["a.h", "sub/b.h", "sub/c.h"])
def test_a_header_that_changed_is_checked_with_again(bench: Bench, path: str) -> None:
    bench.check(JOB)
    bench.write(path, FILES[path] + "int more;\n")
    assert (bench.runs(JOB), bench.runs(JOB)) == (1, 0)
    bench.write(path, FILES[path])
    assert bench.runs(JOB) == 0  # as it was


def test_the_source_itself_and_a_header_that_turns_up(bench: Bench) -> None:
    bench.check(JOB)
    bench.write("a.cu", FILES["a.cu"] + "int later;\n")
    assert bench.runs(JOB) == 1
    bench.write("a.cu", FILES["a.cu"])
    bench.write("c.h", "found first? not from sub/b.h\n")
    assert bench.runs(JOB) == 0
    (bench.root / "sub/c.h").unlink()
    assert bench.runs(JOB) == 1


def test_a_file_out_of_reach_does_not_matter(bench: Bench) -> None:
    bench.check(JOB)
    bench.write("apart.h", "changed\n")
    assert bench.runs(JOB) == 0
    # until an edit reaches for it
    reaching = replace(JOB, edits=(EDIT, Edit("a.h", 0, 0, b'#include "apart.h"\n')))
    assert (bench.runs(reaching), bench.runs(reaching)) == (1, 0)
    bench.write("apart.h", "changed again\n")
    assert bench.runs(reaching) == 1


@pytest.mark.parametrize(
    "other",
    [
        replace(JOB, edits=(replace(EDIT, new=b"short"),)),
        replace(JOB, edits=()),
        replace(JOB, edits=(EDIT, Edit("sub/c.h", 0, 3, b"long"))),
        replace(JOB, spec=TuSpec("a.cu", defines=("A",))),
        replace(JOB, spec=TuSpec("a.cu", arch="gfx950")),
        replace(JOB, places=()),
        replace(JOB, baseline=(Diagnostic("a.cu", 1, 1, 3, 2, "known"),)),
        replace(JOB, created=(("sub/c.h", b"int created;\n"),)),
    ],
)
def test_any_other_job_is_another_check(bench: Bench, other: CheckJob) -> None:
    bench.check(JOB)
    assert (bench.runs(other), bench.runs(other), bench.runs(JOB)) == (1, 0, 0)


def test_edits_of_files_out_of_reach_do_not_matter(bench: Bench) -> None:
    bench.check(JOB)
    assert bench.runs(replace(JOB, edits=(EDIT, Edit("apart.h", 0, 3, b"long")))) == 0


def test_a_failure_is_not_remembered(bench: Bench) -> None:
    bench.answer = CheckResult(TuSpec(""), failure="the parser crashed")
    assert [r.failure for r in bench.check(JOB)] == ["the parser crashed"]
    assert bench.runs(JOB) == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"new_diagnostics": [{}]}', b"nonsense"])
def test_an_entry_that_is_none_is_a_miss(bench: Bench, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.check(JOB)
    monkeypatch.setattr(Cache, "findings", lambda self, key: body)
    assert bench.runs(JOB) == 1
