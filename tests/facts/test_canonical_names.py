"""Canonical names and type classes, from text alone."""

from __future__ import annotations

import pytest

from torchless.facts.canonical import canonical_name, type_class
from torchless.facts.model import TYPE_CLASSES


@pytest.mark.parametrize(
    ("qualified", "canonical"),
    [
        ("torch::Tensor", "at::Tensor"),
        ("::at::Tensor", "at::Tensor"),
        ("at::TensorBase::size", "at::Tensor::size"),
        ("c10::ScalarType::Half", "at::ScalarType::Half"),
        ("c10::detail::x", "at::x"),
        ("torch::headeronly::Half", "at::Half"),
        ("at::hip::getCurrentHIPStream", "at::hip::getCurrentHIPStream"),
        ("caffe2::TypeMeta", "caffe2::TypeMeta"),
        ("aiter::torch::x", "aiter::torch::x"),
        ("ns::::f", "ns::f"),
        ("torchless::x", "torchless::x"),
    ],
)
def test_canonical_names(qualified: str, canonical: str) -> None:
    assert canonical_name(qualified) == canonical


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("at::Tensor", "tensor"),
        ("const at::Tensor &", "tensor"),
        ("at::TensorBase &&", "tensor"),
        ("at::Tensor const volatile", "tensor"),
        ("at::Tensor *", "tensor_pointer"),
        ("const at::Tensor *const", "tensor_pointer"),
        ("at::Tensor **", ""),
        ("at::Tensor[3]", ""),
        ("std::optional<at::Tensor>", "optional_tensor"),
        ("const std::optional<const at::Tensor> &", "optional_tensor"),
        ("std::optional<c10::ScalarType>", "optional_dtype"),
        ("std::optional<at::Generator>", "generator"),
        ("std::optional<std::optional<at::Tensor>>", ""),
        ("std::optional<c10::Device>", ""),
        ("std::vector<at::Tensor, std::allocator<at::Tensor>>", "tensor_list"),
        ("std::vector<at::Tensor>::iterator", ""),
        ("c10::ArrayRef<at::Tensor>", "tensor_list"),
        ("std::initializer_list<at::Tensor>", "tensor_list"),
        ("std::vector<std::optional<at::Tensor>, std::allocator<std::optional<at::Tensor>>>", "tensor_list"),
        ("std::vector<long>", ""),
        ("c10::ArrayRef<long>", "int_array"),
        ("c10::ArrayRef<c10::SymInt>", "int_array"),
        ("c10::ArrayRef<float>", ""),
        ("std::tuple<at::Tensor, at::Tensor>", ""),
        ("c10::hip::HIPStream", "stream"),
        ("c10::hip::HIPStreamMasqueradingAsCUDA", "stream"),
        ("caffe2::TypeMeta", "typemeta"),
        ("c10::Half", "half"),
        ("c10::BFloat16 &", "bfloat16"),
        ("aiter_tensor_t *", ""),
        ("aiter_tensor_t &", "target_tensor"),
        ("void (at::Tensor &)", ""),
        ("const", ""),
        ("", ""),
    ],
)
def test_type_classes(spelling: str, expected: str) -> None:
    assert type_class(spelling) == expected
    assert expected == "" or expected in TYPE_CLASSES
