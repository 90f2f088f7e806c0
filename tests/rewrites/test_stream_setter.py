from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from torchless.facts.includes import graph_of
from torchless.model import Finding
from torchless.project.discover import load
from torchless.rewrites.bindings import stream_setters
from torchless.text.source import read_source

Checkout = Callable[[Mapping[str, "str | bytes"], Mapping[str, Sequence[str]]], Path]
Rewrite = Callable[[Path, Iterable[Finding]], None]

HEADER = "csrc/include/rocm_ops.hpp"
SETTER = '#define AITER_SET_STREAM_PYBIND m.def("_set_current_hip_stream", [](int64_t s) {});\n'


def setters(root: Path, names: Iterable[str], dropped: frozenset[str] = frozenset()) -> list[Finding]:
    project = load(root)
    modules = [m for m in project.modules if m.name in set(names)]
    return stream_setters(project, modules, lambda path: read_source(root, path), graph_of(project), dropped)


def binding(*macros: str, include: str = '#include "rocm_ops.hpp"\n') -> str:
    body = "".join(f"    {macro};\n" for macro in macros)
    return f"{include}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n{{\n{body}}}\n"


@pytest.fixture
def migrated(checkout: Checkout, rewrite: Rewrite) -> Callable[..., Path]:
    """A checkout after the setters of some modules; a second run must find nothing."""

    def run(
        files: Mapping[str, str | bytes], modules: Mapping[str, Sequence[str]], unit: Iterable[str] | None = None
    ) -> Path:
        root = checkout({"csrc/include/aiter_stream.h": "", HEADER: SETTER, **files}, modules)
        names = list(unit if unit is not None else modules)
        rewrite(root, setters(root, names))
        assert setters(root, names) == []
        return root

    return run


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '#define A_PYBIND m.def("é", &f);\n',
            '#define A_PYBIND AITER_SET_STREAM_PYBIND; m.def("é", &f);\n',
        ),
        (
            '#define A_PYBIND            \\\n    m.def("é",              \\\n          &f);\n',
            "#define A_PYBIND            \\\n    AITER_SET_STREAM_PYBIND; \\\n"
            '    m.def("é",              \\\n          &f);\n',
        ),
        (
            '#define A_PYBIND               \\\n  m.def("f",                   \\\n        &f);\n',
            "#define A_PYBIND               \\\n  AITER_SET_STREAM_PYBIND;     \\\n"
            '  m.def("f",                   \\\n        &f);\n',
        ),
        (
            '#define A_PYBIND \\\n    m.def("f", &f); \\\n    m.def("g", &g)\n',
            '#define A_PYBIND \\\n    AITER_SET_STREAM_PYBIND; \\\n    m.def("f", &f); \\\n    m.def("g", &g)\n',
        ),
        (
            '#define A_PYBIND                     \\\n    /* f */ m.def("f", &f);\n',
            '#define A_PYBIND                     \\\n    /* f */ AITER_SET_STREAM_PYBIND; m.def("f", &f);\n',
        ),
        (
            '#define A_PYBIND m.def("f",                           \\\n                       &f);\n',
            '#define A_PYBIND AITER_SET_STREAM_PYBIND; m.def("f",  \\\n                       &f);\n',
        ),
        (
            '#define A_PYBIND m.def("f",   \\\n                       &f);\n',
            '#define A_PYBIND AITER_SET_STREAM_PYBIND; m.def("f", \\\n                       &f);\n',
        ),
        (
            '#define A_PYBIND\t\\\n\tm.def("f", &f);\t\\\n\tm.def("g", &g);\n',
            '#define A_PYBIND\t\\\n\tAITER_SET_STREAM_PYBIND; \\\n\tm.def("f", &f);\t\\\n\tm.def("g", &g);\n',
        ),
    ],
)
def test_setter_goes_first_into_the_macro(
    migrated: Callable[..., Path], eol: str, bom: bytes, before: str, after: str
) -> None:
    files = {
        HEADER: bom + (SETTER + before).replace("\n", eol).encode(),
        "csrc/a.cu": binding("A_PYBIND", include='#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n'),
    }
    root = migrated(files, {"module_a": ["a.cu"]})
    assert (root / HEADER).read_bytes() == bom + (SETTER + after).replace("\n", eol).encode()
    assert (root / "csrc/a.cu").read_text() == files["csrc/a.cu"]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  m.def("é", &f);\n}', '{\n  AITER_SET_STREAM_PYBIND;\n  m.def("é", &f);\n}'),
        ("{ // why\n\n    f(m);\n}", "{ // why\n    AITER_SET_STREAM_PYBIND;\n\n    f(m);\n}"),
        ("{\n#if X\n\tf(m);\n#endif\n}", "{\n\tAITER_SET_STREAM_PYBIND;\n#if X\n\tf(m);\n#endif\n}"),
        ('{ m.def("f", &f); }', '{ AITER_SET_STREAM_PYBIND; m.def("f", &f); }'),
        ("{ f(m);\n}", "{ AITER_SET_STREAM_PYBIND; f(m);\n}"),
        ("{ /* a\n b */\n    f(m);\n}", "{ /* a\n b */\n    AITER_SET_STREAM_PYBIND;\n    f(m);\n}"),
        ("{ /* a\n b */ f(m);\n}", "{ AITER_SET_STREAM_PYBIND; /* a\n b */ f(m);\n}"),
        ("{\n}", "{\n    AITER_SET_STREAM_PYBIND;\n}"),
        ("{}", "{ AITER_SET_STREAM_PYBIND;}"),
    ],
)
def test_setter_goes_into_the_body_when_rows_stand_there(
    migrated: Callable[..., Path], eol: str, before: str, after: str
) -> None:
    head = '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) '
    root = migrated({"csrc/a.cu": (head + before).replace("\n", eol)}, {"module_a": ["a.cu"]})
    assert (root / "csrc/a.cu").read_bytes().decode() == (head + after).replace("\n", eol)


def macro(name: str) -> str:
    return f'#define {name} m.def("{name}", &f);\n'


def test_the_first_macro_of_its_own_is_taken(migrated: Callable[..., Path]) -> None:
    root = migrated(
        {
            HEADER: SETTER + macro("SHARED_PYBIND") + macro("A_PYBIND") + macro("B_PYBIND"),
            "csrc/a.cu": binding("SHARED_PYBIND", "A_PYBIND", "B_PYBIND"),
            "csrc/other.cu": binding("SHARED_PYBIND"),
        },
        {"module_a": ["a.cu"], "module_other": ["other.cu"]},
        ["module_a"],
    )
    text = (root / HEADER).read_text()
    assert text.count("AITER_SET_STREAM_PYBIND;") == 1 and "A_PYBIND AITER_SET_STREAM_PYBIND; m.def" in text
    assert "AITER_SET_STREAM_PYBIND" not in (root / "csrc/a.cu").read_text()


def test_a_macro_that_another_module_expands_is_left_alone(migrated: Callable[..., Path]) -> None:
    header = SETTER + macro("SHARED_PYBIND")
    root = migrated(
        {HEADER: header, "csrc/a.cu": binding("SHARED_PYBIND"), "csrc/b.cu": binding("SHARED_PYBIND")},
        {"module_a": ["a.cu"], "module_b": ["b.cu"]},
        ["module_a"],
    )
    assert (root / HEADER).read_text() == header
    assert "{\n    AITER_SET_STREAM_PYBIND;\n    SHARED_PYBIND;\n}" in (root / "csrc/a.cu").read_text()
    assert "AITER_SET_STREAM_PYBIND" not in (root / "csrc/b.cu").read_text()


def test_a_macro_of_the_unit_serves_all_its_modules_once(migrated: Callable[..., Path]) -> None:
    root = migrated(
        {
            HEADER: SETTER + macro("SHARED_PYBIND") + macro("B_PYBIND"),
            "csrc/a.cu": binding("SHARED_PYBIND"),
            "csrc/b.cu": binding("B_PYBIND", "SHARED_PYBIND"),
        },
        {"module_a": ["a.cu"], "module_b": ["b.cu"]},
    )
    text = (root / HEADER).read_text()
    assert text.count("AITER_SET_STREAM_PYBIND;") == 1
    assert all('#include "aiter_stream.h"' in (root / f"csrc/{name}.cu").read_text() for name in "ab")


def test_no_module_gets_it_twice_through_two_macros(migrated: Callable[..., Path]) -> None:
    root = migrated(
        {
            HEADER: SETTER + macro("A_PYBIND") + macro("SHARED_PYBIND"),
            "csrc/a.cu": binding("A_PYBIND", "SHARED_PYBIND"),
            "csrc/b.cu": binding("SHARED_PYBIND"),
        },
        {"module_a": ["a.cu"], "module_b": ["b.cu"]},
    )
    assert "A_PYBIND AITER_SET_STREAM_PYBIND; m.def" in (root / HEADER).read_text()
    assert "SHARED_PYBIND AITER_SET" not in (root / HEADER).read_text()
    assert "AITER_SET_STREAM_PYBIND;" in (root / "csrc/b.cu").read_text()


def test_every_definition_of_the_macro_gets_it(migrated: Callable[..., Path]) -> None:
    header = SETTER + "#if X\n" + macro("A_PYBIND") + "#else\n" + macro("A_PYBIND") + "#endif\n"
    root = migrated({HEADER: header, "csrc/a.cu": binding("A_PYBIND")}, {"module_a": ["a.cu"]})
    assert (root / HEADER).read_text().count("A_PYBIND AITER_SET_STREAM_PYBIND; m.def") == 2


@pytest.mark.parametrize(
    "files",
    [
        {"csrc/a.cu": binding("AITER_SET_STREAM_PYBIND", "A_PYBIND"), HEADER: SETTER + macro("A_PYBIND")},
        {"csrc/a.cu": binding('m.def("_set_current_hip_stream", &f)', "A_PYBIND"), HEADER: SETTER + macro("A_PYBIND")},
        {
            "csrc/a.cu": binding("A_PYBIND"),
            HEADER: SETTER + '#define A_PYBIND AITER_SET_STREAM_PYBIND m.def("f", &f);\n',
        },
        {
            "csrc/a.cu": binding("A_PYBIND"),
            HEADER: SETTER + "#define A_PYBIND B_PYBIND\n#define B_PYBIND AITER_SET_STREAM_PYBIND\n",
        },
        {"csrc/a.cu": 'extern "C" void f();\n'},
    ],
)
def test_nothing_to_do(checkout: Checkout, files: Mapping[str, str]) -> None:
    root = checkout({HEADER: SETTER, "csrc/include/aiter_stream.h": "", **files}, {"module_a": ["a.cu"]})
    assert setters(root, ["module_a"]) == []


@pytest.mark.parametrize(
    ("includes", "expected"),
    [
        (
            '#include "rocm_ops.hpp"\n#include "f.h"\n',
            '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n#include "f.h"\n',
        ),
        (
            '#ifndef D\n#include "f.h"\n#include "rocm_ops.hpp" // rows\n#endif\n',
            '#ifndef D\n#include "f.h"\n#include "rocm_ops.hpp" // rows\n#include "aiter_stream.h"\n#endif\n',
        ),
        (
            '#include <vector>\n#include "f.h"\n',
            '#include <vector>\n#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n#include "f.h"\n',
        ),
        (
            '/* a\n b */ #include "f.h"\n',
            '/* a\n b */ #include "rocm_ops.hpp"\n#include "aiter_stream.h"\n#include "f.h"\n',
        ),
        (
            '#include \\\n "rocm_ops.hpp" /* a\n b */\n#include "f.h"\n',
            '#include \\\n "rocm_ops.hpp" /* a\n b */\n#include "aiter_stream.h"\n#include "f.h"\n',
        ),
        ("", '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n'),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_headers_that_the_setter_needs(
    migrated: Callable[..., Path], includes: str, expected: str, eol: str, bom: bytes
) -> None:
    body = 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n{\n%s    m.def("f", &f);\n}\n'
    before = (includes + body % "").replace("\n", eol).encode()
    after = (expected + body % "    AITER_SET_STREAM_PYBIND;\n").replace("\n", eol).encode()
    root = migrated({"csrc/a.cu": bom + before, "csrc/f.h": ""}, {"module_a": ["a.cu"]})
    assert (root / "csrc/a.cu").read_bytes() == bom + after


OPS, DEEP = "csrc/include/ops.h", "csrc/include/deep.h"
SEVERAL = {
    HEADER: SETTER + macro("A_PYBIND") + macro("B_PYBIND") + macro("C_PYBIND"),
    "csrc/include/aiter_stream.h": "",
    OPS: '#include "deep.h"\nvoid f();\n',
    DEEP: "",
    **{
        f"csrc/{m}.cu": binding(f"{m.upper()}_PYBIND", include='#include "rocm_ops.hpp"\n#include "ops.h"\n')
        for m in "ab"
    },
    "csrc/c.cu": binding("C_PYBIND", include='#include "rocm_ops.hpp"\n#include "deep.h"\n'),
}


def places_of_the_include(root: Path, unit: str, edited: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """(file, headers that its finding requires) for what is said under TL704."""
    project = load(root)
    modules = [m for m in project.modules if m.name[-1] in unit]
    read = lambda path: read_source(root, path)  # noqa: E731
    found = stream_setters(project, modules, read, graph_of(project), edited=edited)
    return sorted((f.path, f.requires) for f in found if f.code == "TL704")


def test_a_header_of_several_binding_sources_that_changes_anyway_brings_the_stream(checkout: Checkout) -> None:
    root = checkout(SEVERAL, {f"module_{m}": [f"{m}.cu"] for m in "abc"})
    assert places_of_the_include(root, "ab", [OPS]) == [(OPS, ("aiter_stream.h",))]
    assert places_of_the_include(root, "abc", [OPS]) == [("csrc/c.cu", ()), (OPS, ("aiter_stream.h",))]


@pytest.mark.parametrize(
    ("unit", "edited"),
    [
        ("a", [OPS]),  # one source: it asks for itself
        ("ab", []),  # the header stays as it is
        ("ab", [DEEP]),  # they reach it, but do not include it
        ("ac", [OPS, DEEP]),  # no header that both include
    ],
)
def test_otherwise_each_binding_source_includes_the_stream(checkout: Checkout, unit: str, edited: list[str]) -> None:
    root = checkout(SEVERAL, {f"module_{m}": [f"{m}.cu"] for m in "abc"})
    assert places_of_the_include(root, unit, edited) == [(f"csrc/{m}.cu", ()) for m in unit]


def test_a_header_that_is_dropped_does_not_count_as_reached(checkout: Checkout) -> None:
    files = {
        HEADER: SETTER + macro("A_PYBIND"),
        "csrc/include/aiter_stream.h": "",
        "csrc/include/interop.h": '#include "aiter_stream.h"\n',
        "csrc/a.cu": binding("A_PYBIND", include='#include "rocm_ops.hpp"\n#include "interop.h"\n'),
    }
    root = checkout(files, {"module_a": ["a.cu"]})
    assert [f.code for f in setters(root, ["module_a"])] == ["TL702"]
    dropped = frozenset({"csrc/include/interop.h"})
    assert [f.code for f in setters(root, ["module_a"], dropped)] == ["TL702", "TL704"]


@pytest.mark.parametrize(
    ("header", "variable", "reason"),
    [(macro("A_PYBIND"), "m", "has no AITER_SET_STREAM_PYBIND"), (SETTER, "mod", "is called mod")],
)
def test_blockers(checkout: Checkout, header: str, variable: str, reason: str) -> None:
    text = f'#include "rocm_ops.hpp"\nPYBIND11_MODULE(n, {variable}) {{ {variable}.def("f", &f); }}\n'
    root = checkout({HEADER: header, "csrc/a.cu": text}, {"module_a": ["a.cu"]})
    (finding,) = setters(root, ["module_a"])
    assert (finding.code, finding.blocks, finding.edits) == ("TL590", True, ())
    assert reason in finding.message and finding.help
