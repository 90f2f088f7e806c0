"""migrate() over small checkouts: what is asked for decides what moves, and only whole units do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.api.conftest import MODULES, SCALE, Checkout, configuration

UNIT = "module_scale"


def test_a_module_migrates_whole(scale: Checkout) -> None:
    ran = scale.migrate()
    assert ran.statuses == {UNIT: "migrated"}
    assert set(ran.new) == {
        "aiter/ops/scale.py",
        "csrc/include/rocm_ops.hpp",
        "csrc/include/scale.h",
        "csrc/kernels/scale.cu",
        "csrc/pybind/scale_pybind.cu",
    }
    assert not any("torch::" in text or "<torch/" in text for text in ran.new.values())
    assert "    const HipDeviceGuard device_guard(input.device_id);\n" in ran.new["csrc/kernels/scale.cu"]
    assert ran.unit(UNIT).entry_points == ("scale",)
    assert ran.result.found == "1 unit in 1 module"
    ran.write()
    again = scale.migrate()
    assert (again.statuses, again.new, again.result.found) == ({}, {}, "0 units in 0 modules")


def test_a_header_selects_what_it_declares_and_a_registration_header_nothing(scale: Checkout) -> None:
    whole = scale.migrate()
    for path in ("csrc/include/scale.h", "csrc/kernels/scale.cu", "csrc/kernels", "csrc/pybind/scale_pybind.cu"):
        assert scale.migrate(path).result.changes == whole.result.changes
    nothing = scale.migrate("csrc/include/rocm_ops.hpp")
    assert (nothing.statuses, nothing.new) == ({}, {})
    assert "only registers bindings, so it selects no unit" in nothing.result.notes[0]


SECOND = {
    "csrc/include/shift.h": "#pragma once\n#include <torch/extension.h>\nvoid shift(torch::Tensor& x);\n",
    "csrc/kernels/shift.cu": '#include "shift.h"\nvoid shift(torch::Tensor& x) { TORCH_CHECK(x.dim() == 2); }\n',
}


def test_neither_the_order_of_paths_nor_the_number_of_workers_matters(scale: Checkout) -> None:
    for path, text in SECOND.items():
        (scale.root / path).write_text(text)
    paths = ("csrc/kernels/scale.cu", "csrc/kernels/shift.cu")
    alone = scale.migrate(*paths, jobs=1)
    assert alone.statuses == {UNIT: "migrated", "csrc/kernels/shift.cu:shift": "migrated"}
    together = scale.migrate(*reversed(paths), jobs=2, cache=False)
    for name in ("units", "findings", "changes", "edits", "found", "notes"):
        assert getattr(alone.result, name) == getattr(together.result, name), name


def test_unsafe_edits_wait_until_they_are_asked_for(scale: Checkout) -> None:
    source = "csrc/kernels/scale.cu"
    scale.edit(source, "    const hipStream_t", "    int size = sizeof(input.dtype());\n    const hipStream_t")
    before = scale.snapshot()
    waiting = scale.migrate()
    assert (waiting.statuses, waiting.new, waiting.blockers(UNIT)) == ({UNIT: "blocked"}, {}, {"TL234"})
    assert all(f.help and f.edits for f in waiting.findings(UNIT, "TL234"))
    asked = scale.migrate(unsafe=True)
    assert (asked.statuses, asked.blockers(UNIT)) == ({UNIT: "migrated"}, set())
    assert "sizeof(input.dtype())" not in asked.new[source]
    assert scale.snapshot() == before


def test_restored_checks_can_be_left_out(scale: Checkout) -> None:
    """Taking them out removes just their lines, and what is left passes the check."""
    full, less = scale.migrate(), scale.migrate(ignore=("TL310",))
    assert less.statuses == {UNIT: "migrated"}
    assert (len(full.findings(UNIT, "TL310")), less.findings(UNIT, "TL310")) == (1, [])
    (edit,) = full.findings(UNIT, "TL310")[0].edits
    assert b"AITER_DTYPE_fp32" in edit.new
    assert {p: t.replace(edit.new.decode(), "") for p, t in full.new.items()} == less.new
    assert [e.message for e in less.unit(UNIT).ledger if e.kind == "dtype-check"] == [
        "2 typed data pointers lose their dtype check; nothing checks the dtypes again"
    ]


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"select": ("TL1",)}, {"TL010", "TL701", "TL702"}),
        ({"select": ("TL1", "TL2", "TL3", "TL4", "TL5")}, {"TL701", "TL702"}),
        ({"ignore": ("TL301",)}, {"TL010"}),
        ({"ignore": ("TL701",)}, {"TL701"}),
        ({"ignore": ("TL702",)}, {"TL702"}),
        ({"ignore": ("TL7",)}, {"TL701", "TL702"}),
    ],
)
def test_a_choice_of_rules_never_leaves_half_a_unit(scale: Checkout, options: dict[str, Any], codes: set[str]) -> None:
    ran = scale.migrate(**options)
    assert (ran.statuses, ran.new, ran.blockers(UNIT)) == ({UNIT: "blocked"}, {}, codes)


def test_a_guard_can_be_left_out(scale: Checkout) -> None:
    ran = scale.migrate(ignore=("TL403",))
    assert ran.statuses == {UNIT: "migrated"}
    assert not any("HipDeviceGuard" in text for path, text in ran.new.items() if path.endswith("scale.cu"))


def test_an_op_that_cannot_flip_keeps_its_module_as_it_is(scale: Checkout) -> None:
    scale.edit("aiter/ops/scale.py", "input: Tensor)", "input: Tensor, kind)")
    before = scale.snapshot()
    ran = scale.migrate()
    assert (ran.statuses, ran.new, ran.result.edits, ran.unit(UNIT).edits) == ({UNIT: "blocked"}, {}, (), ())
    assert ran.blockers(UNIT) == {"TL790"}
    # a blocker cannot be wished away
    assert scale.migrate(ignore=("TL790", "TL701")).blockers(UNIT) == {"TL790"}
    assert scale.snapshot() == before


OPUS = """\
#pragma once
#include "aiter_hip_common.h"
#ifndef AITER_OPUS_NO_TORCH_TYPES
#include <c10/util/Half.h>
#endif
template <typename T> struct t2opus;
#ifndef AITER_OPUS_NO_TORCH_TYPES
template <> struct t2opus<c10::Half> { using type = _Float16; };
#endif
"""


def test_the_header_that_brings_c10_is_mended_at_its_root_or_per_source(scale: Checkout) -> None:
    header, source = "csrc/include/aiter_opus_plus.h", "csrc/kernels/scale.cu"
    (scale.root / header).write_text(OPUS)
    scale.edit(source, '#include "scale.h"\n', '#include "aiter_opus_plus.h"\n#include "scale.h"\n')
    root = scale.migrate(opus_guard="root")
    assert root.statuses == {UNIT: "migrated", header: "migrated"}
    assert root.new[header] == OPUS.replace("#ifndef AITER_OPUS_NO_TORCH_TYPES", "#ifdef AITER_OPUS_TORCH_TYPES")
    assert "AITER_OPUS" not in root.new[source]
    assert root.findings(UNIT, "TL009") == []
    define = scale.migrate(opus_guard="define")
    assert define.statuses == {UNIT: "migrated"} and header not in define.new
    assert define.new[source].startswith('#define AITER_OPUS_NO_TORCH_TYPES\n#include "aiter_opus_plus.h"\n')
    assert define.findings(UNIT, "TL009") == []
    # a source does not speak for the header: what still comes through it is said
    alone = scale.migrate(source, opus_guard="root")
    assert alone.statuses == {UNIT: "migrated"} and header not in alone.new
    assert [f.path for f in alone.findings(UNIT, "TL009")] == [header]
    assert (
        scale.migrate().new == root.new and scale.migrate(source).new == scale.migrate(source, opus_guard="define").new
    )
    for options in ({"ignore": ("TL107",)}, {"ignore": ("TL107",), "opus_guard": "define"}):
        assert scale.migrate(**options).new == alone.new


SWALLOWED = """
#define FOR_LATER(...)
FOR_LATER(void later(torch::Tensor& x) { TORCH_CHECK(x.dim() == 2); })
"""


def test_what_no_check_sees_is_held_back(scale: Checkout) -> None:
    source = "csrc/kernels/scale.cu"
    (scale.root / source).write_text((scale.root / source).read_text() + SWALLOWED)
    held = scale.migrate()
    assert (held.statuses, held.new, held.unit(UNIT).edits) == ({UNIT: "unchecked"}, {}, ())
    assert source in held.findings(UNIT, "TL007")[0].message
    asked = scale.migrate(unsafe=True)
    assert asked.statuses == {UNIT: "unchecked"}
    assert "FOR_LATER(void later(aiter_tensor_t& x) { AITER_CHECK(x.dim() == 2); })" in asked.new[source]
    assert asked.unit(UNIT).edits != ()


def test_what_does_not_pass_its_check_is_backed_out_and_the_rest_goes_on(scale: Checkout) -> None:
    """An overload for torch's signed numel() and one for less: the target's fits neither better."""
    source = "csrc/kernels/shift.cu"
    for path, text in SECOND.items():
        (scale.root / path).write_text(text)
    scale.edit(source, "void shift", "void take(int64_t);\nvoid take(int);\nvoid shift")
    scale.edit(source, "dim() == 2);", "dim() == 2); take(x.numel());")
    ran = scale.migrate()
    assert ran.statuses == {UNIT: "migrated", f"{source}:shift": "backed out"}
    assert not set(ran.new) & set(SECOND) and ran.unit(f"{source}:shift").edits == ()
    (failed,) = ran.findings(f"{source}:shift", "TL008")
    assert "call to 'take' is ambiguous" in failed.message and failed.path == source
    text = (scale.root / source).read_bytes()
    assert text[failed.start :].startswith(b"take(x.numel())") and failed.line == text.count(b"\n", 0, failed.start) + 1
    assert f":{failed.line} of the new text; host pass of {source}, and 1 more)" in failed.message
    assert ran.new == {**scale.migrate("csrc/kernels/scale.cu").new}


def test_suppressed_include_lines_stay(scale: Checkout) -> None:
    header = "csrc/include/scale.h"
    kept = "#include <torch/all.h> // torchless: ignore[TL101] asked for\n"
    scale.edit(header, "#include <torch", f"{kept}#include <torch")
    ran = scale.migrate()
    assert ran.statuses == {UNIT: "migrated"}
    assert kept in ran.new[header]
    assert "#include <torch/extension.h>" not in ran.new[header]
    assert [f.code for f in ran.result.findings] == []
    assert {f.path for f in ran.findings(UNIT, "TL009")} == {header}


def test_suppressions(scale: Checkout) -> None:
    source = "csrc/kernels/scale.cu"
    scale.edit(source, "    TORCH_CHECK", "    // torchless: ignore[TL301] raised on purpose\n    TORCH_CHECK")
    ran = scale.migrate()
    assert (ran.statuses, ran.new, ran.blockers(UNIT)) == ({UNIT: "blocked"}, {}, {"TL301"})
    scale.edit(source, "ignore[TL301] raised on purpose", "ignore[TL490]")
    stale = scale.migrate()
    assert stale.statuses == {UNIT: "migrated"}
    assert [(f.code, f.path, f.line) for f in stale.result.findings] == [("TL001", source, 8)]
    # who looks for some codes only cannot tell
    assert scale.migrate(ignore=("TL310",)).result.findings == ()
    scale.edit("aiter/ops/scale.py", "@compile_ops(", "# torchless: ignore[TL701] still used from C++\n@compile_ops(")
    assert scale.migrate().blockers(UNIT) == {"TL701"}


def test_one_header_brings_the_stream_to_two_binding_sources(write: Callable[[Mapping[str, str]], Checkout]) -> None:
    """As people do it: the include stands once, in the header that both bindings include and that changes anyway."""
    modules = {**MODULES, "module_shift": ["pybind/shift_pybind.cu", "kernels/shift.cu"]}
    header = SCALE["csrc/include/scale.h"] + "void shift(torch::Tensor& out);\n"
    shift = '#include "scale.h"\nvoid shift(torch::Tensor& out) { TORCH_CHECK(out.dim() == 2); shape(out); }\n'
    both = "inline void shape(torch::Tensor& x) { x.dim(); }\n"
    files = {
        "csrc/include/scale.h": header + both,
        "csrc/include/rocm_ops.hpp": SCALE["csrc/include/rocm_ops.hpp"].replace('#include "aiter_stream.h"\n', "")
        + '#define SHIFT_PYBIND m.def("shift", &shift);\n',
        "csrc/kernels/scale.cu": SCALE["csrc/kernels/scale.cu"].replace(
            "TORCH_CHECK", "shape(out);\n    TORCH_CHECK", 1
        ),
        "csrc/kernels/shift.cu": shift,
        "csrc/pybind/shift_pybind.cu": SCALE["csrc/pybind/scale_pybind.cu"].replace("SCALE_", "SHIFT_"),
        "aiter/jit/optCompilerConfig.json": configuration(modules),
    }
    ran = write({**SCALE, **files}).migrate()
    assert ran.statuses == {"module_scale+1": "migrated"}
    assert '#include "aiter_stream.h"\n#include "aiter_tensor.h"\n' in ran.new["csrc/include/scale.h"]
    assert not any("aiter_stream.h" in ran.new.get(f"csrc/pybind/{n}_pybind.cu", "") for n in ("scale", "shift"))
    assert [f.path for f in ran.findings("module_scale+1", "TL704")] == ["csrc/include/scale.h"]
