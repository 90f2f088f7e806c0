"""Preprocessed lines by header: exclusive and inclusive, chains, kinds; held against a real compiler's -E | wc -l."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from torchless.closure.heavy import load_heavy
from torchless.profile.kinds import classifier, short
from torchless.profile.lines import LinesError, read_lines
from torchless.profile.model import Node

TORCH = "/venv/torch/include/torch/all.h"
VECTOR = "/usr/include/c++/12/vector"
TEXT = f"""\
# 1 "a.cu"
# 1 "<built-in>" 1
# 1 "<built-in>" 3
# 2 "<command line>" 1
# 1 "<built-in>" 2
# 1 "a.cu" 2
# 1 "{TORCH}" 1 3
# 1 "{VECTOR}" 1 3
int v1;
int v2;
# 4 "{TORCH}" 2 3
int t1;
# 3 "a.cu" 2
# 1 "./b.h" 1
# 1 "{VECTOR}" 1 3
int v1;
# 2 "./b.h" 2
int b1;
# 5 "a.cu" 2
int a1;
""".encode()


def named(name: str) -> tuple[str, str]:
    return name, "torch" if name == TORCH else "checkout" if name in ("a.cu", "./b.h") else "other"


def test_every_line_belongs_to_one_file():
    found = read_lines(TEXT, named, "a.cu")
    assert found.total == len(TEXT.splitlines())
    assert sum(found.by_kind.values()) == found.total
    rows = {row.path: row for row in found.files}
    assert sum(row.exclusive for row in rows.values()) == found.total
    assert found.opened == 4
    assert found.in_front == 4  # <built-in> and what it includes
    assert (rows[TORCH].exclusive, rows[TORCH].inclusive) == (3, 6)
    assert (rows[VECTOR].exclusive, rows[VECTOR].inclusive, rows[VECTOR].entered) == (5, 5, 2)
    assert rows["a.cu"].inclusive == found.total


def test_what_is_read_below_torch_is_more_than_torch():
    found = read_lines(TEXT, named, "a.cu")
    assert (found.by_kind["torch"], found.through["torch"]) == (3, 6)
    assert found.through["checkout"] == found.total


def test_the_way_to_a_header_is_that_of_its_first_reading():
    rows = {row.path: row for row in read_lines(TEXT, named, "a.cu").files}
    assert rows["a.cu"].chain == ()
    assert rows[TORCH].chain == ("a.cu:2",)
    assert rows[VECTOR].chain == ("a.cu:2", f"{TORCH}:3")
    assert rows["./b.h"].chain == ("a.cu:4",)


def test_a_file_below_itself_counts_once():
    text = b'# 1 "a.h"\n# 1 "b.h" 1\nx\n# 1 "a.h" 1\ny\n# 2 "b.h" 2\n# 2 "a.h" 2\nz\n'
    rows = {row.path: row for row in read_lines(text, lambda name: (name, "other"), "a.h").files}
    assert (rows["a.h"].inclusive, rows["a.h"].exclusive) == (8, 5)
    assert (rows["b.h"].inclusive, rows["b.h"].exclusive) == (5, 3)


def test_small_files_are_put_together_and_nothing_is_lost():
    parts = [b'# 1 "a.cu"\n']
    for number in range(5000):
        parts.append(b'# 1 "h%d.h" 1\nint x;\n# %d "a.cu" 2\n' % (number, number + 2))
    found = read_lines(b"".join(parts), lambda name: (name, "checkout" if name == "a.cu" else "hip"), "a.cu")
    assert [(child.path, child.kind) for child in found.tree.children] == [("", "hip")]
    assert found.tree.inclusive == found.total == found.tree.exclusive + found.tree.children[0].inclusive
    assert found.opened == 5001 and len(found.files) == 60


def test_a_text_without_markers_is_an_error():
    with pytest.raises(LinesError, match=r"^a\.cu \(host\): no line markers .* -P among the flags"):
        read_lines(b"int x;\n", named, "a.cu (host)")


def test_names_with_escapes():
    text = rb'# 1 "a \"b\".cu"' + b"\nint x;\n" + rb'# 1 "\303\244.h" 1' + b"\ny\n" + rb'# 2 "a \"b\".cu" 2' + b"\n"
    rows = [row.path for row in read_lines(text, lambda name: (name, "other"), "x").files]
    assert rows == ['a "b".cu', "ä.h"]


def nodes(node: Node) -> list[Node]:
    return [node, *(inner for child in node.children for inner in nodes(child))]


@pytest.mark.clang
@pytest.mark.parametrize("compiler", ["clang++-19", *filter(shutil.which, ["g++"])])
def test_the_total_is_what_wc_counts(tmp_path, compiler):
    (tmp_path / "b.h").write_text("#pragma once\n#include <vector>\n#include <map>\nint b;\n")
    (tmp_path / "a.cpp").write_text('#include <string>\n#include "b.h"\n#include "b.h"\nint a;\n')
    command = [compiler, "-std=c++20", "-E", str(tmp_path / "a.cpp")]
    text = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path).stdout
    found = read_lines(text, classifier(tmp_path, load_heavy(())), "a.cpp")
    assert found.total == text.count(b"\n")
    assert sum(found.by_kind.values()) == found.total == found.through["checkout"]
    rows = {Path(row.path).name: row for row in found.files}
    assert rows["a.cpp"].path == "a.cpp" and rows["a.cpp"].kind == "checkout"
    assert rows["b.h"].chain == ("a.cpp:2",)
    assert rows["map"].chain == ("a.cpp:2", "b.h:3")
    assert all(node.inclusive == node.exclusive + sum(c.inclusive for c in node.children) for node in nodes(found.tree))


def test_whose_a_file_is(tmp_path):
    stubs = Path(__file__).resolve().parents[2] / "torchless/facts/stubs"
    runtime = stubs.parents[1] / "verify/runtime"
    (tmp_path / "csrc").mkdir()
    (tmp_path / "3rdparty/composable_kernel/include/ck_tile").mkdir(parents=True)
    for path in ("csrc/a.h", "3rdparty/composable_kernel/include/ck_tile/core.hpp"):
        (tmp_path / path).write_text("")
    whose = classifier(tmp_path, load_heavy(()))
    assert whose("csrc/a.h") == whose(str(tmp_path / "csrc/../csrc/a.h")) == ("csrc/a.h", "checkout")
    assert whose(str(tmp_path / "3rdparty/composable_kernel/include/ck_tile/core.hpp"))[1] == "ck"
    assert whose(f"{stubs}/torch/torch/all.h") == ("<stubs>/torch/torch/all.h", "torch")
    assert whose(f"{stubs}/hip/hip/hip_runtime.h")[1] == "hip"
    assert whose(f"{stubs}/prelude.h")[1] == "other"
    assert whose(f"{runtime}/torch_gpu/c10/hip/HIPStream.h") == ("<stubs>/c10/hip/HIPStream.h", "torch")
    assert whose("/x/torch/include/torch/csrc/api/include/torch/all.h")[1] == "torch"
    assert whose("/x/torch/include/ATen/ATen.h")[1] == "torch"
    assert whose("/x/torch/include/pybind11/pybind11.h")[1] == "pybind11"
    assert whose("/opt/rocm/include/hip/hip_runtime.h")[1] == "hip"
    assert whose("/usr/include/c++/12/vector")[1] == whose("<built-in>")[1] == "other"
    assert short("/x/torch/include/ATen/ATen.h") == "ATen/ATen.h"
