"""Rows that name no argument name all of them once their function gets more."""

from __future__ import annotations

import pytest

from torchless.project.bindings import binding_macros, binding_tus
from torchless.rewrites.binding_rows import all_arguments
from torchless.text.edits import apply
from torchless.text.source import SourceFile

MACRO = """\
#define WAVE_PYBIND                                      \\
    m.def("rise", &wave_rise, "Goes up.");               \\
    m.def("fall_down", &wave_fall_down, "Goes far down.");
"""
WIDE = [f"argument_{n}" for n in range(3)]


def edited(text: str, names: list[str]) -> str:
    """``text`` with ``names`` in every row, the last one first, as edits of one row do not know of the others."""
    source = SourceFile("ops.hpp", text.encode())
    rows = [row for macro in binding_macros(source) for row in macro.rows]
    rows += [row for tu in binding_tus(source) for row in tu.rows]
    edits = [e for row in rows if (f := all_arguments(source, row, names)) is not None for e in f.edits]
    return apply(source.data, edits).decode()


def test_on_the_line_where_there_is_room() -> None:
    after = 'PYBIND11_MODULE(M, m) { m.def("rise", &wave_rise, py::arg("out"), py::arg("x")); }\n'
    assert edited('PYBIND11_MODULE(M, m) { m.def("rise", &wave_rise); }\n', ["out", "x"]) == after


@pytest.mark.parametrize("eol", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_on_a_line_of_their_own_in_a_macro(eol: str) -> None:
    lines = edited(MACRO.replace("\n", eol), WIDE).split(eol)
    names = ", ".join(f'py::arg("{name}")' for name in WIDE)
    assert lines[1] == '    m.def("rise", &wave_rise, "Goes up.",                \\'
    assert lines[2] == f"          {names}); \\"  # wider than the column of the others
    assert lines[3] == '    m.def("fall_down", &wave_fall_down, "Goes far down.", \\'
    assert lines[4] == f"          {names});"


def test_the_column_of_the_backslashes_stays_where_there_is_room() -> None:
    macro = MACRO.replace(" \\", " " * 60 + "\\")
    lines = edited(macro, WIDE).splitlines()
    columns = {line.index("\\") for line in lines if line.endswith("\\")}
    assert columns == {macro.index("\\")}


def test_a_row_that_names_some_is_left_to_others() -> None:
    text = 'PYBIND11_MODULE(M, m) { m.def("rise", &wave_rise, py::arg("x")); }\n'
    assert edited(text, ["out", "x"]) == text and edited(text.replace(', py::arg("x")', ""), []).count("arg") == 0
