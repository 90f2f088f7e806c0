from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchless.project.discover import load
from torchless.project.modules import (
    directory_names,
    entry_spans,
    interpret,
    modules_of,
    orphans,
    read_modules,
    tu_specs,
)

CONFIG = "aiter/jit/optCompilerConfig.json"
WriteTree = Callable[[Mapping[str, "str | bytes"]], Path]
WriteConfig = Callable[..., Path]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("f'{AITER_CSRC_DIR}/kernels/a.cu'", "csrc/kernels/a.cu"),
        ("f'{AITER_META_DIR}/hsa' + '/x'", "./hsa/x"),
        ('f"{CK_DIR}/example"', "3rdparty/composable_kernel/example"),
        ("'-DENABLE_CK=0'", "-DENABLE_CK=0"),
        ("f'-DX={os.environ.get(\"X\", 2)}'", "-DX=2"),
        ("True", True),
        ("None", None),
    ],
)
def test_subset_is_interpreted(tmp_path: Path, expression: str, value: object) -> None:
    assert interpret(expression, directory_names(tmp_path)) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('touch PWNED')",
        "f'{AITER_CSRC_DIR!r}/a.cu'",
        "f'{UNKNOWN}/a.cu'",
        "'a' if get_gfx() == 'gfx1250' else ''",
        "'a' * 1000000000",
        "f'{get_gfx()}'",
        "'unclosed",
        "",
        "1 +",
        "(" * 500,
    ],
)
def test_anything_else_is_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError):
        interpret(expression, directory_names(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_module_is_described(write_config: WriteConfig) -> None:
    root = write_config(
        {
            "module_a": {
                "srcs": [
                    "f'{AITER_CSRC_DIR}/pybind/a_pybind.cu'",
                    "f'{AITER_CSRC_DIR}/kernels'",
                    "f'{AITER_CSRC_DIR}/include/a.cuh'",
                    "f'{CK_DIR}/example/absent.cpp'",
                    "f'{CK_DIR}/example/there.cpp'",
                ],
                "flags_extra_cc": ["'-DENABLE_CK=0'", "'-DA=1 -DB'"],
                "flags_extra_hip": ["'-ffast-math'", "'-DA=2'"],
                "extra_include": ["f'{AITER_CSRC_DIR}/a/include'", "f'{AITER_CSRC_DIR}/absent'"],
                "blob_gen_cmd": "''",
            },
            "module_b": {"srcs": [], "torch_exclude": "True", "blob_gen_cmd": ["f'{AITER_META_DIR}/gen.py'", "''"]},
        },
        {
            "3rdparty/composable_kernel/example/there.cpp": "",
            "csrc/pybind/a_pybind.cu": "",
            "csrc/kernels/z.cu": "",
            "csrc/kernels/b.cpp": "",
            "csrc/kernels/notes.txt": "",
            "csrc/kernels/deeper/c.cu": "",
            "csrc/include/a.cuh": "",
            "csrc/include/torch/t.h": "",
            "csrc/a/include/a.h": "",
        },
    )
    (a, b), problems = read_modules(root, CONFIG)
    assert problems == []
    assert a.sources == ("csrc/pybind/a_pybind.cu", "csrc/kernels/b.cpp", "csrc/kernels/z.cu")
    assert a.vendored_sources == ("3rdparty/composable_kernel/example/there.cpp",)
    assert a.missing_sources == ("3rdparty/composable_kernel/example/absent.cpp",)
    assert a.include_dirs == ("csrc/include", "csrc/a/include", "csrc/include/torch")
    assert (a.enable_ck, a.defines, a.has_generator) == (False, ("A=2", "B"), False)
    assert (b.enable_ck, b.torch_exclude, b.has_generator) == (True, True, True)
    assert b.include_dirs == ("csrc/include",)
    data = (root / CONFIG).read_bytes()
    entry = data[a.entry_start : a.entry_end].decode()
    assert json.loads("{" + entry + "}").keys() == {"module_a"}
    assert entry.startswith('"module_a"') and entry.endswith("}")


def test_uninterpreted_sources_and_defines_are_reported_but_harmless_flags_are_not(write_config: WriteConfig) -> None:
    root = write_config(
        {
            "module_a": {
                "srcs": ["f'{get_gfx()}/a.cu'"],
                "flags_extra_hip": ["'-DX' if HIP else ''", "'-mllvm x' if HIP else ''", 7],
            }
        }
    )
    (module,), problems = read_modules(root, CONFIG)
    assert module.unread == ("f'{get_gfx()}/a.cu'", "'-DX' if HIP else ''", "'-mllvm x' if HIP else ''")
    assert [message for _, message in problems] == [
        "module_a: srcs: expression is not interpreted: f'{get_gfx()}/a.cu'",
        "module_a: flags_extra_hip: expression is not interpreted: '-DX' if HIP else ''",
    ]


@pytest.mark.parametrize("spelled", ["f'{AITER_CSRC_DIR}/../../x.cu'", "'/etc/x.cu'", "'..'"])
def test_sources_outside_of_the_checkout_are_not_taken(write_config: WriteConfig, spelled: str) -> None:
    root = write_config({"module_a": {"srcs": [spelled]}})
    (module,), problems = read_modules(root, CONFIG)
    assert module.sources == module.missing_sources == ()
    assert "lies outside of the checkout" in problems[0][1]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"a": 1}', "\xff"])
def test_unreadable_configuration_is_a_problem(write_tree: WriteTree, text: str) -> None:
    root = write_tree({CONFIG: text.encode("latin-1")})
    modules, problems = read_modules(root, CONFIG)
    assert modules == []
    assert len(problems) == 1 and "\n" not in problems[0][1]


def test_entry_spans_survive_bom_crlf_and_brackets_in_strings() -> None:
    data = b'\xef\xbb\xbf{\r\n  "a": {"x": "}], \\" {"},\r\n  "\xc3\xa9": [1, {"b": 2}]  ,\r\n  "c": 3\r\n}\r\n'
    spans = entry_spans(data)
    assert [name for name, _, _ in spans] == ["a", "é", "c"]
    assert [data[start:end] for _, start, end in spans] == [
        b'"a": {"x": "}], \\" {"}',
        b'"\xc3\xa9": [1, {"b": 2}]',
        b'"c": 3',
    ]


def test_the_last_of_two_descriptions_counts(write_tree: WriteTree) -> None:
    text = '{"m": {"srcs": []}, "m": {"srcs": [], "torch_exclude": "True"}}'
    root = write_tree({CONFIG: text})
    (module,), problems = read_modules(root, CONFIG)
    assert module.torch_exclude and text[module.entry_start : module.entry_end].endswith('"True"}')
    assert "described twice" in problems[0][1]


def test_specs_cover_sources_passes_and_ck_values(write_config: WriteConfig) -> None:
    root = write_config(
        {
            "module_a": {"srcs": ["f'{AITER_CSRC_DIR}/a.cu'"], "flags_extra_cc": ["'-DENABLE_CK=0'", "'-DA'"]},
            "module_b": {"srcs": ["f'{AITER_CSRC_DIR}/a.cu'"]},
        },
        {"csrc/a.cu": "", "csrc/lonely.cu": "", "csrc/include/a.h": ""},
    )
    project = load(root)
    specs = tu_specs(project.modules[0])
    assert [(s.source, s.device, s.enable_ck, s.defines) for s in specs] == [
        ("csrc/a.cu", False, False, ("A",)),
        ("csrc/a.cu", True, False, ("A",)),
    ]
    assert len(tu_specs(project.modules[1], devices=(False,), enable_ck=(False, True))) == 2
    assert [m.name for m in modules_of(project)["csrc/a.cu"]] == ["module_a", "module_b"]
    assert orphans(project) == ["csrc/lonely.cu"]
