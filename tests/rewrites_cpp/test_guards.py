from __future__ import annotations

from collections.abc import Callable

import pytest

from torchless.facts.model import FunctionFact
from torchless.facts.typing import FileView
from torchless.model import Finding
from torchless.rewrites.guards import add_guards, guards_on_host
from torchless.rewrites.heads import function_name
from torchless.rewrites.scopes import BlockKind, find_scopes


def guards(
    *entries: str, launches: tuple[str, ...] = ("launch",), guarded: tuple[str, ...] = ()
) -> Callable[[FileView], list[Finding]]:
    def rewrite(view: FileView) -> list[Finding]:
        functions = [f for f in functions_of(view) if f.name in (entries or ("f",))]
        return add_guards(view, functions, launches=launches.__contains__, guarded=guarded.__contains__)

    return rewrite


def functions_of(view: FileView) -> list[FunctionFact]:
    """The function definitions, as the compiler would report them as far as guards care."""
    scopes = find_scopes(view.tokens)
    out = []
    for block in scopes.blocks:
        if block.kind is BlockKind.FUNCTION:
            name = view.tokens[function_name(scopes, block.params)]
            body = view.tokens[block.open].start, view.tokens[block.close].end
            start = view.tokens[block.head].start
            out.append(
                FunctionFact(
                    view.source.path, start, body[1], name.text.decode(), name.start, *body,
                    (), "", "void", False, False, False, False,
                )
            )  # fmt: skip
    return out


@pytest.mark.parametrize(
    ("body", "want"),
    [
        # right above the stream
        (
            "    int n = x.size(0);\n    const hipStream_t s = at::hip::getCurrentHIPStream();\n"
            "    k<<<1, 1, 0, s>>>();\n",
            "    int n = x.size(0);\n    const HipDeviceGuard device_guard(x.device_id);\n"
            "    const hipStream_t s = at::hip::getCurrentHIPStream();\n    k<<<1, 1, 0, s>>>();\n",
        ),
        # a paragraph of its own in front of a commented branch
        (
            '    TORCH_CHECK(x.is_cuda(), "x");\n\n    // Dispatch\n    if(x.scalar_type() == at::kHalf)\n    {\n'
            "        launch<half>(x);\n    }\n    else\n        launch<float>(x);\n",
            '    TORCH_CHECK(x.is_cuda(), "x");\n\n'
            "    const HipDeviceGuard device_guard(x.device_id);\n\n    // Dispatch\n"
            "    if(x.scalar_type() == at::kHalf)\n    {\n        launch<half>(x);\n    }\n    else\n"
            "        launch<float>(x);\n",
        ),
        # the dispatch comes first
        (
            '\tVLLM_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {\n\t\tk<<<1, 1>>>();\n\t});\n',
            "\tconst HipDeviceGuard device_guard(x.device_id);\n"
            '\tVLLM_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] {\n\t\tk<<<1, 1>>>();\n\t});\n',
        ),
        # in front of the #if that the launch stands in
        (
            "    int n = 1;\n\n#ifdef FAST\n    launch(x);\n#else\n    launch(x);\n#endif\n",
            "    int n = 1;\n\n    const HipDeviceGuard device_guard(x.device_id);\n"
            "\n#ifdef FAST\n    launch(x);\n#else\n"
            "    launch(x);\n#endif\n",
        ),
    ],
)
def test_place(rewrites, body: str, want: str) -> None:
    text = "void f(torch::Tensor& out, const torch::Tensor& x)\n{{\n{0}}}\n"
    rewrites(guards(), text.format(body), text.format(want))


@pytest.mark.parametrize(
    ("signature", "body", "tensor"),
    [
        ("at::Tensor& out, const at::Tensor& x", "launch(out, x);", "x"),  # the first input
        ("at::Tensor& out, at::Tensor& x", "launch(out, x);", "out"),  # no input known: the first
        ("at::Tensor& out, at::Tensor& x", "launch(x.data_ptr(), x.data_ptr(), out.data_ptr());", "x"),
        ("at::Tensor& out, at::Tensor& x", "auto t = x.scalar_type(); launch(out.data_ptr(), t);", "x"),
        ("std::optional<at::Tensor> o, at::Tensor* p, at::Tensor& x", "launch(o->data_ptr(), x);", "x"),
        ("at::Tensor& m, at::Tensor& x", "if(m.is_cpu()) g(); launch(m.data_ptr(), x);", "x"),
        ("at::Tensor& m, at::Tensor& x", "int n = *m.data_ptr<int>(); launch(n, x);", "x"),
        ("at::Tensor& m, at::Tensor& x", "int n = m.data_ptr<int>()[0]; launch(n, x);", "x"),
        ("at::Tensor& m, at::Tensor& x", "TORCH_CHECK(m.device().is_cpu()); launch(x);", "x"),
        ("at::Tensor& host_map, at::Tensor& x", "launch(x);", "x"),
    ],
)
def test_tensor(view, signature: str, body: str, tensor: str) -> None:
    found = guards()(view(f"void f({signature})\n{{\n    {body}\n}}\n"))
    assert [f.code for f in found] == ["TL403"]
    assert f"the device of {tensor} " in found[0].message


def test_a_body_on_one_line(rewrites) -> None:
    rewrites(
        guards(),
        "void f(at::Tensor& x) { int n = 1; launch(x); }\n",
        "void f(at::Tensor& x) { int n = 1; const HipDeviceGuard device_guard(x.device_id); launch(x); }\n",
    )


def test_no_tensor_is_surely_on_the_gpu(keeps) -> None:
    found = keeps(guards(), "void f(at::Tensor& m)\n{\n    // on the GPU\n    launch(*m.data_ptr<int>());\n}\n")
    assert [(f.code, f.blocks) for f in found] == [("TL404", False)]
    assert found[0].help


@pytest.mark.parametrize(
    "text",
    [
        # guarded already, one way or another
        "void f(at::Tensor& x)\n{\n"
        "    at::hip::OptionalHIPGuardMasqueradingAsCUDA g(device_of(x));\n    launch(x);\n}\n",
        "void f(at::Tensor& x)\n{\n    const at::DeviceGuard g(x.device());\n    launch(x);\n}\n",
        "void f(at::Tensor& x)\n{\n    HipDeviceGuard g(0);\n    launch(x);\n}\n",
        "void f(at::Tensor& x)\n{\n    hipSetDevice(0);\n    launch(x);\n}\n",
        # nothing is launched
        "void f(at::Tensor& x)\n{\n    other(x);\n}\n",
        "void f(at::Tensor& x)\n{\n    // launch(x)\n    x.launch();\n}\n",
        # no tensors: a helper that gets pointers
        "void f(float* x)\n{\n    launch(x);\n}\n",
        # not an entry point
        "void helper(at::Tensor& x)\n{\n    launch(x);\n}\n",
        # only declared
        "void f(at::Tensor& x);\n",
        # done
        "void f(aiter_tensor_t& x)\n{\n    const HipDeviceGuard device_guard(x.device_id);\n    launch(x);\n}\n",
    ],
)
def test_must_not_change(keeps, text: str) -> None:
    assert keeps(guards(), text) == []


def test_a_guarded_callee_is_enough(keeps) -> None:
    text = "void f(at::Tensor& x)\n{\n    launch(x);\n}\n"
    assert keeps(guards(guarded=("launch",)), text) == []


def test_a_guarded_callee_in_a_macro_is_enough(view) -> None:
    body = "void f(at::Tensor& x)\n{\n    RUN(x);\n}\n"
    by_macro = "#define RUN(x) launch(x)\n"
    assert guards(guarded=("launch",))(view(by_macro + body)) == []
    # but not when the macro launches something else as well
    more = "#define RUN(x) launch(x); k<<<1, 1>>>(x)\n"
    assert [f.code for f in guards(guarded=("launch",))(view(more + body))] == ["TL403"]


def test_a_lock_guard_is_no_device_guard(view) -> None:
    text = "void f(at::Tensor& x)\n{\n    std::lock_guard<std::mutex> lock(m);\n    launch(x);\n}\n"
    assert [f.code for f in guards()(view(text))] == ["TL403"]


def test_macros_that_launch(rewrites) -> None:
    macro = "#define RUN(x) k<<<1, 1>>>(x)\n#define RUN_ALL(x) { RUN(x); RUN(x); }\n"
    rewrites(
        guards(),
        macro + "void f(at::Tensor& x)\n{\n    RUN_ALL(x.data_ptr())\n}\n",
        macro + "void f(at::Tensor& x)\n{\n    const HipDeviceGuard device_guard(x.device_id);\n"
        "    RUN_ALL(x.data_ptr())\n}\n",
    )


@pytest.mark.parametrize(
    "body",
    [
        "const at::cuda::OptionalCUDAGuard g(device_of(x)); int n = *x.data_ptr<int>();",
        "at::hip::OptionalHIPGuardMasqueradingAsCUDA g(at::device_of(x)); int n = x.data_ptr<int>()[0];",
        "at::DeviceGuard g{x.device()}; if(x.is_cpu()) h();",
        "at::DeviceGuard g(x.device()); if(!x.is_cuda()) h();",
    ],
)
def test_a_guard_on_what_is_read_on_the_host_blocks(keeps, body: str) -> None:
    found = keeps(guards_on_host, f"void f(at::Tensor& x, at::Tensor& y)\n{{\n    {body}\n}}\n")
    assert [(f.code, f.blocks) for f in found] == [("TL404", True)]


@pytest.mark.parametrize(
    "body",
    [
        "at::DeviceGuard g(y.device()); int n = *x.data_ptr<int>();",
        "at::DeviceGuard g(x.device()); run(x.data_ptr<int>());",
        'at::DeviceGuard g(x.device()); TORCH_CHECK(x.is_cuda(), "x"); TORCH_CHECK(!x.is_cpu());',
        "at::DeviceGuard g(x.device()); int n = a * x.data_ptr<int>() - p;",
        "HipDeviceGuard g(x.device_id); int n = *x.data_ptr<int>();",
    ],
)
def test_other_guards_do_not(keeps, body: str) -> None:
    assert keeps(guards_on_host, f"void f(at::Tensor& x, at::Tensor& y)\n{{\n    {body}\n}}\n") == []
