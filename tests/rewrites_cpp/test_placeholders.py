from __future__ import annotations

import pytest

from torchless.rewrites.placeholders import rewrite_placeholders

HELPER = """// Stands in for an operand that a call does not have: one dimension of no elements, and no memory.
static inline aiter_tensor_t empty_placeholder(AiterDtype dtype, int device_id)
{
    aiter_tensor_t t{};
    t.ptr        = nullptr;
    t.numel_     = 0;
    t.ndim       = 1;
    t.shape[0]   = 0;
    t.strides[0] = 1;
    t.dtype_     = dtype;
    t.device_id  = device_id;
    return t;
}

"""
INDENTED = "".join(f"    {line}" if line.strip() else line for line in HELPER.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ("q.options()", "q.dtype(), q.device_id"),
        ("q.options().dtype(torch::kFloat32)", "AITER_DTYPE_fp32, q.device_id"),
        ("q.options().dtype(at::ScalarType::Int)", "AITER_DTYPE_i32, q.device_id"),
        ("torch::TensorOptions().dtype(k.dtype()).device(q.device())", "k.dtype(), q.device_id"),
        ("at::TensorOptions().device(q.device()).dtype(k.scalar_type())", "k.dtype(), q.device_id"),
        ("torch::dtype(torch::kInt64).device(q.device())", "AITER_DTYPE_i64, q.device_id"),
    ],
)
def test_dtype_and_device_come_from_the_options(rewrites, options: str, made: str) -> None:
    head = "void f(torch::Tensor& q, at::Tensor& k)\n{\n    torch::Tensor x = "
    rewrites(
        rewrite_placeholders,
        f"{head}torch::empty({{ 0 }}, {options});\n}}\n",
        f"{HELPER}{head}empty_placeholder({made});\n}}\n",
    )


def test_one_helper_for_a_file_before_the_comment_of_the_first_user(rewrites) -> None:
    body = """    /**
     * What f does.
     */
    template <typename T>
    void f(torch::Tensor& q)
    {{
        torch::Tensor x = ok ? o.value() : {0};
    }}

    void g(torch::Tensor& q)
    {{
        torch::Tensor x = {0};
    }}
}}
"""
    rewrites(
        rewrite_placeholders,
        "namespace a {\n\n" + body.format("at::empty({0}, q.options())"),
        "namespace a {\n\n" + INDENTED + body.format("empty_placeholder(q.dtype(), q.device_id)"),
    )


def test_outside_every_conditional(rewrites) -> None:
    body = "#ifdef A\nvoid f(at::Tensor& q)\n{{\n    auto x = {};\n}}\n#endif\n"
    rewrites(
        rewrite_placeholders,
        "int before;\n" + body.format("at::empty({0}, q.options())"),
        "int before;\n" + HELPER + body.format("empty_placeholder(q.dtype(), q.device_id)"),
    )


def test_another_namespace_has_its_own_helper(view) -> None:
    text = "".join(
        f"namespace {name} {{\nvoid f(at::Tensor& q)\n{{\n    g(at::empty({{0}}, q.options()));\n}}\n}}\n"
        for name in "ab"
    )
    found = rewrite_placeholders(view(text))
    inserted = {e.start for f in found for e in f.edits if e.start == e.end}
    assert len(inserted) == 2


def test_a_helper_that_is_there_is_used(rewrites) -> None:
    rewrites(
        rewrite_placeholders,
        HELPER + "void f(at::Tensor& q)\n{\n    auto x = at::empty({0}, q.options());\n}\n",
        HELPER + "void f(at::Tensor& q)\n{\n    auto x = empty_placeholder(q.dtype(), q.device_id);\n}\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        "void f(at::Tensor& q) { auto x = at::empty({1}, q.options()); }\n",  # an allocation
        "void f(at::Tensor& q) { auto x = at::empty({0, 0}, q.options()); }\n",  # two dimensions
        "void f(at::Tensor& q) { auto x = at::empty({0}, options); }\n",  # unknown options
        "void f(at::Tensor& q) { auto x = at::empty({0}, torch::TensorOptions().device(q.device())); }\n",  # no dtype
        "void f(at::Tensor& q) { auto x = at::empty({0}, torch::dtype(torch::kInt)); }\n",  # the CPU
        "void f(at::Tensor& q) { auto x = at::empty({0}, q.options().dtype(at::kBool)); }\n",
        "void f(Thing& q) { auto x = at::empty({0}, q.options()); }\n",  # not a tensor
        "void f(at::Tensor& q) { auto x = mine::empty({0}, q.options()); }\n",
        "#define EMPTY(q) at::empty({0}, q.options())\n",  # no place for the helper
        "struct S { void f(at::Tensor& q) { auto x = at::empty({0}, q.options()); } };\n",
        "// at::empty({0}, q.options())\n",
    ],
)
def test_must_not_change(keeps, text: str) -> None:
    assert keeps(rewrite_placeholders, text) == []
