"""The workspace cache on the fake runtime: capture works warm and fails with advice cold; streams never share."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trace.conftest import MakeProgram
from torchless.rewrites.workspaces.emit import HEADERS, cache_edits
from torchless.rewrites.workspaces.find import Workspace, workspaces
from torchless.text.edits import apply
from torchless.text.lexer import code_tokens, lex
from torchless.text.source import SourceFile
from torchless.verify.trace.model import Call, Parameter, Record, Signature, TensorInput
from torchless.verify.trace.run import run_calls

pytestmark = pytest.mark.clang

SOURCE = """#include <aiter_tensor.h>
#include <aiter_stream.h>

__global__ void partial(float* sums) {}

void reduce_on(aiter_tensor_t& out, int rows, hipStream_t stream)
{
    float* sums = nullptr;
    HIP_CALL(hipMalloc(&sums, rows * sizeof(float)));
    partial<<<1, 64, 0, stream>>>(sums);
    HIP_CALL(hipFree(sums));
}

void reduce(aiter_tensor_t& out, int rows) { reduce_on(out, rows, aiter::getCurrentHIPStream()); }

void reduce_on_two(aiter_tensor_t& out, int rows)
{
    hipStream_t side = nullptr;
    HIP_CALL(hipStreamCreate(&side));
    reduce_on(out, rows, aiter::getCurrentHIPStream());
    reduce_on(out, rows, side);
    reduce_on(out, rows, aiter::getCurrentHIPStream());
}
"""
OUT = TensorInput("float32", (3, 8), (8, 1))
PARAMETERS = (Parameter("out", "tensor"), Parameter("rows", "int32"))
ENTRIES = ("reduce", "reduce_on_two")
STEP = 4 << 20


def with_cache() -> str:
    source = SourceFile("source.cu", SOURCE.encode())
    tokens = code_tokens(lex(source.data))
    found = [one for one in workspaces(tokens) if isinstance(one, Workspace)]
    place = SOURCE.index("void reduce_on(")
    text = apply(source.data, cache_edits(source, tokens, place, found, "TL420")).decode()
    return "".join(f"#include {header}\n" for header in HEADERS) + text


def events(record: Record, kind: str) -> list[dict[str, Any]]:
    return [dict(event) for event in record.events if event["event"] == kind]


def test_the_cache_under_capture_and_on_two_streams(make_program: MakeProgram) -> None:
    program = make_program(with_cache(), ENTRIES)
    calls = [
        Call("reduce", (OUT, 100)),
        Call("reduce", (OUT, 100), capture=True),
        Call("reduce", (OUT, STEP), capture=True),
        Call("reduce", (OUT, STEP)),
        Call("reduce", (OUT, 2 * STEP), device=1),
        Call("reduce_on_two", (OUT, 100)),
    ]
    signatures = [Signature(name, PARAMETERS) for name in ENTRIES]
    warm, captured, cold, grown, other, two = run_calls(program, calls, signatures, "gfx942")

    assert [e["bytes"] for e in events(warm, "alloc")] == [STEP] and not events(warm, "free")
    [before], [during] = events(warm, "launch"), events(captured, "launch")
    assert captured.outcome == "returned" and not events(captured, "alloc")
    assert during["args"] == before["args"]

    assert cold.outcome != "returned" and not events(cold, "alloc") and not events(cold, "launch")
    assert f"a workspace of {4 * STEP} bytes cannot be allocated while a graph is captured" in cold.message
    assert "call this once on the same stream before the capture" in cold.message

    # the buffer that a graph was captured with stays
    assert [e["bytes"] for e in events(grown, "alloc")] == [4 * STEP] and not events(grown, "free")
    assert [(e["bytes"], e["device"]) for e in events(other, "alloc")] == [(8 * STEP, 1)]

    pointers = [launch["args"][0][1] for launch in events(two, "launch")]
    assert len(pointers) == 3 and pointers[0] == pointers[2] != pointers[1]


def test_without_the_cache_nothing_can_be_captured(make_program: MakeProgram) -> None:
    program = make_program(SOURCE, ENTRIES)
    signatures = [Signature(name, PARAMETERS) for name in ENTRIES]
    calls = [Call("reduce", (OUT, 100)), Call("reduce", (OUT, 100), capture=True)]
    plain, captured = run_calls(program, calls, signatures, "gfx942")
    assert plain.outcome == "returned" and captured.outcome == "died"
