"""What is told about a file beside its units."""

from __future__ import annotations

import pytest

from torchless.facts.typing import FileView, make_view
from torchless.plan.remarks import arms_by_torch, dead_torch
from torchless.text.source import SourceFile


def view(text: str) -> FileView:
    return make_view(SourceFile("csrc/excerpt.cu", text.encode()))


@pytest.mark.parametrize(
    ("text", "lines", "at"),
    [
        ("#if 0\nint h;\ntorch::Tensor f(at::Half h) {\n}\n#endif\n", "3 lines", "torch::Tensor"),
        ("#if 1\nint a;\n#else\nTORCH_CHECK(a);\n#endif\n", "1 line", "TORCH_CHECK"),
        ("#if 0\n#include <torch/all.h>\n#endif\n", "1 line", "<torch/all.h>"),
        ("using namespace at;\n#if 0\nTensor f();\n#endif\n", "1 line", "Tensor f"),
        ("#if 0\nusing namespace at;\n#endif\n#if 0\nat::Half x;\n#endif\n", "2 lines", "at;"),
    ],
)
def test_dead_code_with_torch_is_told_once(text: str, lines: str, at: str) -> None:
    (found,) = dead_torch(view(text))
    assert (found.code, found.edits, found.blocks) == ("TL012", (), False)
    assert text[found.start :].startswith(at)
    assert found.message.startswith(f"{lines} that no configuration compiles")


def test_many_names_are_cut_short() -> None:
    (found,) = dead_torch(view("#if 0\n" + "".join(f"at::T{i} t{i};\n" for i in range(5)) + "#endif\n"))
    assert found.message.endswith(": at::T0, at::T1, at::T2 and 2 more")


@pytest.mark.parametrize(
    "text",
    [
        "#if 0\nint x; // torch::Tensor\n#endif\n",
        '#if 0\n#include "torch_free.h"\nauto s = "torch::Tensor";\n#endif\n',
        "#if DEBUG\ntorch::Tensor x;\n#endif\n",
        "torch::Tensor x;\n#if 0\nint y;\n#endif\n",
    ],
)
def test_dead_code_without_torch_and_code_that_may_be_compiled_are_not(text: str) -> None:
    assert dead_torch(view(text)) == []


def test_arms_that_ask_for_torchs_fp4() -> None:
    text = (
        "#ifdef TORCH_Float4_e2m1fn_x2\n#elif defined(OTHER) && !defined(TORCH_Float4_e2m1fn_x2)\n#endif\n"
        "#ifndef TORCH_Float4_e2m1fn_x2\n#endif\n"
    )
    found = arms_by_torch(view(text))
    assert [(f.code, text[f.start : f.end], f.edits) for f in found] == [("TL214", "TORCH_Float4_e2m1fn_x2", ())] * 3
    assert all("AITER_DTYPE_fp4x2" in f.help for f in found)


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __Float4_e2m1fn_x2\n#endif\n",
        "// #ifdef TORCH_Float4_e2m1fn_x2\n",
        "#define TORCH_Float4_e2m1fn_x2 1\n#undef TORCH_Float4_e2m1fn_x2\n",
        "#if 0\n#ifdef TORCH_Float4_e2m1fn_x2\n#endif\n#endif\n",
        "int TORCH_Float4_e2m1fn_x2;\n",
    ],
)
def test_arms_about_anything_else_are_not(text: str) -> None:
    assert arms_by_torch(view(text)) == []
