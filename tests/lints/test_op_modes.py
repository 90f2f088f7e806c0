from __future__ import annotations

from pathlib import Path

import pytest

from tests.lints.conftest import Found, findings_in, mend

TU = "csrc/pybind/a_pybind.cu"
OPS = "aiter/ops/a.py"
DEVELOP = ", develop=True"


def checkout(cxx: str, python: str, flags: str = "", target: str = "f") -> dict[str, str]:
    head = '#include "rocm_ops.hpp"\n#include "aiter_stream.h"\n'
    body = f'PYBIND11_MODULE(N, m) {{ AITER_SET_STREAM_PYBIND; m.def("f", {target}); }}\n'
    op = f'@compile_ops("module_example"{flags})\ndef f({python}: ...\n'
    return {TU: f"{head}{cxx}\n{body.replace('{ f', '{ &f').replace(', f)', ', &f)')}", OPS: op}


@pytest.mark.parametrize(
    ("cxx", "flags", "codes"),
    [
        ("void f(torch::Tensor& x);", DEVELOP, ["TL712"]),
        ("at::Tensor f(int x);", DEVELOP, ["TL712"]),
        ("void f(const std::optional<at::Tensor>& x);", DEVELOP, ["TL712"]),
        ("using torch::Tensor; void f(Tensor& x);", DEVELOP, ["TL712"]),
        ("std::vector<torch::Tensor> f(torch::Tensor x, int n = g(1, 2));", DEVELOP, ["TL712"]),
        ("void f(aiter_tensor_t& x, const torch::Tensor& y);", DEVELOP, ["TL712"]),
        ("void f(aiter_tensor_t& x, const torch::Tensor& y);", "", []),  # pybind takes one of the two, whatever is done
        ("void f(aiter_tensor_t& x);", "", ["TL712"]),
        ("void f(std::optional<aiter_tensor_t> x = std::nullopt);", "", ["TL712"]),
        ("aiter_tensor_t f(int x);", "", ["TL712"]),
        ("aiter_tensor_t f(int x);", DEVELOP, ["TL712"]),
        ("void f(aiter_tensor_t& x);", DEVELOP, []),
        ("void f(torch::Tensor& x);", "", []),
        ("int f(int x);", DEVELOP, []),
        ("int f(int x);", "", []),
        ("void f(aiter_tensor_t& x);", ', ffi_type="ctypes"', []),
        ("struct A { void f(torch::Tensor& x); };\nvoid f(aiter_tensor_t& x);", DEVELOP, []),
        ("namespace b { void f(torch::Tensor& x); }", DEVELOP, ["TL712"]),  # as with a using directive
        ("void g() { f(torch::Tensor()); }\nvoid f(aiter_tensor_t& x);", DEVELOP, []),
        ("void f(torch::Tensor& x);\nvoid f(aiter_tensor_t& x);", DEVELOP, []),
        ("void f(torch::Tensor& x);\nvoid f(torch::Tensor& x) {}", DEVELOP, ["TL712"]),
        ("// void f(torch::Tensor& x);", DEVELOP, []),
        ("#define F void f(torch::Tensor& x);", DEVELOP, []),
    ],
)
def test_modes(found: Found, cxx: str, flags: str, codes: list[str]) -> None:
    files = checkout(cxx, "x: Tensor) -> None", flags)
    assert [f.code for f in found(files, "TL712")] == codes


@pytest.mark.parametrize(
    ("target", "wrong"),
    [("&aiter::f", True), ("&::aiter::f", True), ("&aiter::inner::f", False), ("&f", False), ("&other::f", False)],
)
def test_namespaces_tell_functions_apart(found: Found, target: str, wrong: bool) -> None:
    cxx = """
    namespace aiter { void f(torch::Tensor& x);
    namespace inner { void f(aiter_tensor_t& x); } }
    """
    files = checkout(cxx, "x: Tensor) -> None", DEVELOP)
    files[TU] = files[TU].replace('m.def("f", &f)', f'm.def("f", {target})')
    assert bool(found(files, "TL712")) is wrong


def test_the_place_says_what_is_bound_where(found: Found) -> None:
    (finding,) = found(checkout("\nvoid f(torch::Tensor& x);", "x: Tensor) -> None", DEVELOP), "TL712")
    assert (finding.path, finding.line) == (OPS, 1)
    assert [(r.path, r.line) for r in finding.related] == [(TU, 5), (TU, 4)]


def test_the_flag_is_added_once(tmp_path: Path, found: Found) -> None:
    mend(tmp_path, found(checkout("void f(aiter_tensor_t& x);", "x: Tensor) -> None"), "TL712"))
    assert (tmp_path / OPS).read_text().startswith('@compile_ops("module_example", develop=True)\n')
    assert findings_in(tmp_path, ["TL71"]) == []


@pytest.mark.parametrize(
    ("cxx", "python", "flags", "names"),
    [
        ("", "xs: list[Tensor]", DEVELOP, "xs"),
        ("", "xs: Optional[List[torch.Tensor]] = None", DEVELOP, "xs"),
        ("void f(std::vector<aiter_tensor_t>& a, int n);", "a: Tensor, n: int", DEVELOP, "a"),
        ("void f(const std::vector<aiter_tensor_t>& a, std::vector<int> b);", "a, b", DEVELOP, "a"),
        ("void f(std::vector<aiter_tensor_t> ys);", "xs: list[Tensor]", DEVELOP, "xs, ys"),
        ("void f(std::vector<aiter_tensor_t> xs);", "xs: list[Tensor]", DEVELOP, "xs"),
        ("void f(std::vector<aiter_tensor_t>);", "xs: Tensor", DEVELOP, "an unnamed one"),
        ("", "xs: list[Tensor]", "", ""),
        ("", "xs: list[Tensor]", ', ffi_type="ctypes"', ""),
        ("void f(std::vector<int64_t> xs);", "xs: list[int]", DEVELOP, ""),
        ("void f(std::optional<aiter_tensor_t> xs);", "xs: Tensor | None", DEVELOP, ""),
    ],
)
def test_lists(found: Found, cxx: str, python: str, flags: str, names: str) -> None:
    messages = [f.message for f in found(checkout(cxx, f"{python}) -> None", flags), "TL714")]
    assert messages == ([f"f takes a list of tensors ({names}), and a develop op converts none"] if names else [])


def test_ops_of_modules_that_were_not_asked_about(tmp_path: Path, found: Found) -> None:
    files = checkout("void f(torch::Tensor& x);", "x: Tensor) -> None", DEVELOP)
    assert found({**files, "csrc/kernels/b.cu": "int b();\n"}, "TL712", paths=[OPS])
    assert findings_in(tmp_path, ["TL712"], ["csrc/kernels/b.cu"])  # of the same module
    assert findings_in(tmp_path, ["TL712"], ["csrc/include"]) == []
