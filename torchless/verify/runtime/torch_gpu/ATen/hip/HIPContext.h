#pragma once
// The half of torch that a build for the CPU lacks: streams, guards and devices, on the fake runtime.
#include <ATen/Context.h>
#include <ATen/DeviceGuard.h>
#include <c10/hip/HIPFunctions.h>
#include <c10/hip/HIPGuard.h>
#include <c10/hip/HIPStream.h>

namespace at::cuda {
hipDeviceProp_t* getDeviceProperties(c10::DeviceIndex device);
hipDeviceProp_t* getCurrentDeviceProperties();
int warp_size();
inline bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer) { return device != peer; }
inline int64_t getNumGPUs() { return c10::hip::device_count(); }
inline bool is_available() { return c10::hip::device_count() > 0; }
}  // namespace at::cuda
namespace at::hip {
using namespace c10::hip;
using at::cuda::getCurrentDeviceProperties;
using at::cuda::getDeviceProperties;
using at::cuda::warp_size;
}  // namespace at::hip
