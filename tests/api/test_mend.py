"""`migrate --select` with codes that a check looks for: units, proof, writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lints.conftest import CONFIG, lay_out
from torchless import cli
from torchless.api import MigrateOptions, MigrateResult, UsageError, migrate
from torchless.model import UnitStatus
from torchless.report.outcome import judge

ITFS = "csrc/include/py_itfs_common.h"
HELPERS = """#pragma once
#include "aiter_hip_common.h"
#include <torch/all.h>
inline at::ScalarType get_torch_fp8() { return at::ScalarType::Float8_e4m3fn; }
"""
SOURCE = "csrc/kernels/scale.cu"
PLAIN = '#include "py_itfs_common.h"\nint scale(int n) { return n; }\n'


def mended(root: Path, *select: str, **options: object) -> MigrateResult:
    settings = {"paths": (".",), "select": select or ("TL111",), "cache": False, **options}
    return migrate(MigrateOptions(**settings), root, lambda stage, done, total: None)  # type: ignore[arg-type]


def statuses(result: MigrateResult) -> Mapping[str, UnitStatus]:
    return {unit.name: unit.status for unit in result.units}


def test_a_finding_becomes_a_unit_that_is_proved(tmp_path: Path) -> None:
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN})
    result = mended(tmp_path)
    assert statuses(result) == {f"TL111 {SOURCE}": UnitStatus.MIGRATED}
    assert {path: change.new for path, change in result.changes.items()} == {
        SOURCE: PLAIN[len(PLAIN.split("\n")[0]) + 1 :].encode()
    }
    assert result.found == "1 place to mend"
    assert judge(result, written=False).exit_code == 1
    assert judge(result, written=True).exit_code == 0


@pytest.mark.parametrize("end", ["", "\n", " // behind", "\n// the end", "\r\n", "\n/* the end */"])
def test_however_the_file_ends_its_edit_is_seen(tmp_path: Path, end: str) -> None:
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN.rstrip("\n") + end})
    assert statuses(mended(tmp_path)) == {f"TL111 {SOURCE}": UnitStatus.MIGRATED}


def test_it_is_left_alone_unless_selected(tmp_path: Path) -> None:
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN})
    result = mended(tmp_path, "TL101")
    assert not any(unit.name.startswith("TL111") for unit in result.units)
    assert SOURCE not in result.changes


def test_what_does_not_compile_without_the_line_is_backed_out(tmp_path: Path) -> None:
    # no table of names knows std::invoke, and <functional> came with torch
    broken = '#include "py_itfs_common.h"\nint run(int n) { return std::invoke([](int m) { return m; }, n); }\n'
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN, "csrc/kernels/broken.cu": broken})
    result = mended(tmp_path)
    assert statuses(result) == {
        "TL111 csrc/kernels/broken.cu": UnitStatus.BACKED_OUT,
        f"TL111 {SOURCE}": UnitStatus.MIGRATED,
    }
    assert set(result.changes) == {SOURCE}
    told = [f for f in result.units[0].findings if f.code == "TL008"]
    assert told and all("invoke" in f.message and f.path == "csrc/kernels/broken.cu" for f in told)
    assert judge(result, written=False).exit_code == 3


def test_a_header_is_proved_in_every_unit_that_reads_it(tmp_path: Path) -> None:
    header = '#pragma once\n#include "py_itfs_common.h"\nint scale(int n);\n'
    user = '#include "scale.h"\nint other(int n) { return scale(std::invoke([](int m) { return m; }, n)); }\n'
    lay_out(tmp_path, {ITFS: HELPERS, "csrc/include/scale.h": header, SOURCE: user})
    result = mended(tmp_path)
    assert statuses(result) == {"TL111 csrc/include/scale.h": UnitStatus.BACKED_OUT}
    assert not result.changes


def test_what_no_check_sees_is_said(tmp_path: Path) -> None:
    macro = "#define VECTOR(x) (16 / sizeof((x).dtype()))\n"
    text = '#include "aiter_tensor.h"\n' + macro + "size_t scale(aiter_tensor_t& x) { return %s; }\n"
    lay_out(tmp_path, {SOURCE: text % "0", "csrc/kernels/seen.cu": text % "VECTOR(x)"})
    result = mended(tmp_path, "TL236", unsafe=True)
    assert statuses(result) == {
        f"TL236 {SOURCE}": UnitStatus.UNCHECKED,
        "TL236 csrc/kernels/seen.cu": UnitStatus.MIGRATED,
    }
    assert [f.message for f in result.units[0].findings if f.code == "TL007"] == [
        f"no check sees the edits in {SOURCE}"
    ]
    assert set(result.changes) == {SOURCE, "csrc/kernels/seen.cu"}  # --unsafe makes them all the same


def test_unsafe_edits_wait_for_unsafe(tmp_path: Path) -> None:
    text = "#include <torch/all.h>\n#include <ATen/autocast_mode.h>\nint f(torch::Tensor& x) { return x.dim(); }\n"
    lay_out(tmp_path, {SOURCE: text})
    result = mended(tmp_path)
    assert statuses(result) == {f"TL111 {SOURCE}": UnitStatus.CLEAN}
    assert not result.changes
    assert set(mended(tmp_path, unsafe=True).changes) == {SOURCE}


def test_what_is_only_shown_is_told(tmp_path: Path) -> None:
    text = '#ifdef USE_ROCM\n#include "py_itfs_common.h"\n#endif\nint f();\n'
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: text})
    result = mended(tmp_path)
    assert not result.units and not result.changes
    assert [(f.code, f.path) for f in result.findings] == [("TL111", SOURCE)]


COMMON = """#pragma once
#if !ENABLE_CK
#include <utility>
#else
#include "ck_tile/core.hpp"
#endif
#define HIP_CALL(x) (x)
"""


def test_each_module_of_the_configuration_is_a_unit(tmp_path: Path) -> None:
    files = {
        "csrc/include/aiter_hip_common.h": COMMON,
        "csrc/include/word.h": "#pragma once\n#if ENABLE_CK\nusing word = int;\n#endif\n",
        "csrc/kernels/a.cu": '#include "aiter_hip_common.h"\nint a() { return HIP_CALL(1); }\n',
        "csrc/kernels/b.cu": '#include "aiter_hip_common.h"\n#include "word.h"\nword b() { return HIP_CALL(1); }\n',
    }
    lay_out(tmp_path, files, {"module_a": ["csrc/kernels/a.cu"], "module_b": ["csrc/kernels/b.cu"]})
    assert not mended(tmp_path, "TL115").changes
    result = mended(tmp_path, "TL115", unsafe=True)
    assert {unit.name: (unit.modules, unit.status) for unit in result.units} == {
        f"TL115 {CONFIG} module_a": (("module_a",), UnitStatus.MIGRATED),
        f"TL115 {CONFIG} module_b": (("module_b",), UnitStatus.BACKED_OUT),
    }
    flags = {name: entry["flags_extra_cc"] for name, entry in json.loads(result.changes[CONFIG].new).items()}
    assert flags == {"module_a": ["'-DENABLE_CK=0'"], "module_b": []}


def test_a_file_that_a_migration_edits_is_left_for_the_next_run(mini_aiter: Path) -> None:
    source = mini_aiter / "csrc/kernels/scale_kernels.cu"
    source.write_text("#include <c10/util/irange.h>\n" + source.read_text())
    free = mini_aiter / "csrc/kernels/free.cu"
    free.write_text("#include <torch/all.h>\nint free_of_it(int n) { return n; }\n")
    config = json.loads((mini_aiter / CONFIG).read_text())
    config["module_free"] = {"srcs": ["f'{AITER_CSRC_DIR}/kernels/free.cu'"]}
    (mini_aiter / CONFIG).write_text(json.dumps(config, indent=4))
    result = mended(mini_aiter, "TL")
    assert result.changes["csrc/kernels/free.cu"].new == b"int free_of_it(int n) { return n; }\n"
    assert statuses(result)["TL111 csrc/kernels/free.cu"] is UnitStatus.MIGRATED
    assert any("csrc/kernels/scale_kernels.cu: a migration edits it; run again for TL111" in n for n in result.notes)
    assert b"irange" not in result.changes["csrc/kernels/scale_kernels.cu"].new  # the migration took it out


def test_write_twice_then_undo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN})
    monkeypatch.chdir(tmp_path)
    command = ["migrate", "--select", "TL111", "--write", "--no-cache", "."]
    assert cli.main(command) == 0
    assert (tmp_path / SOURCE).read_text() == "int scale(int n) { return n; }\n"
    assert cli.main(command) == 0
    assert "Nothing to do." in capsys.readouterr().err
    assert cli.main(["undo"]) == 0
    assert (tmp_path / SOURCE).read_text() == PLAIN


def test_remembered_results_are_the_same(tmp_path: Path) -> None:
    lay_out(tmp_path, {ITFS: HELPERS, SOURCE: PLAIN})
    first = mended(tmp_path, cache=True)
    again = mended(tmp_path, cache=True)
    assert (again.units, again.changes, again.edits) == (first.units, dict(first.changes), first.edits)
    (tmp_path / SOURCE).write_text(PLAIN.replace("return n", "return int(get_torch_fp8())"))
    assert not mended(tmp_path, cache=True).units


def test_bad_input(tmp_path: Path) -> None:
    lay_out(tmp_path, {SOURCE: PLAIN})
    with pytest.raises(UsageError):
        mended(tmp_path, paths=("nowhere",))
