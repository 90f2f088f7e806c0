"""Host code out of the device pass: what the compiler finds in both versions is the same, or the source stays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE
from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.model import UnitStatus

TENSOR = """#pragma once
#include <hip/hip_runtime.h>
#include <ATen/ATen.h>
struct Box { float* data; int n; };
"""
SCALE = """// A licence.
#include "box.h"
#include <cstdint>

template <typename T>
__global__ void scale(T* out, int n) { out[0] = n; }
__global__ void plain(float* out) { out[0] = 1; }

template <typename T>
void start(Box& box) { scale<T><<<1, 64>>>((T*)box.data, box.n); }
void launch(Box& box, int kind)
{
    if(kind == 0) start<float>(box);
    else if(kind == 1) start<int>(box);
    else plain<<<1, 1>>>(box.data);
}
"""
HOST_ONLY = '#include "box.h"\nint count(const Box& box) { return box.n; }\n'
LAMBDA = """#include "box.h"
template <typename F> __global__ void apply(float* out, F f) { out[0] = f(1.0f); }
void launch_lambda(Box& box) { apply<<<1, 1>>>(box.data, [] __device__(float x) { return x * 2; }); }
"""
LOCAL = """#include "box.h"
template <typename F> __global__ void apply(float* out, F f) { out[0] = f.by; }
void launch_local(Box& box)
{
    struct Twice { float by; };
    apply<<<1, 1>>>(box.data, Twice{2.0f});
}
"""
KERNELS = """#pragma once
template <typename T> __global__ void fill(T* out) { out[0] = 1; }
inline void start_it() { fill<float><<<1, 1>>>(nullptr); }
"""
MACRO = """#include "box.h"
#define KERNEL(name) __global__ void name(float* out) { out[0] = 2; }
KERNEL(hidden)
void launch_hidden(Box& box) { hidden<<<1, 1>>>(box.data); }
"""


def checkout(root: Path, files: dict[str, str]) -> Path:
    for path, text in {"csrc/box.h": TENSOR, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def run(root: Path, **more: bool) -> MigrateResult:
    options = MigrateOptions((".",), select=("TL62",), jobs=1, cache=False, **more)  # type: ignore[arg-type]
    return migrate(options, root, lambda stage, done, total: None)


@pytest.mark.clang
def test_launchers_are_guarded_and_their_kernels_listed(tmp_path: Path) -> None:
    root = checkout(tmp_path, {"csrc/scale.cu": SCALE})
    safe = run(root)
    assert safe.changes == {} and [u.status for u in safe.units] == [UnitStatus.CLEAN]
    result = run(root, unsafe=True)
    new = result.changes["csrc/scale.cu"].new.decode()
    assert "template __global__ void scale<float>(float*, int);\n" in new
    assert "template __global__ void scale<int>(int*, int);\n" in new
    assert "plain" not in new.partition("#if defined(__HIP_DEVICE_COMPILE__)")[2]
    assert new.index("// host pass") < new.index("__global__ void plain") < new.rindex("// host pass")
    (root / "csrc/scale.cu").write_text(new)
    again = run(root, unsafe=True)
    assert again.changes == {} and again.units == ()


@pytest.mark.clang
def test_a_source_without_device_code_goes_as_a_whole(tmp_path: Path) -> None:
    result = run(checkout(tmp_path, {"csrc/count.cu": HOST_ONLY}))
    new = result.changes["csrc/count.cu"].new.decode()
    assert new.startswith("#if !defined(__HIP_DEVICE_COMPILE__) && !defined(__HIPCC_RTC__)\n#include")
    assert new.endswith("#endif // host pass\n")


@pytest.mark.clang
def test_a_dispatcher_over_what_a_build_prints_goes_as_a_whole_where_no_name_leads_to_a_kernel(tmp_path: Path) -> None:
    text = '#include "printed.h"\n#include "kernels.h"\n' + HOST_ONLY.replace("return", "PRINTED(box); return")
    root = checkout(tmp_path, {"csrc/dispatch.cu": text, "csrc/kernels.h": KERNELS})
    assert run(root).changes == {}
    result = run(root, unsafe=True)
    assert result.changes["csrc/dispatch.cu"].new.startswith(b"#if !defined(__HIP_DEVICE_COMPILE__)")
    ((finding,),) = [u.findings for u in result.units]
    assert "printed.h is printed by a build and was not looked at" in finding.message


def test_without_a_compiler_nothing_is_done_and_a_note_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchless.compiled.find_compiler", lambda: None)
    result = run(checkout(tmp_path, {"csrc/count.cu": HOST_ONLY}), unsafe=True)
    assert result.changes == {}
    assert [note for note in result.notes if "TL620 was left out" in note]


@pytest.mark.clang
def test_a_comment_leaves_a_source_alone(tmp_path: Path) -> None:
    text = "// torchless: file-ignore[TL62] measured, no gain\n" + HOST_ONLY
    result = run(checkout(tmp_path, {"csrc/count.cu": text}))
    assert result.changes == {} and result.units == () and result.findings == ()


@pytest.mark.clang
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LOCAL, "has an argument without a name"),
        ('#include "printed.h"\n' + SCALE, "'printed.h' file not found"),
        (
            '#include "printed.h"\n#include "kernels.h"\n' + HOST_ONLY.replace("return", "start_it(); return"),
            "it may start a kernel of csrc/kernels.h",
        ),
        (
            "#include <hipcub/hipcub.hpp>\n" + HOST_ONLY.replace("return", "hipcub::DeviceScan::Sum(0); return"),
            "hipcub",
        ),
    ],
)
def test_what_would_lose_a_kernel_or_is_not_known_stays(tmp_path: Path, text: str, reason: str) -> None:
    result = run(checkout(tmp_path, {"csrc/odd.cu": text, "csrc/kernels.h": KERNELS}), unsafe=True)
    assert result.changes == {}
    (found,) = [f for f in result.findings if f.code == "TL621"]
    assert reason in found.message


@pytest.mark.clang
@pytest.mark.parametrize("text", [LAMBDA, MACRO])
def test_a_launcher_that_holds_or_makes_device_code_stays_without_a_word(tmp_path: Path, text: str) -> None:
    result = run(checkout(tmp_path, {"csrc/odd.cu": text}), unsafe=True)
    assert result.changes == {} and result.units == ()


@pytest.mark.clang
def test_a_small_gain_is_not_offered(tmp_path: Path) -> None:
    text = SCALE.replace('#include "box.h"', "#include <hip/hip_runtime.h>\nstruct Box { float* data; int n; };")
    root = checkout(tmp_path, {"csrc/scale.cu": text})
    assert [f.code for f in run(root, unsafe=True).findings] == ["TL622"]
    assert "csrc/scale.cu" in run(root, unsafe=True, offer_all=True).changes


@pytest.mark.clang
def test_it_composes_with_the_main_job_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, root)
    select = ("TL1", "TL2", "TL3", "TL40", "TL42", "TL49", "TL5", "TL62", "TL63", "TL7")
    options = MigrateOptions((".",), select=select, unsafe=True, offer_all=True, jobs=2, cache=False)
    result = migrate(options, root, lambda stage, done, total: None)
    new = result.changes["csrc/kernels/scale_kernels.cu"].new.decode()
    assert "torch::" not in new and "template __global__ void aiter::scale_rows_kernel<float>(" in new
    statuses = {u.name: u.status for u in result.units}
    assert statuses.pop("module_norm") is UnitStatus.BLOCKED  # by what Python cannot take over
    assert set(statuses.values()) == {UnitStatus.MIGRATED}
    for path, change in result.changes.items():
        (root / path).write_bytes(change.new)
    again = migrate(options, root, lambda stage, done, total: None)
    assert again.changes == {}
