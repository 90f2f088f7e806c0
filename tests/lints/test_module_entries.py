from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lints.conftest import CONFIG, Found, configuration, findings_in

SOURCE = "csrc/kernels/a.cu"
TU = "csrc/pybind/a_pybind.cu"
CORE = 'def build_module():\n    flags = ["-mllvm -x=0", f"-mllvm -y=true", "-mllvm --z-z=3", "-O3"]\n'
DEVELOP = '@compile_ops("module_a", develop=True)\ndef f(out: Tensor) -> None: ...\n'


def entry(sources: list[str], **more: object) -> str:
    modules = json.loads(configuration({"module_a": sources}))
    modules["module_a"].update(more)
    return json.dumps(modules, indent=2)


def flagged(config: str, core: str = CORE) -> dict[str, str]:
    return {SOURCE: "int a();\n", "aiter/jit/core.py": core, CONFIG: config}


@pytest.mark.parametrize(
    ("flag", "reported", "wins"),
    [
        ("'-mllvm -x=1'", True, True),
        ("'-mllvm -x'", True, False),  # so does this
        ("'-mllvm --x=1'", True, False),  # sorts before -x=0
        ("'-mllvm -x=0'", False, False),
        ("'-mllvm -x=false'", False, False),
        ("'-mllvm -y=false'", True, False),
        ("'-mllvm -y'", False, False),
        ("'-mllvm -z-z=4'", True, True),
        ("'-mllvm -other=1'", False, False),
        ("'-DX' if 1 else '-mllvm -x=1'", True, True),
        ("'-mllvm -x=1'  # x: 3% on gfx950", False, False),
        ("'-mllvm -x=1'  # x is better", True, True),
        ("'-mllvm -x=1'  # 3% on gfx950", True, True),
    ],
)
def test_flags(found: Found, flag: str, reported: bool, wins: bool) -> None:
    findings = found(flagged(entry([SOURCE], flags_extra_hip=[flag])), "TL612")
    assert len(findings) == reported
    for finding in findings:
        assert ("no effect" in finding.message) is not wins
        assert [(r.path, r.line) for r in finding.related] == [("aiter/jit/core.py", 2)]


def test_where_a_flag_stands(tmp_path: Path, found: Found) -> None:
    per_source = {"a.cu": ["-mllvm -x=1", "-O1"], "b.cu": ["-mllvm -y=0"]}
    config = entry([SOURCE], flags_extra_cc=["'-mllvm -x=2'"], flags_extra_hip_per_source=per_source)
    findings = found(flagged(config), "TL612")
    assert [config[f.start : f.end] for f in findings] == ["-mllvm -x=2", "-mllvm -x=1", "-mllvm -y=0"]
    assert ["no effect" in f.message for f in findings] == [True, False, False]


def test_a_key_of_its_own_records(found: Found) -> None:
    config = entry([SOURCE], flags_extra_hip=["'-mllvm -x=1'"], flags_note="'-x=1: 12.1 to 11.3 us on gfx950'")
    assert found(flagged(config), "TL612") == []


@pytest.mark.parametrize("core", ["", "def build_module(:\n", "# -mllvm -x=0\n", '"-O3"\n'])
def test_without_flags_of_all_modules(found: Found, core: str) -> None:
    assert found(flagged(entry([SOURCE], flags_extra_hip=["'-mllvm -x=1'"]), core), "TL612") == []


def test_modules_that_were_not_asked_about(tmp_path: Path, found: Found) -> None:
    files = {**flagged(entry([SOURCE], flags_extra_hip=["'-mllvm -x=1'"])), "csrc/kernels/b.cu": "int b();\n"}
    assert found(files, "TL612", paths=["csrc/kernels/b.cu"]) == []
    assert len(findings_in(tmp_path, ["TL612"], [SOURCE])) == 1


def bound(name: str = "TORCH_EXTENSION_NAME", include: str = '#include "rocm_ops.hpp"\n') -> str:
    return f'{include}PYBIND11_MODULE({name}, m) {{ m.def("f", &f); }}\n'


@pytest.mark.parametrize(
    ("binding", "more", "reported"),
    [
        (bound(), {}, True),
        (bound("module_a"), {}, True),
        (bound(), {"torch_exclude": "True"}, False),
        (bound(), {"torch_exclude": "False"}, True),
        (bound(), {"is_python_module": "False"}, False),
        (bound(), {"is_python_module": "True"}, True),
        (bound(include='#include "rocm_ops.hpp"\n#include <c10/util/Half.h>\n'), {}, False),
        (bound(include="#ifdef __HIP_DEVICE_COMPILE__\n#include <torch/all.h>\n#endif\n"), {}, False),
    ],
)
def test_modules_without_torch(found: Found, binding: str, more: dict[str, object], reported: bool) -> None:
    files = {TU: binding, "aiter/ops/a.py": DEVELOP, CONFIG: entry([TU], **more)}
    assert len(found(files, "TL611")) == reported


@pytest.mark.parametrize(
    ("files", "more", "obstacle"),
    [
        ({TU: bound()}, {}, "PYBIND11_MODULE(TORCH_EXTENSION_NAME, ...)"),
        (
            {TU: bound("module_a", '#include "only_here.h"\n'), "csrc/include/torch/only_here.h": "void f();\n"},
            {},
            "only_here.h is found through -I csrc/include/torch",
        ),
        (
            {
                TU: bound("module_a", '#include "fp4.h"\n'),
                "csrc/include/fp4.h": "#ifdef TORCH_Float4_e2m1fn_x2\n#endif\n",
            },
            {},
            "csrc/include/fp4.h asks for TORCH_Float4_e2m1fn_x2",
        ),
        (
            {TU: bound("module_a")},
            {"blob_gen_cmd": "f'{AITER_CSRC_DIR}/gen.py'"},
            "the sources that its generator prints",
        ),
        ({TU: "void f();\n"}, {}, "its binding is not in the checkout"),
    ],
)
def test_what_is_in_the_way(found: Found, files: dict[str, str], more: dict[str, object], obstacle: str) -> None:
    ops = {"aiter/ops/a.py": DEVELOP, "csrc/gen.py": "print('int x;')\n"}
    (finding,) = found({**files, **ops, CONFIG: entry([TU], **more)}, "TL611")
    assert f"; in the way: {obstacle}" in finding.message


def test_nothing_in_the_way(found: Found) -> None:
    config = entry([TU])
    (finding,) = found({TU: bound("module_a"), "aiter/ops/a.py": DEVELOP, CONFIG: config}, "TL611")
    assert "in the way" not in finding.message
    assert config[finding.start : finding.end] == '"module_a"'


def test_a_generator_that_prints_torch(found: Found) -> None:
    files = {
        TU: bound(),
        "csrc/gen.py": "print('#include <torch/extension.h>')\n",
        "aiter/ops/a.py": DEVELOP,
        CONFIG: entry([TU], blob_gen_cmd="f'{AITER_CSRC_DIR}/gen.py'"),
    }
    assert found(files, "TL611") == []


def test_names_that_are_made_at_run_time(found: Found) -> None:
    ops = DEVELOP.replace("develop=True", "gen_func=g, develop=True")
    (finding,) = found({TU: bound(), "aiter/ops/a.py": ops, CONFIG: entry([TU])}, "TL611")
    assert "made at run time" in finding.related[0].message


def test_ctypes_modules_exclude_torch_anyway(tmp_path: Path, found: Found) -> None:
    ctypes = DEVELOP.replace("develop=True", 'ffi_type="ctypes"')
    assert found({TU: bound(), "aiter/ops/a.py": ctypes, CONFIG: entry([TU])}, "TL611") == []
    (tmp_path / "aiter/ops/a.py").write_text(ctypes + DEVELOP)
    assert "its ctypes ops build it so already" in findings_in(tmp_path, ["TL611"])[0].message
