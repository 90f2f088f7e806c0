#pragma once
#include <hip/hip_runtime_api.h>
#include <c10/util/Exception.h>

namespace c10::hip { void c10_hip_check_implementation(int32_t err, const char* file, const char* func, int line, bool include_device_assertions); }
#define C10_HIP_CHECK(expr) do { const hipError_t __err = (expr); c10::hip::c10_hip_check_implementation(static_cast<int32_t>(__err), __FILE__, __func__, __LINE__, true); } while (0)
#define C10_HIP_CHECK_WARN(expr) do { const hipError_t __err = (expr); (void)__err; } while (0)
#define C10_HIP_KERNEL_LAUNCH_CHECK() C10_HIP_CHECK(hipGetLastError())
#define C10_CUDA_CHECK(expr) C10_HIP_CHECK(expr)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_HIP_KERNEL_LAUNCH_CHECK()
#define AT_CUDA_CHECK(expr) C10_HIP_CHECK(expr)
#define AT_HIP_CHECK(expr) C10_HIP_CHECK(expr)
