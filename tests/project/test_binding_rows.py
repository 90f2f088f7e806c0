from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless.project.bindings import binding_macros, binding_tus, read_bindings
from torchless.project.model import BindingRow
from torchless.text.source import SourceFile

WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]


def macros(text: str) -> list[tuple[str, tuple[BindingRow, ...]]]:
    return [(m.name, m.rows) for m in binding_macros(SourceFile("ops.hpp", text.encode()))]


def row(definition: str) -> BindingRow:
    ((_, (found,)),) = macros(f"#define A_PYBIND {definition};\n")
    return found


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_rows_of_a_macro_over_several_lines(eol: str) -> None:
    text = eol.join(
        [
            "// é #define NO_PYBIND m.def(1)",
            "#define A_PYBIND                        \\",
            '    m.def("f",                          \\',
            "          &ns :: f,                     \\",
            '          "a \\"doc\\", with m.def(x)",    \\',
            '          py::arg("a"),                 \\',
            '          py::arg("b").none(true) = std::nullopt, \\',
            '          pybind11::arg("c") = g(1, h{2}) ); /* m.def("no") */ \\',
            '    m.def("g", g)',
            "#define B_PYBIND AITER_SET_STREAM_PYBIND; A_PYBIND",
            "int after;",
        ]
    )
    source = SourceFile("ops.hpp", text.encode())
    a, b = binding_macros(source)
    f, g = a.rows
    assert (f.name, f.target, f.macro, f.line) == ("f", "ns::f", "A_PYBIND", 3)
    assert [(arg.name, arg.default) for arg in f.args] == [("a", ""), ("b", "std::nullopt"), ("c", "g(1, h{2})")]
    assert source.data[f.args[2].default_start : f.args[2].default_end] == b"g(1, h{2})"
    assert source.data[f.start : f.end].startswith(b"m.def(") and source.data[f.start : f.end].endswith(b")")
    assert (g.name, g.target, g.args) == ("g", "g", ())
    assert source.data[a.body_start : a.body_end].endswith(b'm.def("g", g)')
    assert (a.has_stream_setter, b.has_stream_setter) == (False, True)
    assert (b.rows, b.expands) == ((), ("AITER_SET_STREAM_PYBIND", "A_PYBIND"))


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("&f", "f"),
        ("& ns::f<float, 4>", "ns::f<float,4>"),
        ("f", "f"),
        ("py::overload_cast<int, A&>(&ns::f)", "ns::f"),
        ("static_cast<void (*)(A&, int)>(&f)", "f"),
        ("[](A& a, int b) { return f(&a, b); }", ""),
        ("std::bind(f, 1)", ""),
        ("wrap(a & b)", ""),
    ],
)
def test_target_of_a_row(target: str, name: str) -> None:
    assert row(f'm.def("f", {target}, py::arg("x") = 1)').target == name


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ('py::arg("x")', [("x", "")]),
        ('py::arg("x") = std::map<int, int>{}', [("x", "std::map<int, int>{}")]),
        ('"x"_a = -1', [("x", "-1")]),
        ('py::arg("x").noconvert()', [("x", "")]),
        ('py::arg("x") = (a == b)', [("x", "(a == b)")]),
        ('"doc"', []),
        ("py::return_value_policy::reference", []),
        ("py::arg(name)", []),
    ],
)
def test_arguments_of_a_row(argument: str, expected: list[tuple[str, str]]) -> None:
    assert [(a.name, a.default) for a in row(f'm.def("f", &f, {argument})').args] == expected


def test_function_like_and_nested_definitions() -> None:
    assert [
        (name, [r.name for r in rows])
        for name, rows in macros('#define ADD(mod, f) mod.def(#f, &f); mod.def("g", &g)\n')
    ] == [("ADD", ["", "g"])]
    assert macros('#define X(a) a.b.def("f", &f)\n#undef X_PYBIND\n#define EMPTY_PYBIND\n') == []
    assert macros('#ifdef A\n#  define A_PYBIND m.def("f", &f)\n#else\n#define A_PYBIND m.def("g", &g)\n#endif\n') != []


def test_what_no_configuration_compiles_binds_nothing() -> None:
    dead = '#if 0\n#define OLD_PYBIND m.def("f", &f);\n#endif\n#if WITH_B\n#define B_PYBIND m.def("b", &b);\n#endif\n'
    assert [name for name, _ in macros(dead)] == ["B_PYBIND"]
    text = 'PYBIND11_MODULE(N, m)\n{\n#if 1\nm.def("f", &f);\n#else\nm.def("old", &old);\n#endif\n}\n'
    (tu,) = binding_tus(SourceFile("ops.cu", text.encode()))
    assert [row.name for row in tu.rows] == ["f"]


def test_module_blocks() -> None:
    text = """
/* PYBIND11_MODULE(no, m) {} */
PYBIND11_MODULE(TORCH_EXTENSION_NAME, mod)
{
#if FLAG
    A_PYBIND;
#endif
    B_PYBIND
    mod.def("f", &f, py::arg("x") = 1).def("g", &g);
    mod.attr("def") = 1;
    py::class_<C>(mod, "C").def("method", &C::method);
    other.def("h", &h);
    KNOWN(mod);
}
"""
    source = SourceFile("b.cu", text.encode())
    (tu,) = binding_tus(source, ["KNOWN"])
    assert tu.macros == ("A_PYBIND", "B_PYBIND", "KNOWN")
    assert [r.name for r in tu.rows] == ["f", "g"]
    assert (tu.variable, tu.has_stream_setter) == ("mod", False)
    assert source.data[tu.body_start : tu.body_start + 1] == b"{"
    assert source.data[tu.body_end - 1 : tu.body_end + 1] == b"}\n"


@pytest.mark.parametrize("setter", ["AITER_SET_STREAM_PYBIND", 'm.def("_set_current_hip_stream", [](int64_t s) {});'])
def test_setter_is_seen_however_it_is_spelled(setter: str) -> None:
    (tu,) = binding_tus(SourceFile("b.cu", f"PYBIND11_MODULE(x, m) {{ {setter} A_PYBIND; }}".encode()))
    assert tu.has_stream_setter and tu.macros == ("A_PYBIND",)


@pytest.mark.parametrize(
    "text", ["PYBIND11_MODULE", "PYBIND11_MODULE(a, m)", "PYBIND11_MODULE(a, m) {", "PYBIND11_MODULE(a) { m.def( }"]
)
def test_broken_blocks_are_no_exception(text: str) -> None:
    binding_tus(SourceFile("b.cu", text.encode()))


def test_files_are_read_once_and_failures_reported(write_tree: WriteTree) -> None:
    root = write_tree(
        {
            "a.hpp": "#define A_PYBIND B_PYBIND C_PYBIND\n",
            "b.hpp": '#define B_PYBIND m.def("f", &f)\n',
            "c.cu": "PYBIND11_MODULE(a, m) { A_PYBIND }\nPYBIND11_MODULE(b, m) { B_PYBIND }\n",
        }
    )
    found, tus, problems = read_bindings(root, ["a.hpp", "absent.hpp", "b.hpp", "c.cu"])
    assert [(m.name, m.expands) for m in found] == [("A_PYBIND", ("B_PYBIND",)), ("B_PYBIND", ())]
    assert [tu.macros for tu in tus] == [("A_PYBIND",), ("B_PYBIND",)]
    assert [path for path, _ in problems] == ["absent.hpp", "c.cu"]
