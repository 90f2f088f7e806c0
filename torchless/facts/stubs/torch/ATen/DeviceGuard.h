#pragma once
#include <ATen/core/TensorBody.h>

namespace c10 {
class DeviceGuard { public: explicit DeviceGuard(Device device); ~DeviceGuard(); void reset_device(Device device); void set_index(DeviceIndex index); Device original_device() const; Device current_device() const; };
class OptionalDeviceGuard { public: explicit OptionalDeviceGuard(); explicit OptionalDeviceGuard(Device device); explicit OptionalDeviceGuard(std::optional<Device> device); ~OptionalDeviceGuard(); void reset_device(Device device); };
}  // namespace c10
namespace at {
std::optional<c10::Device> device_of(const Tensor& t);
std::optional<c10::Device> device_of(const std::optional<Tensor>& t);
std::optional<c10::Device> device_of(TensorList t);
}  // namespace at
