"""What is left of torch is named; what only stands for it is not named twice."""

from __future__ import annotations

from torchless.facts.model import FileFacts, NameFact
from torchless.facts.typing import make_view
from torchless.plan.residual import residual
from torchless.text.source import SourceFile

PATH = "csrc/excerpt.cu"


def left_in(text: str, **facts: str) -> list[str]:
    """The constructs found in ``text``, where the bare names in ``facts`` mean the canonical names given."""
    names = []
    for word, meaning in facts.items():
        at = text.find(word)
        while at >= 0:
            names.append(NameFact(at, "type", meaning, ""))
            at = text.find(word, at + 1)
    view = make_view(SourceFile(PATH, text.encode()), [FileFacts(PATH, tuple(names))])
    return [text[f.start : f.end] for f in residual(view, [])]


def test_the_uses_of_an_alias_are_not_the_construct() -> None:
    assert left_in("#define TENSOR torch::Tensor\nvoid f(TENSOR& x);", TENSOR="at::Tensor") == ["torch::Tensor"]
    assert left_in("template <typename input_t> void f(input_t x);", input_t="at::BFloat16") == []


def test_torchs_own_words_are() -> None:
    assert left_in("void f(torch::Dtype d);", Dtype="at::ScalarType") == ["torch::Dtype"]
    assert left_in("void f(Tensor& x);", Tensor="at::Tensor") == ["Tensor"]
    text = "using namespace at;\nvoid f(IntArrayRef s);"
    assert left_in(text, IntArrayRef="at::ArrayRef") == ["IntArrayRef"]


def test_what_a_blocked_call_is_given_goes_with_it() -> None:
    def left(text: str) -> list[str]:
        at = text.index("torch::TensorOptions")
        view = make_view(SourceFile(PATH, text.encode()))
        blocked = [(at, at + len("torch::TensorOptions"))]
        return [text[f.start : f.end] for f in residual(view, blocked, blocked)]

    assert left("auto o = torch::TensorOptions().dtype(d).device(at::device_of(x), f(at::kCUDA));") == []
    assert left("f(at::device_of(x), torch::TensorOptions().dtype(d));") == ["at::device_of"]
    assert left("torch::TensorOptions().dtype(d); g(at::kCUDA);") == ["at::kCUDA"]
