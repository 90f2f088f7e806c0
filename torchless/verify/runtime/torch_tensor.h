// Tensors and dtypes of torch as arguments and results: of the real one, or of our stand-in.
#pragma once
#include "bind.h"
#include <torch/types.h>
#if __has_include(<torchless_generator.h>)
#include <torchless_generator.h>
#endif

namespace torchless {

// A tensor that says it is on its device, on memory of this process.
at::Tensor torch_tensor_of(const TensorSpec& spec);
c10::ScalarType scalar_type_of(const std::string& dtype);
// "float16 [2,3] strides [3,1] cuda:0 out+16"
std::string shown_tensor(const at::Tensor& tensor);
// Where a check with this message failed last in this thread, "" when unknown.
std::string place_of_failure(const std::string& message);

template <>
struct Reader<at::Tensor> {
  static constexpr const char* kind = "tensor";
  static at::Tensor read(const Argument& a) {
    return a.kind == Argument::Kind::none ? at::Tensor() : torch_tensor_of(a.tensors.at(0));
  }
};
template <>
struct Reader<std::vector<at::Tensor>> {
  static constexpr const char* kind = "tensors";
  static std::vector<at::Tensor> read(const Argument& a) {
    std::vector<at::Tensor> all;
    for (const TensorSpec& spec : a.tensors) all.push_back(torch_tensor_of(spec));
    return all;
  }
};
template <>
struct Reader<c10::ScalarType> {
  static constexpr const char* kind = "dtype";
  static c10::ScalarType read(const Argument& a) { return scalar_type_of(a.text); }
};
template <>
struct Result<at::Tensor> {
  static std::vector<std::string> words(const at::Tensor& t) { return {shown_tensor(t)}; }
};

}  // namespace torchless
