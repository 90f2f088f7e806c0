#pragma once
#include <ATen/torchless_std.h>
#include <hip/hip_runtime_api.h>
#include <c10/core/Device.h>
#include <c10/hip/HIPException.h>

namespace c10::hip {
DeviceIndex device_count() noexcept;
DeviceIndex device_count_ensure_non_zero();
DeviceIndex current_device();
void set_device(DeviceIndex device);
void device_synchronize();
}  // namespace c10::hip
