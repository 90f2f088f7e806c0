#pragma once
#include <ATen/Context.h>
#include <c10/hip/HIPFunctions.h>
#include <c10/hip/HIPStream.h>

namespace at::cuda {
hipDeviceProp_t* getCurrentDeviceProperties();
hipDeviceProp_t* getDeviceProperties(c10::DeviceIndex device);
int warp_size();
bool canDeviceAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer_device);
int64_t getNumGPUs();
bool is_available();
}  // namespace at::cuda
namespace at::hip {
using at::cuda::getCurrentDeviceProperties;
using at::cuda::getDeviceProperties;
using at::cuda::warp_size;
}  // namespace at::hip
