// A generator as an argument: there is only that of the device, which is what an absent one stands for.
#pragma once
#include "../bind.h"
#include <ATen/hip/HIPGeneratorImpl.h>

namespace torchless {
template <>
struct Reader<at::Generator> {
  static constexpr const char* kind = "generator";
  static at::Generator read(const Argument&) { return at::cuda::detail::getDefaultCUDAGenerator(); }
};
}  // namespace torchless
