"""Generators: the C++ in their strings moves with the module, or keeps it where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.api.conftest import SCALE, Checkout, configuration

Write = Callable[[Mapping[str, str]], Checkout]

GEN = '''\
"""Prints the instances of scale."""

import os
from pathlib import Path


def instance(folder, k):
    whole = f"""#include "scale_common.h"

template <typename T>
void {k.name}(torch::Tensor& out, const torch::Tensor& input)
{{{{
    TORCH_CHECK(input.numel() % {k.width} == 0, "{k.name}: width");
    {{launch}}
}}}}
"""
    launch = f"""launch<T, {k.width}>(out, input);"""
    Path(os.path.join(folder, "impl", f"{k.name}.cuh")).write_text(whole.format(launch=launch))
    for dtype in ("float", "int"):
        text = f"""#include "impl/{k.name}.cuh"
template void {k.name}<{dtype}>(torch::Tensor& out, const torch::Tensor& input);
"""
        Path(os.path.join(folder, f"{k.name}_{dtype}.cu")).write_text(text)


def manifest(folder, kernels):
    row = "template <typename T>\\nvoid {name}(torch::Tensor& out, const torch::Tensor& input);\\n"
    with open(os.path.join(folder, "scale_manifest.h"), "w") as f:
        f.write("#pragma once\\n#include <torch/extension.h>\\n")
        f.writelines(row.format(name=k.name) for k in kernels)
'''
COMMON = """\
#pragma once
#include <ATen/hip/HIPContext.h>
#include <torch/extension.h>

template <typename T>
__global__ void scale_kernel(T* out, const T* input) { out[threadIdx.x] = input[threadIdx.x]; }

template <typename T, int Width>
void launch(torch::Tensor& out, const torch::Tensor& input)
{
    const hipStream_t stream = at::hip::getCurrentHIPStream();
    scale_kernel<T><<<1, Width, 0, stream>>>(out.data_ptr<T>(), input.data_ptr<T>());
}
"""
SCALE_CU = """\
#include "scale.h"
#include "scale_common.h"
#include "scale_manifest.h"

void scale(torch::Tensor& out, const torch::Tensor& input)
{
    TORCH_CHECK(out.numel() == input.numel(), "scale: sizes differ");
    scale_256<float>(out, input);
}
"""
MODULES = {"module_scale": ["pybind/scale_pybind.cu", "scale/scale.cu"]}
FILES = {
    **{path: text for path, text in SCALE.items() if path != "csrc/kernels/scale.cu"},
    "csrc/scale/scale.cu": SCALE_CU,
    "csrc/scale/scale_common.h": COMMON,
    "csrc/scale/gen.py": GEN,
    "aiter/jit/optCompilerConfig.json": configuration(
        MODULES, blob_gen_cmd="f'{AITER_CSRC_DIR}/scale/gen.py --working_path {{}}'"
    ),
}
NEW_GEN = (
    GEN.replace("torch::Tensor", "aiter_tensor_t")
    .replace("TORCH_CHECK", "AITER_CHECK")
    .replace('#include <torch/extension.h>\\n"', '#include \\"aiter_tensor.h\\"\\n"')
)


def test_a_generator_moves_with_its_module(write: Write) -> None:
    ran = write(FILES).migrate()
    assert ran.statuses == {"module_scale": "migrated"}
    assert ran.new["csrc/scale/gen.py"] == NEW_GEN
    assert set(ran.new) >= {"csrc/scale/scale.cu", "csrc/scale/scale_common.h"}
    assert not [path for path in ran.new if "@" in path]
    edits = [e for e in ran.unit("module_scale").edits if e.path == "csrc/scale/gen.py"]
    assert edits
    assert all(GEN.encode()[e.start : e.end] in (b"torch::Tensor", b"TORCH_CHECK") for e in edits if e.end > e.start)
    ran.write()
    again = Checkout(ran.root).migrate()
    assert again.new == {}
    assert again.statuses == {}


def test_results_go_with_the_generator(write: Write) -> None:
    """Functions that return their own argument become void in every text: template, instantiation, manifest."""
    sign = "torch::Tensor {k.name}(torch::Tensor& out"
    script = (
        GEN.replace("void {k.name}(torch::Tensor& out", sign)
        .replace("void {k.name}<", "torch::Tensor {k.name}<")
        .replace("void {name}(", "torch::Tensor {name}(")
        .replace('f"""launch<T, {k.width}>(out, input);"""', 'f"""return launch<T, {k.width}>(out, input);"""')
    )
    assert script.count("torch::Tensor {") == 3
    common = COMMON.replace("void launch(", "torch::Tensor launch(").replace(
        "data_ptr<T>());", "data_ptr<T>());\n    return out;"
    )
    ran = write({**FILES, "csrc/scale/gen.py": script, "csrc/scale/scale_common.h": common}).migrate(unsafe=True)
    assert ran.statuses == {"module_scale": "migrated"}
    new = ran.new["csrc/scale/gen.py"]
    assert "torch::Tensor" not in new
    assert new.count("void {k.name}") + new.count("void {name}") == 3
    assert '"""launch<T, {k.width}>(out, input);"""' in new or "return launch<T" in new
    assert "return out" not in ran.new["csrc/scale/scale_common.h"]


def test_findings_name_the_line_of_the_script(write: Write) -> None:
    ran = write(FILES).migrate()
    lines = GEN.splitlines()
    found = [f for f in ran.unit("module_scale").findings if f.path == "csrc/scale/gen.py"]
    assert {f.code for f in found} >= {"TL201", "TL301"}
    for finding in found:
        if finding.code == "TL201":
            assert lines[finding.line - 1][finding.column - 1 :].removeprefix("const ").startswith("torch::Tensor")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("whole.format(launch=launch)", "whole.format(launch=open(folder).read())", "known only when it runs"),
        ('launch = f"""launch<T', 'launch = f"""consume(torch::empty_like(out)); launch<T', ""),
        (
            '"#pragma once\\n#include <torch/extension.h>\\n"',
            '"#pragma once\\n" + b"#include <torch/all.h>".decode()',
            "",
        ),
    ],
)
def test_what_cannot_be_followed_keeps_the_module(write: Write, old: str, new: str, why: str) -> None:
    assert GEN.count(old) == 1 or old.startswith('"#pragma')
    ran = write({**FILES, "csrc/scale/gen.py": GEN.replace(old, new)}).migrate()
    assert ran.statuses["module_scale"] == "blocked"
    assert ran.new == {}
    blockers = [f for f in ran.unit("module_scale").findings if f.blocks]
    assert any(f.path == "csrc/scale/gen.py" and why in f.message for f in blockers)


def test_an_error_in_printed_text_backs_the_unit_out(write: Write) -> None:
    """What the checkout's own target lacks is found in a printed file as in any other."""
    checkout = write(FILES)
    checkout.edit("csrc/include/aiter_tensor.h", "    size_t numel() const;\n", "")
    ran = checkout.migrate()
    assert ran.statuses == {"module_scale": "backed out"}
    assert {f.path for f in ran.findings("module_scale", "TL008")} == {"csrc/scale/gen.py", "csrc/scale/scale.cu"}


def test_a_script_with_crlf(write: Write) -> None:
    ran = write({**FILES, "csrc/scale/gen.py": GEN.replace("\n", "\r\n")}).migrate()
    assert ran.new["csrc/scale/gen.py"] == NEW_GEN.replace("\n", "\r\n")
