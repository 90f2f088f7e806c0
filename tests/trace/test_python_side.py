"""Ops called from Python, before and after: what lies between a caller and the entry point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.conftest import EXAMPLE, ROOT
from torchless.facts.model import TuSpec
from torchless.verify.trace import EntryPoint, EntryResult, TraceOptions, TreeText, trace_unit
from torchless.verify.trace.inputs import tensor
from torchless.verify.trace.library import CORE, build_core, build_library, build_runtime, foreign
from torchless.verify.trace.model import Call, Parameter, Side, Signature
from torchless.verify.trace.python_calls import PythonOp, PythonSide, compare_ops, spellings

pytestmark = pytest.mark.clang

FIXTURES = ROOT / "tests/fixtures/trace"
SOURCE = "csrc/wrapped.cu"
HEADERS = str(EXAMPLE / "csrc/include")
SPEC = TuSpec(SOURCE, include_dirs=(HEADERS,))
POINT = EntryPoint("shifted", SOURCE)
OPTIONS = TraceOptions()
OP = PythonOp(
    "pkg.ops.wrapped",
    "shifted",
    "shifted",
    ("input", "scale", "shift", "fast"),
    frozenset({"scale", "shift", "fast"}),
)
PYTHON_BEFORE = """
from typing import Optional
from torch import Tensor
import triton_that_is_not_installed
from ..jit.core import compile_ops, AITER_CONFIGS
from ..jit.utils.chip_info import get_gfx

@compile_ops("module_wrapped")
def shifted(input: Tensor, scale: Optional[Tensor] = None, shift: int = 2, fast: bool = False) -> Tensor: ...

@triton_that_is_not_installed.jit(fast=True)
def unrelated(): ...
"""
PYTHON_AFTER = """
from typing import Optional
import torch
from torch import Tensor
from ..jit.core import compile_ops

@compile_ops("module_wrapped", fc_name="shifted", develop=True)
def _shifted(
    out: Tensor, input: Tensor, scale: Optional[Tensor] = None, shift: int = 2, fast: bool = False
) -> None: ...

def shifted(input: Tensor, scale: Optional[Tensor] = None, shift: int = 2, fast: bool = False) -> Tensor:
    out = torch.empty_like(input)
    _shifted(out, input, scale, shift, fast)
    return out
"""


def texts(version: str, python: str, *faults: tuple[str, str]) -> dict[str, bytes]:
    text = (FIXTURES / f"csrc/wrapped_{version}.cu").read_text("utf-8")
    for old, new in faults:
        assert old in text + python
        text, python = text.replace(old, new), python.replace(old, new)
    return {SOURCE: text.encode(), "pkg/ops/wrapped.py": python.encode()}


def side(version: str, python: str, *faults: tuple[str, str], defines: tuple[str, ...] = ()) -> PythonSide:
    tree = TreeText(str(FIXTURES), texts(version, python, *faults))
    libraries = {"module_wrapped": build_library(Side(version, tree, (SPEC,), (POINT,)), OPTIONS)}
    if version == "after":
        libraries[CORE] = build_core(tree, (), (HEADERS,), OPTIONS, defines)
    return PythonSide(tree, libraries)


@pytest.fixture(scope="module")
def examples() -> tuple[Signature, Sequence[Call]]:
    """What the trace of C++ found for a function whose parameters are others now."""
    trees = [TreeText(str(FIXTURES), texts(*v)) for v in (("before", PYTHON_BEFORE), ("after", PYTHON_AFTER))]
    [entry] = trace_unit(trees[0], trees[1], [SPEC], [POINT], OPTIONS).entries
    assert (entry.status, entry.why) == ("not run", "takes 4 arguments before and 5 after")
    assert entry.signature is not None
    assert len(entry.examples) >= 2
    return entry.signature, entry.examples


def called(
    examples: tuple[Signature, Sequence[Call]], *faults: tuple[str, str], defines: tuple[str, ...] = ()
) -> EntryResult:
    sides = side("before", PYTHON_BEFORE), side("after", PYTHON_AFTER, *faults, defines=defines)
    [result] = compare_ops(sides[0], sides[1], build_runtime(OPTIONS), [OP], {"shifted": examples}, OPTIONS)
    return result


def test_a_wrapper_that_makes_the_result_gives_back_what_the_op_gave(
    examples: tuple[Signature, Sequence[Call]],
) -> None:
    result = called(examples)
    assert (result.status, result.why) == ("pass", ""), [f.reproducer for f in result.findings]
    assert result.kernels == ("shifted_kernel<float>",)
    assert result.launched >= 5
    assert result.rejected >= 1


FAULTS = [
    ("a lost py::arg default", 'py::arg("shift") = 2', 'py::arg("shift")', "verdict", "TypeError"),
    ("another py::arg default", 'py::arg("shift") = 2', 'py::arg("shift") = 3', "argument", "(shift)"),
    (
        "another default in the wrapper",
        "shift: int = 2, fast: bool = False) -> Tensor:",
        "shift: int = 3, fast: bool = False) -> Tensor:",
        "argument",
        "(shift)",
    ),
    ("a lost wrapper", "def shifted(input", "def shifted_rows(input", "verdict", "AttributeError"),
    ("a lost develop flag", ", develop=True", "", "verdict", "TypeError"),
    ("a lost stream setter", '"_set_current_hip_stream"', '"_set_stream"', "verdict", "AttributeError"),
    ("an op of another name", 'm.def("shifted"', 'm.def("shift"', "verdict", "AttributeError"),
    (
        "another allocation",
        "torch.empty_like(input)",
        "torch.empty(input.shape, dtype=input.dtype)",
        "argument",
        "(out)",
    ),
    (
        "a result of another dtype",
        "torch.empty_like(input)",
        "torch.empty_like(input, dtype=torch.float16)",
        "result",
        "Half",
    ),
    ("a filled allocation", "torch.empty_like(input)", "torch.zeros_like(input)", "memory", "a fill"),
    ("a result that is not given back", "    return out", "    return None", "result", "nothing"),
    (
        "an optional that is dropped",
        "_shifted(out, input, scale, ",
        "_shifted(out, input, None, ",
        "argument",
        "(scale)",
    ),
    ("exchanged names", 'py::arg("out"), py::arg("input")', 'py::arg("input"), py::arg("out")', "argument", "(out)"),
    ("another name", 'py::arg("shift") = 2', 'py::arg("shifts") = 2', "verdict", "TypeError"),
]


@pytest.mark.parametrize(("old", "new", "kind", "words"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_on_the_way_from_python_is_found(
    examples: tuple[Signature, Sequence[Call]], old: str, new: str, kind: str, words: str
) -> None:
    result = called(examples, (old, new))
    assert result.status == "fail"
    found = [f for f in result.findings if f.difference.kind == kind]
    assert found, [f.difference for f in result.findings]
    assert any(words in f.difference.text for f in found), [f.difference.text for f in found]
    assert all(f.reproducer.startswith(("pkg.ops.wrapped.shifted(", "with torch.cuda.device(")) for f in found)


def test_a_name_that_never_was_the_ops_is_no_fault(examples: tuple[Signature, Sequence[Call]]) -> None:
    """The old row calls an argument otherwise than the op does: nobody could name it, so nobody loses anything."""
    renamed = ('py::arg("shift") = 2', 'py::arg("by") = 2')
    sides = side("before", PYTHON_BEFORE, renamed), side("after", PYTHON_AFTER)
    [result] = compare_ops(sides[0], sides[1], build_runtime(OPTIONS), [OP], {"shifted": examples}, OPTIONS)
    assert result.findings  # who named it did so in vain
    assert not any("given by name" in finding.reproducer for finding in result.findings)


def test_libraries_that_keep_their_types_apart_are_told_what_to_rebuild(
    examples: tuple[Signature, Sequence[Call]],
) -> None:
    """aiter#4822: the core module was built by another compiler than the op's, and every call is a TypeError."""
    result = called(examples, defines=('PYBIND11_COMPILER_TYPE="_other"', 'PYBIND11_BUILD_ABI="_other"'))
    assert result.status == "fail"
    assert result.launched == 0
    finding = result.findings[0]
    assert finding.difference.kind == "verdict"
    told = "Rebuild module_aiter_core and module_wrapped with the same compiler and pybind11"
    for each in result.findings:  # what was refused before is refused with other words
        assert "TypeError: shifted(): incompatible function arguments" in each.difference.text
        assert told in each.difference.text
    assert told in finding.reproducer


def test_libraries_of_one_build_share_their_types() -> None:
    libraries = side("after", PYTHON_AFTER).libraries
    assert len({library.registry for library in libraries.values()}) == 1
    assert all(library.registry.startswith("__pybind11_internals_v") for library in libraries.values())
    assert foreign(libraries) == ""
    assert foreign({"module_wrapped": libraries["module_wrapped"]}) == ""


def test_ops_that_cannot_be_called_say_why(examples: tuple[Signature, Sequence[Call]]) -> None:
    sides = side("before", PYTHON_BEFORE), side("after", PYTHON_AFTER)
    runtime = build_runtime(OPTIONS)
    odd = Signature("odd", (Parameter("kind", "enum"),))
    ops = [
        replace(OP, entry="unknown"),
        replace(OP, params=("input",), defaults=frozenset()),
        PythonOp("pkg.ops.wrapped", "odd", "odd", ("kind",), frozenset()),
    ]
    known = {"shifted": examples, "odd": (odd, [Call("odd", (1,))])}
    results = compare_ops(sides[0], sides[1], runtime, ops, known, OPTIONS)
    assert [(r.status, r.why) for r in results] == [
        ("not run", "unknown was not called from C++ either"),
        ("not run", "takes 1 arguments in Python and 4 in C++"),
        ("not run", "kind is a enum, which is not made in Python"),
    ]
    broken = PythonSide(replace(sides[1].tree, texts={"pkg/ops/wrapped.py": b"import\n"}), sides[1].libraries)
    [result] = compare_ops(sides[0], broken, runtime, [OP], {"shifted": examples}, OPTIONS)
    assert result.status == "not run"
    assert result.why.startswith("the ops cannot be imported: SyntaxError")
    assert result.why.endswith("(after)")


def test_ways_to_spell_a_call() -> None:
    call = Call("shifted", (tensor("float32", (4,)), None, 5, True))
    found = [(s.given, s.positional, s.call.args[1:]) for s in spellings(OP, call)]
    assert [s.named for s in spellings(OP, call)] == [False, False, True, False, False, False, False]
    assert found == [
        (OP.params, 4, (None, 5, True)),
        (OP.params, 0, (None, 5, True)),
        (OP.params, 4, (None, 5, True)),
        (("input",), 1, (None, None, None)),
        (("input", "scale"), 1, (None, None, None)),
        (("input", "shift"), 1, (None, 5, None)),
        (("input", "fast"), 1, (None, None, True)),
    ]
    assert len(list(spellings(replace(OP, defaults=frozenset()), call))) == 3


def test_what_reads_the_same_is_compiled_once() -> None:
    """The rows of all modules stand in one header: that those of another one differ makes no other library."""

    def built(row: bytes) -> str:
        source = b'#include "rows.h"\n#include <pybind11/pybind11.h>\nPYBIND11_MODULE(extension, m) { MINE }\n'
        rows = b'#define MINE m.def("f", [] { return 1; });\n' + row
        tree = TreeText(str(FIXTURES), {"csrc/core.cu": source, "csrc/rows.h": rows})
        return build_library(Side("after", tree, (TuSpec("csrc/core.cu", include_dirs=("csrc",)),), ()), OPTIONS).path

    first = built(b"#define ANOTHER 1\n")
    assert built(b"#define ANOTHER 2\n") == first
    assert built(b"#undef MINE\n#define MINE\n") != first
