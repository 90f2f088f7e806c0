"""Migrated wrappers import, have schemas, and allocate what the C++ allocated before: asked of torch's own C++."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from wrapper_harness import imported

from torchless.api import MigrateOptions, migrate
from torchless.rules.load import load_rules

pytestmark = [pytest.mark.clang, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "examples" / "mini-aiter"
COMPARE = Path(__file__).with_name("compare_ops.py")
LAUNCHERS = """\
#include <ATen/hip/impl/HIPGuardImplMasqueradingAsCUDA.h>
template <typename... A> static void run(A&&...) {}
constexpr int kBlock = 64;
static inline int blocks(int n) { return (n + kBlock - 1) / kBlock; }
torch::Tensor scale(torch::Tensor& x, int rows, bool wide)
{
    auto options = torch::TensorOptions().dtype(torch::kFloat32).device(x.device());
    torch::Tensor out = torch::empty_like(x);
    auto partial = torch::zeros({rows, x.size(-1)}, options);
    if(wide)
    {
        auto scratch = torch::empty({rows * 2}, options);
        run(scratch.data_ptr());
    }
    run(out.data_ptr(), x.data_ptr(), partial.data_ptr());
    return out;
}
torch::Tensor project(const torch::Tensor& a, const torch::Tensor& b, int64_t groups)
{
    const auto sizes = a.sizes();
    const int m = sizes[0];
    const int n = b.size(1);
    int tiles = blocks(m) * blocks(n);
    if(groups > 1)
        tiles *= groups;
    else if(groups < 0)
        tiles = 1;
    auto result = torch::empty({m, n}, a.options());
    auto flags = torch::zeros({tiles}, a.options().dtype(torch::kInt32));
    run(result.data_ptr(), a.data_ptr(), b.data_ptr(), flags.data_ptr());
    return result;
}
torch::Tensor attend(torch::Tensor& q, torch::Tensor& k, std::optional<torch::Tensor> mask, bool causal, double p)
{
    const int64_t heads = q.size(1), len = k.size(0);
    auto wide = mask.has_value() ? mask.value().scalar_type() : at::kHalf;
    torch::Tensor out = torch::empty({q.size(0), heads, k.size(-1)}, q.options().dtype(wide));
    torch::Tensor lse = p > 0.0 && !causal ? torch::empty({heads, len % 7 + 1}, q.options().dtype(at::kFloat))
                                           : torch::empty({0}, q.options().dtype(at::kFloat));
    auto shape = q.sizes().vec();
    shape.back() = std::max<int64_t>(len, 4);
    auto seen = torch::ones(shape, q.options().dtype(at::kByte));
    run(out.data_ptr(), lse.data_ptr(), seen.data_ptr(), q.data_ptr(), k.data_ptr());
    return out;
}
void quantize(torch::Tensor& x, torch::Tensor& out, int group)
{
    int64_t rows = x.numel() / x.size(-1);
    auto amax = torch::zeros({rows, (x.size(-1) + group - 1) / group, 1}, x.options().dtype(at::kFloat));
    run(out.data_ptr(), x.data_ptr(), amax.data_ptr());
}
void guarded(torch::Tensor& x, torch::Tensor& y)
{
    auto early = torch::zeros({x.size(0)}, torch::dtype(torch::kInt32).device(torch::kCUDA));
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(y));
    auto late = torch::empty({y.size(0), 3}, x.options().device(torch::kCUDA));
    auto first = torch::full({2}, 7, torch::TensorOptions().device(torch::kCUDA, 0));
    run(early.data_ptr(), late.data_ptr(), first.data_ptr(), x.data_ptr(), y.data_ptr());
}
"""
OPS = """\
from __future__ import annotations

import torch

from ..jit.core import compile_ops


@compile_ops("module_example")
def scale(x: torch.Tensor, rows: int, wide: bool) -> torch.Tensor: ...


@compile_ops("module_example")
def project(a: torch.Tensor, b: torch.Tensor, groups: int) -> torch.Tensor: ...


@compile_ops("module_example")
def attend(
    q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor | None, causal: bool, p: float
) -> torch.Tensor: ...


@compile_ops("module_example")
def quantize(x: torch.Tensor, out: torch.Tensor, group: int) -> None: ...


@compile_ops("module_example")
def guarded(x: torch.Tensor, y: torch.Tensor) -> None: ...
""".replace("from __future__ import annotations\n\n", "")
NAMES = ("scale", "project", "attend", "quantize", "guarded")
WRONG = [
    ("dtype=torch.float32", "dtype=torch.float16"),
    ("torch.zeros(", "torch.empty("),
    ("torch.ones(", "torch.zeros("),
    ("device=a.device", 'device="cuda"'),
    ("dtype=a.dtype", "dtype=b.dtype"),
    ("device=y.device", 'device="cuda"'),
    ("(2,), 7,", "(2,), 8,"),
    ("_truncated_quotient(x.shape[-1] + group - 1, group)", "x.shape[-1] // group"),
    (" + 64 - 1) // 64", ") // 64"),
    ("torch.empty_like(x)", "torch.empty(x.shape, dtype=x.dtype, device=x.device)"),
    ("if wide else None", ""),
    ("    return out\n", "    return torch.empty_like(out)\n"),
]
"""What a wrong translation could have written, each in the place of what is right."""


def _checkout(root: Path) -> None:
    shutil.copytree(MINI / "aiter" / "jit", root / "aiter" / "jit")
    (root / "csrc" / "include").mkdir(parents=True)
    for header in [*(MINI / "csrc" / "include").glob("aiter_*.h"), MINI / "csrc" / "include" / "rocm_ops.hpp"]:
        shutil.copy(header, root / "csrc" / "include")
    heads = [line for line in LAUNCHERS.splitlines() if line.startswith(("torch::", "void"))]
    rows = "".join(f'    m.def("{name}", &{name});\n' for name in NAMES)
    files = {
        "csrc/kernels/ops.cu": f"#include <torch/extension.h>\n{LAUNCHERS}",
        "csrc/pybind/ops_pybind.cu": '#include "rocm_ops.hpp"\n#include <torch/extension.h>\n'
        + "".join(f"{head};\n" for head in heads)
        + f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n{{\n{rows}}}\n",
        "aiter/ops/ops.py": OPS,
        "aiter/ops/__init__.py": "",
        "aiter/__init__.py": "",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    sources = [f"f'{{AITER_CSRC_DIR}}/{p.removeprefix('csrc/')}'" for p in files if p.endswith(".cu")]
    module = {"srcs": sources, "flags_extra_cc": [], "flags_extra_hip": [], "extra_ldflags": "None"}
    module |= {"extra_include": [], "verbose": "False", "blob_gen_cmd": "''"}
    (root / "aiter" / "jit" / "optCompilerConfig.json").write_text(json.dumps({"module_example": module}))


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkout with LAUNCHERS, and what a migration makes of it."""
    roots = tmp_path_factory.mktemp("before"), tmp_path_factory.mktemp("after")
    for root in roots:
        _checkout(root)
    options = MigrateOptions(paths=("csrc",), unsafe=True, jobs=1, assume_target=True)
    result = migrate(options, roots[1], lambda stage, done, total: None)
    blockers = [f"{f.code} {f.message}" for unit in result.units for f in unit.findings if f.blocks]
    assert blockers == []
    for path, change in result.changes.items():
        (roots[1] / path).write_bytes(change.new)
    return roots


@pytest.fixture(scope="module")
def compared(checkouts: tuple[Path, Path]) -> dict[str, dict[str, Any]]:
    """What comparing each wrapper with the C++ that it comes from says."""
    return compare(*checkouts, examples=150)


def compare(before: Path, after: Path, examples: int, module: str = "module_example") -> dict[str, dict[str, Any]]:
    """What compare_ops says, by the name of the wrapper."""
    command = [sys.executable, COMPARE, before, after, module, "--examples", str(examples)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    rows = map(json.loads, done.stdout.splitlines())
    return {row["function"].rpartition(".")[2]: row for row in rows}


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_makes_and_gives_what_the_cpp_did(name: str, compared: dict[str, dict[str, Any]]) -> None:
    row = compared[name]
    assert row["difference"] == ""
    assert row["calls"] >= 200
    assert row["made"] >= 1
    assert "stopped" not in row or not row["stopped"]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_a_wrong_wrapper_is_found(right: str, wrong: str, checkouts: tuple[Path, Path], tmp_path: Path) -> None:
    before, after = checkouts
    changed = Path(shutil.copytree(after, tmp_path / "wrong"))
    text = (changed / "aiter/ops/ops.py").read_text("utf-8")
    assert right in text
    (changed / "aiter/ops/ops.py").write_text(text.replace(right, wrong), "utf-8")
    assert [row for row in compare(before, changed, examples=40).values() if row["difference"]]


@pytest.mark.corpus
def test_a_wrapper_of_the_wheel_makes_and_gives_what_the_cpp_did(corpus: Path, tmp_path: Path) -> None:
    options = MigrateOptions(paths=(), modules=("module_attention",), unsafe=True, jobs=1, assume_target=True)
    changes = migrate(options, corpus, lambda stage, done, total: None).changes
    python = {path: change.new for path, change in changes.items() if path.endswith(".py")}
    shutil.copytree(corpus / "aiter/ops", tmp_path / "aiter/ops")
    for path, data in python.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    rows = compare(corpus, tmp_path, examples=100, module="module_attention")
    assert [(name, row["difference"]) for name, row in rows.items()] == [("pa_fwd_naive", "")]
    assert rows["pa_fwd_naive"]["calls"] >= 100
    assert rows["pa_fwd_naive"]["made"] == 1


def test_raw_stubs_return_nothing(checkouts: tuple[Path, Path]) -> None:
    with imported(checkouts[1], "ops.ops") as (jit, _):
        pass
    assert set(jit.stubs) == set(NAMES)
    assert all(jit.options[name].get("develop") for name in NAMES)
    assert all(jit.schemas[name].endswith("-> ()") for name in NAMES)


EXAMPLES = [
    pytest.param(example, path, id=f"{rule.code}-{number}-{Path(path).stem}")
    for rule in load_rules().rules
    for number, example in enumerate(rule.examples, 1)
    if example.lang == "checkout" and rule.rewrite in ("returns", "wrappers") and not example.keeps
    for path in example.after
    if path.startswith("aiter/ops/") and "compile_ops" in example.after[path]
]


@pytest.mark.parametrize(("example", "path"), EXAMPLES)
def test_what_the_rules_show_imports(example: Any, path: str, tmp_path: Path) -> None:
    for name, text in example.after.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    name = path.removeprefix("aiter/").removesuffix(".py").replace("/", ".")
    with imported(tmp_path, name) as (jit, _):
        assert jit.schemas
