"""--checks throw, from the checkout to a compiler."""

from __future__ import annotations

import subprocess

import pytest

from tests.api.conftest import Checkout
from torchless.facts.flags import find_headers, unit_arguments
from torchless.facts.model import TuSpec

SOURCE = "csrc/kernels/scale.cu"
OBJECT = "const AiterThrowScope throw_scope;"
CLAMP = "void clamp(torch::Tensor& x) { TORCH_CHECK(x.dim() == 2); }\n"
HELPER = "static void helper(torch::Tensor& x)\n{\n    TORCH_CHECK(x.dim() == 2);\n}\n"


@pytest.fixture
def two_ops(scale: Checkout) -> Checkout:
    """The small checkout with a second op in the same source, whose lines end in CRLF."""
    scale.edit("csrc/include/scale.h", "void scale", "void clamp(torch::Tensor& x);\nvoid scale")
    scale.edit("csrc/include/rocm_ops.hpp", "#define SCALE_PYBIND ", '#define SCALE_PYBIND m.def("clamp", &clamp); ')
    op = '@compile_ops("module_scale")\ndef clamp(x: Tensor) -> None: ...\n\n\n'
    scale.edit("aiter/ops/scale.py", "@compile_ops", f"{op}@compile_ops")
    text = (scale.root / SOURCE).read_text() + HELPER + CLAMP + "#if 0\n#include <none.h>\n#endif\n"
    (scale.root / SOURCE).write_bytes(text.replace("\n", "\r\n").encode())
    return scale


def test_bound_functions_let_their_checks_throw(two_ops: Checkout) -> None:
    plain, throwing = two_ops.migrate(), two_ops.migrate(checks="throw")
    assert throwing.statuses == {"module_scale": "migrated"}
    assert throwing.unit("module_scale").entry_points == ("clamp", "scale")
    new = throwing.new[SOURCE]
    # once behind the includes, and first in each bound function
    head, _, rest = new.partition("namespace {\r\n")
    assert head == '#include "scale.h"\r\n#include "aiter_stream.h"\r\n\r\n'
    assert new.count("struct AiterThrowScope") == 1 and "struct AiterThrowScope" in rest
    assert (
        f"void scale(aiter_tensor_t& out, const aiter_tensor_t& input)\r\n{{\r\n    {OBJECT}\r\n    AITER_CHECK" in new
    )
    assert f"void clamp(aiter_tensor_t& x) {{ {OBJECT} AITER_CHECK(x.dim() == 2); }}\r\n" in new
    assert new.count(OBJECT) == 2
    assert new.count("\n") == new.count("\r\n")
    # nothing else is different
    assert {p: t for p, t in throwing.new.items() if p != SOURCE} == {p: t for p, t in plain.new.items() if p != SOURCE}
    without = new.replace(f"    {OBJECT}\r\n", "").replace(f" {OBJECT}", "")
    start, end = without.index("\r\nnamespace {"), without.index("} // namespace\r\n") + len("} // namespace\r\n")
    assert without[:start] + without[end:] == plain.new[SOURCE]

    throwing.write()
    for options in ({}, {"checks": "throw"}):
        again = two_ops.migrate(**options)
        assert (again.statuses, again.new) == ({}, {})


def test_the_ledger_says_what_is_thrown(two_ops: Checkout) -> None:
    ran = two_ops.migrate(checks="throw")
    assert [e.message for e in ran.unit("module_scale").ledger if e.kind == "exception"] == [
        "3 failing checks throw std::runtime_error instead of c10::Error"
    ]


@pytest.mark.clang
@pytest.mark.parametrize("device", [False, True], ids=["host", "device"])
def test_a_compiler_takes_it(two_ops: Checkout, device: bool) -> None:
    two_ops.migrate(checks="throw").write()
    for source in (SOURCE, "csrc/pybind/scale_pybind.cu"):
        spec = TuSpec(source, ("csrc/include",), device=device)
        command = ["clang++-19", *unit_arguments(spec, two_ops.root, find_headers("stubs")), "-fsyntax-only", source]
        done = subprocess.run(command, cwd=two_ops.root, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
