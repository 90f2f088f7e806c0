#pragma once
#include <torch/extension.h>

namespace aiter {

void rms_norm(torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon);

void rms_norm_split(
    torch::Tensor& out, torch::Tensor& input, torch::Tensor& weight, double epsilon, int64_t splits);

} // namespace aiter
