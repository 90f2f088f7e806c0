"""The stand-in for torch does what torch does: the same source, the same calls, the same journal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from torchless.facts.model import TuSpec
from torchless.verify.trace import store, toolchain
from torchless.verify.trace.build import Program, build
from torchless.verify.trace.compare import compare
from torchless.verify.trace.inputs import OTHER_DTYPES, TARGET_DTYPES, tensor
from torchless.verify.trace.model import Call, EntryPoint, Record, Side, TensorInput, TraceOptions, TreeText
from torchless.verify.trace.normal import message_of
from torchless.verify.trace.run import describe, run_calls
from torchless.verify.trace.signatures import signatures

pytestmark = pytest.mark.clang

SOURCE = "csrc/tensor_use.cu"
NAMES = ("describe", "index", "view", "make", "fill", "typed", "dispatched", "refuse")
PLAIN = tensor("float32", (4, 6))
TENSORS = (
    PLAIN,
    tensor("float16", (4, 6), 1),
    tensor("float32", (4, 6), -1),
    TensorInput("bfloat16", (2, 3, 4), (24, 8, 1), 0, 5),
    TensorInput("float32", (3, 4), (1, 3), 0),
    tensor("int64", (5,)),
    tensor("float32", ()),
    tensor("float32", (0, 3)),
    tensor("float16", (1, 1, 1)),
    TensorInput("int32", (4, 2), (0, 1), 0),
)


def program(torch: str) -> Program:
    entries = tuple(EntryPoint(f"use::{name}", SOURCE) for name in NAMES)
    side = Side("before", TreeText(str(ROOT / "tests/fixtures/trace")), (TuSpec(SOURCE),), entries)
    return build(side, TraceOptions(torch=torch))


def calls() -> Iterator[Call]:
    for dtype in (*TARGET_DTYPES, *OTHER_DTYPES):
        yield Call("use::describe", (tensor(dtype, (2, 3)),))
        yield Call("use::typed", (tensor(dtype, (2, 3)), 1))
        yield Call("use::dispatched", (tensor(dtype, (2, 3)),))
    for t in TENSORS:
        yield Call("use::describe", (t,))
        for dim in (-3, -2, -1, 0, 1, 2):
            yield Call("use::index", (t, dim, False))
            yield Call("use::index", (t, dim, True))
        for what in range(16):
            yield Call("use::view", (t, what))
            yield Call("use::make", (t, what % 10), device=what % 2)
        for what in range(5):
            other = tensor(t.dtype, t.sizes, t.device)
            yield Call("use::fill", (t, other, what))
            yield Call("use::refuse", (t, None if what % 2 else other, what))
        for what in range(6):
            yield Call("use::typed", (t, what))
            yield Call("use::typed", (t, what), device=1, capture=True)
    yield Call("use::make", (PLAIN, 0), capture=True)


def shown(record: Record) -> tuple[object, ...]:
    """What must be alike: all but the places in torch's own sources and its internal questions to the runtime."""
    result = tuple(re.sub(r"@torch\d+", "@", word) for word in record.result)
    return (record.outcome, result, message_of(record), record.pending, record.device)


@pytest.fixture(scope="module")
def records() -> tuple[list[Call], list[Record], list[Record]]:
    asked = list(calls())
    out = []
    for torch in ("real", "stand-in"):
        built = program(torch)
        by = signatures(describe(built), built.names)
        out.append(run_calls(built, asked, by.values(), "gfx942"))
    return asked, out[0], out[1]


def test_torch_is_there() -> None:
    assert toolchain.find_torch() is not None  # else there is nothing to compare with


def test_every_call_does_the_same(records: tuple[list[Call], list[Record], list[Record]]) -> None:
    wrong = []
    for call, real, ours in zip(*records, strict=True):
        if unlike(call, real):
            continue
        if shown(real) != shown(ours) or compare(call, real, ours, [f"arg{i}" for i in range(len(call.args))]):
            wrong.append((call, shown(real), shown(ours), compare(call, real, ours, ["t"] * len(call.args))))
    assert not wrong, f"{len(wrong)} of {len(records[0])}, first {wrong[:3]}"
    outcomes = {r.outcome for r in records[1]}
    assert outcomes == {"returned", "threw"}  # torch never ends the process
    assert sum(r.accepted for r in records[1]) > 300


def unlike(call: Call, real: Record) -> bool:
    """Where the words of torch's own refusals of a view differ from ours: both refuse, that is all."""
    return call.entry == "use::view" and not real.accepted


def test_both_refuse_the_same_views(records: tuple[list[Call], list[Record], list[Record]]) -> None:
    for call, real, ours in zip(*records, strict=True):
        if unlike(call, real):
            assert ours.outcome == "threw", call


def test_what_the_stand_in_lacks_is_told(tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = "#include <torch/extension.h>\ntorch::Tensor twice(const torch::Tensor& t) { return t.matmul(t); }\n"
    side = Side(
        "before", TreeText(str(tmp_path), {"a.cu": text.encode()}), (TuSpec("a.cu"),), (EntryPoint("twice", "a.cu"),)
    )
    built = build(side, TraceOptions(torch="stand-in"))
    by = signatures(describe(built), built.names)
    [record] = run_calls(built, [Call("twice", (PLAIN,))], by.values(), "gfx942")
    assert (record.outcome, record.message) == ("missing", "at::Tensor::matmul(at::Tensor const&) const")


def test_a_torch_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_torch", lambda: None)
    with pytest.raises(Exception, match="torch is not installed in this Python"):
        program("real")


def test_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first = program("stand-in")
    monkeypatch.setattr(store, "keep", lambda *_: pytest.fail("built again"))
    assert program("stand-in") == first
