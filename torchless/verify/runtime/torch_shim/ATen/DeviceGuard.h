#pragma once
#include <ATen/core/TensorBody.h>
#include <c10/hip/HIPGuard.h>

namespace c10 {
using DeviceGuard = hip::HIPGuard;
using OptionalDeviceGuard = hip::OptionalHIPGuard;
}  // namespace c10
namespace at {
inline std::optional<c10::Device> device_of(const Tensor& t) {
  return t.defined() ? std::optional<c10::Device>(t.device()) : std::nullopt;
}
inline std::optional<c10::Device> device_of(const std::optional<Tensor>& t) { return t ? device_of(*t) : std::nullopt; }
inline std::optional<c10::Device> device_of(TensorList t) { return t.empty() ? std::nullopt : device_of(t.front()); }
}  // namespace at
