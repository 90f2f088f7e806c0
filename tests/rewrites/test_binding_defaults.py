from __future__ import annotations

import pytest

from torchless.model import Finding
from torchless.project.bindings import binding_macros
from torchless.project.model import BindingRow
from torchless.project.ops import ops_of, parse_python
from torchless.rewrites.bindings import binding_defaults, python_defaults
from torchless.text.edits import apply
from torchless.text.source import SourceFile


def row_of(text: str) -> tuple[SourceFile, BindingRow]:
    source = SourceFile("ops.hpp", text.encode())
    ((row,),) = (macro.rows for macro in binding_macros(source))
    return source, row


def edited(source: SourceFile, findings: list[Finding]) -> str:
    return apply(source.data, [edit for finding in findings for edit in finding.edits]).decode()


def with_default(default: str) -> str:
    return f'#define A_PYBIND m.def("f", &f, py::arg("é"), py::arg("x") = {default}, py::arg("n") = 3);\n'


@pytest.mark.parametrize(
    "default",
    [
        "torch::Tensor()",
        "at::Tensor{}",
        "::at::Tensor ( )",
        "c10::nullopt",
        "at::nullopt",
        "std::optional<torch::Tensor>()",
        "c10::optional< at::Tensor >{}",
    ],
)
def test_empty_default_of_an_optional(default: str) -> None:
    source, row = row_of(with_default(default))
    asked: list[tuple[int, str]] = []

    def becomes_optional(index: int, name: str) -> bool:
        asked.append((index, name))
        return True

    findings = binding_defaults(source, row, becomes_optional)
    assert edited(source, findings) == with_default("std::nullopt")
    assert [(f.code, f.blocks) for f in findings] == [("TL703", False)]
    assert set(asked) <= {(1, "x")}
    again, row = row_of(edited(source, findings))
    assert binding_defaults(again, row, lambda index, name: True) == []


def test_nullopt_needs_no_tensor() -> None:
    source, row = row_of(with_default("c10::nullopt"))
    assert edited(source, binding_defaults(source, row, lambda index, name: False)) == with_default("std::nullopt")


@pytest.mark.parametrize("default", ["torch::Tensor()", "torch::kFloat16", "at::ScalarType::Half", "g(at::Tensor())"])
def test_any_other_torch_default_blocks(default: str) -> None:
    source, row = row_of(with_default(default))
    is_optional = default.startswith("g")
    (finding,) = binding_defaults(source, row, lambda index, name: is_optional)
    assert (finding.code, finding.blocks, finding.edits) == ("TL703", True, ())
    assert "x" in finding.message and finding.help
    assert source.data[finding.start : finding.end].decode() == default


@pytest.mark.parametrize("default", ["1", "std::nullopt", '"torch::Tensor()"', "my_at::Tensor()"])
def test_defaults_without_torch_are_left(default: str) -> None:
    source, row = row_of(with_default(default))
    assert binding_defaults(source, row, lambda index, name: True) == []


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_backslashes_stay_in_their_column(eol: str) -> None:
    before = eol.join(
        [
            '#define A_PYBIND m.def("f", &f,                  \\',
            '                       py::arg("x") = torch::Tensor(), py::arg("y") = at::Tensor(), \\',
            '                       py::arg("z") = torch::Tensor());\n',
        ]
    )
    source, row = row_of(before)
    after = edited(source, binding_defaults(source, row, lambda index, name: True))
    assert "Tensor" not in after and after.count("std::nullopt") == 3
    assert [line.find("\\") for line in after.split(eol)] == [line.find("\\") for line in before.split(eol)]


def messages(python: str, cxx: str) -> list[str]:
    ops, _ = ops_of(parse_python("a.py", f'@compile_ops("m")\ndef f({python}): ...\n'.encode()))
    _, row = row_of(f'#define A_PYBIND m.def("f", &f, {cxx});\n')
    findings = python_defaults(ops[0], row)
    assert all(f.code == "TL703" and not f.blocks and not f.edits for f in findings)
    return [f.message for f in findings]


def test_python_default_that_py_arg_does_not_repeat() -> None:
    assert messages("a, k: int = 7, s=None", 'py::arg("a"), py::arg("k"), py::arg("s") = std::nullopt') == [
        "f: k has a default in Python (7) but none in py::arg"
    ]


def test_a_row_without_names_says_nothing() -> None:
    assert messages("a, k: int = 7", '"doc"') == []


@pytest.mark.parametrize(
    ("python", "cxx", "differs"),
    [
        ("1e-6", "1e-6f", False),
        ("1", "1.0", False),
        ("True", "true", False),
        ("False", "true", True),
        ("None", "std::nullopt", False),
        ("None", "0", True),
        ("-1", "-1", False),
        ("4", "8", True),
        ('""', '""', False),
        ('"a"', '"b"', True),
        ("SOME_NAME", "4", False),
        ("4", "kSome", False),
    ],
)
def test_defaults_that_differ(python: str, cxx: str, differs: bool) -> None:
    found = messages(f"k={python}", f'py::arg("k") = {cxx}')
    assert found == ([f"f: k defaults to {python} in Python and {cxx} in py::arg"] if differs else [])
