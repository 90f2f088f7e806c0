"""Sources that only instantiate launchers: one for the host, the others for the device, every kernel exactly once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, MigrateResult, migrate
from torchless.facts.model import TuSpec
from torchless.model import UnitStatus
from torchless.verify.compilers import find_compiler
from torchless.verify.device_code import DeviceCode, compile_device
from torchless.verify.emitted import emitted, host_symbols
from torchless.verify.tree import Tree

CONFIG = "aiter/jit/optCompilerConfig.json"
BOX = """#pragma once
#include <hip/hip_runtime.h>
struct Box { float* data; int n; };
"""
KERNELS = """#pragma once
#include <hip/hip_runtime.h>
namespace n {
struct Add { static __device__ float apply(float a, float b) { return a + b; } };
struct Mul { static __device__ float apply(float a, float b) { return a * b; } };

template <typename Op, typename T, int kWidth>
__global__ void __launch_bounds__(256) combine(T* out, const T* in, int n)
{
    if(threadIdx.x < n) out[threadIdx.x] = Op::apply(out[threadIdx.x], in[threadIdx.x]) * kWidth;
}
template <typename T> __global__ void clear(T* out) { out[threadIdx.x] = 0; }
} // namespace n
"""
LAUNCH = """#pragma once
#include "box.h"
#include "kernels.h"

inline int grid_of(const Box& box) { return box.n / 64; }

template <typename Op, typename T>
bool run(Box& out, Box& in)
{
    n::clear<int><<<1, 64>>>((int*)out.data);
    if(out.n > 64)
        n::combine<Op, T, 4><<<grid_of(out), 256>>>((T*)out.data, (T*)in.data, out.n);
    else
        n::combine<Op, T, 1><<<1, 64>>>((T*)out.data, (T*)in.data, out.n);
    return true;
}
"""
NAMES = [("Add", "float"), ("Add", "int"), ("Mul", "float"), ("Mul", "int"), ("Mul", "double")]
COMBINATIONS = {f"csrc/run_{op}_{t}.cu": f"n::{op}, {t}" for op, t in NAMES}


def checkout(root: Path, count: int = 5, **more: str) -> Path:
    files = {"csrc/box.h": BOX, "csrc/kernels.h": KERNELS, "csrc/launch.h": LAUNCH}
    for path, arguments in list(COMBINATIONS.items())[:count]:
        files[path] = f'// A licence.\n#include "launch.h"\n\ntemplate bool run<{arguments}>(Box&, Box&);\n'
    sources = ", ".join(f"\"f'{{AITER_CSRC_DIR}}/{Path(path).name}'\"" for path in files if path.endswith(".cu"))
    files["aiter/jit/optCompilerConfig.json"] = f'{{"module_run": {{"srcs": [{sources}]}}}}'
    json.loads(files["aiter/jit/optCompilerConfig.json"])
    for path, text in {**files, **{f"csrc/{name}.h": text for name, text in more.items()}}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def run(root: Path, unsafe: bool = True) -> MigrateResult:
    options = MigrateOptions((".",), select=("TL63",), jobs=2, cache=False, unsafe=unsafe)
    return migrate(options, root, lambda stage, done, total: None)


def plain(tree: Tree, spec: TuSpec, make: object) -> DeviceCode:
    return make()  # type: ignore[operator, no-any-return]


@pytest.mark.clang
def test_every_kernel_and_launcher_is_there_exactly_once(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    (root / "aiter/jit/core.py").write_text("def build(flags_extra_hip_per_source): ...\n")
    result = run(root)
    (unit,) = result.units
    assert unit.status is UnitStatus.MIGRATED, result.findings
    assert set(result.changes) == {*COMBINATIONS, "csrc/kernels.h", "csrc/launch.h", CONFIG}
    flags = json.loads(result.changes[CONFIG].new)["module_run"]["flags_extra_hip_per_source"]
    assert flags == {Path(path).name: ["-D__HIPCC_RTC__"] for path in list(COMBINATIONS)[1:]}
    after = Tree(root, {path: change.new for path, change in result.changes.items()})
    compiler = find_compiler()
    assert compiler is not None
    device = [TuSpec(path, device=True) for path in COMBINATIONS]
    host = [TuSpec(path) for path in COMBINATIONS]
    with after.vfs() as overlay:
        kernels = [emitted(compiler, after, spec, "stubs", overlay) for spec in device]
        stubs = [host_symbols(compiler, after, spec, "stubs", overlay) for spec in host]
    assert [code.problem for code in (*kernels, *stubs)] == [""] * 10
    listed = [name for code in kernels for name in code.kernels]
    assert len(listed) == len(set(listed)) == 11  # clear<int> was in each of the five
    assert [code.kernels for code in stubs] == [code.kernels for code in kernels]
    assert len(stubs[0].instances) == 5 and not stubs[0].kernels
    old, new = compile_device(compiler, Tree(root), after, device, "stubs", 2, plain)
    before = {name: f for code in old for name, f in code.functions.items()}
    assert before == {name: f for code in new for name, f in code.functions.items()}
    for path, change in result.changes.items():
        (root / path).write_bytes(change.new)
    again = run(root)
    assert again.changes == {} and again.units == () and again.findings == ()


def test_four_sources_are_too_few(tmp_path: Path) -> None:
    result = run(checkout(tmp_path, count=4))
    assert result.changes == {} and result.units == () and result.findings == ()


@pytest.mark.clang
def test_a_header_that_may_not_meet_another_one_keeps_the_sources_apart(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    for name in ("one", "two"):
        (root / f"csrc/{name}.h").write_text("#pragma once\ninline __device__ int lane() { return threadIdx.x; }\n")
    for path, name in zip(list(COMBINATIONS)[:2], ("one", "two"), strict=True):
        text = (root / path).read_text()
        (root / path).write_text(text.replace('#include "launch.h"', f'#include "launch.h"\n#include "{name}.h"'))
    result = run(root)
    assert result.changes == {}
    (found,) = result.findings
    assert found.code == "TL631" and "one.h and csrc/two.h both define lane" in found.message
