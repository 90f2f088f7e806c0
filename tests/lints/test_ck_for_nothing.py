"""TL115: the flag that takes composable_kernel out of a module, as text of the JIT configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lints.conftest import CONFIG, Found, findings_in, lay_out, mend
from torchless.model import Tier
from torchless.project.model import Module
from torchless.project.modules import entry_spans
from torchless.reliance.config_flags import with_flag
from torchless.text.edits import apply
from torchless.text.source import SourceFile

CODE = "TL115"
FLAG = "'-DENABLE_CK=0'"
COMMON = """#pragma once
#if !ENABLE_CK
#include "ck_tile_shim.h"
#else
#include "ck_tile/core.hpp"
#endif
#define HIP_CALL(x) (x)
"""
SHIM = "#pragma once\n#include <string>\n#include <utility>\n"
BASE = {"csrc/include/aiter_hip_common.h": COMMON, "csrc/include/ck_tile_shim.h": SHIM}
SOURCE = "csrc/kernels/scale.cu"


def test_what_to_look_at_first_is_said(tmp_path: Path) -> None:
    text = (
        '#include "aiter_hip_common.h"\n#include "other.h"\nstd::vector<int> v; std::string s; int n = HIP_CALL(1);\n'
    )
    lay_out(tmp_path, {**BASE, SOURCE: text, "csrc/include/other.h": "#pragma once\n#if ENABLE_CK\nint ck;\n#endif\n"})
    core = tmp_path / "aiter/jit/core.py"
    core.write_text(
        core.read_text()
        + '\n\ndef _get_ck_exclude_modules():\n    return {"module_example"}\n\n\ndef later():\n    pass\n'
    )
    (finding,) = findings_in(tmp_path, [CODE])
    assert (finding.path, finding.tier, finding.line) == (CONFIG, Tier.UNSAFE, 2)
    assert finding.message == (
        "module_example reads composable_kernel through aiter_hip_common.h only, and uses nothing of it"
    )
    for caution in (
        "_get_ck_exclude_modules() of core.py lists the module",
        "other.h tests ENABLE_CK",
        "scale.cu names std::vector: include <vector>",
    ):
        assert caution in finding.help
    assert "<string>" not in finding.help  # the shim brings it
    assert [(r.path, r.line) for r in finding.related] == [("csrc/include/aiter_hip_common.h", 5)]
    mend(tmp_path, [finding])
    assert json.loads((tmp_path / CONFIG).read_text())["module_example"]["flags_extra_cc"] == [FLAG]
    assert not findings_in(tmp_path, [CODE])


@pytest.mark.parametrize(
    ("files", "entry"),
    [
        ({SOURCE: '#include "aiter_hip_common.h"\nck_tile::index_t n;\n'}, {}),
        ({SOURCE: '#include "aiter_hip_common.h"\nusing namespace ck_tile;\n'}, {}),
        ({SOURCE: '#include "aiter_hip_common.h"\n#include "fmha_fwd.hpp"\nint n;\n'}, {}),
        ({SOURCE: '#include "aiter_tensor.h"\nint n;\n', "csrc/include/aiter_hip_common.h": "#pragma once\n"}, {}),
        ({SOURCE: '#include "aiter_hip_common.h"\nint n;\n'}, {"flags_extra_cc": [FLAG]}),
        ({SOURCE: '#include "aiter_hip_common.h"\nint n;\n'}, {"blob_gen_cmd": "f'{CK_DIR}/generate.py --out {{}}'"}),
        (
            {SOURCE: '#include "aiter_hip_common.h"\nint n;\n', "csrc/gen.py": "print('ck_tile::index_t n;')\n"},
            {"blob_gen_cmd": "f'{AITER_CSRC_DIR}/gen.py --out {{}}'"},
        ),
        ({SOURCE: '#include "aiter_hip_common.h"\nint n;\n'}, {"srcs": ["f'{AITER_CSRC_DIR}/kernels/gone.cu'"]}),
    ],
)
def test_modules_that_are_left_alone(found: Found, files: dict[str, str], entry: dict[str, object]) -> None:
    standard = {"srcs": ["f'{AITER_CSRC_DIR}/kernels/scale.cu'"], "flags_extra_cc": []}
    config = json.dumps({"module_scale": {**standard, **entry}}, indent=4)
    assert not found({**BASE, **files, CONFIG: config}, CODE)


def test_only_modules_that_were_asked_about(found: Found) -> None:
    other = "csrc/kernels/norm.cu"
    text = '#include "aiter_hip_common.h"\nint n;\n'
    modules = {"module_scale": [SOURCE], "module_norm": [other]}
    findings = found({**BASE, SOURCE: text, other: text}, CODE, modules=modules, paths=(SOURCE,))
    assert [f.message.split()[0] for f in findings] == ["module_scale"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"m": {"srcs": [], "flags_extra_cc": []}}', '{"m": {"srcs": [], "flags_extra_cc": ["F"]}}'),
        ('{"m": {"flags_extra_cc": ["a"], "x": 1}}', '{"m": {"flags_extra_cc": ["a", "F"], "x": 1}}'),
        ('{"m": {"flags_extra_cc": ["a","b"]}}', '{"m": {"flags_extra_cc": ["a","b","F"]}}'),
        (
            '{\n    "m": {\n        "flags_extra_cc": [\n            "a",\n            "b"\n        ]\n    }\n}',
            '{\n    "m": {\n        "flags_extra_cc": [\n            "a",\n            "b",\n            "F"\n'
            "        ]\n    }\n}",
        ),
        (
            '{\r\n  "m": {\r\n    "flags_extra_cc": [\r\n      "a"\r\n    ]\r\n  }\r\n}',
            '{\r\n  "m": {\r\n    "flags_extra_cc": [\r\n      "a",\r\n      "F"\r\n    ]\r\n  }\r\n}',
        ),
        (
            '{"m": {\n    "srcs": ["x"]\n}}',
            '{"m": {\n    "flags_extra_cc": ["F"],\n    "srcs": ["x"]\n}}',
        ),
        ('{"m": {"flags_extra_cc": ["a{"], "n": {"flags_extra_cc": []}}}',
         '{"m": {"flags_extra_cc": ["a{", "F"], "n": {"flags_extra_cc": []}}}'),
        ('{"m": {"flags_extra_cc": "\'a\' if X else \'b\'"}}', ""),
        ('{"m": {"flags_extra_cc": [["a"]]}}', ""),
        ('{"m": {}}', ""),
    ],
)  # fmt: skip
def test_the_flag_is_added_as_text(before: str, after: str) -> None:
    data = before.encode()
    ((_, start, end),) = entry_spans(data)
    edits = with_flag(SourceFile("c.json", data), Module("m", (), entry_start=start, entry_end=end),
                      "flags_extra_cc", "F", CODE)  # fmt: skip
    assert (apply(data, edits).decode() if edits else "") == after
    if edits:
        assert json.loads(after)["m"]["flags_extra_cc"][-1] == "F"
