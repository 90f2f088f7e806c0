#pragma once
#include <ATen/core/Generator.h>

namespace at {
class TORCH_API Context { public: const Generator& defaultGenerator(c10::Device device); bool hasCUDA() const; bool hasHIP() const; bool deterministicAlgorithms() const; bool allowTF32CuBLAS() const; };
Context& globalContext();
bool hasCUDA();
struct TORCH_API AutoDispatchBelowADInplaceOrView { AutoDispatchBelowADInplaceOrView(); ~AutoDispatchBelowADInplaceOrView(); };
struct TORCH_API NoGradGuard { NoGradGuard(); ~NoGradGuard(); };
}  // namespace at
