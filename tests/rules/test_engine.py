"""The engine as a whole: types nobody knows, what the target lacks, twins, checks in macros, any bytes at all."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rules.conftest import edits_of, view_of
from torchless.model import Confidence, Tier
from torchless.rules.engine import Options, ending_checks, examine
from torchless.rules.load import load_rules
from torchless.text.edits import apply, merge

RULES = load_rules()
PIECES = [
    "x", "y", "(", ")", "[", "]", "{", "}", "<", ">", ",", ";", ".", "->", "::", "==", "||", "&&", "<<", "-", "*", " ",
    "\n", "\\\n", "torch::kHalf", "at::ScalarType::Float8_e4m3fn", "torch_fp8", "at::Half", "TORCH_CHECK(", "AT_ERROR(",
    "x.scalar_type()", "x.dtype()", "x.data_ptr<float>()", "x.sizes()[0]", "x.device()", "s[0]",
    "const at::cuda::CUDAGuard g(device_of(x));", "at::hip::getCurrentHIPStream()", ".stream()", "#define M(x) ",
    "#if A\n", "#else\n", "#endif\n", "// c\n", "/* c */", '"s"', "AITER_DISPATCH_FLOATING16_TYPES(",
    "t2opus<scalar_t>", "auto s = x.strides();",
    "std::min(", "x.numel()", "sizeof(", "torch::empty({0}, x.options())", "\xff",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@example(["TORCH_CHECK(", "x", ",", "x.dtype()", ")", "x"])
@example(["#define M(x) ", "TORCH_CHECK(", "x", ")", "\\\n", "y", "\n", "x.scalar_type()"])
@settings(max_examples=300, deadline=None)
def test_edits_never_overlap_and_findings_have_their_place(pieces: list[str]) -> None:
    text = "".join(pieces).encode("latin-1")
    view = view_of(text, ["x: tensor", "y: tensor", "s: int_array"])
    examined = examine(view, RULES)
    edits = [e for f in examined.findings for e in f.edits]
    assert merge(edits).conflicts == ()
    for finding in examined.findings:
        assert 0 <= finding.start < finding.end <= len(text)
        assert finding.help or not finding.blocks
        assert not (finding.blocks and finding.edits)
    assert examine(view, RULES) == examined


@given(st.lists(st.sampled_from(PIECES), max_size=25))
@settings(max_examples=200, deadline=None)
def test_comments_and_directives_survive(pieces: list[str]) -> None:
    text = "".join(pieces).encode("latin-1")
    view = view_of(text, ["x: tensor", "y: tensor"])
    edits = [e for f in examine(view, RULES).findings for e in f.edits]
    result = apply(text, edits)
    for kept in (b"// c", b"/* c */", b"#if A", b"#else", b"#endif", b"#define M(x)"):
        assert result.count(kept) == text.count(kept)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_can_be_examined(data: bytes) -> None:
    edits = [e for f in examine(view_of(data), RULES).findings for e in f.edits]
    assert merge(edits).conflicts == ()


def test_a_member_of_an_unknown_object_is_said_not_guessed() -> None:
    text = "f(node.scalar_type(), node.dtype(), node.data_ptr<int>(), node.view(3));"
    found = examine(view_of(text), RULES).findings
    assert [(f.code, f.blocks, text[f.start : f.end]) for f in found] == [
        ("TL010", True, "scalar_type"),
        ("TL010", True, "data_ptr"),
    ]


def test_types_from_the_text_alone_are_marked() -> None:
    text = "void f(torch::Tensor& x, own::Tensor& y) { g(x.scalar_type(), y.dtype()); }"
    found = tuple(f for f in examine(view_of(text), RULES).findings if f.code == "TL210")
    assert [f.confidence for f in found] == [Confidence.SYNTACTIC]
    found = examine(view_of("g(x.scalar_type());", ["x: tensor"]), RULES).findings
    assert [f.confidence for f in found] == [Confidence.SEMANTIC]


def test_what_the_target_lacks_is_a_blocker_that_names_it() -> None:
    text = 'VLLM_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {});'
    view = view_of(text, ["x: tensor"])
    lacking = examine(view, RULES, Options(frozenset({"AITER_CHECK"}))).findings
    assert [(f.code, f.blocks, bool(f.edits)) for f in lacking] == [("TL590", True, False), ("TL210", False, True)]
    assert "VLLM_DISPATCH_FLOATING_TYPES_rmTorch" in lacking[0].message
    has = examine(view, RULES, Options(frozenset({"VLLM_DISPATCH_FLOATING_TYPES_rmTorch"}))).findings
    assert [f.code for f in has] == ["TL502", "TL210"]
    assert "aiter_dispatch.h" in has[0].requires


def test_message_and_help_show_what_was_matched() -> None:
    (finding,) = examine(view_of("place(ids.device());", ["ids: tensor"]), RULES).findings
    assert (finding.message, finding.blocks) == ("ids.device() is used as a value", True)
    assert finding.help == "pass ids.device_id, or make the allocation that needs the device in Python"


def test_a_chain_of_what_blocks_is_said_once() -> None:
    def said(text: str) -> list[tuple[str, str]]:
        return [(f.code, f.message) for f in examine(view_of(text, ["x: tensor", "y: tensor"]), RULES).findings]

    text = "run(x.transpose(0, 1).contiguous().view(n));"
    assert said(text) == [("TL294", "x.transpose(0, 1).contiguous().view(...) is an operation of torch")]
    # the rest of the chain is accounted for all the same
    covered = examine(view_of(text, ["x: tensor"]), RULES).covered
    assert [text[start:end] for start, end in covered] == [".transpose(", ").contiguous().view(", ")"]
    # one chain in the arguments of another, and two beside each other
    assert [m for _, m in said("y.copy_(x.transpose(0, 1)); x.sum();")] == [
        "y.copy_(...) is an operation of torch",
        "x.transpose(...) is an operation of torch",
        "x.sum(...) is an operation of torch",
    ]


def test_a_project_macro_that_ends_in_a_check_needs_its_semicolon() -> None:
    header = (
        "#define CHECK_A(x) TORCH_CHECK(x, #x)\n#define CHECK_B(x) \\\n  CHECK_A(x); CHECK_A(x)\n#define C(x) f(x);\n"
    )
    known = ending_checks(view_of(header), RULES)
    assert known == {"CHECK_A"}
    known |= ending_checks(view_of(header), RULES, known)
    assert known == {"CHECK_A", "CHECK_B"}
    text = "void f() { CHECK_B(a) CHECK_A(b); g(CHECK_A(c)); }"
    found = examine(view_of(text), RULES, Options(check_macros=known)).findings
    assert apply(text.encode(), edits_of(found)) == b"void f() { CHECK_B(a); CHECK_A(b); g(CHECK_A(c)); }"


def test_definitions_of_macros_with_twins_are_left_to_those_who_need_them() -> None:
    text = (
        "#define AITER_DISPATCH_FLOATING16_TYPES(T, N, ...) \\\n  AT_DISPATCH_SWITCH(T, N, at::kHalf)\nf(at::kHalf);\n"
    )
    examined = examine(view_of(text), RULES)
    assert [(f.code, f.tier, bool(f.edits)) for f in examined.findings] == [
        ("TL501", Tier.DISPLAY, False),
        ("TL211", Tier.SAFE, True),
    ]
    assert examined.covered[0] == (0, text.index("\nf("))


def test_an_outer_edit_is_no_safer_than_what_it_carries() -> None:
    text = "f(x.data_ptr<at::Half[2]>());"
    found = examine(view_of(text, ["x: tensor"]), RULES).findings
    assert [(f.code, f.tier, bool(f.edits)) for f in found] == [
        ("TL220", Tier.UNSAFE, True),
        ("TL507", Tier.UNSAFE, False),
    ]


def test_without_a_rule_its_edits_are_not_made() -> None:
    fewer = RULES.without(frozenset({"TL211"}))
    text = "f(x.scalar_type() == at::kHalf);"
    assert [f.code for f in examine(view_of(text, ["x: tensor"]), fewer).findings] == ["TL210"]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_time_grows_with_the_file_and_no_faster(eol: str) -> None:
    block = eol.join(
        [
            "template <typename T> __global__ void kernel(const T* __restrict__ p, int n) {",
            "  for (int i = threadIdx.x; i < n; i += blockDim.x) { acc[i << 2] += static_cast<float>(p[i]) * w[i]; }",
            "}",
            "void launch(torch::Tensor& x) { TORCH_CHECK(x.dim() == 2, x.sizes()); run(x.data_ptr<float>()); }",
            "",
        ]
    )

    def seconds_per_block(count: int) -> float:
        view = view_of(block * count)
        start = time.process_time()
        assert len(examine(view, RULES).findings) == 3 * count
        return (time.process_time() - start) / count

    seconds_per_block(10)  # what is made once is made
    assert seconds_per_block(3000) < 4 * seconds_per_block(300)  # the larger one has about 1 MB
