#pragma once
// Torch's generator for the GPU, which a build for the CPU declares and does not have: seed and offset of a Philox
// stream. Each device has one, with a seed of its own. What a graph records is not told apart.
#include <ATen/core/Generator.h>
#include <ATen/cuda/PhiloxCudaState.h>
#include <c10/core/GeneratorImpl.h>
#include <tuple>

namespace at {
struct CUDAGeneratorImpl : public c10::GeneratorImpl {
  explicit CUDAGeneratorImpl(c10::DeviceIndex device);
  static c10::DeviceType device_type() { return c10::kCUDA; }
  void set_current_seed(uint64_t seed) override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  PhiloxCudaState philox_cuda_state(uint64_t increment);

 private:
  CUDAGeneratorImpl* clone_impl() const override;
  uint64_t seed_;
  uint64_t offset_ = 0;
};

namespace cuda::detail {
const Generator& getDefaultCUDAGenerator(c10::DeviceIndex device = -1);  // -1: that of the current device
}
namespace cuda::philox {
__host__ __device__ inline std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState state) {
  return {state.seed_.val, state.offset_.val};
}
}  // namespace cuda::philox
}  // namespace at
