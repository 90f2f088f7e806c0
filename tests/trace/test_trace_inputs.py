"""What inputs are made of: hints, guesses, variations, and how a call is made smaller."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from torchless.verify.trace.explore import explore, fits, select
from torchless.verify.trace.hints import Hints, read_hints
from torchless.verify.trace.inputs import (
    OTHER_DTYPES,
    TARGET_DTYPES,
    Labelled,
    dense,
    guess,
    resized,
    rng_for,
    tensor,
    variations,
)
from torchless.verify.trace.model import (
    Call,
    Difference,
    Parameter,
    Record,
    Signature,
    TensorInput,
    TraceOptions,
)
from torchless.verify.trace.mutate import mutate
from torchless.verify.trace.shrink import cost, reproducer, shrink
from torchless.verify.trace.signatures import paired, signatures
from torchless.verify.trace.unmask import unmask

TEXT = b"""
// scale(not, this)
void scale(torch::Tensor& out,          // [rows, 2 * columns]
           const torch::Tensor& input,  // [..., columns]
           std::optional<torch::Tensor> row_map,
           int64_t block,
           double eps, const std::string& mode) // [unrelated]
{
    TORCH_CHECK(mode == "fast" || input.size(-3) > 1, "bad");
    auto p = row_map->data_ptr<int>();
    if (columns <= 192) launch(reinterpret_cast<c10::Half*>(out.data_ptr()));
}
"""
SIGNATURE = Signature(
    "ns::scale",
    (
        Parameter("out", "tensor"),
        Parameter("input", "tensor"),
        Parameter("row_map", "tensor?"),
        Parameter("block", "int64"),
        Parameter("eps", "float"),
        Parameter("mode", "str"),
    ),
)
NAMES = [p.name for p in SIGNATURE.params]
HINTS = read_hints("ns::scale", NAMES, [TEXT])
CALL = Call(
    "ns::scale",
    (tensor("float16", (4, 128)), tensor("float16", (4, 64)), tensor("int32", (4,)), 64, 1e-5, "fast"),
)


def test_hints_come_from_comments_pointers_indices_and_literals() -> None:
    assert HINTS.shapes == {"out": ("rows", "2 * columns"), "input": ("...", "columns")} | {"mode": ("unrelated",)}
    assert HINTS.dtypes == {"row_map": "int32", "out": "float16"}
    assert HINTS.ranks == {"input": 3}
    assert 192 in HINTS.numbers
    assert HINTS.texts == ("bad", "fast")


def test_text_that_declares_something_else_gives_no_hints() -> None:
    assert read_hints("ns::other", NAMES, [b"void other(int", TEXT, b""]) == Hints()


def test_guesses_follow_the_shapes_and_repeat() -> None:
    first = [guess(SIGNATURE, HINTS, rng_for(1, "ns::scale", "x")) for _ in range(3)]
    again = [guess(SIGNATURE, HINTS, rng_for(1, "ns::scale", "x")) for _ in range(3)]
    assert first == again
    rng = rng_for(1, "ns::scale", "y")
    for _ in range(50):
        call = guess(SIGNATURE, HINTS, rng)
        out, rows = call.args[0], call.args[1]
        assert isinstance(out, TensorInput)
        assert isinstance(rows, TensorInput)
        assert out.sizes[1] == min(2 * rows.sizes[-1], 1 << 20)
        assert out.dtype == "float16"
        assert mutate(call, SIGNATURE, HINTS, rng).entry == "ns::scale"


def labelled(*words: str) -> list[Labelled]:
    return [v for v in variations(CALL, SIGNATURE, HINTS) if all(w in v.label for w in words)]


def test_every_dtype_is_tried_for_every_tensor() -> None:
    for dtype in {*TARGET_DTYPES, *OTHER_DTYPES} - {"float16"}:
        assert labelled(f"out of {dtype}")
        assert labelled(f"{dtype} for float16")
    assert len(TARGET_DTYPES) == 13  # the fourteenth, pairs of int4, has no dtype in torch


def test_sizes_are_tried_at_zero_at_borders_and_beyond_32_bits() -> None:
    columns = {v.call.args[1].sizes[1] for v in labelled("size", "for 64") if isinstance(v.call.args[1], TensorInput)}
    assert {0, 1, 63, 65, 191, 192, 193, 255, 256, 257} <= columns
    assert max(columns) > 1 << 32
    alone = [v.call for v in labelled("dimension 1 of out")]
    assert all(c.args[0] != CALL.args[0] and c.args[1:] == CALL.args[1:] for c in alone)
    assert len(alone) == 3


def test_every_part_of_the_tensors_of_one_size_is_changed_without_the_rest() -> None:
    found = labelled("where it was 4")
    changed = {tuple(i for i in range(3) if v.call.args[i] != CALL.args[i]) for v in found}
    assert changed == {(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)}
    assert all(v.call.args[3:] == CALL.args[3:] for v in found)


@pytest.mark.parametrize(
    ("words", "check"),
    [
        ("without row_map", lambda c: c.args[2] is None),
        ("on the CPU", lambda c: any(t.device == -1 for t in c.args[:3])),
        ("input on device 1", lambda c: (c.args[0].device, c.args[1].device) == (0, 1)),
        ("while a graph is recorded", lambda c: c.capture),
        ("on device 1 while device 0 is current", lambda c: c.device == 0 and c.args[0].device == 1),
        ("input with longer rows", lambda c: c.args[1].strides == (72, 1)),
        ("input transposed", lambda c: c.args[1].strides == (1, 4)),
        ("input at an odd address", lambda c: c.args[1].offset == 1),
        ("input expanded", lambda c: c.args[1].strides[0] == 0),
        ("input with rows 2^31 apart", lambda c: c.args[1].strides[0] > 1 << 31),
        ("a higher rank", lambda c: sum(len(t.sizes) for t in c.args[:3]) == 6),
        ("block = 4294967312", lambda c: c.args[3] == (1 << 32) + 16),
        ("mode = bad", lambda c: c.args[5] == "bad"),
        ("eps = inf", lambda c: c.args[4] == float("inf")),
    ],
)
def test_what_else_is_tried(words: str, check: object) -> None:
    found = labelled(words)
    assert found
    assert callable(check)
    assert all(check(v.call) for v in found)


def test_a_resized_call_keeps_numbers_that_were_the_size() -> None:
    call = resized(CALL, 64, 80)
    assert call.args[1] == tensor("float16", (4, 80))
    assert call.args[3] == 80
    assert call.args[0] == CALL.args[0]


def test_what_cannot_be_reserved_does_not_fit() -> None:
    assert fits(CALL)
    assert not fits(Call("f", (tensor("int8", (1 << 31, 1 << 31)),)))


def answer(call: Call) -> Record:
    """A launcher that takes two dimensions whose last is the same."""
    out, rows = call.args[0], call.args[1]
    assert isinstance(out, TensorInput)
    assert isinstance(rows, TensorInput)
    if len(rows.sizes) != 2 or out.sizes != rows.sizes:
        return Record("threw", message="two dimensions")
    event = {"event": "launch", "kernel": f"void k<{rows.dtype}>()", "grid": [1, 1, 1], "block": [64, 1, 1]}
    return Record("returned", (event,))


def explored(options: TraceOptions) -> list[Call]:
    explorer = explore(SIGNATURE, Hints(), options)
    batch = next(explorer)
    try:
        while True:
            assert len(set(batch)) == len(batch)
            batch = explorer.send([answer(c) for c in batch])
    except StopIteration as done:
        return list(done.value)


def test_exploring_finds_what_goes_through_and_keeps_what_does_not() -> None:
    chosen = explored(TraceOptions(calls=100))
    assert len(chosen) == 100
    assert chosen == explored(TraceOptions(calls=100))
    records = [answer(c) for c in chosen]
    assert 40 <= sum(r.accepted for r in records) <= 67
    assert len({r.events[0]["kernel"] for r in records if r.accepted}) >= 3


def test_each_kind_of_outcome_is_selected_before_a_second_of_any() -> None:
    tried = [Labelled(Call("f", (i,)), f"n = {i}") for i in range(100, 200)]
    records = [Record("threw", message="no " + "ab"[i % 50 == 7]) for i in range(100)]
    chosen = select(tried, records, 4)
    assert Call("f", (107,)) in chosen
    assert len(chosen) == 4


def test_behind_a_changed_refusal_there_is_an_input_that_shows_the_lost_check() -> None:
    """out and rows have one length; later checks: block is rows' length, and out has an even number of rows."""

    def checks(call: Call, old: bool) -> Record:
        out, rows, _, block = call.args[:4]
        assert isinstance(out, TensorInput)
        assert isinstance(rows, TensorInput)
        assert isinstance(block, int)
        if old and out.sizes[-1:] != rows.sizes[-1:]:
            return Record("threw", message="x.cu:1: not one length")
        if rows.sizes[-1:] != (block,):
            return Record("threw", message=f"x.cu:2: block must be the last of {rows.sizes}")
        if not out.sizes or out.sizes[0] % 2:
            return Record("threw", message="x.cu:3: out needs even rows")
        return Record("returned")

    start = Call(
        "ns::scale", (tensor("float16", (3, 128)), tensor("float16", (3, 64)), *CALL.args[2:3], 7, 0.5, "fast")
    )
    before, after = checks(start, True), checks(start, False)
    seen: list[Call] = []

    def see(calls: Sequence[Call]) -> list[tuple[Record, Record]]:
        seen.extend(calls)
        return [(checks(c, True), checks(c, False)) for c in calls]

    found = unmask(start, before, after, SIGNATURE, HINTS, TraceOptions(), see)
    assert found is not None
    assert not checks(found, True).accepted
    assert checks(found, False).accepted
    assert found == unmask(start, before, after, SIGNATURE, HINTS, TraceOptions(), see)
    assert unmask(start, before, before, SIGNATURE, HINTS, TraceOptions(), lambda c: [(before, after)] * len(c)) is None


def test_a_difference_is_shrunk_to_what_it_needs() -> None:
    wrong = Difference("argument", "rows")

    def observe(calls: Sequence[Call]) -> list[tuple[list[Difference], Record, Record]]:
        record = Record("returned")
        rows = [c.args[1].sizes for c in calls if isinstance(c.args[1], TensorInput)]
        shows = [len(sizes) == 2 and sizes[1] > 5 for sizes in rows]
        return [([wrong] if s else [], record, record) for s in shows]

    call, found, _, _ = shrink(CALL, SIGNATURE, Difference("argument", "?"), observe)
    assert found == wrong
    assert call.args[1] == tensor("float16", (1, 6))
    assert call.args[0] == tensor("float16", ())
    assert call.args[2] is None
    assert call.args[3] == 0
    assert cost(call) < cost(CALL)


def test_a_reproducer_is_python() -> None:
    odd = TensorInput("float32", (2, 3), (8, 1), 1, 4)
    call = Call("ns::scale", (odd, tensor("int64", (5,), -1), None, 3, 0.5, "x"), device=1, capture=True)
    text = reproducer(call, SIGNATURE, Record("returned"), Record("died", message="[AITER] csrc/a.cu:3 no", signal=6))
    assert text.splitlines() == [
        "with torch.cuda.device(1), torch.cuda.graph(torch.cuda.CUDAGraph()):",
        "  scale(",
        "    out=torch.empty(15, dtype=torch.float32, device='cuda:1').as_strided((2, 3), (8, 1), 4),",
        "    input=torch.empty((5,), dtype=torch.int64, device='cpu'),",
        "    row_map=None,",
        "    block=3,",
        "    eps=0.5,",
        "    mode='x',",
        "  )",
        "before: goes through, launches nothing",
        "after:  ends the process: no [csrc/a.cu:3]",
    ]
    compile(text.rpartition("before:")[0], "reproducer", "exec")


def test_signatures_join_kinds_with_names() -> None:
    names = {"_ZN2ns5scaleERN2at6TensorEd": ("out", "eps"), "_ZN2ns6scale2Ei": ("x",), "plain": ("a", "0")}
    described = [("ns::scale", ("tensor", "float"), ""), ("plain", ("int32", "bool"), "int"), ("gone", ("str",), "")]
    found = signatures(described, names)
    assert found["ns::scale"].params == (Parameter("out", "tensor"), Parameter("eps", "float"))
    assert found["plain"].params == (Parameter("a", "int32"), Parameter("arg1", "bool"))
    assert found["gone"].params == (Parameter("arg0", "str"),)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("tensor", "int32"), ("tensor", "int64"), ""),
        (("tensor", "tensor?"), ("tensor?", "tensor?"), ""),
        (("tensor",), ("tensor", "tensor"), "takes 1 arguments before and 2 after"),
        (("dtype",), ("int32",), "p0 is dtype before and int32 after"),
        (("tensor", "stream"), ("tensor", "stream"), ""),
        (("tensor",), ("tensor", "stream"), "takes a stream on one side only"),
        (("unsupported at::Generator",), ("int32",), "p0 is a at::Generator before, which no input can be made for"),
    ],
)
def test_signatures_are_paired(before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    sides = [
        Signature("f", tuple(Parameter(f"{letter}{i}", kind) for i, kind in enumerate(kinds)))
        for letter, kinds in (("p", before), ("q", after))
    ]
    found = paired(*sides)
    if said:
        assert found == said
    else:
        assert not isinstance(found, str)
        assert [p.name for p in found[1].params if p.base != "stream"] == [
            p.name for p in found[0].params if p.base != "stream"
        ]


def test_dense_strides_are_torchs() -> None:
    assert dense((2, 3, 4)) == (12, 4, 1)
    assert dense((0, 3)) == (3, 1)
    assert dense(()) == ()
