"""What the callers of a unit will see, in numbers and words."""

from __future__ import annotations

import pytest

from torchless.facts.typing import FileView, make_view
from torchless.model import Edit, Finding, LedgerEntry
from torchless.plan.ledger import ledger
from torchless.text.source import SourceFile

PATH = "a.cu"


def told(
    text: str = "", *codes: str, checks_throw: bool = False, flips_ops: bool = False, made: bool = True
) -> list[LedgerEntry]:
    """The ledger of ``text``, all of it one unit, with findings of these codes on its second line."""
    view = make_view(SourceFile(PATH, text.encode()))
    findings = [finding(view, code, made) for code in codes]
    return list(ledger(findings, {PATH: view}, [(PATH, 0, len(text))], checks_throw=checks_throw, flips_ops=flips_ops))


def finding(view: FileView, code: str, made: bool) -> Finding:
    at = view.source.data.find(b"\n") + 1
    return Finding(code, "message", PATH, at, at, edits=(Edit(PATH, at, at, b"x"),) if made else ())


def messages(kind: str, entries: list[LedgerEntry]) -> list[str]:
    return [e.message for e in entries if e.kind == kind]


@pytest.mark.parametrize(
    ("use", "how"),
    [
        ("int n = -x.numel();", "negation"),
        ("return -x.numel();", "negation"),
        ("f(-x.numel(), 1);", "negation"),
        ("int n = x.numel() - 1;", "subtraction"),
        ("int n = m - x.numel();", "subtraction"),
        ("int n = m[0] - x.numel();", "subtraction"),
        ("int n = f(m) - x.numel();", "subtraction"),
        ("int n = 10 - x.numel();", "subtraction"),
        ("if(i < x.numel()) {}", "comparison with a value that may be negative"),
        ("if(x.numel() >= i) {}", "comparison with a value that may be negative"),
        ("if(x.numel() > -1) {}", "comparison with a value that may be negative"),
        ("if(-1 < x.numel()) {}", "comparison with a value that may be negative"),
        ("if(i - 1 < x.numel()) {}", "comparison with a value that may be negative"),
        ("if(x.numel() <= 4 - i) {}", "comparison with a value that may be negative"),
        ("if(p->numel() - 1 > 0) {}", "subtraction"),
    ],
)
def test_numel_where_its_sign_matters(use: str, how: str) -> None:
    text = f"void f(torch::Tensor& x, torch::Tensor* p, int* m, int i)\n{{\n    {use}\n}}\n"
    assert [(e.message, e.path, e.line) for e in told(text)] == [
        (f"numel() is unsigned now and is used in a {how}", PATH, 3)
    ]


@pytest.mark.parametrize(
    "use",
    [
        "int n = x.numel();",
        "int n = x.numel() / 4 + 1;",
        "if(x.numel() > 0) {}",
        "if(0 < x.numel() && i) {}",
        "if(x.numel() == i) {}",
        "if(x.numel() < y.numel()) {}",
        "if(y.numel() <= p->numel()) {}",
        "int n = static_cast<int>(x.numel()) - 1;",
        "int n = std::min<int64_t>(x.numel(), i);",
        "kernel<<<x.numel(), 256>>>(i);",
        "if(i < v.numel()) {}",  # no tensor
    ],
)
def test_numel_where_it_does_not(use: str) -> None:
    text = f"void f(torch::Tensor& x, const torch::Tensor& y, torch::Tensor* p, view_t v)\n{{\n    {use}\n}}\n"
    assert messages("numel", told(text)) == []


def test_only_the_code_of_the_unit_is_looked_at() -> None:
    text = "void f(torch::Tensor& x) { int n = x.size(0) - x.numel(); }\n"
    view = make_view(SourceFile(PATH, text.encode()))
    outside = [(PATH, 0, 10), ("other.cu", 0, 99)]
    assert ledger([], {PATH: view}, outside, checks_throw=False, flips_ops=False) == ()


def test_a_cast_numel_is_as_before() -> None:
    text = "void f(torch::Tensor& x)\n{ int n = -x.numel(); }\n"
    view = make_view(SourceFile(PATH, text.encode()))
    cast = Finding("TL235", "cast", PATH, text.index("-"), text.index(";"))
    assert ledger([cast], {PATH: view}, [(PATH, 0, 99)], checks_throw=False, flips_ops=False) == ()


def test_indexes_are_counted() -> None:
    text = "void f(torch::Tensor& x)\n{ x.size(0); x.stride(1); v.size(2); }\n"
    (entry,) = told(text)
    assert (entry.kind, entry.line) == ("index", 2)
    assert entry.message == "2 calls of size()/stride() no longer check their index against the tensor's rank"
    (entry,) = told(text.replace("x.stride(1)", ""))
    assert entry.message == "1 call of size()/stride() no longer checks its index against the tensor's rank"


def test_lost_and_restored_dtype_checks() -> None:
    assert messages("dtype-check", told("", *["TL220"] * 44, *["TL310"] * 2)) == [
        "44 typed data pointers lose their dtype check; 2 statements check the dtypes again (TL310)"
    ]
    assert messages("dtype-check", told("", "TL220", "TL310")) == [
        "1 typed data pointer loses its dtype check; 1 statement checks the dtypes again (TL310)"
    ]
    assert messages("dtype-check", told("", "TL220", "TL220")) == [
        "2 typed data pointers lose their dtype check; nothing checks the dtypes again"
    ]
    # a TL310 without an edit only says why a check could not be put back
    only_said = told("", "TL220", "TL310", made=False)
    assert messages("dtype-check", only_said) == [
        "1 typed data pointer loses its dtype check; nothing checks the dtypes again"
    ]
    assert messages("check-added", only_said) == []
    assert messages("check-added", told("", "TL310", "TL310")) == ["2 statements with dtype checks are added"]


def test_checks_end_the_process_or_throw() -> None:
    codes = ("TL301", "TL303", "TL304", "TL301")
    assert messages("exception", told("", *codes)) == [
        "4 failing checks end the process (abort) instead of raising a Python exception"
    ]
    assert messages("exception", told("", "TL304")) == [
        "1 failing check ends the process (abort) instead of raising a Python exception"
    ]
    assert messages("exception", told("", *codes, checks_throw=True)) == [
        "4 failing checks throw std::runtime_error instead of c10::Error"
    ]


def test_a_handler_that_is_not_reached_any_more() -> None:
    text = "void f(int x)\n{\n    try\n    {\n        check(x);\n    }\n    catch(...) {}\n}\n"
    assert [(e.kind, e.line) for e in told(text, "TL301")] == [("exception", 2), ("exception", 3)]
    assert len(told(text, "TL301", checks_throw=True)) == 1
    assert told(text) == []


@pytest.mark.parametrize(
    ("codes", "kind", "words"),
    [
        (["TL403"], "guard-added", "1 device guard is added"),
        (["TL403"] * 3, "guard-added", "3 device guards are added"),
        (["TL401"], "stream", "the stream is the one that Python set for the current device"),
        (["TL207", "TL207"], "default", "2 default arguments are moved or respelled"),
        (["TL507"], "arithmetic", "__half/hip_bfloat16 instead of c10 types"),
        (["TL592"], "dtype", "fewer dtypes than before"),
    ],
)
def test_other_changes(codes: list[str], kind: str, words: str) -> None:
    (entry,) = told("first\nsecond\n", *codes)
    assert entry.kind == kind and words in entry.message
    assert (entry.path, entry.line) == (PATH, 2)


def test_ops_that_flip_refuse_tensors_and_need_one_abi() -> None:
    assert [e.kind for e in told("", flips_ops=True)] == ["dtype", "abi"]
    assert told("", "TL201", "TL101") == []


@pytest.mark.parametrize(
    ("use", "computes"),
    [
        ("kernel<scalar_t, true><<<grid, block>>>(p);", True),
        ("scalar_t zero = 0;", True),
        ("using T = typename t2opus<scalar_t>::type; run<T>((scalar_t*)p, x.data_ptr<scalar_t>());", False),
        ("using T = typename hip2opus<scalar_t>::type; run<T>(static_cast<scalar_t*>(p));", False),
    ],
)
def test_arithmetic_changes_where_kernels_get_the_dispatched_type(use: str, computes: bool) -> None:
    said = messages("arithmetic", told(f"void f()\n{{\n    {use}\n}}\n", "TL501", "TL506"))
    assert (said != []) == computes
    assert messages("arithmetic", told(f"void f()\n{{\n    {use}\n}}\n", "TL506")) == []


def test_packed_fp4_that_comes_as_bytes() -> None:
    text = "bool f(torch::Tensor& x)\n{ return x.dtype() == torch_fp4x2 || x.dtype() == torch_fp8; }\n"
    view = make_view(SourceFile(PATH, text.encode()))

    def of(name: str) -> tuple[LedgerEntry, ...]:
        at = text.index(name)
        constant = Finding("TL211", "", PATH, at, at + len(name))
        return ledger([constant], {PATH: view}, [], checks_throw=False, flips_ops=False)

    (entry,) = of("torch_fp4x2")
    assert (entry.kind, entry.line) == ("dtype", 2)
    assert of("torch_fp8") == ()
