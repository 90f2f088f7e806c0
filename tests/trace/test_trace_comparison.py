"""What counts as a difference, what is the same under another name, and what conventions accept."""

from __future__ import annotations

import re
from typing import Any

import pytest

from torchless.facts import stubs
from torchless.verify.trace.compare import compare, launches, told
from torchless.verify.trace.inputs import tensor
from torchless.verify.trace.model import Call, Record
from torchless.verify.trace.normal import (
    authored,
    kernel_name,
    leaf,
    message_of,
    place_of,
    short_kernel,
    without_details,
)
from torchless.verify.trace.toolchain import RUNTIME

NAMES = ("out", "input")
CALL = Call("f", (tensor("float16", (4,)), tensor("float16", (4,))))
AWAY = Call("f", (tensor("float16", (4,), 1), tensor("float16", (4,), 1)), device=0)
ON_CPU = Call("f", (tensor("float16", (4,)), tensor("float16", (4,), -1)))
LAUNCH: dict[str, Any] = {
    "event": "launch",
    "kernel": "void ns::k<c10::Half>(c10::Half*, long)",
    "grid": [4, 1, 1],
    "block": [64, 1, 1],
    "shared": 0,
    "stream": "device0.current",
    "device": 0,
    "args": [["out", "ptr:out"], ["n", "i64:4"]],
}


def record(*events: dict[str, Any], **more: Any) -> Record:
    return Record("returned", events, **more)


def refused(message: str, where: str = "", **more: Any) -> Record:
    return Record(more.pop("outcome", "threw"), more.pop("events", ()), message=message, where=where, **more)


def kinds(before: Record, after: Record, call: Call = CALL) -> list[tuple[str, str]]:
    return [(d.kind, d.accepted) for d in compare(call, before, after, NAMES)]


def changed(**fields: Any) -> dict[str, Any]:
    return {**LAUNCH, **fields}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"kernel": "void ns::k<__half>(__half*, long)"}, ""),
        ({"kernel": "void ns::k<hip_bfloat16>(hip_bfloat16*, long)"}, "kernel"),
        ({"kernel": "void ns::other<__half>(__half*, long)"}, "kernel"),
        ({"grid": [4, 2, 1]}, "grid"),
        ({"block": [65, 1, 1]}, "block"),
        ({"shared": 8}, "shared"),
        ({"stream": "default"}, "stream"),
        ({"stream": "device1.current"}, "stream"),
        ({"device": 1}, "device"),
        ({"args": [["out", "ptr:out+2"], ["n", "i64:4"]]}, "argument"),
        ({"args": [["out", "ptr:out"], ["n", "i64:5"]]}, "argument"),
        ({"args": [["out", "ptr:out"]]}, "argument"),
        ({"error": "hipErrorInvalidValue", "why": "too much"}, "launch"),
    ],
)
def test_each_field_of_a_launch_counts(fields: dict[str, Any], kind: str) -> None:
    assert kinds(record(LAUNCH), record(changed(**fields))) == ([(kind, "")] if kind else [])


def test_guards_and_questions_do_not_count_by_themselves() -> None:
    noise = [{"event": "set_device", "device": 0}, {"event": "call", "name": "hipGetDevice", "device": 0}]
    assert kinds(record(LAUNCH), record(*noise, LAUNCH, *noise)) == []
    assert kinds(record(LAUNCH), record(LAUNCH, device=1)) == [("device", "")]


def test_a_lost_a_new_and_a_moved_launch() -> None:
    other = changed(kernel="void ns::after(int)")
    assert kinds(record(LAUNCH, other), record(LAUNCH)) == [("launch", "")]
    assert kinds(record(LAUNCH), record(LAUNCH, other)) == [("launch", "")]
    assert kinds(record(LAUNCH, other), record(other, LAUNCH)) == [("launch", ""), ("launch", "")]


def test_allocations_count_by_what_they_are() -> None:
    def allocates(name: str, label: str, size: int) -> list[dict[str, Any]]:
        return [
            {"event": "alloc", "name": name, "bytes": size, "device": 0, "as": label},
            changed(args=[["out", f"ptr:{label}+8"]]),
        ]

    by_torch, by_hip = allocates("torch", "@torch7", 64), allocates("hipMallocAsync", "@alloc0", 64)
    free = {"event": "free", "pointer": "@alloc0"}
    assert kinds(record(*by_torch), record(*by_hip, free)) == []
    assert kinds(record(*by_torch), record(*allocates("hipMalloc", "@alloc0", 32))) == [("memory", "")]
    assert kinds(record(by_torch[0]), record()) == [("memory", "")]
    kept = changed(args=[["out", "ptr:@alloc3+8"]])
    assert kinds(record(by_torch[1]), record(kept)) == []  # both use what an earlier call left behind


def test_fills_and_copies() -> None:
    fill = {
        "event": "memset",
        "to": "out",
        "value": 0,
        "width": 1,
        "bytes": 8,
        "stream": "device0.current",
        "device": 0,
    }
    copy = {"event": "memcpy", "to": "out", "from": "input", "bytes": 8, "kind": 3, "device": 0}
    assert kinds(record(fill), record({**fill, "name": "torch"})) == []
    for change in ({"bytes": 4}, {"value": 1}, {"to": "input"}):
        assert kinds(record(fill), record({**fill, **change})) == [("memory", "")]
    assert kinds(record(fill), record()) == [("memory", "")]
    assert kinds(record(copy), record({**copy, "kind": 4})) == []  # the runtime finds out which
    assert kinds(record(copy), record({**copy, "kind": 2})) == [("memory", "")]
    assert kinds(record(copy), record({**copy, "from": "out"})) == [("memory", "")]


def test_results_and_pending_errors_count() -> None:
    assert kinds(record(result=("3",)), record(result=("4",))) == [("result", "")]
    assert kinds(record(), record(pending="hipErrorInvalidValue")) == [("launch", "")]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("f: 3 rows", "f: 3 rows"),
        ("[AITER] csrc/kernels/f.cu:12 f: 3 rows", "f: 3 rows"),
        ("csrc/f.cu:12: f: 3 rows", "f: 3 rows"),
        ("loading\n[AITER] csrc/f.cu:12 f: 3\n rows", "f: 3 rows"),
        ("f: cannot take Half, at::ScalarType::BFloat16 or torch.float32", "f: cannot take fp16, bf16 or fp32"),
        ("f: cannot take fp16, bf16 or fp32", "f: cannot take fp16, bf16 or fp32"),
        ("[AITER] csrc/f.cu:12 check failed", ""),
        ("Expected x.dim() == 2 to be true, but got false.  (Could this error message be improved?)", ""),
        ("[F1130 00:04:12.726894968 f.cu:111] Check failed: t.dim() == 2 (3 vs. 2).", ""),
    ],
)
def test_messages_without_what_checks_put_around_them(message: str, words: str) -> None:
    assert message_of(refused(message)) == words


def test_the_place_of_a_refusal() -> None:
    assert place_of(refused("no", "csrc/f.cu:3")) == "csrc/f.cu:3"
    assert place_of(refused("[AITER] csrc/f.cu:12 no")) == "csrc/f.cu:12"
    assert without_details("rows: 12 of fp16, not -3 of Bool") == "rows: 0 of T, not 0 of T"


@pytest.mark.parametrize(
    ("message", "where", "own"),
    [
        ("f: 3 rows", "csrc/f.cu:3", True),
        ("[AITER] csrc/f.cu:12 f: 3 rows", "", True),
        ("expected scalar type Half but found Float", "/torch/TensorMethods.cpp:12", False),
        ("\"f\" not implemented for 'Int'", "csrc/f.cu:3", False),
        ("Dimension out of range (expected to be in range of [-1, 0], but got 1)", "", False),
        ("HIP error: hipErrorInvalidValue", "csrc/f.cu:3", False),
        ("died of SIGSEGV", "", False),
    ],
)
def test_whose_words_a_refusal_has(message: str, where: str, own: bool) -> None:
    assert authored(refused(message, where)) is own


def test_the_launchers_own_words_must_stay() -> None:
    before = refused("f: 3 rows", "csrc/f.cu:3")
    died = {"outcome": "died", "signal": 6}
    assert kinds(before, refused("[AITER] csrc/f.cu:9 f: 3 rows", **died)) == []
    assert kinds(before, refused("[AITER] csrc/f.cu:9 f: rows", **died)) == [("message", "")]
    torch = refused("expected scalar type Half but found Float", "/torch/a.cpp:1")
    assert kinds(torch, refused("[AITER] csrc/f.cu:9 f: fp16 please", **died)) == []
    assert kinds(before, refused("died of SIGSEGV", outcome="died", signal=11)) == [("verdict", "")]


def test_who_refuses_counts() -> None:
    no = refused("f: 3 rows", "csrc/f.cu:3")
    assert kinds(no, record(LAUNCH)) == [("verdict", "")]
    assert kinds(record(LAUNCH), no) == [("verdict", "")]
    torch = refused("expected scalar type Half but found Float", "/torch/a.cpp:1")
    assert kinds(torch, record(LAUNCH)) == [("verdict", "")]  # a dtype check that is gone


def test_what_conventions_accept() -> None:
    rank = refused("Dimension specified as -1 but tensor has no dimensions")
    assert kinds(rank, record(LAUNCH)) == [("verdict", "index")]
    conversion = refused("Unsupported dtype: torch.bool", outcome="refused")
    assert kinds(record(LAUNCH), conversion) == [("verdict", "dtype")]
    assert kinds(refused("f: no Bool", "csrc/f.cu:3"), conversion) == []
    other_stream = changed(device=1, stream="device0.current", error="e", why="a stream of device 0 while device 1 ...")
    before = changed(device=1, stream="device1.current")
    assert set(kinds(record(before), record(other_stream), AWAY)) == {("stream", "stream"), ("launch", "stream")}
    died = refused("fail to call", outcome="died", signal=6, events=(other_stream,))
    assert kinds(record(before), died, AWAY) == [("verdict", "stream")]
    asked = refused("HIP error", events=(other_stream, {"event": "wait", "name": "hipGetLastError"}))
    assert kinds(record(before), asked, AWAY) == [("verdict", "stream")]  # the launch failed, and was asked about later
    other = refused("HIP error", events=(other_stream, changed(device=1, error="e", why="no such grid")))
    assert kinds(record(before), other, AWAY) == [("verdict", "")]
    # a guard that was added is accepted, one that was lost is not
    assert ("device", "guard") in kinds(record(LAUNCH), record(changed(device=1)), AWAY)
    assert ("device", "") in kinds(record(before), record(changed(device=0, stream="device1.current")), AWAY)
    # the null stream is nobody's current stream
    assert ("stream", "") in kinds(record(before), record(changed(device=1, stream="default")), AWAY)


def test_a_guard_on_a_host_tensor_is_accepted_only_where_a_kernel_would_read_it() -> None:
    died = refused("csrc/a.h:3: hipSetDevice(-1): hipErrorInvalidDevice", outcome="died", signal=6)
    reads = changed(args=[["input", "ptr:input+8"]])
    assert kinds(record(reads), died, ON_CPU) == [("verdict", "host-memory")]
    assert kinds(record(changed(args=[["out", "ptr:out"]])), died, ON_CPU) == [("verdict", "")]


def test_checks_that_now_come_first_are_accepted() -> None:
    before = refused("expected scalar type Half but found Float", "/torch/a.cpp:1", events=(LAUNCH,))
    died = refused("csrc/f.cu:9: fp16 please", outcome="died", signal=6)
    assert kinds(before, died) == [("launch", "earlier")]
    own = refused("f: second launch", "csrc/f.cu:3", events=(LAUNCH,))
    assert ("launch", "") in kinds(own, refused("csrc/f.cu:9: f: second launch", outcome="died", signal=6))


def test_a_result_that_is_made_before_a_check_is_no_difference_where_the_check_fails() -> None:
    made = {"event": "alloc", "name": "torch", "bytes": 8, "device": 0, "as": "@torch0"}
    zeroed = {"event": "memset", "to": "@torch0", "value": 0, "width": 1, "bytes": 8}
    words = {"message": "a.cu:4: no", "where": "a.cu:4"}
    assert kinds(refused(**words), refused(events=(made, zeroed), **words)) == []
    kept = {**made, "name": "hipMalloc", "as": "@alloc0"}
    assert kinds(refused(**words), refused(events=(kept,), **words)) == [("memory", "")]
    assert kinds(record(LAUNCH), record(made, zeroed, LAUNCH)) == [("memory", ""), ("memory", "")]


def test_a_dtype_that_is_asked_for_first_may_be_what_a_refusal_speaks_of() -> None:
    old = refused("a.cu:9: f: no rotation 2", where="a.cu:9")
    new = refused("a.cu:4: f: expected the dtype of input for output; dtype i32 for sizes", where="a.cu:4")
    assert kinds(old, new) == [("message", "earlier")]
    assert kinds(old, refused("a.cu:4: f: expected rows for output", where="a.cu:4")) == [("message", "")]


def test_a_result_that_torch_makes_after_all_leaves_memory_that_nobody_uses() -> None:
    """The wrapper's own result is made first; C++ then says that torch is to compute it."""

    def computed(label: str) -> list[dict[str, Any]]:
        made = {"event": "alloc", "name": "torch", "bytes": 8, "device": 0, "as": label}
        return [made, {"event": "torch", "op": "aten::tanh", "inputs": ["input", label], "stream": "s", "device": 0}]

    spare = {"event": "alloc", "name": "torch", "bytes": 8, "device": 0, "as": "@torch0"}
    old = record(*computed("@torch0"), result=("[4] @torch0",))
    new = record(spare, *computed("@torch1"), result=("[4] @torch1",))
    assert kinds(old, new) == []
    assert kinds(old, record(spare, *computed("@torch1"), result=("[4] @torch0",))) != []  # the one that nobody filled
    assert kinds(old, record(spare, *computed("@torch1"), LAUNCH, result=("[4] @torch1",))) != []


def test_memory_that_stood_for_an_absent_tensor_may_go() -> None:
    placeholder = {"event": "alloc", "name": "torch", "bytes": 0, "device": 0, "as": "@torch0"}
    other = {**placeholder, "as": "@torch01"}
    assert kinds(record(placeholder, LAUNCH), record(LAUNCH)) == [("memory", "placeholder")]
    used = changed(args=[["out", "ptr:@torch0"], ["n", "i64:4"]])
    assert ("memory", "") in kinds(record(placeholder, used), record(LAUNCH))
    assert ("memory", "placeholder") in kinds(record(other, placeholder, used), record(placeholder, used))
    guard = {**placeholder, "bytes": 4, "as": "@torch7"}  # one more, behind the launch in both
    two = record(placeholder, other, LAUNCH, guard)
    assert kinds(two, record(LAUNCH, guard)) == [("memory", "placeholder")] * 2
    assert kinds(record({**placeholder, "name": "hipMalloc"}, LAUNCH), record(LAUNCH)) == [("memory", "")]
    assert kinds(record({**placeholder, "bytes": 4}, LAUNCH), record(LAUNCH)) == [("memory", "")]
    assert kinds(record(LAUNCH), record(placeholder, LAUNCH)) == [("memory", "")]


def test_a_launch_that_fails_alike_may_differ_in_the_rest() -> None:
    failed = {"error": "hipErrorInvalidConfiguration", "why": "an empty grid or block"}
    old = changed(grid=[4294967288, 1, 1], **{**failed, "why": "more than 2^32 - 1 threads in one dimension"})
    assert kinds(record(old), record(changed(grid=[0, 1, 1], **failed))) == []
    assert ("launch", "") in kinds(record(LAUNCH), record(changed(grid=[0, 1, 1], **failed)))
    assert ("launch", "") in kinds(record(old), record(changed(error="hipErrorInvalidHandle", why="no such stream")))


@pytest.mark.parametrize(
    ("torch", "target"),
    [
        ("signed char", "i8"),
        ("unsigned char", "u8"),
        ("short int", "i16"),
        ("int", "i32"),
        ("long unsigned int", "u64"),
    ],
)
def test_a_dtype_by_the_name_that_cxx_has_for_it(torch: str, target: str) -> None:
    before, after = (refused(f"no output of {word}", "a.cu:3") for word in (torch, target))
    assert kinds(before, after) == []
    assert kinds(before, refused("no output of bf16", "a.cu:3")) == [("message", "")]


def test_what_cannot_be_followed_is_not_compared() -> None:
    assert kinds(record(LAUNCH), refused("at::topk", outcome="missing")) == []


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void ns::k<c10::Half, 4>(c10::Half*, int)", "ns::k<fp16, 4>"),
        ("ns::k(int)", "ns::k"),
        (
            "void (anonymous namespace)::k<std::pair<int, T> >(int (*)(int))",
            "(anonymous namespace)::k<std::pair<int, T> >",
        ),
        ("hand_written_kernel", "hand_written_kernel"),
    ],
)
def test_short_names(name: str, short: str) -> None:
    assert short_kernel(name) == short


def test_names_that_only_look_like_types_stay() -> None:
    assert kernel_name("void my__half<half_of, ns::__half, __half2>(halfway)") == (
        "void my__half<half_of, ns::__half, __half2>(halfway)"
    )


def test_a_lambda_is_named_by_its_function_alone() -> None:
    """What a launcher takes is part of the name of a lambda in it, and so of a kernel that is called with one."""
    old = "void k<float, run(at::Tensor&, std::function<int (int)>)::{lambda(float)#1}>(float*)"
    new = "void k<float, run(aiter_tensor_t&)::{lambda(float)#1}>(float*)"
    assert kernel_name(old) == kernel_name(new) == "void k<float, run(...)::{lambda(float)#1}>(float*)"
    assert kernel_name(old) != kernel_name(new.replace("lambda(float)", "lambda(int)"))
    assert kernel_name(old) != kernel_name(new.replace("run", "ran"))


def test_a_state_of_a_generator_is_a_seed_and_an_offset() -> None:
    """Where Python draws them, the kernel gets just these; padding of the state, which nobody wrote, is 0xaa."""
    state = ["state", "i64:7", "i64:4", "i64:0", "i8:0", *["i8:-86"] * 7]
    old = changed(kernel="void k(long, at::PhiloxCudaState)", args=[["n", "i64:4"], state])
    new = changed(kernel="void k(long, unsigned long, unsigned long)")
    assert kinds(record(old), record({**new, "args": [["n", "i64:4"], ["seed", "i64:7"], ["offset", "i64:4"]]})) == []
    other = {**new, "args": [["n", "i64:4"], ["seed", "i64:7"], ["offset", "i64:8"]]}
    assert kinds(record(old), record(other)) == [("argument", "")]
    captured = {**old, "args": [["n", "i64:4"], [*state[:4], "i8:1", *state[5:]]]}
    assert kinds(record(captured), record(other)) == [("argument", "")]


def test_sixteen_bits_are_sixteen_bits() -> None:
    assert leaf("half:0x3800") == leaf("i16:14336")
    assert leaf("i16:-1") == leaf("bfloat:0xffff")
    assert leaf("i32:5") != leaf("i64:5")


def test_a_record_in_words() -> None:
    assert told(record(LAUNCH)) == "launches ns::k<fp16>"
    assert launches(record(LAUNCH, LAUNCH)) == ("ns::k<fp16>",) * 2
    assert told(refused("", "csrc/f.cu:3")) == "raises: (a check without a message) [csrc/f.cu:3]"


def test_the_runtime_has_every_function_that_the_stubs_declare() -> None:
    header = (stubs.stub_dirs()[0] / "hip/hip_runtime_api.h").read_text("utf-8")
    block = header[header.index('extern "C" {') :]
    declared = set(re.findall(r"\b(_*hip\w+)\(", block[: block.index("\n}\n")]))
    assert len(declared) > 80
    text = "".join(p.read_text("utf-8") for p in RUNTIME.glob("fake_*.cpp"))
    defined = set(re.findall(r"^(?:hipError_t|const char\*|void\*?\*?) (_*hip\w+)\(", text, re.M))
    assert declared <= defined
