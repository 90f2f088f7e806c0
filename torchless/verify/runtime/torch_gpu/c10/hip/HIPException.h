#pragma once
#include <c10/util/Exception.h>
#include <hip/hip_runtime_api.h>

#define C10_HIP_CHECK(expr) \
  do { \
    const hipError_t torchless_error = (expr); \
    TORCH_CHECK(torchless_error == hipSuccess, "HIP error: ", hipGetErrorString(torchless_error)); \
  } while (0)
#define C10_HIP_CHECK_WARN(expr) \
  do { \
    if ((expr) != hipSuccess) (void)hipGetLastError(); \
  } while (0)
#define C10_HIP_KERNEL_LAUNCH_CHECK() C10_HIP_CHECK(hipGetLastError())
#define C10_CUDA_CHECK(expr) C10_HIP_CHECK(expr)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_HIP_KERNEL_LAUNCH_CHECK()
#define AT_CUDA_CHECK(expr) C10_HIP_CHECK(expr)
#define AT_HIP_CHECK(expr) C10_HIP_CHECK(expr)
