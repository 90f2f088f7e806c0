#pragma once
#include <torch/extension.h>

namespace aiter {

// out[i] = input[row_map[i]] * scales[i] (+ bias), row by row.
void scale_rows(torch::Tensor& out,           // [rows, columns]
                const torch::Tensor& input,   // [any, columns]
                const torch::Tensor& scales,  // [rows], fp32
                const torch::Tensor& row_map, // [rows], int32
                const std::optional<torch::Tensor>& bias);

// out = min(max(input, low), high)
void clamp_rows(torch::Tensor& out, const torch::Tensor& input, double low, double high);

} // namespace aiter
