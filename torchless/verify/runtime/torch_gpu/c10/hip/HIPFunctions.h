#pragma once
#include <c10/core/Device.h>
#include <c10/hip/HIPException.h>
#include <c10/hip/HIPMacros.h>

// As torch does it: a device that is current already is not set again.
namespace c10::hip {
inline DeviceIndex current_device() {
  int device = 0;
  C10_HIP_CHECK(hipGetDevice(&device));
  return static_cast<DeviceIndex>(device);
}
inline void set_device(DeviceIndex device) {
  if (current_device() != device) C10_HIP_CHECK(hipSetDevice(device));
}
inline DeviceIndex device_count() noexcept {
  int count = 0;
  (void)hipGetDeviceCount(&count);
  return static_cast<DeviceIndex>(count);
}
inline DeviceIndex device_count_ensure_non_zero() { return device_count(); }
inline void device_synchronize() { C10_HIP_CHECK(hipDeviceSynchronize()); }
}  // namespace c10::hip
