#pragma once
#include <ATen/hip/HIPContext.h>

// The names before torch's own renaming for HIP.
namespace c10::cuda {
using CUDAStream = c10::hip::HIPStream;
using CUDAGuard = c10::hip::HIPGuard;
using OptionalCUDAGuard = c10::hip::OptionalHIPGuard;
using CUDAStreamGuard = c10::hip::HIPStreamGuard;
inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1) { return c10::hip::getCurrentHIPStream(device); }
inline CUDAStream getDefaultCUDAStream(DeviceIndex device = -1) { return c10::hip::getDefaultHIPStream(device); }
inline CUDAStream getStreamFromPool(const bool high = false, DeviceIndex device = -1) {
  return c10::hip::getStreamFromPool(high, device);
}
inline void setCurrentCUDAStream(CUDAStream stream) { c10::hip::setCurrentHIPStream(stream); }
using c10::hip::current_device;
using c10::hip::device_count;
using c10::hip::set_device;
}  // namespace c10::cuda
namespace at::cuda {
using namespace c10::cuda;
}
