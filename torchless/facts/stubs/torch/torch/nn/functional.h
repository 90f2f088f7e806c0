#pragma once
#include <torch/types.h>

namespace torch::nn::functional {
struct SoftmaxFuncOptions { SoftmaxFuncOptions(int64_t dim); };
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
Tensor silu(const Tensor& input);
Tensor relu(Tensor input);
Tensor gelu(const Tensor& input);
struct PadFuncOptions { PadFuncOptions(std::vector<int64_t> pad); PadFuncOptions& value(double v); };
Tensor pad(const Tensor& input, const PadFuncOptions& options);
}  // namespace torch::nn::functional
