#pragma once
#include <torch/types.h>

namespace torch::cuda {
size_t device_count();
bool is_available();
void synchronize(int64_t device_index = -1);
void manual_seed(uint64_t seed);
}  // namespace torch::cuda
