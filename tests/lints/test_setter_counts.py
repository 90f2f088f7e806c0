from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, configuration, findings_in, lay_out, mend

TU = "csrc/pybind/a_pybind.cu"
OPS = "aiter/ops/a.py"
DEVELOP = '@compile_ops("module_example", develop=True)\ndef f(out: Tensor) -> None: ...\n'
PLAIN = '@compile_ops("module_example")\ndef f(out: Tensor) -> None: ...\n'


def binding(*statements: str, above: str = "") -> str:
    body = "".join(f"    {s}\n" for s in statements)
    return f'#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n{above}PYBIND11_MODULE(N, m)\n{{\n{body}}}\n'


ROW = 'm.def("f", &f);'
SETTER = "AITER_SET_STREAM_PYBIND;"
SPELLED = 'm.def("_set_current_hip_stream", [](int64_t s) { set(s); });'
CARRYING = f"#define ROWS_PYBIND {SETTER} {ROW}\n"
BARE = f"#define ROWS_PYBIND {ROW}\n"


@pytest.mark.parametrize(
    ("statements", "above", "ops", "codes"),
    [
        ((ROW,), "", DEVELOP, ["TL710"]),
        ((ROW,), "", PLAIN, []),
        ((ROW,), "", "", []),
        ((ROW,), "", DEVELOP.replace("develop=True", 'ffi_type="ctypes", develop=True'), []),
        ((ROW,), "", DEVELOP.replace("module_example", "module_other"), []),
        ((SETTER, ROW), "", DEVELOP, []),
        ((SPELLED, ROW), "", DEVELOP, []),
        (("ROWS_PYBIND",), CARRYING, DEVELOP, []),
        (("ROWS_PYBIND",), BARE, DEVELOP, ["TL710"]),
        ((SETTER, "ROWS_PYBIND"), CARRYING, DEVELOP, ["TL711"]),
        ((SETTER, "ROWS_PYBIND"), CARRYING, "", ["TL711"]),
        ((SETTER, "ROWS_PYBIND"), BARE, DEVELOP, []),
        ((SETTER, ROW, SETTER), "", DEVELOP, ["TL711"]),
        ((SETTER, SPELLED), "", DEVELOP, ["TL711"]),
        ((SETTER, SETTER, "ROWS_PYBIND"), CARRYING, DEVELOP, ["TL711", "TL711"]),
        (("A_PYBIND", "ROWS_PYBIND"), CARRYING + f"#define A_PYBIND {SETTER}\n", DEVELOP, ["TL711"]),
        ((SETTER, "A_PYBIND"), CARRYING + "#define A_PYBIND ROWS_PYBIND\n", DEVELOP, ["TL711"]),
        ((SETTER, "ROWS_PYBIND"), f"#if X\n{CARRYING}#else\n{BARE}#endif\n", DEVELOP, []),
        ((SETTER, "#if X", SETTER, "#endif"), "", DEVELOP, []),
        ((SETTER, "#ifdef X", "ROWS_PYBIND", "#endif"), CARRYING, DEVELOP, []),
        ((f"// {SETTER}", SETTER, f'log("{SETTER}");'), "", DEVELOP, []),
    ],
)
def test_how_often_it_is_registered(
    found: Found, statements: tuple[str, ...], above: str, ops: str, codes: list[str]
) -> None:
    files = {TU: binding(*statements, above=above), OPS: ops}
    assert [f.code for f in found(files, "TL710", "TL711")] == codes


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((SETTER, "ROWS_PYBIND"), ("ROWS_PYBIND",)),
        (("AITER_SET_STREAM_PYBIND", "ROWS_PYBIND"), ("ROWS_PYBIND",)),
        ((f"{SETTER} ROWS_PYBIND",), ("ROWS_PYBIND",)),
        ((f"{SETTER} // the stream", "ROWS_PYBIND"), ("// the stream", "ROWS_PYBIND")),
        (("ROWS_PYBIND", SETTER), ("ROWS_PYBIND",)),
        ((f"ROWS_PYBIND {SETTER}",), ("ROWS_PYBIND ",)),
    ],
)
def test_one_too_many_goes(
    tmp_path: Path, found: Found, before: tuple[str, ...], after: tuple[str, ...], eol: str
) -> None:
    text, wanted = (binding(*rows, above=CARRYING).replace("\n", eol).encode() for rows in (before, after))
    mend(tmp_path, found({TU: text, OPS: DEVELOP}, "TL711"))
    assert (tmp_path / TU).read_bytes() == wanted
    assert findings_in(tmp_path, ["TL710", "TL711"]) == []


def test_a_macro_that_others_expand_is_left_alone(tmp_path: Path, found: Found) -> None:
    other = "csrc/pybind/b_pybind.cu"
    shared = '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n#include "shared.h"\nPYBIND11_MODULE(N, m) { %s }\n'
    files = {
        "csrc/pybind/shared.h": BARE,
        TU: shared % "ROWS_PYBIND",
        other: shared % "ROWS_PYBIND",
        OPS: DEVELOP.replace("module_example", "module_a"),
    }
    findings = found(files, "TL710", modules={"module_a": [TU], "module_b": [other]})
    mend(tmp_path, findings)
    assert (tmp_path / TU).read_text() == shared % "AITER_SET_STREAM_PYBIND; ROWS_PYBIND"
    assert all((tmp_path / path).read_text() == text for path, text in files.items() if path != TU)


def test_without_the_macro_there_is_no_edit(tmp_path: Path, found: Found) -> None:
    header = {"csrc/include/rocm_ops.hpp": "#pragma once\n"}
    (finding,) = found({**header, TU: binding(ROW), OPS: DEVELOP}, "TL710")
    assert not finding.edits and "has no AITER_SET_STREAM_PYBIND" in finding.message


def test_where_only_python_was_asked_about(tmp_path: Path, found: Found) -> None:
    (finding,) = found({TU: binding(ROW), OPS: DEVELOP}, "TL710", paths=[OPS])
    assert (finding.path, finding.line) == (OPS, 1)
    assert {edit.path for edit in finding.edits} == {TU}
    assert findings_in(tmp_path, ["TL710"], [TU])[0].path == TU


def test_nothing_about_files_that_were_not_asked_about(tmp_path: Path) -> None:
    other = "csrc/kernels/b.cu"
    files = {TU: binding(ROW), OPS: DEVELOP.replace("module_example", "module_a"), other: "int b();\n"}
    lay_out(
        tmp_path, {**files, "aiter/jit/optCompilerConfig.json": configuration({"module_a": [TU], "module_b": [other]})}
    )
    assert findings_in(tmp_path, ["TL7"], [other]) == []
    assert [f.code for f in findings_in(tmp_path, ["TL7"], [TU])] == ["TL710"]
