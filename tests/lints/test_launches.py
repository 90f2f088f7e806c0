from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import EXCERPT, Found, findings_in, mend
from torchless.lints import launches
from torchless.model import Tier


def test_every_call_that_launches_is_known(found: Found) -> None:
    text = """
void f()
{
    hipExtLaunchKernelGGL(k, grid, block, 0, 0, start, stop, 0, out);
    hipLaunchKernel((const void*)k, grid, block, args, 0, nullptr);
    hipExtLaunchKernel(k, grid, block, args, 0, NULL, start, stop, 0);
    hipLaunchCooperativeKernel(k, grid, block, args, 0, (hipStream_t)0);
    hipModuleLaunchKernel(k, 1, 1, 1, 64, 1, 1, 0, hipStream_t{}, nullptr, config);
    hipExtModuleLaunchKernel(k, 1, 1, 1, 64, 1, 1, 0, static_cast<hipStream_t>(0), args, nullptr, 0, 0, 0);
}
"""
    assert [f.line for f in found({EXCERPT: text}, "TL410")] == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "code",
    [
        "k<<<grid, block, 0, stream>>>(out);",
        "k<<<grid, block, 0, at::cuda::getCurrentHIPStream()>>>(out);",
        "k<<<grid, block, 0, config.stream_id_>>>(out);",
        "k<<<(n > 2 ? 1 : 2), dim3{1, 2}, sizeof(T) << 2, current_stream(x, 0)>>>(out);",
        "k<T, (N > 3)><<<grid_of<T, 4>(n), block, 0, *which>>>(out);",
        "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<T, 4>), grid, block, 0, s.stream_id_, 0, nullptr);",
        "hipLaunchKernelGGL((k<T, 4>), grid, block);",  # too few arguments to be the call that is known
        "auto launch = &hipModuleLaunchKernel;",
        'log("k<<<1, 1>>>()"); // k<<<1, 1>>>()',
        "unfinished<<<1, 1;",
    ],
)
def test_launches_that_name_a_stream(found: Found, code: str) -> None:
    assert found({EXCERPT: f"void f() {{\n    {code}\n}}\n"}, "TL410") == []


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("void f(hipStream_t stream = 0) {{ {} }}", "stream"),
        ("void f(int a, const hipStream_t s) {{ if(a) {{ {} }} }}", "s"),
        ("void f() {{ hipStream_t s = other(); for(int i = 0; i < 2; ++i) {{ {} }} }}", "s"),
        ("void f(hipStream_t s) {{ auto g = [&](int i) mutable {{ {} }}; }}", "s"),
        ("void f(hipStream_t s) {{ DISPATCH(t, [=, &n] {{ {} }}); }}", "s"),
        ("void f(cudaStream_t s) {{ while(true) {{ do {{ {} }} while(0); }} }}", "s"),
        ("void f(hipStream_t s) {{ auto g = [s] {{ {} }}; }}", ""),
        ("void f(hipStream_t s) {{ auto g = [] {{ {} }}; }}", ""),
        ("void f(hipStream_t a, hipStream_t b) {{ {} }}", ""),
        ("void f(hipStream_t a) {{ hipStream_t b = a; {} }}", ""),
        ("void f() {{ {{ hipStream_t s = g(); }} {} }}", ""),
        ("void f() {{ {} hipStream_t s = g(); }}", ""),
        ("void g(hipStream_t s); void f() {{ {} }}", ""),
        ("void g(hipStream_t s) {{ }} void f() {{ {} }}", ""),
        ("hipStream_t s; void f() {{ {} }}", ""),
        ("struct A {{ hipStream_t s; void f() {{ {} }} }};", ""),
        ("#define RUN(hipStream_t_s) {}\nvoid f(hipStream_t s) {{ }}", ""),
    ],
)
def test_the_stream_that_can_be_named(tmp_path: Path, found: Found, head: str, name: str) -> None:
    text = head.format("k<<<grid, block>>>(out);")
    (finding,) = found({EXCERPT: text}, "TL410")
    assert finding.tier is (Tier.UNSAFE if name else Tier.DISPLAY)
    mend(tmp_path, [finding])
    wanted = f"k<<<grid, block, 0, {name}>>>(out);" if name else "k<<<grid, block>>>(out);"
    assert (tmp_path / EXCERPT).read_text() == head.format(wanted)


def test_a_range_covers_the_brackets(found: Found) -> None:
    text = "void f() { k<<<grid, block, 8>>>(out); }"
    (finding,) = found({EXCERPT: text}, "TL410")
    assert text[finding.start : finding.end] == "<<<grid, block, 8>>>"


def test_a_comment_before_a_launch_does_not_hide_it(found: Found) -> None:
    text = "void f()\n{\n    // k<<<1, 1>>>();\n    k<<<1, 1>>>(); // k<<<1, 1>>>();\n}\n"
    assert [f.line for f in found({EXCERPT: text}, "TL410")] == [4]


@pytest.mark.parametrize("spaces", ["", " ", "\n        ", " \\\n  "])
def test_what_is_not_lexed_holds_no_finding(spaces: str) -> None:
    """The quick look at each launch must see a reason to look closer wherever there is something to find."""
    for stream in ("0", "nullptr", "NULL", "hipStream_t{}", "hipStream_t()", "(hipStream_t) 0", "hipStreamDefault"):
        text = f"void f() {{ k<<<g(1, 2),{spaces}dim3{{1, 2}}, h[0],{spaces}{stream}{spaces}>>>(out); }}"
        assert len(launches._scan(text.encode())) == 1, text
        text = f"void f() {{ hipLaunchKernelGGL(k<T, 1>, g,{spaces}b, 0,{spaces}{stream}{spaces}, out); }}"
        assert len(launches._scan(text.encode())) == 1, text


@pytest.mark.corpus
def test_real_launches(corpus: Path) -> None:
    """Of the wheel's launches, those that leave the stream out although their function has one at hand."""
    found = findings_in(corpus, ["TL410"])
    mended = [(f.path.removeprefix("aiter_meta/csrc/kernels/"), f.line) for f in found if f.edits]
    assert mended == [
        ("custom_kernels.cu", 2475),
        *(("sample_kernels.cu", line) for line in (509, 544, 581, 650, 711, 814)),
    ]
    assert {f.path.rsplit("/", 1)[-1] for f in found if not f.edits} == {
        "sytrd_kernels.cu",
        *(f"mha_{kind}_kernels.cu" for kind in ("fwd", "bwd", "varlen_fwd", "varlen_bwd", "batch_prefill")),
        *(f"asm_mha_{kind}.cu" for kind in ("fwd", "bwd", "varlen_fwd", "varlen_bwd")),
    }
