#pragma once
// What launchers use of the generator that a torch for the CPU lacks, over that torch's own headers. Declarations.
#include <ATen/core/Generator.h>
#include <ATen/hip/HIPContext.h>
#include <c10/core/GeneratorImpl.h>

#include <cfloat>  // torch's HIP half brings it, and sources count on it
#include <cstdint>
#include <tuple>
#include <utility>

namespace at {
struct PhiloxCudaState {
  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset) {
    seed_.val = seed;
    offset_.val = offset;
  }
  union Payload {
    uint64_t val;
    int64_t* ptr;
  };
  Payload seed_{};
  Payload offset_{};
  uint64_t offset_intragraph_ = 0;
  bool captured_ = false;
};
struct CUDAGeneratorImpl : public c10::GeneratorImpl {
  CUDAGeneratorImpl(DeviceIndex device_index = -1);
  static c10::DeviceType device_type();
  void set_philox_offset_per_thread(uint64_t offset);
  uint64_t philox_offset_per_thread() const;
  PhiloxCudaState philox_cuda_state(uint64_t increment);
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);
};
namespace cuda::detail {
const Generator& getDefaultCUDAGenerator(DeviceIndex device_index = -1);
Generator createCUDAGenerator(DeviceIndex device_index = -1);
}  // namespace cuda::detail
namespace cuda::philox {
__host__ __device__ inline std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state) {
  if (state.captured_)
    return {static_cast<uint64_t>(*state.seed_.ptr), static_cast<uint64_t>(*state.offset_.ptr + state.offset_intragraph_)};
  return {state.seed_.val, state.offset_.val};
}
}  // namespace cuda::philox
}  // namespace at
