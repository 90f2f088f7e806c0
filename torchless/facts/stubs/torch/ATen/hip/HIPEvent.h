#pragma once
#include <ATen/hip/HIPContext.h>

namespace at::cuda {
struct TORCH_HIP_CPP_API HIPEvent { HIPEvent() noexcept; HIPEvent(unsigned int flags) noexcept; operator hipEvent_t() const; bool isCreated() const; bool query() const; void record(); void record(const c10::hip::HIPStream& stream); void block(const c10::hip::HIPStream& stream); float elapsed_time(const HIPEvent& other) const; void synchronize() const; };
}  // namespace at::cuda
namespace at::hip { using at::cuda::HIPEvent; }
