"""Edits are type-checked in memory: what is new is found, what was there before is not."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torchless.facts.model import Diagnostic, IncludeFact, TuSpec
from torchless.facts.pch import PchSet
from torchless.model import Edit
from torchless.text.edits import offset_map
from torchless.verify import types
from torchless.verify.types import CheckJob, CheckResult, check_tus, is_torch, kind_of, new_diagnostics, torch_chains

TARGET = """
struct aiter_tensor_t { void* data_ptr() const; long size(int) const; int device_id; };
"""
SOURCE = """\
#include <torch/all.h>
#include "target.h"
long f(torch::Tensor& x) {
  return x.size(0) + (long)x.data_ptr();
}
"""


def test_a_good_edit_passes(bench: Any) -> None:
    bench.write(a_cu=SOURCE, target_h=TARGET)
    result = bench.check(
        bench.edit("a.cu", "#include <torch/all.h>\n", ""),
        bench.edit("a.cu", "torch::Tensor&", "aiter_tensor_t&"),
        places=(bench.place("a.cu", "long f"),),
    )
    assert result.new_diagnostics == ()
    assert result.torch_opened == ()
    assert not result.blind
    assert result.failure == ""
    assert (bench.root / "a.cu").read_text() == SOURCE


def test_a_name_is_missing_from_a_namespace_that_an_edit_opens(bench: Any) -> None:
    """It was before: then the namespace was missing too. But what the edit itself names has to be there."""
    source = (
        SOURCE + "#if __has_include(<printed.h>)\n#include <printed.h>\n#endif\nusing namespace own::printed::inner;\n"
    )
    bench.write(a_cu=source, target_h=TARGET, more_h="namespace own { inline int known; }\n")
    opens = bench.edit("a.cu", "#include <torch/all.h>\n", '#include <torch/all.h>\n#include "more.h"\n')
    assert len(bench.baseline()) == 1
    assert bench.check(opens).new_diagnostics == ()
    result = bench.check(opens, bench.edit("a.cu", "return x", "own::unknown = 1;\n  return x"))
    assert [d.message for d in result.new_diagnostics] == ["no member named 'unknown' in namespace 'own'"]


def test_a_bad_edit_is_found_in_both_passes(bench: Any) -> None:
    bench.write(a_cu=SOURCE, target_h=TARGET)
    edits = (
        bench.edit("a.cu", "torch::Tensor&", "aiter_tensor_t&"),
        bench.edit("a.cu", "x.size(0)", "x.numel()"),
    )
    for device in (False, True):
        result = bench.check(*edits, device=device)
        assert [d.message for d in result.new_diagnostics] == ["no member named 'numel' in 'aiter_tensor_t'"]
        after = SOURCE.replace("torch::Tensor&", "aiter_tensor_t&").replace("x.size(0)", "x.numel()")
        assert result.new_diagnostics[0].offset == after.index("numel")
        assert list(result.torch_opened) == [("a.cu", "<stubs>/torch/torch/all.h")]


def test_what_was_broken_before_is_not_held_against_an_edit(bench: Any) -> None:
    bench.write(
        a_cu=SOURCE.replace("return", "generated_by_a_script(x);\n  return") + "missing_type later;\n", target_h=TARGET
    )
    good = bench.edit("a.cu", "torch::Tensor&", "aiter_tensor_t&")
    assert len(bench.baseline()) == 2
    assert bench.check(good).new_diagnostics == ()
    # one more of the same kind elsewhere is new
    result = bench.check(good, bench.edit("a.cu", "return x", "generated_by_a_script(x); return x"))
    assert [d.message for d in result.new_diagnostics] == ["use of undeclared identifier 'generated_by_a_script'"]


def test_a_lost_standard_header_is_found(bench: Any) -> None:
    """torch brought <optional>; a precompiled header would still have it."""
    bench.write(
        a_cu='#include <torch/all.h>\n#include "target.h"\nlong f(std::optional<torch::Tensor> x) { return 0; }\n',
        target_h=TARGET,
    )
    edits = (
        bench.edit("a.cu", "#include <torch/all.h>\n", ""),
        bench.edit("a.cu", "torch::Tensor", "aiter_tensor_t"),
    )
    assert "optional" in " ".join(d.message for d in bench.check(*edits).new_diagnostics)
    with_header = bench.edit("a.cu", "#include <torch/all.h>\n", "#include <optional>\n")
    assert bench.check(with_header, edits[1]).new_diagnostics == ()


def test_a_header_that_the_project_forgot_is_not_the_edits_fault(bench: Any) -> None:
    """The baseline, with a precompiled header, does not know that HIPContext.h was never included."""
    bench.write(
        a_cu='#include <torch/all.h>\n#include "target.h"\nauto s() { return at::hip::getCurrentHIPStream(); }\n'
        "long f(torch::Tensor& x) { return x.size(0); }\n",
        target_h=TARGET,
    )
    assert bench.baseline() == ()
    assert bench.check(bench.edit("a.cu", "torch::Tensor&", "aiter_tensor_t&")).new_diagnostics == ()


def test_errors_in_headers_and_created_files(bench: Any) -> None:
    bench.write(a_cu='#include "h.h"\nint g() { return f(1); }\n', h_h="int f(int);\n")
    result = bench.check(bench.edit("h.h", "f(int)", "f(int*)"))
    assert [(d.path, d.message) for d in result.new_diagnostics] == [("a.cu", "no matching function for call to 'f'")]
    job = CheckJob(TuSpec("a.cu"), (bench.edit("a.cu", '"h.h"', '"new.h"'),), created=(("new.h", b"int f(int);\n"),))
    assert check_tus([job], bench.root, workers=1)[0].new_diagnostics == ()


def test_results_come_in_the_order_of_jobs(bench: Any) -> None:
    bench.write(a_cu="int f();\n")
    good = CheckJob(TuSpec("a.cu"), (Edit("a.cu", 0, 3, b"long"),))
    bad = replace(good, edits=(Edit("a.cu", 0, 3, b"what"),))
    gone = CheckJob(TuSpec("gone.cu"), ())
    seen: list[tuple[int, int]] = []
    results = check_tus(
        [bad, gone, good, bad], bench.root, workers=2, progress=lambda done, total: seen.append((done, total))
    )
    assert [len(r.new_diagnostics) for r in results] == [1, 0, 0, 1]
    assert [r.failure for r in results] == ["", "gone.cu: no such file", "", ""]
    assert results[1].blind
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_job_that_cannot_be_made_is_a_failure(bench: Any) -> None:
    bench.write(a_cu="int f();\n")
    (result,) = check_tus([CheckJob(TuSpec("a.cu"), (Edit("a.cu", 0, 300, b""),))], bench.root, workers=1)
    assert result.failure.startswith("a.cu: EditError: ") and result.blind


def dying_task(root: Path, headers: str, pch: PchSet | None, job: CheckJob) -> CheckResult:
    """Stands in for check_task(): dies over one unit, and over another with a precompiled header."""
    if job.spec.source == "dies.cu" or (job.spec.source == "pch.cu" and pch is not None):
        os.kill(os.getpid(), signal.SIGSEGV)
    return CheckResult(job.spec)


def test_a_death_is_tried_again_without_precompiled_header(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(types, "check_task", dying_task)
    jobs = [CheckJob(TuSpec(name), ()) for name in ("a.cu", "pch.cu", "dies.cu", "b.cu")]
    results = check_tus(jobs, bench.root, pch=bench.pch, workers=2)
    assert [r.failure for r in results] == ["", "", "dies.cu: the parser crashed (SIGSEGV)", ""]
    assert [r.spec for r in results] == [job.spec for job in jobs]


def diagnostic(offset: int, message: str, **other: Any) -> Diagnostic:
    return Diagnostic("a.cu", offset, 1, other.get("severity", 3), other.get("category", 2), message)


MAPS = {"a.cu": offset_map([Edit("a.cu", 10, 20, b"a much longer text"), Edit("a.cu", 50, 50, b"1234")])}


@pytest.mark.parametrize(
    ("before", "after", "is_new"),
    [
        # the same error where the edits moved it
        (diagnostic(5, "use of undeclared identifier 'x'"), diagnostic(5, "use of undeclared identifier 'x'"), False),
        (diagnostic(30, "use of undeclared identifier 'x'"), diagnostic(38, "use of undeclared identifier 'x'"), False),
        (diagnostic(60, "use of undeclared identifier 'x'"), diagnostic(72, "use of undeclared identifier 'x'"), False),
        # another place, name, category, kind
        (diagnostic(30, "use of undeclared identifier 'x'"), diagnostic(30, "use of undeclared identifier 'x'"), True),
        (diagnostic(5, "use of undeclared identifier 'x'"), diagnostic(5, "use of undeclared identifier 'y'"), True),
        (diagnostic(5, "use of undeclared identifier 'x'"), diagnostic(5, "unknown type name 'x'"), True),
        (diagnostic(5, "no 'x'"), diagnostic(5, "no 'x'", category=3), True),
        # types in a message may change
        (
            diagnostic(5, "no viable conversion from 'at::Tensor' to 'int'"),
            diagnostic(5, "no viable conversion from 'aiter_tensor_t' to 'int'"),
            False,
        ),
        (
            diagnostic(5, "no member named 'f' in 'Tensor' (aka 'at::Tensor')"),
            diagnostic(5, "no member named 'f' in 'aiter_tensor_t'"),
            False,
        ),
        (
            diagnostic(5, "no member named 'f' in 'at::Tensor'"),
            diagnostic(5, "no member named 'g' in 'aiter_tensor_t'"),
            True,
        ),
        # inside replaced text it must be word for word the same
        (diagnostic(15, "no 'a::b'"), diagnostic(17, "no 'a::b'"), False),
        (diagnostic(15, "no 'a::b'"), diagnostic(17, "no 'a::c'"), True),
        (diagnostic(15, "no 'a::b'"), diagnostic(29, "no 'a::b'"), True),
        # warnings do not count
        (diagnostic(5, "careful"), diagnostic(7, "careful", severity=2), False),
    ],
)
def test_what_counts_as_the_same_error(before: Diagnostic, after: Diagnostic, is_new: bool) -> None:
    assert new_diagnostics([after], [before], MAPS) == ((after,) if is_new else ())


def test_several_errors_at_one_place_count_one_by_one() -> None:
    """A macro is one place, however often it goes wrong."""
    error = diagnostic(5, "use of undeclared identifier 'x'")
    assert new_diagnostics([error, error], [error], {}) == (error,)
    assert new_diagnostics([error, error], [error, error, error], {}) == ()
    assert new_diagnostics([error], [], {}) == (error,)


def test_the_kind_of_a_message() -> None:
    assert kind_of("no member named 'x' in 'at::Tensor' (aka 'T')") == "no member named 'x' in '...'"
    assert kind_of("no matching function") == "no matching function"


def test_chains_to_torch() -> None:
    includes = [
        IncludeFact("a.cu", 0, "b.h", "b.h"),
        IncludeFact("a.cu", 9, "c.h", "c.h"),
        IncludeFact("b.h", 0, "d.h", "d.h"),
        IncludeFact("d.h", 0, "torch/all.h", "<stubs>/torch/torch/all.h"),
        IncludeFact("c.h", 0, "torch/all.h", "<stubs>/torch/torch/all.h"),
        IncludeFact("c.h", 9, "torch/mine.h", "csrc/include/torch/mine.h"),
        IncludeFact("c.h", 19, "c10/util/Half.h", "/opt/torch/include/c10/util/Half.h"),
        IncludeFact("c.h", 29, "vector", "/usr/include/c++/12/vector"),
        IncludeFact("unreached.h", 0, "torch/all.h", "<stubs>/torch/torch/all.h"),
    ]
    assert torch_chains("a.cu", includes) == (
        ("a.cu", "b.h", "d.h", "<stubs>/torch/torch/all.h"),
        ("a.cu", "c.h", "/opt/torch/include/c10/util/Half.h"),
        ("a.cu", "c.h", "<stubs>/torch/torch/all.h"),
    )
    assert torch_chains("a.cu", includes[:3]) == ()


def test_stub_headers_beside_torch_bring_no_torch() -> None:
    """HIP, pybind11 and the target's headers are free of it: else every unit would seem to leak."""
    from torchless.facts import flags

    for path in sorted(Path(flags.STUBS).rglob("*.h*")):
        shown = flags.shown_path(str(path), Path("/nowhere"))
        if not shown.startswith(flags.TORCH_PREFIX):
            assert torch_chains("a.cu", [IncludeFact("a.cu", 0, path.name, shown)]) == (), shown


def test_pybind11_inside_an_installed_torch_is_not_torch() -> None:
    include = "/usr/lib/python3/site-packages/torch/include"
    assert is_torch(f"{include}/ATen/ATen.h") and is_torch(f"{include}/c10/util/Half.h")
    assert is_torch(f"{include}/torch/csrc/api/include/torch/all.h")
    assert not is_torch(f"{include}/pybind11/pybind11.h")
