#pragma once
#include <ATen/ATen.h>

namespace at::autocast {
bool is_autocast_enabled(c10::DeviceType device_type);
bool is_enabled();
c10::ScalarType get_autocast_dtype(c10::DeviceType device_type);
c10::ScalarType get_autocast_gpu_dtype();
Tensor cached_cast(c10::ScalarType to_type, const Tensor& arg, c10::DeviceType device_type = c10::DeviceType::CUDA);
}  // namespace at::autocast
namespace at {
struct BackwardPassGuard { static bool is_backward_pass(); };
}
