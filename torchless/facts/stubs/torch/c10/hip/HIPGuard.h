#pragma once
#include <c10/core/Device.h>
#include <c10/hip/HIPStream.h>

namespace c10::hip {
struct HIPGuard { explicit HIPGuard(DeviceIndex device_index); explicit HIPGuard(Device device); ~HIPGuard(); HIPGuard(const HIPGuard&) = delete; void set_device(Device device); void reset_device(Device device); void set_index(DeviceIndex device_index); Device original_device() const; Device current_device() const; };
struct OptionalHIPGuard { explicit OptionalHIPGuard(); explicit OptionalHIPGuard(std::optional<Device> device_opt); explicit OptionalHIPGuard(std::optional<DeviceIndex> device_index_opt); ~OptionalHIPGuard(); OptionalHIPGuard(const OptionalHIPGuard&) = delete; void set_device(Device device); void reset(); };
struct HIPStreamGuard { explicit HIPStreamGuard(Stream stream); ~HIPStreamGuard(); HIPStreamGuard(const HIPStreamGuard&) = delete; void reset_stream(Stream stream); HIPStream original_stream() const; HIPStream current_stream() const; };
}  // namespace c10::hip
