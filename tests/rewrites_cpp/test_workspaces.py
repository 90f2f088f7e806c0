"""Memory that is allocated in every call: what becomes a cache, and what stays for which reason."""

from __future__ import annotations

import pytest

from torchless.rewrites.workspaces.emit import cache_edits
from torchless.rewrites.workspaces.find import Staying, Workspace, workspaces
from torchless.text.edits import apply
from torchless.text.lexer import code_tokens, lex
from torchless.text.source import SourceFile

PLAIN = """void run(int n, hipStream_t stream)
{
    float* sums = nullptr;
    HIP_CALL(hipMalloc(&sums, n * sizeof(float)));
    partial<<<n, 64, 0, stream>>>(sums);
    HIP_CALL(hipFree(sums)); // done
}
"""


def found(text: str) -> list[Workspace | Staying]:
    return workspaces(code_tokens(lex(text.encode())))


def cached(text: str) -> str:
    source = SourceFile("a.cu", text.encode())
    tokens = code_tokens(lex(source.data))
    kept = [one for one in workspaces(tokens) if isinstance(one, Workspace)]
    return apply(source.data, cache_edits(source, tokens, 0, kept, "TL420")).decode().rpartition("};\n\n")[2]


def test_allocation_and_free_become_a_request_to_the_cache() -> None:
    assert cached(PLAIN) == (
        """void run(int n, hipStream_t stream)
{
    float* sums = nullptr;
    static StreamWorkspace sums_cache;
    sums = static_cast<float*>(sums_cache.get(n * sizeof(float), stream));
    partial<<<n, 64, 0, stream>>>(sums);
    // done
}
"""
    )


@pytest.mark.parametrize(
    ("old", "new", "stream"),
    [
        ("hipMalloc(&sums", "hipMalloc((void**)&sums", "stream"),
        ("hipMalloc(&sums", "hipMalloc(reinterpret_cast<void**>(&sums)", "stream"),
        ("HIP_CALL(hipFree(sums));", "hipFree(sums);", "stream"),
        ("HIP_CALL(hipFree(sums));", "(void)hipFree(sums);", "stream"),
        ("hipMalloc(&sums, n * sizeof(float))", "hipMallocAsync(&sums, n * sizeof(float), queue())", "queue()"),
        ("hipFree(sums)", "hipFreeAsync(sums, stream)", "stream"),
        ("    partial", "    Args args;\n    args.sums = sums;\n    partial", "stream"),
        ("    partial", "    float* again = sums;\n    partial", "stream"),
    ],
)
def test_other_spellings_are_the_same(old: str, new: str, stream: str) -> None:
    (one,) = found(PLAIN.replace(old, new))
    assert isinstance(one, Workspace)
    assert (one.pointer, one.type, one.stream) == ("sums", "float", stream)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("    HIP_CALL(hipMalloc", "    if(n > 1) HIP_CALL(hipMalloc", "on a condition"),
        ("    HIP_CALL(hipFree(sums));", "    if(n > 1) { HIP_CALL(hipFree(sums)); }", "on a condition"),
        ("HIP_CALL(hipMalloc(&sums, n * sizeof(float)));", "int e = hipMalloc(&sums, n);", "the result of the call"),
        ("    partial", "    hipMemcpy(sums, host, n, hipMemcpyHostToDevice);\n    partial", "does not wait"),
        ("    partial", "    kept.sums = sums;\n    partial", "kept beyond the call"),
        ("    partial", "    that->sums = sums;\n    partial", "kept beyond the call"),
        ("    partial", "    sums = other;\n    partial", "kept beyond the call"),
        ("    partial", "    hipMalloc(&sums, 1);\n    partial", "more than one place"),
        ("0, stream>>>", "0, other>>>", "which stream"),
        ("0, stream>>>", "0>>>", "which stream"),
        ("hipStream_t stream", "hipStream_t stream, hipStream_t side", "which stream"),
        ("stream>>>", "hipStreamPerThread>>>", "another stream in each thread"),
        ("    float* sums = nullptr;\n", "", "what sums points to"),
        ("    partial", "#if BIG\n    n *= 2;\n#endif\n    partial", "directives"),
    ],
)
def test_what_a_cache_would_change_stays(old: str, new: str, reason: str) -> None:
    assert old in PLAIN
    (one, *_) = found(PLAIN.replace(old, new))
    assert isinstance(one, Staying)
    assert reason in one.reason


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("    HIP_CALL(hipFree(sums)); // done\n", ""),  # lives longer than the call
        PLAIN.replace("    partial<<<n, 64, 0, stream>>>(sums);\n", ""),  # starts nothing
        "void own() { hipMalloc(&buffer, 4); }\nvoid drop() { hipFree(buffer); }\n",
    ],
)
def test_what_is_no_workspace_of_a_call_is_not_spoken_of(text: str) -> None:
    assert found(text) == []
