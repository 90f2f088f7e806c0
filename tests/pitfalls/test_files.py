"""Files as they are on a disk, through the whole engine: spellings, links, modes, line ends, what changes meanwhile."""

from __future__ import annotations

import difflib
import os
import shutil
from pathlib import Path

import pytest

from tests.pitfalls.conftest import EXAMPLE, Command, Ran, add, look, run, snapshot
from torchless.model import UnitStatus
from torchless.text import writer

SHARED = """#pragma once
#include <torch/extension.h>

inline int64_t shared_rows(const torch::Tensor& x)
{
    TORCH_CHECK(x.is_cuda(), "shared_rows");
    return x.sizes()[0];
}
"""
SHARED_AFTER = """#pragma once
#include "aiter_tensor.h"
#include <cstdint>

inline int64_t shared_rows(const aiter_tensor_t& x)
{
    AITER_CHECK(x.is_gpu(), "shared_rows");
    return x.size(0);
}
"""
INCLUDES = {
    "plain": '#include "shared.h"',
    "dots": '#include "../include/../include/shared.h"',
    "linked": '#include "shared.h"\n#include "alias/shared.h"',
}
MIXED = (
    b"#include <torch/extension.h>\r\n"
    b"#include <hip/hip_runtime.h>\n"
    b"\r\n"
    b"// caf\xe9, \xe4\xb8\xad\xe6\x96\x87\r\n"
    b"void mixed(torch::Tensor& x,\n"
    b"           const torch::Tensor& y)\r\n"
    b"{\n"
    b'    TORCH_CHECK(x.is_cuda(), "\xc3\xa9: ", y.scalar_type()); // \xe9\r\n'
    b"    float* p = x.data_ptr<float>();\n"
    b"    p[0] = 1;\r\n"
    b"}"
)
MIXED_AFTER = (
    b'#include "aiter_tensor.h"\r\n'
    b"#include <hip/hip_runtime.h>\n"
    b"\r\n"
    b"// caf\xe9, \xe4\xb8\xad\xe6\x96\x87\r\n"
    b"void mixed(aiter_tensor_t& x,\n"
    b"           const aiter_tensor_t& y)\r\n"
    b"{\n"
    b'    AITER_CHECK(x.is_gpu(), "\xc3\xa9: ", AiterDtype_to_str(y.dtype())); // \xe9\r\n'
    b'    AITER_CHECK(x.dtype() == AITER_DTYPE_fp32, __func__, ": expected dtype fp32 for x");\n'
    b"    float* p = static_cast<float*>(x.data_ptr());\n"
    b"    p[0] = 1;\r\n"
    b"}"
)
CONDITIONAL = """#include <cmath>
#if P23_WIDE
#include <torch/all.h>
#include <vector>
#else
#include <torch/extension.h>
#endif

void conditional(torch::Tensor& x)
{
    TORCH_CHECK(x.dim() == 2);
}
"""
CONDITIONAL_AFTER = """#include "aiter_tensor.h"
#include <cmath>
#if P23_WIDE
#include <vector>
#else
#endif

void conditional(aiter_tensor_t& x)
{
    AITER_CHECK(x.dim() == 2);
}
"""
SEVERAL = """#include "aiter_tensor.h"
#include <torch/extension.h>
#if P05_WIDE
#include "aiter_hip_common.h"
#endif
#include "py_itfs_common.h"

void several(torch::Tensor& x)
{
    TORCH_CHECK(x.scalar_type() != torch_fp8, "several");
    const at::hip::OptionalHIPGuardMasqueradingAsCUDA device_guard(device_of(x));
    hipStream_t stream = at::hip::getCurrentHIPStream();
}
"""
SEVERAL_AFTER = """#include "aiter_tensor.h"
#if P05_WIDE
#include "aiter_hip_common.h"
#endif
#include "aiter_stream.h"

void several(aiter_tensor_t& x)
{
    AITER_CHECK(x.dtype() != AITER_DTYPE_fp8, "several");
    const HipDeviceGuard device_guard(x.device_id);
    hipStream_t stream = aiter::getCurrentHIPStream();
}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("files")
    root = Path(shutil.copytree(EXAMPLE, folder / "mini-aiter"))
    kernels = root / "csrc" / "kernels"
    add(root, {"csrc/include/shared.h": SHARED})
    for name, include in INCLUDES.items():
        add(
            root,
            {f"csrc/kernels/{name}.cu": f"{include}\nint64_t {name}(torch::Tensor& x) {{ return shared_rows(x); }}\n"},
        )
    (kernels / "alias").symlink_to("../include")
    (kernels / "loop").symlink_to("..")
    add(root, {"csrc/kernels/mixed.cu": MIXED, "csrc/kernels/conditional.cu": CONDITIONAL})
    add(root, {"csrc/kernels/several.cu": SEVERAL})
    vendored = "#include <torch/extension.h>\nvoid vendored(torch::Tensor& x) { TORCH_CHECK(x.is_cuda()); }\n"
    add(root, {"3rdparty/lib/vendored.cu": vendored, "csrc/3rdparty/vendored.cu": vendored})
    add(folder, {"outside/outside.cu": vendored})
    (root / "csrc/outside").symlink_to(folder / "outside")
    (root / "csrc/real").mkdir()
    (root / "csrc/include/scale.h").rename(root / "csrc/real/scale.h")
    (root / "csrc/include/scale.h").symlink_to("../real/scale.h")
    # one header and one source with two names each, and a copy that is a file of its own
    pair = SHARED.replace("shared_rows", "pair_rows").replace("#pragma once", '#pragma once\n#include "beside.h"')
    add(root, {"csrc/one/beside.h": "inline int beside() { return 1; }\n", "csrc/two/pair.h": pair})
    add(root, {"csrc/one/copy.h": pair.replace("pair_rows", "copy_rows")})
    os.link(root / "csrc/two/pair.h", root / "csrc/one/pair_again.h")
    for name, header in {"pair": "two/pair.h", "pair_again": "one/pair_again.h", "copy": "one/copy.h"}.items():
        rows = "copy_rows" if name == "copy" else "pair_rows"
        text = f'#include "../{header}"\nint64_t {name}(torch::Tensor& x) {{ return beside() + {rows}(x); }}\n'
        add(root, {f"csrc/kernels/{name}.cu": text})
    add(root, {"csrc/kernels/twice.cu": "#include <torch/all.h>\nvoid twice(torch::Tensor& x) { x.dim(); }\n"})
    os.link(kernels / "twice.cu", kernels / "twice_again.cu")
    (kernels / "mixed.cu").chmod(0o755)
    os.link(kernels / "mixed.cu", folder / "hard.cu")
    return run(root)


def test_p01_a_header_of_many_sources_is_edited_once(ran: Ran) -> None:
    assert ran.after["csrc/include/shared.h"].decode() == SHARED_AFTER
    edits = [e for e in ran.result.edits if e.path.endswith("shared.h")]
    assert {e.path for e in edits} == {"csrc/include/shared.h"}
    assert len(edits) == len(set(edits)) and {f.code for f in ran.unit("csrc/include/shared.h").findings} > {"TL202"}


def test_p02_a_file_has_one_name_however_it_is_reached(ran: Ran) -> None:
    for name, include in INCLUDES.items():
        after = f"{include}\nint64_t {name}(aiter_tensor_t& x) {{ return shared_rows(x); }}\n"
        assert ran.after[f"csrc/kernels/{name}.cu"].decode() == after
        assert ran.unit(f"csrc/kernels/{name}.cu") == ran.unit("csrc/include/shared.h")
    assert not [path for path in ran.result.changes if "alias" in path or "loop" in path]
    assert (ran.root / "csrc/kernels/alias").is_symlink()


def test_p02_hard_links_of_one_checkout_are_one_file(ran: Ran) -> None:
    unit = ran.unit("csrc/one/pair_again.h")  # the first of its names
    assert unit.status is UnitStatus.MIGRATED
    assert unit == ran.unit("csrc/kernels/pair.cu") == ran.unit("csrc/kernels/pair_again.cu")
    edits = [e for e in ran.result.edits if "twice" in e.path or "/pair" in e.path.replace("kernels/pair", "")]
    assert {e.path for e in edits} == {"csrc/one/pair_again.h", "csrc/kernels/twice.cu"}
    assert len(edits) == len(set(edits))
    for one, two in (("one/pair_again.h", "two/pair.h"), ("kernels/twice.cu", "kernels/twice_again.cu")):
        assert ran.after[f"csrc/{one}"] == ran.after[f"csrc/{two}"]
        assert b"aiter_tensor_t& x" in ran.after[f"csrc/{one}"]
        assert (ran.root / "csrc" / one).samefile(ran.root / "csrc" / two)


def test_p02_a_copy_is_another_file(ran: Ran) -> None:
    assert ran.unit("csrc/one/copy.h") == ran.unit("csrc/kernels/copy.cu") != ran.unit("csrc/one/pair_again.h")


def test_p05_no_include_comes_twice(ran: Ran) -> None:
    assert ran.after["csrc/kernels/several.cu"].decode() == SEVERAL_AFTER


def test_p06_p07_p08_mixed_line_ends_odd_bytes_and_no_last_line_end(ran: Ran) -> None:
    assert ran.after["csrc/kernels/mixed.cu"] == MIXED_AFTER


def test_p09_links_and_modes_stay(ran: Ran) -> None:
    assert (ran.root / "csrc/kernels/mixed.cu").stat().st_mode & 0o777 == 0o755
    assert (ran.root.parent / "hard.cu").samefile(ran.root / "csrc/kernels/mixed.cu")
    assert (ran.root.parent / "hard.cu").read_bytes() == MIXED_AFTER
    assert (ran.root / "csrc/include/scale.h").is_symlink()
    assert b"aiter_tensor_t& out" in (ran.root / "csrc/real/scale.h").read_bytes()
    assert {p for p in ran.result.changes if p.endswith("scale.h")} == {"csrc/real/scale.h"}


def test_p13_only_edited_lines_differ(ran: Ran) -> None:
    for path, change in ran.result.changes.items():
        old = change.old.splitlines(keepends=True)
        edits = [e for e in ran.result.edits if e.path == path] if path.endswith((".cu", ".h", ".hpp")) else []
        touched = {change.old.count(b"\n", 0, at) for e in edits for at in {e.start, max(e.start, e.end - 1)}}
        same = difflib.SequenceMatcher(None, old, change.new.splitlines(keepends=True), autojunk=False)
        gone = {i for tag, first, last, _, _ in same.get_opcodes() if tag != "equal" for i in range(first, last)}
        assert not edits or gone <= touched, path


def test_p14_vendored_code_and_what_lies_outside_is_left(ran: Ran) -> None:
    assert not [path for path in ran.changed if "vendored" in path or "outside" in path]
    assert "AITER_CHECK" not in (ran.root.parent / "outside/outside.cu").read_text()
    assert not [u for u in ran.result.units if "vendored" in u.name or "loop" in u.name]


def test_p23_includes_land_outside_of_conditions(ran: Ran) -> None:
    assert ran.after["csrc/kernels/conditional.cu"].decode() == CONDITIONAL_AFTER


def test_p43_nothing_is_copied(ran: Ran) -> None:
    assert ran.before.keys() == ran.after.keys()
    assert ran.unit("csrc/kernels/scale_kernels.cu").status is UnitStatus.MIGRATED


def test_p10_one_read_only_file_stops_the_write(mini_aiter: Path, command: Command) -> None:
    (mini_aiter / "csrc/include/rocm_ops.hpp").chmod(0o444)
    before = snapshot(mini_aiter)
    code, out, err = command("migrate", "csrc", "--write", cwd=mini_aiter)
    assert (code, out) == (2, b"")
    assert "csrc/include/rocm_ops.hpp is read-only; nothing was written" in err
    assert snapshot(mini_aiter) == before


def test_p11_a_file_that_changes_between_analysis_and_write_stops_it(mini_aiter: Path) -> None:
    result = look(mini_aiter)
    kernel = mini_aiter / "csrc/kernels/scale_kernels.cu"
    kernel.write_bytes(kernel.read_bytes() + b"// meanwhile\n")
    before = snapshot(mini_aiter)
    with pytest.raises(writer.WriteError, match=r"scale_kernels\.cu has changed since it was read"):
        writer.write_files(mini_aiter, result.changes)
    assert snapshot(mini_aiter) == before


def test_p12_write_twice_then_undo_gives_the_old_bytes(mini_aiter: Path, command: Command) -> None:
    before = snapshot(mini_aiter)
    assert command("migrate", "--module", "module_scale", "--write", cwd=mini_aiter)[0] == 0
    written = snapshot(mini_aiter)
    assert written != before
    code, _, err = command("migrate", "--module", "module_scale", "--write", cwd=mini_aiter)
    assert code == 0 and "Nothing to do" in err
    assert snapshot(mini_aiter) == written
    assert command("undo", cwd=mini_aiter)[0] == 0
    assert snapshot(mini_aiter) == before
