#pragma once
// The namespaces, as torch lays them out: names are declared in c10 or at, and seen through the others.
namespace c10 {}
namespace c10::cuda {}
namespace c10::hip {}
namespace at { using namespace c10; }
namespace at::cuda { using namespace c10::cuda; }
namespace at::hip { using namespace c10::hip; }

#define C10_EXPORT __attribute__((visibility("default")))
#define C10_IMPORT C10_EXPORT
#define C10_HIDDEN __attribute__((visibility("hidden")))
#define C10_API C10_EXPORT
#define C10_HIP_API C10_EXPORT
#define C10_CUDA_API C10_EXPORT
#define TORCH_API C10_EXPORT
#define TORCH_HIP_API C10_EXPORT
#define TORCH_HIP_CPP_API C10_EXPORT
#define TORCH_CUDA_CU_API C10_EXPORT
#define TORCH_CUDA_CPP_API C10_EXPORT
#define C10_LIKELY(e) (__builtin_expect(static_cast<bool>(e), 1))
#define C10_UNLIKELY(e) (__builtin_expect(static_cast<bool>(e), 0))
#define C10_LIKELY_OR_CONST(e) C10_LIKELY(e)
#define C10_UNLIKELY_OR_CONST(e) C10_UNLIKELY(e)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_UID __COUNTER__
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __COUNTER__)
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_UNUSED __attribute__((unused))
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_RESTRICT __restrict
#if defined(__HIP__)
#define C10_HOST_DEVICE __attribute__((host)) __attribute__((device))
#define C10_DEVICE __attribute__((device))
#define C10_HOST __attribute__((host))
#define C10_LAUNCH_BOUNDS_1(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define C10_LAUNCH_BOUNDS_2(n, w) __attribute__((amdgpu_flat_work_group_size(1, n), amdgpu_waves_per_eu(w)))
#define C10_WARP_SIZE 64
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
#define CUDA_KERNEL_ASSERT(cond) do { if (!(cond)) __builtin_trap(); } while (0)
