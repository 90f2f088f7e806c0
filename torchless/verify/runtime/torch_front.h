// What is compiled in advance for sources that use the real torch.
#pragma once
#include "front.h"

// Torch has one pair of functions that a precompiled header would merge (see front.h): a counter gives each its own
// name. Host code asks the fake runtime for the warp size.
#define TORCHLESS_JOIN2(a, b) a##b
#define TORCHLESS_JOIN(a, b) TORCHLESS_JOIN2(a, b)
#define C10_WARP_SIZE_INTERNAL TORCHLESS_JOIN(torchless_warp_size_, __COUNTER__)
#include <c10/macros/Macros.h>
#undef C10_WARP_SIZE_INTERNAL
#define C10_WARP_SIZE_INTERNAL ::at::cuda::warp_size

#include <torch/types.h>

#include <ATen/hip/HIPContext.h>
#include <ATen/hip/HIPEvent.h>
#include <c10/hip/HIPGuard.h>

#include "torch_tensor.h"
