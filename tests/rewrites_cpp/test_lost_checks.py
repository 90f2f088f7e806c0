from __future__ import annotations

import pytest

from torchless.facts.typing import FileView
from torchless.model import Finding
from torchless.rewrites.lost_checks import restore_checks
from torchless.text.edits import apply


def checks(view: FileView) -> list[str]:
    """The inserted statements, blanks squeezed."""
    return [b" ".join(e.new.split()).decode() for f in restore_checks(view) for e in f.edits]


def function(body: str, params: str = "at::Tensor& q, at::Tensor& p, at::Tensor& k") -> str:
    return f"void f({params})\n{{\n{body}}}\n"


def stripped(view: FileView) -> list[Finding]:
    """As restore_checks, in a text where the accessors have been replaced, as they are in the same unit."""
    return restore_checks(view)


def test_concrete_types_in_one_statement(view) -> None:
    before = view(function("    int n = 1;\n    run(p.data_ptr<int64_t>(), k.data_ptr<float>());\n"))
    edits = [e for f in restore_checks(before) for e in f.edits]
    assert apply(before.source.data, edits).decode() == function(
        "    int n = 1;\n"
        "    AITER_CHECK(p.dtype() == AITER_DTYPE_i64 &&\n"
        "                    k.dtype() == AITER_DTYPE_fp32,\n"
        "                __func__,\n"
        '                ": expected dtype i64 for p; dtype fp32 for k");\n'
        "    run(p.data_ptr<int64_t>(), k.data_ptr<float>());\n"
    )


def test_a_long_message_is_wrapped(view) -> None:
    names = [f"a_rather_long_tensor_name_{i}" for i in range(5)]
    accesses = ", ".join(
        f"{n}.data_ptr<{t}>()" for n, t in zip(names, ("int", "int", "int", "float", "float"), strict=True)
    )
    before = view(function(f"    run({accesses});\n", ", ".join(f"at::Tensor& {n}" for n in names)))
    [edit] = [e for f in restore_checks(before) for e in f.edits]
    lines = edit.new.decode().splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[5:] == [
        "                __func__,",
        '                ": expected dtype i32 for a_rather_long_tensor_name_0, "',
        '                "a_rather_long_tensor_name_1, a_rather_long_tensor_name_2; "',
        '                "dtype fp32 for a_rather_long_tensor_name_3, a_rather_long_tensor_name_4");',
    ]


def test_what_the_function_makes_itself_needs_no_check(view) -> None:
    made = "    at::Tensor s = torch::empty({0}, q.options().dtype(torch::kFloat));\n"
    assert checks(view(function(f"{made}    run(s.data_ptr<float>());\n"))) == []
    # whose tensor it is depends: the check stays
    given = "    at::Tensor s = some ? p : torch::empty({0}, q.options());\n"
    assert len(checks(view(function(f"{given}    run(s.data_ptr<float>());\n")))) == 1
    # of the dtype that another tensor has
    like = "    at::Tensor s = torch::empty_like(q);\n"
    assert len(checks(view(function(f"{like}    run(s.data_ptr<float>());\n")))) == 1


def test_a_short_one_is_one_line_with_the_files_line_end(view) -> None:
    before = view(function("\trun(p.data_ptr<int>());\n").replace("\n", "\r\n").encode())
    [finding] = restore_checks(before)
    assert finding.edits[0].new == (
        b'\tAITER_CHECK(p.dtype() == AITER_DTYPE_i32, __func__, ": expected dtype i32 for p");\r\n'
    )
    assert finding.code == "TL310" and finding.edits[0].code == "TL310"


@pytest.mark.parametrize(
    ("cpp", "dtype"),
    [
        ("int64_t", "i64"), ("long", "i64"), ("int", "i32"), ("int32_t", "i32"), ("float", "fp32"), ("uint8_t", "u8"),
        ("int8_t", "i8"), ("int16_t", "i16"), ("uint32_t", "u32"), ("uint64_t", "u64"), ("at::Half", "fp16"),
        ("c10::BFloat16", "bf16"), ("const float", "fp32"), ("std::int64_t", "i64"), ("c10::Float8_e4m3fnuz", "fp8"),
        ("unsigned char", "u8"),
    ],
)  # fmt: skip
def test_dtypes(view, cpp: str, dtype: str) -> None:
    [check] = checks(view(function(f"    run(p.data_ptr<{cpp}>());\n")))
    assert f"p.dtype() == AITER_DTYPE_{dtype}," in check


@pytest.mark.parametrize("accessor", ["const_data_ptr", "mutable_data_ptr", "data_ptr"])
def test_every_typed_accessor(view, accessor: str) -> None:
    assert len(checks(view(function(f"    run(p.{accessor}<float>());\n")))) == 1


def test_dispatched_types_are_compared_with_the_tensor_dispatched_on(view) -> None:
    body = (
        '    VLLM_DISPATCH_FLOATING_TYPES(q.scalar_type(), "f", [&] {\n'
        "        if(fast)\n            run(q.data_ptr<scalar_t>(), k.data_ptr<scalar_t>(), p.data_ptr<int64_t>());\n"
        "        else\n"
        "            run(q.data_ptr<scalar_t>(), k.data_ptr<scalar_t>(), p.data_ptr<int64_t>());\n    });\n"
    )
    [check] = checks(view(function(body)))
    assert check.startswith("AITER_CHECK(k.dtype() == q.dtype() && p.dtype() == AITER_DTYPE_i64, __func__,")
    assert '": expected the dtype of q for k; dtype i64 for p");' in check


def test_several_dispatched_types(view) -> None:
    body = (
        "    DISPATCH_TWO(q.scalar_type(), p.scalar_type(),\n"
        "        run(q.data_ptr<scalar_t_0>(), k.data_ptr<scalar_t_0>(), p.data_ptr<scalar_t_1>()));\n"
    )
    [check] = checks(view(function(body)))
    assert check.startswith("AITER_CHECK(k.dtype() == q.dtype(), __func__,")


def test_a_dtype_kept_in_a_local_is_followed(view) -> None:
    body = '    auto t = q.scalar_type();\n    AITER_DISPATCH_X(t, "f", [&] { run(k.data_ptr<scalar_t>()); });\n'
    [check] = checks(view(function(body)))
    assert "k.dtype() == q.dtype()" in check


@pytest.mark.parametrize(
    ("access", "check"),
    [
        ("o.has_value() ? o.value().data_ptr<float>() : nullptr", "!o.has_value() || o->dtype() == AITER_DTYPE_fp32"),
        ("o.has_value() ? o->data_ptr<float>() : nullptr", "!o.has_value() || o->dtype() == AITER_DTYPE_fp32"),
        (
            "o.has_value() ? reinterpret_cast<const T*>(o->data_ptr<float>()) : nullptr",
            "!o.has_value() || o->dtype() == AITER_DTYPE_fp32",
        ),
        ("o ? (T*)o->data_ptr<float>() : nullptr", "!o || o->dtype() == AITER_DTYPE_fp32"),
        (
            "(use && o.has_value()) ? o->data_ptr<float>() : nullptr",
            "!(use && o.has_value()) || o->dtype() == AITER_DTYPE_fp32",
        ),
    ],
)
def test_optionals_and_conditions(view, access: str, check: str) -> None:
    text = function(f"    float* x = {access};\n", "std::optional<at::Tensor> o, bool use")
    assert (
        checks(view(text)) == [f'AITER_CHECK({check}, __func__, ": expected dtype fp32 for o");']
        or check in (checks(view(text))[0])
    )


def test_inside_a_branch_the_check_stands_in_the_branch(view) -> None:
    body = "    if(use)\n    {\n        int n = 1;\n        run(p.data_ptr<float>());\n    }\n    other();\n"
    before = view(function(body, "at::Tensor& p, bool use"))
    edits = [e for f in restore_checks(before) for e in f.edits]
    got = apply(before.source.data, edits).decode()
    assert "        int n = 1;\n        AITER_CHECK(p.dtype() == AITER_DTYPE_fp32, __func__, " in got


def test_two_statements_share_a_check_unless_the_function_may_be_left_between(view) -> None:
    together = "    a(p.data_ptr<float>());\n    b(k.data_ptr<int>());\n"
    apart = "    a(p.data_ptr<float>());\n    if(n == 0)\n        return;\n    b(k.data_ptr<int>());\n"
    assert len(checks(view(function(together)))) == 1
    assert len(checks(view(function(apart)))) == 2


def test_a_branch_that_fails_counts_as_covered(view) -> None:
    body = (
        "    if(a)\n        x(p.data_ptr<float>());\n    else if(b)\n        y(p.data_ptr<float>());\n"
        '    else\n    {\n        TORCH_CHECK(false, "no");\n    }\n'
    )
    assert len(checks(view(function(body)))) == 1


def test_early_returns_that_read_it_too_are_covered(view) -> None:
    body = (
        "    if(a)\n    {\n        x(p.data_ptr<float>());\n        return;\n    }\n"
        "    if(b)\n    {\n        y(p.data_ptr<float>());\n        return;\n    }\n    z(p.data_ptr<float>());\n"
    )
    before = view(function(body))
    [finding] = restore_checks(before)
    assert finding.edits[0].start == before.source.data.index(b"    if(a)")


def test_an_early_return_that_does_not_read_it_is_not(keeps) -> None:
    body = "    if(a)\n        x(p.data_ptr<float>());\n    if(b)\n        return;\n    z(p.data_ptr<float>());\n"
    assert [f.code for f in keeps(restore_checks, function(body))] == ["TL310"]


def test_a_local_is_checked_behind_its_declaration(view) -> None:
    before = view(function("    at::Tensor t = o.value();\n    run(t.data_ptr<int>(), p.data_ptr<int>());\n"))
    edits = [e for f in restore_checks(before) for e in f.edits]
    assert "o.value();\n    AITER_CHECK(t.dtype() == AITER_DTYPE_i32" in apply(before.source.data, edits).decode()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("    if(a)\n        run(p.data_ptr<float>());\n", "some paths"),
        ("    for(int i = 0; i < n; ++i)\n        run(p.data_ptr<float>());\n", "some paths"),
        ("    auto l = [&] { run(p.data_ptr<float>()); };\n", "some paths"),
        ("    run(a && g(p.data_ptr<float>()));\n", "some paths"),
        ("    run(p.data_ptr<T>());\n", "which dtype T stands for"),
        ('    DISPATCH_X(q.scalar_type(), "f", [&] { run(p.data_ptr<cache_t>()); });\n', "which dtype cache_t"),
        (
            "    run(p[0].data_ptr<float>());\n",
            "of p[0]; the check is lost: the expression would be evaluated once more",
        ),
        ("    run(p.view(\n        n).data_ptr<float>());\n", "of p.view(n); the check"),
        ("    run(p\n#if X\n    [0]\n#endif\n    .data_ptr<float>());\n", "of a tensor; the check"),
        (
            "    run(p.data_ptr<float\n#if X\n    2\n#endif\n    >());\n",
            "of p; the check is lost: an #if decides on the type",
        ),
    ],
)
def test_unsure_places_are_reported_without_an_edit(keeps, body: str, why: str) -> None:
    found = keeps(restore_checks, function(body))
    assert [f.code for f in found] == ["TL310"]
    assert why in found[0].message and not found[0].blocks
    assert "#ifX" not in found[0].message and "\n" not in found[0].message


def test_macro_bodies_are_reported_without_an_edit(keeps) -> None:
    found = keeps(restore_checks, "#define RUN(x) run(torch::Tensor(x).data_ptr<float>())\nat::Tensor& g();\n")
    assert all(f.code == "TL310" for f in found)


@pytest.mark.parametrize(
    "body",
    [
        # checked already
        '    TORCH_CHECK(p.scalar_type() == at::kFloat, "p");\n    run(p.data_ptr<float>());\n',
        '    AITER_CHECK(AITER_DTYPE_fp32 == p.dtype(), "p");\n    run(p.data_ptr<float>());\n',
        # the code chooses by dtype
        "    if(p.scalar_type() == at::kInt)\n        run(p.data_ptr<int>());\n"
        "    else\n        run(p.data_ptr<int64_t>());\n",
        "    if(p.scalar_type() == at::kInt)\n        run(p.data_ptr<int>());\n",
        # the tensor dispatched on
        '    DISPATCH_X(q.scalar_type(), "f", [&] { run(q.data_ptr<scalar_t>()); });\n',
        # untyped
        "    run(p.data_ptr(), static_cast<float*>(p.data_ptr()));\n",
        # not a tensor
        "    run(thing.data_ptr<float>());\n    Thing thing;\n",
        "    // p.data_ptr<float>()\n",
    ],
)
def test_must_not_change(view, body: str) -> None:
    found = [f for f in restore_checks(view(function(body))) if "thing" not in f.message]
    assert found == []


@pytest.mark.parametrize("element", ["double", "bool"])
def test_elements_without_a_counterpart_block(keeps, element: str) -> None:
    found = keeps(restore_checks, function(f"    run(p.data_ptr<{element}>());\n"))
    assert [(f.code, f.blocks) for f in found] == [("TL295", True)]


def test_a_message_that_names_the_dtype_is_no_check(view) -> None:
    body = '    TORCH_CHECK(n > 0, "got ", p.scalar_type());\n    run(p.data_ptr<float>());\n'
    assert len(checks(view(function(body)))) == 1


def test_a_template_parameter_may_guard_a_check(view) -> None:
    body = "    int* p = SIZE > 1 ? k.value().data_ptr<int>() : nullptr;\n"
    text = "template <typename T, int SIZE>\n" + function(body, "std::optional<at::Tensor> k")
    [check] = checks(view(text))
    assert check.startswith("AITER_CHECK(!(SIZE > 1) || k.value().dtype() == AITER_DTYPE_i32, __func__,")
    # a name that nobody declared in sight does not
    assert checks(view(function(body, "std::optional<at::Tensor> k"))) == []
