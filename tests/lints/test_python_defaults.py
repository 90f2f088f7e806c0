from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, findings_in, mend

TU = "csrc/pybind/a_pybind.cu"
OPS = "aiter/ops/a.py"


def checkout(python: str, row: str, cxx: str = "void f();", flags: str = ", develop=True") -> dict[str, str]:
    head = '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n'
    body = f'PYBIND11_MODULE(N, m) {{ AITER_SET_STREAM_PYBIND; m.def("f", &f{row}); }}\n'
    return {TU: f"{head}{cxx}\n{body}", OPS: f'@compile_ops("module_example"{flags})\ndef f({python}): ...\n'}


@pytest.mark.parametrize(
    ("python", "cxx"),
    [
        ("7", "7"),
        ("-1", "-1"),
        ("1 << 4", ""),
        ("0x10", "16"),
        ("1_000", "1000"),
        ("9223372036854775808", ""),
        ("1e-6", "1e-06"),
        ("-0.5", "-0.5"),
        ("1e999", ""),
        ("True", "true"),
        ("False", "false"),
        ('"auto"', '"auto"'),
        ("'it is'", '"it is"'),
        ("''", '""'),
        (r"'a\n'", ""),
        ("'é'", ""),
        ("""'"'""", ""),
        ("b'x'", ""),
        ("(1, 2)", ""),
        ("[1]", ""),
        ("Kind.No", ""),
        ("torch.float32", ""),
    ],
)
def test_literals(tmp_path: Path, found: Found, python: str, cxx: str) -> None:
    (finding,) = found(checkout(f"k={python}", ', py::arg("k")', "void f(int k);"), "TL713")
    assert bool(finding.edits) is bool(cxx)
    mend(tmp_path, [finding])
    assert (f'py::arg("k") = {cxx})' if cxx else 'py::arg("k"))') in (tmp_path / TU).read_text()
    assert [f for f in findings_in(tmp_path, ["TL713"]) if f.edits] == []


@pytest.mark.parametrize(
    ("function", "edited"),
    [
        ("void f(std::optional<aiter_tensor_t> k);", True),
        ("void f(const std::optional<double>& k); void g(aiter_tensor_t&);", True),
        ("void f(aiter_tensor_t& k);", False),
        ("void f(int a, std::optional<aiter_tensor_t> k);", False),  # which of the two, nobody can tell
        ("", False),
    ],
)
def test_none_is_for_optionals(found: Found, function: str, edited: bool) -> None:
    (finding,) = found(checkout("k=None", ', py::arg("k")', function), "TL713")
    assert bool(finding.edits) is edited


@pytest.mark.parametrize(
    ("python", "cxx", "differs"),
    [
        ("1e-6", "1e-6f", False),
        ("1", "1.0", False),
        ("True", "true", False),
        ("False", "true", True),
        ("None", "std::nullopt", False),
        ("None", "py::none()", False),
        ("None", "0", True),
        ("-1", "-1", False),
        ("4", "8", True),
        ("4", "4u", False),
        ('""', '""', False),
        ('"a"', '"b"', True),
        ("SOME_NAME", "4", False),
        ("4", "kSome", False),
    ],
)
def test_defaults_that_differ(found: Found, python: str, cxx: str, differs: bool) -> None:
    messages = [f.message for f in found(checkout(f"k={python}", f', py::arg("k") = {cxx}'), "TL713")]
    assert messages == ([f"f: k defaults to {python} in Python, {cxx} in py::arg"] if differs else [])


@pytest.mark.parametrize(
    ("python", "row", "messages"),
    [
        ("x, k=1", "", ["f: k has a default in Python (1) but none in py::arg; the binding has no py::arg"]),
        (
            "x, k=1, j=2",
            ', py::arg("x"), py::arg("k") = 1',
            ["f: j has a default in Python (2) but none in py::arg; the binding names no py::arg of that name"],
        ),
        ("x, k=1", ', py::arg("out"), py::arg("count")', ["f: defaults in Python but not in py::arg: k (1)"]),
        ("x, k=1, j=2", ', py::arg("j"), py::arg("x")', None),
    ],
)
def test_how_parameters_are_found(found: Found, python: str, row: str, messages: list[str] | None) -> None:
    seen = [f.message for f in found(checkout(python, row), "TL713")]
    assert seen == messages if messages is not None else len(seen) == 2


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_backslashes_keep_their_column(tmp_path: Path, found: Found, eol: str) -> None:
    before = """#define ROWS_PYBIND                            \\
    m.def("f", &f, py::arg("x"),               \\
          py::arg("k"), py::arg("a_long_name"), \\
          py::arg("j")                         \\
          );
"""
    after = """#define ROWS_PYBIND                            \\
    m.def("f", &f, py::arg("x"),               \\
          py::arg("k") = 1, py::arg("a_long_name") = 2, \\
          py::arg("j") = 3                     \\
          );
"""
    files: dict[str, str | bytes] = dict(checkout("x, k=1, a_long_name=2, j=3", "", before))
    text = str(files[TU]).replace('m.def("f", &f); }', "ROWS_PYBIND }").replace("\n", eol)
    mend(tmp_path, found({**files, TU: text.encode()}, "TL713"))
    assert (tmp_path / TU).read_bytes().decode() == text.replace(before.replace("\n", eol), after.replace("\n", eol))


def test_two_ops_over_one_row(tmp_path: Path, found: Found) -> None:
    files = checkout("x, k=1, j=2", ', py::arg("x"), py::arg("k"), py::arg("j")')
    files[OPS] += '@compile_ops("module_example", fc_name="f", develop=True)\ndef g(x, k=1, j=3): ...\n'
    findings = found(files, "TL713")
    assert [(f.line, bool(f.edits), "two ops" in f.message) for f in findings] == [
        (1, True, False),
        (1, False, True),
        (3, True, False),
        (3, False, True),
    ]
    mend(tmp_path, findings)
    assert 'py::arg("k") = 1, py::arg("j"))' in (tmp_path / TU).read_text()


def test_what_is_not_looked_at(found: Found) -> None:
    files = checkout("x, k=1", ', py::arg("x"), py::arg("k")', flags=', ffi_type="ctypes"')
    files[OPS] += '@compile_ops("module_example")\ndef twice(k=1): ...\n'
    files[OPS] += '@compile_ops("module_example")\ndef nowhere(k=1): ...\n'
    files[TU] = files[TU].replace("; }", '; m.def("twice", &a); m.def("twice", &b); }')
    assert found(files, "TL713") == []
