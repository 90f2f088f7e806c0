from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from torchless.facts.typing import FileView
from torchless.model import Edit, Finding
from torchless.rewrites.include_lines import file_start
from torchless.rewrites.includes import is_torch_header, rewrite_includes, torch_names
from torchless.rewrites.signatures import rewrite_signatures
from torchless.text.edits import apply
from torchless.text.lexer import code_tokens, lex


def includes(
    *,
    own: Sequence[str] = (),
    provided: Sequence[str] = (),
    requires: Sequence[str] = (),
    lost_torch: bool = False,
    with_edits: Callable[[FileView], Sequence[Edit]] = lambda view: (),
) -> Callable[[FileView], list[Finding]]:
    """The rewrite with its settings bound."""

    def rewrite(view: FileView) -> list[Finding]:
        return rewrite_includes(
            view,
            with_edits(view),
            provided=lambda header: header in provided,
            requires=requires,
            own_headers=own,
            lost_torch=lost_torch,
        )

    return rewrite


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # in place of the only include
        (
            "#pragma once\n\n#include <torch/extension.h>\n\nvoid f(aiter_tensor_t& x);\n",
            '#pragma once\n\n#include "aiter_tensor.h"\n\nvoid f(aiter_tensor_t& x);\n',
        ),
        # behind the quotes that are there, and only the line goes, trailing comment and all
        (
            '#include "a.h"\n#include <ATen/hip/HIPContext.h> // stream\n#include <hip/hip_runtime.h>\n\nint x;\n',
            '#include "a.h"\n#include "aiter_tensor.h"\n#include <hip/hip_runtime.h>\n\nint x;\n',
        ),
        # among angle brackets: quotes first
        (
            "#include <cstdint>\n#include <optional>\n#include <torch/extension.h>\n\nint x;\n",
            '#include "aiter_tensor.h"\n#include <cstdint>\n#include <optional>\n\nint x;\n',
        ),
        # include guard, not pragma once
        (
            "// licence\n#ifndef X_H\n#define X_H\n#include <torch/all.h>\nint x;\n#endif // X_H\n",
            '// licence\n#ifndef X_H\n#define X_H\n#include "aiter_tensor.h"\nint x;\n#endif // X_H\n',
        ),
        # what only dead code uses goes, and the dead code stays with its conditional
        (
            "#include <torch/all.h>\n#if 0\nat::Half x;\n#endif\nint x;\n",
            '#include "aiter_tensor.h"\n#if 0\nat::Half x;\n#endif\nint x;\n',
        ),
        (
            "#include <cmath>\n#if 1\n#include <torch/all.h>\n#else\nint y;\n#include <c10/a.h>\n#endif\nint x;\n",
            '#include "aiter_tensor.h"\n#include <cmath>\n#if 1\n#else\nint y;\n#include <c10/a.h>\n#endif\nint x;\n',
        ),
        # into its place in a sorted group
        (
            '#include "a.h"\n#include "b.h"\n#include "c.h"\n#include <torch/all.h>\nint x;\n',
            '#include "a.h"\n#include "aiter_tensor.h"\n#include "b.h"\n#include "c.h"\nint x;\n',
        ),
        # a define keeps its place before the include that it is for
        (
            "#define FAST 1\n#include <torch/all.h>\n\nint x;\n",
            '#define FAST 1\n#include "aiter_tensor.h"\n\nint x;\n',
        ),
        # the only include stands in an #if: the new one does not
        (
            "#pragma once\n#ifdef USE_ROCM\n#include <ATen/hip/HIPContext.h>\n"
            "#else\n#include <ATen/cuda/C.h>\n#endif\nint x;\n",
            '#pragma once\n#include "aiter_tensor.h"\nint x;\n',
        ),
        (
            '#include "b.h"\n#ifdef A\n#include <torch/all.h>\n#include "z.h"\n#endif\nint x;\n',
            '#include "b.h"\n#include "aiter_tensor.h"\n#ifdef A\n#include "z.h"\n#endif\nint x;\n',
        ),
        # present, but not always: that does not count
        (
            '#ifdef A\n#include "aiter_tensor.h"\n#endif\n#include <torch/all.h>\nint x;\n',
            '#ifdef A\n#include "aiter_tensor.h"\n#endif\n#include "aiter_tensor.h"\nint x;\n',
        ),
        # a comment that runs on stays
        (
            "#include <torch/all.h> /* this\n   stays */\nint x;\n",
            '#include "aiter_tensor.h"\n/* this\n   stays */\nint x;\n',
        ),
    ],
)
def test_torch_out_and_target_in(rewrites, before: str, after: str) -> None:
    def once(view: FileView) -> list[Finding]:
        # nothing asks for the header once torch is gone: what a rule requires, it requires while it edits
        requires = ["aiter_tensor.h"] if b"<torch/" in view.source.data or b"<ATen/" in view.source.data else []
        return includes(requires=requires)(view)

    rewrites(once, before, after)


def test_a_renamed_include_counts_by_its_new_name_in_the_order(rewrites) -> None:
    def once(view: FileView) -> list[Finding]:
        requires = ["aiter_stream.h"] if b"dispatch_utils.h" in view.source.data else []
        return includes(requires=requires)(view)

    uses = "F_rmTorch(x)\n"
    rewrites(
        once,
        f'#include "aiter_hip_common.h"\n#include "dispatch_utils.h"\n#include "hip_float8.h"\n{uses}',
        f'#include "aiter_hip_common.h"\n#include "aiter_dispatch.h"\n#include "aiter_stream.h"\n'
        f'#include "hip_float8.h"\n{uses}',
    )
    rewrites(
        once,
        f'#include "a.h"\n#include "dispatch_utils.h"\n#include "z.h"\n{uses}',
        f'#include "a.h"\n#include "aiter_dispatch.h"\n#include "aiter_hip_common.h"\n#include "aiter_stream.h"\n'
        f'#include "z.h"\n{uses}',
    )


def test_nothing_is_included_twice(keeps) -> None:
    for text in ('#include "aiter_tensor.h"\nint x;\n', '#include "../include/aiter_tensor.h"\nint x;\n'):
        assert keeps(includes(requires=["aiter_tensor.h", "aiter_tensor.h"]), text) == []
    text = '#include "own.h"\nint x;\n'
    assert keeps(includes(requires=["aiter_tensor.h"], provided=["aiter_tensor.h"]), text) == []


def test_two_rules_that_need_one_header_get_it_once(view) -> None:
    found = includes(requires=["aiter_tensor.h", '"aiter_tensor.h"', "aiter_hip_common.h", "aiter_enum.h"])(
        view("#include <torch/all.h>\nint x;\n")
    )
    assert [f.code for f in found if f.code == "TL102"] == ["TL102"]  # which brings the other two


def test_the_edits_say_what_is_needed(view) -> None:
    text = "#include <torch/all.h>\nvoid f(torch::Tensor& x) { s(); }\n"

    def edits(v: FileView) -> list[Edit]:
        stream = v.source.data.index(b"s();")
        out = [e for f in rewrite_signatures(v, {}) for e in f.edits]
        return [*out, Edit(v.source.path, stream, stream + 3, b"aiter::getCurrentHIPStream()", "TL401")]

    found = includes(with_edits=edits)(view(text))
    assert [e.new for f in found for e in f.edits if e.new] == [
        b'#include "aiter_stream.h"\n',
        b'#include "aiter_tensor.h"\n',
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # in place
        (
            '#include "a.h"\n#include "dispatch_utils.h"\n#include "b.h"\nX_rmTorch(AITER_DTYPE_i8);\n',
            '#include "a.h"\n#include "aiter_dispatch.h"\n#include "aiter_hip_common.h"\n#include "b.h"\n'
            "X_rmTorch(AITER_DTYPE_i8);\n",
        ),
        # unused: gone
        ('#include "a.h"\n#include "dispatch_utils.h"\n\nint x;\n', '#include "a.h"\n\nint x;\n'),
        # the interop header's other half stays
        ('#include "py_itfs_common.h"\n\nint x;\n', '#include "aiter_hip_common.h"\n\nint x;\n'),
        (
            '#include "aiter_hip_common.h"\n#include "py_itfs_common.h"\nint x;\n',
            '#include "aiter_hip_common.h"\nint x;\n',
        ),
    ],
)
def test_headers_of_the_checkout_that_bring_torch(rewrites, before: str, after: str) -> None:
    rewrites(includes(), before, after)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ('#include "py_itfs_common.h"\nauto d = torchDTypeToStr(x);\n', "TL103", "torchDTypeToStr"),
        ('#include "dispatch_utils.h"\nVLLM_DISPATCH_FLOATING_TYPES(t, "n", f);\n', "TL104", "VLLM_DISPATCH"),
        ("#include <torch/all.h>\nat::Scalar s;\n", "TL101", "at::Scalar"),
        ('#include <torch/all.h>\nTORCH_CHECK(x, "y");\n', "TL101", "TORCH_CHECK"),
        ("#include <torch/all.h>\nusing namespace at;\n", "TL101", "using namespace at"),
        ("#ifndef X_NO_TORCH_TYPES\n#include <c10/util/Half.h>\n#endif\n", "TL101", "do without torch"),
    ],
)
def test_what_is_still_used_stays(keeps, text: str, code: str, reason: str) -> None:
    found = keeps(includes(), text)
    assert [f.code for f in found] == [code]
    assert reason in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "// #include <torch/all.h>\nint x;\n",
        'const char* s = R"(\n#include <torch/all.h>\n)";\n',
        '#include "torch/mha_fwd.h"\nint x;\n',  # a folder of the checkout's own
        "#include TORCH_HEADER\nint x;\n",
        '#include <pybind11/pybind11.h>\n#include "rocm_ops.hpp"\nint x;\n',
    ],
)
def test_must_not_change(keeps, text: str) -> None:
    assert keeps(includes(), text) == []


@pytest.mark.parametrize(
    ("include", "provided", "want"),
    [
        ('"dispatch_utils.h"', [], '#include "aiter_dispatch.h"\n'),
        ('"dispatch_utils.h"', ["<hip/hip_fp16.h>"], ""),
        ("<c10/util/Half.h>", [], "#include <hip/hip_fp16.h>\n"),
        ("<c10/util/Half.h>", ["aiter_dispatch.h"], ""),
    ],
)
def test_element_types_have_their_header(view, include: str, provided: list[str], want: str) -> None:
    before = view(f"#include {include}\nusing T = c10::Half;\n")
    at = before.source.data.index(b"c10::Half;")
    edit = Edit(before.source.path, at, at + 9, b"__half", "TL507")
    found = includes(provided=provided, with_edits=lambda v: [edit])(before)
    got = apply(before.source.data, [edit, *(e for f in found for e in f.edits)])
    assert got.decode() == f"{want}using T = __half;\n"


def test_own_header(rewrites) -> None:
    rewrites(
        includes(own=["norm.h"]),
        '#include "aiter_dispatch.h"\n#include <hip/hip_runtime.h>\n\nvoid f() {}\n',
        '#include "aiter_dispatch.h"\n#include "norm.h"\n#include <hip/hip_runtime.h>\n\nvoid f() {}\n',
    )


def test_own_header_of_a_file_that_has_none(rewrites) -> None:
    rewrites(includes(own=["norm.h"]), "// licence\n\nvoid f() {}\n", '// licence\n#include "norm.h"\n\nvoid f() {}\n')


def test_own_header_is_not_the_file_itself(keeps) -> None:
    assert keeps(includes(own=["norm.h"]), "void f();\n", "csrc/include/norm.h") == []


@pytest.mark.parametrize(
    ("path", "provided", "added"),
    [
        # a source relies on what its headers bring
        ("x.cu", ["<optional>", "<cstdint>", "<algorithm>"], []),
        ("x.cu", [], ["<algorithm>", "<cstdint>", "<optional>"]),
        ("x.cu", ["<hip/hip_runtime.h>"], ["<algorithm>", "<optional>"]),
        # a header asks for what its declarations are made of
        ("x.h", ["<optional>", "<cstdint>", "<algorithm>"], ["<cstdint>", "<optional>"]),
    ],
)
def test_standard_headers_that_came_through_torch(view, path: str, provided: list[str], added: list[str]) -> None:
    text = "#include <torch/all.h>\nstd::optional<int64_t> f(int n) { return std::max(n, 1); }\n"
    found = includes(provided=provided)(view(text, path))
    assert [e.new.decode().split()[1] for f in found if f.code == "TL105" for e in f.edits] == added


@pytest.mark.parametrize("path", ["x.cu", "x.h"])
def test_nothing_is_lost_while_torch_stays(view, path: str) -> None:
    text = "#include <torch/all.h>\nstd::optional<int64_t> f(int n, torch::Tensor& x) { return std::max(n, 1); }\n"
    for lost_torch in (False, True):
        found = includes(requires=["aiter_tensor.h"], lost_torch=lost_torch)(view(text, path))
        assert sorted(f.code for f in found) == ["TL101", "TL102"]
    # one that is not always compiled brings nothing
    found = includes(lost_torch=True)(
        view(f"#ifdef A\n{text.replace('torch/all.h>', 'torch/all.h>' + chr(10) + '#endif')}")
    )
    assert "TL105" in [f.code for f in found]


def test_standard_headers_lost_by_an_included_header(view) -> None:
    text = '#include "common.h"\nauto x = std::min(a, b);\n'
    assert includes()(view(text)) == []
    found = includes(lost_torch=True)(view(text))
    assert [f.code for f in found] == ["TL105"]


def test_a_registration_keeps_its_casters(view) -> None:
    found = includes()(view("#include <torch/extension.h>\nPYBIND11_MODULE(x, m) {}\n"))
    added = [e.new for f in found if f.code == "TL105" for e in f.edits]
    assert added == [b"#include <pybind11/pybind11.h>\n", b"#include <pybind11/stl.h>\n"]


@pytest.mark.parametrize(
    ("header", "torch"),
    [
        ("<torch/all.h>", True),
        ("<ATen/hip/HIPContext.h>", True),
        ("<c10/util/Half.h>", True),
        ('"torch/extension.h"', True),
        ('"torch/mha_fwd.h"', False),
        ("<hip/hip_runtime.h>", False),
        ("<pybind11/pybind11.h>", False),
    ],
)
def test_is_torch_header(header: str, torch: bool) -> None:
    assert is_torch_header(header) is torch


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("at::Tensor x; torch::kHalf; ::c10::Half h;", ["at::Tensor", "c10::Half", "torch::kHalf"]),
        ('TORCH_CHECK(x, "at::Tensor"); // c10::Half', ["TORCH_CHECK"]),
        ("AT_DISPATCH_SWITCH_rmTorch(x, n, f);", []),
        ("v.at(0); m.at::x; aiter::torch::x();", []),
        ("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)", []),
        ("#ifdef TORCH_Float4_e2m1fn_x2\n#endif", []),
    ],
)
def test_torch_names(text: str, names: list[str]) -> None:
    assert torch_names(code_tokens(lex(text.encode()))) == names


LICENCE = "// SPDX-License-Identifier: MIT\n// Copyright (c) someone\n"


@pytest.mark.parametrize("eol", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("head", "rest"),
    [
        (f"#pragma once\n{LICENCE}", "\n#ifdef USE_ROCM\n#include <a>\n#endif\n"),
        (f"#pragma once\n\n{LICENCE}", "void add();\n"),
        (f"#ifndef A_H\n#define A_H\n{LICENCE}", "\nvoid add();\n#endif\n"),
        ("#pragma once\n/* Copyright (c) someone\n * all of it */\n", "\nvoid add();\n"),
        (LICENCE, "\nvoid add();\n"),
        # a comment that is about what follows stays with it
        ("#pragma once\n", "// Adds.\nvoid add();\n"),
        ("#pragma once\n", "\n\n// Copyright, two lines down.\nvoid add();\n"),
        (f"#pragma once\n{LICENCE}", "\n// Adds.\nvoid add();\n"),
    ],
)
def test_a_first_include_comes_behind_the_licence(
    view: Callable[..., FileView], head: str, rest: str, eol: str
) -> None:
    made = view((head + rest).replace("\n", eol), "csrc/include/x.h")
    assert made.source.data[: file_start(made)].decode() == head.replace("\n", eol)
