// What is compiled in advance for sources that use the real torch.
#pragma once
// A precompiled header merges two functions that differ only in being for the host or for the device. The compiler
// makes such pairs of operator new and delete; facts/pch.py has what mends them, except for the one call below, in which
// the operand's type is not known until later. With the cast it is.
#include <type_traits>
#if __has_include(<bits/allocator.h>)
#include <bits/c++allocator.h>
#include <bits/functexcept.h>
#define delete(p) delete(static_cast<void*>(p))
#include <bits/allocator.h>
#undef delete
#endif

// Torch has one such pair; a counter gives each its own name. Host code asks the fake runtime for the warp size.
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
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
