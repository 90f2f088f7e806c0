#pragma once
#include <ATen/core/Generator.h>
#include <ATen/hip/HIPContext.h>

namespace at {
struct PhiloxCudaState {
  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset) { seed_.val = seed; offset_.val = offset; }
  union Payload { uint64_t val; int64_t* ptr; };
  Payload seed_{}, offset_{};
  uint64_t offset_intragraph_ = 0;
  bool captured_ = false;
};
struct TORCH_HIP_CPP_API CUDAGeneratorImpl : public c10::GeneratorImpl {
  CUDAGeneratorImpl(c10::DeviceIndex device_index = -1);
  void set_philox_offset_per_thread(uint64_t offset);
  uint64_t philox_offset_per_thread() const;
  PhiloxCudaState philox_cuda_state(uint64_t increment);
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);
};
namespace cuda::detail {
const Generator& getDefaultCUDAGenerator(c10::DeviceIndex device_index = -1);
Generator createCUDAGenerator(c10::DeviceIndex device_index = -1);
}  // namespace cuda::detail
namespace cuda::philox { C10_HOST_DEVICE inline std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState s) { return s.captured_ ? std::tuple<uint64_t, uint64_t>(*s.seed_.ptr, *s.offset_.ptr + s.offset_intragraph_) : std::tuple<uint64_t, uint64_t>(s.seed_.val, s.offset_.val); } }
}  // namespace at
