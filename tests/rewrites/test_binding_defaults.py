from __future__ import annotations

import pytest

from torchless.model import Finding
from torchless.project.bindings import binding_macros
from torchless.project.model import BindingRow
from torchless.rewrites.bindings import binding_defaults
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
