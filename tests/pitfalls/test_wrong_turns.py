"""Wrong turns that people took when they moved launchers by hand, and torchless does not, through the whole engine."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, Ran, add, add_module, run
from torchless.model import UnitStatus

TURNS = """#include <torch/extension.h>
__global__ void amax_kernel(float* amax, const float* x, int n)
{
    if(threadIdx.x < n)
        atomicMax(reinterpret_cast<int*>(amax), __float_as_int(x[threadIdx.x]));
}
__global__ void sum_kernel(float* out, const float* part, const float* x) { out[0] = part[0] + x[0]; }
void amax(torch::Tensor& out, torch::Tensor& x)
{
    TORCH_CHECK(x.is_cuda(), "x is on the CPU");
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(x));
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    auto peak = torch::empty({1}, x.options().dtype(at::kFloat));
    auto part = torch::empty({x.size(0), 4}, x.options().dtype(at::kFloat));
    amax_kernel<<<1, 64, 0, stream>>>(peak.data_ptr<float>(), x.data_ptr<float>(), x.size(0));
    sum_kernel<<<1, 64, 0, stream>>>(out.data_ptr<float>(), part.data_ptr<float>(), x.data_ptr<float>());
}
torch::Tensor gather(
    torch::Tensor& x, torch::Tensor& slots, int64_t stride, std::optional<torch::Tensor> scale, int top)
{
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(x));
    torch::Tensor out = torch::empty({slots.size(0), top}, x.options());
    int64_t* wide = slots.data_ptr<int64_t>();
    sum_kernel<<<1, 64, 0, at::hip::getCurrentHIPStream()>>>(
        (float*)out.data_ptr(), scale ? (float*)scale->data_ptr() : nullptr, (float*)x.data_ptr() + stride + *wide);
    return out;
}
torch::Tensor widen(torch::Tensor& x, int rows)
{
    const int total   = x.size(0) + rows;
    torch::Tensor out = torch::empty({total, rows * 4}, x.options());
    sum_kernel<<<1, 64, 0, at::hip::getCurrentHIPStream()>>>((float*)out.data_ptr(), nullptr, (float*)x.data_ptr());
    return out;
}
"""
TURNS_BOUND = """#include "rocm_ops.hpp"
#include <torch/extension.h>
void amax(torch::Tensor& out, torch::Tensor& x);
torch::Tensor gather(
    torch::Tensor& x, torch::Tensor& slots, int64_t stride, std::optional<torch::Tensor> scale, int top);
torch::Tensor widen(torch::Tensor& x, int rows);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("amax", &amax, py::arg("out"), py::arg("x"));
    m.def("gather", &gather, py::arg("x"), py::arg("slots"), py::arg("stride"), py::arg("scale") = std::nullopt,
          py::arg("top") = 2);
    m.def("widen", &widen);
}
"""
TURNS_OPS = '''import torch
from torch import Tensor
from typing import Optional

from ..jit.core import compile_ops


@compile_ops("module_turns")
def amax(out: Tensor, x: Tensor) -> None: ...


def gather_fake(x: Tensor, slots: Tensor, stride: int, scale: Optional[Tensor] = None, top: int = 2) -> Tensor:
    return torch.empty((slots.shape[0], top), dtype=x.dtype, device=x.device)


@compile_ops("module_turns", gen_fake=gather_fake)
def gather(x: Tensor, slots: Tensor, stride: int, scale: Optional[Tensor] = None, top: int = 2) -> Tensor:
    """Rows of x."""
    ...


@compile_ops("module_turns")
def widen(x: Tensor, rows: int) -> Tensor: ...
'''
LOOSE_OPS = """from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_loose")
def loose(out, x: Tensor, width=4): ...
"""
LOOSE = """#include <torch/extension.h>
void loose(torch::Tensor& out, torch::Tensor& x, int width) { TORCH_CHECK(x.dim() == width && out.dim() == width); }
"""
LOOSE_BOUND = """#include "rocm_ops.hpp"
#include <torch/extension.h>
void loose(torch::Tensor& out, torch::Tensor& x, int width);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("loose", &loose, py::arg("out"), py::arg("x"), py::arg("width") = 4); }
"""
# One module, built of a source whose function Python reaches through ctypes, and of one bound by pybind that stays.
MIXED_C = """#include <torch/extension.h>
extern "C" int mixed_c(void* x) { return x != nullptr; }
"""
MIXED = """#include <torch/extension.h>
torch::Tensor mixed(torch::Tensor& x) { TORCH_CHECK(x.dim() == 2); return torch::cat({x, x}); }
"""
MIXED_BOUND = """#include "rocm_ops.hpp"
#include <torch/extension.h>
torch::Tensor mixed(torch::Tensor& x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("mixed", &mixed); }
"""
MIXED_OPS = """from torch import Tensor

from ..jit.core import compile_ops


@compile_ops("module_mixed", fc_name="mixed_c", ffi_type="ctypes")
def mixed_c(x: Tensor) -> int: ...
@compile_ops("module_mixed")
def mixed(x: Tensor) -> Tensor: ...
"""
ARITHMETIC = """#include <torch/extension.h>
#include "dispatch_utils.h"
template <typename scalar_t>
__global__ void add_kernel(scalar_t* out, const scalar_t* x)
{
    scalar_t sum = x[0];
    for(int i = 0; i < 4; i++)
        sum += x[i];
    out[0] = sum;
}
void arithmetic(torch::Tensor& out, torch::Tensor& x)
{
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(x));
    VLLM_DISPATCH_FLOATING_TYPES(x.scalar_type(), "arithmetic", [&] {
        add_kernel<scalar_t><<<1, 64, 0, at::hip::getCurrentHIPStream()>>>(
            out.data_ptr<scalar_t>(), x.data_ptr<scalar_t>());
    });
}
"""
SIZES = """#include <torch/extension.h>
void sizes(torch::Tensor& out, torch::Tensor& x)
{
    const auto type = x.dtype();
    hipMemcpyAsync(out.data_ptr(), x.data_ptr(), x.numel() * sizeof(type), hipMemcpyDeviceToDevice, 0);
}
"""
KEPT = """#include <torch/extension.h>
#include <vector>
static std::vector<void*> kept_pointers;
void kept(torch::Tensor& out, const std::vector<torch::Tensor>& tensors)
{
    for(auto& t : tensors)
        kept_pointers.push_back(t.data_ptr());
}
"""
LACKING = """#include <torch/extension.h>
void lacking(torch::Tensor& out, torch::Tensor& x)
{
    TORCH_CHECK(x.is_contiguous(at::MemoryFormat::ChannelsLast), "x is not channels last");
    auto part = x.narrow(0, 0, 1);
    hipMemcpyAsync(out.data_ptr(), part.data_ptr(), 4, hipMemcpyDeviceToDevice, 0);
}
"""
GENERATOR = '''import sys

TEXT = """#include <torch/extension.h>
void printed_{name}(torch::Tensor& out, torch::Tensor& x)
{{
    TORCH_CHECK(x.dim() == {rank});
}}
"""
for rank, name in enumerate(("one", "two"), 1):
    with open(f"{sys.argv[1]}/printed_{name}.cu", "w") as file:
        file.write(TEXT.format(name=name, rank=rank))
'''
OUTPUT = """#include <torch/extension.h>
void printed_one(torch::Tensor& out, torch::Tensor& x)
{
    TORCH_CHECK(x.dim() == 1);
}
"""
PRINTED = """#include <torch/extension.h>
void printed_one(torch::Tensor& out, torch::Tensor& x);
void printed_two(torch::Tensor& out, torch::Tensor& x);
void printed(torch::Tensor& out, torch::Tensor& x)
{
    x.dim() == 1 ? printed_one(out, x) : printed_two(out, x);
}
"""


def _bound(name: str) -> tuple[str, str]:
    """The binding and the op of a function ``name`` (out, x) of the module of its name."""
    binding = (
        '#include "rocm_ops.hpp"\n#include <torch/extension.h>\n'
        f"void {name}(torch::Tensor& out, torch::Tensor& x);\n"
        f'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("{name}", &{name}); }}\n'
    )
    op = f'@compile_ops("module_{name}")\ndef {name}(out: Tensor, x: Tensor) -> None: ...\n'
    return binding, LOOSE_OPS.split("@")[0] + op


LIST = "const std::vector<torch::Tensor>& x"
MODULES = {
    "turns": (TURNS, TURNS_BOUND, TURNS_OPS),
    "loose": (LOOSE, LOOSE_BOUND, LOOSE_OPS),
    "mixed": (MIXED, MIXED_BOUND, MIXED_OPS),
    "arithmetic": (ARITHMETIC, *_bound("arithmetic")),
    "number": (ARITHMETIC.replace("x[0];", "4 - 4;").replace("arithmetic(", "number("), *_bound("number")),
    "sizes": (SIZES, *_bound("sizes")),
    "kept": (
        KEPT,
        *(t.replace("torch::Tensor& x", LIST).replace("x: Tensor", "x: list[Tensor]") for t in _bound("kept")),
    ),
    "lacking": (LACKING, *_bound("lacking")),
    "printed": (PRINTED, *_bound("printed")),
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    root = Path(shutil.copytree(EXAMPLE, tmp_path_factory.mktemp("turns") / "mini-aiter"))
    for name, (source, bound, ops) in MODULES.items():
        add(
            root,
            {f"csrc/kernels/{name}.cu": source, f"csrc/pybind/{name}_pybind.cu": bound, f"aiter/ops/{name}.py": ops},
        )
        more = ["kernels/mixed_c.cu"] if name == "mixed" else []
        add_module(root, f"module_{name}", f"kernels/{name}.cu", f"pybind/{name}_pybind.cu", *more)
    add(root, {"csrc/kernels/mixed_c.cu": MIXED_C})
    add(root, {"csrc/printed/gen_printed.py": GENERATOR, "aiter/jit/build/printed/blob/printed_one.cu": OUTPUT})
    path = root / "aiter/jit/optCompilerConfig.json"
    modules = json.loads(path.read_text())
    modules["module_printed"]["blob_gen_cmd"] = "f'{AITER_CSRC_DIR}/printed/gen_printed.py {{}}'"
    path.write_text(json.dumps(modules))
    return run(root, unsafe=True)


def _text(ran: Ran, path: str) -> str:
    return ran.after[path].decode()


def _body(text: str, function: str) -> str:
    """The definition of a C++ function, up to the brace that closes it."""
    return text[text.index(f"void {function}(") :].split("\n}\n")[0]


def test_bug_02_a_typed_pointer_keeps_its_dtype_check(ran: Ran) -> None:
    body = _body(_text(ran, "csrc/kernels/turns.cu"), "gather")
    assert body.index("slots.dtype() == AITER_DTYPE_i64") < body.index("static_cast<int64_t*>(slots.data_ptr())")


def test_bug_05_a_module_is_of_one_kind_or_as_it_was(ran: Ran) -> None:
    assert ran.status("csrc/kernels/mixed.cu") is UnitStatus.BLOCKED
    assert not {path for path in ran.changed if "mixed" in path}
    config = json.loads(_text(ran, "aiter/jit/optCompilerConfig.json"))
    assert config == json.loads(ran.before["aiter/jit/optCompilerConfig.json"])  # nothing says torch_exclude


def test_bug_07_scratch_for_atomics_is_zeroed_and_no_other(ran: Ran) -> None:
    wrapper = _text(ran, "aiter/ops/turns.py")
    assert "peak = torch.zeros(" in wrapper and "part = torch.empty(" in wrapper
    told = [e.message for e in ran.unit("csrc/kernels/turns.cu").ledger if e.kind == "zeroed"]
    assert told == ["peak is zeroed, since amax_kernel updates it atomically"]


def test_bug_08_where_a_tensor_lies_is_asked_as_before(ran: Ran) -> None:
    body = _body(_text(ran, "csrc/kernels/turns.cu"), "amax")
    assert body.index("x.is_gpu()") < body.index("HipDeviceGuard device_guard(x.device_id)")
    devices = re.findall(r"device=([^,)]+)", _text(ran, "aiter/ops/turns.py"))
    assert set(devices) == {"x.device"}  # never a device of the wrapper's own choice


def test_bug_10_integers_keep_their_width(ran: Ran) -> None:
    for path in ("csrc/kernels/turns.cu", "csrc/pybind/turns_pybind.cu"):
        assert re.search(r"void gather\([^)]*\bint64_t stride,[^)]*\bint top\)", _text(ran, path)), path


def test_bug_10_what_does_not_wrap_in_python_is_told(ran: Ran) -> None:
    told = [e.message for e in ran.unit("csrc/kernels/turns.cu").ledger if e.kind == "assumption"]
    assert told == ["widen takes it that each of x.shape[0] + rows, rows * 4 fits int"]


def test_bug_15_ops_are_annotated_and_imports_stay_at_the_top(ran: Ran) -> None:
    tree = ast.parse(_text(ran, "aiter/ops/turns.py"))
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    ops = [f for f in functions if f.decorator_list]
    assert {f.name for f in ops} == {"_amax", "_gather", "_widen"}
    for function in ops:
        assert function.returns is not None and ast.unparse(function.returns) == "None"
        assert all(argument.annotation is not None for argument in function.args.args)
        assert not function.args.defaults
    assert not [n for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]


def test_bug_15_an_op_without_annotations_keeps_its_module(ran: Ran) -> None:
    assert ran.blockers("csrc/kernels/loose.cu") == {"TL790"}
    assert not {path for path in ran.changed if "loose" in path}


def test_bug_16_addresses_that_are_kept_are_no_numbers(ran: Ran) -> None:
    assert "TL291" in ran.blockers("csrc/kernels/kept.cu")
    assert not {path for path in ran.changed if "kept" in path}


def test_bug_18_optionals_and_numbers_reach_the_op_one_by_one(ran: Ran) -> None:
    (call,) = [
        node
        for node in ast.walk(ast.parse(_text(ran, "aiter/ops/turns.py")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_gather"
    ]
    assert [ast.unparse(a) for a in call.args] == ["out", "x", "slots", "stride", "scale", "top"]
    assert not call.keywords
    bound = _text(ran, "csrc/pybind/turns_pybind.cu")
    assert "std::optional<aiter_tensor_t> scale" in bound and 'py::arg("scale") = std::nullopt' in bound


def test_bug_20_the_size_of_a_dtype_object_is_not_passed_over(ran: Ran) -> None:
    finding, *_ = ran.findings("csrc/kernels/sizes.cu", "TL234")
    assert finding.blocks
    assert ran.status("csrc/kernels/sizes.cu") is UnitStatus.BLOCKED


def test_bug_21_arithmetic_in_another_type_is_told(ran: Ran) -> None:
    assert ran.status("csrc/kernels/arithmetic.cu") is UnitStatus.MIGRATED
    told = {e.kind: e for e in ran.unit("csrc/kernels/arithmetic.cu").ledger}
    assert (told["arithmetic"].path, told["arithmetic"].line) == ("csrc/kernels/arithmetic.cu", 3)
    assert "arithmetic" not in {e.kind for e in ran.unit("csrc/kernels/turns.cu").ledger}


def test_bug_21_arithmetic_that_the_other_type_lacks_is_backed_out(ran: Ran) -> None:
    assert ran.status("csrc/kernels/number.cu") is UnitStatus.BACKED_OUT
    assert not {path for path in ran.changed if "number" in path}


def test_p34_the_generator_changes_and_nothing_that_it_printed(ran: Ran) -> None:
    assert ran.status("csrc/kernels/printed.cu") is UnitStatus.MIGRATED
    script = _text(ran, "csrc/printed/gen_printed.py")
    assert "void printed_{name}(aiter_tensor_t& out, aiter_tensor_t& x)" in script and "torch" not in script
    assert "aiter/jit/build/printed/blob/printed_one.cu" not in ran.changed


def test_p44_a_private_op_has_a_schema_and_its_function_the_old_one(ran: Ran) -> None:
    before, after = (ast.parse(text["aiter/ops/turns.py"].decode()) for text in (ran.before, ran.after))
    old, new = ({n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)} for tree in (before, after))
    assert set(new) - set(old) == {"_amax", "_gather", "_widen"}
    for name in old:
        assert ast.unparse(old[name].args) == ast.unparse(new[name].args)
        assert ast.unparse(old[name].returns or ast.Constant(0)) == ast.unparse(new[name].returns or ast.Constant(0))
        assert ast.get_docstring(old[name]) == ast.get_docstring(new[name])
    # what is written comes first, by the names of the C++ function, and nothing is given back
    assert [a.arg for a in new["_widen"].args.args] == ["out", "x", "rows"]


def test_p46_what_the_target_lacks_is_named(ran: Ran) -> None:
    told = {f.message for f in ran.unit("csrc/kernels/lacking.cu").findings if f.blocks}
    assert any("narrow" in message for message in told) and any("MemoryFormat" in message for message in told)
    assert not {path for path in ran.changed if "lacking" in path}
