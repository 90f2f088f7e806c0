"""What clang opens over the stubs, and what we say, for the bundled example and a tree of hard cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.closure_vs_clang import Difference, difference, look, opened
from tests.closure.conftest import write
from torchless.closure.heavy import load_heavy
from torchless.closure.walk import closure_of

HARD = {
    "csrc/kernel.cu": """\
        \ufeff#include "common.h" // the BOM is no text
        #if defined(__HIP_DEVICE_COMPILE__) && \\
            defined(__gfx942__)
        #include <torch/all.h>
        #elif !defined(__HIP_DEVICE_COMPILE__)
        #include <pybind11/pybind11.h>
        #endif
        #define HEADER "late.h"
        #include HEADER
        #if LEVEL * 2 == 6 /* 1 + 1 * 2 is 3 */ && __has_include("late.h")
        #include <unordered_map>
        #endif
        auto text = R"(
        #include <c10/util/Half.h>
        )";
    """,
    "csrc/common.h": """\
        #ifndef COMMON_H
        #define COMMON_H
        #include "torch/own.h"
        #include "cycle.h"
        #if !ENABLE_CK
        #include <cstdint>
        #else
        #include "ck_tile/core.hpp"
        #endif
        #define LEVEL 1 + 2
        #undef LEVEL
        #define LEVEL (2 + 1)
        #endif
    """,
    "csrc/cycle.h": '#pragma once\n#include "common.h"\n/*\n#include <ATen/ATen.h>\n*/\n',
    "csrc/torch/own.h": "#pragma once\n",
    "csrc/late.h": "#ifdef __HIPCC__\n#include <functional>\n#endif\n",
}


def differences(root: Path) -> list[Difference]:
    specs, checkout = look(root)
    assert specs
    found = []
    for spec in specs:
        clang = opened(spec, root)
        assert not clang.refusal and spec.source in clang.inside
        found.append(difference(closure_of(checkout, spec), clang, load_heavy()))
    return found


def same(found: list[Difference]) -> bool:
    """Nothing differs; what we have on an undecided condition alone may or may not be opened."""
    return not any(d.missed or d.missed_heavy or d.extra or d.extra_heavy for d in found)


@pytest.mark.clang
def test_the_bundled_example(mini_aiter: Path) -> None:
    found = differences(mini_aiter.resolve())
    assert len(found) >= 8 and same(found), found


@pytest.mark.clang
def test_hard_cases(tmp_path: Path) -> None:
    root = write(
        tmp_path.resolve(), {name: text.replace("\n        ", "\n").lstrip(" ") for name, text in HARD.items()}
    )
    found = differences(root)
    assert {d.spec.device for d in found} == {False, True} and same(found), found


@pytest.mark.clang
def test_a_difference_is_noticed(tmp_path: Path) -> None:
    """The comparison itself: a closure that lacks a header, and one that has a header too many."""
    root = write(tmp_path.resolve(), {"a.cu": '#include <torch/all.h>\n#include "b.h"\n', "b.h": ""})
    specs, checkout = look(root)
    clang = opened(specs[0], root)
    (root / "a.cu").write_text("#include <rocblas/rocblas.h>\n#include <pybind11/stl.h>\n")
    found = difference(closure_of(checkout, specs[0]), clang, load_heavy())
    assert found.missed == ["b.h"] and found.missed_heavy == ["torch/all.h"]
    assert found.extra == ["rocblas/rocblas.h"]
