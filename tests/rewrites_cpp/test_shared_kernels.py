"""The texts of a source for shared kernels: its own, what others declare, and the line of the module's description."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchless.project.model import Module
from torchless.rewrites.shared_kernels.texts import (
    declaration_edit,
    header_text,
    kernel_name,
    source_edits,
    unit_text,
)
from torchless.text.edits import apply
from torchless.text.source import SourceFile

KERNEL = "__global__ void n::fill<int, 4>(int*)"


@pytest.mark.parametrize(
    ("spelled", "name"),
    [(KERNEL, "fill"), ("__global__ void fill<n::Box<int>>(int*)", "fill"), ("__global__ void fill(int*)", "")],
)
def test_the_name_of_a_template(spelled: str, name: str) -> None:
    assert kernel_name(spelled) == name


def test_the_new_source_keeps_the_licence_and_the_line_ends() -> None:
    like = SourceFile(
        "a.cu", b"// A licence.\r\n// Of two lines.\r\n//\r\n// What a does.\r\n#include <a.h>\r\nint a;\r\n"
    )
    assert unit_text(like, ('"fill.h"',), [KERNEL]) == (
        b'// A licence.\r\n// Of two lines.\r\n#include "fill.h"\r\n\r\n'
        b"// Kernels that many sources start: they declare them and are compiled without them.\r\n"
        b"template __global__ void n::fill<int, 4>(int*);\r\n"
    )


def test_a_header_declares_many() -> None:
    like = SourceFile("a.cu", b"// A licence.\n#include <a.h>\n")
    assert header_text(like, ('"fill.h"',), [KERNEL, KERNEL.replace("4", "8")]) == (
        b'// A licence.\n#pragma once\n#include "fill.h"\n\n'
        b"// Kernels that one source has for all that start them.\n"
        b"extern template __global__ void n::fill<int, 4>(int*);\n"
        b"extern template __global__ void n::fill<int, 8>(int*);\n"
    )
    assert declared('#include "a.h"\nint a;\n', "fill.device.h") == (
        '#include "a.h"\n#include "fill.device.h"\nint a;\n'
    )


def declared(text: str, header: str = "") -> str | None:
    source = SourceFile("a.cu", text.encode())
    edit = declaration_edit(source, [KERNEL], "TL640", header)
    return None if edit is None else apply(source.data, [edit]).decode()


def test_it_is_declared_behind_the_last_include() -> None:
    line = "\nextern template __global__ void n::fill<int, 4>(int*);\n"
    assert declared('#include "a.h"\n#include "b.h"\nint a;\n') == f'#include "a.h"\n#include "b.h"\n{line}int a;\n'
    assert declared('int b;\n#include "a.h"\nint a;\n') == f'int b;\n#include "a.h"\n{line}int a;\n'


@pytest.mark.parametrize("text", ["int a;\n", '#include "a.h"', 'namespace n {\n#include "a.h"\n}\n'])
def test_where_there_is_no_place_nothing_is_declared(text: str) -> None:
    assert declared(text) is None


CONFIG = """{
    "module_fill": {
        "srcs": [
            "f'{AITER_CSRC_DIR}/kernels/fill.cu'",
            "f'{AITER_CSRC_DIR}/more'"
        ],
        "verbose": "False"
    }
}
"""


def described(new: str, beside: str, text: str = CONFIG) -> str:
    start = text.index('"module_fill"')
    module = Module("module_fill", (), entry_start=start, entry_end=text.rindex("}", 0, text.rindex("}")) + 1)
    config = SourceFile("config.json", text.encode())
    edits = source_edits(config, module, beside, new, Path("/nowhere"), "TL640")
    return edits if isinstance(edits, str) else apply(config.data, edits).decode()


def test_a_list_of_sources_gets_the_new_one_as_the_others_are_spelled() -> None:
    assert described("csrc/kernels/x.device.cu", "csrc/kernels/fill.cu") == CONFIG.replace(
        "more'\"\n", "more'\",\n            \"f'{AITER_CSRC_DIR}/kernels/x.device.cu'\"\n"
    )


def test_a_folder_has_it_already() -> None:
    assert described("csrc/more/x.device.cu", "csrc/more/fill.cu") == CONFIG


def test_what_is_not_understood_is_said() -> None:
    assert described("csrc/o/x.device.cu", "csrc/o/fill.cu").startswith("how its description lists csrc/o/fill.cu")
    one = CONFIG.replace("[", "").replace("]", "").replace(",\n            \"f'{AITER_CSRC_DIR}/more'\"", "")
    assert described("csrc/kernels/x.device.cu", "csrc/kernels/fill.cu", one).startswith("its description has no list")
