"""Which ops of a module are called from Python, and that a fault there fails the rung."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from torchless.api import MigrateOptions, migrate
from torchless.facts.model import TuSpec
from torchless.project.discover import load
from torchless.project.model import BindingRow, Module, OpParam, Project, PyOp
from torchless.verification import VerifyOptions, compare
from torchless.verify.answer import Verdict
from torchless.verify.callers import one_each, python_digest, python_ops
from torchless.verify.trace import EntryPoint
from torchless.verify.tree import Tree

POINTS = (EntryPoint("aiter::scale", "a.cu"), EntryPoint("plain", "b.cu"))


def op(function: str, fc_name: str = "", ffi_type: str = "pybind") -> PyOp:
    params = (OpParam("out", "Tensor", ""), OpParam("shift", "int", "7"))
    name = fc_name or function
    return PyOp("aiter/ops/a.py", function, "module_a", name, 0, 0, 1, False, ffi_type, params, "None")


def row(name: str, target: str) -> BindingRow:
    return BindingRow("rocm_ops.hpp", 0, 0, name, target, (), "A_PYBIND", 1)


def test_ops_lead_to_entry_points_by_their_binding_rows() -> None:
    rows = [row("scale_fwd", "aiter::scale"), row("plain", "::plain"), row("other", "aiter::other"), row("made", "")]
    ops = [
        op("scale", "scale_fwd"),
        op("plain"),
        op("other"),
        op("unbound"),
        op("made"),
        op("plain_c", "plain", "ctypes"),
    ]
    found = python_ops(ops, rows, POINTS)
    assert [(o.module, o.name, o.entry) for o in found] == [
        ("aiter.ops.a", "scale", "aiter::scale"),
        ("aiter.ops.a", "plain", "plain"),
    ]
    assert found[0].params == ("out", "shift")
    assert found[0].defaults == {"shift"}
    assert python_ops([op("scale")], [row("scale", "scale")], POINTS)[0].entry == "aiter::scale"


def test_each_source_is_built_once_as_its_module_builds_it() -> None:
    free, full, device = TuSpec("a.cu", enable_ck=False), TuSpec("a.cu"), TuSpec("a.cu", device=True)
    other = TuSpec("b.cu")
    module = Module("module_a", ("a.cu", "b.cu"), enable_ck=False)
    assert one_each([full, device, free, other], module) == [free, other]
    assert one_each([free, full], replace(module, enable_ck=True)) == [full]


def test_the_key_changes_with_every_python_file_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "aiter/ops").mkdir(parents=True)
    (tmp_path / "aiter/ops/a.py").write_text("a = 1\n")
    (tmp_path / "outside.py").write_text("a = 1\n")
    project = Project(str(tmp_path), True, config_path="aiter/jit/optCompilerConfig.json")
    tree = Tree(tmp_path)
    first = python_digest(project, (tree, tree))
    assert python_digest(project, (tree, tree)) == first
    assert python_digest(project, (Tree(tmp_path, {"aiter/ops/a.py": b"a = 2\n"}), tree)) != first
    (tmp_path / "outside.py").write_text("a = 3\n")
    assert python_digest(project, (tree, tree)) == first
    (tmp_path / "aiter/ops/b.py").write_text("")
    assert python_digest(project, (tree, tree)) != first


@pytest.mark.clang
def test_a_lost_default_of_a_binding_fails_the_rung(mini_aiter: Path) -> None:
    """C++ called directly sees nothing of it."""
    result = migrate(MigrateOptions(paths=("csrc",)), mini_aiter, lambda *_: None)
    texts = {path: change.new for path, change in result.changes.items()}
    header = "csrc/include/rocm_ops.hpp"
    assert b'py::arg("bias") = std::nullopt' in texts[header]
    texts[header] = texts[header].replace(b'py::arg("bias") = std::nullopt', b'py::arg("bias")')
    before, after = Tree(mini_aiter), Tree(mini_aiter, texts)
    options = VerifyOptions(rungs=("trace",))
    project = load(mini_aiter, ())
    found = compare(project, before, after, "before", frozenset({"module_scale"}), options, lambda *_: None)
    [answer] = found.modules[0].answers
    assert answer.verdict is Verdict.FAIL
    assert "2 of 2 functions alike" in answer.detail
    assert "from Python 1 of 2 ops alike" in answer.detail
    assert any("TypeError: scale_rows(): incompatible function arguments" in text for text in answer.evidence)
