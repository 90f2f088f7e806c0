"""Rung 6: which scripts belong to a module, and what they say of it before and after."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_jit import checkout, install_tools

from torchless.project.discover import load
from torchless.verify import op_tests
from torchless.verify.answer import Answer, Verdict
from torchless.verify.rebuild import RebuildOptions, Workshop
from torchless.verify.tree import Tree

MISMATCH = "print('[checkAllclose atol=0.01 rtol=0.01 \\x1b[31mfailed!\\x1b[0m]')\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout on a machine with ROCm and something that passes for a GPU."""
    tools, _ = install_tools(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "kfd").write_text("")
    monkeypatch.setattr(op_tests, "_KFD", tmp_path / "kfd")
    return checkout(tmp_path / "checkout")


def answer(root: Path, old: str, new: str, name: str = "module_one") -> Answer:
    project = load(root)
    (module,) = [m for m in project.modules if m.name == name]
    head = "# one_forward\n"
    script = "op_tests/test_one.py"
    shop = Workshop(Tree(root, {script: (head + old).encode()}), Tree(root, {script: (head + new).encode()}))
    try:
        return op_tests.run_tests(project, module, shop, RebuildOptions())
    finally:
        shop.close()


def test_the_scripts_that_name_an_op_of_the_module(root):
    project = load(root)
    one, plain = project.modules
    assert op_tests.scripts_of(project, one) == ("op_tests/test_one.py",)
    assert op_tests.scripts_of(project, plain) == ()
    (root / "op_tests/test_one.py").write_text("one_forwards = not_one_forward\n")
    assert op_tests.scripts_of(project, one) == ()


def test_a_script_that_passes_runs_in_the_copy(root):
    where = "import os; assert os.getcwd().endswith('after'); assert os.environ['PYTHONPATH'] == os.getcwd()\n"
    said = answer(root, "", where)
    assert (said.verdict, said.detail) == (Verdict.PASS, "1 of 1 scripts pass")


def test_what_failed_before_is_no_failure_of_the_change(root):
    said = answer(root, "raise ValueError('no such thing')\n", "raise ValueError('no such thing')\n")
    assert (said.verdict, said.detail) == (Verdict.NOT_RUN, "no script passes in either version")
    assert said.unseen == ("the same before: op_tests/test_one.py: ValueError: no such thing",)
    said = answer(root, "raise ValueError('one thing')\n", "raise ValueError('another')\n")
    assert said.verdict is Verdict.FAIL
    assert said.evidence == ("op_tests/test_one.py: ValueError: another (before: ValueError: one thing)",)


def test_a_mismatch_that_a_script_only_prints_counts(root):
    said = answer(root, "", MISMATCH)
    assert (said.verdict, said.evidence) == (
        Verdict.FAIL,
        ("op_tests/test_one.py: 1 results are not near enough",),
    )
    assert answer(root, MISMATCH, MISMATCH).verdict is Verdict.NOT_RUN
    assert answer(root, MISMATCH, MISMATCH * 2).verdict is Verdict.FAIL


def test_without_a_gpu_or_a_script_nothing_is_claimed(root, monkeypatch, tmp_path):
    said = answer(root, "", "", name="module_plain")
    assert (said.verdict, said.detail) == (Verdict.NOT_RUN, "no script in op_tests names an op of the module")
    monkeypatch.setattr(op_tests, "_KFD", tmp_path / "none")
    said = answer(root, "", "")
    assert (said.verdict, said.detail) == (Verdict.NOT_RUN, f"no GPU: {tmp_path / 'none'} cannot be opened")
