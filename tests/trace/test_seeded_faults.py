"""Faults that are put into a migrated launcher must be found, and a launcher without one must pass."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tests.conftest import EXAMPLE, ROOT
from torchless.api import MigrateOptions, migrate
from torchless.facts.model import TuSpec
from torchless.verify.trace import EntryPoint, EntryResult, TraceOptions, TraceResult, TreeText, trace_unit, unit

pytestmark = pytest.mark.clang

SOURCE = "csrc/kernels/scale_kernels.cu"
SPEC = TuSpec(SOURCE, include_dirs=("csrc/include",))
ENTRIES = (EntryPoint("aiter::scale_rows", SOURCE), EntryPoint("aiter::clamp_rows", SOURCE))

FIXTURES = ROOT / "tests/fixtures/trace"
HISTOGRAM = "csrc/histogram.cu"
HISTOGRAM_SPEC = TuSpec(HISTOGRAM, include_dirs=(str(EXAMPLE / "csrc/include"),))
HISTOGRAM_ENTRY = (EntryPoint("counting::histogram", HISTOGRAM),)


@pytest.fixture(scope="session")
def migrated() -> Mapping[str, bytes]:
    """The texts of the example that a migration changes."""
    result = migrate(MigrateOptions(paths=("csrc",)), EXAMPLE, lambda *_: None)
    return MappingProxyType({path: change.new for path, change in result.changes.items()})


def example(texts: Mapping[str, bytes], options: TraceOptions = TraceOptions()) -> TraceResult:  # noqa: B008
    return trace_unit(TreeText(str(EXAMPLE)), TreeText(str(EXAMPLE), texts), [SPEC], ENTRIES, options)


def histogram(fault: tuple[str, str] | None = None) -> EntryResult:
    before = (FIXTURES / "csrc/histogram_before.cu").read_bytes()
    after = (FIXTURES / "csrc/histogram_after.cu").read_text("utf-8")
    if fault is not None:
        assert fault[0] in after
        after = after.replace(*fault)
    root = str(FIXTURES)
    trees = [TreeText(root, {HISTOGRAM: text}) for text in (before, after.encode())]
    [entry] = trace_unit(trees[0], trees[1], [HISTOGRAM_SPEC], HISTOGRAM_ENTRY).entries
    return entry


def by_name(result: TraceResult, name: str) -> EntryResult:
    [entry] = [e for e in result.entries if e.entry == name]
    return entry


def test_the_migrated_example_launches_what_it_launched(migrated: Mapping[str, bytes]) -> None:
    result = example(migrated)
    assert result.status == "pass", [f.reproducer for e in result.entries for f in e.findings]
    assert result.torch.startswith("torch ")
    rows = by_name(result, "aiter::scale_rows")
    assert set(rows.kernels) == {f"aiter::scale_rows_kernel<{t}>" for t in ("float", "fp16", "bf16")}
    for entry in result.entries:
        assert entry.launched >= 20
        assert entry.rejected >= 10
        assert dict(entry.allowed)["stream"] > 0  # the caller's device is not the tensor's


FAULTS = [
    (
        "a swapped argument",
        "columns,\n            input.stride(0));",
        "input.stride(0),\n            columns);",
        "argument",
    ),
    ("a lost guard", "const HipDeviceGuard device_guard(input.device_id);", "", "device"),
    ("the guard of another tensor", "device_guard(input.device_id)", "device_guard(scales.device_id)", "device"),
    ("the null stream", "stream = aiter::getCurrentHIPStream();", "stream = nullptr;", "stream"),
    ("a dropped check", "AITER_CHECK(input.size(-1) == out.size(-1)", "AITER_CHECK(true", "verdict"),
    ("a dropped dtype check", "AITER_CHECK(scales.dtype() == AITER_DTYPE_fp32 &&", "AITER_CHECK(true ||", "verdict"),
    ("other words", '" columns, not "', '" columns instead of "', "message"),
    ("a narrowed size", "const int64_t columns = out.size(-1);", "const int columns = out.size(-1);", "argument"),
    ("another grid", "const dim3 grid(rows);", "const dim3 grid(rows, 2);", "grid"),
    ("another block at a border", "std::min<int64_t>(columns, 1024)", "std::min<int64_t>(columns, 512)", "block"),
    (
        "a pointer offset",
        "static_cast<float*>(scales.data_ptr())",
        "static_cast<float*>(scales.data_ptr()) + 1",
        "argument",
    ),
    ("an optional taken for there", "bias.has_value() ? static", "true ? static", "argument"),
    ("shared memory", "<<<grid, block, 0, stream>>>", "<<<grid, block, 64, stream>>>", "shared"),
]


@pytest.mark.parametrize(("old", "new", "kind"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_fault_in_the_example_is_found(migrated: Mapping[str, bytes], old: str, new: str, kind: str) -> None:
    text = migrated[SOURCE].decode()
    assert old in text
    head, _, tail = text.partition(old)
    result = example({**migrated, SOURCE: (head + new + tail).encode()})
    assert by_name(result, "aiter::clamp_rows").status == "pass"
    rows = by_name(result, "aiter::scale_rows")
    assert rows.status == "fail"
    found = {f.difference.kind: f for f in rows.findings}
    assert kind in found, [f.difference for f in rows.findings]
    assert found[kind].reproducer.startswith("with torch.cuda.device(")


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_dropped_check_is_found_with_any_seed(
    migrated: Mapping[str, bytes], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other inputs are drawn, and the check is still reached."""
    monkeypatch.setattr(unit, "MAX_FINDINGS", 1)  # to shrink them takes most of the time
    text = (
        migrated[SOURCE]
        .decode()
        .replace("AITER_CHECK(input.size(-1) == out.size(-1)", "AITER_CHECK(true || input.size(-1) == out.size(-1)")
    )
    assert text.encode() != migrated[SOURCE]
    rows = by_name(example({**migrated, SOURCE: text.encode()}, TraceOptions(seed=seed)), "aiter::scale_rows")
    assert "verdict" in {f.difference.kind for f in rows.findings}, [f.difference for f in rows.findings]


def test_a_difference_is_shrunk(migrated: Mapping[str, bytes]) -> None:
    text = migrated[SOURCE].decode()
    fault = text.replace("const int64_t count      = input.numel();", "const int count      = input.numel();")
    assert fault != text
    clamp = by_name(example({**migrated, SOURCE: fault.encode()}), "aiter::clamp_rows")
    [finding] = [f for f in clamp.findings if f.difference.kind == "argument"]
    assert "argument 5 (count) of aiter::clamp_rows_kernel" in finding.difference.text
    sizes = [t.sizes for t in finding.call.args if hasattr(t, "sizes")]
    count = 1
    for size in sizes[1]:
        count *= size
    assert 1 << 31 <= count < 1 << 33  # large enough to show it, and only in one dimension
    assert all(len(s) <= 1 for s in sizes)
    assert f"torch.empty(({count},), dtype=torch.float16, device='cuda:0')" in finding.reproducer


def test_the_fixture_launches_what_it_launched() -> None:
    entry = histogram()
    assert entry.status == "pass", [f.reproducer for f in entry.findings]
    assert set(entry.kernels) == {
        "counting::finish_kernel",
        *(f"counting::count_kernel<{t}, {n}>" for t in ("float", "fp16") for n in (64, 256)),
    }


OUT = "if(out.has_value())\n        finish"
STREAM = "const hipStream_t stream = aiter::getCurrentHIPStream();"
KEPT = " static void* kept = nullptr; if(!kept) HIP_CALL(hipMalloc(&kept, 64));"
MORE_FAULTS = [
    ("a lost fill", "if(mode != 1)", "if(mode == 2)", "memory"),
    ("a shorter fill", "counts.numel() * sizeof(int), stream", "counts.numel(), stream", "memory"),
    ("a fill on the null stream", "counts.numel() * sizeof(int), stream", "counts.numel() * sizeof(int), 0", "stream"),
    ("a wait", OUT, "HIP_CALL(hipStreamSynchronize(stream));" + OUT, "sync"),
    ("a number in a structure", "values.stride(0),", "values.size(1),", "argument"),
    ("a pointer in a structure", "static_cast<float*>(weights->", "static_cast<float*>(counts.", "argument"),
    ("another kernel at a border", "shape.columns <= 64", "shape.columns < 64", "kernel"),
    ("a lost launch", OUT, OUT.replace("())", "() && keep)"), "launch"),
    ("a flipped flag", "scale, keep);\n    else", "scale, !keep);\n    else", "argument"),
    ("an option too many", "mode >= 0 && mode < 3", "mode >= 0 && mode <= 3", "verdict"),
    ("an allocation", STREAM, STREAM + KEPT, "memory"),
]


def test_a_change_that_changes_no_launch_passes() -> None:
    entry = histogram(("double scale,\n               int64_t mode", "float scale,\n               int64_t mode"))
    assert entry.status == "pass"  # the kernel takes a float: nothing is lost that was not lost before


@pytest.mark.parametrize(("old", "new", "kind"), [f[1:] for f in MORE_FAULTS], ids=[f[0] for f in MORE_FAULTS])
def test_a_fault_in_the_fixture_is_found(old: str, new: str, kind: str) -> None:
    entry = histogram((old, new))
    assert entry.status == "fail"
    assert kind in {f.difference.kind for f in entry.findings}, [f.difference for f in entry.findings]
